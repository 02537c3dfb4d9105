// The schema of the scenario language: its tables, and the values of their keys.

/** @import { Schema, Word } from "../types.d.ts" */

/** @typedef {Record<string, string>} Chosen the words of the keys of a table */

/**
 * Returns a schema without references.
 *
 * @param {Schema | false | undefined} of
 * @param {Schema} schema
 * @returns {Schema}
 */
export function plain(of, schema) {
  if (!of) return {};
  if (!of.$ref) return of;
  return plain(schema.$defs?.[of.$ref.slice(of.$ref.lastIndexOf("/") + 1)], schema);
}

/**
 * Returns every table at a path: of variants, the chosen one, or else all.
 *
 * @param {Schema} schema
 * @param {string[]} path
 * @param {Chosen} chosen
 */
export function tables_at(schema, path, chosen) {
  let tables = [schema];
  for (const word of path) {
    tables = tables.flatMap((table) => unfold(table.properties?.[word], schema, {}));
  }
  return path.length ? tables.flatMap((table) => unfold(table, schema, chosen)) : tables;
}

/**
 * Returns the tables of a schema that fit the chosen words.
 *
 * @param {Schema | false | undefined} of
 * @param {Schema} schema
 * @param {Chosen} chosen
 * @returns {Schema[]}
 */
function unfold(of, schema, chosen) {
  const one = plain(of, schema);
  if (one.items) return unfold(one.items, schema, chosen);
  const inner = [...(one.oneOf ?? []), ...(one.anyOf ?? []), ...(one.allOf ?? [])];
  const tables = inner.flatMap((each) => unfold(each, schema, chosen));
  return [...(one.properties ? [one] : []), ...tables].filter((table) => fits(table, chosen));
}

/**
 * Returns true if a table may have the chosen words.
 *
 * @param {Schema} table
 * @param {Chosen} chosen
 */
function fits(table, chosen) {
  return Object.entries(table.properties ?? {}).every(([key, of]) => {
    const word = chosen[key];
    // A variant has its own word, or false where the key must be missing.
    return word === undefined || (of !== false && (of.const === undefined || of.const === word));
  });
}

/**
 * Returns the values that a key may have, each with its description.
 *
 * @param {Schema | false | undefined} of
 * @param {Schema} schema
 * @returns {{ word: Word, info: string | undefined }[]}
 */
export function values_of(of, schema) {
  const one = plain(of, schema);
  const words = [...(one.enum ?? [])];
  if (one.const !== undefined) words.push(one.const);
  if (one.type === "boolean") words.push(true, false);
  const inner = [...(one.oneOf ?? []), ...(one.anyOf ?? []), ...(one.items ? [one.items] : [])];
  return [
    ...words.map((word) => ({ word, info: one.description })),
    ...inner.flatMap((each) => values_of(each, schema)),
  ];
}
