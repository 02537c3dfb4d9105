//! Rules: the connections that get the control, and the terms for them. The programs in the kernel match them
//! (`deploy/linux/bpf/rules.h`), and `enact` writes them there. Nothing here needs libbpf, so that `fuzz/` can use it.

use std::net::{IpAddr, Ipv6Addr};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Kind, Result};
use crate::kernel::{self, Control, Law, ONE, RULE_PREFIX, RULE_PRIVATE, RULE_SILENT, RULE_USED, RULES};
use crate::parameters::Parameters;

/// The size of a chunk of a path's component, in bytes, and the maximum number of chunks.
const CHUNK: (usize, usize) = (63, 4);

/// The peers to which a rule applies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Peers {
    /// Peers at any address.
    #[default]
    Any,
    /// Peers in private ranges: RFC 1918, RFC 4193, this machine and its links.
    Private,
    /// Peers with this prefix of so many bits.
    Prefix(IpAddr, u8),
}

/// Limits of the announcements of programs; 0 for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// The minimum deadline in ns, to which shorter ones are lengthened.
    pub min_deadline_ns: u64,
    /// The maximum size of a message; larger ones are refused.
    pub max_bytes: u64,
    /// The maximum rate that a deadline may need, in bytes per second; it is lengthened otherwise.
    pub max_rate: u64,
    /// The total rate of all announcements, in bytes per second.
    pub budget_rate: u64,
    /// The burst of all announcements, in bytes.
    pub budget_bytes: u64,
}

/// The budget of urgency of each user.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// The mean excess of d over 1 over the windows that are cut; 1 for no limit.
    pub share: f64,
    /// The size of a burst: bytes of windows, times the excess of d over 1.
    pub burst: u64,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { share: f64::from(kernel::USER_URGENCY) / f64::from(ONE), burst: kernel::USER_BURST }
    }
}

/// Limits, as shares, above which a canary is rolled back; 0 for no limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guard {
    /// The part of the other arm's share by which D2TCP's arm may be above it.
    pub tolerance: f64,
    /// The share of retransmitted segments.
    pub loss: f64,
    /// The number of timeouts per segment.
    pub timeouts: f64,
    /// The share of messages that miss their deadlines.
    pub missed: f64,
}

impl Default for Guard {
    fn default() -> Guard {
        Guard { tolerance: kernel::TOLERANCE, loss: 0.0, timeouts: 0.0, missed: 0.0 }
    }
}

/// A rule: the connections that it matches, and its settings for them.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The name of the rule, also in metrics.
    pub name: String,
    /// The path of the cgroup from the root of the tool's hierarchy; empty for all.
    pub cgroup: PathBuf,
    /// The range of local or remote ports, both inclusive.
    pub ports: Option<(u16, u16)>,
    /// The peers to which the rule applies.
    pub peers: Peers,
    /// The treatment of its connections.
    pub control: Control,
    /// The share of its connections that get the control, 0 to 1.
    pub share: f64,
    /// True if programs may not announce deadlines.
    pub silent: bool,
    /// The deadline of a message without an announcement, in ns; 0 for none.
    pub deadline_ns: u64,
    /// The assumed minimum size of such a message.
    pub bytes: u64,
    /// The limits of announcements.
    pub limits: Limits,
    /// The outcomes of one user that count per second.
    pub user_messages: u32,
    /// The budget of urgency of each user.
    pub budget: Budget,
    /// The limits of a canary.
    pub guard: Guard,
    /// The parameters that the rule sets itself.
    pub parameters: Parameters,
}

impl Rule {
    /// Returns a rule for all connections of a cgroup.
    pub fn of(name: &str, cgroup: &Path, control: Control) -> Rule {
        Rule {
            name: name.to_owned(),
            cgroup: cgroup.to_owned(),
            ports: None,
            peers: Peers::Any,
            control,
            share: 1.0,
            silent: false,
            deadline_ns: 0,
            bytes: 0,
            limits: Limits::default(),
            user_messages: kernel::USER_MESSAGES,
            budget: Budget::default(),
            guard: Guard::default(),
            parameters: Parameters::default(),
        }
    }
    /// Returns the kernel's form of the rule, with `law` for all parameters that it does not set itself.
    pub fn compiled(&self, law: Law) -> Result<kernel::Rule> {
        let long = |what: &str, most| {
            Failure::new(Kind::Usage, format!("rule {}: {what} has more than {most} bytes", self.name))
        };
        let (low, high) = self.ports.unwrap_or((0, u16::MAX));
        let mut flags = RULE_USED | if self.silent { RULE_SILENT } else { 0 };
        let (mut address, mut prefix) = ([0; 16], 0);
        match self.peers {
            Peers::Any => {}
            Peers::Private => flags |= RULE_PRIVATE,
            Peers::Prefix(of, bits) => {
                flags |= RULE_PREFIX;
                (address, prefix) = match of {
                    IpAddr::V4(of) => (of.to_ipv6_mapped().octets(), 96 + u32::from(bits)),
                    IpAddr::V6(of) => (of.octets(), u32::from(bits)),
                };
            }
        }
        Ok(kernel::Rule {
            law: self.parameters.over(law),
            flags,
            control: self.control as u32,
            share: fraction(self.share),
            prefix,
            address,
            port_low: low,
            port_high: high,
            own: self.parameters.given(),
            deadline_ns: self.deadline_ns,
            bytes: self.bytes,
            min_deadline_ns: self.limits.min_deadline_ns,
            max_bytes: self.limits.max_bytes,
            max_rate: self.limits.max_rate,
            budget_rate: self.limits.budget_rate,
            budget_bytes: self.limits.budget_bytes,
            max_loss: fraction(self.guard.loss),
            max_timeouts: fraction(self.guard.timeouts),
            max_missed: fraction(self.guard.missed),
            user_messages: self.user_messages,
            user_burst: self.budget.burst,
            user_urgency: fraction(self.budget.share),
            tolerance: fraction(self.guard.tolerance),
            name: kernel::field(&self.name).ok_or_else(|| long("its name", 31))?,
            cgroup: kernel::field(self.cgroup.as_os_str().as_encoded_bytes())
                .ok_or_else(|| long("its cgroup's path", 255))?,
        })
    }
}

fn fraction(share: f64) -> u32 {
    (share * f64::from(ONE)).round() as u32
}

/// Returns slots for the rules in their order, since the first rule that matches governs. A rule keeps the slot of an
/// earlier rule of its name, and so its counters, where the order permits it.
pub fn places(before: &[(usize, kernel::Rule)], rules: &[kernel::Rule]) -> Vec<usize> {
    let mut slots = Vec::new();
    let mut next = 0;
    for (number, rule) in rules.iter().enumerate() {
        let kept = before.iter().find(|(_, was)| was.name == rule.name).map(|(slot, _)| *slot);
        let behind = rules.len() - number - 1;
        let slot = kept.filter(|slot| *slot >= next && slot + behind < RULES).unwrap_or(next);
        slots.push(slot);
        next = slot + 1;
    }
    slots
}

/// Returns the hash of a path, computed component by component.
pub fn hash(key: [u64; 2], path: &Path) -> u64 {
    let mixed = |hash: u64, word: u64| {
        let hash = (hash ^ word).wrapping_mul(key[1] | 1);
        hash ^ hash >> 29
    };
    let mut hash = key[0];
    for component in path.components() {
        let std::path::Component::Normal(name) = component else { continue };
        let name = name.as_encoded_bytes();
        for chunk in 0..CHUNK.1 {
            let rest = name.get(chunk * CHUNK.0..).unwrap_or_default();
            let part = &rest[..rest.len().min(CHUNK.0)];
            let mut words = [0; CHUNK.0 + 1];
            words[..part.len()].copy_from_slice(part);
            for word in words.chunks_exact(8) {
                hash = mixed(hash, u64::from_ne_bytes(word.try_into().expect("chunks of 8")));
            }
            if part.len() < CHUNK.0 {
                break;
            }
        }
        hash = mixed(hash, u64::from(b'/'));
    }
    hash
}

/// Describes a rule's connections in words.
pub fn in_words(rule: &kernel::Rule) -> String {
    let mut words = match rule.control {
        0 => "those that ask by TCP_CONGESTION".to_owned(),
        1 if rule.share < ONE => format!("{} % of the connections", f64::from(rule.share) / f64::from(ONE) * 100.0),
        1 => "all connections".to_owned(),
        _ => "left alone: connections".to_owned(),
    };
    if rule.cgroup[0] != 0 {
        words += &format!(" of {}", kernel::name(&rule.cgroup));
    }
    if rule.port_low > 0 {
        words += &format!(", ports {}-{}", rule.port_low, rule.port_high);
    }
    if rule.flags & RULE_PRIVATE != 0 {
        words += ", peers in private ranges";
    }
    if rule.flags & RULE_PREFIX != 0 {
        let address = Ipv6Addr::from(rule.address);
        words += &match address.to_ipv4_mapped() {
            Some(address) if rule.prefix >= 96 => format!(", peers in {address}/{}", rule.prefix - 96),
            _ => format!(", peers in {address}/{}", rule.prefix),
        };
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::DEFAULTS;

    fn named(names: &[&str]) -> Vec<kernel::Rule> {
        names.iter().map(|name| Rule::of(name, Path::new(""), Control::Use).compiled(DEFAULTS).unwrap()).collect()
    }

    #[test]
    fn rules_keep_their_slots_as_far_as_their_order_lets_them() {
        let before: Vec<_> = named(&["a", "b", "c"]).into_iter().enumerate().collect();
        assert_eq!(places(&before, &named(&["a", "b", "c"])), [0, 1, 2]);
        assert_eq!(places(&before, &named(&["b", "c"])), [1, 2]);
        assert_eq!(places(&before, &named(&["c", "a"])), [2, 3], "order goes before counters");
        assert_eq!(places(&before, &named(&["new", "c"])), [0, 2]);
        let last: Vec<_> = named(&["z"]).into_iter().map(|rule| (RULES - 1, rule)).collect();
        assert_eq!(places(&last, &named(&["z", "y"])), [0, 1], "there must be room for those behind");
    }

    #[test]
    fn a_hash_tells_paths_and_components_apart() {
        let of = |path: &str| hash([3, 5], Path::new(path));
        assert_eq!(of(""), 3);
        let long = "x".repeat(63);
        let mut all: Vec<u64> =
            ["", "a", "a/b", "ab", "b/a", "a/b/c", &long, &format!("{long}x"), &format!("{long}/x")].map(of).to_vec();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 9);
        assert_ne!(of("a"), hash([3, 7], Path::new("a")), "without the key nobody can find another path");
    }

    #[test]
    fn what_is_not_a_rules_own_follows_the_parameters_for_all() {
        let mut rule = Rule::of("a", Path::new("s"), Control::Use);
        rule.parameters.cap = Some(4.0);
        let compiled = rule.compiled(DEFAULTS).unwrap();
        let law = Parameters::merged(&compiled.law, compiled.own, &Law { margin_ns: 9, cap: 7, ..DEFAULTS });
        assert_eq!((law.cap, law.margin_ns), (4 << 20, 9));
        rule.name = "n".repeat(32);
        assert!(rule.compiled(DEFAULTS).unwrap_err().message.contains("31 bytes"));
    }
}
