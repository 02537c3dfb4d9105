// The chart of the cut of a window under D2TCP, as the papers draw it.
import { number } from "../numbers.js";
import { axes, draw, grid } from "./frame.js";

const CURVES = [0.5, 1, 2];

/**
 * Returns the share of the window that a mark cuts: half of p = alpha^d, with a point for present values.
 *
 * @param {number} width
 * @param {{ alpha: number, d: number }} now
 */
export function penalty(width, now) {
  const curves = CURVES.flatMap((d) =>
    Array.from({ length: 101 }, (_, i) => ({ d, alpha: i / 100, p: (i / 100) ** d })),
  );
  const ends = CURVES.map((d) => ({ d, alpha: 0.5, p: 0.5 ** d }));
  const cut = number(50 * now.alpha ** now.d);
  const drawn =
    "The share of the window that a cut takes, half of alpha to the power of d, for d = 0.5, 1 and 2";
  return draw(`${drawn}; at alpha = ${now.alpha} and d = ${number(now.d)} it is ${cut} %`, {
    width,
    height: 260,
    x: { domain: [0, 1] },
    y: { domain: [0, 50] },
    marks: [
      ...grid(),
      ...axes("alpha: share of marked packets", "cut of the window (%)"),
      Plot.line(curves, {
        x: "alpha",
        y: (row) => 50 * row.p,
        z: "d",
        stroke: "var(--soft)",
        strokeWidth: 1.6,
      }),
      Plot.text(ends, {
        x: "alpha",
        y: (row) => 50 * row.p,
        text: (row) => `d = ${row.d}`,
        dy: -9,
        dx: -12,
        fill: "var(--ink)",
      }),
      Plot.dot([now], { x: "alpha", y: (row) => 50 * row.alpha ** row.d, r: 6, fill: "var(--link)" }),
    ],
  });
}
