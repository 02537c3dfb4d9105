//! Classic ECN (RFC 3168) at the sender: at most one cut per window.

use super::{Acked, Ecn};

/// The rule for echoes that cause a cut.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Echoes {
    negotiated: bool,
    /// Position before which no second cut is made.
    cut_end: u64,
}

impl Echoes {
    /// Returns the state of a connection with ECN, or without.
    pub(super) fn new(negotiated: bool) -> Echoes {
        Echoes { negotiated, cut_end: 0 }
    }
    /// Returns the use of ECN.
    pub(super) fn ecn(&self) -> Ecn {
        if self.negotiated { Ecn::Classic } else { Ecn::Off }
    }
    /// Returns true if an acknowledgement with an echo causes a cut, which is then made.
    pub(super) fn ask_for_cut(&mut self, ack: &Acked) -> bool {
        let due = ack.may_cut && ack.una > self.cut_end;
        if due {
            self.cut_end = ack.next;
        }
        due
    }
}
