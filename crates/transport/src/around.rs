//! An output around another: an end's packets are treated anew, and everything else is passed on.

use units::{Bytes, Instant};

use crate::{Expired, Extension, Output, Packet, Site};

/// An output that treats packets in its own way, and leaves everything else to the output within it.
pub(crate) trait Around {
    /// The output within: that of the end itself, in the simulator or in a test.
    type Inner: Output;

    /// Returns the output within, to ask for its site and its times.
    fn inner(&self) -> &Self::Inner;

    /// Returns the output within, which may then send and be armed.
    fn inner_mut(&mut self) -> &mut Self::Inner;

    /// Treats a packet that the end sends.
    fn pass(&mut self, packet: Packet, extension: Option<Extension>);

    /// Handles the abort of a message, which the output within is told of too ([`Output::abandon`]).
    fn on_abandon(&mut self, _end: u64, _unsent: Bytes) {}
}

impl<T: Around> Output for T {
    fn send(&mut self, packet: Packet) {
        self.pass(packet, None);
    }
    fn send_extended(&mut self, packet: Packet, extension: Extension) {
        self.pass(packet, Some(extension));
    }
    fn arm(&mut self, at: Instant) {
        self.inner_mut().arm(at);
    }
    fn leaves(&self) -> Instant {
        self.inner().leaves()
    }
    fn has_room(&mut self) -> bool {
        self.inner_mut().has_room()
    }
    fn sends_again(&mut self, start: u64) {
        self.inner_mut().sends_again(start);
    }
    fn timed_out(&mut self, timer: Expired) {
        self.inner_mut().timed_out(timer);
    }
    fn probed(&mut self) {
        self.inner_mut().probed();
    }
    fn abandon(&mut self, end: u64, unsent: Bytes) {
        self.on_abandon(end, unsent);
        self.inner_mut().abandon(end, unsent);
    }
    fn site(&self) -> Site {
        self.inner().site()
    }
}
