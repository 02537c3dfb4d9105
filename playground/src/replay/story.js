// The story of a replay: the packets through the port with the longest queue, from the engine's log.
import { fullest_port } from "../charts/signals.js";

/** @import { Run } from "../types.d.ts" */

/**
 * A packet of the port, with its times in us; `Infinity` after the end of the log.
 *
 * @typedef {object} Packet
 * @property {string} from The node before the switch.
 * @property {number} sent The begin of its transmission to the switch.
 * @property {number} enters The arrival at the switch.
 * @property {number} leaves The begin of its transmission by the port.
 * @property {number} arrives The arrival behind the port.
 * @property {boolean} again True for a retransmission.
 * @property {boolean} [marked] True if the port has marked it.
 * @property {number} [lost] The time of the drop.
 */

/**
 * An ACK that the switch forwards to a sender, with its times in us.
 *
 * @typedef {object} Ack
 * @property {string} to The sender.
 * @property {number} sent The begin of its transmission.
 * @property {number} arrives The arrival.
 * @property {boolean} echo True if it echoes a mark.
 */

/**
 * The events of one port from `begin` to `end`, in us.
 *
 * @typedef {object} Story
 * @property {Packet[]} packets The packets of the port.
 * @property {Ack[]} acks The ACKs in the other direction.
 * @property {string[]} lanes The nodes before the switch, in numeric order.
 * @property {number[]} times The times of all events, in ascending order.
 * @property {string} from The switch.
 * @property {string} to The node behind the port.
 * @property {number} begin The first time.
 * @property {number} end The last time.
 */

/**
 * Returns the events of one port; null if the log has no port.
 *
 * @param {Run} run
 * @returns {Story | null}
 */
export function story(run) {
  const { packets: log, links, wires } = run;
  const port = port_of(run);
  if (port < 0) return null;
  /** @param {number} row */
  const begins = (row) => {
    const { rate_bps, delay_us } = wires[log.link[row]];
    return log.at_us[row] - delay_us - (log.size[row] * 8e6) / rate_bps;
  };
  /** @param {number} row */
  const key = (row) => `${log.connection[row]}/${log.seq[row]}/${log.ack[row]}`;
  /** @type {Map<string, Packet[]>} */
  const open = new Map();
  /** @type {Packet[]} */
  const packets = [];
  /** @type {Ack[]} */
  const acks = [];
  log.at_us.forEach((at, row) => {
    const link = log.link[row];
    if (log.lost[row]) {
      const packet = link === port && open.get(key(row))?.pop();
      if (packet) packet.lost = at;
    } else if (log.next[row] === port) {
      const times = { sent: begins(row), enters: at, leaves: Infinity, arrives: Infinity };
      const packet = { from: links.src[link], ...times, again: log.again[row] };
      packets.push(packet);
      open.set(key(row), [...(open.get(key(row)) ?? []), packet]);
    } else if (link === port) {
      const packet = open.get(key(row))?.shift();
      if (packet) Object.assign(packet, { leaves: begins(row), arrives: at, marked: log.marked[row] });
    } else if (log.ack[row] && log.next[row] === null && links.src[link] === links.src[port]) {
      acks.push({ to: links.dst[link], sent: begins(row), arrives: at, echo: log.echo[row] });
    }
  });
  const lanes = [...new Set(packets.map((packet) => packet.from))];
  lanes.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const times = packets
    .flatMap((packet) => [packet.enters, packet.leaves, packet.arrives])
    .filter(Number.isFinite);
  return {
    packets,
    acks,
    lanes,
    times: [...new Set(times)].sort((a, b) => a - b),
    from: links.src[port],
    to: links.dst[port],
    begin: run.moments.from_us,
    end: log.complete_until_us,
  };
}

/**
 * Returns the row of the port with the longest queue, or else of a port in the log; -1 if there is none.
 *
 * @param {Run} run
 */
function port_of(run) {
  const { packets: log, links } = run;
  const name = fullest_port(run);
  const found = links.src.findIndex((from, row) => `${from} -> ${links.dst[row]}` === name);
  return found >= 0 ? found : (log.next.find((next) => next !== null) ?? -1);
}

/**
 * Returns the state at a time: the queue, and the counts of delivered, marked and dropped packets.
 *
 * @param {Story} story
 * @param {number} now
 */
export function state({ packets }, now) {
  const waiting = packets.filter(
    (packet) => packet.enters <= now && packet.leaves > now && packet.lost === undefined,
  );
  waiting.sort((a, b) => a.leaves - b.leaves || a.enters - b.enters);
  return {
    waiting,
    arrived: packets.filter((packet) => packet.arrives <= now).length,
    marked: packets.filter((packet) => packet.marked && packet.enters <= now).length,
    lost: packets.filter((packet) => packet.lost !== undefined && packet.lost <= now).length,
  };
}

/**
 * Returns the state at a time in words.
 *
 * @param {Story} story
 * @param {number} now
 * @param {number | undefined} mark
 */
export function tell(story, now, mark) {
  const { waiting, arrived, marked, lost } = state(story, now);
  const k = mark === undefined ? "" : ` (K = ${mark})`;
  const queue = `${waiting.length} wait at ${story.from} for ${story.to}${k}`;
  const at = ((now - story.begin) / 1000).toFixed(4);
  return `${at} ms: ${queue}; ${marked} marked, ${lost} dropped, ${arrived} have reached it`;
}
