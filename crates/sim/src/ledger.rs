//! What is written down of messages and classes while a run goes on.

use std::collections::BTreeMap;

use units::Time;

use crate::connections::{Arrivals, Doings};
use crate::outcome::{ClassOutcome, Framing, Message, Query};
use crate::scenario::Class;

/// Rows of messages, and sums by class.
pub struct Ledger {
    /// One row per message, in order of their starts.
    pub messages: Vec<Message>,
    /// For each of them, where its path begins.
    pub paths: Vec<u32>,
    /// One row per query, in order of their starts.
    pub queries: Vec<Query>,
    /// Payload delivered in order after the warm-up, by class.
    delivered: Vec<u64>,
    /// What arrived, by class and pair of hosts.
    flows: BTreeMap<(u32, u32, u32), Arrivals>,
}

impl Ledger {
    /// Empty, for so many classes.
    pub fn new(classes: usize) -> Ledger {
        Ledger {
            messages: Vec::new(),
            paths: Vec::new(),
            queries: Vec::new(),
            delivered: vec![0; classes],
            flows: BTreeMap::new(),
        }
    }

    /// A message starts on a path; gives its row.
    pub fn start(&mut self, path: u32, message: Message) -> u32 {
        self.paths.push(path);
        self.messages.push(message);
        self.messages.len() as u32 - 1
    }

    /// A message has arrived completely.
    pub fn complete(&mut self, row: u32, now: Time) -> &Message {
        let message = &mut self.messages[row as usize];
        message.end = Some(now);
        message
    }

    /// A message was given up.
    pub fn abandon(&mut self, row: u32) -> &Message {
        let message = &mut self.messages[row as usize];
        message.aborted = true;
        message
    }

    /// Payload of a message was delivered in order.
    pub fn deliver(&mut self, row: u32, bytes: u64) {
        self.delivered[self.messages[row as usize].class as usize] += bytes;
    }

    /// Books what a sending end has done on a message.
    pub fn book_doings(&mut self, row: u32, doings: &mut Doings) {
        let message = &mut self.messages[row as usize];
        message.retransmits += std::mem::take(&mut doings.retransmits);
        message.timeouts += std::mem::take(&mut doings.timeouts);
    }

    /// Books what has arrived at a receiving end on a message and its flow.
    pub fn book_arrivals(&mut self, row: u32, arrivals: &mut Arrivals, dropped_bytes: u64) {
        let arrivals = std::mem::take(arrivals);
        let message = &mut self.messages[row as usize];
        message.marks += arrivals.marks;
        if arrivals.packets > 0 || dropped_bytes > 0 {
            let flow = self.flows.entry((message.class, message.from, message.to)).or_default();
            flow.packets += arrivals.packets;
            flow.bytes += arrivals.bytes + dropped_bytes;
            flow.wait += arrivals.wait;
        }
    }

    /// Books wire bytes that wait at the receiver's port when the run ends.
    pub fn book_waiting(&mut self, row: u32, bytes: u64) {
        let message = &self.messages[row as usize];
        self.flows.entry((message.class, message.from, message.to)).or_default().bytes += bytes;
    }

    /// The warm-up ends: what was delivered before does not count.
    pub fn warmed_up(&mut self) {
        self.delivered.fill(0);
        self.flows.clear();
    }

    /// The sums of one class.
    pub fn class(&self, number: u32, class: &Class, transport: &'static str, framing: Framing) -> ClassOutcome {
        let flows = || self.flows.range((number, 0, 0)..(number + 1, 0, 0)).map(|(_, arrivals)| arrivals);
        let means: Vec<f64> =
            flows().filter(|flow| flow.packets > 0).map(|flow| flow.wait as f64 / flow.packets as f64).collect();
        const MICROS: f64 = 1024.0 / 1e6;
        ClassOutcome {
            name: class.name.clone(),
            set: class.set.clone(),
            pattern: class.pattern,
            transport,
            delivered_bytes: self.delivered[number as usize],
            bottleneck_delay_us: (!means.is_empty()).then(|| means.iter().sum::<f64>() / means.len() as f64 * MICROS),
            bottleneck_bytes: flows().map(|flow| flow.bytes).sum(),
            framing,
            too_late: 0,
        }
    }
}
