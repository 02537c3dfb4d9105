// Draws every chart of the page from its data: legend, error bars, values under the pointer or the arrow keys.
"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const figures = [...document.querySelectorAll("figure.chart")];
  // Up to so many places an interval is a bar; beyond, a band.
  const BARS = 30;
  // A chart of fewer pixels is that of a phone.
  const NARROW = 520;
  const SIZE = { x: "width", y: "height" };
  // A line across a chart.
  const LINE = { stroke: "var(--ink)", strokeWidth: 1.3, strokeDasharray: "5 3" };

  const interval = (point) => point[2] !== null && point[3] !== null && point[2] < point[3];
  const dotted = (chart) => chart.kind === "points" || (chart.kind !== "step" && chart.places.length <= BARS);
  const spread = (places) => places.length > 3 && places[0] > 0 && places.at(-1) / places[0] >= 100;
  const cut = (word, most) => (word.length > most ? `${word.slice(0, most - 1)}…` : word);
  const unit = (chart) => (chart.unit ? ` ${chart.unit}` : "");
  // Four digits that matter, and every digit before the point.
  const number = (value) => String(Math.abs(value) >= 1000 ? Math.round(value) : Number(value.toPrecision(4)));
  const called = (place) => (typeof place === "number" ? String(Number(place.toPrecision(7))) : place);

  figures.forEach((figure, i) => show(figure, charts[i]));

  function show(figure, chart) {
    const box = figure.querySelector(".plot");
    const tip = figure.querySelector(".tip");
    const hidden = new Set();
    let drawn = null;
    let at = -1;

    legend(figure.querySelector(".legend"), chart, hidden, draw);
    // A box that is not laid out has no width yet: it is drawn when it has.
    new ResizeObserver(() => { if (box.clientWidth > 0 && drawn?.width !== box.clientWidth) draw(); }).observe(box);
    box.addEventListener("pointermove", (event) => point(nearest(event)));
    box.addEventListener("pointerdown", (event) => point(nearest(event)));
    box.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") leave(); });
    box.addEventListener("blur", leave);
    box.addEventListener("keydown", (event) => {
      const last = drawn.places.length - 1;
      const [next, before] = [Math.min(at + 1, last), Math.max(at - 1, 0)];
      const to = {
        ArrowRight: next, ArrowDown: next, ArrowLeft: before, ArrowUp: before, Home: 0, End: last,
      }[event.key];
      if (event.key === "Escape") leave();
      if (to === undefined || last < 0) return;
      event.preventDefault();
      point(to);
    });

    function draw() {
      leave();
      const shown = chart.series.filter((one) => !hidden.has(one.name));
      drawn = { width: box.clientWidth, ...plot(chart, shown, box.clientWidth) };
      box.replaceChildren(drawn.svg);
    }

    function nearest(event) {
      const frame = drawn.svg.getBoundingClientRect();
      const [offset, length] = drawn.side === "x" ? [event.clientX - frame.left, frame.width] : [event.clientY - frame.top, frame.height];
      const px = offset * drawn.svg[SIZE[drawn.side]].baseVal.value / length;
      let best = -1;
      drawn.places.forEach((place, j) => {
        if (best < 0 || Math.abs(place.px - px) < Math.abs(drawn.places[best].px - px)) best = j;
      });
      return best;
    }

    function point(to) {
      if (to < 0) return;
      const place = drawn.places[to];
      at = to;
      drawn.cross.setAttribute(`${drawn.side}1`, place.px);
      drawn.cross.setAttribute(`${drawn.side}2`, place.px);
      drawn.cross.removeAttribute("visibility");
      tip.replaceChildren(...lines(chart, place));
      tip.hidden = false;
      const upright = drawn.side === "x";
      const left = upright ? box.offsetLeft + place.px : box.offsetLeft + box.clientWidth;
      const room = figure.clientWidth - tip.offsetWidth - 4;
      const beside = left + 14 <= room ? left + 14 : left - tip.offsetWidth - 14;
      tip.style.left = `${Math.max(4, Math.min(beside, room))}px`;
      // Where it would hide the chart it lies below.
      const down = upright ? (tip.offsetWidth > 0.5 * drawn.width ? box.clientHeight : 12) : place.px + 14;
      tip.style.top = `${box.offsetTop + down}px`;
    }

    function leave() {
      at = -1;
      tip.hidden = true;
      if (drawn) drawn.cross.setAttribute("visibility", "hidden");
    }
  }

  function legend(box, chart, hidden, changed) {
    for (const one of chart.series) {
      const button = element("button", { type: "button", "aria-pressed": "true" });
      button.append(swatch(one, chart), one.name);
      button.addEventListener("click", () => {
        hidden.has(one.name) ? hidden.delete(one.name) : hidden.add(one.name);
        button.setAttribute("aria-pressed", String(!hidden.has(one.name)));
        changed();
      });
      box.append(button);
    }
    if (chart.series.some((one) => one.published.length)) {
      const key = element("span", { class: "key" });
      key.append(symbol("diamond", "var(--soft)", false), "published");
      box.append(key);
    }
  }

  // The SVG, where its places are along which side, and the line that marks one of them.
  function plot(chart, shown, width) {
    const bars = chart.kind === "bar";
    const places = chart.places.filter((place) =>
      shown.some((one) => [...one.points, ...one.published].some((point) => point[0] === place)));
    const drawn = bars && crowdedBars(shown, places, width) ? lying(chart, shown, places, width) : standing(chart, shown, places, width);
    const { svg, scale, side, from, to } = drawn;
    const stepped = chart.kind === "step";
    svg.setAttribute("aria-hidden", "true");
    const cross = document.createElementNS("http://www.w3.org/2000/svg", "line");
    const other = side === "x" ? "y" : "x";
    for (const [name, value] of Object.entries({ [`${other}1`]: from, [`${other}2`]: to, stroke: "var(--soft)", "stroke-dasharray": "3 3", visibility: "hidden", class: "cross" })) {
      cross.setAttribute(name, value);
    }
    svg.append(cross);
    const found = places.map((place) => ({
      place,
      px: scale.apply(place) + (bars ? scale.bandwidth / 2 : 0),
      values: shown.map((one) => ({
        one,
        point: stepped ? one.points.findLast((point) => point[0] <= place) : one.points.find((point) => point[0] === place),
        stated: one.published.find((point) => point[0] === place),
      })).filter((value) => value.point || value.stated),
    }));
    return { svg, cross, side, places: found };
  }

  // Values upwards.
  function standing(chart, shown, places, width) {
    const bars = chart.kind === "bar";
    const narrow = width < NARROW;
    const words = chart.words || bars;
    const longest = Math.max(18, Math.floor((width - 62) / Math.max(1, places.length) / 7));
    const tilt = words && crowded(places, width, longest);
    const [height, marginTop, marginBottom] = [Math.round(Math.max(270, Math.min(400, width * 0.46))), 30, tilt ? 92 : 44];
    const x = words
      ? { type: bars ? "band" : "point", domain: places, ...(bars ? { paddingInner: 0.25, paddingOuter: 0.06 } : { padding: 0.3 }) }
      : { type: spread(places) ? "log" : "linear", nice: false, inset: 12 };
    const ticks = !words && places.length <= (narrow ? 6 : 12) && !spread(places) ? places : undefined;
    const svg = Plot.plot({
      width, height, marginTop, marginBottom, marginLeft: 48, marginRight: 14,
      [bars ? "fx" : "x"]: { ...x, label: null },
      ...(bars ? { x: { axis: null, domain: slots(shown, places), padding: 0.08 } } : {}),
      y: { domain: reach(shown, chart), nice: chart.kind !== "step", label: null },
      marks: [
        Plot.gridY({ stroke: "var(--grid)", strokeOpacity: 1, ticks: 5 }),
        Plot.ruleY([0], { stroke: "var(--line)" }),
        Plot.axisY({ ticks: 5, tickSize: 0, label: chart.y, labelArrow: "none", labelAnchor: "top", labelOffset: 44, fill: "var(--soft)" }),
        (bars ? Plot.axisFx : Plot.axisX)({
          anchor: "bottom", label: chart.x, labelArrow: "none", labelAnchor: "center", labelOffset: tilt ? 88 : 40, fill: "var(--soft)",
          tickSize: words ? 0 : 5, stroke: "var(--line)", ...(ticks ? { ticks } : words ? {} : { ticks: narrow ? 5 : 9 }), ...(tilt ? { tickRotate: -35 } : {}),
          ...(words ? { tickFormat: (word) => cut(String(word), tilt ? 18 : longest) } : {}),
          // Of a single place no scale tells how many digits it needs.
          ...(!words && places.length === 1 ? { tickFormat: (place) => place.toLocaleString("en-US") } : {}),
          // Powers of ten as numbers: the library's "100m" would be read as metres, or milliseconds.
          ...(!words && spread(places) ? { tickFormat: (place) => (Math.abs(Math.log10(place) - Math.round(Math.log10(place))) < 1e-9 ? called(place) : "") } : {}),
        }),
        ...(bars ? barMarks(shown, places) : lineMarks(chart, shown)),
        ...across(chart, bars ? { fx: () => places.at(-1) } : {}),
      ],
    });
    return { svg, scale: svg.scale(bars ? "fx" : "x"), side: "x", from: marginTop - 4, to: height - marginBottom };
  }

  // Bars to the right, for many of them, or for long words.
  function lying(chart, shown, places, width) {
    const longest = Math.floor((width * 0.4) / 6.4);
    const widest = Math.max(...places.map((place) => cut(String(place), longest).length));
    const [marginLeft, marginTop, marginBottom] = [Math.round(widest * 6.4) + 14, 8, 44];
    const height = marginTop + marginBottom + places.length * (shown.length * 8 + 10);
    const svg = Plot.plot({
      width, height, marginLeft, marginTop, marginBottom, marginRight: 14,
      fy: { domain: places, paddingInner: 0.2, paddingOuter: 0.1, label: null },
      y: { axis: null, domain: slots(shown, places), padding: 0.08 },
      x: { domain: reach(shown, chart), nice: true, label: null },
      marks: [
        Plot.gridX({ stroke: "var(--grid)", strokeOpacity: 1, ticks: 5 }),
        Plot.ruleX([0], { stroke: "var(--line)" }),
        Plot.axisX({ anchor: "bottom", ticks: 5, tickSize: 0, label: chart.y, labelArrow: "none", labelAnchor: "center", labelOffset: 40, fill: "var(--soft)" }),
        Plot.axisFy({ anchor: "left", tickSize: 0, label: null, fill: "var(--soft)", tickFormat: (word) => cut(String(word), longest) }),
        ...barMarks(shown, places, true),
        ...chart.marks.flatMap((mark) => [
          Plot.ruleX([mark.at], LINE),
          Plot.text([mark.at], { x: mark.at, fy: () => places[0], frameAnchor: "top", textAnchor: "end", dx: -5, ...label(mark) }),
        ]),
      ],
    });
    return { svg, scale: svg.scale("fy"), side: "y", from: marginLeft, to: width - 14 };
  }

  // From zero, or the least value with its interval, to the greatest with its own. Where no value is below zero the
  // interval of one may end there and is cut, unless values are differences.
  function reach(shown, chart) {
    const points = shown.flatMap((one) => [...one.points, ...one.published.map(([x, y]) => [x, y, null, null])]);
    const lines = chart.marks.filter((mark) => mark.axis === "y").map((mark) => mark.at);
    const most = chart.kind === "step" ? 100 : Math.max(0, chart.top ?? 0, ...lines, ...points.map((point) => Math.max(point[1], point[3] ?? point[1])));
    const least = Math.min(0, ...points.map((point) => (chart.signed || point[1] < 0 ? Math.min(point[1], point[2] ?? point[1]) : point[1])));
    return [least, most > least ? most : least + 1];
  }

  // Where no place has two bars, each stands in the middle of its place.
  function alone(shown, places) {
    return places.every((place) => shown.filter((one) => [...one.points, ...one.published].some((point) => point[0] === place)).length < 2);
  }

  function slots(shown, places) {
    return alone(shown, places) ? [""] : shown.map((one) => one.name);
  }

  // Deadlines, targets, thresholds; of places side by side one has the words.
  function across(chart, place) {
    return chart.marks.flatMap((mark) => mark.axis === "x"
      ? [Plot.ruleX([mark.at], LINE), Plot.text([mark.at], { x: mark.at, frameAnchor: "bottom", textAnchor: "end", dx: -5, dy: -6, ...label(mark) })]
      : [Plot.ruleY([mark.at], LINE), Plot.text([mark.at], { y: mark.at, ...place, frameAnchor: "right", textAnchor: "end", dy: -8, ...label(mark) })]);
  }

  function label(mark) {
    return { text: [mark.label], fill: "var(--ink)", stroke: "var(--paper)", strokeWidth: 4 };
  }

  function lineMarks(chart, shown) {
    return shown.flatMap((one) => {
      const colour = `var(${one.colour})`;
      const wide = one.points.filter(interval);
      const at = { x: "0", y: "1" };
      const marks = [];
      if (wide.length && !dotted(chart)) {
        marks.push(Plot.areaY(wide, { x: "0", y1: "2", y2: "3", clip: true, fill: colour, fillOpacity: 0.16, render: named(one.name, "interval") }));
      } else if (wide.length) {
        marks.push(Plot.ruleX(wide, { x: "0", y1: "2", y2: "3", clip: true, stroke: colour, strokeWidth: 1.5, strokeOpacity: 0.75, marker: "tick", render: named(one.name, "interval") }));
      }
      if (chart.kind === "line" || chart.kind === "step") {
        marks.push(Plot.lineY(one.points, { ...at, curve: chart.kind === "step" ? "step-after" : "linear", stroke: colour, strokeWidth: 2.2, strokeDasharray: one.dash ?? undefined, render: named(one.name, "line") }));
      }
      if (dotted(chart)) {
        marks.push(Plot.dot(one.points, { ...at, fill: colour, symbol: one.symbol, r: 3.6, render: named(one.name, "dot") }));
      }
      return [...marks, ...published(one, at, shown)];
    });
  }

  function barMarks(shown, places, flat) {
    const at = flat ? { fy: "0", y: "name", x: "1" } : { fx: "0", x: "name", y: "1" };
    const single = alone(shown, places);
    const known = (one, points) => points.filter((point) => places.includes(point[0])).map((point) => ({ ...point, name: single ? "" : one.name }));
    return shown.flatMap((one) => {
      const points = known(one, one.points);
      const look = { fill: `var(${one.colour})`, fillOpacity: 0.9, render: named(one.name, "bar") };
      const line = { clip: true, stroke: "var(--ink)", strokeWidth: flat ? 1 : 1.4, marker: flat ? undefined : "tick", render: named(one.name, "interval") };
      const wide = points.filter(interval);
      return [
        flat ? Plot.barX(points, { ...at, ...look }) : Plot.barY(points, { ...at, ...look }),
        flat ? Plot.ruleY(wide, { fy: "0", y: "name", x1: "2", x2: "3", ...line }) : Plot.ruleX(wide, { fx: "0", x: "name", y1: "2", y2: "3", ...line }),
        ...published({ ...one, published: known(one, one.published) }, at, [], flat ? 3.5 : 5.5),
      ];
    });
  }

  // Diamonds for values, triangles that point to where a value may be for bounds; equal ones stand side by side.
  function published(one, at, shown, r = 5.5) {
    const shapes = { "": ["diamond", 0, "var(--paper)"], upper: ["triangle", 180, `var(${one.colour})`], lower: ["triangle", 0, `var(${one.colour})`] };
    return one.published.map((point) => {
      const same = shown.filter((other) => other.published.some((each) => each[0] === point[0] && each[1] === point[1]));
      const dx = same.length > 1 ? 12 * (same.indexOf(one) - (same.length - 1) / 2) : 0;
      const [shape, rotate, fill] = shapes[point[3] ?? ""];
      return Plot.dot([point], { ...at, dx, symbol: shape, rotate, r, fill, stroke: `var(${one.colour})`, strokeWidth: 2, render: named(one.name, "published") });
    });
  }

  // Says on the mark's element which series it belongs to, and as what.
  function named(name, part) {
    return (index, scales, values, dimensions, context, next) => {
      const group = next(index, scales, values, dimensions, context);
      if (group) {
        group.setAttribute("data-series", name);
        group.setAttribute("data-part", part);
      }
      return group;
    };
  }

  function lines(chart, place) {
    const head = element("strong", {});
    head.textContent = `${chart.x.replace(/ \([^)]*\)$/, "")}: ${called(place.place)}`;
    return [head, ...place.values.map(({ one, point, stated }) => {
      const line = element("div", {});
      const spot = element("i", {});
      spot.style.setProperty("--c", `var(${one.colour})`);
      const name = element("span", {});
      name.textContent = one.name;
      const value = element("span", {});
      if (point) {
        value.textContent = number(point[1]) + unit(chart);
        if (point[2] !== null) {
          const between = element("small", {});
          between.textContent = ` ${number(point[2])} to ${number(point[3])}`;
          value.append(between);
        }
      }
      if (stated) value.append(`${point ? "; " : ""}published ${stated[2] || number(stated[1]) + unit(chart)}`);
      line.append(spot, name, value);
      return line;
    })];
  }

  function swatch(one, chart) {
    if (chart.kind === "bar") return symbol("square", `var(${one.colour})`, true);
    const svg = symbol(one.symbol, `var(${one.colour})`, true, 28);
    if (!dotted(chart)) svg.replaceChildren();
    if (chart.kind === "line" || chart.kind === "step") {
      const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
      for (const [name, value] of Object.entries({ x1: 0, x2: 28, y1: 8, y2: 8, stroke: `var(${one.colour})`, "stroke-width": 2.2, ...(one.dash ? { "stroke-dasharray": one.dash } : {}) })) {
        line.setAttribute(name, value);
      }
      svg.prepend(line);
    }
    return svg;
  }

  function symbol(name, colour, filled, width = 16) {
    const shapes = { circle: d3.symbolCircle, square: d3.symbolSquare, triangle: d3.symbolTriangle, diamond: d3.symbolDiamond, star: d3.symbolStar, cross: d3.symbolCross, wye: d3.symbolWye };
    return d3.create("svg").attr("width", width).attr("height", 16).attr("aria-hidden", "true").call((svg) =>
      svg.append("path").attr("d", d3.symbol(shapes[name], filled ? 44 : 60)()).attr("transform", `translate(${width / 2},8)`)
        .attr("fill", filled ? colour : "none").attr("stroke", filled ? "none" : colour).attr("stroke-width", 2)).node();
  }

  // Whether bars would be thin, or the words below them touch.
  function crowdedBars(shown, places, width) {
    return places.length > 2 && (shown.length * places.length * 8 > width - 62 || crowded(places, width, 18));
  }

  // Whether words below the axis would touch.
  function crowded(places, width, longest) {
    const widest = Math.max(0, ...places.map((place) => cut(String(place), longest).length));
    return (widest * 6.6 + 8) * places.length > width - 62;
  }

  function element(name, attributes) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }
})();
