//! D2TCP as a plug-in: it cuts by half of alpha^d, d how imminent the deadline is.
#![no_std]

#[path = "../../../python/duetime/templates/plugin/rust/src/duetime.rs"]
mod duetime;
#[path = "../../marking.rs"]
mod marking;

use duetime::{Event, Law};
use marking::{Keys, Marking};

struct D2tcp(Marking);

export!(D2tcp, 10, "../duetime.toml");

impl Law for D2tcp {
    fn open(&mut self, _: &Event, keys: &[f64]) {
        self.0.open(&Keys::of(keys));
    }
    fn on_ack(&mut self, event: &mut Event, keys: &[f64]) {
        self.0.on_ack(event, &Keys::of(keys), |event, alpha| {
            let d = imminence(event, keys);
            let p = if d == 1.0 { alpha } else { libm::pow(alpha, d) };
            p / 2.0
        });
    }
    fn on_beyond(&mut self, event: &Event, _: &[f64]) {
        self.0.count(event);
    }
    fn on_loss(&mut self, event: &mut Event, _: &[f64]) {
        self.0.on_loss(event);
    }
}

/// The largest d of the present message and of those behind it.
fn imminence(event: &Event, keys: &[f64]) -> f64 {
    let own = imminence_of(event.remaining, event.left, event, keys);
    let queued = event.queued[..event.later as usize].iter();
    let later = queued.filter_map(|one| imminence_of(one.remaining, one.left, event, keys));
    later.chain(own).reduce(f64::max).unwrap_or(1.0)
}

/// d = T_c / D within [1/n, n]; none without a deadline.
fn imminence_of(remaining: f64, left: f64, event: &Event, keys: &[f64]) -> Option<f64> {
    let [d_cap, precise, minimum, expired, margin] = keys[5..] else { return None };
    if remaining < 0.0 || left < 0.0 {
        return None;
    }
    let left = (left - margin).max(0.0);
    if left == 0.0 {
        return Some([1.0, d_cap, 1.0 / d_cap][expired as usize]);
    }
    let rtt = if minimum == 1.0 { event.min_rtt } else { event.srtt };
    if rtt == 0.0 || remaining == 0.0 {
        return Some(1.0);
    }
    let (segments, cwnd) = (remaining / event.mss, event.cwnd);
    let rounds = if precise == 1.0 { precise_rounds(segments, cwnd) } else { segments / (0.75 * cwnd) };
    let d = rounds * (rtt / 1e12) / (left / 1e12);
    Some(d.clamp(1.0 / d_cap, d_cap))
}

fn precise_rounds(b: f64, w: f64) -> f64 {
    if w < 1.0 {
        return b / w;
    }
    let over_periods = b / (0.75 * w - 0.5);
    if over_periods > w / 2.0 {
        over_periods
    } else {
        let half = (w - 1.0) / 2.0;
        libm::sqrt(half * half + 2.0 * b) - half
    }
}
