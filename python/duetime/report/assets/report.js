// Draws every chart of the page from its data: legend, error bars, values under the pointer or the arrow keys.
"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const figures = [...document.querySelectorAll("figure.chart")];
  // Up to so many places an interval is a bar; beyond, a band.
  const BARS = 30;
  // A chart of fewer pixels is that of a phone.
  const NARROW = 520;

  const interval = (point) => point[2] !== null && point[3] !== null && point[2] < point[3];
  const dotted = (one, kind) => kind === "points" || one.points.length <= BARS;
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
    new ResizeObserver(() => { if (!drawn || drawn.width !== box.clientWidth) draw(); }).observe(box);
    box.addEventListener("pointermove", (event) => point(nearest(event)));
    box.addEventListener("pointerdown", (event) => point(nearest(event)));
    box.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") leave(); });
    box.addEventListener("blur", leave);
    box.addEventListener("keydown", (event) => {
      const last = drawn.places.length - 1;
      const to = { ArrowRight: Math.min(at + 1, last), ArrowLeft: Math.max(at - 1, 0), Home: 0, End: last }[event.key];
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
      const x = (event.clientX - frame.left) * drawn.svg.width.baseVal.value / frame.width;
      let best = -1;
      drawn.places.forEach((place, j) => {
        if (best < 0 || Math.abs(place.px - x) < Math.abs(drawn.places[best].px - x)) best = j;
      });
      return best;
    }

    function point(to) {
      if (to < 0) return;
      const place = drawn.places[to];
      at = to;
      drawn.cross.setAttribute("x1", place.px);
      drawn.cross.setAttribute("x2", place.px);
      drawn.cross.removeAttribute("visibility");
      tip.replaceChildren(...lines(chart, place));
      tip.hidden = false;
      const scale = drawn.svg.getBoundingClientRect().width / drawn.svg.width.baseVal.value;
      const left = box.offsetLeft + place.px * scale;
      const room = figure.clientWidth - tip.offsetWidth - 4;
      const beside = left + 14 <= room ? left + 14 : left - tip.offsetWidth - 14;
      tip.style.left = `${Math.max(4, Math.min(beside, room))}px`;
      // On a narrow page it would hide the chart.
      tip.style.top = `${box.offsetTop + (drawn.width < NARROW ? box.clientHeight : 12)}px`;
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
      button.append(swatch(one, chart.kind), one.name);
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

  // The SVG, where its places are, and the line that marks one of them.
  function plot(chart, shown, width) {
    const bars = chart.kind === "bar";
    const places = chart.places.filter((place) =>
      shown.some((one) => [...one.points, ...one.published].some((point) => point[0] === place)));
    const narrow = width < NARROW;
    const height = Math.round(Math.max(250, Math.min(400, width * 0.46)));
    const words = chart.words || bars;
    const longest = Math.max(18, Math.floor((width - 62) / Math.max(1, places.length) / 7));
    const tilt = words && crowded(places, width, longest);
    const x = words
      ? { type: bars ? "band" : "point", domain: places, ...(bars ? { paddingInner: 0.25, paddingOuter: 0.06 } : { padding: 0.3 }) }
      : { type: spread(places) ? "log" : "linear", nice: false, inset: 12 };
    const marks = bars ? barMarks(shown, places) : lineMarks(chart, shown);
    const ticks = !words && places.length <= (narrow ? 6 : 12) && !spread(places) ? places : undefined;
    const svg = Plot.plot({
      width, height,
      marginLeft: 48, marginRight: 14, marginTop: 30, marginBottom: tilt ? 92 : 44,
      [bars ? "fx" : "x"]: { ...x, label: null },
      ...(bars ? { x: { axis: null, domain: shown.map((one) => one.name), padding: 0.08 } } : {}),
      y: { zero: true, nice: true, label: null },
      marks: [
        Plot.gridY({ stroke: "var(--grid)", strokeOpacity: 1, ticks: 5 }),
        Plot.ruleY([0], { stroke: "var(--line)" }),
        Plot.axisY({ ticks: 5, tickSize: 0, label: chart.y, labelArrow: "none", labelAnchor: "top", labelOffset: 44, fill: "var(--soft)" }),
        (bars ? Plot.axisFx : Plot.axisX)({
          anchor: "bottom", label: chart.x, labelArrow: "none", labelAnchor: "center", labelOffset: tilt ? 88 : 40, fill: "var(--soft)",
          tickSize: words ? 0 : 5, stroke: "var(--line)", ...(ticks ? { ticks } : words ? {} : { ticks: narrow ? 5 : 9 }), ...(tilt ? { tickRotate: -35 } : {}),
          ...(words ? { tickFormat: (word) => cut(String(word), tilt ? 18 : longest) } : {}),
        }),
        ...marks,
      ],
    });
    svg.setAttribute("aria-hidden", "true");
    const cross = document.createElementNS("http://www.w3.org/2000/svg", "line");
    for (const [name, value] of Object.entries({ y1: 26, y2: height - (tilt ? 92 : 44), stroke: "var(--soft)", "stroke-dasharray": "3 3", visibility: "hidden", class: "cross" })) {
      cross.setAttribute(name, value);
    }
    svg.append(cross);
    const scale = svg.scale(bars ? "fx" : "x");
    const found = places.map((place) => ({
      place,
      px: scale.apply(place) + (bars ? scale.bandwidth / 2 : 0),
      values: shown.map((one) => ({
        one,
        point: one.points.find((point) => point[0] === place),
        stated: one.published.find((point) => point[0] === place),
      })).filter((value) => value.point || value.stated),
    }));
    return { svg, cross, places: found };
  }

  function lineMarks(chart, shown) {
    return shown.flatMap((one) => {
      const colour = `var(${one.colour})`;
      const wide = one.points.filter(interval);
      const at = { x: "0", y: "1" };
      const many = one.points.length > BARS;
      const marks = [];
      if (wide.length && many && chart.kind === "line") {
        marks.push(Plot.areaY(wide, { x: "0", y1: "2", y2: "3", fill: colour, fillOpacity: 0.16, render: named(one.name, "interval") }));
      } else if (wide.length) {
        marks.push(Plot.ruleX(wide, { x: "0", y1: "2", y2: "3", stroke: colour, strokeWidth: 1.5, strokeOpacity: 0.75, marker: "tick", render: named(one.name, "interval") }));
      }
      if (chart.kind === "line") {
        marks.push(Plot.lineY(one.points, { ...at, stroke: colour, strokeWidth: 2.2, strokeDasharray: one.dash ?? undefined, render: named(one.name, "line") }));
      }
      if (dotted(one, chart.kind)) {
        marks.push(Plot.dot(one.points, { ...at, fill: colour, symbol: one.symbol, r: 3.6, render: named(one.name, "dot") }));
      }
      return [...marks, published(one, at)];
    });
  }

  function barMarks(shown, places) {
    const at = { fx: "0", x: "name", y: "1" };
    const known = (one, points) => points.filter((point) => places.includes(point[0])).map((point) => ({ ...point, name: one.name }));
    return shown.flatMap((one) => {
      const colour = `var(${one.colour})`;
      const points = known(one, one.points);
      const wide = points.filter(interval);
      return [
        Plot.barY(points, { ...at, fill: colour, fillOpacity: 0.9, render: named(one.name, "bar") }),
        Plot.ruleX(wide, { fx: "0", x: "name", y1: "2", y2: "3", stroke: "var(--ink)", strokeWidth: 1.4, marker: "tick", render: named(one.name, "interval") }),
        published({ ...one, published: known(one, one.published) }, at),
      ];
    });
  }

  function published(one, at) {
    return Plot.dot(one.published, {
      ...at, symbol: "diamond", r: 5.5, fill: "var(--paper)", stroke: `var(${one.colour})`, strokeWidth: 2, render: named(one.name, "published"),
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

  function swatch(one, kind) {
    if (kind === "bar") return symbol("square", `var(${one.colour})`, true);
    const svg = symbol(one.symbol, `var(${one.colour})`, true, 28);
    if (!dotted(one, kind)) svg.replaceChildren();
    if (kind === "line") {
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
