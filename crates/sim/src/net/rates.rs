//! The ports' side of transports that ask the network for a rate.

use std::collections::BTreeMap;

use transport::Packet;
use transport::explicit::{Ask, Noted, Rates, Router, router};
use units::{Rate, Time};

use super::port::Port;
use crate::outcome::{LinkRates, Requests};

/// What grants rates, at every port: those of switches, and each host's own, whose flows share it too.
pub struct Routers {
    ports: Vec<RatePort>,
    protected: bool,
    /// Each request once, whatever the number of ports that saw it.
    requests: Requests,
    /// By connection and message: the generation and deadline of its last request, and whether it was inverted.
    flows: BTreeMap<(u32, u32), (u16, Option<Time>, bool)>,
}

struct RatePort {
    router: Router,
    at_switch: bool,
    requests: Requests,
}

impl Routers {
    /// For links of these rates, each with whether it leaves a switch. Rates count headers but not the
    /// overhead of frames, so that so much of a link is not given away.
    pub fn new(config: &router::Config, frame_overhead: u64, links: impl Iterator<Item = (Rate, bool)>) -> Routers {
        let net = |rate: Rate| {
            let net = u128::from(rate.0) * u128::from(config.segment) / u128::from(config.segment + frame_overhead);
            net as u64
        };
        let port = |(rate, at_switch)| RatePort {
            router: Router::new(*config, net(rate)),
            at_switch,
            requests: Requests::default(),
        };
        Routers {
            ports: links.map(port).collect(),
            protected: config.protected,
            requests: Requests::default(),
            flows: BTreeMap::new(),
        }
    }

    /// Whether requests, grants and FINs without payload pass full buffers.
    pub fn protect_control(&self) -> bool {
        self.protected
    }

    /// Answers a request that has come to the port of this number.
    pub fn answer(&mut self, now: Time, link: u32, port: &Port, packet: &Packet, rates: &mut Rates) {
        let first = rates.grants.is_empty();
        let own = &mut self.ports[link as usize];
        own.router.adapt(now, port.sent_for(now), port.waiting_bytes());
        let noted = own.router.answer(now, (packet.connection, packet.generation), rates);
        if rates.ask == Ask::Close || !noted.asked {
            return;
        }
        own.requests.count(Noted::default(), noted);
        let flow = self.flows.entry((packet.connection, rates.message)).or_insert((0, None, false));
        if first {
            self.requests.count(Noted::default(), Noted { asked: true, ..Noted::default() });
            if (flow.0, flow.1) != (packet.generation, rates.deadline) {
                *flow = (packet.generation, rates.deadline, false);
                self.requests.flows += 1;
            }
            rates.noted.asked = true;
        }
        if own.at_switch {
            let together = rates.noted.or(noted);
            self.requests.count(rates.noted, together);
            rates.noted = together;
            if noted.inverted && (flow.0, flow.1) == (packet.generation, rates.deadline) && !flow.2 {
                flow.2 = true;
                self.requests.inverted_flows += 1;
            }
        }
    }

    /// Lets all routers forget what has expired.
    pub fn settle(&mut self, now: Time) {
        self.ports.iter_mut().for_each(|port| port.router.settle(now));
    }

    /// Over the whole network, each request once.
    pub fn requests(&self) -> Requests {
        self.requests
    }

    /// What one port saw, and what it counts now.
    pub fn port(&self, link: usize) -> LinkRates {
        let port = &self.ports[link];
        LinkRates { requests: port.requests, counters: port.router.counters() }
    }
}
