//! Requests for rates: counts denials, and whether flows with later deadlines held the missing rates.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use transport::agent::{Decision, Flow, Verdict};
use units::{Instant, LinkId, Table};

use crate::record::outcome::Requests;

/// Observes the decisions of the agents of a partition's ports on requests for rates.
pub(crate) struct RateWatch {
    ports: Table<LinkId, PortWatch>,
    /// Number of requests whose first port is here, and their flows.
    requests: u64,
    flows: BTreeSet<Flow>,
    /// The results of requests that were not met at switches here, with the index of the message. Keys are the bits of the
    /// flow's own and the sender's count of its requests.
    unmet: BTreeMap<(u64, u64), (u32, Noted)>,
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
    /// Returns a watch for links, given for each whether it starts at a switch.
    pub(crate) fn new(links: impl Iterator<Item = bool>) -> RateWatch {
        let port = |at_switch| PortWatch { at_switch, ..PortWatch::default() };
        let ports = links.map(port).collect();
        RateWatch { ports, requests: 0, flows: BTreeSet::new(), unmet: BTreeMap::new() }
    }

    /// Records the decision of an agent at a port.
    pub(crate) fn decided(&mut self, now: Instant, link: LinkId, decision: &Decision) {
        let &Decision { flow, verdict } = decision;
        let port = &mut self.ports[link];
        let noted = port.decided(now, flow, verdict);
        let Verdict::Granted { number, hop, .. } = verdict else { return };
        if !noted.asked {
            return;
        }
        port.requests.count(noted);
        if hop == 0 {
            self.requests += 1;
            self.flows.insert(flow);
        }
        // A result at a host's port counts for that port only.
        if port.at_switch && noted.is_unmet() {
            self.unmet.entry((flow.0, number)).or_insert((flow.1, Noted::default())).1.add(noted);
        }
    }

    /// Returns the counts of a network whose partitions these have observed, each request once, whatever the number of
    /// ports that saw it.
    pub(crate) fn total<'a>(watches: impl Iterator<Item = &'a RateWatch>) -> Requests {
        let mut total = Requests::default();
        let mut unmet: BTreeMap<(u64, u64), (u32, Noted)> = BTreeMap::new();
        for watch in watches {
            total.requests += watch.requests;
            total.flows += watch.flows.len() as u64;
            for (&request, &result) in &watch.unmet {
                unmet.entry(request).or_insert((result.0, Noted::default())).1.add(result.1);
            }
        }
        unmet.values().for_each(|(_, noted)| total.count(Noted { asked: false, ..*noted }));
        let inverted = unmet.iter().filter(|(_, (_, noted))| noted.inverted);
        let flows: BTreeSet<Flow> = inverted.map(|(&(own, _), &(message, _))| (own, message)).collect();
        total.inverted_flows = flows.len() as u64;
        total
    }

    /// Returns the counts of one port.
    pub(crate) fn at(&self, link: LinkId) -> Requests {
        self.ports[link].requests
    }
}

impl PortWatch {
    fn decided(&mut self, now: Instant, flow: Flow, verdict: Verdict) -> Noted {
        self.forget(now);
        let before = self.held.remove(&flow);
        let place = before.map_or(self.came, |held| held.place);
        self.came += u64::from(before.is_none());
        let Verdict::Granted { deadline, asked, granted, left, until, .. } = verdict else { return Noted::default() };
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
    /// Returns whether some of it was not to be had.
    fn is_unmet(self) -> bool {
        self.refused || self.denied
    }

    /// Adds the results at another port.
    fn add(&mut self, other: Noted) {
        self.asked |= other.asked;
        self.denied |= other.denied;
        self.inverted |= other.inverted;
        self.overtaken |= other.overtaken;
        self.displaceable |= other.displaceable;
        self.refused |= other.refused;
        self.passed_over |= other.passed_over;
    }
}

impl Requests {
    /// Counts a request with its results.
    fn count(&mut self, noted: Noted) {
        self.requests += u64::from(noted.asked);
        self.denied += u64::from(noted.denied);
        self.inverted += u64::from(noted.inverted);
        self.overtaken += u64::from(noted.overtaken);
        self.displaceable += u64::from(noted.displaceable);
        self.refused += u64::from(noted.refused);
        self.passed_over += u64::from(noted.passed_over);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let verdict = Verdict::Granted { number: 0, hop: 0, deadline, asked, granted, left, until: Instant::MAX };
            self.port.decided(Instant::ZERO, (flow.into(), 0), verdict)
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
        port.port.decided(Instant::ZERO, (1, 0), Verdict::Ended);
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
        let ask = |deadline, granted, left, until| Verdict::Granted {
            number: 0,
            hop: 0,
            deadline: Some(deadline),
            asked: 500,
            granted,
            left,
            until,
        };
        port.decided(Instant::ZERO, (1, 0), ask(late, 1000, 1000, soon));
        let noted = port.decided(Instant::ZERO, (2, 0), ask(soon, 60, 0, late));
        assert!(noted.inverted && noted.passed_over);
        let noted = port.decided(soon, (2, 0), ask(soon, 60, 0, late));
        assert_eq!(noted, Noted { asked: true, denied: true, refused: true, ..Noted::default() });
    }

    /// Two partitions: in one a host's port and a switch's, in the other a switch's.
    #[test]
    fn a_request_counts_once_wherever_it_was_denied() {
        let [mut one, mut other] = [[false, true], [false, true]].map(|links| RateWatch::new(links.into_iter()));
        let (soon, late) = (Instant::from_millis(2), Instant::from_millis(9));
        let ask = |hop, flow, number, deadline, granted| {
            let left = if granted < 500 { 0 } else { 1000 };
            let deadline = Some(deadline);
            let verdict = Verdict::Granted { number, hop, deadline, asked: 500, granted, left, until: Instant::MAX };
            Decision { flow, verdict }
        };
        let [host, switch] = [LinkId(0), LinkId(1)];
        // A flow with a later deadline has all at both switches.
        for watch in [&mut one, &mut other] {
            watch.decided(Instant::ZERO, switch, &ask(1, (7, 0), 1, late, 1000));
        }
        one.decided(Instant::ZERO, host, &ask(0, (7, 0), 1, late, 1000));
        // Two requests of a flow, denied at both: the second at the host's own port too, which counts there alone.
        for number in [1, 2] {
            one.decided(Instant::ZERO, host, &ask(0, (8, 3), number, soon, if number == 2 { 60 } else { 1000 }));
            one.decided(Instant::ZERO, switch, &ask(1, (8, 3), number, soon, 60));
            other.decided(Instant::ZERO, switch, &ask(1, (8, 3), number, soon, 60));
        }
        // The same count of another flow, denied in the other partition only.
        one.decided(Instant::ZERO, host, &ask(0, (9, 0), 2, soon, 1000));
        other.decided(Instant::ZERO, switch, &ask(1, (9, 0), 2, soon, 60));
        let total = RateWatch::total([&one, &other].into_iter());
        assert_eq!((total.requests, total.flows), (4, 3));
        assert_eq!((total.denied, total.refused, total.inverted, total.inverted_flows), (3, 3, 3, 2));
        assert_eq!([one.at(host).denied, one.at(switch).denied, other.at(switch).denied], [1, 2, 3]);
        assert_eq!((one.at(host).requests, other.at(switch).requests), (4, 4));
    }
}
