//! A run that advances step by step, and is told its messages on the way.

use units::{Bytes, ClassId, HostId, Instant, Span};

use super::World;
use crate::class::Class;
use crate::record::outcome::Message;
use crate::scenario::Scenario;
use crate::traffic::{Request, is_handed_over};

/// A message that a caller hands over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The time at which it starts, not in the past.
    pub at: Instant,
    /// The host that sends it.
    pub from: HostId,
    /// The receiving host, not the sending one.
    pub to: HostId,
    /// Its size, at least one byte.
    pub bytes: Bytes,
    /// Its allowed duration, if any.
    pub deadline: Option<Span>,
}

/// A transfer that has arrived or was aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    /// Its number, in the order in which transfers were handed over.
    pub number: u64,
    /// The time of its last byte's arrival, or of its abort.
    pub at: Instant,
    /// Its transport has aborted it.
    pub aborted: bool,
}

/// The transfers of a run that is told its messages on the way.
#[derive(Default)]
pub(super) struct Transfers {
    /// The number of transfers handed over.
    handed_over: u64,
    /// The ones that are over since the last step.
    completed: Vec<Completed>,
}

/// A run that advances step by step, and is told its messages on the way.
pub struct Oracle {
    world: World,
    /// The classes whose messages are handed over, by name.
    classes: Vec<(String, ClassId)>,
}

impl Oracle {
    /// Returns the run of a scenario; none if a program hands over the messages of none of its classes.
    pub fn new(scenario: Scenario) -> Option<Oracle> {
        let handed_over = |(_, class): &(ClassId, &Class)| is_handed_over(class.pattern);
        let classes: Vec<(String, ClassId)> = (0..)
            .map(ClassId)
            .zip(&scenario.classes)
            .filter(handed_over)
            .map(|(id, class)| (class.name.clone(), id))
            .collect();
        if classes.is_empty() {
            return None;
        }
        let mut world = World::new(scenario);
        world.transfers = Some(Transfers::default());
        Some(Oracle { world, classes })
    }

    /// Returns the classes whose messages are handed over, by name.
    pub fn classes(&self) -> &[(String, ClassId)] {
        &self.classes
    }

    /// Hands over a message of one of these classes; returns its number.
    pub fn transfer(&mut self, class: ClassId, transfer: Transfer) -> u64 {
        let Transfer { at, from, to, bytes, deadline } = transfer;
        let transfers = self.world.transfers.as_mut().expect(HAS);
        let number = transfers.handed_over;
        transfers.handed_over += 1;
        let start = at.max(self.world.now());
        let message =
            Request { start, from, to, bytes: Some(bytes), deadline, query: Some(number), place: None, piece: None };
        self.world.announce(class, message, 0);
        number
    }

    /// Advances until a time, or until the end of the first event after which a transfer is over if `stops`. Returns
    /// the transfers that are over since the last call, in the order of their ends.
    pub fn advance(&mut self, until: Instant, stops: bool) -> Vec<Completed> {
        let world = &mut self.world;
        world.until = until.max(world.now());
        // Few events at a time, so that not much happens after the first completion.
        let events = if stops { 1 } else { u64::MAX };
        while world.advance(events) {
            if stops && world.transfers.as_ref().is_some_and(|transfers| !transfers.completed.is_empty()) {
                break;
            }
        }
        std::mem::take(&mut world.transfers.as_mut().expect(HAS).completed)
    }

    /// Returns the world of the run.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Ends the run at the present time.
    pub fn into_world(self) -> World {
        self.world
    }
}

const HAS: &str = "the run of an oracle has transfers";

impl World {
    /// Notes for the caller that a transfer is over.
    pub(super) fn note_transfer(&mut self, message: &Message, aborted: bool) {
        let handed_over = is_handed_over(self.sources[message.class].class.pattern);
        if let Some(transfers) = self.transfers.as_mut().filter(|_| handed_over) {
            let number = message.query.expect("a transfer has its number");
            transfers.completed.push(Completed { number, at: self.net.now, aborted });
        }
    }
}
