// Completion in the editor: keys of the section at the cursor, or values of the key before it.
import { plain, tables_at, values_of } from "./schema.js";

/** @import { Schema, Word } from "../types.d.ts" */
/** @import { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete" */

/**
 * Returns completions at the cursor; null without any.
 *
 * @param {CompletionContext} context
 * @param {Schema} schema
 * @returns {CompletionResult | null}
 */
export function complete(context, schema) {
  const before = context.state.doc.sliceString(0, context.pos);
  const line = before.slice(before.lastIndexOf("\n") + 1);
  const header = /^\s*\[+([\w.]*)$/.exec(line);
  if (header) return { from: context.pos - header[1].length, options: sections(schema) };
  const { path, chosen } = place(before);
  const tables = tables_at(schema, path, chosen);
  const value = /^\s*([\w-]+)\s*=\s*("?)([\w-]*)$/.exec(line);
  if (value) {
    const [, key, quote, begun] = value;
    return { from: context.pos - begun.length, options: values(tables, key, quote, schema) };
  }
  const key = /^\s*([\w-]*)$/.exec(line);
  if (!key || (!key[1] && !context.explicit)) return null;
  return { from: context.pos - key[1].length, options: keys(tables) };
}

/**
 * Returns the sections of a scenario.
 *
 * @param {Schema} schema
 * @returns {Completion[]}
 */
function sections(schema) {
  return Object.entries(schema.properties ?? {})
    .filter(([, of]) => plain(of, schema).type !== "string")
    .map(([label, of]) => ({ label, type: "namespace", info: of ? of.description : undefined }));
}

/**
 * Returns the values of a key, each once.
 *
 * @param {Schema[]} tables
 * @param {string} key
 * @param {string} quote
 * @param {Schema} schema
 * @returns {Completion[]}
 */
function values(tables, key, quote, schema) {
  const options = tables.flatMap((table) => values_of(table.properties?.[key], schema));
  const unique = [...new Map(options.map((option) => [option.word, option])).values()];
  /** @param {Word} word */
  const quoted = (word) => (quote || typeof word !== "string" ? String(word) : `"${word}"`);
  return unique.map(({ word, info }) => ({ label: quoted(word), type: "enum", info }));
}

/**
 * Returns the keys of tables, each once.
 *
 * @param {Schema[]} tables
 * @returns {Completion[]}
 */
function keys(tables) {
  const found = new Map(tables.flatMap((table) => Object.entries(table.properties ?? {})));
  return [...found].flatMap(([label, of]) =>
    of === false ? [] : [{ label, type: "property", info: of.description, apply: `${label} = ` }],
  );
}

/**
 * Returns the section that a text ends in, and the words of its keys so far.
 *
 * @param {string} before
 */
function place(before) {
  const headers = [...before.matchAll(/^\s*\[+([\w.]+)\]+/gm)];
  const last = headers.at(-1);
  const body = last ? before.slice(last.index + last[0].length) : before;
  const pairs = [...body.matchAll(/^\s*([\w-]+)\s*=\s*"([^"\n]*)"/gm)];
  /** @type {Record<string, string>} */
  const chosen = Object.fromEntries(pairs.map(([, key, word]) => [key, word]));
  return { path: last ? last[1].split(".") : [], chosen };
}
