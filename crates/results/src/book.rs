//! What the messages of a run come to, taken in as they are over: what all summaries are made of.

use std::fs::File;
use std::io;
use std::ops::Range;

use aside::Aside;
use sim::Outcome;
use sim::outcome::Message;
use units::{Bytes, Instant, Span};

use crate::queries::{Asked, Queries, Query};
use crate::values::Values;
use crate::verdict::{Verdict, completion_time, verdict};

/// Sums over the messages of a run, and the values that its percentiles are taken of. In which order messages come
/// makes no difference.
pub struct Book {
    /// When messages that count start.
    counted: Range<Instant>,
    pub(crate) classes: Vec<Account>,
    pub(crate) queries: Queries,
    pub(crate) bounded: bound::Messages,
    /// Where values go, if they do not stay in memory, and how many may stay.
    pub(crate) aside: Option<Aside>,
    most_held: usize,
    held: usize,
}

/// The messages of one class that count; `in_time` is of all.
#[derive(Default)]
pub(crate) struct Account {
    pub messages: u64,
    pub completed: u64,
    pub with_deadline: u64,
    pub missed: u64,
    pub undecided: u64,
    /// Payload that arrived within the measured time of messages that met their deadline, whenever these started.
    pub in_time: Bytes,
    /// Of completed messages.
    pub fct_us: Values,
    /// Of completed messages.
    pub slowdown: Values,
    /// Of completed messages with a deadline.
    pub deadline_ratio: Values,
    pub asked: Asked,
}

impl Book {
    /// Of a run with so many classes, in which counts what starts within `counted`; queries leave in blocks of so many.
    pub fn new(counted: Range<Instant>, classes: usize, block: usize) -> Book {
        Book {
            counted,
            classes: (0..classes).map(|_| Account::default()).collect(),
            queries: Queries::new(block),
            bounded: bound::Messages::new(classes),
            aside: None,
            most_held: usize::MAX,
            held: 0,
        }
    }

    /// As this one, but values go into a file when there are more than so many, and so do messages with deadlines. It must be empty, and open for reading
    /// and writing.
    pub fn with_file(self, file: File, most_held: usize) -> Book {
        Book { aside: Some(Aside::new(file)), most_held: most_held.max(1), ..self }
    }

    /// Of a run that is over.
    pub fn of(outcome: &Outcome) -> Book {
        let block = outcome.queries.len().max(1);
        let mut book = Book::new(outcome.warm_up..outcome.simulated, outcome.classes.len(), block);
        book.ask(&outcome.queries);
        book.add(&outcome.messages, outcome.ended).expect("everything stays in memory");
        book
    }

    /// Queries are asked. Each must come before any message that answers it.
    pub fn ask(&mut self, queries: &[sim::outcome::Query]) {
        queries.iter().for_each(|query| self.queries.ask(*query));
    }

    /// Takes blocks of queries of which everything is known, each with the place of its first in the order of starts.
    pub fn take_queries(&mut self) -> Vec<(u64, Vec<Query>)> {
        self.queries.take_over()
    }

    /// Takes the queries that were not taken, in the same way: the run is over.
    pub fn take_all_queries(&mut self) -> Vec<(u64, Vec<Query>)> {
        self.queries.take_all()
    }

    /// Takes messages in. Those that are neither over nor given up are judged as of `ended`, when the run was over.
    pub fn add(&mut self, messages: &[Message], ended: Instant) -> io::Result<()> {
        for message in messages {
            let verdict = verdict(message, ended);
            let query = self.queries.add(message, verdict).filter(|query| query.enters(&self.counted));
            if let Some(query) = query {
                self.held += self.classes[message.class.index()].asked.add(&query);
            }
            if verdict == Verdict::Met {
                self.classes[message.class.index()].in_time += message.delivered;
            }
            if self.counted.contains(&message.start) {
                self.bounded.add(message);
                self.held += self.classes[message.class.index()].add(message, verdict);
            }
            if self.held >= self.most_held {
                self.put()?;
            }
            if let Some(aside) = self.aside.as_mut().filter(|_| self.bounded.held() >= self.most_held) {
                self.bounded.put(aside)?;
            }
        }
        Ok(())
    }

    /// Puts values in order, before several ask for what they come to.
    pub fn sort(&mut self) {
        self.classes.iter_mut().flat_map(Account::values).for_each(Values::sort);
    }

    /// Puts the values of which there are most into the file.
    fn put(&mut self) -> io::Result<()> {
        let values = self.classes.iter_mut().flat_map(Account::values);
        if let Some((most, aside)) = values.max_by_key(|values| values.held()).zip(self.aside.as_mut()) {
            self.held -= most.held();
            most.put(aside)?;
        }
        Ok(())
    }
}

impl Account {
    fn values(&mut self) -> [&mut Values; 5] {
        let Asked { shares, took_us, .. } = &mut self.asked;
        [&mut self.fct_us, &mut self.slowdown, &mut self.deadline_ratio, shares, took_us]
    }

    /// Gives how many values were kept of the message.
    fn add(&mut self, message: &Message, verdict: Verdict) -> usize {
        self.messages += 1;
        self.with_deadline += u64::from(message.deadline.is_some());
        self.missed += u64::from(verdict == Verdict::Missed);
        self.undecided += u64::from(verdict == Verdict::Undecided);
        let Some(took) = completion_time(message) else { return 0 };
        self.completed += 1;
        self.fct_us.add(took.as_micros_f64());
        let over = |of: Option<Span>| of.map(|of| took.0 as f64 / of.0 as f64).filter(|ratio| ratio.is_finite());
        let ratios = [(over(message.ideal), &mut self.slowdown), (over(message.deadline), &mut self.deadline_ratio)];
        let ratios = ratios.into_iter().filter_map(|(ratio, values)| Some((ratio?, values)));
        1 + ratios.map(|(ratio, values)| values.add(ratio)).count()
    }
}
