//! DCTCP's estimate of the extent of marking, and the time of its cuts.

use crate::duetime::Event;

/// The state of a connection: as `Marking` of the built-in law (`crates/transport/src/controllers/dctcp.rs`).
pub struct Marking {
    pub alpha: f64,
    acked: f64,
    marked: f64,
    window_end: f64,
    cut_end: f64,
    credit: f64,
    asked: bool,
    in_burst: bool,
}

/// The keys, in the order of the manifest.
pub struct Keys {
    g: f64,
    initial_alpha: f64,
    cut_at_window_end: bool,
    grow_in_bursts: bool,
    grow_per_window: bool,
}

impl Keys {
    pub fn of(keys: &[f64]) -> Keys {
        Keys {
            g: keys[0],
            initial_alpha: keys[1],
            cut_at_window_end: keys[2] == 1.0,
            grow_in_bursts: keys[3] == 1.0,
            grow_per_window: keys[4] == 1.0,
        }
    }
}

impl Marking {
    pub fn open(&mut self, keys: &Keys) {
        self.alpha = keys.initial_alpha;
    }

    /// Counts marks, and cuts by `penalty` at most once per window; else it grows as TCP does.
    pub fn on_ack(&mut self, event: &mut Event, keys: &Keys, penalty: impl FnOnce(&Event, f64) -> f64) {
        let marked = event.marked != 0.0;
        self.count(event);
        let asks = marked && event.may_cut != 0.0;
        let mut due = asks && !keys.cut_at_window_end && event.una > self.cut_end;
        self.asked |= asks;
        if event.una > self.window_end {
            due |= self.close_window(event.next, keys);
        }
        let in_burst = core::mem::replace(&mut self.in_burst, marked);
        if due {
            self.cut_end = event.next;
            event.cwnd = (event.cwnd * (1.0 - penalty(event, self.alpha))).max(event.floor);
            event.ssthresh = event.cwnd;
            self.credit = 0.0;
        }
        if event.may_grow != 0.0 && if marked { keys.grow_in_bursts && in_burst } else { !due } {
            self.grow(event, keys);
        }
    }

    pub fn count(&mut self, event: &Event) {
        self.acked += event.bytes;
        if event.marked != 0.0 {
            self.marked += event.bytes;
        }
    }

    pub fn on_loss(&mut self, event: &mut Event) {
        self.asked = false;
        event.ssthresh = (event.flight / 2.0).max(event.floor);
    }

    fn close_window(&mut self, next: f64, keys: &Keys) -> bool {
        let share = self.marked / self.acked;
        self.alpha = (1.0 - keys.g) * self.alpha + keys.g * share;
        let due = keys.cut_at_window_end && self.asked;
        self.acked = 0.0;
        self.marked = 0.0;
        self.asked = false;
        self.window_end = next;
        due
    }

    fn grow(&mut self, event: &mut Event, keys: &Keys) {
        let segments = event.segments;
        if keys.grow_per_window && event.cwnd >= event.ssthresh {
            self.credit += segments;
            if self.credit >= event.cwnd {
                self.credit = 0.0;
                event.cwnd = (event.cwnd + 1.0).min(event.limit);
            }
            return;
        }
        let room = event.ssthresh - event.cwnd;
        if room >= segments {
            event.cwnd += segments;
        } else {
            let slow_start = room.max(0.0);
            event.cwnd += slow_start;
            event.cwnd += (segments - slow_start) / event.cwnd.max(1.0);
        }
        event.cwnd = event.cwnd.min(event.limit);
    }
}
