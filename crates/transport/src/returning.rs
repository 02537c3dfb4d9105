//! How receiving ends return what the ports have written.

use units::{Bytes, Instant};

use crate::{Extension, Header, Output, Packet, Site};

/// Adds a header to the next acknowledgement.
pub struct Returning<'a, O> {
    /// Where it goes.
    pub out: &'a mut O,
    /// What returns.
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
    fn site(&self) -> Site {
        self.out.site()
    }
}
