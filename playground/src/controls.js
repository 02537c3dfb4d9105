// Sliders: the quantities of a scenario that they change, and the overrides (`--set`) for them.
"use strict";

const controls = (() => {
  const UNITS = { "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "us": 1, "ms": 1e3, "s": 1e6 };

  /** "20 packets" -> [20, "packets"], "4000000 B" -> [4e6, "B"]; null for anything else. */
  function quantity(text) {
    const found = /^([\d.]+) ?([A-Za-z]+)$/.exec(String(text));
    if (!found) return null;
    return found[2] === "packets" ? [Number(found[1]), "packets"] : [Number(found[1]) * (UNITS[found[2]] ?? NaN), found[2]];
  }

  const steps = (from, to, count) =>
    Array.from({ length: count }, (_, i) => from * (to / from) ** (i / (count - 1)));
  const round = (value) => Number(value.toPrecision(2));
  const bytes = (value) => (value >= 1e6 ? `${round(value / 1e6)} MB` : `${round(value / 1e3)} KB`);
  const distinct = (values) => [...new Set(values)].sort((a, b) => a - b);

  /** Returns the sliders of a resolved scenario: name, stops, present value, label and overrides. */
  function of({ network, traffic }) {
    const found = [];
    const add = (name, stops, now, shown, set) => {
      const values = distinct([...stops.map(round), now]);
      found.push({ name, values, now: values.indexOf(now), shown, set });
    };
    for (const each of traffic.filter((each) => each.pattern === "fan-in" && each.levels === 1)) {
      const alone = traffic.length === 1 && network.topology === "star";
      const most = alone ? 120 : network.hosts - 1;
      if (!(most > 1)) continue;
      const stops = Array.from({ length: Math.min(most, 120) }, (_, i) => i + 1).filter((n) => n <= 10 || n % 5 === 0);
      const hosts = (leaves) => (alone ? [`network.hosts=${Math.max(network.hosts, leaves + each.parents)}`] : []);
      found.push({
        name: `Fan-in of ${each.name}`,
        values: distinct([...stops, each.leaves]),
        now: distinct([...stops, each.leaves]).indexOf(each.leaves),
        shown: (leaves) => `${leaves} to 1`,
        set: (leaves) => [...hosts(leaves), `traffic.${each.name}.leaves=${leaves}`],
      });
    }
    const dated = traffic.find((each) => each.deadline || each.flows?.some((flow) => flow.deadline));
    if (dated) {
      const base = quantity(dated.deadline?.base ?? dated.deadline);
      const shown = (factor) => (base ? `${round((factor * base[0]) / 1000)} ms` : `${factor} ×`);
      add("Deadline", steps(0.1, 4, 25), 1, shown, (factor) => [`run.deadline_factor=${factor}`]);
    }
    if (network.mark !== undefined) {
      const now = quantity(network.mark);
      if (now?.[1] === "packets") {
        const stops = [1, 2, 5, 10, 15, 20, 30, 40, 65, 100, 150, 200, 400];
        add("Marking threshold K", stops, now[0], (k) => `${k} packets`, (k) => [`network.mark=${k} packets`]);
      }
    }
    const buffer = quantity(network.buffer);
    if (buffer && buffer[1] !== "packets" && buffer[0] > 0) {
      const name = network.sharing === "dynamic" ? "Buffer, shared" : "Buffer";
      add(name, steps(20e3, 10e6, 28), buffer[0], bytes, (size) => [`network.buffer=${size} B`]);
    }
    for (const each of traffic.filter((each) => /^uniform\(0 /.test(each.jitter ?? ""))) {
      const now = quantity(each.jitter.replace(/^.*, /, "").replace(")", ""))?.[0];
      if (!Number.isFinite(now)) continue;
      const stops = [1, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000];
      const shown = (us) => (us >= 1000 ? `up to ${us / 1000} ms` : `up to ${us} us`);
      add(`Jitter of ${each.name}`, stops, now, shown, (us) => [`traffic.${each.name}.jitter=uniform(0 us, ${us} us)`]);
    }
    for (const each of traffic.filter((each) => each.load !== undefined)) {
      const now = Number.parseFloat(each.load) * (String(each.load).endsWith("%") ? 1 : 100);
      if (!Number.isFinite(now)) continue;
      const stops = [1, 2, 5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90];
      add(`Load of ${each.name}`, stops, now, (load) => `${load} %`, (load) => [`traffic.${each.name}.load=${load}%`]);
    }
    return found;
  }

  return { of, quantity };
})();
