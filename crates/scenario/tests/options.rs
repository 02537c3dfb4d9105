//! `--set`, `--seed` and `compare`'s replacement of the transport.

use super::common;

use common::{attempt, example, read_with, small};
use scenario::Options;
use sim::network::Sharing;
use units::{Amount, HostId, Rate, Span};

const BASE: &str = include_str!("bad/base.toml");

fn set(option: &str) -> Options {
    Options { set: vec![option.to_owned()], ..Options::default() }
}

fn transport(name: &str) -> Options {
    Options { transport: Some(name.to_owned()), ..Options::default() }
}

#[test]
fn a_key_of_a_section_is_set() {
    let options = [
        "run.duration=2 s",
        "run.seed = 18446744073709551615",
        "network.buffer=50 KB",
        "network.sharing=per-port",
        "network.rate=\"10 Gbps\"",
    ];
    let found = read_with(&example("incast.toml"), &options);
    assert_eq!((found.scenario.run.duration, found.scenario.run.seed), (Span::from_millis(2000), u64::MAX));
    let switch = &found.scenario.network.switch;
    assert_eq!((switch.buffer, switch.sharing), (Amount::Bytes(50_000), Sharing::PerPort));
    assert_eq!(found.scenario.network.graph.host_rates()[HostId(0)], Rate::from_gbps(10));
}

#[test]
fn tables_are_made_or_changed_on_the_way() {
    let found =
        read_with(&small(), &["run.trace.every=1 ms", "run.trace.what=[\"queue\"]", "title=Another one"]).scenario;
    assert_eq!((found.run.trace.unwrap().every, found.title.as_str()), (Span::from_millis(1), "Another one"));
    let found = read_with(BASE, &["network.mark.uplink=9 packets", "traffic.search.deadline.base=7 ms"]);
    assert_eq!(found.resolved["network"]["mark"]["uplink"], "9 packets");
    assert_eq!(found.resolved["traffic"][0]["deadline"]["base"], "7 ms");
    assert_eq!(found.resolved["traffic"][0]["deadline"]["vary"], "uniform(0%, 50%)");
}

#[test]
fn deadlines_are_multiples_of_the_time_alone() {
    for (written, resolved) in [
        ("uniform(1.5, 10) * alone", "uniform(1.5, 10) * alone"),
        ("alone * exponential(3)", "exponential(3) * alone"),
        ("$fan_in * alone / 2", "1.5 * alone"),
        ("alone", "1 * alone"),
    ] {
        let found = read_with(BASE, &[&format!("traffic.search.deadline={written}")]);
        assert_eq!(found.resolved["traffic"][0]["deadline"], resolved);
    }
}

#[test]
fn times_alone_are_drawn_in_the_place_of_times() {
    // The same draw of the class's stream: its starts and sizes are the same, and the factors are the times' shares.
    let batches = |deadline: &str| {
        let mut found = read_with(BASE, &[&format!("traffic.search.deadline={deadline}")]);
        let generator = &mut found.scenario.classes[0].generator;
        (0..20).map(|_| generator.next().unwrap()).collect::<Vec<_>>()
    };
    for (times, multiples) in batches("uniform(2 ms, 4 ms)").into_iter().zip(batches("uniform(2, 4) * alone")) {
        assert_eq!((times.at, times.messages.len()), (multiples.at, multiples.messages.len()));
        assert_eq!((times.messages.len(), multiples.times_alone.len()), (3, 3));
        for ((time, multiple), factor) in times.messages.iter().zip(&multiples.messages).zip(&multiples.times_alone) {
            assert_eq!((time.start, time.bytes, multiple.deadline), (multiple.start, multiple.bytes, None));
            assert!((time.deadline.unwrap().as_micros_f64() / (1e3 * factor) - 1.0).abs() < 1e-9);
        }
    }
}

#[test]
fn parameters_classes_and_defaults_are_set() {
    let options = ["fan_in=5", "traffic.web.load=40%", "defaults.traffic.every=7 ms", "traffic.web.transport.ecn=true"];
    let found = read_with(BASE, &options);
    assert_eq!(found.resolved["traffic"][0]["leaves"], 5);
    assert_eq!(found.resolved["traffic"][0]["every"], "7 ms");
    assert_eq!(found.resolved["traffic"][3]["load"], 0.4);
    assert_eq!(found.resolved["traffic"][3]["transport"]["ecn"], true);
    assert_eq!(found.resolved["parameters"]["fan_in"], 5);
}

#[test]
fn the_topology_and_the_transport_are_set() {
    let found = read_with(&small(), &["transport.name=tcp", "transport.rto_min=5 ms"]).scenario;
    assert_eq!(
        (found.transport.as_str(), found.transports[0].config.connection.rto_min),
        ("tcp", Span::from_millis(5))
    );
    let text = small().replace("hosts = 5\n", "");
    let found = read_with(&text, &["network.topology=fat-tree", "network.k=4"]).scenario;
    assert_eq!(found.network.graph.hosts, 16);
}

#[test]
fn a_class_with_dots_in_its_name_is_found() {
    let text = small().replace("name = \"long\"", "name = \"v1.2\"");
    assert_eq!(read_with(&text, &["traffic.v1.2.start=5 ms"]).resolved["traffic"][0]["start"], "5 ms");
}

#[test]
fn the_last_of_several_counts() {
    assert_eq!(read_with(&small(), &["run.seed=2", "run.seed=3"]).scenario.run.seed, 3);
}

#[test]
fn a_seed_replaces_the_files() {
    let options = Options { seed: Some(u64::MAX), ..Options::default() };
    let found = attempt(&small(), &options).unwrap();
    assert_eq!((found.scenario.run.seed, found.resolved["run"]["seed"].as_u64()), (u64::MAX, Some(u64::MAX)));
}

/// Option, column, message, hint.
const WRONG: &[(&str, usize, &str, &str)] = &[
    ("run", 1, "`--set` needs path=value", "for example run.seed=7"),
    ("", 1, "`--set` needs path=value", "for example"),
    ("=5", 1, "the path before `=` is missing", ""),
    ("run.seed=", 10, "the value behind `=` is missing", ""),
    ("run..seed=5", 5, "a word is missing in this path", ""),
    ("run.sede=5", 5, "unknown key `sede` in [run]", "did you mean `seed`?"),
    ("rnu.seed=5", 1, "there is no section `rnu`", "did you mean `run`?"),
    ("fanin=5", 1, "there is no parameter `fanin` in [parameters]", "did you mean `fan_in`?"),
    ("seed=5", 1, "there is no parameter `seed` in [parameters]", "did you mean `run.seed`?"),
    ("rate=5", 1, "there is no parameter `rate` in [parameters]", "did you mean `network.rate`?"),
    ("transport=tcp", 1, "there is no parameter `transport`", "did you mean `transport.name`?"),
    ("run.seed=-5", 10, "`seed` cannot be negative", ""),
    ("run.duration=5 KB", 14, "a time is needed here, this is a size", "write it like"),
    ("run.duration=5 kilos", 16, "unknown unit `kilos`", "the units are"),
    ("run.duration=5 m", 16, "unknown unit `m`", "`min` is a minute, `ms` a millisecond"),
    ("run.duration=5 minutes", 16, "unknown unit `minutes`", "did you mean `min`?"),
    ("run.duration=5 hours", 16, "unknown unit `hours`", "did you mean `h`?"),
    ("network.rate=10 GBps", 17, "unknown unit `GBps`", "a byte is 8 bits, so 10 GB/s are 80 Gbps"),
    ("network.rate=10 G", 17, "unknown unit `G`", "`GB` is a size, `Gbps` a rate"),
    ("network.rate=10 gb/s", 17, "unknown unit `gb/s`", "`b` is a bit and `B` a byte"),
    ("network.rate=10 GBit", 17, "unknown unit `GBit`", "`Gbit` are sizes, `Kbps`, `Mbps`, `Gbps` rates"),
    ("run.duration=5", 14, "a time needs a unit", "write it like"),
    ("run.duration=\"5 s", 18, "this is no valid value", ""),
    ("run.seed.x=5", 5, "`seed` is a single value here", "set `seed` itself, without `.x`"),
    ("traffic.web.load.share=0.5", 13, "`load` is a single value here", "set `load` itself, without `.share`"),
    ("network.topology=stra", 18, "there is no topology `stra`", "did you mean `star`?"),
    ("transport.name=dctpc", 16, "there is no transport `dctpc`", "did you mean `dctcp`?"),
    ("transport.ns=0.4", 11, "`ns` belongs to transport `xdctcp`, this one is `d2tcp`", ""),
    ("traffic.wbe.load=5%", 9, "there is no traffic class `wbe`", "did you mean `web`?"),
    ("traffic.web=5", 9, "a key of class `web` is missing", "for example"),
    ("traffic.web.laod=5%", 13, "unknown key `laod`", "did you mean `load`?"),
    ("traffic.web.load=5 ms", 18, "`load` must be a share", ""),
    ("traffic=5", 1, "there is no parameter `traffic`", ""),
    ("traffic.backup.deadline=5 ms", 16, "a deadline without a size", ""),
    ("parameters.fan_in=[3]", 19, "a parameter is a number or a text", ""),
    ("tighter=two", 9, "`two` means nothing here", ""),
    ("tighter=5 ms", 0, "a time is needed here", ""),
];

#[test]
fn a_wrong_option_points_into_itself() {
    for (option, column, message, hint) in WRONG {
        let Err(error) = attempt(BASE, &set(option)) else { panic!("{option}: no error") };
        assert!(error.message().contains(message), "{option}: {error}");
        assert!(error.hint().unwrap_or_default().contains(hint), "{option}: {error}");
        // Column 0: the mistake shows where the value is used, in the file.
        let place = if *column == 0 { ("a.toml", 41, 21) } else { ("--set", 1, *column) };
        assert_eq!((error.file(), error.line(), error.column()), place, "{option}: {error}");
    }
}

#[test]
fn compare_replaces_the_transport() {
    let found = attempt(BASE, &transport("tcp")).unwrap();
    assert_eq!(found.scenario.transport, "tcp");
    let dropped =
        |notes: &[String]| notes.iter().filter(|note| note.contains("is dropped")).cloned().collect::<Vec<_>>();
    assert_eq!(dropped(&found.notes), ["`transport.g` is dropped: `tcp` has no such parameter"]);
    assert_eq!(found.resolved["transport"]["rto_min"], "20 ms");
    let found = attempt(BASE, &transport("dctcp")).unwrap();
    assert!(dropped(&found.notes).is_empty());
    assert_eq!(found.resolved["transport"]["g"], 0.0625);
    let of = |i: usize| found.scenario.transports[found.scenario.classes[i].transport].name;
    assert_eq!((of(0), of(2), of(3)), ("dctcp", "dctcp", "tcp"));
    assert_ne!(found.scenario.classes[0].transport, found.scenario.classes[2].transport); // g differs
}

#[test]
fn compare_works_without_a_transport_section() {
    let text = small().replace("[transport]\nname = \"dctcp\"\n", "");
    let Err(error) = attempt(&text, &Options::default()) else { panic!("no error") };
    assert!(error.message().contains("has no transport"), "{error}");
    assert_eq!(attempt(&text, &transport("cubic")).unwrap().scenario.transport, "cubic");
}

#[test]
fn compare_refuses_what_no_transport_knows() {
    let Err(error) = attempt(BASE, &transport("quick")) else { panic!("no error") };
    assert_eq!((error.file(), error.line(), error.column()), ("--transports", 1, 1));
    assert!(error.hint().unwrap().contains("`d2tcp`"), "{error}");
    let Err(error) = attempt(BASE, &transport("dtcp")) else { panic!("no error") };
    assert!(error.hint().unwrap().contains("did you mean"), "{error}");
    let Err(error) = attempt(&BASE.replace("g = 0.0625", "gg = 0.0625"), &transport("tcp")) else { panic!("no error") };
    assert_eq!((error.file(), error.line(), error.message()), ("a.toml", 25, "unknown key `gg` in [transport]"));
    // A dropped value is still checked.
    let Err(error) = attempt(&BASE.replace("g = 0.0625", "g = 7"), &transport("tcp")) else { panic!("no error") };
    assert_eq!((error.line(), error.column()), (25, 5));
}

#[test]
fn a_parameter_that_nothing_uses_is_noted() {
    let text = format!("[parameters]\nspare = 1\n{}", small());
    assert_eq!(attempt(&text, &Options::default()).unwrap().notes, ["parameter `spare` is not used by any value"]);
}

#[test]
fn a_circle_of_parameters_that_nothing_uses_is_found() {
    let text = format!("[parameters]\na = \"2 * $b\"\nb = \"$a\"\n{}", small());
    let Err(error) = attempt(&text, &Options::default()) else { panic!("no error") };
    assert_eq!((error.line(), error.message()), (2, "parameter `a` is defined by itself"));
    // Many that mention each other without a circle are read at once.
    let below = |i: usize| (0..i).map(|j| format!("+ $p{j}")).collect::<String>();
    let many: String = (0..30).map(|i| format!("p{i} = \"1 {}\"\n", below(i))).collect();
    let text = format!("[parameters]\n{many}{}", small());
    assert_eq!(attempt(&text, &Options::default()).unwrap().notes.len(), 30);
}

#[test]
fn a_section_is_no_parameter() {
    let options = Options { set: vec!["network=5".into()], ..Options::default() };
    let Err(error) = attempt(BASE, &options) else { panic!("no error") };
    assert_eq!(error.hint(), Some("`network` is a section, one of its keys is set as network.key=value"));
}

/// Two sets of applications whose transports are parameters, in the regime of `[transport]` (D2TCP figure 16).
fn sets() -> String {
    let class = |name: &str, set: &str| {
        format!(
            "[[traffic]]\nname = \"{name}\"\npattern = \"long\"\nfrom = 0\nto = 1\nset = \"{set}\"\n\
             transport = {{ name = \"${set}\", inherit = true }}\n"
        )
    };
    let transport = "name = \"dctcp\"\ninitial_window = 1\ninitial_alpha = 0.0\nrto_min = \"10 ms\"";
    let text = small().replace("name = \"dctcp\"", transport);
    format!("[parameters]\nA = \"tcp\"\nB = \"d2tcp\"\n{text}{}{}", class("app-1", "A"), class("app-2", "B"))
}

#[test]
fn sets_of_classes_take_over_what_the_common_transport_says() {
    let found = read_with(&sets(), &[]);
    assert_eq!(found.scenario.classes[1].set.as_deref(), Some("A"));
    let written = |class: usize, key: &str| found.resolved["traffic"][class]["transport"][key].clone();
    assert_eq!((written(1, "name"), written(1, "rto_min")), ("tcp".into(), "10 ms".into()));
    // TCP has no alpha, and needs none.
    assert_eq!((written(1, "initial_alpha"), written(2, "initial_alpha")), (serde_json::Value::Null, 0.0.into()));
    assert_eq!((written(2, "name"), written(2, "initial_window")), ("d2tcp".into(), 1.0.into()));
    let changed =
        read_with(&sets(), &["B=tcp", "traffic.app-1.transport.name=d2tcp", "traffic.app-1.transport.rto_min=5 ms"]);
    assert_eq!(changed.resolved["traffic"][1]["transport"]["name"], "d2tcp");
    assert_eq!(changed.resolved["traffic"][1]["transport"]["rto_min"], "5 ms");
    let named = read_with(&sets(), &["traffic.app-1.transport=cubic"]);
    assert_eq!(named.resolved["traffic"][1]["transport"]["rto_min"], "5 ms", "a name stands for its defaults");
}

/// Returns `[transport]` of a scenario that names this profile, or none, and writes these keys in it.
fn under(profile: Option<&str>, transport: &str) -> serde_json::Value {
    let named = profile.map(|name| format!("profile = \"{name}\"\n")).unwrap_or_default();
    let text = named + &small().replace("name = \"dctcp\"", transport);
    read_with(&text, &[]).resolved["transport"].clone()
}

#[test]
fn a_profile_sets_what_is_left_out() {
    let keys = ["rto_min", "rto_initial", "rto_granularity", "ack_every", "ack_delay", "loss_detection", "tlp"];
    let values = |profile| keys.map(|key| under(profile, "name = \"dctcp\"")[key].to_string().replace('"', ""));
    let datacenter = ["5 ms", "10 ms", "5 ms", "2", "1 ms", "rack", "true"];
    assert_eq!(values(None), datacenter);
    assert_eq!(values(Some("datacenter")), datacenter);
    assert_eq!(values(Some("linux")), ["200 ms", "1 s", "200 ms", "2", "40 ms", "rack", "true"]);
    assert_eq!(values(Some("classic")), ["20 ms", "20 ms", "1 ms", "1", "1 ms", "dupacks", "false"]);
    assert_eq!(under(None, "name = \"tcp\"")["ecn"], true);
    assert_eq!(under(Some("linux"), "name = \"tcp\"")["ecn"], false);
    assert_eq!(read_with(&small(), &["profile=linux"]).resolved["profile"], "linux");
}

#[test]
fn a_key_that_is_written_replaces_the_profile_and_others_follow_it() {
    let found = under(None, "name = \"dctcp\"\nrto_min = \"1 ms\"");
    assert_eq!([&found["rto_initial"], &found["ack_delay"], &found["rto_granularity"]], ["2 ms", "200 us", "1 ms"]);
    let both = under(None, "name = \"dctcp\"\nrto_min = \"1 ms\"\nrto_initial = \"7 ms\"");
    assert_eq!(both["rto_initial"], "7 ms");
    // Constants of the kernel, and of the papers' simulators.
    assert_eq!(under(Some("linux"), "name = \"dctcp\"\nrto_min = \"1 ms\"")["rto_initial"], "1 s");
    assert_eq!(under(Some("classic"), "name = \"dctcp\"\nrto_min = \"1 ms\"")["rto_initial"], "20 ms");
    let newreno = under(None, "name = \"dctcp\"\nrecovery = \"newreno\"");
    assert_eq!((&newreno["loss_detection"], &newreno["tlp"]), (&"dupacks".into(), &false.into()));
}

#[test]
fn segments_are_jumbo_frames_where_hosts_have_a_hundred_gigabits() {
    let mss = |profile: &str, rate: &str| {
        let changes = [format!("profile={profile}"), format!("network.rate={rate}")];
        read_with(&small(), &[&changes[0], &changes[1]]).resolved["transport"]["mss"].to_string()
    };
    assert_eq!(["99 Gbps", "100 Gbps"].map(|rate| mss("datacenter", rate)), ["\"1.46 KB\"", "\"8.96 KB\""]);
    assert_eq!(["linux", "classic"].map(|profile| mss(profile, "400 Gbps")), ["\"1.46 KB\""; 2]);
}

#[test]
fn a_transport_keeps_what_it_declares_anew() {
    let [classic, linux] = ["classic", "linux"].map(|name| under(Some(name), "name = \"pfabric\""));
    for key in ["rto_min", "rto_initial", "ack_every", "tlp", "limited_transmit"] {
        assert_eq!(classic[key], linux[key], "{key}");
    }
    assert_ne!(classic["loss_detection"], linux["loss_detection"]);
}

#[test]
fn the_transport_of_a_class_has_the_profile_too() {
    let text = small() + "transport = { name = \"tcp\", rto_min = \"2 ms\" }\n";
    let found = read_with(&text, &[]).resolved;
    assert_eq!(found["traffic"][0]["transport"]["rto_initial"], "4 ms");
    assert_eq!(found["transport"]["rto_initial"], "10 ms");
}

#[test]
fn a_profile_that_there_is_not_is_an_error_with_the_nearest_word() {
    let error = attempt(&format!("profile = \"linus\"\n{}", small()), &Options::default()).err().unwrap().to_string();
    assert!(error.contains("`profile` cannot be `linus`") && error.contains("did you mean `linux`?"), "{error}");
}

#[test]
fn what_the_profile_has_set_is_explained_with_its_source() {
    let text = small().replace("name = \"dctcp\"", "name = \"dctcp\"\ntlp = false");
    let source = scenario::Source { name: "a.toml", text: &text, folder: None };
    let found = scenario::explain(&source, &Options::default()).unwrap();
    let set = found["profile"]["set"].as_array().unwrap();
    let of = |key: &str| set.iter().find(|setting| setting["key"] == key);
    assert_eq!(found["profile"]["name"], "datacenter");
    assert_eq!(of("rto_initial").unwrap()["value"], "10 ms");
    assert!(of("rto_initial").unwrap()["source"].as_str().unwrap().contains("twice rto_min"));
    assert!(of("tlp").is_none() && of("g").is_none(), "written, and no key of the profile");
}
