// The picture of a replay: the wires of the senders, the queue, the wire of the port, and packets on them.
import { blank, on_lane, square } from "./sheet.js";
import { state } from "./story.js";

/** @import { Sheet } from "./sheet.js" */
/** @import { Packet, Story } from "./story.js" */

// The size of a queued packet.
const CELL = 9;

/**
 * Paints the state at a time.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {Story} story
 * @param {number} now
 * @param {number | undefined} mark
 */
export function paint(canvas, story, now, mark) {
  const sheet = blank(canvas, story);
  if (!sheet) return;
  paint_wires(sheet, story);
  paint_acks(sheet, story, now);
  paint_packets(sheet, story, now);
  paint_queue(sheet, state(story, now).waiting, mark);
}

/**
 * Draws the wires and the frame of the queue, with the names of the nodes.
 *
 * @param {Sheet} sheet
 * @param {Story} story
 */
function paint_wires({ pen, colour, height, left, right, queue_from, queue_to, middle, y_of }, story) {
  pen.strokeStyle = colour("--line");
  pen.fillStyle = colour("--soft");
  const words = story.lanes.length <= Math.floor((height - 36) / 14);
  story.lanes.forEach((lane, index) => {
    pen.beginPath();
    pen.moveTo(left, y_of(lane));
    pen.lineTo(queue_from - 20, middle + (y_of(lane) - middle) * 0.25);
    pen.stroke();
    if (words || index === 0 || index === story.lanes.length - 1) pen.fillText(lane, 2, y_of(lane) + 4);
  });
  pen.beginPath();
  pen.moveTo(queue_to, middle);
  pen.lineTo(right, middle);
  pen.stroke();
  pen.fillText(story.from, queue_from, 12);
  pen.fillText(story.to, right + 4, middle + 4);
  pen.strokeRect(queue_from, 18, queue_to - queue_from, height - 36);
}

/**
 * Draws the ACKs in transmission.
 *
 * @param {Sheet} sheet
 * @param {Story} story
 * @param {number} now
 */
function paint_acks(sheet, { acks, lanes }, now) {
  for (const ack of acks) {
    if (ack.sent > now || ack.arrives < now || !lanes.includes(ack.to)) continue;
    const [x, y] = on_lane(sheet, ack.to, 1 - (now - ack.sent) / (ack.arrives - ack.sent));
    square(sheet, x, y + 3, 3, sheet.colour(ack.echo ? "--marked" : "--soft"));
  }
}

/**
 * Draws the packets in transmission, and the drops.
 *
 * @param {Sheet} sheet
 * @param {Story} story
 * @param {number} now
 */
function paint_packets(sheet, { packets, lanes }, now) {
  const { colour, height, right, queue_from, queue_to, middle } = sheet;
  const box = Math.max(2, Math.min(CELL, (height - 36) / lanes.length - 1));
  for (const packet of packets) {
    if (packet.sent > now || (packet.arrives < now && packet.lost === undefined)) continue;
    const plain = colour(packet.again ? "--again" : "--packet");
    if (now < packet.enters) {
      const share = (now - packet.sent) / (packet.enters - packet.sent);
      square(sheet, ...on_lane(sheet, packet.from, share), box, plain);
    } else if (packet.lost !== undefined) {
      // The fall lasts as long as thirty such packets take on a wire of one gigabit.
      const fallen = (now - packet.lost) / 360;
      const y = middle + 10 + fallen * (height / 2 - 20);
      if (fallen < 1) square(sheet, queue_from - 14, y, box, colour("--late"));
    } else if (now >= packet.leaves) {
      const share = (now - packet.leaves) / (packet.arrives - packet.leaves);
      const fill = packet.marked ? colour("--marked") : plain;
      square(sheet, queue_to + (right - queue_to) * share, middle, box + 1, fill);
    }
  }
}

/**
 * Draws the queue, and its marking threshold.
 *
 * @param {Sheet} sheet
 * @param {Packet[]} waiting
 * @param {number | undefined} mark
 */
function paint_queue(sheet, waiting, mark) {
  const { pen, colour, height, queue_from, queue_to } = sheet;
  const rows = Math.max(1, Math.floor((height - 40) / CELL));
  const columns = Math.max(1, Math.floor((queue_to - queue_from - 4) / CELL));
  // The head of the queue is at the bottom right. The queue grows upwards, then to the left.
  waiting.slice(0, rows * columns).forEach((packet, place) => {
    const fill = colour(packet.marked ? "--marked" : packet.again ? "--again" : "--packet");
    const x = queue_to - 6 - Math.floor(place / rows) * CELL;
    square(sheet, x, height - 24 - (place % rows) * CELL, CELL - 2, fill);
  });
  if (waiting.length > rows * columns) {
    pen.fillStyle = colour("--ink");
    pen.fillText(`+ ${waiting.length - rows * columns}`, queue_from + 4, 30);
  }
  if (mark !== undefined && mark < rows) {
    const y = height - 24 - (mark - 0.5) * CELL;
    pen.strokeStyle = colour("--ink");
    pen.setLineDash([4, 3]);
    pen.beginPath();
    pen.moveTo(queue_from, y);
    pen.lineTo(queue_to, y);
    pen.stroke();
    pen.setLineDash([]);
  }
}
