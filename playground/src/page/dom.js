// Elements of the page, found with a check of their kind, or created.

/**
 * Returns the element with this id.
 *
 * @template {HTMLElement} [T=HTMLElement]
 * @param {string} id
 * @param {new () => T} [kind]
 * @returns {T}
 */
export function by_id(id, kind) {
  return checked(document.getElementById(id), id, kind);
}

/**
 * Returns the element of a section with this name in `data-part`.
 *
 * @template {HTMLElement} [T=HTMLElement]
 * @param {ParentNode} root
 * @param {string} name
 * @param {new () => T} [kind]
 * @returns {T}
 */
export function part(root, name, kind) {
  return inside(root, `[data-part=${name}]`, kind);
}

/**
 * Returns the first element of a section that a selector finds.
 *
 * @template {HTMLElement} [T=HTMLElement]
 * @param {ParentNode} root
 * @param {string} selector
 * @param {new () => T} [kind]
 * @returns {T}
 */
export function inside(root, selector, kind) {
  return checked(root.querySelector(selector), selector, kind);
}

/**
 * Returns an element if it is of a kind; throws an error if the page has none.
 *
 * @template {HTMLElement} T
 * @param {Element | null} found
 * @param {string} name
 * @param {new () => T} [kind]
 * @returns {T}
 */
function checked(found, name, kind) {
  const wanted = kind ?? HTMLElement;
  if (!(found instanceof wanted)) throw new Error(`the page has no ${wanted.name} for ${name}`);
  return /** @type {T} */ (found);
}

/**
 * Creates an element with these properties.
 *
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Partial<HTMLElementTagNameMap[K]>} [properties]
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(tag, properties) {
  return Object.assign(document.createElement(tag), properties);
}

/**
 * Returns JSON that the page contains.
 *
 * @param {string} id
 */
export function data(id) {
  return JSON.parse(by_id(id).textContent ?? "");
}
