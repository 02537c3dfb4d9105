//! Files that a scenario names: distributions and lists of messages, and mistakes in them.

use super::common;

use std::path::PathBuf;

use common::small;
use scenario::{Error, Options, Read, Source};
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
