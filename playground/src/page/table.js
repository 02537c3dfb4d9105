// The table of the runs in numbers.
import { known, number, percent, time } from "../numbers.js";
import { by_id, make } from "./dom.js";

/** @import { Report, Run } from "../types.d.ts" */

/** @type {[name: string, of: (report: Report) => string][]} */
const COLUMNS = [
  ["missed", ({ summary }) => percent(summary.missed_percent)],
  ["bound", ({ bound }) => percent(bound?.missed_percent)],
  ["FCT, median", ({ summary }) => known(summary.fct_us, "p50", time)],
  ["FCT, 99th", ({ summary }) => known(summary.fct_us, "p99", time)],
  ["goodput", ({ summary }) => `${number(summary.goodput_mbps)} Mbps`],
  ["dropped", (report) => number(report.drops, 6)],
  ["marked", (report) => number(report.marks, 6)],
  ["timeouts", (report) => number(report.timeouts, 6)],
  ["queue, 99th", ({ busiest_queue }) => (busiest_queue ? `${busiest_queue.p99} packets` : "–")],
];

/**
 * Shows a row for each run.
 *
 * @param {Run[]} runs
 */
export function show_numbers(runs) {
  const head = make("thead");
  head.append(line([cell("th", ""), ...COLUMNS.map(([name]) => cell("th", name))]));
  const body = make("tbody");
  body.append(
    ...runs.map(({ label, report }) =>
      line([cell("th", label), ...COLUMNS.map(([, of]) => cell("td", of(report)))]),
    ),
  );
  by_id("numbers").replaceChildren(head, body);
}

/**
 * Returns a cell with a text.
 *
 * @param {"td" | "th"} tag
 * @param {string} textContent
 */
function cell(tag, textContent) {
  return make(tag, { textContent });
}

/**
 * Returns a row of cells.
 *
 * @param {HTMLElement[]} cells
 */
function line(cells) {
  const row = make("tr");
  row.append(...cells);
  return row;
}
