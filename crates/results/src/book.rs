//! The record of a run's messages and requests, added as they are over: the source of all summaries.

use std::fs::File;
use std::io;
use std::ops::Range;

use aside::Aside;
use sim::Outcome;
use sim::outcome::{Message, RequestRow};
use units::{Bytes, Instant, Span};

use crate::queries::{Asked, Queries, Query};
use crate::requests::Served;
use crate::values::Values;
use crate::verdict::{Verdict, completion_time, verdict};

/// Sums over the messages of a run, and the values of its percentiles. The order of the messages makes no difference.
pub struct RunStatistics {
    /// The time in which messages must start to count.
    counted: Range<Instant>,
    pub(crate) classes: Vec<ClassStatistics>,
    pub(crate) queries: Queries,
    pub(crate) bounded: bound::Messages,
    pub(crate) bounded_requests: bound::requests::Requests,
    /// The file for values that do not stay in memory, if there is one, and the number that may stay.
    pub(crate) aside: Option<Aside>,
    max_held: usize,
    held: usize,
}

/// The messages of one class that count; `in_time` is of all.
#[derive(Default)]
pub(crate) struct ClassStatistics {
    pub messages: u64,
    pub completed: u64,
    pub with_deadline: u64,
    pub missed: u64,
    pub undecided: u64,
    /// Payload that arrived within the measured time of messages that met their deadline, whenever they started.
    pub in_time: Bytes,
    /// Flow completion times of completed messages, in us.
    pub fct_us: Values,
    /// Slowdowns of completed messages.
    pub slowdown: Values,
    /// Completion time over allowed time, of completed messages with a deadline.
    pub deadline_ratio: Values,
    /// The messages that were in progress when the run ended.
    pub censored: Censored,
    pub asked: Asked,
    pub served: Served,
}

/// Messages of a size that were in progress when the run ended: neither arrived nor aborted. Each has the figures that
/// it would have if it had arrived then.
#[derive(Default)]
pub(crate) struct Censored {
    pub messages: u64,
    pub fct_us: Values,
    pub slowdown: Values,
    pub deadline_ratio: Values,
}

impl RunStatistics {
    /// Returns an empty book of a run with `classes` classes. Messages that start within `counted` count, and queries
    /// are taken in blocks of `block`.
    pub fn new(counted: Range<Instant>, classes: usize, block: usize) -> RunStatistics {
        RunStatistics {
            counted,
            classes: (0..classes).map(|_| ClassStatistics::default()).collect(),
            queries: Queries::new(block),
            bounded: bound::Messages::new(classes),
            bounded_requests: bound::requests::Requests::new(),
            aside: None,
            max_held: usize::MAX,
            held: 0,
        }
    }

    /// As this one, but with more than `max_held` values they are written to a file, and so are messages with
    /// deadlines. It must be empty, and open for reading and writing.
    pub fn with_file(self, file: File, max_held: usize) -> RunStatistics {
        RunStatistics { aside: Some(Aside::new(file)), max_held: max_held.max(1), ..self }
    }

    /// Returns the book of a run that is over.
    pub fn of(outcome: &Outcome) -> RunStatistics {
        let block = outcome.queries.len().max(1);
        let mut book = RunStatistics::new(outcome.warm_up..outcome.simulated, outcome.classes.len(), block);
        book.ask(&outcome.queries);
        book.add(&outcome.messages, outcome.ended).expect("everything stays in memory");
        book.serve(&outcome.stage_requests, outcome.ended).expect("everything stays in memory");
        book.close(outcome.ended);
        book
    }

    /// Adds queries. Each must be added before any message that answers it.
    pub fn ask(&mut self, queries: &[sim::outcome::Query]) {
        queries.iter().for_each(|query| self.queries.ask(*query));
    }

    /// Takes blocks of complete queries, each with the place of its first in the order of starts.
    pub fn take_queries(&mut self) -> Vec<(u64, Vec<Query>)> {
        self.queries.take_over()
    }

    /// Takes the queries that were not taken, in the same way: the run is over.
    pub fn take_all_queries(&mut self) -> Vec<(u64, Vec<Query>)> {
        self.queries.take_all()
    }

    /// Adds messages. The ones that are neither over nor aborted are judged as of `ended`, when the run was over.
    pub fn add(&mut self, messages: &[Message], ended: Instant) -> io::Result<()> {
        for message in messages {
            let verdict = verdict(message, ended);
            if let Some(query) = self.queries.add(message, verdict).filter(|query| query.counts(&self.counted)) {
                self.held += self.classes[message.class.index()].asked.add(&query, ended);
            }
            if verdict == Verdict::Met {
                self.classes[message.class.index()].in_time += message.delivered;
            }
            if self.counted.contains(&message.start) {
                self.bounded.add(message);
                self.held += self.classes[message.class.index()].add(message, verdict, ended);
            }
            if self.held >= self.max_held {
                self.put()?;
            }
            if let Some(aside) = self.aside.as_mut().filter(|_| self.bounded.held() >= self.max_held) {
                self.bounded.put(aside)?;
            }
        }
        Ok(())
    }

    /// Adds requests of several stages. The ones that are not over are judged as of `ended`, when the run was over.
    pub fn serve(&mut self, requests: &[RequestRow], ended: Instant) -> io::Result<()> {
        for request in requests {
            if !self.counted.contains(&request.arrival) {
                continue;
            }
            self.held += self.classes[request.class.index()].served.add(request, ended);
            self.bounded_requests.add(request);
            if self.held >= self.max_held {
                self.put()?;
            }
            if let Some(aside) = self.aside.as_mut().filter(|_| self.bounded_requests.held() >= self.max_held) {
                self.bounded_requests.put(aside)?;
            }
        }
        Ok(())
    }

    /// Handles the end of the run: queries that lack answers are in progress, or too late.
    pub fn close(&mut self, ended: Instant) {
        for query in self.queries.close(ended).into_iter().filter(|query| query.counts(&self.counted)) {
            self.held += self.classes[query.row.class.index()].asked.add(&query, ended);
        }
    }

    /// Sorts the values, before several figures are computed from them.
    pub fn sort(&mut self) {
        self.classes.iter_mut().flat_map(ClassStatistics::values).for_each(Values::sort);
    }

    /// Writes the largest set of values to the file.
    fn put(&mut self) -> io::Result<()> {
        let values = self.classes.iter_mut().flat_map(ClassStatistics::values);
        if let Some((most, aside)) = values.max_by_key(|values| values.held()).zip(self.aside.as_mut()) {
            self.held -= most.held();
            most.put(aside)?;
        }
        Ok(())
    }
}

impl ClassStatistics {
    fn values(&mut self) -> impl Iterator<Item = &mut Values> {
        let Asked { shares, took_us, censored_us, .. } = &mut self.asked;
        let Censored { fct_us, slowdown, deadline_ratio, .. } = &mut self.censored;
        let censored = [fct_us, slowdown, deadline_ratio, censored_us];
        let arrived = [&mut self.fct_us, &mut self.slowdown, &mut self.deadline_ratio, shares, took_us];
        arrived.into_iter().chain(censored).chain(self.served.values())
    }

    /// Adds a message of a run that ended at `ended`, if it is over. Returns the number of values that were kept of it.
    fn add(&mut self, message: &Message, verdict: Verdict, ended: Instant) -> usize {
        self.messages += 1;
        self.with_deadline += u64::from(message.deadline.is_some());
        self.missed += u64::from(verdict == Verdict::Missed);
        self.undecided += u64::from(verdict == Verdict::Undecided);
        let over =
            |took: Span, of: Option<Span>| of.map(|of| took.0 as f64 / of.0 as f64).filter(|ratio| ratio.is_finite());
        let (took, times, slowdowns, ratios) = match completion_time(message) {
            Some(took) => {
                self.completed += 1;
                (took, &mut self.fct_us, &mut self.slowdown, &mut self.deadline_ratio)
            }
            None if message.aborted || message.bytes.is_none() => return 0,
            None => {
                let Censored { messages, fct_us, slowdown, deadline_ratio } = &mut self.censored;
                *messages += 1;
                (ended.saturating_sub(message.start), fct_us, slowdown, deadline_ratio)
            }
        };
        times.add(took.as_micros_f64());
        let ratios = [(over(took, message.ideal), slowdowns), (over(took, message.deadline), ratios)];
        let ratios = ratios.into_iter().filter_map(|(ratio, values)| Some((ratio?, values)));
        1 + ratios.map(|(ratio, values)| values.add(ratio)).count()
    }
}
