//! The example files are read as they are.

use super::common;

use common::{examples, folder, read, read_with};
use scenario::{Options, Source, to_toml};
use sim::network::Sharing;
use units::{Amount, Bytes, Instant, Span};

#[test]
fn every_example_is_read() {
    let examples = examples();
    assert!(examples.len() >= 9);
    for (name, text) in examples {
        let source = Source { name: &name, text: &text, folder: Some(&folder()) };
        let found = scenario::read(&source, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
        assert!(!found.scenario.classes.is_empty());
    }
}

#[test]
fn what_is_resolved_can_be_read_again() {
    let (of, plain) = examples().into_iter().next().expect("there are examples");
    let lossless = plain.replacen("[network]", "[network]\nlossless = true", 1);
    for (name, text) in examples().into_iter().chain([(format!("{of}, lossless"), lossless)]) {
        let first = read(&text);
        let again = to_toml(first.resolved.as_object().unwrap());
        let source = Source { name: &name, text: &again, folder: Some(&folder()) };
        let second = scenario::read(&source, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(first.resolved, second.resolved, "{name}");
        assert_eq!((&first.scenario.run, &first.scenario.network), (&second.scenario.run, &second.scenario.network));
        assert_eq!(first.scenario.transports.len(), second.scenario.transports.len());
        for (a, b) in first.scenario.transports.iter().zip(&second.scenario.transports) {
            assert_eq!((a.name, &a.config), (b.name, &b.config));
        }
        for (mut a, mut b) in first.scenario.classes.into_iter().zip(second.scenario.classes) {
            assert_eq!(
                (&a.name, a.pattern, a.transport, a.persistent, a.short),
                (&b.name, b.pattern, b.transport, b.persistent, b.short)
            );
            for _ in 0..50 {
                assert_eq!(a.generator.next(), b.generator.next(), "{name}");
            }
        }
    }
}

#[test]
fn values_arrive_as_they_were_written() {
    let incast = common::example("incast.toml");
    let found = read(&incast).scenario;
    assert_eq!((found.title.as_str(), found.transport.as_str()), ("Incast, 40 to 1", "d2tcp"));
    assert_eq!((found.run.duration, found.run.seed), (Span::from_millis(1000), 1));
    assert_eq!(found.network.switch.buffer, Amount::Bytes(4_000_000));
    assert_eq!(found.network.switch.sharing, Sharing::Dynamic(1.0));
    assert_eq!(found.network.switch.marks.host, Some(Amount::Packets(20)));
    assert_eq!(found.network.graph.hosts, 41);
    let mut generator = found.classes.into_iter().next().unwrap().generator;
    let batch = generator.next().unwrap();
    assert_eq!((batch.at, batch.messages.len()), (Instant::from_millis(25), 40));
    for message in batch.messages {
        assert_eq!(message.bytes, Some(Bytes(14_000)));
        assert!((Span::from_millis(20)..Span::from_millis(30)).contains(&message.deadline.unwrap()));
    }
}

#[test]
fn a_class_may_have_its_own_transport() {
    let found = read(&common::example("mixed.toml"));
    let of = |i: usize| found.scenario.transports[found.scenario.classes[i].transport].name;
    assert_eq!((of(0), of(1), of(2)), ("d2tcp", "tcp", "dctcp"));
    assert_eq!(found.resolved["traffic"][2]["transport"]["g"], 0.0625);
    assert_eq!(found.resolved["traffic"][1]["transport"]["ecn"], false);
}

#[test]
fn classes_on_the_same_transport_share_it() {
    let text = common::small().replace("[transport]\nname = \"dctcp\"\n", "")
        + "transport = \"tcp\"\n[[traffic]]\nname = \"b\"\npattern = \"long\"\nfrom = 0\nto = 1\ntransport = { name = \"tcp\", ecn = true }\n";
    let found = read(&text).scenario;
    assert_eq!((found.transports.len(), found.transport.as_str()), (1, "tcp"));
}

#[test]
fn parameters_reach_every_kind_of_value() {
    let text = common::small()
        .replace("hosts = 5", "hosts = \"$n + 1\"")
        .replace("from = \"0..4\"", "from = \"0..$n\"")
        .replace("to = 4", "to = \"$n\"")
        .replace("name = \"dctcp\"", "name = \"$law\"\nidle_restart = \"$restart\"")
        .replace("\"1 s\"", "\"$time * 2\"");
    let text = format!(
        "[parameters]\nn = 4\nlaw = \"dctcp\"\nrestart = true\ntime = \"$half + 250 ms\"\nhalf = \"250 ms\"\n\n{text}"
    );
    let found = read(&text).scenario;
    assert_eq!((found.network.graph.hosts, found.run.duration), (5, Span::from_millis(1000)));
    assert_eq!(found.transport, "dctcp");
    let found = read_with(&text, &["n=9", "law=tcp"]).scenario;
    assert_eq!((found.network.graph.hosts, found.transport.as_str()), (10, "tcp"));
}

#[test]
fn start_follows_the_position_in_the_list() {
    let found = read(&common::example("w1.toml")).scenario;
    let mut generator = found.classes.into_iter().next().unwrap().generator;
    let starts: Vec<Instant> = std::iter::from_fn(|| generator.next()).map(|batch| batch.at).collect();
    assert_eq!((starts.len(), starts[0], starts[39]), (40, Instant::ZERO, Instant::from_micros(390)));
}
