// The comparison: the variants as runs in workers, side by side, and how they are stopped.
import { number } from "../numbers.js";
import { Cancelled, Hand } from "../simulator/workers.js";
import { changes, variants } from "./changes.js";
import { complain, withdraw } from "./mistakes.js";
import { advance, busy, say } from "./progress.js";
import { show } from "./results.js";

/** @import { Run, Session, Variant } from "../types.d.ts" */

/** The maximum number of runs, for a screen's width and distinguishable colours. */
export const MAX_RUNS = 6;
// The pause after the last move of a slider, in ms.
const PAUSE = 150;

/**
 * Runs the variants, each in a separate worker, and shows their results.
 *
 * @param {Session} session
 */
export async function go(session) {
  if (session.lesson && session.guess === null) return;
  session.round += 1;
  const mine = session.round;
  stop_runs(session);
  const wanted = variants(session);
  if (!wanted.length) {
    say("Choose a transport.");
    return;
  }
  busy(true);
  say("Running …");
  const began = performance.now();
  try {
    const found = await compare(session, wanted);
    if (mine !== session.round) return;
    session.runs = found;
    busy(false);
    stop_runs(session);
    withdraw(session.editor);
    const packets = found.reduce((sum, run) => sum + run.report.packet_hops, 0);
    say(`${number(packets)} packet-hops in ${number((performance.now() - began) / 1000)} s`);
    show(session);
  } catch (error) {
    if (mine !== session.round || error instanceof Cancelled) return;
    stop_runs(session);
    busy(false);
    complain(session.editor, /** @type {Error} */ (error));
  }
}

/**
 * Returns the results of variants in their order, from as many workers as there are processors to spare.
 *
 * @param {Session} session
 * @param {Variant[]} wanted
 */
async function compare(session, wanted) {
  const { state } = session;
  const common = changes(session);
  const shares = wanted.map(() => 0);
  const queue = wanted.map((variant, index) => ({ variant, index }));
  /** @type {Run[]} */
  const found = [];
  const serve = async () => {
    const hand = new Hand();
    session.hands.push(hand);
    for (let next = queue.shift(); next; next = queue.shift()) {
      const { variant, index } = next;
      const set = [...common, ...(variant.set ?? [])];
      const of = { text: state.text, set, transport: variant.transport, modules: session.modules };
      const done = await hand.ask({ run: { of, span_ms: state.moments } }, (share) => {
        shares[index] = share;
        advance(shares);
      });
      shares[index] = 1;
      // A transport has the colour of all figures, unless several runs share it.
      const own = `var(--run-${index % MAX_RUNS})`;
      const alone =
        variant.transport && wanted.filter(({ transport }) => transport === variant.transport).length === 1;
      const colour = alone ? `var(--of-${variant.transport}, ${own})` : own;
      found[index] = { label: variant.label, colour, report: JSON.parse(done.contract), ...done };
    }
  };
  const together = Math.min(wanted.length, Math.max(1, (navigator.hardwareConcurrency || 2) - 1));
  await Promise.all(Array.from({ length: together }, serve));
  return found;
}

/**
 * Runs the variants once no slider has moved for a moment.
 *
 * @param {Session} session
 */
export function soon(session) {
  clearTimeout(session.later);
  session.later = setTimeout(() => go(session), PAUSE);
}

/**
 * Stops all workers of the runs.
 *
 * @param {Session} session
 */
export function stop_runs(session) {
  for (const hand of session.hands) hand.stop();
  session.hands = [];
}

/**
 * Stops the runs for the reader, and keeps the former results.
 *
 * @param {Session} session
 */
export function cancel(session) {
  session.round += 1;
  stop_runs(session);
  busy(false);
  say("Cancelled.");
}
