// The interface between duetime and a plug-in, version 1. Leave this file as it is.

// The numbers of a call. Positions and amounts are in bytes, times in picoseconds, windows in segments, rates in
// bit/s; flags are 0 or 1. A law may change `cwnd`, `ssthresh` and `rate`.
@unmanaged
export class Event {
  cwnd: f64;
  ssthresh: f64;
  // 0: the window decides. Only with `pacing = true`.
  rate: f64;
  // Minimum of the window after a cut.
  floor: f64;
  // Maximum of the window after growth.
  limit: f64;
  now: f64;
  // Bytes that have newly arrived, in order or not.
  bytes: f64;
  // Segments that are newly acknowledged.
  segments: f64;
  marked: f64;
  may_grow: f64;
  may_cut: f64;
  // The position before which all data is acknowledged.
  una: f64;
  // The next position to send.
  next: f64;
  mss: f64;
  // 0 before the first sample.
  srtt: f64;
  min_rtt: f64;
  // Bytes of the present message that are left; -1 for a flow without end.
  remaining: f64;
  size: f64;
  // Time left until its deadline, 0 from then on; -1 without one.
  left: f64;
  // Segments in flight, at a loss.
  flight: f64;
  timeout: f64;
  // The window after a timeout.
  loss_window: f64;
  // A number of this connection alone, for random numbers.
  identity: f64;
  link_rate: f64;
  // The number of messages in `queued`, those behind the present one.
  later: f64;
}

const EVENT = memory.data(16200);
const KEYS = memory.data(512);
const LATER: usize = 200;

export function event(): usize {
  return EVENT;
}

export function keys(): usize {
  return KEYS;
}

// The numbers of the present call.
@inline
export function now(): Event {
  return changetype<Event>(EVENT);
}

// The value of a key, by its place in the manifest from 0.
@inline
export function key(index: i32): f64 {
  return load<f64>(KEYS + 8 * index);
}

// Of a message behind the present one, below `later`: bytes up to its end, with all data before it.
@inline
export function remainingOf(index: i32): f64 {
  return load<f64>(EVENT + LATER + 16 * index);
}

// The time left until its deadline; -1 without one.
@inline
export function leftOf(index: i32): f64 {
  return load<f64>(EVENT + LATER + 8 + 16 * index);
}
