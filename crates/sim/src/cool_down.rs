//! The time after the measurement: the run continues until the counted messages are decided.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use units::{Bytes, ClassId, Instant, Span, Table};

use crate::record::outcome::Message;
use crate::run::{Run, WaitFor};
use crate::traffic::Request;

/// The messages that a run waits for after its measurement.
///
/// A message is decided when it has arrived or was aborted. The run waits for messages that started in the measured
/// time, and for answers to queries that did, except flows without end. With [`WaitFor::Deadlines`] it waits for a
/// message only until its deadline has passed.
pub(crate) struct CoolDown {
    run: Run,
    /// The queries of each class that started in the measured time.
    queries: Table<ClassId, Option<RangeInclusive<u64>>>,
    /// Latest times at which the awaited messages are decided, and the number of messages of each.
    due: BTreeMap<Instant, u32>,
}

impl CoolDown {
    /// Starts at the end of the measurement, with its `queries` by class. The `undecided` messages have started, and
    /// have neither arrived nor been aborted; the `waiting` ones have been announced and have not started.
    pub(crate) fn new<'a>(
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

    /// Returns the end of the run, as currently known.
    pub(crate) fn until(&self, now: Instant) -> Instant {
        let last = self.due.last_key_value().map_or(now, |(due, _)| *due);
        last.min(self.run.latest()).max(now)
    }

    /// Adds a message that was announced.
    pub(crate) fn expect(&mut self, class: ClassId, request: &Request) {
        let &Request { start, bytes, deadline, query, .. } = request;
        self.add(self.due(class, query, start, bytes, deadline));
    }

    /// Removes an announced message that is not sent after all.
    pub(crate) fn forget(&mut self, class: ClassId, request: &Request) {
        let &Request { start, bytes, deadline, query, .. } = request;
        self.remove(self.due(class, query, start, bytes, deadline));
    }

    /// Removes a message that is decided.
    pub(crate) fn decided(&mut self, message: &Message) {
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

    /// Returns the latest time at which a message is decided; `None` if the run does not wait for it.
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
