//! Receiver-driven transports by hand: the order and the times of their grants.

use std::collections::BTreeSet;

use transport::grants::{Answer, Ask, Grant, Header, Policy, Probe};
use transport::host::{AtHost, End, HostOutput};
use transport::registry::{Config, Control};
use transport::{Expired, Extension, Flags, Message, Output, Packet, Receiver, Sender, Shared, Site};
use units::{Bytes, ConnectionId, HostId, Instant, Rate, Span};

use super::common;

/// Bytes of a segment here, without headers, so that one takes 8 us on a link of 1 Gbit/s.
const MSS: u64 = 1000;

/// The transport with two packets outstanding, or with these keys.
fn config(name: &str, keys: &str) -> Config {
    common::config(name, &format!("mss = '{MSS} B'\nheader = '0 B'\n{keys}"))
}

fn end(number: u32) -> End {
    End { connection: ConnectionId(number), generation: 0, route: 0, own: number.into() }
}

/// One host, with its sent packets.
struct Desk {
    shared: Shared,
    acting: End,
    sent: Vec<(u32, Packet, Option<Extension>)>,
    /// The route of the last packet that was sent for an end.
    route: u32,
    timer: Instant,
    host_timer: Instant,
    /// The time at which its link is free.
    free: Instant,
    /// The bytes that each packet takes there beside its own.
    frame_overhead: Bytes,
    /// It is free now, for one packet.
    once: bool,
    again: Vec<u64>,
    timeouts: u32,
}

impl Default for Desk {
    fn default() -> Desk {
        Desk {
            shared: Shared::default(),
            acting: end(0),
            sent: Vec::new(),
            route: 0,
            timer: Instant::MAX,
            host_timer: Instant::MAX,
            free: Instant::ZERO,
            frame_overhead: Bytes::ZERO,
            once: false,
            again: Vec::new(),
            timeouts: 0,
        }
    }
}

impl Output for Desk {
    fn send(&mut self, packet: Packet) {
        self.sent.push((self.acting.connection.0, packet, None));
    }
    fn send_extended(&mut self, packet: Packet, extension: Extension) {
        self.sent.push((self.acting.connection.0, packet, Some(extension)));
    }
    fn arm(&mut self, at: Instant) {
        self.timer = self.timer.min(at);
    }
    fn sends_again(&mut self, start: u64) {
        self.again.push(start / MSS);
    }
    fn timed_out(&mut self, _: Expired) {
        self.timeouts += 1;
    }
    fn abandon(&mut self, _: u64, _: Bytes) {
        unreachable!("nothing is given up");
    }
    fn site(&self) -> Site {
        Site { rate: Rate::from_gbps(1), frame_overhead: self.frame_overhead, hops: 4, host: HostId(9), own: 0 }
    }
}

impl HostOutput for Desk {
    fn send_from(&mut self, end: End, packet: Packet, extension: Option<Extension>) {
        self.sent.push((end.connection.0, packet, extension));
        (self.route, self.once) = (end.route, false);
    }
    fn leaves_from(&self, _: End) -> Instant {
        if self.once { Instant::ZERO } else { self.free }
    }
    fn arm_host(&mut self, at: Instant) {
        self.host_timer = self.host_timer.min(at);
    }
}

impl AtHost for Desk {
    fn end(&self) -> End {
        self.acting
    }
    fn shared(&mut self) -> &mut Shared {
        &mut self.shared
    }
}

impl Desk {
    fn ring_host(&mut self) -> Instant {
        let now = std::mem::replace(&mut self.host_timer, Instant::MAX);
        let mut shared = std::mem::take(&mut self.shared);
        shared.on_timer(now, self);
        self.shared = shared;
        now
    }
}

fn header(extension: &Option<Extension>) -> Option<Header> {
    match &extension.as_ref()?.header {
        Some(transport::Header::Grants(header)) => Some(**header),
        other => panic!("{other:?}"),
    }
}

/// Returns the request for segments of which the ones before a number are unscheduled; without a deadline.
fn unasked(segments: (u64, u64), unscheduled: u64) -> Ask {
    let (start, end) = (segments.0 * MSS, segments.1 * MSS);
    Ask { start, end, unscheduled: unscheduled * MSS, deadline: Instant::MAX, from: HostId(0) }
}

/// A receiving host with ends of several connections.
struct Receiving {
    config: Config,
    desk: Desk,
    ends: Vec<Receiver>,
    now: Instant,
    /// The bits of its own of each connection.
    own: fn(u32) -> u64,
}

impl Receiving {
    fn new(name: &str, keys: &str, ends: usize) -> Receiving {
        Receiving::with(name, keys, ends, |_| ())
    }

    /// Returns a host with a changed policy. Without a change `edf-grants` grants all its credit at once, and to one sender,
    /// whether its link is busy or not.
    fn with(name: &str, keys: &str, ends: usize, change: impl FnOnce(&mut Policy)) -> Receiving {
        let mut config = config(name, keys);
        let Control::Grants(policy) = &mut config.control else { panic!("{name}") };
        if let Some(limits) = policy.limits.as_mut().filter(|_| name == "edf-grants") {
            (policy.at_once, policy.busy) = (u64::MAX, None);
            (limits.most, policy.follows.limit) = (policy.budget.clamp(MSS, 1 << 40), false);
        }
        change(policy);
        let ends = (0..ends).map(|_| Receiver::new(&config)).collect();
        Receiving { config, desk: Desk::default(), ends, now: Instant::ZERO, own: u64::from }
    }

    fn take(&mut self, to: u32, packet: Packet, ask: Option<Ask>) {
        self.desk.acting = End { own: (self.own)(to), ..end(to) };
        let mut extension = ask.map(|ask| Extension::of_header(transport::Header::Grants(Box::new(Header::Ask(ask)))));
        self.ends[to as usize].on_packet(&self.config, self.now, &packet, extension.as_mut(), &mut self.desk);
    }

    /// A request for segments up to a number, from a host of its own.
    fn ask(&mut self, of: u32, segments: (u64, u64), deadline: Instant) {
        self.ask_from(of, of, segments, deadline);
    }

    fn ask_from(&mut self, of: u32, host: u32, segments: (u64, u64), deadline: Instant) {
        let ask = Ask { deadline, from: HostId(host), ..unasked(segments, segments.0) };
        self.take(of, Packet::data(ask.start, 0, 64, Instant::MAX, Flags::SYN), Some(ask));
    }

    /// Receives unscheduled data, with the request for its message.
    fn unasked(&mut self, of: u32, segment: u64, ask: Ask) {
        self.take(of, Packet::data(segment * MSS, MSS as u32, 0, self.now, Flags::NONE), Some(ask));
    }

    /// Answers without a grant since this was last called: the segment that is expected.
    fn answers(&mut self) -> Vec<u64> {
        let sent = self.desk.sent.drain(..);
        let answers = sent
            .filter(|(_, _, extension)| matches!(header(extension), Some(Header::Answer(Answer { grant: None, .. }))));
        answers.map(|(_, packet, _)| packet.seq / MSS).collect()
    }

    fn data(&mut self, of: u32, segment: u64, flags: Flags) {
        self.take(of, Packet::data(segment * MSS, MSS as u32, 0, self.now, flags), None);
    }

    fn take_header(&mut self, to: u32, header: Header) {
        self.desk.acting = end(to);
        let packet = Packet::data(0, 0, 64, Instant::MAX, Flags::SYN);
        let mut extension = Some(header.extension());
        self.ends[to as usize].on_packet(&self.config, self.now, &packet, extension.as_mut(), &mut self.desk);
    }

    fn echo(&mut self, of: u32, probe: Probe) {
        self.take_header(of, Header::Echo(probe));
    }

    /// Returns the probes since the last call.
    fn probes(&mut self) -> Vec<Probe> {
        let sent = self.desk.sent.drain(..);
        sent.filter_map(|(_, _, extension)| match header(&extension)? {
            Header::Answer(Answer { probe, .. }) => probe,
            _ => None,
        })
        .collect()
    }

    /// Returns the grants since the last call, as connections and segments, and drops mere answers.
    fn granted(&mut self) -> Vec<(u32, u64)> {
        let grants = self.desk.sent.iter().filter_map(|(to, _, extension)| match header(extension)? {
            Header::Answer(Answer { grant: Some(Grant { start, .. }), .. }) => Some((*to, start / MSS)),
            _ => None,
        });
        let grants = grants.collect();
        self.desk.sent.clear();
        grants
    }
}

const TWO: &str = "outstanding = '2 packets'\n";
const UNPACED: &str = "outstanding = '2 packets'\npaced = false\n";

#[test]
fn the_earliest_deadline_of_all_connections_of_a_host_is_granted_first() {
    let mut host = Receiving::new("edf-grants", TWO, 2);
    host.ask(0, (0, 3), Instant::from_millis(10));
    assert_eq!(host.granted(), [(0, 0), (0, 1)], "two may be on their way");
    host.ask(1, (0, 3), Instant::from_millis(5));
    assert_eq!(host.granted(), []);
    let mut order = Vec::new();
    for (of, segment) in [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (0, 2)] {
        host.now += Span::from_micros(8);
        host.data(of, segment, Flags::NONE);
        order.push(host.granted());
    }
    assert_eq!(order, [vec![(1, 0)], vec![(1, 1)], vec![(1, 2)], vec![(0, 2)], vec![], vec![]]);
    assert_eq!((host.ends[0].next(), host.ends[1].next()), (3 * MSS, 3 * MSS));
}

/// Ids of connections differ with the number of threads that simulate a run. Three equal messages have ids in the order of
/// their announcements and bits of their own in the reverse order: of the ones that wait the last is granted first. Homa
/// grants to one message at a time, which each announcement displaces.
#[test]
fn equal_messages_are_granted_in_the_order_of_their_flows() {
    let due = Instant::from_millis(10);
    let one = "rtt_bytes = '1 packet'\novercommitment = 1\nlevels = 4\nunscheduled_levels = 2\n";
    let [first, all] = [vec![(0, 0)], vec![(0, 0), (1, 0), (2, 0)]];
    for (name, keys, deadline, at_once) in [
        ("edf-grants", "outstanding = '1 packet'\n", due, &first),
        ("edf-grants", "outstanding = '1 packet'\n", Instant::MAX, &first),
        ("homa", one, Instant::MAX, &all),
        ("homa", &format!("{one}order = 'deadline'\n"), due, &all),
        ("sird", "outstanding = '1 packet'\npaced = false\n", Instant::MAX, &first),
    ] {
        let mut host = Receiving { own: |id| u64::from(!id), ..Receiving::new(name, keys, 3) };
        (0..3).for_each(|of| host.ask(of, (0, 1), deadline));
        assert_eq!(host.granted(), *at_once, "{name}");
        let mut order = Vec::new();
        for of in [0, 2, 1] {
            host.now += Span::from_micros(8);
            host.data(of, 0, Flags::NONE);
            order.extend(host.granted());
        }
        let later: &[(u32, u64)] = if at_once.len() == 1 { &[(2, 0), (1, 0)] } else { &[] };
        assert_eq!(order, later, "{name} {keys}");
    }
}

#[test]
fn a_request_that_must_wait_is_answered_and_one_that_is_granted_is_not_answered_twice() {
    let mut host = Receiving::new("edf-grants", TWO, 2);
    host.ask(0, (0, 2), Instant::from_millis(10));
    assert_eq!(host.desk.sent.len(), 2);
    host.ask(1, (0, 2), Instant::from_millis(20));
    let (to, packet, extension) = host.desk.sent[2].clone();
    assert_eq!((to, packet.size, packet.seq), (1, 64, 0));
    assert_eq!(header(&extension), Some(Header::Answer(Answer { known: 2 * MSS, grant: None, probe: None })));
}

#[test]
fn what_cannot_be_in_time_comes_last() {
    // 100 segments take 800 us: of two such messages until 900 us one is late. The short one until 1 ms is in time if
    // it is not behind both. Of the long ones the second one has more left when it is requested.
    let mut host = Receiving::new("edf-grants", TWO, 3);
    host.ask(0, (0, 100), Instant::from_micros(900));
    host.ask(1, (0, 101), Instant::from_micros(901));
    host.ask(2, (0, 4), Instant::from_micros(1000));
    host.granted();
    let mut order = Vec::new();
    let mut last = vec![(0, 0), (0, 1)];
    while let Some((of, segment)) = (!last.is_empty()).then(|| last.remove(0)) {
        host.now += Span::from_micros(8);
        host.data(of, segment, Flags::NONE);
        let more = host.granted();
        order.extend(more.iter().map(|(of, _)| *of));
        last.extend(more);
    }
    order.dedup();
    assert_eq!(order, [0, 2, 1]);
    let mut host = Receiving::new("edf-grants", &format!("{TWO}shedding = 'none'\n"), 3);
    host.ask(0, (0, 2), Instant::from_micros(900));
    host.ask(1, (0, 1010), Instant::from_micros(901));
    host.ask(2, (0, 4), Instant::from_micros(1000));
    host.granted();
    host.data(0, 0, Flags::NONE);
    assert_eq!(host.granted(), [(1, 0)]);
}

#[test]
fn to_shed_what_is_on_its_way_frees_nothing() {
    // All 10 segments of the first are in flight until 80 us, which is 1 us late, and so nothing can be done for it.
    // The second is over at 160 us and the third, of 11, would be at 248: it makes room for the last, which is over at
    // 240. If data in flight were taken to cost nothing, or to free room, the third would be over at 176 and the last
    // at 256: all in time.
    let mut host = Receiving::new("edf-grants", "outstanding = '10 packets'\n", 4);
    for (of, segments, deadline) in [(0, 10, 79), (1, 10, 161), (2, 11, 200), (3, 10, 260)] {
        host.ask(of, (0, segments), Instant::from_micros(deadline));
    }
    let mut last = host.granted();
    assert_eq!(last, (0..10).map(|segment| (0, segment)).collect::<Vec<_>>());
    let mut order = Vec::new();
    while let Some((of, segment)) = (!last.is_empty()).then(|| last.remove(0)) {
        host.now += Span::from_micros(8);
        host.data(of, segment, Flags::NONE);
        let more = host.granted();
        order.extend(more.iter().map(|(of, _)| *of));
        last.extend(more);
    }
    order.dedup();
    assert_eq!(order, [1, 3, 2]);
}

/// With 250 B on the wire beside each of them, and as many of headers, ten segments take 120 us, not 80 or 100. Of
/// messages of ten and five by 110 and 180 us the first is late in any case, and is last. At 12 us apart, grants are as
/// fast as the link carries their segments.
#[test]
fn what_frames_take_on_the_link_counts() {
    let framed = |keys: &str, at_once: u64| {
        let mut host = Receiving::with("edf-grants", keys, 2, |policy| policy.at_once = at_once);
        host.desk.frame_overhead = Bytes(250);
        host
    };
    for (deadline, first) in [(110, 1), (121, 0)] {
        let mut host = framed(&format!("{TWO}header = '250 B'\n"), u64::MAX);
        host.ask(0, (0, 10), Instant::from_micros(deadline));
        host.ask(1, (0, 5), Instant::from_micros(190));
        assert_eq!(host.granted(), [(0, 0), (0, 1)]);
        host.now = Instant::from_micros(12);
        host.data(0, 0, Flags::NONE);
        assert_eq!(host.granted()[0].0, first, "{deadline}");
    }
    let mut host = framed("outstanding = '12 packets'\nheader = '250 B'\n", 2 * MSS);
    host.ask(0, (0, 20), Instant::MAX);
    host.granted();
    assert_eq!(host.desk.ring_host(), Instant::from_micros(12));
}

/// The sender was granted later data again, and took that for a grant of all data before it. The receiver granted
/// segments that it had, its sender took no notice, and nothing else was granted for ever.
#[test]
fn data_that_arrived_without_its_grant_is_not_waited_for() {
    let mut host = Receiving::new("edf-grants", TWO, 1);
    host.ask(0, (0, 6), Instant::MAX);
    assert_eq!(host.granted(), [(0, 0), (0, 1)]);
    host.data(0, 2, Flags::NONE);
    host.data(0, 3, Flags::NONE);
    host.data(0, 0, Flags::NONE);
    assert_eq!(host.granted(), [(0, 2)], "it is not known here that this has arrived");
    host.data(0, 1, Flags::NONE);
    assert_eq!(host.granted(), [(0, 4), (0, 5)]);
}

#[test]
fn a_message_that_was_granted_too_late_does_not_hold_up_the_next_of_its_connection() {
    let mut host = Receiving::new("edf-grants", TWO, 2);
    host.ask(0, (0, 2), Instant::from_micros(1));
    host.ask(1, (0, 2), Instant::from_millis(100));
    host.ask(0, (2, 4), Instant::from_millis(50));
    assert_eq!(host.granted(), [(0, 0), (0, 1)]);
    host.data(0, 0, Flags::NONE);
    assert_eq!(host.granted(), [(0, 2)]);
}

/// Two unscheduled segments of a connection's second message arrive before the first is known, so that their request
/// does not count. When it is requested again they have arrived: nothing of it is in flight, and the
/// whole allowance is granted.
#[test]
fn what_came_unasked_before_its_message_was_known_of_is_not_waited_for() {
    for (name, keys) in [
        ("homa", "rtt_bytes = '2 packets'\n"),
        ("sird", "unscheduled = '2 packets'\nsender_limit = '2 packets'\npaced = false\n"),
    ] {
        let mut host = Receiving::new(name, keys, 1);
        let (first, second) = (unasked((0, 2), 2), unasked((2, 6), 4));
        [(2, second), (3, second), (0, first), (1, first)]
            .into_iter()
            .for_each(|(segment, ask)| host.unasked(0, segment, ask));
        assert_eq!(host.granted(), [], "{name}");
        host.take(0, Packet::data(second.start, 0, 64, Instant::MAX, Flags::SYN), Some(second));
        assert_eq!(host.granted(), [(0, 4), (0, 5)], "{name}");
        // Of two that were sent unasked one is there.
        let mut host = Receiving::new(name, keys, 1);
        [(2, second), (0, first), (1, first)].into_iter().for_each(|(segment, ask)| host.unasked(0, segment, ask));
        host.take(0, Packet::data(second.start, 0, 64, Instant::MAX, Flags::SYN), Some(second));
        assert_eq!(host.granted(), [(0, 4)], "{name}");
    }
}

#[test]
fn what_is_lost_is_shed_or_not_with_what_is_left_of_its_message() {
    // The first is granted whole and one of its segments is lost; 1 ms later only that one is missing, 8 us before its
    // end.
    let mut host = Receiving::new("edf-grants", "outstanding = '4 packets'\n", 2);
    host.ask(0, (0, 4), Instant::from_micros(1020));
    host.ask(1, (0, 50), Instant::from_micros(1500));
    host.granted();
    (1..3).for_each(|segment| host.data(0, segment, Flags::NONE));
    assert_eq!(host.granted(), [(1, 0), (1, 1)]);
    host.now += Span::from_micros(8);
    host.data(0, 3, Flags::NONE);
    assert_eq!(host.granted(), [(0, 0), (1, 2)], "it comes first as soon as it counts as lost");
}

#[test]
fn what_is_lost_counts_as_long_as_it_is_wherever_it_is_in_the_stream() {
    // As above, behind 100 segments: a segment more takes 8 us there too, not 101 + 100 times as long.
    let mut host = Receiving::new("edf-grants", "outstanding = '4 packets'\n", 2);
    host.ask(0, (0, 100), Instant::from_millis(100));
    for segment in 0..100 {
        host.now += Span::from_micros(8);
        host.data(0, segment, Flags::NONE);
    }
    host.ask(0, (100, 104), host.now + Span::from_micros(1020));
    host.ask(1, (0, 50), host.now + Span::from_micros(1500));
    host.granted();
    (101..103).for_each(|segment| host.data(0, segment, Flags::NONE));
    host.granted();
    host.now += Span::from_micros(8);
    host.data(0, 103, Flags::NONE);
    assert_eq!(host.granted(), [(0, 100), (1, 2)]);
}

#[test]
fn what_is_late_is_granted_again_also_by_who_looks_later() {
    let mut host = Receiving::new("sird", UNPACED, 2);
    host.ask(0, (0, 1), Instant::from_millis(100));
    host.granted();
    host.now = Instant::from_micros(1500);
    host.ask(1, (0, 1), Instant::from_millis(200));
    assert_eq!(host.granted(), [(0, 0), (1, 0)]);
}

#[test]
fn what_does_not_arrive_is_granted_again_each_time_after_twice_as_long() {
    let mut host = Receiving::new("sird", UNPACED, 1);
    host.ask(0, (0, 1), Instant::from_millis(100));
    assert_eq!(host.granted(), [(0, 0)]);
    // 1 ms, and then 2, 4, 8 after that.
    for at in [1, 3, 7, 15] {
        if at == 7 {
            // A repeated request is answered, and is no sign of late data.
            host.now = Instant::from_millis(3);
            host.ask(0, (0, 1), Instant::from_millis(100));
            assert_eq!(host.answers(), [0]);
        }
        assert_eq!(host.desk.ring_host(), Instant::from_millis(at));
        let (_, _, extension) = host.desk.sent[0].clone();
        assert!(matches!(
            header(&extension),
            Some(Header::Answer(Answer { grant: Some(Grant { late: true, .. }), .. }))
        ));
        assert_eq!(host.granted(), [(0, 0)]);
    }
}

#[test]
fn what_three_later_ones_have_overtaken_is_granted_at_once() {
    let keys = "outstanding = '6 packets'\n";
    let mut host = Receiving::new("edf-grants", keys, 1);
    host.ask(0, (0, 6), Instant::from_millis(100));
    host.granted();
    for segment in [1, 2] {
        host.data(0, segment, Flags::NONE);
    }
    assert_eq!(host.granted(), []);
    host.data(0, 3, Flags::NONE);
    assert_eq!(host.granted(), [(0, 0)]);
    // Six may be in flight as before: 4 to 7, the lost one and another.
    let mut host = Receiving::new("edf-grants", keys, 1);
    host.ask(0, (0, 20), Instant::from_millis(100));
    host.granted();
    (1..=2).for_each(|segment| host.data(0, segment, Flags::NONE));
    assert_eq!(host.granted(), [(0, 6), (0, 7)]);
    host.data(0, 3, Flags::NONE);
    assert_eq!(host.granted(), [(0, 0), (0, 8)]);
    let mut host = Receiving::new("homa", "rtt_bytes = '6 packets'\nresend_after = '1 ms'\n", 1);
    host.ask(0, (0, 6), Instant::MAX);
    host.granted();
    (1..6).for_each(|segment| host.data(0, segment, Flags::NONE));
    assert_eq!(host.granted(), [], "time alone tells");
}

#[test]
fn what_waits_behind_higher_priorities_is_granted_again_in_the_end() {
    let mut host = Receiving::new("homa", "rtt_bytes = '2 packets'\nresend_after = '1 ms'\n", 2);
    host.ask(0, (0, 20_000), Instant::MAX);
    host.ask(1, (0, 30_000), Instant::MAX);
    assert_eq!(host.granted(), [(0, 0), (0, 1), (1, 0), (1, 1)]);
    // It is late after 1 ms, and may wait 64 times as long as that.
    let mut again = Vec::new();
    for segment in 0..8200 {
        host.now += Span::from_micros(8);
        if host.desk.host_timer <= host.now {
            host.desk.ring_host();
        }
        host.data(0, segment, Flags::NONE);
        let granted = host.granted();
        again.extend(
            granted.into_iter().filter(|(of, _)| *of == 1).map(|(_, which)| (host.now.0 / 1_000_000_000, which)),
        );
    }
    assert_eq!(again, [(65, 0), (65, 1)]);
}

/// Segment 1 of a message is missing while the others arrive, one after another for 18 ms. If they have its priority it
/// is lost, and counts as late after 16 ms. If they have a higher one, as another message was announced that is longer,
/// it may be queued behind them.
#[test]
fn only_what_has_no_higher_priority_overtakes() {
    for (beside, expected) in [(false, vec![(16, 1)]), (true, vec![])] {
        let mut host = Receiving::new("homa", "rtt_bytes = '2 packets'\nresend_after = '1 ms'\n", 2);
        host.ask(0, (0, 20_000), Instant::MAX);
        assert_eq!(host.granted(), [(0, 0), (0, 1)]);
        if beside {
            host.ask(1, (0, 30_000), Instant::MAX);
        }
        let mut again = Vec::new();
        for segment in (0..2250).filter(|segment| *segment != 1) {
            host.now += Span::from_micros(8);
            if host.desk.host_timer <= host.now {
                host.desk.ring_host();
            }
            host.data(0, segment, Flags::NONE);
            let granted = host.granted().into_iter().filter(|(of, which)| *of == 0 && *which <= segment);
            again.extend(granted.map(|(_, which)| (host.now.0 / 1_000_000_000, which)));
        }
        assert_eq!(again, expected, "another message: {beside}");
    }
}

#[test]
fn what_waits_behind_higher_priorities_is_not_late() {
    let mut host = Receiving::new("homa", "rtt_bytes = '2 packets'\nresend_after = '1 ms'\n", 2);
    host.ask(0, (0, 1000), Instant::MAX);
    host.ask(1, (0, 2000), Instant::MAX);
    assert_eq!(host.granted(), [(0, 0), (0, 1), (1, 0), (1, 1)]);
    // For 1.6 ms the link carries the first message alone, and all that the second was granted waits for it.
    let ring = |host: &mut Receiving| {
        if host.desk.host_timer <= host.now {
            host.desk.ring_host();
        }
    };
    for segment in 0..200 {
        host.now += Span::from_micros(8);
        ring(&mut host);
        host.data(0, segment, Flags::NONE);
        assert!(host.granted().iter().all(|(of, _)| *of == 0));
    }
    // Then the later one of its segments arrives, at 1.6 ms: the earlier would have arrived before it. It is lost when
    // nothing more arrives for a millisecond.
    host.data(1, 1, Flags::NONE);
    assert_eq!(host.granted(), [(1, 2)]);
    let mut again = Vec::new();
    for segment in 200..330 {
        host.now += Span::from_micros(8);
        ring(&mut host);
        host.data(0, segment, Flags::NONE);
        again.extend(host.granted().into_iter().filter(|(of, _)| *of == 1).map(|(_, which)| (host.now, which)));
    }
    assert_eq!(again, [(Instant::from_micros(2600), 0)]);
}

/// Two messages of one connection are in flight, and a segment of the second arrives at 900 us. That starts the time of
/// the second anew. The first is granted again at 1 ms, as segments after its own have arrived, and the rest of the second
/// 1 ms after the arrival.
#[test]
fn of_two_messages_of_a_connection_only_the_one_with_an_arrival_is_heard() {
    for (arrives, missing) in [(2, 3), (3, 2)] {
        let mut host = Receiving::new("homa", "rtt_bytes = '4 packets'\nresend_after = '1 ms'\n", 1);
        host.ask(0, (0, 2), Instant::MAX);
        host.ask(0, (2, 4), Instant::MAX);
        assert_eq!(host.granted(), [(0, 0), (0, 1), (0, 2), (0, 3)]);
        host.now = Instant::from_micros(900);
        host.data(0, arrives, Flags::NONE);
        let mut again = Vec::new();
        while again.len() < 3 {
            let rung = host.desk.ring_host();
            again.extend(host.granted().into_iter().map(|(_, segment)| (rung, segment)));
        }
        let expected = [(1000, 0), (1000, 1), (1900, missing)].map(|(us, segment)| (Instant::from_micros(us), segment));
        assert_eq!(again, expected, "{arrives} arrives");
    }
}

/// The packet that arrives after a pause.
#[derive(Clone, Copy, Debug)]
enum Next {
    Data,
    Request,
}

/// Plays two granted messages: a packet of the first every 8 us for a millisecond, but after `last` the next packet
/// arrives at `at`. Returns the segments of the second, of which nothing arrives, that are granted again by then.
fn granted_again_at_1_ms(last: Instant, next: Next, at: Instant) -> Vec<u64> {
    let mut host = Receiving::new("homa", "rtt_bytes = '2 packets'\nresend_after = '1 ms'\n", 3);
    host.ask(0, (0, 1000), Instant::MAX);
    host.ask(1, (0, 2000), Instant::MAX);
    let (mut segments, mut again) = (0.., Vec::new());
    while host.now < Instant::from_micros(1010) {
        let usual = host.now + Span::from_micros(8);
        let pauses = host.now <= last && usual > last;
        host.now = if pauses { at } else { usual };
        if host.desk.host_timer <= host.now {
            host.granted();
            host.desk.ring_host();
            again.extend(host.granted().into_iter().filter(|(of, _)| *of == 1).map(|(_, segment)| segment));
        }
        match next {
            Next::Request if pauses => host.ask(2, (0, 9000), Instant::MAX),
            _ => segments.by_ref().take(1).for_each(|segment| host.data(0, segment, Flags::NONE)),
        }
    }
    again
}

/// Granted segments must have reached the link of their receiver after a third of `resend_after`. If the link was idle
/// since, they are lost after 1 ms, and otherwise they may be queued. It was idle if more than a packet, of 8 us, would
/// have fitted in between two that arrived. A request occupies it for 512 ns.
#[test]
fn what_cannot_be_queued_for_a_link_that_was_idle_is_lost() {
    let (third, packet, ps) = (Instant(1_000_000_000 / 3), Span::from_micros(8), Span(1));
    let late = Instant::from_micros(400);
    let request = Span(512_000);
    for (last, next, at, lost) in [
        (late, Next::Data, late + packet + packet, false),
        (late, Next::Data, late + packet + packet + ps, true),
        (late, Next::Request, late + packet + request, false),
        (late, Next::Request, late + packet + request + ps, true),
        // Idle until then, and then the segments may have been queued; or idle when they had reached the link.
        (Instant::from_micros(304), Next::Data, Instant(third.0 - 1) + packet, false),
        (Instant::from_micros(304), Next::Data, third + packet, true),
    ] {
        let expected: &[u64] = if lost { &[0, 1] } else { &[] };
        assert_eq!(granted_again_at_1_ms(last, next, at), expected, "{next:?} at {at:?} after {last:?}");
    }
}

/// Six packets of each of 40 messages are in flight, and arrive in turn. Between two packets of one message there are
/// 320 us, and the last ones arrive after 1.92 ms.
#[test]
fn what_waits_among_others_is_not_late_whatever_has_come_of_those() {
    let mut host = Receiving::new("homa", "rtt_bytes = '6 packets'\nresend_after = '1 ms'\n", 40);
    for segment in 0..6 {
        for of in 0..40 {
            host.now += Span::from_micros(8);
            if host.desk.host_timer <= host.now {
                host.desk.ring_host();
            }
            host.unasked(of, segment, unasked((0, 6), 6));
            assert_eq!(host.granted(), [], "segment {segment} of {of}");
        }
    }
}

#[test]
fn each_packet_of_a_message_starts_its_time_anew() {
    let mut host = Receiving::new("homa", "rtt_bytes = '4 packets'\nresend_after = '1 ms'\n", 1);
    host.ask(0, (0, 4), Instant::MAX);
    host.granted();
    for segment in 1..4 {
        host.now += Span::from_micros(900);
        if host.desk.host_timer <= host.now {
            host.desk.ring_host();
        }
        host.data(0, segment, Flags::NONE);
        assert_eq!(host.granted(), []);
    }
    // The last one arrived at 2.7 ms; 3.7 is a millisecond later.
    while host.desk.host_timer < Instant::from_micros(3700) {
        host.now = host.desk.ring_host();
        assert_eq!(host.granted(), []);
    }
    assert_eq!((host.desk.ring_host(), host.granted()), (Instant::from_micros(3700), vec![(0, 0)]));
}

#[test]
fn who_says_that_it_is_busy_is_waited_for() {
    let mut host = Receiving::new("homa", "rtt_bytes = '1 packet'\nresend_after = '1 ms'\n", 1);
    host.ask(0, (0, 4), Instant::MAX);
    host.granted();
    assert_eq!((host.desk.ring_host(), host.granted()), (Instant::from_millis(1), vec![(0, 0)]));
    host.now = Instant::from_micros(2500);
    host.desk.acting = end(0);
    let mut busy = Some(Header::Busy(0).extension());
    let packet = Packet::data(0, 0, 64, Instant::MAX, Flags::SYN);
    host.ends[0].on_packet(&host.config, host.now, &packet, busy.as_mut(), &mut host.desk);
    // It would be late at 3 ms; it was granted after one time out, so 2 ms pass.
    let mut rung = host.desk.ring_host();
    while rung < Instant::from_micros(4500) {
        assert_eq!(host.granted(), [], "{rung:?}");
        rung = host.desk.ring_host();
    }
    assert_eq!((rung, host.granted()), (Instant::from_micros(4500), vec![(0, 0)]));
}

#[test]
fn nothing_is_granted_while_as_much_comes_in_as_may() {
    let mut host = Receiving::new("homa", "rtt_bytes = '2 packets'\nincoming = '3 packets'\n", 2);
    host.unasked(0, 0, unasked((0, 9), 2));
    assert_eq!(host.granted(), [(0, 2)], "one that was sent unasked, and one more in a round trip");
    host.ask(1, (0, 4), Instant::MAX);
    assert_eq!(host.granted(), [(1, 0)], "three in all");
    host.data(1, 0, Flags::NONE);
    assert_eq!(host.granted(), [(1, 1)]);
}

/// A round trip holds two messages of two segments: granted data that has not arrived takes its place.
#[test]
fn a_message_that_is_granted_and_has_not_come_is_one_of_those_that_are_granted_at_a_time() {
    let mut host = Receiving::new("homa", "rtt_bytes = '4 packets'\novercommitment = 2\n", 4);
    (0..4).for_each(|of| host.ask(of, (0, 2), Instant::MAX));
    assert_eq!(host.granted(), [(0, 0), (0, 1), (1, 0), (1, 1)]);
    host.data(0, 0, Flags::NONE);
    assert_eq!(host.granted(), []);
    host.data(0, 1, Flags::NONE);
    assert_eq!(host.granted(), [(2, 0), (2, 1)]);
}

#[test]
fn one_message_of_a_sender_is_granted_at_a_time() {
    let mut host = Receiving::new("homa", "rtt_bytes = '1 packet'\novercommitment = 2\n", 3);
    host.ask_from(0, 7, (0, 4), Instant::MAX);
    host.ask_from(1, 7, (0, 5), Instant::MAX);
    host.ask_from(2, 8, (0, 6), Instant::MAX);
    assert_eq!(host.granted(), [(0, 0), (2, 0)]);
}

#[test]
fn what_arrives_after_it_counted_as_lost_is_not_granted_again() {
    let mut host = Receiving::new("edf-grants", TWO, 1);
    host.ask(0, (0, 3), Instant::from_millis(100));
    host.granted();
    // Both are late, which counts once: of two one may be in flight.
    host.now = host.desk.ring_host();
    assert_eq!(host.granted(), [(0, 0)]);
    // It arrives, which is a window without a mark: two may be in flight again, and the second is not the missing one.
    host.data(0, 1, Flags::NONE);
    assert_eq!(host.granted(), [(0, 2)]);
}

#[test]
fn what_arrived_before_its_request_is_known_by_the_next_one() {
    let mut host = Receiving::new("edf-grants", TWO, 1);
    host.ask(0, (0, 1), Instant::MAX);
    host.granted();
    // The requests for the second and the third message are lost, but data of the second arrives.
    host.data(0, 1, Flags::NONE);
    host.data(0, 0, Flags::NONE);
    host.desk.sent.clear();
    host.ask(0, (2, 3), Instant::MAX);
    assert_eq!((host.ends[0].next(), host.granted()), (2 * MSS, vec![(0, 2)]));
}

#[test]
fn what_has_arrived_is_answered_when_a_message_is_complete_or_came_twice() {
    let mut host = Receiving::new("edf-grants", "outstanding = '9 packets'\n", 1);
    host.ask(0, (0, 3), Instant::MAX);
    host.ask(0, (3, 5), Instant::MAX);
    assert_eq!(host.granted().len(), 5);
    let mut answers = |segment| {
        host.data(0, segment, Flags::NONE);
        host.answers()
    };
    // Of the second message; then the second segment, twice; the first message is complete with the first segment.
    assert_eq!(answers(3), []);
    assert_eq!(answers(1), []);
    assert_eq!(answers(1), [0]);
    assert_eq!(answers(2), []);
    assert_eq!(answers(0), [4]);
    assert_eq!(answers(4), [5]);
    assert_eq!(answers(4), [5], "its acknowledgement was lost");
    assert_eq!(host.ends[0].next(), 5 * MSS);
}

#[test]
fn a_message_that_is_there_before_its_request_is_confirmed_and_not_granted() {
    let mut host = Receiving::new("edf-grants", TWO, 1);
    host.ask(0, (0, 1), Instant::MAX);
    host.data(0, 0, Flags::NONE);
    host.data(0, 1, Flags::NONE);
    host.desk.sent.clear();
    host.ask(0, (1, 2), Instant::MAX);
    assert_eq!(host.desk.sent.len(), 1);
    assert_eq!(header(&host.desk.sent[0].2), Some(Header::Answer(Answer { known: 2 * MSS, grant: None, probe: None })));
    assert_eq!(host.answers(), [2]);
}

#[test]
fn what_was_sent_unasked_is_on_its_way_and_late_as_what_was_granted() {
    let mut host = Receiving::new("homa", "rtt_bytes = '2 packets'\nresend_after = '1 ms'\n", 1);
    let ask = unasked((0, 4), 2);
    host.unasked(0, 0, ask);
    assert_eq!(host.granted(), [(0, 2)], "two may be on their way, and one of those unasked is");
    assert_eq!(host.desk.ring_host(), Instant::from_millis(1));
    assert_eq!(host.granted(), [(0, 1), (0, 2)]);
}

#[test]
fn as_much_of_a_connection_is_on_its_way_as_its_window_holds() {
    let mut host = Receiving::new("homa", "rtt_bytes = '3 packets'\n", 1);
    host.ask(0, (0, 9), Instant::MAX);
    assert_eq!(host.granted(), [(0, 0), (0, 1), (0, 2)]);
    // Whatever the limits are, one segment may be.
    let mut host = Receiving::new("edf-grants", "outstanding = '500 B'\n", 1);
    host.ask(0, (0, 9), Instant::MAX);
    assert_eq!(host.granted(), [(0, 0)]);
    host.data(0, 0, Flags::NONE);
    assert_eq!(host.granted(), [(0, 1)]);
}

#[test]
fn what_came_before_a_message_was_known_counts_when_it_is() {
    // Two messages of two and three segments, the first two of each unscheduled. The first packet is lost, and requests
    // for the second message arrive before the request for the first.
    let mut host = Receiving::new("homa", "rtt_bytes = '9 packets'\nresend_after = '1 ms'\n", 1);
    let (first, second) = (unasked((0, 2), 2), unasked((2, 5), 4));
    host.unasked(0, 3, second);
    assert_eq!((host.granted(), host.ends[0].next()), (vec![], 0));
    host.unasked(0, 1, first);
    host.unasked(0, 2, second);
    assert_eq!(host.granted(), [(0, 4)]);
    host.data(0, 4, Flags::NONE);
    assert_eq!(host.answers(), []);
    host.data(0, 0, Flags::NONE);
    assert_eq!((host.answers(), host.ends[0].next()), (vec![5], 5 * MSS));
    // It is complete: nothing of it is late.
    host.desk.ring_host();
    assert_eq!(host.granted(), []);
}

#[test]
fn who_waits_is_told_once_that_it_is_known() {
    let mut host = Receiving::new("edf-grants", TWO, 2);
    host.ask(0, (0, 9), Instant::from_millis(5));
    host.ask(1, (0, 2), Instant::from_millis(9));
    assert_eq!(host.answers(), [0], "the second one");
    for segment in 0..3 {
        host.data(0, segment, Flags::NONE);
        assert_eq!(host.desk.sent.len(), 1, "a grant");
        host.desk.sent.clear();
    }
}

#[test]
fn each_is_late_at_its_own_time() {
    let mut host = Receiving::new("sird", "outstanding = '4 packets'\npaced = false\n", 2);
    host.ask(0, (0, 2), Instant::from_millis(100));
    host.now = Instant::from_micros(500);
    host.ask(1, (0, 1), Instant::from_millis(100));
    host.data(0, 0, Flags::NONE);
    host.granted();
    let mut late = || (host.desk.ring_host(), host.granted());
    assert_eq!(late(), (Instant::from_millis(1), vec![(0, 1)]), "the other one has arrived");
    assert_eq!(late(), (Instant::from_micros(1500), vec![(1, 0)]));
    assert_eq!(late(), (Instant::from_millis(3), vec![(0, 1)]));
}

#[test]
fn who_cannot_be_in_time_any_more_makes_room_though_nothing_came() {
    // 100 us after it was settled, the order is settled anew: of 98 segments 784 us are left, and of the time 300.
    for (later, granted) in [(99, (0, 3)), (600, (1, 0))] {
        let mut host = Receiving::new("edf-grants", TWO, 2);
        host.ask(0, (0, 100), Instant::from_micros(900));
        host.ask(1, (0, 10), Instant::from_micros(2000));
        host.granted();
        host.data(0, 0, Flags::NONE);
        assert_eq!(host.granted(), [(0, 2)]);
        host.now += Span::from_micros(later);
        host.data(0, 1, Flags::NONE);
        assert_eq!(host.granted(), [granted], "{later}");
    }
}

#[test]
fn what_is_granted_goes_by_the_way_that_its_connection_takes_now() {
    let mut host = Receiving::new("edf-grants", TWO, 1);
    host.ask(0, (0, 1), Instant::MAX);
    assert_eq!(host.desk.route, 0);
    host.desk.sent.clear();
    let (config, mut repeated) = (host.config.clone(), Some(Header::Ask(unasked((0, 1), 0)).extension()));
    host.desk.acting = End { route: 7, ..end(0) };
    let packet = Packet::data(0, 0, 64, Instant::MAX, Flags::SYN);
    host.ends[0].on_packet(&config, host.now, &packet, repeated.as_mut(), &mut host.desk);
    host.desk.ring_host();
    assert_eq!(host.desk.route, 7);
}

#[test]
fn marks_do_not_count_while_the_link_of_the_receiver_is_full() {
    // One that is marked: nine may be in flight, the rest of ten.
    let granted = |gap| {
        let mut host = Receiving::new("edf-grants", "outstanding = '10 packets'\n", 1);
        host.ask(0, (0, 100), Instant::from_millis(50));
        host.granted();
        for segment in 0..30 {
            host.now += Span::from_micros(gap);
            host.data(0, segment, Flags::NONE);
            host.granted();
        }
        host.data(0, 30, Flags::CE);
        host.granted().len()
    };
    assert_eq!((granted(8), granted(16)), (1, 0), "a segment takes 8 us");
}

#[test]
fn a_second_message_of_a_connection_waits_for_the_first_and_makes_it_urgent() {
    let mut host = Receiving::new("edf-grants", TWO, 2);
    host.ask(0, (0, 2), Instant::from_millis(50));
    host.ask(1, (0, 2), Instant::from_millis(20));
    host.ask(0, (2, 4), Instant::from_millis(10));
    host.granted();
    let mut order = Vec::new();
    for (of, segment) in [(0, 0), (0, 1), (0, 2), (0, 3)] {
        host.data(of, segment, Flags::NONE);
        order.extend(host.granted());
    }
    assert_eq!(order, [(0, 2), (0, 3), (1, 0), (1, 1)]);
    // A request that does not follow the known messages is not accepted.
    host.ask(0, (6, 8), Instant::from_millis(10));
    assert_eq!(host.ends[0].next(), 4 * MSS);
    assert_eq!(header(&host.desk.sent[0].2), Some(Header::Answer(Answer { known: 4 * MSS, grant: None, probe: None })));
}

#[test]
fn what_messages_without_a_deadline_are_granted_counts_when_others_are_shed() {
    // Every second grant is that of the last one, so that 4 segments take 64 us and not 32: until 60 us they cannot be there.
    let mut host =
        Receiving::new("edf-grants", "outstanding = '1 packet'\nbackground_every = 2\nundated_times = 0\n", 3);
    host.ask(2, (0, 20), Instant::MAX);
    host.ask(0, (0, 4), Instant::from_micros(60));
    host.ask(1, (0, 5), Instant::from_micros(200));
    let mut order = vec![host.granted()];
    for segment in 0..2 {
        host.now += Span::from_micros(8);
        host.data(2, segment, Flags::NONE);
        order.push(host.granted());
    }
    assert_eq!(order, [[(2, 0)], [(2, 1)], [(1, 0)]]);
    // With every fifth they take 40 us.
    let mut host =
        Receiving::new("edf-grants", "outstanding = '1 packet'\nbackground_every = 5\nundated_times = 0\n", 3);
    host.ask(2, (0, 20), Instant::MAX);
    host.ask(0, (0, 4), Instant::from_micros(60));
    host.ask(1, (0, 5), Instant::from_millis(1));
    host.granted();
    host.now += Span::from_micros(8);
    host.data(2, 0, Flags::NONE);
    assert_eq!(host.granted(), [(0, 0)]);
}

#[test]
fn messages_without_a_deadline_have_every_so_manyth_grant_and_share_it() {
    let keys = "outstanding = '1 packet'\nbackground_every = 3\nundated_times = 0\n";
    let mut host = Receiving::new("edf-grants", keys, 3);
    host.ask(0, (0, 20), Instant::from_millis(100));
    host.ask(1, (0, 20), Instant::MAX);
    host.ask(2, (0, 20), Instant::MAX);
    let mut order = Vec::new();
    let mut last = host.granted();
    for _ in 0..12 {
        order.push(last[0].0);
        host.data(last[0].0, last[0].1, Flags::NONE);
        last = host.granted();
    }
    assert_eq!(order, [0, 0, 1, 0, 0, 2, 0, 0, 1, 0, 0, 2]);
}

#[test]
fn so_much_is_granted_at_once_and_the_rest_as_fast_as_the_link_carries_it() {
    let mut host = Receiving::with("edf-grants", "outstanding = '12 packets'\n", 1, |policy| policy.at_once = 3 * MSS);
    host.ask(0, (0, 20), Instant::MAX);
    assert_eq!(host.granted(), [(0, 0), (0, 1), (0, 2)]);
    // A segment takes 8 us: then the link has carried one of the three.
    host.now = host.desk.ring_host();
    assert_eq!((host.now, host.granted()), (Instant::from_micros(8), vec![(0, 3)]));
    assert_eq!(host.desk.host_timer, Instant::from_micros(16));
    // Data that arrives changes nothing.
    host.now = Instant::from_micros(12);
    host.data(0, 0, Flags::NONE);
    assert_eq!(host.granted(), []);
    // In 40 us without a grant the link would have carried five: no more than three are made up for.
    host.desk.host_timer = Instant::from_micros(56);
    host.desk.ring_host();
    assert_eq!(host.granted(), [(0, 4), (0, 5), (0, 6)]);
    // With as much in flight as allowed, only late data needs a timer.
    let mut host = Receiving::with("edf-grants", TWO, 1, |policy| policy.at_once = 2 * MSS);
    host.ask(0, (0, 20), Instant::MAX);
    assert_eq!((host.granted().len(), host.desk.host_timer), (2, Instant::from_millis(1)));
}

#[test]
fn a_connection_that_is_closed_gives_others_its_place() {
    let mut host = Receiving::new("edf-grants", TWO, 2);
    host.ask(0, (0, 2), Instant::from_millis(5));
    host.ask(1, (0, 2), Instant::from_millis(10));
    host.granted();
    host.desk.acting = end(0);
    let (config, now) = (host.config.clone(), host.now);
    host.ends[0].on_close(&config, now, &mut host.desk);
    assert_eq!(host.granted(), [(1, 0), (1, 1)]);
    // Its data is not in flight from its host any more, which had two segments, and may have two.
    let mut host = Receiving::new("edf-grants", TWO, 2);
    host.ask_from(0, 7, (0, 2), Instant::from_millis(5));
    host.ask_from(1, 7, (0, 2), Instant::from_millis(10));
    host.granted();
    host.desk.acting = end(0);
    host.ends[0].on_close(&config, now, &mut host.desk);
    assert_eq!(host.granted(), [(1, 0), (1, 1)]);
}

#[test]
fn messages_without_a_deadline_share_alike_wherever_they_are_in_their_streams() {
    let mut host = Receiving::new("edf-grants", "outstanding = '1 packet'\nundated_times = 0\n", 2);
    host.ask(0, (0, 2), Instant::MAX);
    (0..2).for_each(|segment| host.data(0, segment, Flags::NONE));
    host.granted();
    host.ask(0, (2, 5), Instant::MAX);
    host.ask(1, (0, 3), Instant::MAX);
    let (mut order, mut last) = (Vec::new(), host.granted());
    while let Some(&(of, segment)) = last.first() {
        order.push(of);
        host.data(of, segment, Flags::NONE);
        last = host.granted();
    }
    assert_eq!(order, [0, 1, 0, 1, 0, 1]);
}

#[test]
fn a_host_whose_data_is_marked_is_granted_less() {
    let mut host = Receiving::new("edf-grants", "outstanding = '10 packets'\n", 2);
    host.ask(0, (0, 100), Instant::from_millis(5));
    host.ask(1, (0, 100), Instant::from_millis(9));
    assert_eq!(host.granted().len(), 10);
    // A tenth less than ten: nine are the maximum and are in flight, so the other host is granted.
    host.data(0, 0, Flags::CE);
    assert_eq!(host.granted(), [(1, 0)]);
    // Without a mark the limit grows by a ninth of a segment, which is too little for another one.
    host.data(0, 1, Flags::NONE);
    assert_eq!(host.granted(), [(0, 10)]);
}

/// Ten segments are late together: their sender is asked after once, and once more after twice the time. Its echo shows
/// that they are lost, which halves the limit of ten.
#[test]
fn what_is_late_is_asked_after_and_granted_again_once_it_is_lost() {
    let mut host = Receiving::new("edf-grants", "outstanding = '10 packets'\n", 1);
    host.ask(0, (0, 100), Instant::from_millis(50));
    assert_eq!(host.granted().len(), 10);
    for at in [1, 3] {
        host.now = host.desk.ring_host();
        assert_eq!(host.now, Instant::from_millis(at));
        assert_eq!(host.probes(), [Probe { before: 10, rank: 5 }]);
    }
    // Data in the class of the echo that arrives before it is not lost.
    host.data(0, 4, Flags::NONE);
    assert_eq!(host.granted(), [(0, 10)]);
    host.echo(0, Probe { before: 10, rank: 5 });
    assert_eq!(host.granted(), [0, 1, 2, 3].map(|segment| (0, segment)), "four more with 10 are five");
    // An echo in a higher priority says nothing of the lower one, nor one of a probe that was sent before them.
    for (before, rank) in [(100, 4), (10, 5)] {
        host.echo(0, Probe { before, rank });
        assert_eq!(host.granted(), []);
    }
}

#[test]
fn who_is_busy_is_asked_again_after_twice_the_time() {
    let mut host = Receiving::new("edf-grants", TWO, 1);
    host.ask(0, (0, 9), Instant::from_millis(900));
    host.granted();
    for at in [1, 3, 7, 15] {
        while host.probes().is_empty() {
            host.now = host.desk.ring_host();
        }
        assert_eq!(host.now, Instant::from_millis(at));
        host.take_header(0, Header::Busy(0));
    }
}

/// A sender returns a probe behind its data, in the priority of the data; with data in its queue it is busy. Data of
/// which the grant was lost is sent first.
#[test]
fn a_probe_follows_the_data_that_it_is_about() {
    let probe = Probe { before: 7, rank: 3 };
    let echo = |free: u64, segment: u64| {
        let mut host = Sending::new("edf-grants", "");
        host.message(3, Some(Instant::from_millis(20)));
        host.ranked(3, 0, 3);
        host.desk.sent.clear();
        host.desk.free = Instant::from_micros(free);
        let (start, end) = (segment * MSS, (segment + 1) * MSS);
        let grant = Some(Grant { start, end, rank: 3, again: false, late: true });
        host.take(0, Answer { known: 3 * MSS, grant, probe: Some(probe) });
        let sent = host.desk.sent.iter();
        sent.map(|(_, packet, extension)| (u32::from(packet.payload), packet.rank, header(extension)))
            .collect::<Vec<_>>()
    };
    assert_eq!(echo(0, 0), [(0, 3, Some(Header::Echo(probe)))]);
    assert_eq!(echo(0, 1), [(1000, 3, None), (0, 3, Some(Header::Echo(probe)))]);
    assert_eq!(echo(100, 1), [(0, 0, Some(Header::Busy(MSS)))]);
}

/// Laxity and priority at a link where a segment takes 8 us: half of what asking may take ends the first class, four times
/// as much the second.
#[test]
fn packets_have_priorities_by_laxity() {
    let Control::Grants(policy) = config("edf-grants", "").control else { panic!() };
    let first = policy.classes.unwrap().first;
    let ranks = |due: Instant| {
        let mut host = Receiving::new("edf-grants", "outstanding = '1 packet'\n", 1);
        host.ask(0, (0, 2), due);
        let grants = host.desk.sent.iter().filter_map(|(_, _, extension)| match header(extension)? {
            Header::Answer(Answer { grant, .. }) => grant.map(|grant| grant.rank),
            _ => None,
        });
        grants.collect::<Vec<_>>()
    };
    let due = |laxity: Span| Instant::from_micros(16) + laxity;
    let steps =
        [Span::ZERO, first, first + Span(1), first * 4, first * 4 + Span(1), first * 64 + Span(1), first * 9999];
    assert_eq!(steps.map(|laxity| ranks(due(laxity))), [1, 1, 2, 2, 3, 5, 5].map(|rank| vec![rank]));
    assert_eq!(ranks(Instant::from_micros(15)), [6], "late");
    assert_eq!(policy.priorities(), Some(7));
}

/// Of two messages that cannot both be in time one has no deadline. It is shed, though it is the shorter one.
#[test]
fn messages_without_a_deadline_are_shed_before_others() {
    let mut host = Receiving::new("edf-grants", "outstanding = '1 packet'\nundated_times = 1\n", 2);
    host.ask(1, (0, 10), Instant::MAX);
    host.granted();
    host.ask(0, (0, 1000), Instant::from_micros(8050));
    host.data(1, 0, Flags::NONE);
    assert_eq!(host.granted(), [(0, 0)]);
    // Due after ten times its own time, it is first, for the other one can wait as long.
    let mut host = Receiving::new("edf-grants", "outstanding = '1 packet'\n", 2);
    host.ask(1, (0, 10), Instant::MAX);
    host.granted();
    host.ask(0, (0, 1000), Instant::from_micros(8900));
    host.data(1, 0, Flags::NONE);
    assert_eq!(host.granted(), [(1, 1)]);
}

/// While the link had no pause for a round trip, less may be in flight.
#[test]
fn credit_for_stalled_senders_needs_a_link_that_is_idle() {
    let granted = |gap: u64| {
        let keys = "outstanding = '6 packets'\nsender_limit = '6 packets'\n";
        let mut host = Receiving::with("edf-grants", keys, 1, |policy| {
            (policy.at_once, policy.busy) = (u64::MAX, Some((2 * MSS, Span::from_micros(80))));
        });
        host.ask(0, (0, 100), Instant::from_millis(50));
        host.granted();
        (0..20).for_each(|segment| {
            host.now += Span::from_micros(gap);
            host.data(0, segment, Flags::NONE);
        });
        host.granted().len()
    };
    // In the 80 us after the pause at first, ten; then none until only two are in flight, and one for each of the last six.
    assert_eq!((granted(8), granted(17)), (10 + 6, 20));
}

#[test]
fn homa_grants_the_shortest_ones_in_priorities_of_their_own() {
    let keys = "rtt_bytes = '1 packet'\novercommitment = 2\nlevels = 4\nunscheduled_levels = 2\n";
    let mut host = Receiving::new("homa", keys, 3);
    host.ask(0, (0, 30), Instant::MAX);
    host.ask(1, (0, 20), Instant::MAX);
    host.ask(2, (0, 10), Instant::MAX);
    let ranks: Vec<(u32, u32)> = host
        .desk
        .sent
        .iter()
        .filter_map(|(to, _, extension)| match header(extension)? {
            Header::Answer(Answer { grant: Some(grant), .. }) => Some((*to, grant.rank)),
            _ => None,
        })
        .collect();
    // The first alone in the lowest of the levels 0..4, the second above it, the third again: two are granted at a time.
    assert_eq!(ranks, [(0, 3), (1, 2), (2, 2)]);
    host.granted();
    host.data(0, 0, Flags::NONE);
    assert_eq!(host.granted(), [], "the longest waits for the others now");
    host.data(2, 0, Flags::NONE);
    assert_eq!(host.granted(), [(2, 1)]);
}

/// A sending host with one end.
struct Sending {
    config: Config,
    desk: Desk,
    end: Sender,
    now: Instant,
    /// Segments that were granted.
    granted: BTreeSet<u64>,
}

impl Sending {
    fn new(name: &str, keys: &str) -> Sending {
        let config = config(name, keys);
        let (end, now, granted) = (Sender::new(&config), Instant::ZERO, BTreeSet::new());
        Sending { end, config, desk: Desk::default(), now, granted }
    }

    fn message(&mut self, segments: u64, deadline: Option<Instant>) {
        let message = Message { deadline, ..Message::of(Bytes(segments * MSS)) };
        self.end.enqueue_message(&self.config, self.now, message, &mut self.desk);
    }

    fn answer(&mut self, next: u64, known: u64, grant: Option<u64>) {
        let grant = grant.map(|segment| (segment * MSS, (segment + 1) * MSS, !self.granted.insert(segment)));
        self.answer_bytes(next * MSS, known * MSS, grant);
    }

    /// Answers in bytes: the start and end of the granted range, and whether it was granted before.
    fn answer_bytes(&mut self, next: u64, known: u64, grant: Option<(u64, u64, bool)>) {
        self.hear(next, known, grant.map(|(start, end, again)| Grant { start, end, rank: 5, again, late: false }));
    }

    fn hear(&mut self, next: u64, known: u64, grant: Option<Grant>) {
        let answer = Header::Answer(Answer { known, grant, probe: None });
        let mut extension = Some(Extension::of_header(transport::Header::Grants(Box::new(answer))));
        let packet = Packet::ack(next, 64, Instant::MAX, Flags::NONE);
        self.end.on_packet(&self.config, self.now, &packet, extension.as_mut(), &mut self.desk);
    }

    fn take(&mut self, next: u64, answer: Answer) {
        let packet = Packet::ack(next * MSS, 64, Instant::MAX, Flags::NONE);
        let mut extension = Some(Header::Answer(answer).extension());
        self.end.on_packet(&self.config, self.now, &packet, extension.as_mut(), &mut self.desk);
    }

    /// Receives a grant of a segment in a priority.
    fn ranked(&mut self, known: u64, segment: u64, rank: u32) {
        let (start, end) = (segment * MSS, (segment + 1) * MSS);
        self.hear(0, known * MSS, Some(Grant { start, end, rank, again: false, late: false }));
    }

    fn timer(&mut self) -> Instant {
        self.now = std::mem::replace(&mut self.desk.timer, Instant::MAX);
        self.end.on_timer(&self.config, self.now, &mut self.desk);
        self.now
    }

    /// Segments that were sent, requests as none.
    fn sent(&mut self) -> Vec<Option<u64>> {
        self.desk.sent.drain(..).map(|(_, packet, _)| (packet.payload > 0).then_some(packet.seq / MSS)).collect()
    }
}

#[test]
fn a_request_is_repeated_after_1_2_4_and_8_ms_until_it_is_answered() {
    let mut host = Sending::new("edf-grants", "");
    host.message(3, Some(Instant::from_millis(20)));
    let (_, packet, extension) = host.desk.sent[0].clone();
    assert_eq!((packet.size, packet.payload), (64, 0));
    let deadline = Instant::from_millis(20);
    let ask = Ask { start: 0, end: 3 * MSS, unscheduled: 0, deadline, from: HostId(9) };
    assert_eq!(header(&extension), Some(Header::Ask(ask)));
    for at in [1, 3, 7, 15, 23, 31] {
        assert_eq!(host.timer(), Instant::from_millis(at));
    }
    assert_eq!((host.sent(), host.desk.timeouts), (vec![None; 7], 6));
    // Once it is known the receiver will see to the rest: 64 ms.
    host.now = Instant::from_millis(40);
    host.answer(0, 3, None);
    host.desk.timer = Instant::MAX;
    host.answer(0, 3, None);
    assert_eq!(host.timer(), Instant::from_millis(104));
    assert_eq!(host.timer(), Instant::from_millis(168));
    assert_eq!(host.desk.timeouts, 6);
}

#[test]
fn what_is_granted_is_sent_when_the_link_is_free_and_says_how_much_waits() {
    let mut host = Sending::new("sird", "backlog = '1 packet'\nunscheduled_up_to = '1 packet'\n");
    host.message(9, Some(Instant::from_millis(20)));
    host.sent();
    host.desk.free = Instant::from_micros(100);
    for segment in 0..4 {
        host.answer(0, 9, Some(segment));
    }
    host.answer(0, 9, Some(2));
    assert_eq!((host.sent(), host.desk.host_timer), (vec![], Instant::from_micros(100)));
    host.desk.free = Instant::ZERO;
    host.desk.ring_host();
    let told: Vec<bool> = host.desk.sent.iter().map(|(_, packet, _)| packet.flags.has(Flags::ECE)).collect();
    // With 3 and 2 behind them, then with 1 and none; queued data is not enqueued twice.
    assert_eq!(told, [true, true, false, false]);
    assert_eq!(host.sent(), [0, 1, 2, 3].map(Some));
    host.answer(1, 9, Some(1));
    assert_eq!((host.sent(), host.desk.again.clone()), (vec![Some(1)], vec![1]));
    assert!(!host.end.is_idle());
    assert_eq!(host.end.acknowledged(), MSS);
    host.answer(9, 9, None);
    assert!(host.end.is_idle());
}

/// A receiver grants a stream from its start, so a grant includes all data before it.
#[test]
fn a_grant_makes_up_for_those_before_it_that_were_lost() {
    let mut host = Sending::new("edf-grants", "");
    host.message(5, None);
    host.answer(0, 5, Some(0));
    host.answer(0, 5, Some(3));
    assert_eq!(host.sent(), [None, Some(0), Some(1), Some(2), Some(3)]);
    // A grant that was delayed, not lost, changes nothing; data that is granted again is sent again.
    let mut host = Sending::new("edf-grants", "");
    host.message(5, None);
    host.answer(0, 5, Some(3));
    host.sent();
    host.answer(0, 5, Some(1));
    assert_eq!((host.sent(), host.desk.again.clone()), (vec![], vec![]));
    host.answer(0, 5, Some(1));
    assert_eq!((host.sent(), host.desk.again), (vec![Some(1)], vec![1]));
    // A grant that is late is one timeout, not one for each grant that it makes up for.
    let mut host = Sending::new("edf-grants", "");
    host.message(5, None);
    let late = Grant { start: 3 * MSS, end: 4 * MSS, rank: 5, again: true, late: true };
    host.hear(0, 5 * MSS, Some(late));
    assert_eq!((host.sent().len(), host.desk.timeouts), (5, 1));
    // A segment ends where its message does: 1000, 1000 and 500 bytes of the first, then 1000 and 1000 of the second.
    let mut host = Sending::new("edf-grants", "");
    host.end.enqueue_message(&host.config, host.now, Message::of(Bytes(2500)), &mut host.desk);
    host.message(2, None);
    host.desk.sent.clear();
    host.answer_bytes(0, 4500, Some((3500, 4500, false)));
    let sent: Vec<(u64, u16)> = host.desk.sent.iter().map(|(_, packet, _)| (packet.seq, packet.payload)).collect();
    assert_eq!(sent, [(0, 1000), (1000, 1000), (2000, 500), (2500, 1000), (3500, 1000)]);
}

#[test]
fn an_acknowledgement_that_does_not_come_is_asked_for_after_2_and_4_ms() {
    let mut host = Sending::new("homa", "rtt_bytes = '9 packets'\nresend_after = '1 ms'\n");
    host.message(2, None);
    host.sent();
    host.desk.timer = Instant::MAX;
    host.answer(0, 2, None);
    assert_eq!([host.timer(), host.timer()], [2, 6].map(Instant::from_millis));
    assert_eq!((host.sent(), host.desk.timeouts), (vec![None; 2], 2));
}

#[test]
fn a_timer_that_was_set_for_something_else_asks_nothing() {
    let mut host = Sending::new("edf-grants", "");
    host.message(3, None);
    host.sent();
    host.desk.timer = Instant::from_micros(500);
    host.timer();
    assert_eq!((host.sent(), host.desk.timer), (vec![], Instant::from_millis(1)));
}

#[test]
fn the_link_of_the_sending_host_goes_to_the_shortest_message_or_the_earliest_deadline() {
    // Both messages are there before the link is free.
    let order = |name, keys: &str, messages: [(u64, Option<Instant>); 2], grants: u64| {
        let mut host = Sending::new(name, keys);
        host.desk.free = Instant::from_micros(100);
        messages.into_iter().for_each(|(segments, deadline)| host.message(segments, deadline));
        // The first class of laxity, or the last one.
        let rank = |segment| if segment < messages[0].0 || messages[1].1.is_some() { 1 } else { 6 };
        (0..grants).for_each(|segment| host.ranked(grants, segment, rank(segment)));
        host.desk.sent.clear();
        host.desk.free = Instant::ZERO;
        host.desk.ring_host();
        host.sent().into_iter().flatten().collect::<Vec<_>>()
    };
    let (soon, later) = (Some(Instant::from_millis(5)), Some(Instant::from_millis(9)));
    assert_eq!(order("homa", "rtt_bytes = '9 packets'\n", [(3, None), (2, None)], 0), [3, 4, 0, 1, 2]);
    assert_eq!(order("homa", "rtt_bytes = '9 packets'\n", [(2, None), (3, None)], 0), [0, 1, 2, 3, 4]);
    assert_eq!(order("edf-grants", "", [(3, later), (2, soon)], 5), [3, 4, 0, 1, 2]);
    assert_eq!(order("edf-grants", "", [(3, soon), (2, later)], 5), [0, 1, 2, 3, 4]);
    // A connection keeps its order, whatever is late.
    assert_eq!(order("edf-grants", "background_every = 2\n", [(6, soon), (3, None)], 9), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
}

/// Every third packet is of late messages, or none while others are queued.
#[test]
fn late_messages_have_every_so_manyth_packet_of_their_host() {
    let turns = |every: u64| {
        let mut host = Sending::new("edf-grants", &format!("background_every = {every}\n"));
        let mut other = Sender::new(&host.config);
        host.desk.free = Instant::from_micros(100);
        for (number, segments, rank) in [(0, 6, 1), (1, 3, 6)] {
            host.desk.acting = end(number);
            host.message(segments, Some(Instant::from_millis(5)));
            (0..segments).for_each(|segment| host.ranked(segments, segment, rank));
            std::mem::swap(&mut host.end, &mut other);
        }
        host.desk.sent.clear();
        host.desk.free = Instant::ZERO;
        host.desk.ring_host();
        host.desk.sent.iter().map(|(of, ..)| *of).collect::<Vec<_>>()
    };
    assert_eq!(turns(3), [0, 0, 1, 0, 0, 1, 0, 0, 1]);
    assert_eq!(turns(0), [0, 0, 0, 0, 0, 0, 1, 1, 1]);
}

/// Nine segments of a message were granted and seven have left when messages of three and of one are granted, or of three
/// alone.
#[test]
fn the_link_of_the_sending_host_goes_to_the_message_of_which_the_least_is_left() {
    for (messages, order) in [(&[3, 1][..], &[12, 7, 8, 9, 10, 11][..]), (&[3], &[7, 8, 9, 10, 11])] {
        let mut host = Sending::new("homa", "rtt_bytes = '9 packets'\n");
        host.desk.free = Instant::from_micros(100);
        host.message(9, None);
        for _ in 0..7 {
            host.desk.once = true;
            host.desk.host_timer = Instant::from_micros(1);
            host.desk.ring_host();
        }
        assert_eq!(host.sent(), [0, 1, 2, 3, 4, 5, 6].map(Some));
        messages.iter().for_each(|&segments| host.message(segments, None));
        host.desk.free = Instant::ZERO;
        host.desk.ring_host();
        assert_eq!(host.sent().into_iter().flatten().collect::<Vec<_>>(), order);
    }
}

#[test]
fn of_many_answers_at_once_little_is_sent_unasked() {
    let sent = |keys: &str, asked| {
        let mut host = Sending::new("homa", &format!("rtt_bytes = '2 packets'\n{keys}"));
        host.end.enqueue_message(
            &host.config,
            host.now,
            Message { asked, ..Message::of(Bytes(5 * MSS)) },
            &mut host.desk,
        );
        let unscheduled = match header(&host.desk.sent[0].2) {
            Some(Header::Ask(ask)) => ask.unscheduled,
            other => panic!("{other:?}"),
        };
        assert_eq!(host.desk.sent.iter().map(|(_, packet, _)| u64::from(packet.payload)).sum::<u64>(), unscheduled);
        unscheduled
    };
    // As many as are granted at a time, four of eight levels, are as any message.
    assert_eq!([0, 1, 4, 5, 400].map(|asked| sent("", asked)), [2000, 2000, 2000, 300, 300]);
    assert_eq!([7, 8].map(|asked| sent("incast_after = 7\nincast_unscheduled = '1 packet'\n", asked)), [2000, 1000]);
    // It is never more than of any message.
    assert_eq!(sent("incast_unscheduled = '9 packets'\n", 5), 2000);
}

/// A request would take too long for messages with little laxity: a segment takes 8 us. Messages with more are requested,
/// and so are messages that are late anyway, and many answers at once.
#[test]
fn what_cannot_wait_for_a_grant_is_sent_without_asking() {
    const FOUR: &str = "unasked = '4 packets'\noutstanding = '5 packets'\n";
    let sent = |keys: &str, segments: u64, asked: u32, due: Option<u64>| {
        let mut host = Sending::new("edf-grants", keys);
        let Control::Grants(policy) = &mut host.config.control else { panic!() };
        (policy.within, policy.rate) = (Span::from_micros(300), Rate::from_gbps(1));
        host.end = Sender::new(&host.config);
        let deadline = due.map(Instant::from_micros);
        let message = Message { deadline, asked, ..Message::of(Bytes(segments * MSS)) };
        host.end.enqueue_message(&host.config, host.now, message, &mut host.desk);
        let of = |host: &Sending| match header(&host.desk.sent[0].2) {
            Some(Header::Ask(ask)) => ask.unscheduled / MSS,
            other => panic!("{other:?}"),
        };
        let said = of(&host);
        assert_eq!(host.sent().iter().flatten().count() as u64, said);
        // The request is repeated alike, however near the deadline is by then.
        host.timer();
        assert_eq!(of(&host), said);
        said
    };
    // 308 us less 8 us for each segment, and four segments at most.
    assert_eq!([1, 4, 5, 38].map(|segments| sent(FOUR, segments, 1, Some(308))), [1, 4, 4, 4]);
    assert_eq!([Some(309), Some(8), Some(7)].map(|due| sent(FOUR, 1, 1, due)), [0, 1, 0]);
    // Without a deadline it is due after ten times its own time, which a long one can spend on asking.
    assert_eq!([1, 100].map(|segments| sent(FOUR, segments, 1, None)), [1, 0]);
    // Two answers of two, and three, where five segments may be in flight.
    assert_eq!([0, 2, 3].map(|asked| sent(FOUR, 2, asked, Some(300))), [2, 2, 0]);
    assert_eq!(sent("unasked = '0 packets'\n", 1, 1, Some(300)), 0);
}

#[test]
fn what_waits_for_the_link_is_not_lost_and_its_host_says_so() {
    let said = |name, keys: &str| {
        let mut host = Sending::new(name, keys);
        host.message(3, None);
        host.sent();
        host.desk.free = Instant::from_millis(5);
        host.answer(0, 3, Some(2));
        host.answer(0, 3, Some(2));
        host.desk.sent.iter().map(|(_, packet, extension)| (packet.payload, header(extension))).collect::<Vec<_>>()
    };
    assert_eq!(said("homa", "rtt_bytes = '1 packet'\n"), [(0, Some(Header::Busy(2 * MSS)))]);
    assert_eq!(said("edf-grants", ""), [(0, Some(Header::Busy(2 * MSS)))]);
    assert_eq!(said("sird", "unscheduled_up_to = '1 packet'\n"), []);
}

#[test]
fn nothing_is_sent_of_a_connection_that_is_closed() {
    let mut host = Sending::new("edf-grants", "");
    host.message(3, None);
    host.sent();
    host.desk.free = Instant::from_micros(100);
    host.answer(0, 3, Some(0));
    let (config, now) = (host.config.clone(), host.now);
    host.end.on_close(&config, now, &mut host.desk);
    host.desk.free = Instant::ZERO;
    host.desk.ring_host();
    assert_eq!(host.sent(), []);
}

#[test]
fn each_message_of_a_connection_has_a_first_round_trip_of_its_own() {
    let mut host = Sending::new("sird", "unscheduled = '2 packets'\nunscheduled_up_to = '4 packets'\n");
    host.message(4, None);
    host.message(4, None);
    assert_eq!(host.sent(), [0, 1, 4, 5].map(Some));
    // By its size, 1 KB or a byte more, it is in the first level of Homa or in the second; the last packet has the
    // rest.
    for (bytes, sent) in [(MSS, vec![(1000, 0)]), (MSS + 1, vec![(1000, 1), (1, 1)])] {
        let mut host = Sending::new("homa", "rtt_bytes = '9 packets'\n");
        host.message(5, None);
        host.desk.sent.clear();
        host.end.enqueue_message(&host.config, host.now, Message::of(Bytes(bytes)), &mut host.desk);
        let found: Vec<_> = host.desk.sent.iter().map(|(_, packet, _)| (packet.payload, packet.rank)).collect();
        assert_eq!(found, sent);
    }
}

#[test]
fn homa_and_sird_send_the_first_round_trip_unasked() {
    let first = |name, keys: &str, segments| {
        let mut host = Sending::new(name, keys);
        host.message(segments, None);
        let said = host.desk.sent.iter().filter(|(_, _, extension)| header(extension).is_some()).count();
        let sent = host.sent();
        assert_eq!(said, sent.len(), "each one tells of the message");
        sent
    };
    assert_eq!(first("homa", "rtt_bytes = '2 packets'\n", 5), [Some(0), Some(1)]);
    assert_eq!(first("sird", "unscheduled = '2 packets'\nunscheduled_up_to = '4 packets'\n", 4), [Some(0), Some(1)]);
    assert_eq!(first("sird", "unscheduled = '2 packets'\nunscheduled_up_to = '4 packets'\n", 5), [None]);
}

/// Homa 3.3: a grant says up to which byte a message may be sent, so that the next one makes up for lost grants.
/// SIRD's credit is for bytes.
#[test]
fn grant_of_homa_covers_all_data_before_it() {
    let sent = |name: &str, keys: &str| {
        let mut host = Sending::new(name, keys);
        host.message(6, None);
        host.sent();
        host.answer(0, 6, Some(4));
        host.sent()
    };
    assert_eq!(sent("homa", "rtt_bytes = '1 packet'\n"), [Some(1), Some(2), Some(3), Some(4)]);
    assert_eq!(sent("sird", "unscheduled_up_to = '1 packet'\n"), [Some(4)]);
}

#[test]
fn order_by_deadline_grants_the_earliest_and_sends_it_first() {
    let granted = |name: &str, keys: &str| {
        let mut host = Receiving::new(name, keys, 4);
        host.ask(0, (0, 2), Instant::MAX);
        host.granted();
        host.ask(1, (0, 9), Instant::from_millis(5));
        host.ask(2, (0, 3), Instant::from_millis(9));
        host.ask(3, (0, 4), Instant::from_millis(9));
        let next = [(0, 0), (0, 1)].map(|(of, segment)| {
            host.now += Span::from_micros(8);
            host.data(of, segment, Flags::NONE);
            host.granted()
        });
        next.concat()
    };
    let two = |order: &str| format!("outstanding = '2 packets'\npaced = false\norder = '{order}'\n");
    // The shortest, or the earliest deadline.
    assert_eq!(granted("sird", &two("remaining")), [(2, 0), (2, 1)]);
    assert_eq!(granted("sird", &two("deadline")), [(1, 0), (1, 1)]);
    let one = |order: &str| format!("rtt_bytes = '2 packets'\novercommitment = 1\norder = '{order}'\n");
    assert_eq!(granted("homa", &one("remaining")), [(2, 0), (2, 1)]);
    assert_eq!(granted("homa", &one("deadline")), [(1, 0), (1, 1)]);
    // Without a deadline a message is last, and is granted nevertheless.
    let mut host = Receiving::new("homa", &one("deadline"), 1);
    host.ask(0, (0, 1), Instant::MAX);
    assert_eq!(host.granted(), [(0, 0)]);
    // As edf-grants, the longest of what cannot all be in time: 9 and 3 packets of 8 us in 80.
    let mut host = Receiving::new("sird", &two("fewest-late"), 2);
    host.ask(0, (0, 9), Instant::from_micros(79));
    host.granted();
    host.ask(1, (0, 3), Instant::from_micros(80));
    host.data(0, 0, Flags::NONE);
    assert_eq!(host.granted(), [(1, 0)]);
    // At the sending host.
    let order = |keys: &str| {
        let mut host = Sending::new("homa", &format!("rtt_bytes = '9 packets'\n{keys}"));
        host.desk.free = Instant::from_micros(100);
        host.message(2, Some(Instant::from_millis(9)));
        host.message(3, Some(Instant::from_millis(5)));
        host.desk.free = Instant::ZERO;
        host.desk.ring_host();
        host.sent().into_iter().flatten().collect::<Vec<_>>()
    };
    assert_eq!([order(""), order("order = 'deadline'\n")], [[0, 1, 2, 3, 4], [2, 3, 4, 0, 1]]);
}

/// A packet of 1000 B takes 8 us on the link, so that the next credit is given when the one before has crossed it.
#[test]
fn sird_gives_credit_no_faster_than_its_link() {
    let granted = |keys: &str| {
        let mut host =
            Receiving::new("sird", &format!("outstanding = '6 packets'\nsender_limit = '6 packets'\n{keys}"), 1);
        host.ask(0, (0, 6), Instant::MAX);
        let mut found = vec![host.granted().len()];
        if !keys.contains("false") {
            for _ in 0..2 {
                let at = host.desk.ring_host();
                found.push((at.0 / 1_000_000) as usize);
                found.push(host.granted().len());
            }
        }
        found
    };
    assert_eq!(granted("paced = false\n"), [6]);
    assert_eq!(granted(""), [1, 8, 1, 16, 1]);
}

#[test]
fn unscheduled_data_of_sird_may_have_a_priority() {
    let ranks = |keys: &str| {
        let mut host =
            Sending::new("sird", &format!("unscheduled = '1 packet'\nunscheduled_up_to = '2 packets'\n{keys}"));
        host.message(2, None);
        let sent = host.desk.sent[0].1.rank;
        let mut host = Receiving::new("sird", keys, 1);
        host.ask(0, (0, 1), Instant::MAX);
        let (_, answer, extension) = &host.desk.sent[0];
        let Some(Header::Answer(Answer { grant: Some(grant), .. })) = header(extension) else { panic!("a grant") };
        (sent, answer.rank, grant.rank)
    };
    assert_eq!(ranks(""), (Packet::UNTAGGED, Packet::UNTAGGED, Packet::UNTAGGED));
    assert_eq!(ranks("unscheduled_first = true\n"), (0, 0, 1));
}
