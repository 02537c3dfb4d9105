// Sliders of a scenario: the quantities that they change, and the overrides (`--set`) for them.
import { quantity } from "../quantities.js";
import { bytes, control, distinct, round, steps } from "./stops.js";

/** @import { Network, Resolved, Traffic } from "../types.d.ts" */
/** @import { Control } from "./stops.js" */

const MAX_LEAVES = 120;
const THRESHOLDS = [1, 2, 5, 10, 15, 20, 30, 40, 65, 100, 150, 200, 400];
const JITTERS = [1, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000];
const LOADS = [1, 2, 5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90];

/**
 * Returns the sliders of a resolved scenario.
 *
 * @param {Resolved} resolved
 * @returns {Control[]}
 */
export function controls_of({ network, traffic }) {
  const found = [
    ...traffic.map((each) => fan_in(each, network, traffic.length === 1)),
    deadline(traffic),
    marking(network),
    buffer(network),
    ...traffic.map(jitter),
    ...traffic.map(load),
  ];
  return found.filter((each) => each !== null);
}

/**
 * Returns the slider of a fan-in's senders.
 *
 * @param {Traffic} each
 * @param {Network} network
 * @param {boolean} only
 */
function fan_in(each, network, only) {
  if (each.pattern !== "fan-in" || each.levels !== 1) return null;
  const alone = only && network.topology === "star";
  const max = alone ? MAX_LEAVES : network.hosts - 1;
  if (!(max > 1)) return null;
  const counts = Array.from({ length: Math.min(max, MAX_LEAVES) }, (_, i) => i + 1);
  const values = distinct([...counts.filter((n) => n <= 10 || n % 5 === 0), each.leaves]);
  /** @param {number} leaves */
  const hosts = (leaves) =>
    alone ? [`network.hosts=${Math.max(network.hosts, leaves + each.parents)}`] : [];
  return {
    name: `Fan-in of ${each.name}`,
    values,
    now: values.indexOf(each.leaves),
    /** @param {number} leaves */
    shown: (leaves) => `${leaves} to 1`,
    /** @param {number} leaves */
    set: (leaves) => [...hosts(leaves), `traffic.${each.name}.leaves=${leaves}`],
  };
}

/**
 * Returns the slider of the factor of all deadlines.
 *
 * @param {Traffic[]} traffic
 */
function deadline(traffic) {
  const dated = traffic.find((each) => each.deadline || each.flows?.some((flow) => flow.deadline));
  if (!dated) return null;
  const given = dated.deadline;
  const base = quantity(typeof given === "object" ? given?.base : given);
  /** @param {number} factor */
  const shown = (factor) => (base ? `${round((factor * base[0]) / 1000)} ms` : `${factor} ×`);
  return control("Deadline", steps(0.1, 4, 25), 1, shown, (factor) => [`run.deadline_factor=${factor}`]);
}

/**
 * Returns the slider of the marking threshold.
 *
 * @param {Network} network
 */
function marking({ mark }) {
  const now = mark === undefined ? null : quantity(mark);
  if (now?.[1] !== "packets") return null;
  /** @param {number} k */
  const shown = (k) => `${k} packets`;
  return control("Marking threshold K", THRESHOLDS, now[0], shown, (k) => [`network.mark=${k} packets`]);
}

/**
 * Returns the slider of the buffer of a switch or port.
 *
 * @param {Network} network
 */
function buffer({ buffer, sharing }) {
  const now = quantity(buffer);
  if (!now || now[1] === "packets" || !(now[0] > 0)) return null;
  const name = sharing === "dynamic" ? "Buffer, shared" : "Buffer";
  return control(name, steps(20e3, 10e6, 28), now[0], bytes, (size) => [`network.buffer=${size} B`]);
}

/**
 * Returns the slider of the maximum of a uniform jitter.
 *
 * @param {Traffic} each
 */
function jitter(each) {
  if (!/^uniform\(0 /.test(each.jitter ?? "")) return null;
  const now = quantity(each.jitter?.replace(/^.*, /, "").replace(")", ""))?.[0];
  if (now === undefined || !Number.isFinite(now)) return null;
  /** @param {number} us */
  const shown = (us) => (us >= 1000 ? `up to ${us / 1000} ms` : `up to ${us} us`);
  return control(`Jitter of ${each.name}`, JITTERS, now, shown, (us) => [
    `traffic.${each.name}.jitter=uniform(0 us, ${us} us)`,
  ]);
}

/**
 * Returns the slider of an offered load.
 *
 * @param {Traffic} each
 */
function load(each) {
  if (each.load === undefined) return null;
  const now = Number.parseFloat(String(each.load)) * (String(each.load).endsWith("%") ? 1 : 100);
  if (!Number.isFinite(now)) return null;
  /** @param {number} share */
  const shown = (share) => `${share} %`;
  return control(`Load of ${each.name}`, LOADS, now, shown, (share) => [
    `traffic.${each.name}.load=${share}%`,
  ]);
}
