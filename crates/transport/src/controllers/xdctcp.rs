//! `xdctcp`: DCTCP with cuts of different size for short and long flows.

use units::{Bytes, Default, Key, Kind, Range, Values};

use super::dctcp::{self, Marking};
use super::{Acked, Cwnd, Ecn, Lost, Window};
use crate::{Descriptor, Needs, Observation};

/// The descriptor of xDCTCP.
pub(super) const DESCRIPTOR: Descriptor<Xdctcp> = Descriptor {
    name: "xdctcp",
    help: "xDCTCP: cuts the window by ns alpha in short flows and by nl alpha in long ones",
    source: "xDCTCP: Extended DCTCP, checkpoint 2 report",
    aliases: &[("alpha", "initial_alpha"), ("beta", "nl"), ("gain", "g")],
    groups: &[dctcp::KEYS, &AS_STUDY.keys(), KEYS],
    needs: Needs::of(
        dctcp::ON_MARKS.switches,
        "a window law; whether a flow is short, from the application or its size",
    )
    .made_for(dctcp::MARKS),
    signals: &[dctcp::ALPHA],
    build: |values, _| Ok(build(values)),
};

/// xDCTCP is defined by the code and the script of its study.
const AS_STUDY: dctcp::Growth = dctcp::Growth {
    on_echo: "bursts",
    on_echo_source: "the ns-2 code that the study ran (bursts); RFC 3168 6.1.2 and Linux: never",
    steps: "per-window",
    steps_source: "the study's script: windowOption_ 0 of ns-2 (per-window); RFC 5681 3.1: per-ack",
};

/// Parameters of its own, beside DCTCP's.
pub(super) const KEYS: &[Key] = &[
    Key {
        name: "ns",
        kind: Kind::Number,
        default: Default::Is("0.5"),
        range: Range::UNIT,
        help: "share of alpha that a short flow is cut by",
        source: "xDCTCP eq. 3; 0.5 is DCTCP, 0.4 the study's optimum",
    },
    Key {
        name: "nl",
        kind: Kind::Number,
        default: Default::Is("0.5"),
        range: Range::UNIT,
        help: "share of alpha that a long flow is cut by",
        source: "xDCTCP eq. 4; 0.5 is DCTCP, 1 the study's optimum",
    },
    Key {
        name: "short_limit",
        kind: Kind::Size,
        default: Default::Is("1 MB"),
        range: Range::at_least(0.0),
        help: "a message without flow_class is short up to this size",
        source: "open; between the study's short (512 KB) and long (endless) flows",
    },
];

fn build(values: &Values) -> Xdctcp {
    Xdctcp {
        marking: Marking::from_values(values),
        ns: values.number("ns"),
        nl: values.number("nl"),
        short_limit: values.size("short_limit"),
    }
}

/// Cuts by ns alpha or nl alpha.
#[derive(Clone, Debug, PartialEq)]
pub struct Xdctcp {
    marking: Marking,
    ns: f64,
    nl: f64,
    short_limit: Bytes,
}

impl Window for Xdctcp {
    fn ecn(&self) -> Ecn {
        Ecn::Exact
    }
    #[inline]
    fn on_ack(&mut self, window: &mut Cwnd, ack: &Acked) -> bool {
        let message = &ack.message.message;
        let small = message.bytes.is_some_and(|bytes| bytes <= self.short_limit);
        let factor = if message.short.unwrap_or(small) { self.ns } else { self.nl };
        self.marking.on_ack(window, ack, |_, alpha| factor * alpha)
    }
    fn on_beyond(&mut self, bytes: u64, marked: bool) {
        self.marking.count(bytes, marked);
    }
    fn on_loss(&mut self, window: &mut Cwnd, loss: &Lost) {
        self.marking.on_loss();
        window.halve(loss);
    }
    fn observe(&self, _: &Cwnd, _: &Acked, seen: &mut Observation) {
        seen.add(&dctcp::ALPHA, self.marking.alpha);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Message;
    use crate::controllers::Current;
    use crate::controllers::dctcp::tests::marking;
    use crate::controllers::tests::{acked, cwnd};

    fn after_a_cut(message: Message) -> f64 {
        let mut law = Xdctcp { marking: marking(0.5), ns: 0.4, nl: 1.0, short_limit: Bytes(1_000_000) };
        let mut window = cwnd(20.0);
        let current = Current { end: u64::MAX, message };
        law.on_ack(&mut window, &Acked { message: current, ..acked(1, true) });
        window.cwnd / 20.0
    }

    #[test]
    fn the_application_or_the_size_says_which_flow_is_short() {
        let message = |bytes, short| Message { bytes, short, ..Message::of(Bytes::ZERO) };
        let (short, long) = (after_a_cut(message(None, Some(true))), after_a_cut(message(None, Some(false))));
        assert!(short > long);
        assert_eq!(after_a_cut(message(Some(Bytes(10_000)), None)), short);
        assert_eq!(after_a_cut(message(Some(Bytes(2_000_000)), None)), long);
        assert_eq!(after_a_cut(message(None, None)), long);
    }
}
