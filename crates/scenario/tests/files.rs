//! Files that a scenario names: distributions and lists of messages, and mistakes in them.

use super::common;

use std::path::PathBuf;

use common::small;
use scenario::{Error, Options, Read, Source};
use sim::traffic;
use units::{Bytes, Instant, Span};

/// A folder of its own, removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &[u8])]) -> Folder {
        let folder = std::env::temp_dir().join(format!("duetime-scenario-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for (name, content) in files {
            std::fs::write(folder.join(name), content).unwrap();
        }
        Folder(folder)
    }
    fn read(&self, text: &str) -> Result<Read, Error> {
        scenario::read(&Source { name: "a.toml", text, folder: Some(&self.0) }, &Options::default())
    }
    fn error(&self, text: &str) -> Error {
        self.read(text).err().expect("an error")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn trace(file: &str) -> String {
    small().replace("pattern = \"long\"\nfrom = \"0..4\"\nto = 4", &format!("pattern = \"trace\"\nfile = \"{file}\""))
}

fn sizes(cdf: &str) -> String {
    small().replace("\"long\"\nfrom", "\"periodic\"\nevery = \"1 ms\"\nfrom") + &format!("size = \"cdf({cdf})\"\n")
}

#[test]
fn messages_come_from_a_file() {
    let csv = b"start,src,dst,bytes,deadline\n2 ms,0,4,14 KB,20 ms\n0,1,4,100,\n";
    let hpcc = b"2\n0 1 3 100 5000 0.001\n1 2 3 100 200 2e-3\nremarks may follow\n";
    let folder = Folder::new("messages", &[("m.csv", csv), ("m.txt", hpcc)]);
    let mut class = folder.read(&trace("m.csv")).unwrap().scenario.classes.remove(0);
    let first = class.generator.next().unwrap();
    let second = class.generator.next().unwrap();
    assert_eq!(
        (first.at, first.messages[0].bytes, first.messages[0].deadline),
        (Instant::ZERO, Some(Bytes(100)), None)
    );
    assert_eq!((second.at, second.messages[0].deadline), (Instant::from_millis(2), Some(Span::from_millis(20))));
    let found = folder.read(&trace("m.txt")).unwrap();
    assert_eq!(found.resolved["traffic"][0]["file"], "m.txt");
    let mut class = found.scenario.classes.into_iter().next().unwrap();
    assert_eq!(std::iter::from_fn(|| class.generator.next()).count(), 2);
}

#[test]
fn deadlines_in_a_file_may_be_multiples_of_the_time_alone() {
    let csv = b"start,src,dst,bytes,deadline\n2 ms,0,4,14 KB,2.5 * alone\n1 ms,1,4,100,\n3 ms,1,4,100,20 ms\n";
    let bad = b"start,src,dst,bytes,deadline\n0,0,4,100,20 ms * alone\n";
    let folder = Folder::new("alone", &[("m.csv", csv), ("bad.csv", bad)]);
    let mut read = folder.read(&trace("m.csv")).unwrap();
    let generator = &mut read.scenario.classes[0].generator;
    let batches: Vec<_> = std::iter::from_fn(|| generator.next()).collect();
    let times: Vec<&[f64]> = batches.iter().map(|batch| batch.times_alone.as_slice()).collect();
    assert_eq!(times, [&[][..], &[2.5], &[]], "in the order of their starts");
    let deadlines: Vec<_> = batches.iter().map(|batch| batch.messages[0].deadline).collect();
    assert_eq!(deadlines, [None, None, Some(Span::from_millis(20))]);
    let error = folder.error(&trace("bad.csv"));
    assert_eq!((error.file(), error.line(), error.column()), ("bad.csv", 2, 11), "{error}");
    assert_eq!(error.message(), "`alone` is multiplied by a plain number");
}

#[test]
fn sizes_come_from_a_file() {
    let folder = Folder::new("sizes", &[("s.txt", b"1000 0\n1001 100\n")]);
    let found = folder.read(&sizes("s.txt")).unwrap();
    assert_eq!(found.resolved["traffic"][0]["size"], "cdf(s.txt)");
    let mut class = found.scenario.classes.into_iter().next().unwrap();
    let bytes = class.generator.next().unwrap().messages[0].bytes.unwrap();
    assert!((Bytes(1000)..=Bytes(1001)).contains(&bytes));
}

/// The first message of a file starts at `start`, and those without a deadline have the class's.
#[test]
fn a_trace_has_a_start_and_a_deadline_of_its_class() {
    let hpcc = b"2\n1 2 3 100 5000 2.0\n2 3 3 100 200 2.5\n";
    let csv = b"start_us,src,dst,bytes,deadline\n7,0,4,100,3 ms\n9,1,4,100,\n";
    let folder = Folder::new("class-wide", &[("m.txt", hpcc), ("m.csv", csv)]);
    let first = |text: &str| {
        let mut read = folder.read(text).unwrap();
        let generator = &mut read.scenario.classes[0].generator;
        let batches: Vec<_> = std::iter::from_fn(|| generator.next()).collect();
        let of = |batch: &traffic::Batch| (batch.at, batch.messages[0].from.0, batch.messages[0].deadline);
        (batches.iter().map(of).collect::<Vec<_>>(), read.resolved["traffic"][0].clone())
    };
    let table = "{ path = \"m.txt\", first_host = 1 }";
    let text = trace("m.txt").replace("\"m.txt\"", table) + "start = \"1 ms\"\ndeadline = \"5 ms\"\n";
    let (found, resolved) = first(&text);
    let five = Some(Span::from_millis(5));
    assert_eq!(found, [(Instant::from_millis(1), 0, five), (Instant::from_millis(501), 1, five)]);
    assert_eq!(resolved["file"]["first_host"], 1);
    let (found, _) = first(&(trace("m.csv") + "deadline = \"5 ms\"\n"));
    let three = Some(Span::from_millis(3));
    assert_eq!(found, [(Instant(7_000_000), 0, three), (Instant(9_000_000), 1, five)]);
}

#[test]
fn a_table_says_the_unit_of_sizes() {
    let folder = Folder::new("scaled", &[("homa.txt", b"2\n1 0.5\n3 1\n"), ("ns2.tcl", b"6 1 0\n9 1 1\n")]);
    let sized = |table: &str| sizes("x").replace("\"cdf(x)\"", table);
    let read = folder.read(&sized("{ cdf = \"homa.txt\", scale = \"1442 B\" }")).unwrap();
    assert_eq!(read.resolved["traffic"][0]["size"], serde_json::json!({ "cdf": "homa.txt", "scale": "1.442 KB" }));
    assert!(read.notes[0].starts_with("homa.txt: read as steps"), "{:?}", read.notes);
    let mut class = read.scenario.classes.into_iter().next().unwrap();
    let bytes: Vec<Bytes> = (0..20).map(|_| class.generator.next().unwrap().messages[0].bytes.unwrap()).collect();
    assert!(bytes.iter().all(|bytes| [1442, 4326].contains(&bytes.0)), "{bytes:?}");
    let error = folder.error(&sizes("ns2.tcl"));
    assert_eq!((error.file(), error.line(), error.column()), ("ns2.tcl", 1, 1));
    assert!(folder.read(&sized("{ cdf = \"ns2.tcl\", scale = \"1 B\" }")).is_ok());
    let error = folder.error(&sized("{ cdf = \"homa.txt\", scales = \"1442 B\" }"));
    assert_eq!(error.message(), "unknown key `scales` in this distribution");
}

/// Rack 0 sends three times as much to rack 1 as rack 1 to itself, and nothing else is sent.
#[test]
fn a_matrix_weights_the_racks() {
    let folder = Folder::new("matrix", &[("m.txt", b"0 3\n0 1\n"), ("three.txt", b"1 1 1\n1 1 1\n1 1 1\n")]);
    let text = |file: &str, more: &str| {
        format!(
            "title = \"m\"\n[run]\nduration = \"1 s\"\n[network]\ntopology = \"leaf-spine\"\nleaves = 2\n\
             hosts_per_leaf = 4\nspines = 1\nrate = \"1 Gbps\"\nuplink = \"1 Gbps\"\ndelay = \"1 us\"\n[transport]\n\
             name = \"tcp\"\n[[traffic]]\nname = \"r\"\npattern = \"poisson\"\nload = \"10%\"\nsize = \"1 KB\"\n\
             matrix = \"{file}\"\n{more}"
        )
    };
    let mut read = folder.read(&text("m.txt", "")).unwrap();
    let generator = &mut read.scenario.classes[0].generator;
    let pairs: Vec<(u32, u32)> = (0..4000)
        .map(|_| generator.next().unwrap().messages[0])
        .map(|message| (message.from.0, message.to.0))
        .collect();
    assert!(pairs.iter().all(|(from, to)| *to >= 4 && from != to));
    let across = pairs.iter().filter(|(from, _)| *from < 4).count() as f64 / 4000.0;
    assert!((across - 0.75).abs() < 0.03, "{across}");
    let mut offered = Vec::new();
    generator.offer(Instant::from_millis(1000), &mut |demand| offered.push((demand.from.len(), demand.bytes)));
    assert!((offered[0].1 / offered[1].1 - 3.0).abs() < 1e-9, "{offered:?}");
    let error = folder.error(&text("three.txt", ""));
    assert_eq!(error.message(), "`matrix`: the network has 2 racks, the file has 3 lines");
    let error = folder.error(&text("m.txt", "to = \"0..4\"\n"));
    assert!(error.message().contains("line 1, column 2: 3 is to be sent"), "{error}");
}

#[test]
fn switches_have_buffers_by_name() {
    let text = |buffer: &str| {
        format!(
            "title = \"b\"\n[run]\nduration = \"1 s\"\n[network]\ntopology = \"leaf-spine\"\nleaves = 2\n\
             hosts_per_leaf = 4\nspines = 2\nrate = \"1 Gbps\"\nuplink = \"1 Gbps\"\ndelay = \"1 us\"\n\
             buffer = {buffer}\n[transport]\nname = \"tcp\"\n[[traffic]]\nname = \"r\"\npattern = \"long\"\n\
             from = 0\nto = 7\n"
        )
    };
    let folder = Folder::new("buffers", &[]);
    let read = folder.read(&text("{ \"leaf 1\" = \"50 KB\", leaf = \"60 KB\", others = \"4 MB\" }")).unwrap();
    let buffers: Vec<String> = read
        .scenario
        .network
        .graph
        .switches
        .iter()
        .map(|switch| format!("{} {}", switch.name, switch.buffer.unwrap()))
        .collect();
    assert_eq!(buffers, ["leaf 0 60000 B", "leaf 1 50000 B", "spine 0 4000000 B", "spine 1 4000000 B"]);
    assert_eq!(read.resolved["network"]["buffer"]["leaf 1"], "50000 B");
    let wrong = |buffer: &str| folder.error(&text(buffer)).message().to_owned();
    assert_eq!(wrong("{ leaf = \"60 KB\" }"), "`buffer`: switch `spine 0` has no buffer: name it, or `others`");
    assert_eq!(
        wrong("{ leef = \"60 KB\", others = \"1 MB\" }"),
        "`buffer`: there is no switch `leef`; did you mean `leaf`?"
    );
    assert_eq!(
        wrong("{ leaf = \"60 KB\", spine = \"1 MB\", others = \"2 MB\" }"),
        "`buffer`: `others` is for no switch: each has a nearer name"
    );
}

#[test]
fn former_names_of_columns_are_read_with_one_note() {
    let (former, now): (&[u8], &[u8]) = (b"start,from,to,bytes\n0,1,4,100\n", b"start,src,dst,bytes\n0,1,4,100\n");
    let folder = Folder::new("former", &[("former.csv", former), ("now.csv", now)]);
    let read = |file| {
        let mut read = folder.read(&trace(file)).unwrap();
        let first = read.scenario.classes.remove(0).generator.next().unwrap();
        (read.notes, first.messages)
    };
    let (notes, messages) = read("former.csv");
    assert_eq!(notes[0], "former.csv: the columns `from` and `to` are called `src` and `dst`");
    assert_eq!(read("now.csv"), (notes[1..].to_vec(), messages));
}

#[test]
fn mistakes_name_the_file_and_its_line() {
    let files: &[(&str, &[u8])] = &[
        ("m.csv", b"start,src,dst,bytes,deadline\n0,0,4,100,\n0,0,7,100,\n"),
        ("s.txt", b"# sizes\n1000 0\n2000 0.5\n"),
        ("binary", b"\xff\xfe\x00"),
        ("empty", b""),
    ];
    let folder = Folder::new("mistakes", files);
    let place = |error: &Error| (error.file().to_owned(), error.line(), error.column());
    let error = folder.error(&trace("m.csv"));
    assert_eq!(place(&error), ("m.csv".into(), 3, 5), "{error}");
    assert_eq!(error.message(), "host 7 does not exist; the network has hosts 0 to 4");
    let error = folder.error(&sizes("s.txt"));
    assert_eq!(place(&error), ("s.txt".into(), 3, 1), "{error}");
    for name in ["binary", "none.csv", "."] {
        let error = folder.error(&trace(name));
        assert_eq!(place(&error), ("a.toml".into(), 17, 8), "{error}");
    }
    assert_eq!(place(&folder.error(&trace("empty"))), ("empty".into(), 1, 1));
    assert_eq!(place(&folder.error(&sizes("empty"))), ("empty".into(), 1, 1));
}

#[test]
fn a_byte_order_mark_and_line_ends_of_windows_do_no_harm() {
    let text = format!("\u{feff}{}", small().replace('\n', "\r\n"));
    common::read(&text);
    let error = common::attempt(&text.replace("hosts", "hsots"), &Options::default()).err().unwrap();
    assert_eq!((error.line(), error.column()), (6, 1), "{error}");
    let error = common::attempt("\u{feff}titel = 1", &Options::default()).err().unwrap();
    assert_eq!((error.line(), error.column()), (1, 1), "{error}");
}
