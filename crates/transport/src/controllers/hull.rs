//! `hull`: DCTCP that paces, for ports that mark as if their links were slower than they are.

use units::{Default, Instant, Key, Kind, Range, Span, Values};

use super::dctcp::{self, Dctcp};
use super::{Acked, Cwnd, Ecn, Lost, Window};
use crate::{Descriptor, Needs, Observation, Pacing};

/// The descriptor of HULL.
pub(super) const DESCRIPTOR: Descriptor<Hull> = Descriptor {
    name: "hull",
    help: "HULL: paced DCTCP over ports whose phantom queues mark before a real one builds",
    source: "Alizadeh et al., NSDI 2012",
    aliases: &[("alpha", "initial_alpha"), ("gain", "g")],
    groups: &[dctcp::KEYS, &dctcp::AS_RFC.keys(), KEYS],
    needs: Needs::of(
        "ECN marks by a counter per port that drains more slowly than its link",
        "DCTCP, and a NIC that paces",
    )
    .marking("phantom"),
    signals: &[dctcp::ALPHA, dctcp::P],
    build: |values, _| Ok(build(values)),
};

/// Parameters of its own, beside DCTCP's.
pub(super) const KEYS: &[Key] = &[
    Key {
        name: "pace",
        kind: Kind::Choice(&["marked", "always"]),
        default: Default::Is("marked"),
        range: Range::ANY,
        help: "which connections space their packets, at pacing_gain times the window per round trip: those that marks \
               have told of congestion, or all",
        source: "HULL: flows are paced once they are found to be large, by marked ACKs, so that short ones are not \
                 delayed. Its pacer serves all flows of a NIC from one token bucket; here each has its own",
    },
    Key {
        name: "pace_after",
        kind: Kind::Count,
        default: Default::Is("8"),
        range: Range::between(1.0, 1e6),
        help: "marked ACKs after which a connection is paced",
        source: "HULL: each marked ACK with probability 1/8; here the mean of that, without chance",
    },
    Key {
        name: "pace_for",
        kind: Kind::Time,
        default: Default::Is("10 ms"),
        range: Range::POSITIVE,
        help: "a connection is no longer paced when it has been for so long without being told again",
        source: "HULL: 10 ms",
    },
    Key {
        name: "pacing_gain",
        kind: Kind::Number,
        default: Default::Is("1"),
        range: Range::between(0.1, 100.0),
        help: "the gain of pacing in congestion avoidance, that is from half of ssthresh on",
        source: "HULL: the pacer sends at the rate that it measures, a window per round trip",
    },
];

fn build(values: &Values) -> Hull {
    Hull {
        dctcp: Dctcp::from_values(values),
        always: values.choice("pace") == "always",
        after: values.count("pace_after"),
        lasts: values.time("pace_for"),
        marked: 0,
        until: Instant::ZERO,
        now: Instant::ZERO,
    }
}

/// DCTCP's cuts, with pacing.
#[derive(Clone, Debug, PartialEq)]
pub struct Hull {
    dctcp: Dctcp,
    always: bool,
    after: u64,
    lasts: Span,
    /// Marked ACKs since pacing was last turned on.
    marked: u64,
    /// The time until which it paces.
    until: Instant,
    /// The arrival time of the last ACK, on which more is sent.
    now: Instant,
}

impl Window for Hull {
    fn ecn(&self) -> Ecn {
        self.dctcp.ecn()
    }
    fn on_ack(&mut self, window: &mut Cwnd, ack: &Acked) -> bool {
        self.now = ack.now;
        self.marked += u64::from(ack.marked);
        if self.marked >= self.after {
            self.marked = 0;
            self.until = ack.now.saturating_add(self.lasts);
        }
        self.dctcp.on_ack(window, ack)
    }
    fn on_beyond(&mut self, bytes: u64, marked: bool) {
        self.dctcp.on_beyond(bytes, marked);
    }
    fn on_loss(&mut self, window: &mut Cwnd, loss: &Lost) {
        self.dctcp.on_loss(window, loss);
    }
    fn paces(&self) -> bool {
        true
    }
    fn pacing_rate(&self, pacing: &Pacing, window: &Cwnd) -> Option<f64> {
        let on = pacing.on || self.always || self.now < self.until;
        Pacing { on, ..*pacing }.gain(window).map(|gain| gain * window.cwnd)
    }
    fn observe(&self, window: &Cwnd, ack: &Acked, seen: &mut Observation) {
        self.dctcp.observe(window, ack, seen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::tests::{acked, cwnd};

    fn law(keys: &[(&str, &str)]) -> Hull {
        let transport = crate::registry::find("hull").unwrap();
        build(&Values::read(transport.keys(), keys).unwrap())
    }

    const OFF: Pacing = Pacing { on: false, gain: 1.0, gain_slow_start: 2.0 };

    #[test]
    fn marks_make_it_pace_for_a_time() {
        let (mut law, mut window) = (law(&[]), cwnd(20.0));
        for una in 1..=8 {
            assert_eq!(law.pacing_rate(&OFF, &window), None);
            law.on_ack(&mut window, &acked(una, true));
        }
        assert_eq!(law.pacing_rate(&OFF, &window), Some(window.cwnd));
        // 10 us per ACK here: pacing began at 80 us.
        law.on_ack(&mut window, &acked(1007, false));
        assert!(law.pacing_rate(&OFF, &window).is_some());
        law.on_ack(&mut window, &acked(1008, false));
        assert_eq!(law.pacing_rate(&OFF, &window), None);
    }

    #[test]
    fn it_cuts_as_dctcp_does() {
        // Half at a loss; and marks beyond a gap count.
        let (mut law, mut window) = (law(&[]), cwnd(20.0));
        law.on_loss(&mut window, &Lost { now: Instant::ZERO, state: acked(1, false), flight: 20.0, timeout: false });
        assert_eq!(window.ssthresh, 10.0);
        let mut plain = law.dctcp.clone();
        law.on_beyond(5000, true);
        assert!(law.dctcp != plain, "they are counted");
        plain.on_beyond(5000, true);
        assert_eq!(law.dctcp, plain);
    }

    #[test]
    fn unmarked_flows_are_not_delayed_unless_all_are_to_pace() {
        let (mut short, mut window) = (law(&[]), cwnd(20.0));
        (1..=1000).for_each(|una| _ = short.on_ack(&mut window, &acked(una, false)));
        assert_eq!(short.pacing_rate(&OFF, &window), None);
        let window = Cwnd { ssthresh: f64::INFINITY, ..cwnd(5.0) };
        assert_eq!(law(&[("pace", "always")]).pacing_rate(&OFF, &window), Some(10.0));
    }
}
