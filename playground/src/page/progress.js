// The progress of the runs: a bar, a line of text, and the button that cancels.
import { by_id } from "./dom.js";

/**
 * Shows that runs are in progress, or that none is.
 *
 * @param {boolean} on
 */
export function busy(on) {
  by_id("cancel", HTMLButtonElement).disabled = !on;
  by_id("results").setAttribute("aria-busy", String(on));
  if (!on) by_id("progress", HTMLProgressElement).value = 0;
}

/**
 * Shows the mean of the shares that runs have done.
 *
 * @param {number[]} shares
 */
export function advance(shares) {
  by_id("progress", HTMLProgressElement).value = shares.reduce((sum, each) => sum + each, 0) / shares.length;
}

/**
 * Writes the line of text.
 *
 * @param {string} text
 */
export function say(text) {
  by_id("status").textContent = text;
}
