//! Signals over time.

use transport::registry::Config;
use transport::{Observation, Signal};
use units::Time;

use crate::connections::Connections;
use crate::net::Net;
use crate::outcome::{Sample, Subject};
use crate::run::{QUEUE, THROUGHPUT, Trace};

/// Takes samples of the signals that were asked for.
pub struct Sampler {
    trace: Trace,
    samples: Vec<Sample>,
    /// Payload that had arrived on connections that were closed since the last sample, by message.
    closed: Vec<(u32, u64)>,
}

impl Sampler {
    /// No samples yet.
    pub fn new(trace: Trace) -> Sampler {
        Sampler { trace, samples: Vec::new(), closed: Vec::new() }
    }

    /// Time between two samples.
    pub fn every(&self) -> Time {
        self.trace.every
    }

    /// A connection was closed on which `bytes` have arrived since the last sample.
    pub fn keep(&mut self, row: u32, bytes: u64) {
        if bytes > 0 {
            self.closed.push((row, bytes));
        }
    }

    /// Takes a sample of everything now.
    pub fn take(&mut self, net: &Net, connections: &mut Connections, configs: &[Config]) {
        let now = net.now;
        let per_sample = 8.0 / self.trace.every.as_secs_f64() / 1e6;
        for (row, bytes) in std::mem::take(&mut self.closed) {
            self.add(now, &THROUGHPUT, Subject::Message(row), bytes as f64 * per_sample);
        }
        let mut seen = Observation::default();
        for number in connections.open_ones() {
            let receiving = connections.receiving(number);
            let subject = Subject::Message(receiving.row());
            let bytes = std::mem::take(&mut receiving.unsampled);
            self.add(now, &THROUGHPUT, subject, bytes as f64 * per_sample);
            let sending = connections.sending(number);
            seen.clear();
            sending.sender.observe(&configs[sending.config as usize], now, &mut seen);
            for (signal, value) in seen.iter() {
                self.add(now, signal, subject, value);
            }
        }
        for (link, port) in net.ports().iter().enumerate() {
            if port.place.at_switch() && port.watch().most_waiting > 0 {
                self.add(now, &QUEUE, Subject::Link(link as u32), port.waiting() as f64);
            }
        }
    }

    fn add(&mut self, at: Time, signal: &Signal, subject: Subject, value: f64) {
        if self.trace.what.iter().any(|wanted| wanted.name == signal.name) {
            self.samples.push(Sample { at, what: signal.name, subject, value });
        }
    }

    /// All samples, in order of time.
    pub fn into_samples(self) -> Vec<Sample> {
        self.samples
    }
}
