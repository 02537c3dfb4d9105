// The charts, each an SVG of Observable Plot, with a description in words.
"use strict";

const charts = (() => {
  const AXIS = { tickSize: 0, labelArrow: "none", fill: "var(--soft)" };
  // A message that did not complete, or took longer, is drawn at this multiple of its deadline.
  const HIGHEST = 4;
  const MOST_DOTS = 4000;
  const MOST_LINES = 60;

  const number = (value, digits = 3) =>
    value === null || value === undefined ? "–" : Number(value.toPrecision(digits)).toLocaleString("en", { maximumFractionDigits: 6 });
  const percent = (value) => (value === null || value === undefined ? "–" : `${number(value)} %`);

  function draw(label, options) {
    const svg = Plot.plot({ marginLeft: 46, marginRight: 12, marginBottom: 34, style: { fontSize: "12px" }, ...options });
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", label);
    return svg;
  }

  const grid = () => [Plot.gridY({ stroke: "var(--grid)", strokeOpacity: 1, ticks: 4 }), Plot.ruleY([0], { stroke: "var(--line)" })];
  const axes = (x, y) => [
    Plot.axisX({ ...AXIS, label: x, labelAnchor: "center", labelOffset: 32, ticks: 5 }),
    Plot.axisY({ ...AXIS, label: y, ticks: 4, labelAnchor: "top" }),
  ];

  /** Deadlines missed by each variant, and the least number of any schedule. */
  function misses(runs, width) {
    const rows = runs.filter((run) => run.report.summary.missed_percent !== null);
    if (!rows.length) return null;
    const bounds = rows.filter((run) => run.report.bound);
    const said = rows.map((run) => `${run.label} ${percent(run.report.summary.missed_percent)}, at least ${percent(run.report.bound?.missed_percent)}`);
    return draw(`Deadlines missed: ${said.join("; ")}`, {
      width,
      height: 46 + 34 * rows.length,
      marginLeft: Math.min(150, 20 + 8 * Math.max(...rows.map((run) => run.label.length))),
      x: { domain: [0, Math.max(5, ...rows.map((run) => run.report.summary.missed_percent)) * 1.15] },
      y: { domain: rows.map((run) => run.label), padding: 0.35 },
      marks: [
        Plot.gridX({ stroke: "var(--grid)", strokeOpacity: 1, ticks: 5 }),
        Plot.ruleX([0], { stroke: "var(--line)" }),
        Plot.axisX({ ...AXIS, label: "deadlines missed (%)", labelAnchor: "center", labelOffset: 32, ticks: 5 }),
        Plot.axisY({ ...AXIS, label: null }),
        Plot.barX(rows, { x: (run) => run.report.summary.missed_percent, y: "label", fill: (run) => run.colour }),
        Plot.text(rows, { x: (run) => run.report.summary.missed_percent, y: "label", text: (run) => percent(run.report.summary.missed_percent), textAnchor: "start", dx: 5, fill: "var(--ink)" }),
        Plot.tickX(bounds, { x: (run) => run.report.bound.missed_percent, y: "label", stroke: "var(--ink)", strokeWidth: 3 }),
      ],
    });
  }

  /** Every message: its start, and the share of its time that it took. */
  function lateness(run, width) {
    const { start_us, fct_us, deadline_us, missed } = run.flows;
    let rows = start_us.map((_, row) => row).filter((row) => deadline_us[row] !== null);
    if (!rows.length) return null;
    const late = rows.filter((row) => missed[row] === true).length;
    const every = Math.ceil(rows.length / MOST_DOTS);
    rows = rows.filter((_, index) => index % every === 0);
    const share = (row) => (fct_us[row] === null ? HIGHEST : Math.min(HIGHEST, fct_us[row] / deadline_us[row]));
    return draw(`Who is late under ${run.label}: ${late} of ${deadline_us.filter((each) => each !== null).length} messages`, {
      width,
      height: 190,
      y: { domain: [0, Math.max(1.3, ...rows.map(share))] },
      marks: [
        ...grid(),
        ...axes("started (ms)", "completion / deadline"),
        Plot.ruleY([1], { stroke: "var(--ink)", strokeDasharray: "4 3" }),
        Plot.dot(rows, {
          x: (row) => start_us[row] / 1000,
          y: share,
          r: 2.5,
          symbol: (row) => (missed[row] ? "times" : "circle"),
          stroke: (row) => (missed[row] ? "var(--late)" : "var(--met)"),
        }),
      ],
    });
  }

  /** Returns the largest value of a signal in the first moments. */
  function highest(run, what) {
    const { time_s, value } = run.trace;
    return run.trace.what.reduce((most, each, row) => (each === what && time_s[row] * 1e6 >= run.moments.from_us ? Math.max(most, value[row]) : most), 0);
  }

  const NAMES = { cwnd: "cwnd (segments)", alpha: "alpha", d: "d", queue: "queue (packets)" };

  /** One signal over the first moments; for queues, that of the port with the longest one. */
  function signal(run, what, width, { mark, highest }) {
    const { time_s, message, link, value } = run.trace;
    const from = run.moments.from_us;
    const to = from + run.moments.span_us;
    let rows = time_s.map((_, row) => row).filter((row) => run.trace.what[row] === what && time_s[row] * 1e6 >= from);
    if (!rows.length) return null;
    if (what === "queue") {
      const fullest = fullest_port(run);
      rows = rows.filter((row) => link[row] === fullest);
    }
    const lines = new Set(rows.map((row) => message[row] ?? link[row]));
    const kept = new Set([...lines].slice(0, MOST_LINES));
    rows = rows.filter((row) => kept.has(message[row] ?? link[row]));
    const most = rows.reduce((most, row) => Math.max(most, value[row]), 0);
    const top = Math.max(highest ?? 0, most, what === "queue" ? (mark ?? 0) * 1.1 : 0) || 1;
    const marked = what === "queue" && mark !== undefined && mark <= top;
    const where = what === "queue" ? `, port ${fullest_port(run)}, up to ${number(most)}` : ` of ${lines.size} messages, up to ${number(most)}`;
    return draw(`${NAMES[what]} under ${run.label}${where}`, {
      width,
      height: 150,
      x: { domain: [0, (to - from) / 1000] },
      y: { domain: [0, top] },
      marks: [
        ...grid(),
        ...axes("ms since the first message", NAMES[what]),
        Plot.line(rows, {
          x: (row) => (time_s[row] * 1e6 - from) / 1000,
          y: (row) => value[row],
          z: (row) => message[row] ?? link[row],
          stroke: run.colour,
          strokeWidth: what === "queue" ? 1.6 : 1,
          strokeOpacity: lines.size > 5 ? 0.5 : 1,
          clip: true,
        }),
        ...(marked ? [
          Plot.ruleY([mark], { stroke: "var(--ink)", strokeDasharray: "4 3" }),
          Plot.text([mark], { y: (k) => k, text: () => `K = ${mark}`, frameAnchor: "right", dy: -7, fill: "var(--ink)" }),
        ] : []),
      ],
    });
  }

  /** Returns the switch's port with the longest queue in the first moments. */
  function fullest_port(run) {
    const most = new Map();
    run.trace.what.forEach((what, row) => {
      if (what !== "queue") return;
      const port = run.trace.link[row];
      most.set(port, Math.max(most.get(port) ?? 0, run.trace.value[row]));
    });
    return [...most].reduce((best, each) => (each[1] > best[1] ? each : best), ["none", -1])[0];
  }

  /** The share of the window that a mark cuts under D2TCP, as the papers draw it: p = alpha^d, and half of
   * p. */
  function penalty(width, now) {
    const curves = [0.5, 1, 2].flatMap((d) => Array.from({ length: 101 }, (_, i) => ({ d, alpha: i / 100, p: (i / 100) ** d })));
    const said = `The share of the window that a cut takes, half of alpha to the power of d, for d = 0.5, 1 and 2; at alpha = ${now.alpha} and d = ${number(now.d)} it is ${number(50 * now.alpha ** now.d)} %`;
    const ends = [0.5, 1, 2].map((d) => ({ d, alpha: 0.5, p: 0.5 ** d }));
    return draw(said, {
      width,
      height: 260,
      x: { domain: [0, 1] },
      y: { domain: [0, 50] },
      marks: [
        ...grid(),
        ...axes("alpha: share of marked packets", "cut of the window (%)"),
        Plot.line(curves, { x: "alpha", y: (row) => 50 * row.p, z: "d", stroke: "var(--soft)", strokeWidth: 1.6 }),
        Plot.text(ends, { x: "alpha", y: (row) => 50 * row.p, text: (row) => `d = ${row.d}`, dy: -9, dx: -12, fill: "var(--ink)" }),
        Plot.dot([now], { x: "alpha", y: (row) => 50 * row.alpha ** row.d, r: 6, fill: "var(--link)" }),
      ],
    });
  }

  return { misses, lateness, signal, highest, penalty, fullest_port, number, percent };
})();
