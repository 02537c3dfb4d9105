// The charts of signals over the first moments: queue, window, alpha and d.
import { number } from "../numbers.js";
import { axes, draw, grid } from "./frame.js";

/** @import { Run, Signal } from "../types.d.ts" */

const MAX_LINES = 60;
const NAMES = { cwnd: "cwnd (segments)", alpha: "alpha", d: "d", queue: "queue (packets)" };

/**
 * Returns the largest value of a signal in the first moments.
 *
 * @param {Run} run
 * @param {Signal} signal
 */
export function highest({ trace, moments }, signal) {
  const { time_s, what, value } = trace;
  return what.reduce((max, each, row) => {
    const seen = each === signal && time_s[row] * 1e6 >= moments.from_us;
    return seen ? Math.max(max, value[row]) : max;
  }, 0);
}

/**
 * Returns the switch's port with the longest queue in the first moments.
 *
 * @param {Pick<Run, "trace">} run
 */
export function fullest_port({ trace }) {
  /** @type {Map<string, number>} */
  const longest = new Map();
  trace.what.forEach((what, row) => {
    if (what !== "queue") return;
    const port = /** @type {string} */ (trace.link[row]);
    longest.set(port, Math.max(longest.get(port) ?? 0, trace.value[row]));
  });
  return [...longest].reduce((best, each) => (each[1] > best[1] ? each : best), ["none", -1])[0];
}

/**
 * Returns the chart of a signal; for queues, of the port with the longest one; null without samples.
 *
 * @param {Run} run
 * @param {Signal} what
 * @param {number} width
 * @param {{ mark?: number, highest?: number }} scale
 */
export function signal(run, what, width, { mark, highest }) {
  const { time_s, message, link, value } = run.trace;
  const from = run.moments.from_us;
  const to = from + run.moments.span_us;
  const port = fullest_port(run);
  /** @param {number} row */
  const line_of = (row) => message[row] ?? link[row];
  const all = time_s
    .map((_, row) => row)
    .filter((row) => run.trace.what[row] === what && time_s[row] * 1e6 >= from);
  if (!all.length) return null;
  const here = what === "queue" ? all.filter((row) => link[row] === port) : all;
  const lines = new Set(here.map(line_of));
  const kept = new Set([...lines].slice(0, MAX_LINES));
  const rows = here.filter((row) => kept.has(line_of(row)));
  const max = rows.reduce((max, row) => Math.max(max, value[row]), 0);
  const top = Math.max(highest ?? 0, max, what === "queue" ? (mark ?? 0) * 1.1 : 0) || 1;
  const where = what === "queue" ? `, port ${port}` : ` of ${lines.size} messages`;
  return draw(`${NAMES[what]} under ${run.label}${where}, up to ${number(max)}`, {
    width,
    height: 150,
    x: { domain: [0, (to - from) / 1000] },
    y: { domain: [0, top] },
    marks: [
      ...grid(),
      ...axes("ms since the first message", NAMES[what]),
      Plot.line(rows, {
        x: (row) => (time_s[row] * 1e6 - from) / 1000,
        y: (row) => value[row],
        z: line_of,
        stroke: run.colour,
        strokeWidth: what === "queue" ? 1.6 : 1,
        strokeOpacity: lines.size > 5 ? 0.5 : 1,
        clip: true,
      }),
      ...(what === "queue" && mark !== undefined && mark <= top ? marked(mark) : []),
    ],
  });
}

/**
 * Returns the line of the marking threshold.
 *
 * @param {number} mark
 */
function marked(mark) {
  return [
    Plot.ruleY([mark], { stroke: "var(--ink)", strokeDasharray: "4 3" }),
    Plot.text([mark], {
      y: (k) => k,
      text: () => `K = ${mark}`,
      frameAnchor: "right",
      dy: -7,
      fill: "var(--ink)",
    }),
  ];
}
