// The frame of each chart: an SVG of Observable Plot with a description in words, a grid and axes.

/** Options of both axes. */
export const AXIS = /** @type {const} */ ({ tickSize: 0, labelArrow: "none", fill: "var(--soft)" });

/**
 * Draws a chart, which `label` describes.
 *
 * @param {string} label
 * @param {Plot.PlotOptions} options
 */
export function draw(label, options) {
  const style = { fontSize: "12px" };
  const svg = Plot.plot({ marginLeft: 46, marginRight: 12, marginBottom: 34, style, ...options });
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  return svg;
}

/** Returns horizontal lines, and one at zero. */
export function grid() {
  return [
    Plot.gridY({ stroke: "var(--grid)", strokeOpacity: 1, ticks: 4 }),
    Plot.ruleY([0], { stroke: "var(--line)" }),
  ];
}

/**
 * Returns the axes with their labels.
 *
 * @param {string} x
 * @param {string} y
 */
export function axes(x, y) {
  return [
    Plot.axisX({ ...AXIS, label: x, labelAnchor: "center", labelOffset: 32, ticks: 5 }),
    Plot.axisY({ ...AXIS, label: y, ticks: 4, labelAnchor: "top" }),
  ];
}
