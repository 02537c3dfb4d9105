// The results of the runs: notes, charts, table, replay, and the verdict of a lesson.
import { misses } from "../charts/misses.js";
import { shares } from "../charts/requests.js";
import { threshold } from "../quantities.js";
import { show_columns } from "./columns.js";
import { by_id, make, part } from "./dom.js";
import { reveal } from "./lesson.js";
import { say } from "./progress.js";
import { show_numbers } from "./table.js";

/** @import { Run, Session } from "../types.d.ts" */

/**
 * Shows the results of all runs.
 *
 * @param {Session} session
 */
export function show(session) {
  const { runs, lesson, guess, round } = session;
  by_id("results").hidden = false;
  show_notes(runs);
  show_chart("misses", runs, misses);
  show_chart("shares", runs, shares);
  show_numbers(runs);
  show_columns(runs);
  for (const picker of pickers()) {
    const before = picker.selectedIndex;
    picker.replaceChildren(...runs.map((run, index) => new Option(run.label, String(index))));
    picker.selectedIndex = before >= 0 && before < runs.length ? before : lesson ? 0 : runs.length - 1;
  }
  show_replay(session);
  const reports = runs.map((run) => run.report);
  if (lesson) reveal(by_id("lesson"), lesson, guess, reports);
  window.dispatchEvent(new CustomEvent("shown", { detail: round }));
  document.body.dataset.shown = String(round);
}

/**
 * Removes all results, for a lesson that waits for a prediction.
 *
 * @param {Session} session
 */
export function show_nothing(session) {
  session.runs = [];
  for (const picker of pickers()) picker.replaceChildren();
  by_id("results").hidden = true;
  say("Predict first; then it runs.");
}

/**
 * Shows the replay of the selected run.
 *
 * @param {Session} session
 */
export function show_replay({ runs, player }) {
  const run = runs[by_id("replayed", HTMLSelectElement).selectedIndex];
  player.show(run ?? null, run && threshold(run));
}

/** Returns the selections of a run: for the replay, and for files. */
function pickers() {
  return [by_id("replayed", HTMLSelectElement), by_id("taken", HTMLSelectElement)];
}

/**
 * Shows the notes of the runs, each once.
 *
 * @param {Run[]} runs
 */
function show_notes(runs) {
  const notes = [...new Set(runs.flatMap((run) => run.notes))];
  by_id("notes").replaceChildren(...notes.map((note) => make("li", { textContent: note })));
}

/**
 * Shows a chart of all runs, unless it is null.
 *
 * @param {string} name
 * @param {Run[]} runs
 * @param {(runs: Run[], width: number) => ReturnType<typeof misses>} drawn
 */
function show_chart(name, runs, drawn) {
  const place = part(document, name);
  if (place.parentElement) place.parentElement.hidden = false;
  const chart = drawn(runs, Math.min(760, place.clientWidth || 360));
  if (place.parentElement) place.parentElement.hidden = !chart;
  if (chart) place.replaceChildren(chart);
}
