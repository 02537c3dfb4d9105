//! `tcp`: NewReno's growth and halving, with classic ECN as an option.

use units::{Default, Key, Kind, Range, Values};

use super::echo::Echoes;
use super::{Acked, Cwnd, Ecn, Lost, Window};
use crate::{Descriptor, Needs};

/// TCP as the papers' baseline.
pub(super) const DESCRIPTOR: Descriptor<Reno> = Descriptor {
    name: "tcp",
    help: "TCP: additive increase, halving on loss; classic ECN as an option",
    source: "RFC 5681, RFC 6582, RFC 3168",
    aliases: &[("aimd", "tcp"), ("newreno", "tcp"), ("reno", "tcp")],
    groups: &[KEYS],
    needs: Needs::of("nothing", "what they have"),
    signals: &[],
    build: |values, _| Ok(Reno::from_values(values)),
};

/// Parameters of its own.
pub(super) const KEYS: &[Key] = &[Key {
    name: "ecn",
    kind: Kind::Bool,
    default: Default::Is("false"),
    range: Range::ANY,
    help: "negotiate ECN and halve the window once per window on an echoed mark",
    source: "RFC 3168; off in the papers",
}];

/// Additive increase, halving on loss.
#[derive(Clone, Debug, PartialEq)]
pub struct Reno {
    echoes: Echoes,
}

impl Reno {
    /// Reads the checked values of its keys.
    pub(super) fn from_values(values: &Values) -> Reno {
        Reno { echoes: Echoes::new(values.bool("ecn")) }
    }
}

impl Window for Reno {
    fn ecn(&self) -> Ecn {
        self.echoes.ecn()
    }
    fn on_ack(&mut self, window: &mut Cwnd, ack: &Acked) -> bool {
        // RFC 3168 6.1.2: halve once per window, and do not grow on an echo.
        if ack.marked {
            let due = self.echoes.ask_for_cut(ack);
            if due {
                window.cut(0.5);
            }
            return due;
        }
        if ack.may_grow {
            window.grow(ack.segments);
        }
        false
    }
    fn on_loss(&mut self, window: &mut Cwnd, loss: &Lost) {
        window.halve(loss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::tests::{acked, cwnd};

    #[test]
    fn an_echo_halves_once_per_window() {
        let mut law = Reno { echoes: Echoes::new(true) };
        let mut window = cwnd(20.0);
        assert!(law.on_ack(&mut window, &acked(1, true)));
        for una in 2..=11 {
            assert!(!law.on_ack(&mut window, &acked(una, true)));
        }
        assert_eq!(window.cwnd, 10.0);
        assert!(law.on_ack(&mut window, &acked(12, true)));
        assert_eq!(window.cwnd, 5.0);
    }
}
