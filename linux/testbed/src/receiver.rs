//! Connections that come in: which message is on them, how much of it has arrived, and when all of it had.

use std::collections::BTreeMap;
use std::io::Error;

use serde::Serialize;

use crate::clock;
use crate::socket::Socket;

/// Every message begins with its number and its length, big-endian; both are part of its length.
pub const HEADER: usize = 16;

/// The most that is taken at once: other connections want their turn too.
const AT_ONCE: usize = 1 << 20;

/// What one message amounts to at its receiver.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Received {
    pub bytes: u64,
    /// Of these, after the warm-up.
    pub counted_bytes: u64,
    /// When the last byte was read, on the monotonic clock.
    pub end_ns: Option<i64>,
    #[serde(skip)]
    sampled: u64,
}

/// A connection that came in.
pub struct Incoming {
    socket: Socket,
    header: [u8; HEADER],
    /// Bytes of the current message that have arrived, its header included.
    got: u64,
    number: u64,
    length: u64,
}

/// All that has been received.
pub struct Ledger {
    pub messages: BTreeMap<u64, Received>,
    /// Data segments that arrived on connections that are over.
    pub segments: u64,
    /// When bytes begin to count.
    pub counted_from_ns: i64,
}

impl Incoming {
    /// A connection on which nothing has been read.
    pub fn new(socket: Socket) -> Incoming {
        Incoming { socket, header: [0; HEADER], got: 0, number: 0, length: 0 }
    }

    /// Reads what is there; false when the connection is over.
    pub fn read(&mut self, ledger: &mut Ledger) -> bool {
        // Reset by its sender, it is over too; what has arrived stays counted.
        self.take(ledger).is_ok_and(|open| open)
    }

    fn take(&mut self, ledger: &mut Ledger) -> Result<bool, Error> {
        let mut budget = AT_ONCE;
        while budget > 0 {
            let in_header = (self.got as usize) < HEADER;
            let taken = if in_header {
                self.socket.receive(&mut self.header[self.got as usize..])?
            } else {
                self.socket.discard(budget.min(usize::try_from(self.length - self.got).unwrap_or(usize::MAX)))?
            };
            let Some(bytes) = taken else { return Ok(true) };
            if bytes == 0 {
                return Ok(false);
            }
            budget = budget.saturating_sub(bytes);
            self.got += bytes as u64;
            if (self.got as usize) < HEADER {
                continue;
            }
            let news = if in_header { HEADER as u64 } else { bytes as u64 };
            if in_header {
                self.number = u64::from_be_bytes(self.header[..8].try_into().expect("eight bytes"));
                self.length = u64::from_be_bytes(self.header[8..].try_into().expect("eight bytes"));
            }
            self.book(ledger, news);
        }
        Ok(true)
    }

    fn book(&mut self, ledger: &mut Ledger, news: u64) {
        let now = clock::now();
        let message = ledger.messages.entry(self.number).or_default();
        message.bytes += news;
        if now >= ledger.counted_from_ns {
            message.counted_bytes += news;
        }
        if self.got >= self.length {
            message.end_ns = Some(now);
            self.got = 0;
        }
    }

    /// Adds what this connection counted to the whole.
    pub fn settle(&self, ledger: &mut Ledger) {
        ledger.segments += u64::from(self.socket.info().data_segments_in);
    }
}

impl Ledger {
    /// Bytes of each message since the last sample, of those that are under way.
    pub fn sample(&mut self) -> Vec<(u64, u64)> {
        let mut news = Vec::new();
        for (number, message) in &mut self.messages {
            if message.end_ns.is_none() || message.bytes > message.sampled {
                news.push((*number, message.bytes - message.sampled));
                message.sampled = message.bytes;
            }
        }
        news
    }
}
