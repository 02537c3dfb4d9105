// The charts of each run, side by side.
import { lateness } from "../charts/messages.js";
import { highest, signal } from "../charts/signals.js";
import { threshold } from "../quantities.js";
import { by_id, make } from "./dom.js";

/** @import { Run, Signal } from "../types.d.ts" */

/**
 * Shows a column of charts for each run.
 *
 * @param {Run[]} runs
 */
export function show_columns(runs) {
  const scales = scales_of(runs);
  const sections = runs.map(headed);
  by_id("columns").replaceChildren(...sections);
  sections.forEach((section, index) => {
    const run = runs[index];
    const width = Math.min(640, section.clientWidth - 24);
    const drawn = [
      signal(run, "queue", width, { mark: threshold(run), highest: scales.queue }),
      lateness(run, width),
      signal(run, "cwnd", width, { highest: scales.cwnd }),
      signal(run, "alpha", width, { highest: scales.alpha }),
      signal(run, "d", width, { highest: scales.d }),
    ];
    section.append(...drawn.filter((chart) => chart !== null));
  });
}

/**
 * Returns the highest value of each signal in all runs, if all have the same scales.
 *
 * @param {Run[]} runs
 * @returns {Partial<Record<Signal, number>>}
 */
function scales_of(runs) {
  if (!by_id("scale", HTMLInputElement).checked) return { alpha: 1 };
  /** @param {Signal} what */
  const of_all = (what) => Math.max(...runs.map((run) => highest(run, what)));
  return { queue: of_all("queue"), cwnd: of_all("cwnd"), d: of_all("d"), alpha: 1 };
}

/**
 * Returns a section with the label of a run.
 *
 * @param {Run} run
 */
function headed({ label, colour }) {
  const section = make("section");
  const title = make("h3");
  const spot = make("span", { className: "spot" });
  spot.style.background = colour;
  title.append(spot, label);
  section.append(title);
  return section;
}
