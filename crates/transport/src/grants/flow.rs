//! The expected data of one connection at its receiving host.

use std::collections::VecDeque;

use units::{ConnectionId, HostId, Instant, Span};

use super::Grant;
use crate::host::End;

/// The receiver's state of one connection.
#[derive(Debug)]
pub(super) struct Flow {
    /// The end of the connection at this host, where grants are sent from.
    pub end: End,
    /// The host that sends the data, whose link connections share.
    pub from: HostId,
    /// The index of the limits of data in flight from that host, if there are any.
    pub limits: Option<usize>,
    /// The next expected byte.
    pub next: u64,
    /// The end of the announced data.
    pub known: u64,
    /// The end of the announced data of which the sender was notified.
    pub told: u64,
    /// The messages that have not arrived completely.
    pub messages: VecDeque<Wanted>,
    /// Ranges to grant again: start, end, and true if they were late.
    pub again: VecDeque<(u64, u64, bool)>,
    /// The segments in flight, in the order of their numbers.
    pub on_the_way: VecDeque<Granted>,
    /// Payload of these segments.
    pub in_flight: u64,
    /// Number of these segments that were granted with a priority of granted data, if packets have such.
    pub scheduled: u32,
    /// Number of successive lates, and the first segment that was granted after the last one.
    pub lates: u32,
    /// The number of the first segment after these.
    pub late_until: u64,
    /// The time from which late data may be asked for again.
    pub ask_at: Instant,
}

/// A message that has not arrived completely.
#[derive(Debug)]
pub(super) struct Wanted {
    /// Start of the message in the stream.
    pub start: u64,
    /// End of the message in the stream.
    pub end: u64,
    /// The time at which it should be complete.
    pub due: Instant,
    /// True if this time is a deadline.
    pub dated: bool,
    /// The position before which all was granted, or sent without a grant.
    pub granted: u64,
    /// Bytes that have not arrived.
    pub missing: u64,
    /// The time at which data of it last arrived, or its host last announced it.
    pub heard: Instant,
}

/// A segment that was granted, or sent without a grant, and has not arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Granted {
    /// Start of its data in the stream.
    pub start: u64,
    /// End of its data in the stream.
    pub end: u64,
    /// Its number among all that the host has expected.
    pub number: u64,
    /// The priority of its packet.
    pub rank: u32,
    /// Number of arrived segments that were granted later and have no higher priority.
    pub overtaken: u32,
    /// The time from which it is expected.
    pub at: Instant,
    /// The time for which it is expected.
    pub patience: Span,
    /// Number of times that it was late, and might have been queued in front of the link.
    pub waits: u32,
    /// The time at which it counts as lost, once its sender has said that it was sent.
    pub lost_at: Instant,
}

/// The place of a flow among the flows of its host, until it is forgotten.
pub(super) type Place = u32;

/// The flows of a host, by their connections.
#[derive(Debug, Default)]
pub(super) struct Flows {
    /// The flows, in no order. Those at [`Flows::free`] were forgotten.
    flows: Vec<Flow>,
    free: Vec<Place>,
    /// The places of the others, in the order of their connections.
    places: Vec<(ConnectionId, Place)>,
}

impl Flows {
    /// Returns the place of a connection's flow, if there is one.
    pub(super) fn find(&self, id: ConnectionId) -> Option<Place> {
        self.index(id).ok().map(|index| self.places[index].1)
    }

    /// Returns the index of a connection's place, or, without one, the index where it belongs.
    fn index(&self, id: ConnectionId) -> Result<usize, usize> {
        self.places.binary_search_by_key(&id, |(other, _)| *other)
    }

    /// Returns the flow of a connection, if there is one.
    pub(super) fn of(&mut self, id: ConnectionId) -> Option<&mut Flow> {
        let place = self.find(id)?;
        Some(self.at_mut(place))
    }

    /// Returns the flow at a place.
    pub(super) fn at(&self, place: Place) -> &Flow {
        &self.flows[place as usize]
    }

    /// Returns the flow at a place, to be changed.
    pub(super) fn at_mut(&mut self, place: Place) -> &mut Flow {
        &mut self.flows[place as usize]
    }

    /// Returns the order of the flow at a place among equal ones: it does not depend on ids of connections.
    pub(super) fn tie(&self, place: Place) -> u64 {
        self.at(place).end.own
    }

    /// Adds the flow of a connection that has none; returns its place.
    pub(super) fn add(&mut self, flow: Flow) -> Place {
        let id = flow.end.connection;
        let place = match self.free.pop() {
            Some(place) => {
                self.flows[place as usize] = flow;
                place
            }
            None => {
                self.flows.push(flow);
                self.flows.len() as Place - 1
            }
        };
        let (Ok(index) | Err(index)) = self.index(id);
        self.places.insert(index, (id, place));
        place
    }

    /// Forgets the flow of a connection; returns it, if there is one.
    pub(super) fn remove(&mut self, id: ConnectionId) -> Option<&Flow> {
        let index = self.index(id).ok()?;
        let (_, place) = self.places.remove(index);
        self.free.push(place);
        Some(self.at(place))
    }

    /// Returns the flows with their places, in no order that may matter.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Place, &Flow)> {
        self.places.iter().map(|&(_, place)| (place, self.at(place)))
    }

    /// Returns true if there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

impl Flow {
    /// Returns the flow of a connection from a host of which nothing is expected.
    pub(super) fn new(end: End, from: HostId, limits: Option<usize>) -> Flow {
        Flow {
            end,
            from,
            limits,
            next: 0,
            known: 0,
            told: 0,
            messages: VecDeque::new(),
            again: VecDeque::new(),
            on_the_way: VecDeque::new(),
            in_flight: 0,
            scheduled: 0,
            lates: 0,
            late_until: 0,
            ask_at: Instant::ZERO,
        }
    }

    /// Returns the index of a segment in flight, if it has not arrived.
    pub(super) fn index_of(&self, number: u64) -> Option<usize> {
        // Usually it is the first.
        if self.on_the_way.front()?.number == number {
            return Some(0);
        }
        self.on_the_way.binary_search_by_key(&number, |granted| granted.number).ok()
    }

    /// Returns the numbers of segments in flight that meet a condition.
    pub(super) fn numbers(&self, is_meant: impl Fn(&Granted) -> bool) -> Vec<u64> {
        self.on_the_way.iter().filter(|granted| is_meant(granted)).map(|granted| granted.number).collect()
    }

    /// Returns true if it has data that may be granted.
    pub(super) fn waits(&self) -> bool {
        !self.again.is_empty() || self.next_message().is_some()
    }

    /// Returns the first message that is not all granted.
    fn next_message(&self) -> Option<&Wanted> {
        self.messages.iter().find(|message| message.granted < message.end)
    }

    /// Returns the next range to grant: start and end.
    pub(super) fn upcoming(&self, mss: u64) -> Option<(u64, u64)> {
        if let Some(&(start, end, _)) = self.again.front() {
            return Some((start, end));
        }
        let message = self.next_message()?;
        Some((message.granted, (message.granted + mss).min(message.end)))
    }

    /// Takes the next range as a grant.
    pub(super) fn take(&mut self, mss: u64, rank: u32) -> Option<Grant> {
        if let Some((start, end, late)) = self.again.pop_front() {
            return Some(Grant { start, end, rank, again: true, late });
        }
        let message = self.messages.iter_mut().find(|message| message.granted < message.end)?;
        let start = message.granted;
        message.granted = (start + mss).min(message.end);
        Some(Grant { start, end: message.granted, rank, again: false, late: false })
    }

    /// Returns the earliest time at which one of its messages is due that are not all granted, and whether one of them
    /// has a deadline. They arrive one after the other, so the first is as urgent as any.
    pub(super) fn due(&self) -> (Instant, bool) {
        let waits = |message: &&Wanted| message.granted < message.end || !self.again.is_empty();
        self.messages
            .iter()
            .filter(waits)
            .fold((Instant::MAX, false), |(due, dated), message| (due.min(message.due), dated || message.dated))
    }

    /// Returns the earliest time at which one of its messages is due that have not arrived.
    pub(super) fn first_due(&self) -> Instant {
        self.messages.iter().map(|message| message.due).min().unwrap_or(Instant::MAX)
    }

    /// Records that the message of the data at `start` is not lost.
    pub(super) fn hear(&mut self, now: Instant, start: u64) {
        if let Some(message) = self.messages.iter_mut().find(|message| start < message.end) {
            message.heard = now;
        }
    }

    /// Returns the missing bytes of the first message.
    pub(super) fn missing(&self) -> u64 {
        self.messages.front().map_or(0, |message| message.missing)
    }

    /// Returns the bytes still to grant of the first message that has any.
    pub(super) fn rest(&self) -> u64 {
        let lost: u64 = self.again.iter().map(|(start, end, _)| end - start).sum();
        lost + self.next_message().map_or(0, |message| message.end - message.granted)
    }

    /// Returns the granted bytes of the first message.
    pub(super) fn served(&self) -> u64 {
        self.messages.front().map_or(0, |message| message.granted - message.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn flow_of(connection: u32) -> Flow {
        let end = End { connection: ConnectionId(connection), generation: 0, route: 0, own: connection.into() };
        Flow::new(end, HostId(1), None)
    }

    /// Returns a message of which `granted` bytes are granted, due after `us`.
    fn wanted(start: u64, end: u64, granted: u64, us: u64) -> Wanted {
        let due = Instant::from_micros(us);
        let missing = end - start;
        Wanted { start, end, due, dated: false, granted: start + granted, missing, heard: Instant::ZERO }
    }

    fn granted(number: u64) -> Granted {
        Granted {
            start: number * MSS,
            end: (number + 1) * MSS,
            number,
            rank: 0,
            overtaken: 0,
            at: Instant::ZERO,
            patience: Span::ZERO,
            waits: 0,
            lost_at: Instant::MAX,
        }
    }

    /// Returns a flow of 2500 B whose first segment is granted, and of 4000 B, due before the first.
    fn two_messages() -> Flow {
        let mut flow = flow_of(7);
        flow.messages.push_back(wanted(500, 3000, 1000, 90));
        flow.messages.push_back(Wanted { dated: true, ..wanted(3000, 7000, 0, 50) });
        flow
    }

    #[test]
    fn places_of_forgotten_flows_are_used_again() {
        let mut flows = Flows::default();
        assert!(flows.is_empty());
        let [nine, three] = [9, 3].map(|connection| flows.add(flow_of(connection)));
        assert_ne!(nine, three);
        let ids = |flows: &Flows| {
            let ids: Vec<_> =
                flows.iter().map(|(place, flow)| (u64::from(flow.end.connection.0), flows.tie(place))).collect();
            ids
        };
        assert_eq!((ids(&flows), flows.is_empty()), (vec![(3, 3), (9, 9)], false), "in their order");
        flows.of(ConnectionId(9)).expect("it is there").next = 500;
        assert_eq!(flows.remove(ConnectionId(9)).map(|flow| flow.next), Some(500));
        assert!(flows.remove(ConnectionId(9)).is_none() && flows.of(ConnectionId(9)).is_none());
        let four = flows.add(flow_of(4));
        assert_eq!((four, flows.find(ConnectionId(4)), flows.find(ConnectionId(3))), (nine, Some(nine), Some(three)));
        assert_eq!((ids(&flows), flows.at(four).next), (vec![(3, 3), (4, 4)], 0), "nothing is left of the old one");
        flows.at_mut(three).next = 7;
        assert_eq!([flows.at(three).next, flows.at(four).next], [7, 0]);
        assert!([3, 4].iter().all(|connection| flows.remove(ConnectionId(*connection)).is_some()));
        assert!(flows.is_empty());
    }

    #[test]
    fn a_new_flow_expects_nothing() {
        let flow = flow_of(7);
        assert_eq!([flow.next, flow.known, flow.told, flow.in_flight, flow.late_until], [0; 5]);
        assert_eq!((flow.scheduled, flow.lates, flow.ask_at), (0, 0, Instant::ZERO));
        assert_eq!((flow.waits(), flow.upcoming(MSS), flow.index_of(0)), (false, None, None));
        assert_eq!((flow.due(), flow.first_due()), ((Instant::MAX, false), Instant::MAX));
        assert_eq!([flow.missing(), flow.rest(), flow.served()], [0; 3]);
    }

    #[test]
    fn messages_are_granted_in_segments_one_after_the_other() {
        let mut flow = two_messages();
        assert_eq!([flow.missing(), flow.rest(), flow.served()], [2500, 1500, 1000]);
        assert_eq!(flow.due(), (Instant::from_micros(50), true), "the later one is due first");
        let mut taken = Vec::new();
        while flow.waits() {
            let next = flow.upcoming(MSS).expect("it has data to grant");
            let grant = flow.take(MSS, 4).expect("it has data to grant");
            assert_eq!(
                (grant.start, grant.end, grant.rank, grant.again, grant.late),
                (next.0, next.1, 4, false, false)
            );
            taken.push(next);
        }
        let segments = [(1500, 2500), (2500, 3000), (3000, 4000), (4000, 5000), (5000, 6000), (6000, 7000)];
        assert_eq!(taken, segments);
        assert!(flow.take(MSS, 4).is_none());
        assert_eq!([flow.missing(), flow.rest(), flow.served()], [2500, 0, 2500], "nothing of it has arrived");
        assert_eq!((flow.due(), flow.first_due()), ((Instant::MAX, false), Instant::from_micros(50)));
    }

    #[test]
    fn lost_ranges_are_granted_before_new_ones() {
        let mut flow = two_messages();
        flow.again.extend([(500, 1000, true), (1200, 1500, false)]);
        assert_eq!(flow.rest(), 500 + 300 + 1500);
        let mut next = || {
            let upcoming = flow.upcoming(MSS);
            let grant = flow.take(MSS, 2).expect("it has data to grant");
            assert_eq!(upcoming, Some((grant.start, grant.end)));
            (grant.start, grant.end, grant.again, grant.late)
        };
        let expected = [(500, 1000, true, true), (1200, 1500, true, false), (1500, 2500, false, false)];
        assert_eq!([next(), next(), next()], expected);
        // With all of a message granted, a lost range makes it due still.
        let mut all = flow_of(7);
        all.messages.push_back(wanted(0, 2000, 2000, 90));
        assert_eq!((all.waits(), all.due().0), (false, Instant::MAX));
        all.again.push_back((0, 1000, false));
        assert_eq!((all.waits(), all.due().0), (true, Instant::from_micros(90)));
    }

    #[test]
    fn a_message_is_heard_of_by_its_bytes_alone() {
        let mut flow = two_messages();
        let now = Instant::from_micros(5);
        let heard = |flow: &Flow| flow.messages.iter().map(|message| message.heard == now).collect::<Vec<_>>();
        flow.hear(now, 7000);
        assert_eq!(heard(&flow), [false, false], "beyond all messages");
        flow.hear(now, 3000);
        assert_eq!(heard(&flow), [false, true], "the first byte of the second");
        flow.hear(now, 2999);
        assert_eq!(heard(&flow), [true, true]);
    }

    #[test]
    fn segments_in_flight_are_found_by_their_numbers() {
        let mut flow = flow_of(7);
        flow.on_the_way.extend([3, 5, 8].map(granted));
        assert_eq!([3, 5, 8].map(|number| flow.index_of(number)), [Some(0), Some(1), Some(2)]);
        assert_eq!([2, 4, 9].map(|number| flow.index_of(number)), [None; 3]);
        assert_eq!(flow.numbers(|granted| granted.start > 3 * MSS), [5, 8]);
    }
}
