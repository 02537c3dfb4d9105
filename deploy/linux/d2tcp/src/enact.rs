//! The rules in force, in the maps of the kernel, and their replacement.

use std::collections::BTreeMap;

use libbpf_rs::{MapCore, MapFlags, MapHandle};

use crate::escape::Name;
use crate::failure::{Context, Failure, Kind, Result};
use crate::kernel::{self, Arm, ArmKey, Law, Plain, RULE_USED, RULES};
use crate::maps;
use crate::parameters::Parameters;
use crate::place::Pins;
use crate::rules::{hash, places};

/// Rolls back a canary: sets the share of a rule to 0, so that new connections do not get the control and existing ones
/// lose it.
pub fn roll_back(pins: &Pins, name: &Name) -> Result<()> {
    let (map, bank) = (maps::map(pins, "rules")?, epoch(pins)? & 1);
    for (slot, mut rule) in in_force(pins)?.into_iter().filter(|(_, rule)| kernel::name(&rule.name) == *name) {
        rule.share = 0;
        let index = (bank * RULES as u64) as u32 + slot as u32;
        map.update(&index.to_ne_bytes(), rule.bytes(), MapFlags::ANY).context("change a rule")?;
    }
    Ok(())
}

/// Replaces the rules in force, for existing connections as well. Rules that keep their names keep their counters.
pub fn enact(pins: &Pins, key: [u64; 2], rules: &[kernel::Rule]) -> Result<()> {
    if rules.len() > RULES {
        return Err(Failure::new(Kind::Usage, format!("{} rules: there may be {RULES}", rules.len())));
    }
    let before = in_force(pins)?;
    let now = epoch(pins)? + 1;
    let (rules_map, paths) = (maps::map(pins, "rules")?, maps::map(pins, "paths")?);
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
    let (counts, arms) = (maps::map(pins, "counts")?, maps::map(pins, "arms")?);
    let cpus = libbpf_rs::num_possible_cpus().context("count the CPUs")?;
    let mut by_path: BTreeMap<u64, u64> = BTreeMap::new();
    for (rule, slot) in rules.iter().zip(&slots) {
        put(*slot, rule.bytes())?;
        *by_path.entry(hash(key, kernel::path(&rule.cgroup))).or_default() |= 1 << slot;
        if !before.iter().any(|(at, was)| at == slot && was.name == rule.name) {
            let zeros = vec![vec![0; size_of::<kernel::Counters>()]; cpus];
            let number = (*slot as u32 + 1).to_ne_bytes();
            counts.update_percpu(&number, &zeros, MapFlags::ANY).context("clear a rule's counters")?;
            clear_arms(&arms, *slot)?;
        }
    }
    for (hash, rules) in by_path {
        let path = kernel::Path { hash, bank };
        paths.update(path.bytes(), &rules.to_ne_bytes(), MapFlags::ANY).context("write a path")?;
    }
    let words = maps::map(pins, "words")?;
    words.update(&kernel::EPOCH.to_ne_bytes(), &now.to_ne_bytes(), MapFlags::ANY).context("put rules into force")
}

/// Removes the measurements of a rule's arms, and creates the entries of users without one of their own.
fn clear_arms(arms: &MapHandle, slot: usize) -> Result<()> {
    let first = 2 * slot as u32;
    let of_rule = |key: &Vec<u8>| ArmKey::read(key).is_some_and(|key| key.arm & !1 == first);
    // Collected first, since a deletion moves the place in the map.
    for key in arms.keys().filter(of_rule).collect::<Vec<_>>() {
        arms.delete(&key).context("clear a canary's counters")?;
    }
    for arm in [first, first + 1] {
        let key = ArmKey { arm, uid: kernel::OTHERS };
        arms.update(key.bytes(), Arm::default().bytes(), MapFlags::ANY).context("clear a canary's counters")?;
    }
    Ok(())
}

/// Returns the rules in force and their slots, in order.
pub fn in_force(pins: &Pins) -> Result<Vec<(usize, kernel::Rule)>> {
    let (map, bank) = (maps::map(pins, "rules")?, epoch(pins)? & 1);
    let mut rules = Vec::new();
    for slot in 0..RULES {
        let bytes = maps::value(&map, (bank * RULES as u64) as u32 + slot as u32)?;
        if let Some(rule) = kernel::Rule::read(&bytes).filter(|rule| rule.flags & RULE_USED != 0) {
            rules.push((slot, rule));
        }
    }
    Ok(rules)
}

/// Sets the parameters that the rules do not set themselves.
pub fn set_law(pins: &Pins, law: &Law) -> Result<()> {
    let (map, bank) = (maps::map(pins, "rules")?, epoch(pins)? & 1);
    for (slot, mut rule) in in_force(pins)? {
        rule.law = Parameters::merged(&rule.law, rule.own, law);
        let index = (bank * RULES as u64) as u32 + slot as u32;
        map.update(&index.to_ne_bytes(), rule.bytes(), MapFlags::ANY).context("change a rule")?;
    }
    Ok(())
}

fn epoch(pins: &Pins) -> Result<u64> {
    let bytes = maps::value(&maps::map(pins, "words")?, kernel::EPOCH)?;
    Ok(bytes.try_into().map_or(0, u64::from_ne_bytes))
}
