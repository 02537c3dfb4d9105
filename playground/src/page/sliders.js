// The sliders in the page, each of which changes the scenario and runs it again.
import { controls_of } from "./controls.js";
import { by_id, make } from "./dom.js";
import { soon } from "./running.js";

/** @import { Resolved, Session } from "../types.d.ts" */
/** @import { Control } from "./stops.js" */

/**
 * Shows the sliders of a scenario.
 *
 * @param {Session} session
 * @param {Resolved} resolved
 */
export function show_sliders(session, resolved) {
  const labels = controls_of(resolved).map((control) => slider(session, control));
  by_id("sliders").replaceChildren(...labels);
}

/**
 * Returns a slider at its moved place, or else at the scenario's own value.
 *
 * @param {Session} session
 * @param {Control} control
 */
function slider(session, { name, values, now, shown, set }) {
  const moved = session.moved[name];
  const at = moved === undefined ? now : Math.max(0, values.indexOf(moved.value));
  const input = make("input", { type: "range", min: "0", max: String(values.length - 1), step: "1" });
  input.value = String(at);
  const output = make("output");
  const say = () => {
    const told = shown(values[Number(input.value)]);
    output.textContent = told;
    input.setAttribute("aria-label", name);
    input.setAttribute("aria-valuetext", told);
  };
  say();
  input.addEventListener("input", () => {
    const value = values[Number(input.value)];
    if (Number(input.value) === now) delete session.moved[name];
    else session.moved[name] = { value, set: set(value) };
    say();
    soon(session);
  });
  const label = make("label");
  label.append(output, make("span", { textContent: name }), input);
  return label;
}
