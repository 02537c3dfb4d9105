//! After the measured window: the run goes on until what counts is decided.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use units::{Bytes, ClassId, Instant, Span, Table};

use crate::outcome::Message;
use crate::run::{Run, WaitFor};
use crate::traffic::Request;

/// What a run still waits for when its window has closed.
///
/// A message is decided when it has arrived or was given up. The run waits for those that started in the window and
/// those that answer a query which did, except flows without end. With [`WaitFor::Deadlines`] it waits for a message
/// only until its deadline has passed.
pub struct CoolDown {
    run: Run,
    /// By class, the queries that started in the window.
    queries: Table<ClassId, Option<RangeInclusive<u64>>>,
    /// When the awaited messages are decided at the latest, and how many are at each of these times.
    due: BTreeMap<Instant, u32>,
}

impl CoolDown {
    /// The window closes now, with these `queries` by class; the `undecided` have started and have neither arrived nor been
    /// given up, `waiting` have been announced and have not started.
    pub fn new<'a>(
        run: &Run,
        queries: Table<ClassId, Option<RangeInclusive<u64>>>,
        undecided: impl Iterator<Item = &'a Message>,
        waiting: impl Iterator<Item = (ClassId, &'a Request)>,
    ) -> CoolDown {
        let mut cool_down = CoolDown { run: run.clone(), queries, due: BTreeMap::new() };
        undecided.for_each(|message| cool_down.expect_message(message));
        waiting.for_each(|(class, request)| cool_down.expect(class, request));
        cool_down
    }

    /// When the run ends, as things are.
    pub fn until(&self, now: Instant) -> Instant {
        let last = self.due.last_key_value().map_or(now, |(due, _)| *due);
        last.min(self.run.latest()).max(now)
    }

    /// A message was announced.
    pub fn expect(&mut self, class: ClassId, request: &Request) {
        let &Request { start, bytes, deadline, query, .. } = request;
        self.add(self.due(class, query, start, bytes, deadline));
    }

    /// A message that was announced is not sent after all.
    pub fn forget(&mut self, class: ClassId, request: &Request) {
        let &Request { start, bytes, deadline, query, .. } = request;
        self.remove(self.due(class, query, start, bytes, deadline));
    }

    /// A message is decided.
    pub fn decided(&mut self, message: &Message) {
        let &Message { class, query, start, bytes, deadline, .. } = message;
        self.remove(self.due(class, query, start, bytes, deadline));
    }

    fn expect_message(&mut self, message: &Message) {
        let &Message { class, query, start, bytes, deadline, .. } = message;
        self.add(self.due(class, query, start, bytes, deadline));
    }

    fn add(&mut self, due: Option<Instant>) {
        if let Some(due) = due {
            *self.due.entry(due).or_default() += 1;
        }
    }

    fn remove(&mut self, due: Option<Instant>) {
        let Some(due) = due else { return };
        if let Some(count) = self.due.get_mut(&due) {
            *count -= 1;
            if *count == 0 {
                self.due.remove(&due);
            }
        }
    }

    /// When a message is decided at the latest; none if it is not waited for.
    fn due(
        &self,
        class: ClassId,
        query: Option<u64>,
        start: Instant,
        bytes: Option<Bytes>,
        deadline: Option<Span>,
    ) -> Option<Instant> {
        let asked = || self.queries[class].as_ref().zip(query);
        let counts = self.run.counts(start) || asked().is_some_and(|(range, query)| range.contains(&query));
        let passed = deadline.map(|allowed| start.saturating_add(allowed));
        let arrival = match self.run.wait_for {
            WaitFor::Messages => Some(self.run.latest_arrival()),
            WaitFor::Deadlines if deadline.is_none() && self.run.cool_down.is_some() => Some(self.run.latest_arrival()),
            WaitFor::Deadlines => None,
        };
        passed.max(arrival.filter(|_| bytes.is_some())).filter(|_| counts)
    }
}
