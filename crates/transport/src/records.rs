//! In-band network telemetry (INT): the records that switch ports write into a packet when its transmission begins.

use units::{Instant, Rate};

/// The most records of a packet. Ports behind add none, as in HPCC's header of 42 bytes.
pub const MAX_RECORDS: usize = 5;

/// The state of a port at the start of a packet's transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The number of the port.
    pub port: u32,
    /// Wire bytes queued behind the packet.
    pub queued: u32,
    /// Wire bytes that the port had sent before the packet.
    pub sent: u64,
    /// The time of the start.
    pub at: Instant,
    /// The rate of the port's link.
    pub rate: Rate,
}

/// The records of a data packet, which its acknowledgement returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Records {
    /// The position after the packet's last byte.
    pub end: u64,
    count: u8,
    records: [Record; MAX_RECORDS],
}

impl Records {
    /// Returns no records, for the packet that ends at this position.
    pub fn of_packet(end: u64) -> Records {
        const BLANK: Record = Record { port: 0, queued: 0, sent: 0, at: Instant::ZERO, rate: Rate(1) };
        Records { end, count: 0, records: [BLANK; MAX_RECORDS] }
    }
    /// Adds a record behind the others; one beyond the most is ignored.
    pub fn push(&mut self, record: Record) {
        if let Some(slot) = self.records.get_mut(usize::from(self.count)) {
            *slot = record;
            self.count += 1;
        }
    }
    /// Returns the records, in the order of the packet's path.
    pub fn as_slice(&self) -> &[Record] {
        &self.records[..usize::from(self.count)]
    }
    /// Returns the records of ports that have written into an earlier packet at the same hop, each with the earlier one.
    pub fn since<'a>(&'a self, earlier: &'a Records) -> impl Iterator<Item = (&'a Record, &'a Record)> {
        self.as_slice().iter().zip(earlier.as_slice()).filter(|(new, old)| new.port == old.port && new.at > old.at)
    }
    /// Returns true if a port had written into the other packet later: that one has overtaken this one.
    pub fn is_older_than(&self, other: &Records) -> bool {
        self.as_slice().iter().zip(other.as_slice()).any(|(own, other)| own.port == other.port && own.at < other.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(port: u32, us: u64) -> Record {
        Record { port, queued: 0, sent: 0, at: Instant::from_micros(us), rate: Rate::from_gbps(10) }
    }

    fn records(list: &[Record]) -> Records {
        let mut records = Records::of_packet(0);
        list.iter().for_each(|record| records.push(*record));
        records
    }

    #[test]
    fn sixth_record_is_ignored() {
        let all: Vec<Record> = (0..7).map(|port| record(port, 1)).collect();
        assert_eq!(records(&all).as_slice(), &all[..5]);
        assert!(records(&[]).as_slice().is_empty());
    }

    #[test]
    fn records_compare_by_hop_and_port() {
        let old = records(&[record(1, 10), record(2, 12), record(3, 14)]);
        let new = records(&[record(1, 20), record(9, 22), record(3, 14)]);
        let pairs: Vec<_> = new.since(&old).map(|(new, old)| (new.port, new.at - old.at)).collect();
        assert_eq!(pairs, [(1, units::Span::from_micros(10))], "another port, and the same time");
        assert!(!new.is_older_than(&old) && old.is_older_than(&new));
        assert!(!records(&[]).is_older_than(&old));
    }
}
