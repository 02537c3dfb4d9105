//! The way in which a port takes packets and sends them on.

/// The mode of a port. One place decides it for a whole run ([`Plan`](crate::fabric::plan::Plan)); only faults change
/// it later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PortMode {
    /// It has a buffer of its own.
    #[default]
    Own,
    /// It shares a buffer with other ports of its switch.
    Shared(BufferIndex),
    /// As [`Own`](PortMode::Own), at a host: its packets are passed to the next port in epochs.
    Epochs,
    /// As [`Own`](PortMode::Own). All packets are sent to ports with deferred enqueue.
    ToDeferred,
    /// As [`Own`](PortMode::Own), with deferred enqueue: all arrivals are first pending in its inlet.
    Deferred,
    /// Packets are queued in the port's cold state, in a queue of its discipline ([`QdiscState`](super::QdiscState)).
    Qdisc,
    /// As [`Own`](PortMode::Own), at a host, where hosts route: packets that pass through the host join its own.
    Relay,
    /// Only the end of the link's wire: the port that transmits on it is in another partition.
    Cut,
    /// A fault has taken the link down: the port takes nothing.
    Down,
}

impl PortMode {
    /// Returns the name of the mode.
    pub(crate) fn name(self) -> &'static str {
        match self {
            PortMode::Own => "own",
            PortMode::Shared(_) => "shared",
            PortMode::Epochs => "epochs",
            PortMode::ToDeferred => "to-deferred",
            PortMode::Deferred => "deferred",
            PortMode::Qdisc => "qdisc",
            PortMode::Relay => "relay",
            PortMode::Cut => "cut",
            PortMode::Down => "down",
        }
    }

    /// Returns the shared buffer that the port draws on, if there is one.
    pub(crate) fn buffer(self) -> Option<BufferIndex> {
        match self {
            PortMode::Shared(buffer) => Some(buffer),
            _ => None,
        }
    }
}

/// The index of a shared buffer, in the three bytes beside the tag of a [`PortMode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BufferIndex([u8; 3]);

impl BufferIndex {
    /// Returns the index as such. Panics from 2^24 on: a network has at most 2^20 links.
    pub(crate) fn from_index(index: usize) -> BufferIndex {
        assert!(index < 1 << 24, "{index} shared buffers");
        let [a, b, c, ..] = index.to_le_bytes();
        BufferIndex([a, b, c])
    }
    /// Returns the index as a number.
    #[inline(always)]
    pub(crate) fn index(self) -> usize {
        let [a, b, c] = self.0;
        u32::from_le_bytes([a, b, c, 0]) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_takes_four_bytes_and_keeps_its_pool() {
        assert_eq!(size_of::<PortMode>(), 4);
        for index in [0, 1, 255, 256, 65_537, (1 << 24) - 1] {
            assert_eq!(PortMode::Shared(BufferIndex::from_index(index)).buffer().map(BufferIndex::index), Some(index));
        }
        assert_eq!(PortMode::Own.buffer(), None);
    }
}
