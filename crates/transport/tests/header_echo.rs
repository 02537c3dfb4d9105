//! The receiving ends of families whose packets carry a header: when it returns, and with which acknowledgement.

use super::common;

use common::{Notes, config};
use transport::{Extension, Flags, Header, Packet, Receiver, d3, mcp, pdq};
use units::{Bytes, Instant, Span};

/// A receiver that answers every fourth segment, or after 1 ms; segments have 1000 B.
struct Bench {
    config: transport::registry::Config,
    receiver: Receiver,
    notes: Notes,
    now: Instant,
}

/// An ACK: the segments that it acknowledges, whether it answers a SYN, whether it echoes a mark, and the number in the
/// header that it returns.
type Ack = (u64, bool, bool, Option<u64>);

impl Bench {
    fn new(name: &str) -> Bench {
        let config = config(name, "mss = '1000 B'\nack_every = 4\nack_delay = '1 ms'");
        Bench { receiver: Receiver::new(&config), config, notes: Notes::default(), now: Instant::ZERO }
    }
    fn arrives(&mut self, segment: u64, bytes: u32, flags: Flags, header: Option<Header>) -> Vec<Ack> {
        let packet = Packet::data(segment * 1000, bytes, 40, self.now, flags);
        let mut extension = header.map(Extension::of_header);
        self.receiver.on_packet(&self.config, self.now, &packet, extension.as_mut(), &mut self.notes);
        self.acks()
    }
    fn acks(&mut self) -> Vec<Ack> {
        let number = |header: Header| match header {
            Header::D3(header) => header.number,
            Header::Pdq(header) => header.number,
            Header::Mcp(header) => header.largest,
            #[allow(unreachable_patterns, reason = "there are more where tests of state at hosts are compiled")]
            _ => unreachable!("nobody sent one"),
        };
        let answers = self.notes.sent.drain(..).map(|(ack, extension)| {
            let header = extension.and_then(|extension| extension.header);
            (ack.seq / 1000, ack.flags.has(Flags::SYN), ack.flags.has(Flags::ECE), header.map(number))
        });
        answers.collect()
    }
    /// Goes to the pending timer.
    fn timer(&mut self) -> Vec<Ack> {
        self.now = std::mem::replace(&mut self.notes.timer, Instant::MAX);
        assert_ne!(self.now, Instant::MAX, "no timer is pending");
        self.receiver.on_timer(&self.config, self.now, &mut self.notes);
        self.acks()
    }
}

fn pdq(number: u64, over: bool) -> Option<Header> {
    Some(Header::Pdq(Box::new(pdq::Header {
        own: 0,
        message: 0,
        number,
        sent: Instant::ZERO,
        over,
        deadline: None,
        left: Bytes(1000),
        rtt: Span::from_micros(100),
        rate: 1,
        paused_by: None,
        probe_every: 0.0,
        uplink: 1,
        hop: 3,
    })))
}

fn d3(number: u64, ask: d3::Ask) -> Option<Header> {
    Some(Header::D3(Box::new(d3::Header {
        own: 0,
        deadline: None,
        ask,
        message: 0,
        number,
        sent: Instant::ZERO,
        request: 1,
        previous_request: 0,
        previous: Vec::new(),
        grants: vec![1],
        uplink: 0,
    })))
}

fn mcp(number: u64) -> Option<Header> {
    Some(Header::Mcp(Box::new(mcp::Header { network: 0.0, largest: number })))
}

const PLAIN: Flags = Flags::NONE;

#[test]
fn decisions_of_ports_return_at_once() {
    let all = [
        ("pdq", [pdq(7, false), pdq(8, false), pdq(9, true)]),
        ("d3", { [d3(7, d3::Ask::Open), d3(8, d3::Ask::Renew), d3(9, d3::Ask::Close)] }),
    ];
    for (name, [first, second, over]) in all {
        let mut bench = Bench::new(name);
        assert_eq!(bench.arrives(0, 0, Flags::SYN, first), [(0, true, false, Some(7))], "{name}: as to a SYN");
        // No mark is echoed: nothing here is ECN-capable.
        assert_eq!(bench.arrives(0, 1000, Flags::CE, second), [(1, false, false, Some(8))], "{name}");
        assert_eq!(bench.arrives(1, 0, PLAIN, over), [], "{name}: nobody waits for the answer");
        assert_eq!(bench.receiver.next(), 1000);
        assert_eq!(bench.timer(), [], "{name}: nothing is held back");
    }
}

#[test]
fn what_is_acknowledged_together_returns_the_last_header() {
    let mut bench = Bench::new("mcp-opt");
    (0..3).for_each(|segment| assert_eq!(bench.arrives(segment, 1000, PLAIN, mcp(segment)), []));
    assert_eq!(bench.arrives(3, 1000, PLAIN, mcp(3)), [(4, false, false, Some(3))]);
    // Beyond a gap each is answered, with the blocks and with its header.
    assert_eq!(bench.arrives(5, 1000, PLAIN, mcp(5)), [(4, false, false, Some(5))]);
    assert_eq!(bench.arrives(4, 1000, PLAIN, mcp(4)), [(6, false, false, Some(4))]);
    // RFC 8257 3.2: when the mark changes, the delayed ACK is sent with the old one.
    assert_eq!(bench.arrives(6, 1000, PLAIN, mcp(6)), []);
    assert_eq!(bench.arrives(7, 1000, Flags::CE, mcp(7)), [(7, false, false, Some(7))]);
    assert_eq!(bench.arrives(9, 1000, Flags::CE, mcp(9)), [(8, false, true, Some(9))]);
    assert_eq!(bench.receiver.next(), 8000);
}

#[test]
fn what_is_held_back_is_answered_in_time() {
    for (name, header) in [("d3", None), ("mcp-opt", mcp(1))] {
        let mut bench = Bench::new(name);
        assert_eq!(bench.arrives(0, 1000, PLAIN, header), [], "{name}");
        assert_eq!(bench.timer(), [(1, false, false, None)], "{name}");
        assert_eq!(bench.now, Instant::from_millis(1), "{name}");
    }
}

/// An ACK with an extension says more than that all has arrived: to go-back-N it is the news of a gap.
#[test]
fn an_acknowledgement_without_a_header_has_no_extension() {
    for name in ["d3", "mcp-opt"] {
        let mut bench = Bench::new(name);
        (0..3).for_each(|segment| assert_eq!(bench.arrives(segment, 1000, PLAIN, None), [], "{name}"));
        let packet = Packet::data(3000, 1000, 40, bench.now, PLAIN);
        bench.receiver.on_packet(&bench.config, bench.now, &packet, None, &mut bench.notes);
        let [(ack, None)] = &bench.notes.sent[..] else { panic!("{name}: {:?}", bench.notes.sent) };
        assert_eq!(ack.seq, 4000, "{name}");
    }
}
