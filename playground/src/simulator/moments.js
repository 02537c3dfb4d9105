// The two runs of a result: the whole scenario, and its first moments with signals and packets.

/** @import { Done, Flows, Moments, Order, Progress, Signal } from "../types.d.ts" */
/** @import { Engine } from "./engine.js" */

/** @type {Signal[]} */
const SIGNALS = ["cwnd", "alpha", "d", "queue"];
const SAMPLES = 400;
// A replay that is longer than this, or has more hops, would take long to draw.
const MAX_LOGGED_MS = 20;
const MAX_HOPS = 150_000;

/**
 * Runs the whole scenario, and then its first moments with signals and packets.
 *
 * @param {Engine} engine
 * @param {Order} order
 * @param {Progress} progress
 * @returns {Done}
 */
export function simulate(engine, { of, span_ms }, progress) {
  const whole = engine.run(of, null, (share) => progress(0.9 * share));
  const moments = window_of(whole.flows, span_ms);
  const every = Math.max(1, Math.round((moments.span_us / SAMPLES) * 10) / 10);
  const set = [
    ...(of.set ?? []),
    `run.duration=${moments.from_us + moments.span_us} us`,
    "run.warm_up=0 s",
    "run.cool_down=0 s",
    `run.trace.every=${every} us`,
    `run.trace.what=${JSON.stringify(SIGNALS)}`,
  ];
  const until_us = Math.ceil(moments.from_us + Math.min(moments.span_us, 1000 * MAX_LOGGED_MS));
  const log = { from_us: Math.floor(moments.from_us), until_us, most: MAX_HOPS };
  const close = engine.run({ ...of, set }, log, (share) => progress(0.9 + 0.1 * share));
  if (!close.packets) throw new Error("the simulator has logged no packets");
  return {
    contract: whole.json,
    resolved: whole.resolved,
    notes: whole.notes,
    flows: whole.flows,
    requests: whole.requests,
    links: whole.links,
    wires: whole.wires,
    moments,
    trace: close.trace,
    packets: close.packets,
  };
}

/**
 * Returns the first moments: from the first message with a deadline, or else from the first message.
 *
 * @param {Flows} flows
 * @param {number | null} span_ms
 * @returns {Moments}
 */
function window_of({ start_us, deadline_us }, span_ms) {
  const rows = start_us.map((_, row) => row);
  const dated = rows.filter((row) => deadline_us[row] !== null);
  const first = (dated.length ? dated : rows).reduce((min, row) => Math.min(min, start_us[row]), Infinity);
  const from_us = Number.isFinite(first) ? Math.floor(first) : 0;
  const near = dated.filter((row) => start_us[row] < from_us + 1000);
  const latest = near.reduce((max, row) => Math.max(max, deadline_us[row] ?? 0), 0);
  const automatic = latest > 0 ? Math.min(100_000, Math.max(1000, 1.25 * latest)) : 10_000;
  return { from_us, span_us: span_ms ? 1000 * span_ms : Math.ceil(automatic) };
}
