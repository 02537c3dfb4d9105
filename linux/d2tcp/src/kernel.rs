//! The structures shared by the programs in the kernel and this tool: `linux/bpf/shared.h`, field by field.

use std::os::unix::ffi::OsStrExt;

use crate::escape::Name;

/// The version of the layouts: `D2TCP_LAYOUT`.
pub const LAYOUT: u32 = 4;
/// The fixed-point 1 of fractions: alpha, p and g.
pub const ONE: u32 = 1 << 30;
/// The fixed-point 1 of windows in segments, and of d.
pub const UNIT: u64 = 1 << 20;
/// The ssthresh of a connection without a threshold: `LAW_MAX_WINDOW`.
pub const MAX_WINDOW: u64 = UNIT << 20;
/// The maximum number of rules: `D2TCP_RULES`.
pub const RULES: usize = 64;
/// Index of the policy's epoch in the map of single numbers.
pub const EPOCH: u32 = 2;
/// Index of the time until which a tracer reads events.
pub const TRACED_UNTIL: u32 = 0;
/// Upper bounds of d's buckets, except the last.
pub const D_BOUNDS: [f64; 13] = [0.25, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 4.0];

/// The names of the two congestion controls.
pub const CONTROLS: [&str; 2] = ["d2tcp", "d2tcp_reno"];

/// Flag: ECN was negotiated.
pub const FLAG_ECN: u32 = 1;
/// Flag: the window is below ssthresh.
pub const FLAG_SLOW_START: u32 = 2;
/// Flag: a message with a deadline is being sent.
pub const FLAG_DEADLINE: u32 = 4;
/// Flag: the deadline of that message has passed.
pub const FLAG_EXPIRED: u32 = 8;
/// Flag: a loss is being repaired.
pub const FLAG_RECOVERY: u32 = 16;

/// The parameters of the law: `struct law_parameters`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Law {
    pub g: u32,
    pub initial_alpha: u32,
    pub cap: u32,
    pub expired: u32,
    pub precise: u32,
    pub minimum_rtt: u32,
    pub mode: u32,
    pub initial_window: u32,
    pub time_scale: u32,
    pub reserved: u32,
    pub rto_min_ns: u64,
    pub margin_ns: u64,
}

/// The facts about the attachment: `struct d2tcp_about`.
#[derive(Clone, Copy)]
#[repr(C)]
#[allow(missing_docs)]
pub struct About {
    pub layout: u32,
    pub unlisted: u32,
    pub reserved: u32,
    pub pid: u32,
    pub since_ns: u64,
    pub version: [u8; 16],
    pub pid_namespace: u64,
    pub root: u64,
    pub key: [u64; 2],
    pub prior_control: [u8; 16],
    pub namespace: [u8; 64],
}

/// The bytes of [`About`] that are the same in every layout.
pub const ABOUT_HEAD: usize = 40;

/// The treatment of a rule's connections: `D2TCP_CONTROL_...`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Control {
    /// The control, if the program asks for it.
    Ask,
    /// The control, whether the program asks or not.
    Use,
    /// The connections never get the control.
    Leave,
}

/// Bit of [`Rule::flags`]: the rule is in use.
pub const RULE_USED: u32 = 1;
/// Bit of [`Rule::flags`]: only peers in private ranges.
pub const RULE_PRIVATE: u32 = 2;
/// Bit of [`Rule::flags`]: only peers with the prefix.
pub const RULE_PREFIX: u32 = 4;
/// Bit of [`Rule::flags`]: programs may not announce deadlines.
pub const RULE_SILENT: u32 = 8;

/// A rule: `struct d2tcp_rule`. `own` has a bit, in [`Law`]'s order, for each parameter that the rule sets itself.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Rule {
    pub law: Law,
    pub flags: u32,
    pub control: u32,
    pub share: u32,
    pub prefix: u32,
    pub address: [u8; 16],
    pub port_low: u16,
    pub port_high: u16,
    pub own: u32,
    pub deadline_ns: u64,
    pub bytes: u64,
    pub least_deadline_ns: u64,
    pub most_bytes: u64,
    pub most_rate: u64,
    pub budget_rate: u64,
    pub budget_bytes: u64,
    pub most_loss: u32,
    pub most_timeouts: u32,
    pub most_missed: u32,
    pub reserved_too: u32,
    pub name: [u8; 32],
    pub cgroup: [u8; 256],
}

/// The measurements of a canary's arm: `struct d2tcp_arm`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Arm {
    pub opened: u64,
    pub closed: u64,
    pub slices: u64,
    pub segments: u64,
    pub retransmitted: u64,
    pub timeouts: u64,
    pub segments_squared: u64,
    pub retransmitted_squared: u64,
    pub segments_retransmitted: u64,
    pub timeouts_squared: u64,
    pub segments_timeouts: u64,
    pub met: u64,
    pub missed: u64,
}

impl Arm {
    /// Returns the sum over the CPUs.
    pub fn sum(per_cpu: &[Vec<u8>]) -> Arm {
        let mut sum = [0u64; size_of::<Arm>() / 8];
        for one in per_cpu {
            for (total, bytes) in sum.iter_mut().zip(one.chunks_exact(8)) {
                *total = total.wrapping_add(u64::from_ne_bytes(bytes.try_into().expect("chunks of 8")));
            }
        }
        // SAFETY: the structure consists of u64 fields, as many as the array has.
        unsafe { std::mem::transmute::<[u64; size_of::<Arm>() / 8], Arm>(sum) }
    }
}

/// The key of the rules that concern a path: `struct d2tcp_path`.
#[derive(Clone, Copy)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Path {
    pub hash: u64,
    pub bank: u64,
}

/// The counters of a rule: `struct d2tcp_counters`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Counters {
    pub opened: u64,
    pub closed: u64,
    pub without_ecn: u64,
    pub calls: u64,
    pub sampled: u64,
    pub sampled_ns: u64,
    pub receiver_calls: u64,
    pub receiver_sampled: u64,
    pub receiver_sampled_ns: u64,
    pub windows: u64,
    pub windows_deadline: u64,
    pub cuts: u64,
    pub losses: u64,
    pub timeouts: u64,
    pub undone: u64,
    pub held: u64,
    pub delivered: u64,
    pub delivered_ce: u64,
    pub messages: u64,
    pub met: u64,
    pub missed: u64,
    pub cancelled: u64,
    pub unfinished: u64,
    pub implied: u64,
    pub refused: u64,
    pub queue_full: u64,
    pub no_memory: u64,
    pub lengthened: u64,
    pub denied: u64,
    pub events_lost: u64,
    pub alpha_sum: u64,
    pub d_sum: u64,
    pub alpha: [u64; 16],
    pub d: [u64; 14],
    pub cost: [u64; 12],
}

impl Counters {
    /// Returns the sum over CPUs, or over rules.
    pub fn sum<B: AsRef<[u8]>>(parts: impl IntoIterator<Item = B>) -> Counters {
        let mut sum = [0u64; size_of::<Counters>() / 8];
        for one in parts {
            let one = one.as_ref();
            for (total, bytes) in sum.iter_mut().zip(one.chunks_exact(8)) {
                *total += u64::from_ne_bytes(bytes.try_into().expect("chunks of 8"));
            }
        }
        // SAFETY: the structure consists of u64 fields, as many as the array has.
        unsafe { std::mem::transmute::<[u64; size_of::<Counters>() / 8], Counters>(sum) }
    }
    /// Returns the mean time of a call for an acknowledgement, in ns.
    pub fn ns_per_call(&self) -> Option<f64> {
        (self.sampled > 0).then(|| self.sampled_ns as f64 / self.sampled as f64)
    }
    /// Returns the mean time of a call for received data, in ns.
    pub fn ns_per_receiver_call(&self) -> Option<f64> {
        (self.receiver_sampled > 0).then(|| self.receiver_sampled_ns as f64 / self.receiver_sampled as f64)
    }
}

/// The addresses of a connection: `struct d2tcp_address`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Address {
    pub netns: u64,
    pub family: u32,
    pub local_port: u16,
    pub remote_port: u16,
    pub local: [u8; 16],
    pub remote: [u8; 16],
}

impl Address {
    /// Returns the local and the remote address.
    pub fn ends(&self) -> [std::net::SocketAddr; 2] {
        let address = |bytes: &[u8; 16]| -> std::net::IpAddr {
            if self.family == libc::AF_INET6 as u32 {
                let address = std::net::Ipv6Addr::from(*bytes);
                address.to_ipv4_mapped().map_or(address.into(), Into::into)
            } else {
                std::net::Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]).into()
            }
        };
        [(address(&self.local), self.local_port).into(), (address(&self.remote), self.remote_port).into()]
    }
}

/// A connection, as the iterator reports it: `struct d2tcp_flow`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Flow {
    pub id: u64,
    pub address: Address,
    pub flags: u32,
    pub tcp_state: u32,
    pub cwnd: u64,
    pub ssthresh: u64,
    pub alpha: u32,
    pub d: u32,
    pub p: u32,
    pub srtt_us: u32,
    pub bytes_acked: u64,
    pub bytes_left: u64,
    pub time_left_ns: i64,
    pub messages: u64,
    pub met: u64,
    pub missed: u64,
    pub cuts: u64,
    pub losses: u64,
    pub queued: u32,
    pub mss: u32,
    pub cgroup: u64,
    pub inode: u64,
    pub rule: u32,
    pub without_memory: u32,
}

/// An event for a tracer: `struct d2tcp_event`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Event {
    pub time_ns: u64,
    pub id: u64,
    pub address: Address,
    pub kind: u32,
    pub flags: u32,
    pub cwnd: u64,
    pub ssthresh: u64,
    pub alpha: u32,
    pub d: u32,
    pub p: u32,
    pub srtt_us: u32,
    pub bytes_acked: u64,
    pub messages_done: u64,
}

const _: () = assert!(size_of::<Law>() == 56);
const _: () = assert!(size_of::<About>() == 152);
const _: () = assert!(size_of::<Rule>() == 456 && size_of::<Arm>() == 104);
const _: () = assert!(size_of::<Counters>() == 592);
const _: () = assert!(size_of::<Flow>() == 192);
const _: () = assert!(size_of::<Event>() == 120);

/// A structure of plain numbers without padding, which any bytes represent.
///
/// # Safety
///
/// The type is `repr(C)`, has no padding, and every pattern of bits is one of its values.
pub unsafe trait Plain: Copy {
    /// Returns the bytes of the structure.
    fn bytes(&self) -> &[u8] {
        // SAFETY: without padding every byte is initialised.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), size_of::<Self>()) }
    }
    /// Returns the structure that the bytes represent; none if they are too few.
    fn read(bytes: &[u8]) -> Option<Self> {
        // SAFETY: there are enough bytes, alignment is not needed, and any bits are a value.
        (bytes.len() >= size_of::<Self>()).then(|| unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() })
    }
}

// SAFETY: the definition above has integers and arrays of integers, ordered so that there is no padding.
unsafe impl Plain for Law {}
// SAFETY: as above.
unsafe impl Plain for About {}
// SAFETY: as above.
unsafe impl Plain for Rule {}
// SAFETY: as above.
unsafe impl Plain for Arm {}
// SAFETY: as above.
unsafe impl Plain for Path {}
// SAFETY: as above.
unsafe impl Plain for Counters {}
// SAFETY: as above.
unsafe impl Plain for Flow {}
// SAFETY: as above.
unsafe impl Plain for Event {}

/// Returns the text of a field that ends with zeros.
pub fn text(field: &[u8]) -> &str {
    std::str::from_utf8(bytes(field)).unwrap_or("")
}

/// Returns the name in a field that ends with zeros.
pub fn name(field: &[u8]) -> Name {
    Name::new(bytes(field))
}

/// Returns the path in a field that ends with zeros.
pub fn path(field: &[u8]) -> &std::path::Path {
    std::path::Path::new(std::ffi::OsStr::from_bytes(bytes(field)))
}

fn bytes(field: &[u8]) -> &[u8] {
    &field[..field.iter().position(|byte| *byte == 0).unwrap_or(field.len())]
}

/// Returns a field that holds the text and a final zero; none if it does not fit.
pub fn field<const N: usize>(text: impl AsRef<[u8]>) -> Option<[u8; N]> {
    let text = text.as_ref();
    let mut field = [0; N];
    (text.len() < N).then(|| {
        field[..text.len()].copy_from_slice(text);
        field
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_summed_over_cpus_in_their_order() {
        let one: Vec<u8> = (0..74u64).flat_map(u64::to_ne_bytes).collect();
        let sum = Counters::sum([one.clone(), one]);
        assert_eq!((sum.opened, sum.closed, sum.d_sum, sum.alpha[0], sum.d[13]), (0, 2, 62, 64, 122));
    }

    #[test]
    fn d_bounds_are_those_of_the_header() {
        let header = include_str!("../../bpf/shared.h");
        let line = header.lines().find(|line| line.contains("define D2TCP_D_BOUNDS")).unwrap();
        let listed = line.split(['{', '}']).nth(1).unwrap();
        let bounds: Vec<f64> = listed.split(',').map(|n| n.trim().parse::<f64>().unwrap() / 100.0).collect();
        assert_eq!(bounds, D_BOUNDS);
        assert!(header.contains(&format!("#define D2TCP_LAYOUT {LAYOUT}\n")));
    }

    #[test]
    fn fields_end_with_a_zero() {
        assert_eq!(text(&field::<8>("reno").unwrap()), "reno");
        assert_eq!(field::<4>("reno"), None);
    }

    #[test]
    fn addresses_of_both_families_are_read() {
        let mut address = Address {
            netns: 1,
            family: libc::AF_INET as u32,
            local_port: 80,
            remote_port: 4000,
            local: [0; 16],
            remote: [0; 16],
        };
        address.local[..4].copy_from_slice(&[10, 0, 0, 1]);
        assert_eq!(address.ends()[0].to_string(), "10.0.0.1:80");
        address.family = libc::AF_INET6 as u32;
        address.remote[15] = 1;
        assert_eq!(address.ends()[1].to_string(), "[::1]:4000");
    }
}
