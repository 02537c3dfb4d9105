//! The common code of the tests of this folder: a configuration from a scenario's keys, one end of a connection fed by
//! hand, and timelines as tables.
#![allow(dead_code, reason = "each test file uses its part of this")]

use transport::host::{AtHost, End, HostOutput};
use transport::registry::{self, Config};
use transport::{
    Blocks, Expired, Extension, Flags, Message, Observation, Output, Packet, Receiver, Sender, Shared, Site,
    Surroundings,
};
use units::{Bytes, ConnectionId, HostId, Instant, Rate, Span, Values};

/// The configuration of a transport with these settings, a line each as in `[transport]`: `rto_min = '20 ms'`.
pub(crate) fn config(name: &str, keys: &str) -> Config {
    config_in(name, keys, &Surroundings::default())
}

/// The same for a network of its own.
pub(crate) fn config_in(name: &str, keys: &str, surroundings: &Surroundings) -> Config {
    let pairs = keys.lines().filter_map(|line| line.split_once('='));
    let plain = |text: &'static str| move |c: char| c.is_whitespace() || text.contains(c);
    let given: Vec<(&str, &str)> = pairs.map(|(key, value)| (key.trim(), value.trim_matches(plain("'\"[]")))).collect();
    let transport = registry::find(name).unwrap_or_else(|| panic!("there is no transport `{name}`"));
    Values::read(transport.keys(), &given)
        .and_then(|mut values| transport.build(&mut values, surroundings))
        .unwrap_or_else(|problem| panic!("{name}: {problem}"))
}

/// Bytes of a segment here, so that positions read as segments.
pub(crate) const MSS: u64 = 1000;

/// More packets, or expiries of a timer, than any test here has: a greater number is a loop.
const ENOUGH: usize = 10_000;

/// Records the requests of an end; of the timers only the earliest that is pending.
#[derive(Debug)]
pub(crate) struct Notes {
    pub sent: Vec<(Packet, Option<Extension>)>,
    pub timer: Instant,
    pub timeouts: u64,
    pub probes: u64,
    pub given_up: Vec<(u64, u64)>,
    /// Number of data packets for which the host's queue has room.
    pub room: usize,
    /// The time at which all sent packets will have left the host's port; in the past if that is not known.
    pub leaves: Instant,
    /// Bits of its own.
    pub own: u64,
    /// The state of the connection's host, and the time at which it is to be woken.
    pub shared: Shared,
    pub host_timer: Instant,
}

impl Default for Notes {
    fn default() -> Notes {
        Notes {
            sent: Vec::new(),
            timer: Instant::MAX,
            timeouts: 0,
            probes: 0,
            given_up: Vec::new(),
            room: usize::MAX,
            leaves: Instant::ZERO,
            own: 0,
            shared: Shared::default(),
            host_timer: Instant::MAX,
        }
    }
}

impl Notes {
    fn enqueue(&mut self, packet: Packet, extension: Option<Extension>) {
        assert!(self.sent.len() < ENOUGH, "it sends without end");
        self.room = self.room.saturating_sub(usize::from(packet.payload > 0));
        self.sent.push((packet, extension));
    }
}

impl Output for Notes {
    fn send(&mut self, packet: Packet) {
        self.enqueue(packet, None);
    }
    fn send_extended(&mut self, packet: Packet, extension: Extension) {
        self.enqueue(packet, Some(extension));
    }
    fn arm(&mut self, at: Instant) {
        self.timer = self.timer.min(at);
    }
    fn leaves(&self) -> Instant {
        self.leaves
    }
    fn has_room(&mut self) -> bool {
        self.room > 0
    }
    fn timed_out(&mut self, _: Expired) {
        self.timeouts += 1;
    }
    fn probed(&mut self) {
        self.probes += 1;
    }
    fn abandon(&mut self, end: u64, unsent: Bytes) {
        self.given_up.push((end, unsent.0));
    }
    fn site(&self) -> Site {
        Site { rate: Rate(1_000_000_000), frame_overhead: Bytes::ZERO, hops: 4, host: HostId(0), own: self.own }
    }
}

impl HostOutput for Notes {
    fn send_from(&mut self, _: End, packet: Packet, extension: Option<Extension>) {
        assert!(self.sent.len() < ENOUGH, "it sends without end");
        self.sent.push((packet, extension));
    }
    fn arm_host(&mut self, at: Instant) {
        self.host_timer = self.host_timer.min(at);
    }
}
impl AtHost for Notes {
    fn end(&self) -> End {
        ONLY
    }
    fn shared(&mut self) -> &mut Shared {
        &mut self.shared
    }
}

/// The one connection here.
pub(crate) const ONLY: End = End { connection: ConnectionId(0), generation: 0, route: 0, own: 0 };

/// A sender whose time and acknowledgements are given by hand.
pub(crate) struct Bench {
    pub config: Config,
    pub sender: Sender,
    pub notes: Notes,
    pub now: Instant,
    timers: usize,
}

impl Bench {
    /// Segments have [`MSS`] bytes.
    pub(crate) fn new(name: &str, keys: &str) -> Bench {
        let config = config(name, &format!("mss = '{MSS} B'\n{keys}"));
        Bench { sender: Sender::new(&config), config, notes: Notes::default(), now: Instant::ZERO, timers: 0 }
    }
    pub(crate) fn message(&mut self, bytes: u64, deadline: Option<Instant>) {
        self.enqueue_message(Message { deadline, ..Message::of(Bytes(bytes)) });
    }
    pub(crate) fn enqueue_message(&mut self, message: Message) {
        self.sender.enqueue_message(&self.config, self.now, message, &mut self.notes);
    }
    /// An ACK of everything before `segment`, with a stamp (an RTT sample) if one is given, and with the ranges of
    /// segments that have arrived beyond a gap.
    pub(crate) fn ack(&mut self, segment: u64, stamp: Option<Instant>, flags: Flags, sacked: &[(u64, u64)]) {
        let packet = Packet::ack(segment * MSS, 40, stamp.unwrap_or(Instant::MAX), flags);
        let mut blocks = Blocks::default();
        sacked.iter().for_each(|(start, end)| blocks.push((start * MSS, end * MSS)));
        let mut extension = (!sacked.is_empty()).then_some(Extension::of_blocks(blocks));
        self.sender.on_packet(&self.config, self.now, &packet, extension.as_mut(), &mut self.notes);
    }
    /// An ACK of everything before `segment` with the news of a gap there, for go-back-N.
    pub(crate) fn gap(&mut self, segment: u64, flags: Flags) {
        let packet = Packet::ack(segment * MSS, 40, Instant::MAX, flags);
        self.sender.on_packet(&self.config, self.now, &packet, Some(&mut Extension::default()), &mut self.notes);
    }
    /// Goes to the pending timer.
    pub(crate) fn timer(&mut self) {
        self.now = std::mem::replace(&mut self.notes.timer, Instant::MAX);
        assert_ne!(self.now, Instant::MAX, "no timer is pending");
        self.timers += 1;
        assert!(self.timers < ENOUGH, "it is woken without end");
        self.sender.on_timer(&self.config, self.now, &mut self.notes);
    }
    /// The host's queue has room for this number of packets.
    pub(crate) fn room(&mut self, packets: usize) {
        self.notes.room = packets;
        self.sender.on_room(&self.config, self.now, &mut self.notes);
    }
    pub(crate) fn wait(&mut self, time: Span) {
        self.now += time;
    }
    /// The segments sent since this was last called, as their numbers.
    pub(crate) fn sent(&mut self) -> Vec<u64> {
        self.notes.sent.drain(..).map(|(packet, _)| packet.seq / MSS).collect()
    }
    pub(crate) fn observe(&self) -> Observation {
        let mut seen = Observation::default();
        self.sender.observe(&self.config, self.now, &mut seen);
        seen
    }
    pub(crate) fn cwnd(&self) -> f64 {
        self.observe().get("cwnd").unwrap()
    }
    /// Infinite while it is not shown.
    pub(crate) fn ssthresh(&self) -> f64 {
        self.observe().get("ssthresh").unwrap_or(f64::INFINITY)
    }
}

/// Plays a table against a sender: a line for each moment, `time | input | expected output`. Segments are numbered from
/// 0.
///
/// - Inputs are `message 20` (segments), `ack 5` (segments 0 to 4 have arrived), `timer` (the retransmission timer
///   expires now, and not before), or `wait` (it has not expired until now). An ACK may have `of 100us` (the time when
///   the data was sent that it answers, for an RTT sample), `sack 7-9`, `ece` and `syn`. With `trimmed 3` a switch has
///   removed segment 3, and with `trimmed 3 again` the one that was sent again.
/// - The output is every packet sent, in order: `5`, `5-9`, `5r` (sent again), `5+cwr`, `syn`, `opened`. It also
///   has the signals' values then: `cwnd=`, `ssthresh=`, `alpha=`, `srtt=`.
///
/// Until the time of the next line the timer must not expire.
pub(crate) fn timeline(name: &str, keys: &str, table: &str) {
    let mut bench = Bench::new(name, keys);
    for line in lines(table) {
        let [time, event, expected] = columns(line);
        let (at, timer) = (parse_time(time), event == "timer" || event == "wait");
        assert!(at >= bench.now, "{line}: time runs back");
        let (before, mut last) = (bench.notes.timeouts, Instant::ZERO);
        while bench.notes.timer < at || timer && bench.notes.timer == at {
            let so_far = bench.notes.timeouts;
            bench.timer();
            last = if bench.notes.timeouts > so_far { bench.now } else { last };
        }
        bench.now = at;
        let expired = bench.notes.timeouts - before;
        assert_eq!(expired, u64::from(event == "timer"), "{line}: the timer expired, last at {last}");
        assert!(expired == 0 || last == at, "{line}: the timer expired at {last}");
        let mut words = event.split_whitespace();
        match words.next() {
            Some("message") => bench.message(words.next().unwrap().parse::<u64>().unwrap() * MSS, None),
            Some("ack") => {
                let segment = words.next().unwrap().parse().unwrap();
                let (mut stamp, mut flags, mut sacked) = (None, Flags::NONE, Vec::new());
                while let Some(word) = words.next() {
                    match word {
                        "of" => stamp = Some(parse_time(words.next().unwrap())),
                        "ece" => flags = flags.with(Flags::ECE),
                        "syn" => flags = flags.with(Flags::SYN),
                        "sack" => sacked.extend(words.by_ref().map(range)),
                        _ => panic!("{line}: {word}"),
                    }
                }
                bench.ack(segment, stamp, flags, &sacked);
            }
            Some("trimmed") => {
                let segment: u64 = words.next().unwrap().parse().unwrap();
                let stamp = if words.next() == Some("again") { Instant::MAX } else { Instant::ZERO };
                let nack = Packet::ack(segment * MSS, 40, stamp, Flags::NACK);
                bench.sender.on_trimmed(&bench.config, at, &nack, &mut bench.notes);
            }
            Some("timer" | "wait") => {}
            _ => panic!("{line}: what comes in?"),
        }
        let (values, packets): (Vec<&str>, Vec<&str>) =
            expected.split_whitespace().partition(|word| word.contains('='));
        let packets: Vec<String> = packets.into_iter().flat_map(spread).collect();
        let sent: Vec<String> = bench.notes.sent.drain(..).map(|(packet, _)| describe(&packet)).collect();
        assert_eq!(sent, packets, "{line}: what is sent (left) is not what must follow");
        for value in values {
            check(&bench, value, line);
        }
    }
}

/// Plays a table against a receiver, as [`timeline`] does for senders: `time | data | expected ACKs`.
///
/// Inputs are `data 3` with `ce`, `cwr`, `rank 2`, or `wait`. Data carries the time of the line as its stamp. The
/// output is `ack 4` with `of 100us` (the stamp that it returns), `ece`, `rank 2` and `sack 6-7`; several are separated
/// by commas. Other properties of an ACK than the written ones are not checked, but for the echo and the blocks.
pub(crate) fn answers(name: &str, keys: &str, table: &str) {
    let config = config(name, &format!("mss = '{MSS} B'\n{keys}"));
    let (mut receiver, mut notes) = (Receiver::new(&config), Notes::default());
    for line in lines(table) {
        let [time, event, expected] = columns(line);
        let at = parse_time(time);
        let mut timers = 0;
        while notes.timer < at || event == "wait" && notes.timer == at {
            timers += 1;
            assert!(timers < ENOUGH, "{line}: it is woken without end");
            let now = std::mem::replace(&mut notes.timer, Instant::MAX);
            receiver.on_timer(&config, now, &mut notes);
            assert!(notes.sent.is_empty() || now == at, "{line}: it answered at {now}");
        }
        if let Some(data) = event.strip_prefix("data ") {
            let mut words = data.split_whitespace();
            let segment: u64 = words.next().unwrap().parse().unwrap();
            let mut packet = Packet::data(segment * MSS, MSS as u32, 40, at, Flags::ECT);
            while let Some(word) = words.next() {
                match word {
                    "ce" => packet.flags = packet.flags.with(Flags::CE),
                    "cwr" => packet.flags = packet.flags.with(Flags::CWR),
                    "rank" => packet.rank = words.next().unwrap().parse().unwrap(),
                    _ => panic!("{line}: {word}"),
                }
            }
            receiver.on_packet(&config, at, &packet, None, &mut notes);
        }
        let acks: Vec<_> = notes.sent.drain(..).collect();
        let expected: Vec<&str> = expected.split(',').map(str::trim).filter(|ack| !ack.is_empty()).collect();
        assert_eq!(acks.len(), expected.len(), "{line}: {acks:?}");
        for ((ack, extension), expected) in acks.iter().zip(expected) {
            let (mut echo, mut sacked) = (false, Vec::new());
            let mut words = expected.split_whitespace();
            while let Some(word) = words.next() {
                match word {
                    "ack" => assert_eq!(ack.seq, words.next().unwrap().parse::<u64>().unwrap() * MSS, "{line}"),
                    "of" => assert_eq!(ack.stamp, parse_time(words.next().unwrap()), "{line}"),
                    "rank" => assert_eq!(ack.rank, words.next().unwrap().parse::<u32>().unwrap(), "{line}"),
                    "ece" => echo = true,
                    "sack" => sacked.extend(words.by_ref().map(range).map(|(start, end)| (start * MSS, end * MSS))),
                    _ => panic!("{line}: {word}"),
                }
            }
            assert_eq!(ack.flags.has(Flags::ECE), echo, "{line}: the echo");
            let blocks = match extension {
                Some(extension) => extension.sack.as_slice(),
                _ => &[],
            };
            assert_eq!(blocks, sacked, "{line}: the blocks");
        }
    }
}

fn lines(table: &str) -> impl Iterator<Item = &str> {
    table.lines().map(str::trim).filter(|line| !line.is_empty())
}

fn columns(line: &str) -> [&str; 3] {
    let mut columns = line.split('|').map(str::trim);
    [columns.next().unwrap(), columns.next().unwrap_or(""), columns.next().unwrap_or("")]
}

fn parse_time(text: &str) -> Instant {
    let digits = text.trim_end_matches(char::is_alphabetic);
    let value: f64 = digits.parse().unwrap_or_else(|_| panic!("{text} is no time"));
    let ps = match &text[digits.len()..] {
        "us" => 1e6,
        "ms" => 1e9,
        "s" => 1e12,
        unit => panic!("{text}: {unit}"),
    };
    Instant((value * ps).round() as u64)
}

/// `7-9` as the segments from 7 up to, but without, 10.
fn range(text: &str) -> (u64, u64) {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    (first.parse().unwrap(), last.parse::<u64>().unwrap() + 1)
}

/// `5-7` as 5, 6, 7; `5-7r` as 5r, 6r, 7r.
fn spread(word: &str) -> Vec<String> {
    let numbers = word.trim_end_matches('r');
    match numbers.split_once('-') {
        Some(_) => {
            let (start, end) = range(numbers);
            (start..end).map(|number| format!("{number}{}", &word[numbers.len()..])).collect()
        }
        None => vec![word.to_string()],
    }
}

fn describe(packet: &Packet) -> String {
    if packet.flags.has(Flags::OPENED) {
        return "opened".to_string();
    }
    let again = packet.flags.has(Flags::AGAIN);
    // Karn's rule: a retransmission carries no stamp that could become a sample.
    assert_eq!(again, packet.stamp == Instant::MAX, "{packet:?}");
    if packet.flags.has(Flags::SYN) {
        return "syn".to_string();
    }
    // Messages of a table are whole segments.
    assert_eq!((packet.seq % MSS, u64::from(packet.payload)), (0, MSS), "{packet:?}");
    let cwr = if packet.flags.has(Flags::CWR) { "+cwr" } else { "" };
    format!("{}{}{cwr}", packet.seq / MSS, if again { "r" } else { "" })
}

/// `cwnd=5.25`: to half a unit of the last digit.
fn check(bench: &Bench, expected: &str, line: &str) {
    let (name, value) = expected.split_once('=').unwrap();
    let got = match name {
        "srtt" => return assert_eq!(bench.observe().get(name), Some(parse_time(value).as_micros_f64()), "{line}"),
        "ssthresh" => bench.ssthresh(),
        _ => bench.observe().get(name).unwrap_or_else(|| panic!("{line}: {name}")),
    };
    let digits = value.split_once('.').map_or(0, |(_, digits)| digits.len());
    let value: f64 = value.parse().unwrap();
    let near = got == value || (got - value).abs() <= 0.500_001 * 10f64.powi(-(digits as i32));
    assert!(near, "{line}: {name} is {got}");
}
