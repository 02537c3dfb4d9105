//! Receiving ends that return a family's header.

use units::{Bytes, Instant};

use crate::{Extension, Header, Output, Packet};

/// Adds a header to the next acknowledgement.
pub struct Returning<'a, O> {
    /// Where acknowledgements go.
    pub out: &'a mut O,
    /// What the next one returns.
    pub header: Option<Header>,
}

impl<O: Output> Output for Returning<'_, O> {
    fn send(&mut self, packet: Packet) {
        match self.header.take() {
            Some(header) => self.out.send_extended(packet, Extension::of_header(header)),
            None => self.out.send(packet),
        }
    }
    fn send_extended(&mut self, packet: Packet, mut extension: Extension) {
        extension.header = self.header.take();
        self.out.send_extended(packet, extension);
    }
    fn arm(&mut self, at: Instant) {
        self.out.arm(at);
    }
    fn timed_out(&mut self) {
        self.out.timed_out();
    }
    fn abandon(&mut self, end: u64, unsent: Bytes) {
        self.out.abandon(end, unsent);
    }
}
