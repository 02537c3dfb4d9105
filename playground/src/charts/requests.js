// The chart of the requests of each run: the parts of their time, by stage.
import { percent } from "../numbers.js";
import { AXIS, draw } from "./frame.js";

/** @import { Report, Run } from "../types.d.ts" */

/** A stage is named in its bar if it is this wide, in percent. */
const NAMED = 9;
const KINDS = /** @type {const} */ ([
  ["network", "var(--packet)"],
  ["work", "var(--met)"],
  ["waiting", "var(--marked)"],
]);

/**
 * Returns a bar for each run, with the share of the requests' time that each stage took; null without requests of
 * stages.
 *
 * @param {Run[]} runs
 * @param {number} width
 */
export function shares(runs, width) {
  const rows = runs.flatMap(({ label, report }) => parts(report).map((part) => ({ label, ...part })));
  if (!rows.length) return null;
  const labels = [...new Set(rows.map((row) => row.label))];
  const said = labels.map((label) => `${label}: ${told(rows.filter((row) => row.label === label))}`);
  return draw(`Where the time of requests was spent: ${said.join("; ")}`, {
    width,
    height: 46 + 40 * labels.length,
    marginLeft: Math.min(150, 20 + 8 * Math.max(...labels.map((label) => label.length))),
    x: { domain: [0, 100] },
    y: { domain: labels, padding: 0.3 },
    marks: [
      Plot.axisX({
        ...AXIS,
        label: "share of their time (%)",
        labelAnchor: "center",
        labelOffset: 32,
        ticks: 5,
      }),
      Plot.axisY({ ...AXIS, label: null }),
      Plot.rect(rows, {
        x1: "from",
        x2: "to",
        y: "label",
        fill: (row) => row.colour,
        stroke: "var(--paper)",
      }),
      Plot.text(
        rows.filter((row) => row.to - row.from >= NAMED),
        { x: (row) => (row.from + row.to) / 2, y: "label", text: "stage", fill: "var(--paper)" },
      ),
    ],
  });
}

/**
 * Returns the parts of the requests' time in the order of the stages, as intervals of percent.
 *
 * @param {Report} report
 */
function parts({ summary: { requests } }) {
  let from = 0;
  return Object.entries(requests?.stages ?? {}).flatMap(([stage, share]) =>
    KINDS.flatMap(([kind, colour]) => {
      const part = share[`${kind}_percent`] ?? 0;
      from += part;
      return part > 0 ? [{ stage, kind, colour, from: from - part, to: from }] : [];
    }),
  );
}

/**
 * Returns the parts of a run in words.
 *
 * @param {ReturnType<typeof parts>} found
 */
function told(found) {
  return found.map(({ stage, kind, from, to }) => `${stage} (${kind}) ${percent(to - from)}`).join(", ");
}
