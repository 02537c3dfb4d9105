//! Signals over time.

use transport::registry::Config;
use units::Time;

use crate::connections::Connections;
use crate::net::Net;
use crate::outcome::{Sample, Subject};
use crate::run::{Signal, Trace};

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
            self.add(now, Signal::Throughput, Subject::Message(row), Some(bytes as f64 * per_sample));
        }
        for number in connections.open_ones() {
            let receiving = connections.receiving(number);
            let subject = Subject::Message(receiving.row());
            let bytes = std::mem::take(&mut receiving.unsampled);
            self.add(now, Signal::Throughput, subject, Some(bytes as f64 * per_sample));
            let sending = connections.sending(number);
            let seen = sending.sender.observe(&configs[sending.config as usize], now);
            self.add(now, Signal::Cwnd, subject, seen.cwnd);
            self.add(now, Signal::Alpha, subject, seen.alpha);
            self.add(now, Signal::D, subject, seen.d);
            self.add(now, Signal::P, subject, seen.p);
            self.add(now, Signal::Srtt, subject, seen.srtt.map(Time::as_micros_f64));
            self.add(now, Signal::Rate, subject, seen.rate);
            self.add(now, Signal::Request, subject, seen.request);
        }
        for (link, port) in net.ports().iter().enumerate() {
            if port.watch().is_some_and(|watch| watch.most_waiting > 0) {
                self.add(now, Signal::Queue, Subject::Link(link as u32), Some(net.waiting(link) as f64));
            }
        }
    }

    fn add(&mut self, at: Time, signal: Signal, subject: Subject, value: Option<f64>) {
        if let Some(value) = value
            && self.trace.what.contains(&signal)
        {
            self.samples.push(Sample { at, what: signal.name(), subject, value });
        }
    }

    /// All samples, in order of time.
    pub fn into_samples(self) -> Vec<Sample> {
        self.samples
    }
}
