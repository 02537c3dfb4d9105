#![no_std]
mod duetime;
use duetime::{Event, Law};

/// Keeps a few segments of each connection in the queue, judged by round-trip times alone (as TCP Vegas does).
struct Mine {
    window_end: f64,
}

export!(Mine, 1, "../duetime.toml");

impl Law for Mine {
    fn on_ack(&mut self, event: &mut Event, keys: &[f64]) {
        let target = keys[0];
        // Once in a round trip: when all is acknowledged that was sent when the last one began.
        if event.may_grow == 0.0 || event.srtt == 0.0 || event.una <= self.window_end {
            return;
        }
        self.window_end = event.next;
        let queued = event.cwnd * (event.srtt - event.min_rtt) / event.srtt;
        if queued > target {
            event.cwnd = (event.cwnd - (queued - target) / 2.0).max(event.floor);
            event.ssthresh = event.cwnd;
        } else if event.cwnd < event.ssthresh {
            event.cwnd *= 2.0;
        } else {
            event.cwnd += 1.0;
        }
    }
}
