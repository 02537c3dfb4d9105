// Quantities of a scenario: texts with an amount and a unit.

/** @import { Quantity, Resolved } from "./types.d.ts" */

/** @type {Record<string, number>} */
const UNITS = { B: 1, KB: 1e3, MB: 1e6, GB: 1e9, us: 1, ms: 1e3, s: 1e6 };
const PACKET = 1500;

/**
 * Returns amount and unit: 20 and "packets" of "20 packets", 4e6 and "B" of "4000000 B"; null for other texts.
 *
 * @param {unknown} text
 * @returns {Quantity | null}
 */
export function quantity(text) {
  const found = /^([\d.]+) ?([A-Za-z]+)$/.exec(String(text));
  if (!found) return null;
  const [, amount, unit] = found;
  return unit === "packets" ? [Number(amount), unit] : [Number(amount) * (UNITS[unit] ?? NaN), unit];
}

/**
 * Returns the marking threshold K in packets if the network marks.
 *
 * @param {{ resolved: Resolved }} run
 */
export function threshold(run) {
  const mark = quantity(run.resolved.network.mark);
  if (!mark) return undefined;
  return mark[1] === "packets" ? mark[0] : mark[0] / PACKET;
}
