//! Notes on valid scenarios: each lint has findings where it should, and nowhere else.

use super::common;

use common::{folder, read_with};
use scenario::{Options, Source};

/// Eight hosts answer one, 10 packets each, over a port that holds 100 packets and marks above 20.
const QUIET: &str = r#"profile = "classic"
[run]
duration = "100 ms"

[network]
topology = "star"
hosts = 9
rate = "1 Gbps"
delay = "20 us"
buffer = "100 packets"
sharing = "per-port"
mark = "20 packets"

[transport]
name = "dctcp"
rto_min = "5 ms"

[[traffic]]
name = "answers"
pattern = "fan-in"
leaves = 8
every = "10 ms"
size = "14600 B"
deadline = "8 ms"
jitter = "uniform(0 us, 50 us)"
"#;

/// Returns the names of the notes on it, and the first note.
fn notes(changes: &[&str]) -> (Vec<String>, String) {
    let notes = read_with(QUIET, changes).notes;
    (names(&notes), notes.first().cloned().unwrap_or_default())
}

fn names(notes: &[String]) -> Vec<String> {
    // A note without a name is no lint's.
    let name = |note: &String| Some(note.rsplit_once('[')?.1.trim_end_matches(']').to_owned());
    notes.iter().filter_map(name).collect()
}

#[track_caller]
fn says(changes: &[&str], lint: &str, words: &str) {
    let (names, first) = notes(changes);
    assert_eq!(names, [lint], "{changes:?}: {first}");
    assert!(first.contains(words), "{first}");
}

#[track_caller]
fn is_silent(changes: &[&str]) {
    assert_eq!(notes(changes).0, Vec::<String>::new(), "{changes:?}");
}

#[test]
fn a_sound_scenario_is_told_nothing() {
    is_silent(&[]);
}

#[test]
fn a_note_says_where_the_key_stands() {
    let source = Source { name: "a.toml", text: QUIET, folder: Some(&folder()) };
    let options = Options { set: vec!["network.buffer=15 packets".into()], ..Options::default() };
    let notes = scenario::read(&source, &options).unwrap().notes;
    // `mark` is line 12 of the text, `buffer` was given on the command line.
    assert!(notes[0].contains("(a.toml:12:1) [mark-beyond-port]"), "{notes:?}");
    assert!(notes[1].contains("(--set:1:") && notes[1].ends_with("[burst-above-port]"), "{notes:?}");
}

#[test]
fn k_at_what_a_port_holds_is_never_exceeded() {
    // 100 packets: with K = 99 the hundredth is marked, with K = 100 there is no hundred and first.
    is_silent(&["network.mark=99 packets"]);
    says(&["network.mark=100 packets"], "mark-beyond-port", "switch to host 0 and 8 more");
    // A shared pool of 200 leaves a single port 100 at alpha = 1, a split one 200 / 9.
    is_silent(&["network.sharing=dynamic", "network.buffer=200 packets", "network.mark=99 packets"]);
    says(
        &["network.sharing=dynamic", "network.buffer=200 packets", "network.mark=100 packets"],
        "mark-beyond-port",
        "150 KB",
    );
    let (split, _) = notes(&["network.sharing=static", "network.buffer=900 packets", "network.mark=100 packets"]);
    assert_eq!(split, ["mark-beyond-port"]);
    // A transport without marks has no such note.
    is_silent(&["network.mark=100 packets", "transport.name=tcp"]);
}

/// 20 packets of 1500 B are 30 KB, and of 9000 B 180 KB.
#[test]
fn k_in_packets_grows_with_jumbo_frames() {
    let jumbo = |more: &[&str]| {
        let changes = [&["network.rate=100 Gbps", "transport.mss=8960 B"], more].concat();
        let notes = read_with(QUIET, &changes).notes;
        notes.into_iter().find(|note| note.ends_with("[mark-in-jumbo-frames]"))
    };
    let note = jumbo(&[]).unwrap();
    assert!(note.contains("20 packets are 180 KB") && note.contains("mark = \"30 KB\""), "{note}");
    assert!(note.contains("6.0 times"), "{note}");
    for silent in ["network.mark=30 KB", "network.rate=40 Gbps", "transport.mss=1460 B", "transport.name=tcp"] {
        assert_eq!(jumbo(&[silent]), None, "{silent}");
    }
}

#[test]
fn ecn_needs_marks() {
    let without = QUIET.replace("mark = \"20 packets\"\n", "");
    let notes = |set: &[&str]| read_with(&without, set).notes;
    assert!(notes(&[])[0].starts_with("dctcp: it listens to ECN marks"), "{:?}", notes(&[]));
    assert!(notes(&["transport.name=cubic"]).is_empty());
    assert_eq!(notes(&["transport.name=cubic", "transport.ecn=true"]).len(), 1);
}

#[test]
fn a_timeout_is_too_long_from_the_longest_deadline_on() {
    is_silent(&["transport.rto_min=7.9 ms"]);
    says(&["transport.rto_min=8 ms"], "rto-above-deadline", "rto_min = 8 ms");
    is_silent(&["transport.rto_min=8 ms", "traffic.answers.deadline={ base = \"8 ms\", vary = \"uniform(0, 50%)\" }"]);
    // Receivers that grant have times of their own.
    let receivers = ["transport.rto_min=8 ms", "transport.name=edf-grants"];
    assert_eq!(read_with(QUIET, &receivers).notes, ["edf-grants: it does not read `rto_min` of [transport]"]);
}

#[test]
fn what_a_transport_does_not_read_is_named_and_left_out() {
    let of = |changes: &[&str]| {
        let read = read_with(QUIET, changes);
        (read.notes, read.resolved["transport"].as_object().unwrap().clone())
    };
    let (notes, written) = of(&["transport.name=d3", "transport.nagle=true", "transport.initial_window=3"]);
    assert_eq!(notes, ["d3: it does not read `nagle` or `initial_window` of [transport]"]);
    assert!(written.contains_key("rto_min") && !written.contains_key("nagle"), "{written:?}");
    // Keys that are not read must be right all the same: the file is for others too.
    let source = Source { name: "a.toml", text: QUIET, folder: Some(&folder()) };
    let set = ["transport.name=homa", "transport.nagle=perhaps"].map(String::from).to_vec();
    assert!(scenario::read(&source, &Options { set, ..Options::default() }).is_err());
    // A class that inherits takes over what it reads.
    let inherits = "traffic.answers.transport={ name = \"sird\", inherit = true, nagle = true }";
    let expected = "sird: it does not read `nagle` of `transport` of [[traffic]] `answers`";
    assert_eq!(of(&[inherits]).0, [expected]);
}

#[test]
fn deadlines_below_the_empty_network_cannot_be_met() {
    // Ten packets of 1500 B at 1 Gbps take 120 us, two links add 40 us.
    is_silent(&["traffic.answers.deadline=5001 us"]);
    let (names, text) = notes(&["traffic.answers.deadline=159 us", "transport.rto_min=100 us"]);
    assert_eq!(names, ["deadline-too-short"]);
    assert!(text.contains("100.00 % of the deadlines of class `answers`: ") || text.contains("160 us"), "{text}");
    is_silent(&["traffic.answers.deadline=161 us", "transport.rto_min=100 us"]);
    is_silent(&["traffic.answers.deadline=alone", "transport.rto_min=100 us"]);
    let (names, text) = notes(&["traffic.answers.deadline=0.9 * alone", "transport.rto_min=100 us"]);
    assert_eq!(names, ["deadline-too-short"], "{text}");
}

#[test]
fn first_windows_that_come_together_overflow_a_small_port() {
    // 8 x 15 000 B, of which at most 50 us x 125 B/us are sent while they arrive.
    is_silent(&["network.buffer=80 packets"]);
    says(&["network.buffer=74 packets"], "burst-above-port", "of 8 messages of class `answers`");
    // Spread over ten times as long as they take, they do not meet.
    is_silent(&["network.buffer=74 packets", "traffic.answers.jitter=uniform(0 ms, 9 ms)"]);
    is_silent(&["network.buffer=74 packets", "transport.initial_window=2"]);
}

#[test]
fn floors_that_fill_path_and_k_keep_the_queue() {
    // The path holds 80 us at 125 B/us and a packet on each link, 13 000 B; K 30 000 B; the buffer 150 000 B.
    is_silent(&["transport.cwnd_floor=3"]);
    says(&["transport.cwnd_floor=4"], "floor-above-mark", "BDP + K (43 KB)");
    is_silent(&["transport.cwnd_floor=4", "transport.name=tcp"]);
    // To defer is to send less than any floor.
    is_silent(&["transport.cwnd_floor=4", "transport.name=d2tcp_plus"]);
    // A message of ten packets keeps ten in flight at most: 120 000 B in all.
    says(&["transport.cwnd_floor=20"], "floor-above-mark", "keep 120 KB in flight");
    let lossy =
        ["transport.cwnd_floor=10", "network.buffer=60 packets", "transport.name=tcp", "transport.initial_window=1"];
    says(&lossy, "floor-above-mark", "packets are dropped however far the senders back off");
}

#[test]
fn what_is_never_random_is_said() {
    let exact = ["traffic.answers.jitter=0 s", "network.host_jitter=0 s"];
    says(&exact, "nothing-random", "another seed gives the same run");
    // By default hosts have a jitter.
    is_silent(&exact[..1]);
    is_silent(&["traffic.answers.jitter=0 s", "network.host_jitter=1 us"]);
}

#[test]
fn traffic_that_never_meets_has_no_bottleneck() {
    let apart = r#"
[[traffic]]
name = "aside"
pattern = "long"
from = 8
to = 9
"#;
    // The aggregator is host 10, its leaves hosts 0 to 7.
    let notes = |text: &str| read_with(&format!("{QUIET}{text}"), &["network.hosts=11"]).notes;
    assert!(notes(apart)[0].contains("`aside` shares no link with another class"), "{:?}", notes(apart));
    assert_eq!((notes(apart).len(), notes(&apart.replace("to = 9", "to = 10"))), (1, vec![]));
    // Two flows into one port fill a part of the buffer that the aggregator's port shares.
    let filling = apart.replace("from = 8", "from = [7, 8]");
    let dynamic = ["network.hosts=11", "network.sharing=dynamic", "network.buffer=1 MB"];
    assert_eq!(read_with(&format!("{QUIET}{filling}"), &dynamic).notes, Vec::<String>::new());
    assert_eq!(read_with(&format!("{QUIET}{apart}"), &dynamic).notes.len(), 1);
    let alone = QUIET.split("[[traffic]]").next().unwrap().to_owned() + apart;
    let notes = read_with(&alone, &["network.hosts=11"]).notes;
    assert!(notes.iter().any(|note| note.contains("no queue can build")), "{notes:?}");
}

#[test]
fn classes_without_messages_that_count_are_named() {
    says(&["traffic.answers.start=1 s"], "no-messages", "`answers` sends nothing before the run ends at 100 ms");
    says(&["run.warm_up=95 ms", "traffic.answers.count=3"], "no-messages", "in the warm-up of 95 ms");
}

/// Returns the notes on it with a fault.
fn with_fault(fault: &str, changes: &[&str]) -> Vec<String> {
    let text = QUIET.replace("[transport]", &format!("[[fault]]\n{fault}\n[transport]"));
    read_with(&text, changes).notes
}

#[test]
fn faults_that_change_nothing_are_named() {
    let says = |fault: &str, changes: &[&str], words: &str| {
        let notes = with_fault(fault, changes);
        assert!(notes.iter().any(|note| note.contains(words) && note.contains("[fault-without-effect]")), "{notes:?}");
    };
    says("kind = 'down'\nat = '100 ms'", &[], "begins at 100 ms, when nothing is counted");
    says("kind = 'down'\nlink = 'host 8'", &["network.hosts=10"], "no message takes");
    says("kind = 'no-marks'\nlink = 'host 3'", &[], "mark nothing anyway");
    for quiet in ["kind = 'down'\nat = '99 ms'", "kind = 'down'\nlink = 'host 3 -> switch'", "kind = 'no-marks'"] {
        let notes = with_fault(quiet, &[]);
        assert!(names(&notes).iter().all(|name| name != "fault-without-effect"), "{quiet}: {notes:?}");
    }
}

#[test]
fn losses_are_random() {
    let still = ["network.host_jitter=0 s", "traffic.answers.jitter=0 s"];
    let has = |notes: Vec<String>| names(&notes).contains(&"nothing-random".to_owned());
    assert!(has(read_with(QUIET, &still).notes));
    assert!(has(with_fault("kind = 'down'\nat = '9 ms'", &still)));
    assert!(!has(with_fault("kind = 'loss'\nprobability = 0.1", &still)));
    assert!(!has(with_fault("kind = 'down'\nshare = '20%'", &still)));
}

/// The notes on each scenario of `scenarios/`. All of them are true. The papers' regime lets bursts overflow 50 KB and
/// two segments per answer exceed path and buffer (that is its point). Its marks at uplinks of the same 50 KB are never
/// reached. W1 to W3 and the incast keep a standing queue at the default floor of two segments. A timeout of 20 ms is
/// longer than some deadlines.
const TOLD: &[(&str, &[&str])] = &[
    ("all-reduce.toml", &[]),
    ("custom.toml", &["rto-above-deadline", "burst-above-port", "floor-above-mark"]),
    ("four-flows.toml", &[]),
    ("incast.toml", &["floor-above-mark"]),
    ("large-messages.toml", &[]),
    ("mixed.toml", &[]),
    ("oldi-background.toml", &["mark-beyond-port", "burst-above-port", "floor-above-mark"]),
    ("oldi.toml", &["mark-beyond-port", "burst-above-port", "floor-above-mark"]),
    ("rails.toml", &[]),
    ("rpc.toml", &[]),
    ("serving.toml", &[]),
    ("tree.toml", &["rto-above-deadline", "burst-above-port"]),
    ("w1.toml", &["floor-above-mark"]),
    ("w2.toml", &[]),
    ("w3.toml", &["floor-above-mark"]),
    ("websearch.toml", &["floor-above-mark"]),
    ("xdctcp.toml", &[]),
];

#[test]
fn shipped_scenarios_are_told_what_is_true_of_them() {
    let examples = common::examples();
    let told: Vec<(&str, Vec<String>)> =
        examples.iter().map(|(name, text)| (&name[..], names(&common::read(text).notes))).collect();
    for ((name, found), (known, expected)) in told.iter().zip(TOLD) {
        assert_eq!((*name, found.iter().map(String::as_str).collect::<Vec<_>>()), (*known, expected.to_vec()));
    }
    assert_eq!(told.len(), TOLD.len());
}

/// Forty senders and one receiver at 10 Gbps.
const MANY_TO_ONE: &str = r#"
profile = "classic"
[run]
duration = "100 ms"
[network]
topology = "star"
hosts = 41
rate = "10 Gbps"
delay = "25 us"
buffer = "250 packets"
sharing = "per-port"
mark = "65 packets"
[transport]
name = "dctcp"
rto_min = "10 ms"
[[traffic]]
name = "web"
pattern = "poisson"
from = "0..40"
to = 40
load = "80%"
size = "cdf(websearch)"
connections = "persistent"
"#;

/// Returns the note of that name on a scenario, if there is one.
fn note(text: &str, changes: &[&str], name: &str) -> Option<String> {
    let notes = read_with(text, changes).notes;
    notes.into_iter().find(|note| note.ends_with(&format!("[{name}]")))
}

#[test]
fn overload_of_a_receiver_names_link_figure_and_class() {
    // Forty times 80 %, with 40 B of headers to each 1460 B: 32 * 1500 / 1460.
    let told = note(MANY_TO_ONE, &[], "overload").unwrap();
    assert!(told.starts_with("switch to host 40 is offered 3,288 % of what it carries, by class `web`"), "{told}");
    assert!(told.contains("results depend on the duration"), "{told}");
    // The receiver's link is full at 2.43 %: 1460 / 1500 / 40.
    assert_eq!(note(MANY_TO_ONE, &["traffic.web.load=2.4%"], "overload"), None);
    assert!(note(MANY_TO_ONE, &["traffic.web.load=2.5%"], "overload").is_some());
    // Five times a sender's own link.
    let senders = note(MANY_TO_ONE, &["traffic.web.load=5", "traffic.web.to=\"0..41\""], "overload").unwrap();
    assert!(senders.contains("; 80 more links are offered too much"), "{senders}");
}

#[test]
fn overload_of_an_uplink_follows_from_the_paths() {
    let text = MANY_TO_ONE.replace(
        "topology = \"star\"\nhosts = 41",
        "topology = \"leaf-spine\"\nleaves = 2\nhosts_per_leaf = 8\nspines = 2\nuplink = \"10 Gbps\"",
    );
    let text = text.replace("from = \"0..40\"\nto = 40", "from = \"0..8\"\nto = \"8..16\"");
    // Eight hosts over two uplinks of their own rate: four times the load.
    assert_eq!(note(&text, &["traffic.web.load=24%"], "overload"), None);
    let told = note(&text, &["traffic.web.load=80%"], "overload").unwrap();
    assert!(told.contains("is offered 329 % of what it carries") && told.contains("leaf"), "{told}");
    assert!(told.contains("3 more links"), "{told}");
}

#[test]
fn a_fan_in_that_asks_too_often_is_overload() {
    // 16-random-incast/over.toml: 20 answers of 200 KB every 10 ms, from 10 ms on, are 2.88 Gbps and headers.
    let changes = ["network.hosts=21", "traffic.answers.leaves=20", "traffic.answers.size=200 KB"];
    let told = note(QUIET, &changes, "overload").unwrap();
    assert!(told.contains("switch to host 20 is offered 296 % of what it carries"), "{told}");
    assert_eq!(note(QUIET, &[], "overload"), None);
}

#[test]
fn a_list_that_cannot_arrive_is_overload() {
    let listed = QUIET.split("[[traffic]]").next().unwrap().to_owned()
        + "[[traffic]]\nname = 'copy'\npattern = 'flows'\nflows = [{ from = '0..2', to = 8, size = '7 MB' }]\n";
    let told = note(&listed, &[], "overload").unwrap();
    assert!(told.contains("is offered 115 % of what it carries") && told.contains("the run's 100 ms"), "{told}");
    assert_eq!(note(&listed.replace("7 MB", "6 MB"), &[], "overload"), None);
}

/// `VL2_CDF.txt` of the HKUST traffic generator: sizes in bytes, and the share of those up to them.
const VL2: &str = "0 0\n180 0.1\n216 0.2\n560 0.3\n900 0.4\n1100 0.5\n1870 0.6\n3160 0.7\n10000 0.8\n400000 0.9\n\
                   3160000 0.95\n100000000 0.98\n1000000000 1\n";

#[test]
fn a_tail_that_a_run_does_not_meet_is_named() {
    let text = MANY_TO_ONE
        .replace("from = \"0..40\"\nto = 40\nload = \"80%\"", "load = \"40%\"")
        .replace("hosts = 41", "hosts = 16");
    let notes = |duration: &str, size: &str| {
        let set = vec![format!("run.duration={duration}"), format!("traffic.web.size=cdf({size})")];
        let files = [("VL2_CDF.txt".to_owned(), VL2.as_bytes().to_vec())].into();
        let source = Source { name: "a.toml", text: &text, folder: Some(&folder()) };
        let notes = scenario::read(&source, &Options { set, files, ..Options::default() }).unwrap().notes;
        notes.into_iter().find(|note| note.ends_with("[tail-not-met]"))
    };
    // Its mean is 12.7 MB, so that 40 % of sixteen links bring 63 messages in 100 ms.
    let told = notes("100 ms", "VL2_CDF.txt").unwrap();
    let begins =
        "class `web`: about 63 messages are expected, too few for sizes with a mean of 12.7 MB: 44.5 % of that";
    assert!(told.starts_with(begins) && told.contains("; this seed draws "), "{told}");
    assert_eq!(notes("10 s", "VL2_CDF.txt"), None);
    assert_eq!(notes("100 ms", "websearch"), None);
    // Sizes that are always alike have no tail, however few there are.
    let alike = note(QUIET, &["traffic.answers.count=1", "traffic.answers.leaves=1"], "tail-not-met");
    assert_eq!(alike, None);
}

#[test]
fn a_first_timeout_below_the_round_trip_is_named() {
    // 28-rtt-above-rto: 4 x 24.9 ms and a packet at 1 Gbps and at 50 Mbps.
    let wan = r#"
profile = "classic"
[run]
duration = "2 s"
[network]
topology = "star"
hosts = 2
rate = "1 Gbps"
bottleneck = "50 Mbps"
delay = "24.9 ms"
buffer = "100 packets"
sharing = "per-port"
[transport]
name = "cubic"
rto_initial = "20 ms"
[[traffic]]
name = "a"
pattern = "long"
from = 0
to = 1
"#;
    let told = note(wan, &[], "rtt-above-rto").unwrap();
    assert!(told.starts_with("cubic: rto_initial = 20 ms is shorter than the 99.9 ms there and back"), "{told}");
    assert!(told.contains("write rto_initial = \"1 s\"") && told.contains("a.toml:15:1"), "{told}");
    assert_eq!(note(wan, &["transport.rto_initial=100 ms"], "rtt-above-rto"), None);
    assert!(note(wan, &["transport.rto_initial=99.8 ms"], "rtt-above-rto").is_some());
    // Receivers that grant have times of their own.
    assert_eq!(note(wan, &["transport.name=homa"], "rtt-above-rto"), None);
}

#[test]
fn a_network_outside_of_a_papers_regime_is_named_with_the_papers_setting() {
    let name = "outside-regime";
    // Two links there and back and a full packet on each: 104.3 us at 1 Gbps bring 13 KB; the port holds 150 KB.
    let told = note(QUIET, &["transport.name=pfabric"], name).unwrap();
    assert!(told.starts_with("pfabric: a port holds 11 bandwidth-delay products, its paper's 2"), "{told}");
    assert!(told.contains("and sharing = \"per-port\" (a.toml:10:1)"), "{told}");
    let buffer = told.split("buffer = \"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    assert_eq!(note(QUIET, &["transport.name=pfabric", &format!("network.buffer={buffer}")], name), None);
    // DCTCP's K, and K of the transports derived from it.
    for kin in ["dctcp", "d2tcp", "d2tcp_plus", "xdctcp"] {
        let transport = format!("transport.name={kin}");
        let told = note(QUIET, &[&transport, "network.mark=1 packets"], name).unwrap();
        assert!(told.contains("below a seventh of the bandwidth-delay product"), "{told}");
        assert_eq!(note(QUIET, &[&transport, "network.mark=2 packets"], name), None);
    }
    assert_eq!(note(QUIET, &["transport.name=tcp", "network.mark=1 packets"], name), None);
    // Homa's grants need four products.
    assert!(note(QUIET, &["transport.name=homa", "network.buffer=30 packets"], name).is_some());
    assert_eq!(note(QUIET, &["transport.name=homa", "network.buffer=40 packets"], name), None);
    // Ports that serve otherwise.
    let told = note(QUIET, &["transport.name=hull", "network.marking=threshold"], name).unwrap();
    assert!(told.starts_with("hull: ports mark by `threshold`, and it was made for marking = \"phantom\""), "{told}");
    assert_eq!(note(QUIET, &["transport.name=hull"], name), None);
    assert!(note(QUIET, &["transport.name=homa", "network.discipline=fifo"], name).unwrap().contains("\"priority\""));
}

/// Returns the highest load that a link is expected to be offered, in percent.
fn expected_percent(text: &str, changes: &[&str]) -> f64 {
    let source = Source { name: "a.toml", text, folder: Some(&folder()) };
    let set = changes.iter().map(|change| (*change).to_owned()).collect();
    let explained = scenario::explain(&source, &Options { set, ..Options::default() }).unwrap();
    let links = explained["links"].as_array().unwrap();
    links.iter().map(|link| link["expected_percent"].as_f64().unwrap()).fold(0.0, f64::max)
}

#[test]
fn a_load_can_be_a_share_of_the_bottleneck_or_of_uplinks() {
    let headers = 1500.0 / 1460.0;
    let percent = |text: &str, load: &str| expected_percent(text, &[&format!("traffic.web.load={load}")]) / headers;
    let close = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-3, "{found} {expected}");
    close(percent(MANY_TO_ONE, "80%"), 3200.0);
    close(percent(MANY_TO_ONE, "{ of = 'hosts', share = '80%' }"), 3200.0);
    close(percent(MANY_TO_ONE, "{ of = 'bottleneck', share = '80%' }"), 80.0);
    assert_eq!(note(MANY_TO_ONE, &["traffic.web.load={ of = 'bottleneck', share = '80%' }"], "overload"), None);
    let text = MANY_TO_ONE
        .replace(
            "\"star\"\nhosts = 41",
            "\"leaf-spine\"\nleaves = 2\nhosts_per_leaf = 8\nspines = 2\nuplink = \"10 Gbps\"",
        )
        .replace("from = \"0..40\"\nto = 40\n", "");
    // 8 of 15 receivers are at the other leaf: 8 * 8/15 over two uplinks are 32/15 of the hosts' load.
    close(percent(&text, "30%"), 64.0);
    close(percent(&text, "{ of = 'uplinks', share = '30%' }"), 30.0);
    close(percent(&text, "{ of = 'bottleneck', share = '30%' }"), 30.0);
    // With wide uplinks the hosts are the bottleneck.
    let wide = text.replace("uplink = \"10 Gbps\"", "uplink = \"100 Gbps\"");
    close(percent(&wide, "{ of = 'bottleneck', share = '30%' }"), 30.0);
    close(percent(&wide, "{ of = 'uplinks', share = '30%' }"), 30.0 * 10.0 / 2.1333333);
}
