//! How long a queue is, and how long it may be.

use units::Amount;

/// What waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Length {
    /// Packets.
    pub packets: u64,
    /// Their wire bytes.
    pub bytes: u64,
}

/// A limit or threshold on a queue's length, in packets or in wire bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// How many.
    pub value: u64,
    /// Bytes, not packets.
    pub in_bytes: bool,
}

impl Level {
    /// Never exceeded.
    pub const INFINITE: Level = Level { value: u64::MAX, in_bytes: false };

    /// An equal part of an amount for each of so many.
    pub fn share(amount: Amount, parts: u64) -> Level {
        match amount {
            Amount::Packets(packets) => Level { value: packets / parts, in_bytes: false },
            Amount::Bytes(bytes) => Level { value: bytes / parts, in_bytes: true },
        }
    }

    /// Whether a queue is longer.
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
