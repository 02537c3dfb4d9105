// The scenario of the page: shown, checked and run.
import { by_id } from "./dom.js";
import { complain, withdraw } from "./mistakes.js";
import { show_nothing } from "./results.js";
import { go, stop_runs } from "./running.js";
import { show_sliders } from "./sliders.js";

/** @import { Answers, Session, State } from "../types.d.ts" */

/**
 * Shows a state and runs it.
 *
 * @param {Session} session
 * @param {State} next
 */
export function start(session, next) {
  session.state = { ...next };
  session.moved = { ...next.moved };
  const { text, scenario, duration, moments, transports } = session.state;
  session.editor.show(text);
  by_id("scenario", HTMLSelectElement).value = scenario ?? "";
  by_id("duration", HTMLSelectElement).value = duration ?? "";
  by_id("moments", HTMLSelectElement).value = String(moments ?? "");
  for (const box of transport_boxes()) box.checked = transports.includes(box.value);
  return choose(session);
}

/**
 * Takes a text that the reader has changed, and runs it.
 *
 * @param {Session} session
 * @param {string} text
 */
export function change(session, text) {
  session.state.text = text;
  session.state.scenario = null;
  session.moved = {};
  return choose(session);
}

/**
 * Checks the scenario, shows its mistakes or its sliders, and runs it.
 *
 * @param {Session} session
 */
async function choose(session) {
  session.round += 1;
  const mine = session.round;
  stop_runs(session);
  const { state, desk, editor } = session;
  if (session.lesson && session.guess === null) show_nothing(session);
  const set = [...(state.set ?? [])];
  /** @type {Answers["check"]} */
  let checked;
  try {
    checked = await desk.ask({ request: { verb: "check", text: state.text, set } });
  } catch (error) {
    if (mine === session.round) complain(editor, /** @type {Error} */ (error));
    return;
  }
  session.resolved = checked.resolved;
  if (mine !== session.round) return;
  withdraw(editor);
  show_sliders(session, checked.resolved);
  go(session);
}

/** Returns the boxes of all transports. */
export function transport_boxes() {
  return /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("#transports input"));
}
