//! The structures that the programs in the kernel share with the daemon, as in `bpf/receive.h`.

use std::net::Ipv6Addr;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Maximum number of scheduled connections.
pub const SLOTS: usize = 16384;
/// The bytes of a message's beginning that the kernel shows.
pub const HEAD: usize = 512;

/// Bit of [`Slot::flags`]: packets have timestamps.
pub const TIMESTAMPS: u32 = 1;
/// Bit of [`Slot::flags`]: the handshake is complete.
pub const BEGUN: u32 = 2;
/// Value of [`Slot::mode`]: the connection follows the schedule.
pub const HELD: u32 = 0;
/// Value of [`Slot::mode`]: its windows are the kernel's.
pub const LEFT_ALONE: u32 = 1;
/// Bit of [`Slot::wanted`]: tell the requests of the program.
pub const WANT_REQUESTS: u32 = 1;
/// Bit of [`Slot::wanted`]: show the beginning of each answer.
pub const WANT_HEAD: u32 = 2;

/// Both ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C)]
pub struct Key {
    /// The address of this end, as an IPv6 address.
    pub local: [u8; 16],
    /// The address of the peer.
    pub remote: [u8; 16],
    /// The port of this end.
    pub local_port: u16,
    /// The port of the peer.
    pub remote_port: u16,
}

impl Key {
    /// Returns the peer's address and port in words.
    pub fn peer(&self) -> String {
        let address = Ipv6Addr::from(self.remote);
        match address.to_ipv4_mapped() {
            Some(address) => format!("{address}:{}", self.remote_port),
            None => format!("[{address}]:{}", self.remote_port),
        }
    }
}

/// A connection, in memory that the kernel writes at the same time. Positions are TCP sequence numbers.
#[repr(C)]
pub struct Slot {
    key: [AtomicU32; 9],
    /// The number of connections that have used the slot.
    pub generation: AtomicU32,
    /// The id of the socket's cgroup; 0 if the socket is in another network namespace.
    pub cgroup: AtomicU64,
    /// The time at which payload arrived last, or the connection began; 0 while the slot is unused.
    pub seen_ns: AtomicU64,
    /// The number of the interface that its packets leave by.
    pub interface: AtomicU32,
    /// The peer's first byte.
    pub base: AtomicU32,
    /// The end of the payload that has arrived.
    pub arrived: AtomicU32,
    /// The acknowledgement in the last packet sent.
    pub ack: AtomicU32,
    /// The next byte of this end.
    pub seq: AtomicU32,
    /// The window field that the kernel wrote in the last packet.
    pub field: AtomicU32,
    /// The timestamps of the last packet, in network byte order.
    pub stamps: [AtomicU32; 2],
    /// The right edge that was advertised.
    pub edge: AtomicU32,
    request_ack: AtomicU32,
    /// The maximum segment size that this end offered, in the lower half; scale and family in the upper.
    mss_scale_family: AtomicU32,
    /// The bits [`TIMESTAMPS`] and [`BEGUN`], beside bits that only the kernel reads.
    pub flags: AtomicU32,
    link: [AtomicU8; 16],
    /// [`HELD`] or [`LEFT_ALONE`]. This field and the following ones are the daemon's.
    pub mode: AtomicU32,
    /// The position that the right edge does not pass.
    pub limit: AtomicU32,
    /// The window from the acknowledgement on; 0 if only the limit counts.
    pub window: AtomicU32,
    /// The position at whose arrival the daemon is woken.
    pub wake: AtomicU32,
    /// 1 if it is to be woken.
    pub armed: AtomicU32,
    /// The bits [`WANT_REQUESTS`] and [`WANT_HEAD`], by the connection's rule.
    pub wanted: AtomicU32,
}

impl Slot {
    /// Returns a slot of zeros with this maximum segment size.
    #[cfg(test)]
    pub fn empty(mss: u32) -> Slot {
        // SAFETY: the structure consists of atomic numbers, of which zero is a value.
        let slot: Slot = unsafe { std::mem::zeroed() };
        slot.mss_scale_family.store(mss, Relaxed);
        slot
    }

    /// Returns the ends of the connection.
    pub fn key(&self) -> Key {
        let mut bytes = [0; 36];
        for (word, into) in self.key.iter().zip(bytes.chunks_exact_mut(4)) {
            into.copy_from_slice(&word.load(Relaxed).to_ne_bytes());
        }
        Key::read_from_bytes(&bytes).expect("36 bytes")
    }

    /// Returns the maximum segment size.
    pub fn mss(&self) -> u32 {
        self.mss_scale_family.load(Relaxed) & 0xffff
    }

    /// Returns the shift of the window field.
    pub fn scale(&self) -> u32 {
        self.mss_scale_family.load(Relaxed) >> 16 & 15
    }

    /// Returns true for IPv6.
    pub fn is_ipv6(&self) -> bool {
        self.mss_scale_family.load(Relaxed) >> 24 == 6
    }

    /// Returns the Ethernet header of the last packet.
    pub fn link(&self) -> [u8; 14] {
        std::array::from_fn(|index| self.link[index].load(Relaxed))
    }

    /// Returns the right edge of the window that the kernel itself would advertise.
    pub fn own_edge(&self) -> u32 {
        self.ack.load(Relaxed).wrapping_add(self.field.load(Relaxed) << self.scale())
    }

    /// Returns true if the advertised window is smaller than the kernel's own.
    pub fn is_reduced(&self) -> bool {
        self.own_edge().wrapping_sub(self.edge.load(Relaxed)) as i32 > 0
    }
}

/// The daemon's sign of life, and counters of the kernel's side.
#[repr(C)]
pub struct Control {
    /// The time of the last sign of life.
    pub heartbeat_ns: AtomicU64,
    /// The time without one after which windows are open.
    pub stale_ns: AtomicU64,
    /// Packets whose window was reduced.
    pub rewritten: AtomicU64,
    /// Packets that passed because the daemon gave no sign of life.
    pub opened_by_age: AtomicU64,
    /// Connections that found no slot.
    pub unscheduled: AtomicU64,
    /// Events that found no room.
    pub lost_events: AtomicU64,
    /// Bytes that the interface received.
    pub bytes: AtomicU64,
}

/// The kinds of [`Event`].
pub mod kind {
    /// The handshake of a connection is complete.
    pub const OPENED: u32 = 1;
    /// A program sends after it has received.
    pub const REQUEST: u32 = 2;
    /// Payload has arrived up to the slot's `wake`.
    pub const ARRIVED: u32 = 3;
    /// A program expects a message.
    pub const EXPECT: u32 = 4;
    /// An end has closed the connection.
    pub const CLOSED: u32 = 5;
    /// The first payload after a request.
    pub const BEGINS: u32 = 6;
}

/// An event of a connection.
#[derive(Clone, Copy, Debug, Default, FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C)]
pub struct Event {
    /// The kind, one of the constants in [`kind`].
    pub kind: u32,
    /// The number of the slot.
    pub slot: u32,
    /// The connection in it.
    pub generation: u32,
    /// A sequence number, whose meaning depends on the kind.
    pub position: u32,
    /// The time of the event.
    pub time_ns: u64,
    /// The length of an expected message.
    pub bytes: u64,
    /// The deadline of an expected message.
    pub deadline_ns: u64,
}

/// An event with the first bytes of a message.
pub struct Told {
    /// The event without its bytes.
    pub event: Event,
    /// The bytes, for [`kind::BEGINS`].
    pub head: Vec<u8>,
}

impl Told {
    /// Reads an entry of the ring buffer; none if it is too short.
    pub fn read(bytes: &[u8]) -> Option<Told> {
        let (event, rest) = Event::read_from_prefix(bytes).ok()?;
        let mut head = Vec::new();
        if event.kind == kind::BEGINS {
            let length = u32::from_ne_bytes(rest.get(..4)?.try_into().ok()?) as usize;
            head.extend_from_slice(rest.get(8..8 + length.min(HEAD))?);
        }
        Some(Told { event, head })
    }
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};
    use std::process::Command;

    use super::*;

    #[test]
    fn layouts_are_those_of_the_header() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("layout.c");
        let header = concat!(env!("CARGO_MANIFEST_DIR"), "/../bpf/receive.h");
        let fields = [
            ("seen_ns", offset_of!(Slot, seen_ns)),
            ("arrived", offset_of!(Slot, arrived)),
            ("ts_value", offset_of!(Slot, stamps)),
            ("edge", offset_of!(Slot, edge)),
            ("mss", offset_of!(Slot, mss_scale_family)),
            ("flags", offset_of!(Slot, flags)),
            ("link", offset_of!(Slot, link)),
            ("mode", offset_of!(Slot, mode)),
            ("wanted", offset_of!(Slot, wanted)),
        ];
        let sizes = [
            ("struct receive_key", size_of::<Key>()),
            ("struct receive_slot", size_of::<Slot>()),
            ("struct receive_control", size_of::<Control>()),
            ("struct receive_event", size_of::<Event>()),
            ("struct receive_head", size_of::<Event>() + 8 + HEAD),
        ];
        let printed: String = fields
            .iter()
            .map(|(name, _)| format!("printf(\"%zu \", offsetof(struct receive_slot, {name}));"))
            .chain(sizes.iter().map(|(name, _)| format!("printf(\"%zu \", sizeof({name}));")))
            .chain(["printf(\"%d %d %d\", RECEIVE_SLOTS, RECEIVE_BEGINS, RECEIVE_WANT_HEAD);".to_owned()])
            .collect();
        let text = format!(
            "#include <linux/types.h>\n#include <stddef.h>\n#include <stdio.h>\n#include \"{header}\"\n\
             int main(void) {{ {printed} return 0; }}\n"
        );
        std::fs::write(&source, text).unwrap();
        let program = folder.path().join("layout");
        assert!(Command::new("cc").arg("-o").args([&program, &source]).status().unwrap().success());
        let said = String::from_utf8(Command::new(program).output().unwrap().stdout).unwrap();
        let expected: Vec<String> = fields
            .iter()
            .chain(&sizes)
            .map(|(_, at)| at.to_string())
            .chain([SLOTS, kind::BEGINS as usize, WANT_HEAD as usize].map(|number| number.to_string()))
            .collect();
        assert_eq!(said, expected.join(" "));
    }
}
