// The chart of messages, which shows the late ones.
import { axes, draw, grid } from "./frame.js";

/** @import { Run } from "../types.d.ts" */

// A message that did not complete, or took longer, is drawn at this multiple of its deadline.
const HIGHEST = 4;
const MAX_DOTS = 4000;

/**
 * Returns a dot for each message: its start, and the share of its time that it took; null without deadlines.
 *
 * @param {Run} run
 * @param {number} width
 */
export function lateness(run, width) {
  const { start_us, fct_us, deadline_us, missed } = run.flows;
  const dated = deadline_us.flatMap((deadline, row) => (deadline === null ? [] : [{ row, deadline }]));
  if (!dated.length) return null;
  const late = dated.filter(({ row }) => missed[row] === true).length;
  const every = Math.ceil(dated.length / MAX_DOTS);
  const dots = dated
    .filter((_, index) => index % every === 0)
    .map(({ row, deadline }) => {
      const fct = fct_us[row];
      return {
        start_ms: start_us[row] / 1000,
        share: fct === null ? HIGHEST : Math.min(HIGHEST, fct / deadline),
        missed: missed[row],
      };
    });
  /** @param {typeof dots[number]} dot */
  const symbol = (dot) => (dot.missed ? "times" : "circle");
  return draw(`Who is late under ${run.label}: ${late} of ${dated.length} messages`, {
    width,
    height: 190,
    y: { domain: [0, Math.max(1.3, ...dots.map((dot) => dot.share))] },
    marks: [
      ...grid(),
      ...axes("started (ms)", "completion / deadline"),
      Plot.ruleY([1], { stroke: "var(--ink)", strokeDasharray: "4 3" }),
      Plot.dot(dots, {
        x: "start_ms",
        y: "share",
        r: 2.5,
        symbol,
        stroke: (dot) => (dot.missed ? "var(--late)" : "var(--met)"),
      }),
    ],
  });
}
