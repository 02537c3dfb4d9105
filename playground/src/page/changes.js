// The runs of the present state: the compared variants, and the overrides (`--set`) of all of them.
import { quantity } from "../quantities.js";

/** @import { Session, Variant } from "../types.d.ts" */

/**
 * Returns the variants to run: the runs of the lesson, or the chosen transports.
 *
 * @param {Session} session
 * @returns {Variant[]}
 */
export function variants({ lesson, state }) {
  if (lesson) return lesson.runs;
  return state.transports.map((transport) => ({ label: name_of(transport), transport }));
}

/**
 * Returns the name of a transport for the reader: of a plug-in the name of its file.
 *
 * @param {string} transport
 */
export function name_of(transport) {
  return transport.replace(/\.wasm$/, "");
}

/**
 * Returns the changes to the scenario's text.
 *
 * @param {Session} session
 */
export function changes(session) {
  const { state, moved } = session;
  const duration = state.duration ? [`run.duration=${state.duration}`, ...shorter_warm_up(session)] : [];
  return [...(state.set ?? []), ...duration, ...Object.values(moved).flatMap((each) => each.set)];
}

/**
 * Returns the change that keeps a warm-up from being longer than the run.
 *
 * @param {Session} session
 */
function shorter_warm_up({ resolved, state }) {
  /** @param {string | undefined} text */
  const us = (text) => quantity(text)?.[0] ?? 0;
  return us(resolved?.run.warm_up) >= us(state.duration) ? ["run.warm_up=0 s"] : [];
}
