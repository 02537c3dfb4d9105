//! Runs that are told their messages on the way, by hand: the classes, the numbers, and the times of the ends.

use super::common;

use sim::{Completed, Oracle, Transfer};
use units::{Bytes, ClassId, HostId, Instant, Span};

/// A star of four hosts: a full packet takes 12 us on each of two links, and each link delays it by 20 us. Of three
/// classes a program hands over the first and the last.
const STAR: &str = "[run]\nduration = '20 ms'\n\
    [network]\ntopology = 'star'\nhosts = 4\nrate = '1 Gbps'\ndelay = '20 us'\nhost_jitter = '0 s'\n\
    [transport]\nname = 'tcp'\nmss = '1460 B'\nheader = '40 B'\nack_every = 1\n\
    [[traffic]]\nname = 'a'\npattern = 'program'\n\
    [[traffic]]\nname = 'beside'\npattern = 'flows'\nflows = [{ from = 2, to = 3, size = '1460 B', start = '1 ms' }]\n\
    [[traffic]]\nname = 'b'\npattern = 'program'\n";

fn oracle(text: &str) -> Option<Oracle> {
    let source = scenario::Source { name: "test", text, folder: None };
    let read = scenario::read(&source, &common::classic());
    Oracle::new(read.unwrap_or_else(|error| panic!("{error}\n{text}")).scenario)
}

fn us(us: u64) -> Instant {
    Instant::from_micros(us)
}

/// A message of some full packets from host 0 or 1 to host 3.
fn transfer(at: Instant, from: u32, packets: u64) -> Transfer {
    Transfer { at, from: HostId(from), to: HostId(3), bytes: Bytes(packets * 1460), deadline: None }
}

fn done(number: u64, at: Instant) -> Completed {
    Completed { number, at, aborted: false }
}

#[test]
fn the_classes_of_a_program_are_named_and_no_others() {
    let oracle = oracle(STAR).expect("it has two classes of a program");
    assert_eq!(oracle.classes(), [("a".to_string(), ClassId(0)), ("b".to_string(), ClassId(2))]);
    let none = STAR.replace("pattern = 'program'", "pattern = 'flows'\nflows = [{ from = 0, to = 1, size = '1 KB' }]");
    assert!(self::oracle(&none).is_none());
}

/// One packet takes 2 x (12 + 20) us, three take 24 us longer.
#[test]
fn transfers_end_when_their_last_byte_arrives() {
    let mut oracle = oracle(STAR).expect("it has classes of a program");
    let numbers = [
        oracle.transfer(ClassId(0), transfer(us(100), 0, 3)),
        oracle.transfer(ClassId(2), transfer(us(100), 1, 1)),
        oracle.transfer(ClassId(0), transfer(us(900), 1, 1)),
    ];
    assert_eq!(numbers, [0, 1, 2]);
    assert_eq!(oracle.advance(us(163), false), []);
    assert_eq!(oracle.world().now(), us(163), "to the time that was asked for");
    // The two first packets meet at the last link: whichever is first, the transfer of three ends 24 + 12 us later.
    let ended = oracle.advance(us(500), false);
    assert_eq!(ended.iter().map(|ended| ended.number).collect::<Vec<_>>(), [1, 0], "in the order of their ends");
    assert!([us(164), us(176)].contains(&ended[0].at), "{ended:?}");
    assert_eq!(ended[1], done(0, us(200)));
    assert_eq!(oracle.advance(us(500), false), [], "each is told once");
    // The message of the class beside them is no transfer.
    assert_eq!(oracle.advance(us(2_000), false), [done(2, us(964))]);
    let messages = oracle.into_world().finish().messages;
    assert_eq!(messages.iter().filter(|message| message.end.is_some()).count(), 4);
}

#[test]
fn a_run_that_stops_at_a_completion_goes_on_from_there() {
    let mut oracle = oracle(STAR).expect("it has classes of a program");
    oracle.transfer(ClassId(0), transfer(us(100), 0, 1));
    oracle.transfer(ClassId(0), transfer(us(300), 0, 1));
    assert_eq!(oracle.advance(us(5_000), true), [done(0, us(164))]);
    assert_eq!(oracle.world().now(), us(164), "not much happens after it");
    // A time in the past is now.
    assert_eq!(oracle.transfer(ClassId(0), transfer(us(10), 1, 1)), 2);
    assert_eq!(oracle.advance(us(5_000), true), [done(2, us(228))]);
    assert_eq!(oracle.advance(us(200), true), [], "and time does not run back");
    assert!(oracle.world().now() >= us(228));
    assert_eq!(oracle.advance(us(5_000), true), [done(1, us(364))]);
    assert_eq!(oracle.advance(us(5_000), true), []);
    assert_eq!(oracle.world().now(), us(5_000));
}

#[test]
fn a_transfer_that_its_transport_gives_up_is_aborted() {
    let text = STAR.replace("name = 'tcp'", "name = 'd2tcp'\nexpired = 'abort'");
    let mut oracle = oracle(&text).expect("it has classes of a program");
    let late = Transfer { deadline: Some(Span::from_micros(150)), ..transfer(us(100), 0, 100) };
    oracle.transfer(ClassId(0), late);
    let ended = oracle.advance(us(5_000), true);
    let [Completed { number: 0, at, aborted: true }] = ended[..] else { panic!("{ended:?}") };
    assert!(at > us(250), "after its deadline: {at:?}");
}
