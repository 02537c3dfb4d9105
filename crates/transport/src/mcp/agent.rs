//! The port's side: the length of its queue, and the price of its load.

use units::{Bytes, Instant, Rate, Span, Values};

use crate::agent::{Agent, Decision, PortState};
use crate::controllers::rate::price;
use crate::{Flags, Header, Packet};

/// The parameters of all ports of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agents {
    /// tau: the unit of queues, and the interval over which load is measured.
    base_rtt: Span,
    price_weight: f64,
    load_cap: f64,
}

impl Agents {
    /// False, as it answers no requests that could be denied.
    pub const COUNTS_REQUESTS: bool = false;

    /// Reads the parameters from checked values.
    pub fn from_values(values: &Values) -> Agents {
        Agents {
            base_rtt: values.time("base_rtt"),
            price_weight: values.number("price_weight"),
            load_cap: values.number("load_cap"),
        }
    }

    /// Returns the agent of one port.
    pub fn at(&self, rate: Rate, _: Bytes) -> Box<dyn Agent> {
        Box::new(Price {
            config: *self,
            rate,
            at: Instant::ZERO,
            sent_for: Span::ZERO,
            waiting: Bytes::ZERO,
            load: 0.0,
        })
    }
}

/// The agent of one egress port.
#[derive(Clone, Debug)]
pub struct Price {
    config: Agents,
    rate: Rate,
    /// The time of the last measurement of the load, and the port's total sending time and queue then.
    at: Instant,
    sent_for: Span,
    waiting: Bytes,
    /// Arrivals over the last interval, as a share of the link's rate.
    load: f64,
}

impl Price {
    /// Measures the load: arrivals are the data sent plus the growth of the queue.
    fn measure(&mut self, port: &PortState) {
        let elapsed = port.now.saturating_sub(self.at);
        if elapsed < self.config.base_rtt {
            return;
        }
        let sent = port.sent_for.saturating_sub(self.sent_for).0 as f64;
        let growth = (port.waiting_bytes.as_f64() - self.waiting.as_f64()) * 8e12 / self.rate.as_bps_f64();
        self.load = (sent + growth) / elapsed.0 as f64;
        (self.at, self.sent_for, self.waiting) = (port.now, port.sent_for, port.waiting_bytes);
    }
}

impl Agent for Price {
    fn on_packet(&mut self, port: &PortState, packet: &Packet, header: &mut Header) -> Option<Decision> {
        let Header::Mcp(header) = header else { return None };
        if packet.flags.has(Flags::ACK) {
            // The returned copy of a header was summed up on its way to the receiver.
            return None;
        }
        self.measure(port);
        let Agents { base_rtt, price_weight, load_cap } = self.config;
        let product = self.rate.as_bps_f64() / 8.0 * base_rtt.as_secs_f64();
        header.network += port.waiting_bytes.as_f64() / product + price(price_weight, self.load, load_cap);
        header.largest = header.largest.max(self.rate.0);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp;

    const US: u64 = 1_000_000;

    /// 1 Gbit/s and 100 us: C tau is 12 500 B. V is 0.01.
    fn port() -> Box<dyn Agent> {
        let agents = Agents { base_rtt: Span::from_micros(100), price_weight: 0.01, load_cap: 0.9 };
        agents.at(Rate(1_000_000_000), Bytes::ZERO)
    }

    fn show(agent: &mut dyn Agent, us: u64, busy_us: u64, waiting_bytes: u64, flags: Flags) -> (f64, u64) {
        let state =
            PortState { now: Instant(us * US), sent_for: Span(busy_us * US), waiting_bytes: Bytes(waiting_bytes) };
        let mut header = Header::Mcp(Box::default());
        agent.on_packet(&state, &Packet { flags, ..Packet::BLANK }, &mut header);
        let Header::Mcp(header) = header else { unreachable!() };
        (header.network, header.largest)
    }

    #[test]
    fn a_hop_adds_its_queue_and_the_price_of_its_load() {
        let mut agent = port();
        // Nothing measured: a load of 0. A queue of 1250 B is 0.1 of C tau.
        assert_eq!(show(&mut *agent, 50, 50, 1250, Flags::NONE), (0.1 + 0.01, 1_000_000_000));
        // 60 of 100 us, and 1250 B that wait are 10 us more: 0.7, its price 0.01 / 0.09.
        let (network, _) = show(&mut *agent, 100, 60, 1250, Flags::NONE);
        assert!((network - 0.1 - 0.01 / 0.09).abs() < 1e-12, "{network}");
        // It holds until the interval is over; 100 us later the queue has drained: 80 - 10 us.
        assert_eq!(show(&mut *agent, 199, 139, 1250, Flags::NONE).0, network);
        let (network, _) = show(&mut *agent, 200, 140, 0, Flags::NONE);
        assert!((network - 0.01 / 0.09).abs() < 1e-12, "{network}");
        // A full link: the cap.
        let (network, _) = show(&mut *agent, 300, 240, 0, Flags::NONE);
        assert!((network - 0.01 / 0.01).abs() < 1e-9, "{network}");
    }

    #[test]
    fn hops_add_up_and_what_returns_is_left_alone() {
        let mut header = Header::Mcp(Box::new(mcp::Header { network: 0.25, largest: 40_000_000_000 }));
        let state = PortState { now: Instant(US), sent_for: Span::ZERO, waiting_bytes: Bytes(12_500) };
        port().on_packet(&state, &Packet::BLANK, &mut header);
        assert_eq!(header, Header::Mcp(Box::new(mcp::Header { network: 1.26, largest: 40_000_000_000 })));
        assert_eq!(show(&mut *port(), 50, 50, 1250, Flags::ACK), (0.0, 0));
    }
}
