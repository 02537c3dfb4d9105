//! Classic ECN (RFC 3168) at the sender: at most one cut per window.

use super::{Acked, Ecn};

/// Which echoes ask for a cut.
#[derive(Clone, Debug, PartialEq)]
pub struct Echoes {
    negotiated: bool,
    /// No second cut before this position is passed.
    cut_end: u64,
}

impl Echoes {
    /// With ECN, or without.
    pub fn new(negotiated: bool) -> Echoes {
        Echoes { negotiated, cut_end: 0 }
    }
    /// How ECN is used.
    pub fn ecn(&self) -> Ecn {
        if self.negotiated { Ecn::Classic } else { Ecn::Off }
    }
    /// Whether an acknowledgement with an echo asks for a cut, which is then made.
    pub fn ask_for_cut(&mut self, ack: &Acked) -> bool {
        let due = ack.may_cut && ack.una > self.cut_end;
        if due {
            self.cut_end = ack.next;
        }
        due
    }
}
