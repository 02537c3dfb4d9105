// The files that the page offers: the result, the messages and the scenario of a run.
import { by_id, make } from "./dom.js";

/** @import { Run, Session, Table } from "../types.d.ts" */

/**
 * Saves a file of this kind.
 *
 * @param {Session} session
 * @param {string | undefined} kind
 */
export function download({ runs, state }, kind) {
  const run = runs[by_id("taken", HTMLSelectElement).selectedIndex];
  if (!run) return;
  const name = run.label.replace(/[^\w.-]+/g, "-");
  if (kind === "json") save(`${name}.json`, "application/json", run.contract);
  if (kind === "csv") save(`${name}.csv`, "text/csv", csv(run.flows));
  if (kind === "toml") save("scenario.toml", "application/toml", state.text);
}

/**
 * Hands a file to the browser.
 *
 * @param {string} name
 * @param {string} type
 * @param {string} text
 */
function save(name, type, text) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/**
 * Returns a table as CSV.
 *
 * @param {Table} table
 */
function csv(table) {
  const names = Object.keys(table);
  const rows = table[names[0]].map((_, row) => names.map((name) => field(table[name][row])).join(","));
  return `${names.join(",")}\n${rows.join("\n")}\n`;
}

/**
 * Returns a value as a field of CSV, in quotes if it needs them.
 *
 * @param {Table[string][number]} value
 */
function field(value) {
  if (value === null) return "";
  const text = String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
