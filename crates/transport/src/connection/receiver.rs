//! The receiving end: reassembly, acknowledgements, ECN echo.

use units::Instant;

use super::Config;
use crate::controllers::Ecn;
use crate::recovery::Ranges;
use crate::{Blocks, Extension, Flags, Output, Packet};

/// The receiving end of a connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// The position before which all data has arrived.
    next: u64,
    /// Stamp of the first data packet that has not been answered.
    stamp: Instant,
    /// The time at which a delayed ACK is due.
    ack_due: Instant,
    /// Data packets that have not been answered.
    unanswered: u32,
    /// DCTCP: whether the last data packet was marked. Classic ECN: whether to echo.
    echo: bool,
    ecn: Ecn,
    /// The rank of the latest data, which its ACK is given too.
    rank: u32,
    /// The data that has arrived beyond a gap.
    beyond: Ranges,
    /// With go-back-N, the start of the last gap that the sender was told of; `u64::MAX`: none.
    told: u64,
}

impl Receiver {
    /// Returns the state in which nothing has been received.
    pub fn new(ecn: Ecn) -> Receiver {
        Receiver {
            next: 0,
            stamp: Instant::MAX,
            ack_due: Instant::MAX,
            unanswered: 0,
            echo: false,
            ecn,
            rank: Packet::UNTAGGED,
            beyond: Ranges::default(),
            told: u64::MAX,
        }
    }

    /// Returns the position before which all data has arrived.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Returns the number of bytes before a position that have arrived, in order or not, each counted once.
    pub fn arrived_below(&self, position: u64) -> u64 {
        self.next.min(position) + self.beyond.bytes_below(position)
    }

    /// Processes a packet from the sender. (Inlined by force: with two callers it would be a call per packet.)
    #[inline(always)]
    pub fn on_packet(&mut self, config: &Config, now: Instant, packet: &Packet, out: &mut impl Output) {
        self.rank = packet.rank;
        if packet.flags.has(Flags::SYN) {
            if packet.flags.has(Flags::OPENED) {
                return;
            }
            let mut ack = Packet::ack(self.next, config.header, packet.stamp, Flags::SYN);
            ack.rank = self.rank;
            out.send(ack);
            return;
        }
        let marked = packet.flags.has(Flags::CE);
        match self.ecn {
            Ecn::Off => {}
            Ecn::Classic => {
                // RFC 3168 6.1.3: echo until the sender signals that it has reacted.
                self.echo = marked || (self.echo && !packet.flags.has(Flags::CWR));
            }
            Ecn::Exact => {
                // RFC 8257 3.2: when the mark changes, the pending packets are answered with the old one.
                if marked != self.echo {
                    self.flush(config, out);
                    self.echo = marked;
                }
            }
        }
        if self.unanswered == 0 {
            self.stamp = packet.stamp;
        }
        self.unanswered += 1;
        if packet.seq == self.next && self.beyond.is_empty() {
            self.next = packet.end();
            if self.unanswered >= config.ack_every {
                self.answer(config, None, out);
            } else if self.unanswered == 1 {
                self.ack_due = now + config.ack_delay;
                out.arm(self.ack_due);
            }
            return;
        }
        self.out_of_order(config, packet, out);
    }

    /// Tells the sender which data a switch has removed from a packet: the position where it begins, and the packet's
    /// stamp.
    #[cold]
    pub fn on_trimmed(&mut self, config: &Config, packet: &Packet, out: &mut impl Output) {
        if config.goes_back {
            if packet.end() > self.next {
                self.tell_gap(config, out);
            }
            return;
        }
        let mut nack = Packet::ack(packet.seq, config.header, packet.stamp, Flags::NACK);
        nack.rank = packet.rank;
        out.send(nack);
    }

    /// RFC 5681 4.2: duplicates, gaps, and segments that fill them are answered at once.
    #[cold]
    fn out_of_order(&mut self, config: &Config, packet: &Packet, out: &mut impl Output) {
        if config.goes_back && packet.seq > self.next {
            self.unanswered -= 1;
            return self.tell_gap(config, out);
        }
        let mut latest = None;
        if packet.end() > self.next {
            let range = self.beyond.insert(packet.seq.max(self.next), packet.end());
            if range.0 <= self.next {
                self.next = range.1;
                self.beyond.remove_below(self.next);
            } else {
                latest = Some(range);
            }
        }
        self.answer(config, latest, out);
    }

    /// Go-back-N: tells the sender where data is missing, once per gap: with an ACK that has an extension, which it has for
    /// nothing else. If the gap is sent again and lost again, the sender's timer has to find that, as in InfiniBand.
    fn tell_gap(&mut self, config: &Config, out: &mut impl Output) {
        if std::mem::replace(&mut self.told, self.next) != self.next {
            self.unanswered = 0;
            self.ack_due = Instant::MAX;
            out.send_extended(self.ack(config), Extension::default());
        }
    }

    /// Handles the armed timer.
    pub fn on_timer(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        if self.unanswered == 0 {
            return;
        }
        if self.ack_due > now {
            out.arm(self.ack_due);
        } else {
            self.flush(config, out);
        }
    }

    /// Sends the delayed ACK, if there is one.
    #[inline(never)]
    pub(crate) fn flush(&mut self, config: &Config, out: &mut impl Output) {
        if self.unanswered > 0 {
            self.answer(config, None, out);
        }
    }

    /// Acknowledges the received data; `latest` is a range beyond a gap.
    #[inline(always)]
    fn answer(&mut self, config: &Config, latest: Option<(u64, u64)>, out: &mut impl Output) {
        self.unanswered = 0;
        self.ack_due = Instant::MAX;
        if self.beyond.is_empty() || !config.sack {
            out.send(self.ack(config));
        } else {
            self.send_with_blocks(config, latest, out);
        }
    }

    /// Returns an acknowledgement of the data received without a gap.
    #[inline(always)]
    fn ack(&self, config: &Config) -> Packet {
        let mut ack = Packet::ack(self.next, config.header, self.stamp, Flags::NONE.with_if(self.echo, Flags::ECE));
        ack.rank = self.rank;
        ack
    }

    #[cold]
    fn send_with_blocks(&self, config: &Config, latest: Option<(u64, u64)>, out: &mut impl Output) {
        // RFC 2018 4: the first block contains the latest segment.
        let mut blocks = Blocks::default();
        if let Some(range) = latest {
            blocks.push(range);
        }
        for range in self.beyond.latest().filter(|range| Some(*range) != latest).take(3) {
            blocks.push(range);
        }
        out.send_extended(self.ack(config), Extension::of_blocks(blocks));
    }
}
