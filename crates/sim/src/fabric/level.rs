//! The length of a queue, and limits on it.

use transport::Packet;
use units::{Amount, Bytes};

/// The length of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Length {
    /// The number of packets.
    pub packets: u64,
    /// Wire bytes of these packets.
    pub bytes: u64,
}

impl Length {
    /// Returns the length with one more packet.
    pub(crate) fn with(self, packet: &Packet) -> Length {
        Length { packets: self.packets + 1, bytes: self.bytes + u64::from(packet.size) }
    }
}

/// A limit or threshold on a queue's length, in packets or in wire bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// The number of packets or bytes.
    pub value: u64,
    /// Counts bytes, not packets.
    pub in_bytes: bool,
}

impl Level {
    /// A level that is never exceeded.
    pub const INFINITE: Level = Level { value: u64::MAX, in_bytes: false };

    /// Returns an equal part of an amount for each of `parts`.
    pub fn share(amount: Amount, parts: u64) -> Level {
        match amount {
            Amount::Packets(packets) => Level { value: packets / parts, in_bytes: false },
            Amount::Bytes(bytes) => Level { value: bytes / parts, in_bytes: true },
        }
    }

    /// Returns whether one packet of `size` bytes is longer.
    pub fn is_below(self, size: Bytes) -> bool {
        self.exceeded(Length { packets: 1, bytes: size.0 })
    }

    /// Returns whether a queue is longer.
    #[inline]
    pub fn exceeded(self, length: Length) -> bool {
        (if self.in_bytes { length.bytes } else { length.packets }) > self.value
    }
}

impl From<Option<Amount>> for Level {
    fn from(amount: Option<Amount>) -> Level {
        amount.map_or(Level::INFINITE, |amount| Level::share(amount, 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_whole_and_equal() {
        assert_eq!(Level::share(Amount::Packets(7), 2), Level { value: 3, in_bytes: false });
        assert_eq!(Level::share(Amount::Bytes(3001), 3), Level { value: 1000, in_bytes: true });
    }
}
