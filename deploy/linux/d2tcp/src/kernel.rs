//! The structures shared by the programs in the kernel and this tool: `deploy/linux/bpf/shared.h`, field by field. A test
//! compares sizes, offsets and constants with the header.

use std::os::unix::ffi::OsStrExt;

use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::escape::Name;

/// The version of the layouts: `D2TCP_LAYOUT`.
pub const LAYOUT: u32 = 6;
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
/// Flag: the user's budget of urgency is spent.
pub const FLAG_LIMITED: u32 = 32;

/// The parameters of the law: `struct law_parameters`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, Immutable, IntoBytes)]
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
#[derive(Clone, Copy, FromBytes, Immutable, IntoBytes)]
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
#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes)]
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
    pub min_deadline_ns: u64,
    pub max_bytes: u64,
    pub max_rate: u64,
    pub budget_rate: u64,
    pub budget_bytes: u64,
    pub max_loss: u32,
    pub max_timeouts: u32,
    pub max_missed: u32,
    pub user_messages: u32,
    pub user_burst: u64,
    pub user_urgency: u32,
    pub tolerance: u32,
    pub name: [u8; 32],
    pub cgroup: [u8; 256],
}

/// The measurements of a canary's arm: `struct d2tcp_arm`.
#[derive(Clone, Copy, Debug, Default, FromBytes, Immutable, IntoBytes)]
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
    pub message_slices: u64,
    pub messages_squared: u64,
    pub missed_squared: u64,
    pub messages_missed: u64,
    pub uncounted: u64,
    pub allowance: Allowance,
}

impl Arm {
    /// Returns the sum over users; the sum of their allowances has no meaning.
    pub fn sum<'a>(users: impl IntoIterator<Item = &'a Arm>) -> Arm {
        sum(users.into_iter().map(Plain::bytes))
    }
}

/// The outcomes of a user that still count: `struct d2tcp_allowance`.
#[derive(Clone, Copy, Debug, Default, FromBytes, Immutable, IntoBytes)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Allowance {
    pub left_ns: u64,
    pub at_ns: u64,
}

/// The balance of a user's budget of urgency: `struct law_account`.
#[derive(Clone, Copy, Debug, Default, FromBytes, Immutable, IntoBytes)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Urgency {
    pub left: i64,
    pub at_ns: u64,
}

/// The limits of one user in one rule: `struct d2tcp_account`.
#[derive(Clone, Copy, Debug, Default, FromBytes, Immutable, IntoBytes)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Account {
    pub allowance: Allowance,
    pub urgency: Urgency,
    pub limited: u64,
}

/// The key of an account: `struct d2tcp_user`. Rules count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, Immutable, IntoBytes)]
#[repr(C)]
#[allow(missing_docs)]
pub struct User {
    pub rule: u32,
    pub uid: u32,
}

/// The key of an arm's measurements: `struct d2tcp_arm_key`. The arm is twice the rule's slot, and 1 more for D2TCP's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, FromBytes, Immutable, IntoBytes)]
#[repr(C)]
#[allow(missing_docs)]
pub struct ArmKey {
    pub arm: u32,
    pub uid: u32,
}

/// The user of connections whose own user has no entry: `D2TCP_OTHERS`.
pub const OTHERS: u32 = u32::MAX;
/// The outcomes of one user that count per second, unless a rule has another number: `D2TCP_USER_MESSAGES`.
pub const USER_MESSAGES: u32 = 1000;
/// The share of a user's budget of urgency, of [`ONE`], unless a rule has another one: `D2TCP_USER_URGENCY`.
pub const USER_URGENCY: u32 = ONE / 4;
/// The tolerance of a canary, as a share, unless its rule has another one.
pub const TOLERANCE: f64 = 0.1;
/// The burst of that budget in bytes: `D2TCP_USER_BURST`.
pub const USER_BURST: u64 = 4_000_000;

/// The key of the rules that concern a path: `struct d2tcp_path`.
#[derive(Clone, Copy, FromBytes, Immutable, IntoBytes)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Path {
    pub hash: u64,
    pub bank: u64,
}

/// The counters of a rule: `struct d2tcp_counters`.
#[derive(Clone, Copy, Debug, Default, FromBytes, Immutable, IntoBytes)]
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
    pub uncounted: u64,
    pub limited: u64,
    pub events_lost: u64,
    pub alpha_sum: u64,
    pub d_sum: u64,
    pub alpha: [u64; 16],
    pub d: [u64; 14],
    pub cost: [u64; 12],
}

impl Counters {
    /// Returns the sum over CPUs, or over rules.
    pub fn sum(parts: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Counters {
        sum(parts)
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, Immutable, IntoBytes)]
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
#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes)]
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
#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes)]
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

/// A structure of plain numbers without padding, which any bytes represent. The derived traits check both.
pub trait Plain: Copy + FromBytes + Immutable + IntoBytes {
    /// Returns the bytes of the structure.
    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }
    /// Returns the structure that the first bytes represent; none if they are too few.
    fn read(bytes: &[u8]) -> Option<Self> {
        Self::read_from_prefix(bytes).ok().map(|(read, _)| read)
    }
}

impl<T: Copy + FromBytes + Immutable + IntoBytes> Plain for T {}

/// Returns the sum of structures of u64 fields, field by field: over CPUs, or over rules.
fn sum<T: Plain>(parts: impl IntoIterator<Item = impl AsRef<[u8]>>) -> T {
    let mut sum = T::new_zeroed();
    for part in parts {
        for (total, bytes) in sum.as_mut_bytes().chunks_exact_mut(8).zip(part.as_ref().chunks_exact(8)) {
            let number = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("chunks of 8"));
            total.copy_from_slice(&number(total).wrapping_add(number(bytes)).to_ne_bytes());
        }
    }
    sum
}

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
        let one: Vec<u8> = (0..76u64).flat_map(u64::to_ne_bytes).collect();
        let sum = Counters::sum([one.clone(), one]);
        assert_eq!((sum.opened, sum.closed, sum.d_sum, sum.alpha[0], sum.d[13]), (0, 2, 66, 68, 126));
    }

    /// Compiles a program in C that includes the header, and returns what it prints.
    fn printed_by(program: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let (source, built) = (folder.path().join("layout.c"), folder.path().join("layout"));
        std::fs::write(&source, program).unwrap();
        let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        // The build needs clang in any case.
        let said = std::process::Command::new("clang")
            .args(["-std=gnu11", "-Wall", "-Werror", "-Wno-unused-function", "-I"])
            .arg(here.join("../bpf"))
            .arg("-I")
            .arg(here.join("../include"))
            .args([&source, std::path::Path::new("-o"), &built])
            .output()
            .unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8(std::process::Command::new(&built).output().unwrap().stdout).unwrap()
    }

    fn size_of_field<T, F>(_: fn(&T) -> &F) -> usize {
        size_of::<F>()
    }

    /// Adds a line for each field of a structure to `rust`, and to `c` the statements that print the same lines for the
    /// structure in the header. A field that is missing here does not compile.
    macro_rules! layout {
        ($rust:ident, $c:ident, $type:ident as $name:literal { $($field:ident),* $(,)? }) => {
            let $type { $($field: _),* } = <$type as zerocopy::FromZeros>::new_zeroed();
            let name = $name;
            $rust.push(format!("{name} {}", size_of::<$type>()));
            $c.push(format!("printf(\"{name} %zu\\n\", sizeof(struct {name}));"));
            $(
                let field = stringify!($field);
                let (offset, size) = (std::mem::offset_of!($type, $field), size_of_field(|all: &$type| &all.$field));
                $rust.push(format!("{name}.{field} {offset} {size}"));
                let size_in_c = format!("sizeof(((struct {name} *)0)->{field})");
                $c.push(format!(
                    "printf(\"{name}.{field} %zu %zu\\n\", offsetof(struct {name}, {field}), {size_in_c});"
                ));
            )*
        };
    }

    #[test]
    fn layouts_and_numbers_are_those_of_the_header() {
        let (mut rust, mut c) = (Vec::new(), Vec::new());
        layout!(rust, c, Law as "law_parameters" {
            g, initial_alpha, cap, expired, precise, minimum_rtt, mode, initial_window, time_scale, reserved,
            rto_min_ns, margin_ns,
        });
        layout!(rust, c, About as "d2tcp_about" {
            layout, unlisted, reserved, pid, since_ns, version, pid_namespace, root, key, prior_control, namespace,
        });
        layout!(rust, c, Rule as "d2tcp_rule" {
            law, flags, control, share, prefix, address, port_low, port_high, own, deadline_ns, bytes,
            min_deadline_ns, max_bytes, max_rate, budget_rate, budget_bytes, max_loss, max_timeouts, max_missed,
            user_messages, user_burst, user_urgency, tolerance, name, cgroup,
        });
        layout!(rust, c, Arm as "d2tcp_arm" {
            opened, closed, slices, segments, retransmitted, timeouts, segments_squared, retransmitted_squared,
            segments_retransmitted, timeouts_squared, segments_timeouts, met, missed, message_slices, messages_squared,
            missed_squared, messages_missed, uncounted, allowance,
        });
        layout!(rust, c, Allowance as "d2tcp_allowance" { left_ns, at_ns });
        layout!(rust, c, Urgency as "law_account" { left, at_ns });
        layout!(rust, c, Account as "d2tcp_account" { allowance, urgency, limited });
        layout!(rust, c, User as "d2tcp_user" { rule, uid });
        layout!(rust, c, ArmKey as "d2tcp_arm_key" { arm, uid });
        layout!(rust, c, Path as "d2tcp_path" { hash, bank });
        layout!(rust, c, Counters as "d2tcp_counters" {
            opened, closed, without_ecn, calls, sampled, sampled_ns, receiver_calls, receiver_sampled,
            receiver_sampled_ns, windows, windows_deadline, cuts, losses, timeouts, undone, held, delivered,
            delivered_ce, messages, met, missed, cancelled, unfinished, implied, refused, queue_full, no_memory,
            lengthened, denied, uncounted, limited, events_lost, alpha_sum, d_sum, alpha, d, cost,
        });
        layout!(rust, c, Address as "d2tcp_address" { netns, family, local_port, remote_port, local, remote });
        layout!(rust, c, Flow as "d2tcp_flow" {
            id, address, flags, tcp_state, cwnd, ssthresh, alpha, d, p, srtt_us, bytes_acked, bytes_left, time_left_ns,
            messages, met, missed, cuts, losses, queued, mss, cgroup, inode, rule, without_memory,
        });
        layout!(rust, c, Event as "d2tcp_event" {
            time_ns, id, address, kind, flags, cwnd, ssthresh, alpha, d, p, srtt_us, bytes_acked, messages_done,
        });
        // The part of `About` that no version changes.
        rust.push(format!("offsetof(struct d2tcp_about, pid_namespace) {ABOUT_HEAD}"));
        c.push("NUMBER(offsetof(struct d2tcp_about, pid_namespace));".to_owned());
        for (name, number) in [
            ("D2TCP_LAYOUT", LAYOUT.into()),
            ("LAW_ONE", ONE.into()),
            ("LAW_UNIT", UNIT),
            ("LAW_MAX_WINDOW", MAX_WINDOW),
            ("D2TCP_RULES", RULES as u64),
            ("D2TCP_EPOCH", EPOCH.into()),
            ("D2TCP_TRACED_UNTIL", TRACED_UNTIL.into()),
            ("D2TCP_CONTROL_ASK", Control::Ask as u64),
            ("D2TCP_CONTROL_USE", Control::Use as u64),
            ("D2TCP_CONTROL_LEAVE", Control::Leave as u64),
            ("D2TCP_RULE_USED", RULE_USED.into()),
            ("D2TCP_RULE_PRIVATE", RULE_PRIVATE.into()),
            ("D2TCP_RULE_PREFIX", RULE_PREFIX.into()),
            ("D2TCP_RULE_DENY_ANNOUNCE", RULE_SILENT.into()),
            ("D2TCP_OTHERS", OTHERS.into()),
            ("D2TCP_USER_MESSAGES", USER_MESSAGES.into()),
            ("D2TCP_USER_URGENCY", USER_URGENCY.into()),
            ("D2TCP_USER_BURST", USER_BURST),
            ("D2TCP_ECN", FLAG_ECN.into()),
            ("D2TCP_SLOW_START", FLAG_SLOW_START.into()),
            ("D2TCP_DEADLINE", FLAG_DEADLINE.into()),
            ("D2TCP_EXPIRED", FLAG_EXPIRED.into()),
            ("D2TCP_RECOVERY", FLAG_RECOVERY.into()),
            ("D2TCP_LIMITED", FLAG_LIMITED.into()),
        ] {
            rust.push(format!("{name} {number}"));
            c.push(format!("NUMBER({name});"));
        }
        for bound in D_BOUNDS {
            rust.push(format!("bound {}", (100.0 * bound).round()));
        }
        c.push("for (unsigned i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)".to_owned());
        c.push("\tprintf(\"bound %d\\n\", bounds[i]);".to_owned());
        let program = format!(
            "#include <stddef.h>\n#include <stdio.h>\n#include \"d2tcp.h\"\n#include \"shared.h\"\n\
             #define NUMBER(of) printf(\"%s %llu\\n\", #of, (unsigned long long)(of))\n\
             static const int bounds[] = D2TCP_D_BOUNDS;\n\
             int main(void)\n{{\n{}\nreturn 0;\n}}\n",
            c.join("\n")
        );
        let printed = printed_by(&program);
        let printed: Vec<&str> = printed.lines().collect();
        for (ours, theirs) in rust.iter().zip(&printed) {
            assert_eq!(ours, theirs, "kernel.rs and the header in C");
        }
        assert_eq!(rust.len(), printed.len());
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
