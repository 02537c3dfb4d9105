//! Which connections get the control, and on which terms: rules, as the programs in the kernel match them
//! (`linux/bpf/rules.h`).

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::path::{Path, PathBuf};

use libbpf_rs::{MapCore, MapFlags};

use crate::attach;
use crate::failure::{Context, Failure, Kind, Result};
use crate::kernel::{self, Control, Law, ONE, Plain, RULE_PREFIX, RULE_PRIVATE, RULE_SILENT, RULE_USED, RULES};
use crate::options::Parameters;
use crate::place::Pins;

/// Bytes of a component of a path that are looked at a time, and how many times.
const CHUNK: (usize, usize) = (63, 4);

/// Which peers a rule is for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Peers {
    /// All.
    #[default]
    Any,
    /// In private ranges: RFC 1918, RFC 4193, this machine and its links.
    Private,
    /// With this prefix, of so many bits.
    Prefix(IpAddr, u8),
}

/// What programs may ask for; 0: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Shorter deadlines are lengthened to it, ns.
    pub least_deadline_ns: u64,
    /// Longer messages are refused.
    pub most_bytes: u64,
    /// Deadlines that ask for more are lengthened, bytes per second.
    pub most_rate: u64,
    /// Bytes per second that may be announced in all, ...
    pub budget_rate: u64,
    /// ... and at once.
    pub budget_bytes: u64,
}

/// A rule: what it is for, and what it wants.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its name, also in metrics.
    pub name: String,
    /// From the root of the tool's hierarchy; empty: all.
    pub cgroup: PathBuf,
    /// Local or remote, both included.
    pub ports: Option<(u16, u16)>,
    /// Of the other end.
    pub peers: Peers,
    /// What its connections get.
    pub control: Control,
    /// Of these, how many: 0 to 1.
    pub share: f64,
    /// Programs may not tell deadlines.
    pub silent: bool,
    /// What a message has without an announcement, ns; 0: none.
    pub deadline_ns: u64,
    /// And how long it is taken to be at least.
    pub bytes: u64,
    /// What programs may ask for.
    pub limits: Limits,
    /// Parameters of its own.
    pub parameters: Parameters,
}

impl Rule {
    /// For everything in a cgroup.
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
            parameters: Parameters::default(),
        }
    }
    /// As the kernel's side has it, with the parameters that are in force for all.
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
            share: (self.share * f64::from(ONE)).round() as u32,
            prefix,
            address,
            port_low: low,
            port_high: high,
            own: self.parameters.given(),
            deadline_ns: self.deadline_ns,
            bytes: self.bytes,
            least_deadline_ns: self.limits.least_deadline_ns,
            most_bytes: self.limits.most_bytes,
            most_rate: self.limits.most_rate,
            budget_rate: self.limits.budget_rate,
            budget_bytes: self.limits.budget_bytes,
            name: kernel::field(&self.name).ok_or_else(|| long("its name", 31))?,
            cgroup: kernel::field(&self.cgroup.to_string_lossy()).ok_or_else(|| long("its cgroup's path", 255))?,
        })
    }
}

/// Puts rules into force in place of those that are, at once for connections that are there, too. Rules that keep
/// their names keep their counters.
pub fn enact(pins: &Pins, key: [u64; 2], rules: &[kernel::Rule]) -> Result<()> {
    if rules.len() > RULES {
        return Err(Failure::new(Kind::Usage, format!("{} rules: there may be {RULES}", rules.len())));
    }
    let before = in_force(pins)?;
    let now = epoch(pins)? + 1;
    let (rules_map, paths) = (attach::map(pins, "rules")?, attach::map(pins, "paths")?);
    let bank = now & 1;
    let put = |slot: usize, rule: &[u8]| {
        let index = (bank * RULES as u64 + slot as u64) as u32;
        rules_map.update(&index.to_ne_bytes(), rule, MapFlags::ANY).context("write a rule")
    };
    for path in paths.keys().filter(|path| kernel::Path::read(path).is_some_and(|path| path.bank == bank)) {
        paths.delete(&path).context("forget a path")?;
    }
    for slot in 0..RULES {
        put(slot, &[0; size_of::<kernel::Rule>()])?;
    }
    let slots = places(&before, rules);
    let counts = attach::map(pins, "counts")?;
    let cpus = libbpf_rs::num_possible_cpus().context("count the CPUs")?;
    let mut by_path: BTreeMap<u64, u64> = BTreeMap::new();
    for (rule, slot) in rules.iter().zip(&slots) {
        put(*slot, rule.bytes())?;
        *by_path.entry(hash(key, Path::new(kernel::text(&rule.cgroup)))).or_default() |= 1 << slot;
        if !before.iter().any(|(at, was)| at == slot && was.name == rule.name) {
            let zeros = vec![vec![0; size_of::<kernel::Counters>()]; cpus];
            let number = (*slot as u32 + 1).to_ne_bytes();
            counts.update_percpu(&number, &zeros, MapFlags::ANY).context("clear a rule's counters")?;
        }
    }
    for (hash, rules) in by_path {
        let path = kernel::Path { hash, bank };
        paths.update(path.bytes(), &rules.to_ne_bytes(), MapFlags::ANY).context("write a path")?;
    }
    let words = attach::map(pins, "words")?;
    words.update(&kernel::EPOCH.to_ne_bytes(), &now.to_ne_bytes(), MapFlags::ANY).context("put rules into force")
}

/// Slots for rules, in their order, since the first one that matches governs. Where that can be, a rule keeps the slot
/// of the one of its name, and with it its counters.
fn places(before: &[(usize, kernel::Rule)], rules: &[kernel::Rule]) -> Vec<usize> {
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

/// The rules in force and their slots, in order.
pub fn in_force(pins: &Pins) -> Result<Vec<(usize, kernel::Rule)>> {
    let (map, bank) = (attach::map(pins, "rules")?, epoch(pins)? & 1);
    let mut rules = Vec::new();
    for slot in 0..RULES {
        let bytes = attach::value(&map, (bank * RULES as u64) as u32 + slot as u32)?;
        if let Some(rule) = kernel::Rule::read(&bytes).filter(|rule| rule.flags & RULE_USED != 0) {
            rules.push((slot, rule));
        }
    }
    Ok(rules)
}

/// Parameters for all: of the rules, those that are not their own.
pub fn set_law(pins: &Pins, law: &Law) -> Result<()> {
    let (map, bank) = (attach::map(pins, "rules")?, epoch(pins)? & 1);
    for (slot, mut rule) in in_force(pins)? {
        rule.law = Parameters::merged(&rule.law, rule.own, law);
        let index = (bank * RULES as u64) as u32 + slot as u32;
        map.update(&index.to_ne_bytes(), rule.bytes(), MapFlags::ANY).context("change a rule")?;
    }
    Ok(())
}

fn epoch(pins: &Pins) -> Result<u64> {
    let bytes = attach::value(&attach::map(pins, "words")?, kernel::EPOCH)?;
    Ok(bytes.try_into().map_or(0, u64::from_ne_bytes))
}

/// The hash of a path, component by component.
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

/// A rule's connections, in words.
pub fn in_words(rule: &kernel::Rule) -> String {
    let mut words = match rule.control {
        0 => "those that ask by TCP_CONGESTION".to_owned(),
        1 if rule.share < ONE => format!("{} % of the connections", f64::from(rule.share) / f64::from(ONE) * 100.0),
        1 => "all connections".to_owned(),
        _ => "left alone: connections".to_owned(),
    };
    match kernel::text(&rule.cgroup) {
        "" => {}
        path => words += &format!(" of {path}"),
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
    use crate::options::DEFAULTS;

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
