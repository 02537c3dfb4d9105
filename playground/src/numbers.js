// Figures as words: numbers, shares, durations and percentiles.

/** @import { Percentiles } from "./types.d.ts" */

const NOTHING = "–";

/**
 * Returns a number with so many significant digits.
 *
 * @param {number | null | undefined} value
 */
export function number(value, digits = 3) {
  if (value === null || value === undefined) return NOTHING;
  return Number(value.toPrecision(digits)).toLocaleString("en", { maximumFractionDigits: 6 });
}

/**
 * Returns a number of percent with its sign.
 *
 * @param {number | null | undefined} value
 */
export function percent(value) {
  return value === null || value === undefined ? NOTHING : `${number(value)} %`;
}

/**
 * Returns a duration in us or ms.
 *
 * @param {number | null | undefined} us
 */
export function time(us) {
  if (us === null || us === undefined) return NOTHING;
  return us < 1000 ? `${number(us)} us` : `${number(us / 1000)} ms`;
}

/**
 * Returns a percentile, or its lower bound if it depends on messages in flight at the end.
 *
 * @param {Percentiles | null | undefined} part
 * @param {string} name
 * @param {(value: number | null | undefined) => string} write
 */
export function known(part, name, write) {
  const least = part?.at_least?.[name];
  if (part?.[name] === null && least !== undefined) return `≥ ${write(least)}`;
  return write(/** @type {number | null | undefined} */ (part?.[name]));
}
