import { key, now } from "./duetime";
export { event, keys } from "./duetime";

// Keeps a few segments of each connection in the queue, judged by round-trip times alone (as TCP Vegas does).
// The state of one connection: zeros at first.
@unmanaged
class State {
  windowEnd: f64;
}

const STATE = memory.data(offsetof<State>());

export function state(): usize {
  return STATE;
}

export function state_size(): usize {
  return offsetof<State>();
}

export function on_ack(): void {
  const mine = changetype<State>(STATE);
  const e = now();
  // Once in a round trip: when all is acknowledged that was sent when the last one began.
  if (e.may_grow == 0 || e.srtt == 0 || e.una <= mine.windowEnd) return;
  mine.windowEnd = e.next;
  const target = key(0);
  const queued = (e.cwnd * (e.srtt - e.min_rtt)) / e.srtt;
  if (queued > target) {
    e.cwnd = Math.max(e.cwnd - (queued - target) / 2, e.floor);
    e.ssthresh = e.cwnd;
  } else if (e.cwnd < e.ssthresh) {
    e.cwnd *= 2;
  } else {
    e.cwnd += 1;
  }
}
