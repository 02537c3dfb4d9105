// The stops of a slider: values, their order, and their texts.

/**
 * A quantity with the values that a slider can take.
 *
 * @typedef {object} Control
 * @property {string} name The label.
 * @property {number[]} values The stops, in ascending order.
 * @property {number} now The index of the scenario's own value.
 * @property {(value: number) => string} shown Returns a value as text.
 * @property {(value: number) => string[]} set Returns the overrides for a value.
 */

/**
 * Returns a slider with rounded stops and the present value.
 *
 * @param {string} name
 * @param {number[]} stops
 * @param {number} now
 * @param {(value: number) => string} shown
 * @param {(value: number) => string[]} set
 * @returns {Control}
 */
export function control(name, stops, now, shown, set) {
  const values = distinct([...stops.map(round), now]);
  return { name, values, now: values.indexOf(now), shown, set };
}

/**
 * Returns `count` values at equal ratios.
 *
 * @param {number} from
 * @param {number} to
 * @param {number} count
 */
export function steps(from, to, count) {
  return Array.from({ length: count }, (_, i) => from * (to / from) ** (i / (count - 1)));
}

/**
 * Returns a number with two significant digits.
 *
 * @param {number} value
 */
export function round(value) {
  return Number(value.toPrecision(2));
}

/**
 * Returns a size as text.
 *
 * @param {number} value
 */
export function bytes(value) {
  return value >= 1e6 ? `${round(value / 1e6)} MB` : `${round(value / 1e3)} KB`;
}

/**
 * Returns each value once, in ascending order.
 *
 * @param {number[]} values
 */
export function distinct(values) {
  return [...new Set(values)].sort((a, b) => a - b);
}
