// The page: its inputs, the runs, and the results.
"use strict";

(async () => {
  const $ = (id) => document.getElementById(id);
  const data = (id) => JSON.parse($(id).textContent);
  const SCENARIOS = data("scenarios");
  const LESSONS = data("lesson-plans");
  const FIRST = { scenario: "large-messages", transports: ["tcp", "dctcp", "d2tcp"], duration: "3 s" };
  // The maximum number of runs, for a screen's width and distinguishable colours.
  const MOST_RUNS = 6;
  const DURATIONS = ["10 ms", "50 ms", "100 ms", "500 ms", "1 s", "3 s", "10 s", "30 s"];

  /** The state of the page, as a link stores it. */
  let state = null;
  /** The moved sliders: name to value. */
  let moved = {};
  let lesson = null;
  let guess = null;
  let runs = [];
  let hands = [];
  let round = 0;
  let resolved = null;

  try {
    await workers.prepare();
  } catch (error) {
    return complain({ message: `this browser cannot run the simulator: ${error.message}` });
  }
  const desk = new workers.Hand();
  const [catalog, schema] = await Promise.all([
    desk.ask({ request: { verb: "catalog" } }),
    desk.ask({ request: { verb: "schema" } }),
  ]);
  const edit = editor.create($("editor"), schema, (text) => {
    state.text = text;
    state.scenario = null;
    moved = {};
    choose();
  });
  const player = replay.create($("replay"));

  for (const { name, title } of SCENARIOS) $("scenario").append(new Option(title, name));
  $("scenario").append(new Option("One of your own (below)", ""));
  $("duration").append(new Option("as the scenario says", ""), ...DURATIONS.map((each) => new Option(each, each)));
  for (const { name, help } of catalog.transports) {
    const label = document.createElement("label");
    label.title = help;
    const box = Object.assign(document.createElement("input"), { type: "checkbox", value: name });
    box.addEventListener("change", () => {
      const on = [...document.querySelectorAll("#transports input:checked")].map((each) => each.value);
      if (on.length > MOST_RUNS) box.checked = false;
      else state.transports = on;
      leave_lesson();
      go();
    });
    label.append(box, name);
    $("transports").append(label);
  }
  const play = document.createElement("button");
  play.textContent = "Free play";
  play.addEventListener("click", () => open_lesson(null));
  $("lessons").append(play, ...LESSONS.map((each, index) => {
    const button = document.createElement("button");
    button.textContent = `${index + 1}. ${each.title}`;
    button.dataset.lesson = each.id;
    button.addEventListener("click", () => open_lesson(each));
    return button;
  }));

  $("scenario").addEventListener("change", () => {
    const chosen = SCENARIOS.find(({ name }) => name === $("scenario").value);
    if (!chosen) {
      $("source").open = true;
      return edit.view.focus();
    }
    leave_lesson();
    start({ ...state, scenario: chosen.name, text: chosen.text, set: [], moved: {} });
  });
  $("duration").addEventListener("change", () => {
    state.duration = $("duration").value;
    go();
  });
  $("moments").addEventListener("change", () => {
    state.moments = Number($("moments").value) || null;
    go();
  });
  $("run").addEventListener("click", go);
  $("cancel").addEventListener("click", cancel);
  $("scale").addEventListener("change", show_columns);
  $("replayed").addEventListener("change", () => show_replay());
  $("licences").addEventListener("click", () => {
    $("licence-text").textContent = $("legal").textContent;
    $("licence-text").hidden = !$("licence-text").hidden;
  });
  document.querySelectorAll("[data-download]").forEach((button) => button.addEventListener("click", () => download(button.dataset.download)));
  $("share").addEventListener("click", copy_link);
  addEventListener("hashchange", from_link);

  if (!(await from_link())) {
    start({ text: SCENARIOS.find(({ name }) => name === FIRST.scenario).text, set: [], moved: {}, moments: null, ...FIRST });
  }
  document.body.dataset.ready = "yes";

  /** Shows a state and runs it. */
  function start(next) {
    state = { ...next };
    moved = { ...next.moved };
    edit.show(state.text);
    $("scenario").value = state.scenario ?? "";
    $("duration").value = state.duration ?? "";
    $("moments").value = state.moments ?? "";
    document.querySelectorAll("#transports input").forEach((box) => {
      box.checked = state.transports.includes(box.value);
    });
    return choose();
  }

  /** Checks the scenario, shows its mistakes or its sliders, and runs it. */
  async function choose() {
    const mine = ++round;
    stop_runs();
    if (lesson && guess === null) show_nothing();
    const before = [...(state.set ?? [])];
    try {
      ({ resolved } = await desk.ask({ request: { verb: "check", text: state.text, set: before } }));
    } catch (error) {
      if (mine === round) complain(error);
      return;
    }
    if (mine !== round) return;
    complain(null);
    show_sliders();
    go();
  }

  function show_sliders() {
    const offered = controls.of(resolved);
    $("sliders").replaceChildren(...offered.map((each) => {
      const label = document.createElement("label");
      const at = moved[each.name] !== undefined ? Math.max(0, each.values.indexOf(moved[each.name].value)) : each.now;
      const input = Object.assign(document.createElement("input"), { type: "range", min: 0, max: each.values.length - 1, step: 1 });
      input.value = String(at);
      const output = document.createElement("output");
      const name = document.createElement("span");
      name.textContent = each.name;
      const say = () => {
        const value = each.values[Number(input.value)];
        output.textContent = each.shown(value);
        input.setAttribute("aria-label", each.name);
        input.setAttribute("aria-valuetext", each.shown(value));
      };
      say();
      input.addEventListener("input", () => {
        const value = each.values[Number(input.value)];
        if (Number(input.value) === each.now) delete moved[each.name];
        else moved[each.name] = { value, set: each.set(value) };
        say();
        soon();
      });
      label.append(output, name, input);
      return label;
    }));
  }

  let later = null;
  function soon() {
    clearTimeout(later);
    later = setTimeout(go, 150);
  }

  /** Returns the changes to the scenario's text. */
  function changes() {
    const duration = state.duration ? [`run.duration=${state.duration}`, ...shorter_warm_up()] : [];
    return [...(state.set ?? []), ...duration, ...Object.values(moved).flatMap((each) => each.set)];
  }

  function shorter_warm_up() {
    const us = (text) => controls.quantity(text)?.[0] ?? 0;
    return us(resolved.run.warm_up) >= us(state.duration) ? ["run.warm_up=0 s"] : [];
  }

  /** Returns the variants to run. */
  function variants() {
    if (lesson) return lesson.runs;
    return state.transports.map((transport) => ({ label: transport, transport }));
  }

  function stop_runs() {
    hands.forEach((hand) => hand.stop());
    hands = [];
  }

  function cancel() {
    round++;
    stop_runs();
    busy(false);
    $("status").textContent = "Cancelled.";
  }

  function busy(on) {
    $("cancel").disabled = !on;
    $("results").setAttribute("aria-busy", String(on));
    if (!on) $("progress").value = 0;
  }

  /** Runs the variants, each in a separate worker. */
  async function go() {
    if (lesson && guess === null) return;
    const mine = ++round;
    stop_runs();
    const wanted = variants();
    if (!wanted.length) {
      $("status").textContent = "Choose a transport.";
      return;
    }
    busy(true);
    $("status").textContent = "Running …";
    const began = performance.now();
    const shares = wanted.map(() => 0);
    const common = changes();
    try {
      const queue = wanted.map((variant, index) => ({ variant, index }));
      const found = [];
      const serve = async () => {
        const hand = new workers.Hand();
        hands.push(hand);
        for (let next = queue.shift(); next; next = queue.shift()) {
          const { variant, index } = next;
          const of = { text: state.text, set: [...common, ...(variant.set ?? [])], transport: variant.transport };
          const done = await hand.ask({ run: { of, span_ms: state.moments } }, (share) => {
            shares[index] = share;
            $("progress").value = shares.reduce((sum, each) => sum + each, 0) / shares.length;
          });
          shares[index] = 1;
          found[index] = { label: variant.label, colour: `var(--run-${index % MOST_RUNS})`, report: JSON.parse(done.contract), ...done };
        }
      };
      const together = Math.min(wanted.length, Math.max(1, (navigator.hardwareConcurrency || 2) - 1));
      await Promise.all(Array.from({ length: together }, serve));
      if (mine !== round) return;
      runs = found;
      busy(false);
      stop_runs();
      complain(null);
      const packets = runs.reduce((sum, run) => sum + run.report.packet_hops, 0);
      $("status").textContent = `${charts.number(packets)} packet-hops in ${charts.number((performance.now() - began) / 1000)} s`;
      show();
    } catch (error) {
      if (mine !== round || error.cancelled) return;
      stop_runs();
      busy(false);
      $("status").textContent = "";
      complain(error);
    }
  }

  function complain(mistake) {
    $("mistake").hidden = !mistake;
    if (!mistake) {
      edit.mark(null);
      return;
    }
    $("mistake").textContent = mistake.shown ?? mistake.message;
    if (mistake.file === "scenario.toml") edit.mark(mistake);
    $("status").textContent = "";
  }

  function show_nothing() {
    runs = [];
    $("replayed").replaceChildren();
    $("taken").replaceChildren();
    $("results").hidden = true;
    $("status").textContent = "Predict first; then it runs.";
  }

  function show() {
    $("results").hidden = false;
    const notes = [...new Set(runs.flatMap((run) => run.notes))];
    $("notes").replaceChildren(...notes.map((note) => Object.assign(document.createElement("li"), { textContent: note })));
    const misses = document.querySelector("[data-part=misses]");
    const chart = charts.misses(runs, Math.min(760, misses.clientWidth || 360));
    misses.parentElement.hidden = !chart;
    if (chart) misses.replaceChildren(chart);
    show_numbers();
    show_columns();
    for (const picker of [$("replayed"), $("taken")]) {
      const before = picker.selectedIndex;
      picker.replaceChildren(...runs.map((run, index) => new Option(run.label, String(index))));
      picker.selectedIndex = before >= 0 && before < runs.length ? before : lesson ? 0 : runs.length - 1;
    }
    show_replay();
    if (lesson) lessons.reveal($("lesson"), lesson, guess, runs.map((run) => run.report));
    window.dispatchEvent(new CustomEvent("shown", { detail: round }));
    document.body.dataset.shown = String(round);
  }

  function show_numbers() {
    const COLUMNS = [
      ["missed", ({ summary }) => charts.percent(summary.missed_percent)],
      ["bound", ({ bound }) => charts.percent(bound?.missed_percent)],
      ["FCT, median", ({ summary }) => known(summary.fct_us, "p50", time)],
      ["FCT, 99th", ({ summary }) => known(summary.fct_us, "p99", time)],
      ["goodput", ({ summary }) => `${charts.number(summary.goodput_mbps)} Mbps`],
      ["dropped", (report) => charts.number(report.drops, 6)],
      ["marked", (report) => charts.number(report.marks, 6)],
      ["timeouts", (report) => charts.number(report.timeouts, 6)],
      ["queue, 99th", ({ busiest_queue }) => (busiest_queue ? `${busiest_queue.p99} packets` : "–")],
    ];
    const cell = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });
    const line = (cells) => {
      const row = document.createElement("tr");
      row.append(...cells);
      return row;
    };
    const head = document.createElement("thead");
    head.append(line([cell("th", ""), ...COLUMNS.map(([name]) => cell("th", name))]));
    const body = document.createElement("tbody");
    body.append(...runs.map((run) => line([cell("th", run.label), ...COLUMNS.map(([, of]) => cell("td", of(run.report)))])));
    $("numbers").replaceChildren(head, body);
  }

  const time = (us) => (us === null || us === undefined ? "–" : us < 1000 ? `${charts.number(us)} us` : `${charts.number(us / 1000)} ms`);
  // A figure, or the lower bound of one that depends on messages under way at the end.
  const known = (part, name, write) =>
    part?.[name] === null && part.at_least?.[name] !== undefined ? `≥ ${write(part.at_least[name])}` : write(part?.[name]);

  /** Returns K in packets if the network marks. */
  function threshold(run) {
    const mark = controls.quantity(run.resolved.network.mark);
    if (!mark) return undefined;
    return mark[1] === "packets" ? mark[0] : mark[0] / 1500;
  }

  function show_columns() {
    const highest = $("scale").checked ? Object.fromEntries(["queue", "cwnd", "d"].map((what) => [what, Math.max(...runs.map((run) => charts.highest(run, what)))])) : {};
    highest.alpha = 1;
    $("columns").replaceChildren(...runs.map((run) => {
      const section = document.createElement("section");
      const title = document.createElement("h3");
      const spot = Object.assign(document.createElement("span"), { className: "spot" });
      spot.style.background = run.colour;
      title.append(spot, run.label);
      section.append(title);
      return section;
    }));
    [...$("columns").children].forEach((section, index) => {
      const run = runs[index];
      const width = Math.min(640, section.clientWidth - 24);
      const drawn = [
        charts.signal(run, "queue", width, { mark: threshold(run), highest: highest.queue }),
        charts.lateness(run, width),
        charts.signal(run, "cwnd", width, { highest: highest.cwnd }),
        charts.signal(run, "alpha", width, { highest: highest.alpha }),
        charts.signal(run, "d", width, { highest: highest.d }),
      ];
      section.append(...drawn.filter(Boolean));
    });
  }

  function show_replay() {
    const run = runs[$("replayed").selectedIndex];
    player.show(run ?? null, run && threshold(run));
  }

  // --- Lessons

  function open_lesson(next) {
    lesson = next;
    guess = null;
    document.querySelectorAll("#lessons [data-lesson]").forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.lesson === next?.id)));
    lessons.show($("lesson"), next, (chosen) => {
      guess = chosen;
      go();
    });
    $("transports").disabled = Boolean(next);
    if (!next) return start({ ...state, set: [], moved: {} });
    const text = next.text ?? SCENARIOS.find(({ name }) => name === next.scenario).text;
    return start({ ...state, text, scenario: next.scenario ?? null, set: next.set ?? [], duration: "", moments: next.moments ?? null, moved: {} });
  }

  function leave_lesson() {
    if (!lesson) return;
    lesson = null;
    guess = null;
    $("transports").disabled = false;
    lessons.show($("lesson"), null);
    document.querySelectorAll("#lessons [data-lesson]").forEach((button) => button.setAttribute("aria-pressed", "false"));
  }

  // --- Links and files

  async function copy_link() {
    const { scenario, transports, duration, moments, set, text } = state;
    const packed = await share.pack({ scenario, transports, duration, moments, set, text, moved, lesson: lesson?.id });
    history.replaceState(null, "", `#s=${packed}`);
    try {
      await navigator.clipboard.writeText(location.href);
      $("status").textContent = "The link is in the clipboard, and above in the address.";
    } catch {
      $("status").textContent = "The link stands above, in the address.";
    }
  }

  /** Returns true if the address has a valid state, and starts it. */
  async function from_link() {
    const found = /^#s=([\w-]+)$/.exec(location.hash);
    const named = /^#lesson=([\w-]+)$/.exec(location.hash);
    if (named) {
      const asked = LESSONS.find(({ id }) => id === named[1]);
      if (!asked) return false;
      state ??= { transports: FIRST.transports, moments: null };
      open_lesson(asked);
      return true;
    }
    if (!found) return false;
    try {
      const shared = await share.unpack(found[1]);
      const asked = LESSONS.find(({ id }) => id === shared.lesson);
      if (asked) {
        state = { ...shared };
        lesson = asked;
        guess = null;
        $("transports").disabled = true;
        lessons.show($("lesson"), asked, (chosen) => {
          guess = chosen;
          go();
        });
      } else leave_lesson();
      await start({ set: [], moved: {}, moments: null, ...shared });
      return true;
    } catch {
      $("status").textContent = "The address holds no scenario that can be read.";
      return false;
    }
  }

  function download(kind) {
    const run = runs[$("taken").selectedIndex];
    if (!run) return;
    const name = run.label.replace(/[^\w.-]+/g, "-");
    const files = {
      json: ["application/json", () => run.contract],
      csv: ["text/csv", () => csv(run.flows)],
      toml: ["application/toml", () => state.text],
    };
    const [type, text] = files[kind];
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text()], { type }));
    link.download = kind === "toml" ? "scenario.toml" : `${name}.${kind}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function csv(table) {
    const names = Object.keys(table);
    const word = (value) => (value === null ? "" : /[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
    const rows = table[names[0]].map((_, row) => names.map((name) => word(table[name][row])).join(","));
    return `${names.join(",")}\n${rows.join("\n")}\n`;
  }
})();
