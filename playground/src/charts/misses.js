// The chart of deadlines missed by each run, with the bound.
import { percent } from "../numbers.js";
import { AXIS, draw } from "./frame.js";

/** @import { Run } from "../types.d.ts" */

/**
 * Returns bars of the deadlines that each run misses, with the minimum of any schedule; null without deadlines.
 *
 * @param {Run[]} runs
 * @param {number} width
 */
export function misses(runs, width) {
  const rows = runs.flatMap(({ label, colour, report: { summary, bound } }) =>
    summary.missed_percent === null ? [] : [{ label, colour, missed: summary.missed_percent, bound }],
  );
  if (!rows.length) return null;
  const bounds = rows.filter((row) => row.bound);
  const said = rows.map(
    ({ label, missed, bound }) => `${label} ${percent(missed)}, at least ${percent(bound?.missed_percent)}`,
  );
  return draw(`Deadlines missed: ${said.join("; ")}`, {
    width,
    height: 46 + 34 * rows.length,
    marginLeft: Math.min(150, 20 + 8 * Math.max(...rows.map((row) => row.label.length))),
    x: { domain: [0, Math.max(5, ...rows.map((row) => row.missed)) * 1.15] },
    y: { domain: rows.map((row) => row.label), padding: 0.35 },
    marks: [
      Plot.gridX({ stroke: "var(--grid)", strokeOpacity: 1, ticks: 5 }),
      Plot.ruleX([0], { stroke: "var(--line)" }),
      Plot.axisX({
        ...AXIS,
        label: "deadlines missed (%)",
        labelAnchor: "center",
        labelOffset: 32,
        ticks: 5,
      }),
      Plot.axisY({ ...AXIS, label: null }),
      Plot.barX(rows, { x: "missed", y: "label", fill: (row) => row.colour }),
      Plot.text(rows, {
        x: "missed",
        y: "label",
        text: (row) => percent(row.missed),
        textAnchor: "start",
        dx: 5,
        fill: "var(--ink)",
      }),
      Plot.tickX(bounds, {
        x: (row) => row.bound?.missed_percent,
        y: "label",
        stroke: "var(--ink)",
        strokeWidth: 3,
      }),
    ],
  });
}
