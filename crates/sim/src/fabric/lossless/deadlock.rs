//! Deadlocks: links that pause each other for ever.
//!
//! A paused link is resumed when its switch holds little enough of it. Packets at ports that are not paused will leave.
//! So a set of paused links is stuck for ever if of each the switch holds too much at ports of links of that set alone.
//! The largest such set is left when all other links have been removed, one after the other.

use std::collections::{BTreeMap, BTreeSet};

use units::LinkId;

use super::pauses::Pauses;
use crate::fabric::Net;
use crate::record::outcome::Deadlock;

/// The bytes that switches hold of each link at ports of stuck links, with these links.
type Held = BTreeMap<LinkId, (u64, BTreeSet<LinkId>)>;

impl Net {
    /// Returns the links that pause each other for ever, if there are any.
    pub(crate) fn deadlock(&self) -> Option<Deadlock> {
        let pauses = self.pauses.as_deref()?;
        let is_paused = |link: &LinkId| pauses.links[*link].since.is_some() && pauses.links[*link].asked;
        let mut stuck: BTreeSet<LinkId> = pauses.links.entries().map(|(link, _)| link).filter(is_paused).collect();
        let waits = loop {
            let held = self.held_at(&stuck);
            let before = stuck.len();
            stuck.retain(|link| pauses.stays_paused(*link, &held));
            if stuck.len() == before {
                break held;
            }
        };
        // Each waits for another one of them: the walk ends where it has been before.
        let mut walk = vec![*stuck.first()?];
        let cycle = loop {
            let next = *waits[walk.last()?].1.first()?;
            match walk.iter().position(|link| *link == next) {
                Some(start) => break walk.split_off(start),
                None => walk.push(next),
            }
        };
        let since = cycle.iter().filter_map(|link| pauses.links[*link].since).max()?;
        Some(Deadlock { since, cycle, stuck: stuck.len() as u64 })
    }

    /// Returns the bytes that switches hold of each link at the ports of stuck links.
    fn held_at(&self, stuck: &BTreeSet<LinkId>) -> Held {
        let mut held = Held::new();
        for link in stuck.iter().filter(|link| self.ports[**link].place.at_switch()) {
            for packet in self.ports[*link].choice().into_iter().flat_map(|choice| choice.packets()) {
                let (bytes, behind) = held.entry(self.arrived_by(packet)).or_default();
                *bytes += u64::from(packet.size);
                behind.insert(*link);
            }
        }
        held
    }
}

impl Pauses {
    /// Returns whether a link stays paused though all leaves its switch that is not `held`.
    fn stays_paused(&self, link: LinkId, held: &Held) -> bool {
        let bytes = |link: LinkId| held.get(&link).map_or(0, |(bytes, _)| *bytes);
        let of = &self.links[link];
        let Some(switch) = of.switch else { return false };
        let pool = &self.pools[switch];
        let used = held.iter().filter(|(other, _)| self.links[**other].switch == Some(switch));
        let used = used.map(|(other, (bytes, _))| self.links[*other].beyond_own(*bytes)).sum();
        bytes(link) > self.resumed_at(of.part, pool.threshold(of.part, used))
    }
}
