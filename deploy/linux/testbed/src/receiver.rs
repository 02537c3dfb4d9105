//! Incoming connections: the message on each, the bytes received, and the time of the last byte.

use std::collections::BTreeMap;
use std::io::Error;

use serde::Serialize;

use crate::clock;
use crate::socket::Socket;

/// The size of a message's header: its number and its length, big-endian. The length includes the header.
pub const HEADER: usize = 16;

/// The maximum number of bytes read at once, so that other connections get their turn.
const AT_ONCE: usize = 1 << 20;

/// The receiver's record of one message.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Received {
    pub bytes: u64,
    /// The bytes received after the warm-up.
    pub counted_bytes: u64,
    /// The time at which the last byte was read, on the monotonic clock.
    pub end_ns: Option<i64>,
    #[serde(skip)]
    sampled: u64,
}

/// A connection from another host.
pub struct Incoming {
    socket: Socket,
    header: [u8; HEADER],
    /// The received bytes of the current message, including its header.
    got: u64,
    number: u64,
    length: u64,
}

/// The record of all received messages.
pub struct Ledger {
    pub messages: BTreeMap<u64, Received>,
    /// The data segments received on closed connections.
    pub segments: u64,
    /// The time from which bytes count, on the monotonic clock.
    pub counted_from_ns: i64,
}

impl Incoming {
    /// Returns a connection without any read bytes.
    pub fn new(socket: Socket) -> Incoming {
        Incoming { socket, header: [0; HEADER], got: 0, number: 0, length: 0 }
    }

    /// Reads the available data. Returns false at the end of the connection.
    pub fn read(&mut self, ledger: &mut Ledger) -> bool {
        // A reset ends the connection as well, and the bytes received before it count.
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

    /// Adds the segments of this connection to the total.
    pub fn settle(&self, ledger: &mut Ledger) {
        ledger.segments += u64::from(self.socket.info().data_segments_in);
    }
}

impl Ledger {
    /// Returns the bytes of each message since the last sample, for the messages that are not complete.
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
