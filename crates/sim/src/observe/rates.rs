//! Requests for rates: counts denials, and whether flows with later deadlines held the missing rates.

use std::collections::{BTreeMap, VecDeque};

use transport::agent::{Decision, Flow, Verdict};
use units::{Instant, LinkId, Table};

use crate::flow::Incarnation;
use crate::record::outcome::Requests;

/// Observes the decisions of all ports' agents on requests for rates, together with the deadlines of the messages.
pub(crate) struct RateWatch {
    ports: Table<LinkId, PortWatch>,
    /// Packets of a closed connection may still be in flight.
    connections: BTreeMap<Incarnation, ConnectionWatch>,
    /// Each request once, whatever the number of ports that saw it.
    total: Requests,
}

/// The allocations of one port, as far as they follow from its decisions.
#[derive(Default)]
struct PortWatch {
    /// It is a switch's, not a host's.
    at_switch: bool,
    held: BTreeMap<Flow, Held>,
    /// The flows in the order of their last requests, including flows that have sent another request since.
    heard: VecDeque<(Instant, Flow)>,
    /// Number of flows so far.
    came: u64,
    requests: Requests,
}

/// The allocation of a flow at a port.
#[derive(Clone, Copy)]
struct Held {
    asked: u64,
    granted: u64,
    /// The remaining capacity covered its request, so it does not hold only the minimum rate.
    covered: bool,
    until: Instant,
    deadline: Option<Instant>,
    /// Number of flows at the port before it.
    place: u64,
}

/// The latest messages and requests of a connection.
#[derive(Default)]
struct ConnectionWatch {
    /// Number of messages before the recorded ones.
    before: u64,
    messages: VecDeque<MessageWatch>,
    requests: VecDeque<RequestWatch>,
}

/// A message, which is a flow of its own.
struct MessageWatch {
    deadline: Option<Instant>,
    /// It is among the flows that have asked.
    counted: bool,
    /// It is among those with an inverted request.
    inverted: bool,
}

/// A request in flight.
struct RequestWatch {
    number: u64,
    /// The deadline of its message.
    deadline: Option<Instant>,
    /// The results at the switches that it has passed.
    noted: Noted,
}

/// The results of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Noted {
    asked: bool,
    denied: bool,
    inverted: bool,
    overtaken: bool,
    displaceable: bool,
    refused: bool,
    passed_over: bool,
}

impl RateWatch {
    /// Number of recorded messages before the one of a request, and of recorded requests: packets in flight are for the
    /// latest.
    const REMEMBERED: usize = 64;
    /// Number of recorded generations of a connection id: their packets may still be in flight.
    const GENERATIONS: u16 = 4;

    /// Returns a watch for links, given for each whether it starts at a switch.
    pub(crate) fn new(links: impl Iterator<Item = bool>) -> RateWatch {
        let port = |at_switch| PortWatch { at_switch, ..PortWatch::default() };
        RateWatch { ports: links.map(port).collect(), connections: BTreeMap::new(), total: Requests::default() }
    }

    /// Records a message that is passed to a connection.
    pub(crate) fn started(&mut self, connection: Incarnation, deadline: Option<Instant>) {
        let generation = connection.generation.wrapping_sub(RateWatch::GENERATIONS);
        self.connections.remove(&Incarnation { generation, ..connection });
        let message = MessageWatch { deadline, counted: false, inverted: false };
        self.connections.entry(connection).or_default().messages.push_back(message);
    }

    /// Records the decision of an agent at a port.
    pub(crate) fn decided(&mut self, now: Instant, link: LinkId, decision: &Decision) {
        let &Decision { flow, verdict } = decision;
        let port = &mut self.ports[link];
        let Verdict::Granted { number, .. } = verdict else {
            port.decided(now, flow, None, verdict);
            return;
        };
        let Some(own) = self.connections.get_mut(&Incarnation { id: flow.0, generation: flow.1 }) else { return };
        if !port.at_switch {
            own.asks(number, flow.2);
        }
        let Some(request) = own.requests.iter_mut().find(|request| request.number == number) else { return };
        let noted = port.decided(now, flow, request.deadline, verdict);
        if !noted.asked {
            return;
        }
        port.requests.count(Noted::default(), noted);
        // A host's own port is the first on a request's route; a result there counts for that port only.
        let together = if port.at_switch { request.noted.or(noted) } else { Noted { asked: true, ..Noted::default() } };
        self.total.count(request.noted, together);
        request.noted = together;
        let message = flow.2.checked_sub(own.before).and_then(|index| own.messages.get_mut(index as usize));
        if let Some(message) = message {
            self.total.flows += u64::from(!std::mem::replace(&mut message.counted, true));
            let inverted = together.inverted && !message.inverted;
            message.inverted |= inverted;
            self.total.inverted_flows += u64::from(inverted);
        }
    }

    /// Returns the counts of the whole network, each request once.
    pub(crate) fn total(&self) -> Requests {
        self.total
    }

    /// Returns the counts of one port.
    pub(crate) fn at(&self, link: LinkId) -> Requests {
        self.ports[link].requests
    }
}

impl ConnectionWatch {
    /// Records a request of a host for the message of this number.
    fn asks(&mut self, number: u64, message: u64) {
        let index = message.saturating_sub(self.before) as usize;
        let deadline = self.messages.get(index).and_then(|message| message.deadline);
        let old = index.saturating_sub(RateWatch::REMEMBERED);
        self.messages.drain(..old.min(self.messages.len()));
        self.before += old as u64;
        if self.requests.len() == RateWatch::REMEMBERED {
            self.requests.pop_front();
        }
        self.requests.push_back(RequestWatch { number, deadline, noted: Noted::default() });
    }
}

impl PortWatch {
    fn decided(&mut self, now: Instant, flow: Flow, deadline: Option<Instant>, verdict: Verdict) -> Noted {
        self.forget(now);
        let before = self.held.remove(&flow);
        let place = before.map_or(self.came, |held| held.place);
        self.came += u64::from(before.is_none());
        let Verdict::Granted { asked, granted, left, until, .. } = verdict else { return Noted::default() };
        let own = Held { asked, granted, covered: left >= asked, until, deadline, place };
        let noted = self.note(own);
        self.held.insert(flow, own);
        self.heard.push_back((until, flow));
        noted
    }

    /// Removes expired flows as the port's agent does.
    fn forget(&mut self, now: Instant) {
        while let Some(&(until, flow)) = self.heard.front()
            && until <= now
        {
            self.heard.pop_front();
            if self.held.get(&flow).is_some_and(|held| held.until == until) {
                self.held.remove(&flow);
            }
        }
    }

    /// Compares a request with the rates that the other flows hold here at this instant.
    fn note(&self, own: Held) -> Noted {
        let Some(deadline) = own.deadline.filter(|_| own.asked > 0) else { return Noted::default() };
        let mut noted = Noted { asked: true, refused: !own.covered, ..Noted::default() };
        noted.denied = own.granted < own.asked;
        if own.covered {
            return noted;
        }
        let later = |other: &&Held| other.deadline.is_none_or(|theirs| theirs > deadline);
        let mut held = 0u64;
        for other in self.held.values().filter(later) {
            held = held.saturating_add(other.granted);
            let asks = other.deadline.is_some() && other.asked > 0;
            let inverted = noted.denied && asks && other.granted >= other.asked;
            noted.inverted |= inverted;
            noted.overtaken |= inverted && other.place < own.place;
            noted.passed_over |= asks && other.covered;
        }
        noted.displaceable = noted.denied && held >= own.asked - own.granted;
        noted
    }
}

impl Noted {
    /// Returns the union of both results.
    fn or(self, other: Noted) -> Noted {
        Noted {
            asked: self.asked || other.asked,
            denied: self.denied || other.denied,
            inverted: self.inverted || other.inverted,
            overtaken: self.overtaken || other.overtaken,
            displaceable: self.displaceable || other.displaceable,
            refused: self.refused || other.refused,
            passed_over: self.passed_over || other.passed_over,
        }
    }
}

impl Requests {
    /// Counts results that are new compared with `before`.
    fn count(&mut self, before: Noted, now: Noted) {
        let news = |before: bool, now: bool| u64::from(now && !before);
        self.requests += news(before.asked, now.asked);
        self.denied += news(before.denied, now.denied);
        self.inverted += news(before.inverted, now.inverted);
        self.overtaken += news(before.overtaken, now.overtaken);
        self.displaceable += news(before.displaceable, now.displaceable);
        self.refused += news(before.refused, now.refused);
        self.passed_over += news(before.passed_over, now.passed_over);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::ConnectionId;

    /// One port of 1000 Mbit/s whose decisions are given by hand.
    #[derive(Default)]
    struct Bench {
        port: PortWatch,
        deadlines: BTreeMap<u32, Instant>,
    }

    impl Bench {
        /// Lets a flow send a request, of which `granted` is granted when `left` is left.
        fn ask(&mut self, flow: u32, asked: u64, granted: u64, left: u64) -> Noted {
            let deadline = self.deadlines.get(&flow).copied();
            let verdict = Verdict::Granted { number: 0, asked, granted, left, until: Instant::MAX };
            self.port.decided(Instant::ZERO, (ConnectionId(flow), 0, 0), deadline, verdict)
        }
    }

    #[test]
    fn inversions_by_hand() {
        let mut port = Bench::default();
        for (flow, ms) in [(1, 50), (2, 20), (4, 40)] {
            port.deadlines.insert(flow, Instant::from_millis(ms));
        }
        // The flow with the latest deadline is first and gets the whole rate.
        assert_eq!(port.ask(1, 500, 1000, 1000), Noted { asked: true, ..Noted::default() });
        let all = Noted {
            asked: true,
            denied: true,
            inverted: true,
            overtaken: true,
            displaceable: true,
            refused: true,
            passed_over: true,
        };
        assert_eq!(port.ask(2, 600, 60, 0), all);
        // The first yields, the second gets the rest, in part.
        port.ask(1, 500, 500, 940);
        assert_eq!(port.ask(2, 600, 500, 500), all);
        // A request above the rate that flow 1 holds beyond it could not have been met either.
        assert_eq!(port.ask(2, 1100, 500, 500), Noted { displaceable: false, ..all });
        // Denied behind flows with earlier deadlines only: no inversion.
        port.port.decided(Instant::ZERO, (ConnectionId(1), 0, 0), None, Verdict::Ended);
        port.ask(2, 600, 1000, 1000);
        let denied = Noted { asked: true, denied: true, refused: true, ..Noted::default() };
        assert_eq!(port.ask(4, 700, 60, 0), denied);
        // The first flow to arrive need not be the first to be granted.
        port.ask(2, 100, 100, 940);
        port.ask(4, 700, 900, 900);
        assert_eq!(port.ask(2, 400, 100, 100), Noted { overtaken: false, ..all }, "flow 2 was there before flow 4");
    }

    #[test]
    fn a_flow_without_a_deadline_could_give_way_and_is_not_counted_itself() {
        let mut port = Bench::default();
        port.deadlines.insert(2, Instant::from_millis(20));
        assert_eq!(port.ask(1, 0, 1000, 1000), Noted::default());
        let noted = Noted { asked: true, denied: true, displaceable: true, refused: true, ..Noted::default() };
        assert_eq!(port.ask(2, 600, 60, 0), noted);
        // If nothing is left the base rate may be enough: refused, but not denied.
        assert_eq!(port.ask(2, 50, 60, 0), Noted { asked: true, refused: true, ..Noted::default() });
        assert_eq!(port.ask(2, 0, 60, 0), Noted::default(), "nothing asked for");
    }

    #[test]
    fn a_flow_that_has_expired_holds_nothing() {
        let mut port = PortWatch::default();
        let (soon, late) = (Instant::from_millis(1), Instant::from_millis(9));
        let ask = |asked, granted, left, until| Verdict::Granted { number: 0, asked, granted, left, until };
        port.decided(Instant::ZERO, (ConnectionId(1), 0, 0), Some(late), ask(500, 1000, 1000, soon));
        let noted = port.decided(Instant::ZERO, (ConnectionId(2), 0, 0), Some(soon), ask(500, 60, 0, late));
        assert!(noted.inverted && noted.passed_over);
        let noted = port.decided(soon, (ConnectionId(2), 0, 0), Some(soon), ask(500, 60, 0, late));
        assert_eq!(noted, Noted { asked: true, denied: true, refused: true, ..Noted::default() });
    }
}
