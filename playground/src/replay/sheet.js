// The canvas of a replay: the places of the switch and its neighbours, and packets at these places.

/** @import { Story } from "./story.js" */

/**
 * A canvas with the places of the switch and the colours of the page.
 *
 * @typedef {object} Sheet
 * @property {CanvasRenderingContext2D} pen The canvas.
 * @property {(name: string) => string} colour Returns a colour of the page.
 * @property {number} height The height of the canvas.
 * @property {number} left The x of the senders.
 * @property {number} right The x of the receiver.
 * @property {number} queue_from The left edge of the queue.
 * @property {number} queue_to The right edge of the queue.
 * @property {number} middle The y of the port.
 * @property {(lane: string) => number} y_of Returns the y of a sender.
 */

/**
 * Returns an empty sheet for the canvas.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {Story} story
 * @returns {Sheet | null}
 */
export function blank(canvas, { lanes }) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const style = getComputedStyle(canvas);
  const pen = canvas.getContext("2d");
  if (!pen) return null;
  pen.scale(ratio, ratio);
  pen.font = "12px system-ui, sans-serif";
  const left = 62;
  const right = width - 62;
  return {
    pen,
    colour: (name) => style.getPropertyValue(name),
    height,
    left,
    right,
    queue_from: left + (right - left) * 0.42,
    queue_to: left + (right - left) * 0.74,
    middle: height / 2,
    y_of: (lane) => 18 + ((height - 36) * (lanes.indexOf(lane) + 0.5)) / lanes.length,
  };
}

/**
 * Returns the place at a share of a sender's wire.
 *
 * @param {Sheet} sheet
 * @param {string} lane
 * @param {number} share
 * @returns {[x: number, y: number]}
 */
export function on_lane({ left, queue_from, middle, y_of }, lane, share) {
  const y = y_of(lane);
  return [left + (queue_from - 20 - left) * share, y + (middle + (y - middle) * 0.25 - y) * share];
}

/**
 * Draws a packet as a square around a point.
 *
 * @param {Sheet} sheet
 * @param {number} x
 * @param {number} y
 * @param {number} size
 * @param {string} fill
 */
export function square({ pen }, x, y, size, fill) {
  pen.fillStyle = fill;
  pen.fillRect(x - size / 2, y - size / 2, size, size);
}
