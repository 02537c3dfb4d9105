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
 * Columns of requests of several stages, if a run has any.
 *
 * @type {typeof COLUMNS}
 */
const OF_REQUESTS = [
  ["requests in time", ({ summary }) => percent(summary.requests?.all_goals_percent)],
  ["at most", ({ summary }) => percent(at_most(summary.requests?.bound?.missed_percent))],
  ["request, median", ({ summary }) => known(summary.requests?.time_us, "p50", time)],
  ["request, 99th", ({ summary }) => known(summary.requests?.time_us, "p99", time)],
];

/**
 * Returns the share of requests that can be in time, from that which cannot.
 *
 * @param {number | null | undefined} missed
 */
function at_most(missed) {
  return missed === null || missed === undefined ? null : 100 - missed;
}

/**
 * Shows a row for each run.
 *
 * @param {Run[]} runs
 */
export function show_numbers(runs) {
  const columns = runs.some(({ report }) => report.summary.requests) ? [...COLUMNS, ...OF_REQUESTS] : COLUMNS;
  const head = make("thead");
  head.append(line([cell("th", ""), ...columns.map(([name]) => cell("th", name))]));
  const body = make("tbody");
  body.append(
    ...runs.map(({ label, report }) =>
      line([cell("th", label), ...columns.map(([, of]) => cell("td", of(report)))]),
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
