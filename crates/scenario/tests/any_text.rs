//! Any text is read as a scenario or an error with a place, never a panic.

use super::common;

use common::{attempt, examples};
use proptest::prelude::*;
use scenario::{Error, Options};

const BASE: &str = include_str!("bad/base.toml");
const STAGES: &str = include_str!("bad/stages.toml");

fn with_requests() -> Options {
    let file = ("requests.csv".to_owned(), b"time,tokens\n0,100\n0.5,200\n".to_vec());
    Options { files: [file].into(), ..Options::default() }
}

/// Checks that an error's place is in its file.
fn check(text: &str, options: &Options) -> Result<(), TestCaseError> {
    let error = match attempt(text, options) {
        Ok(found) => {
            // An accepted scenario can be generated, without overflow.
            for mut class in found.scenario.classes {
                for batch in std::iter::from_fn(|| class.generator.next()).take(20) {
                    prop_assert!(batch.messages.iter().all(|message| message.from != message.to));
                }
            }
            return Ok(());
        }
        Err(error) => error,
    };
    prop_assert!(error.line() >= 1 && error.column() >= 1);
    prop_assert!(!error.message().is_empty() && error.to_string().starts_with("error: "));
    prop_assert!(!error.message().contains('\n'), "{}", error);
    let lines: Vec<&str> = match error.file() {
        "a.toml" => text.split('\n').collect(),
        _ => return Ok(()),
    };
    prop_assert!(error.line() <= lines.len(), "{}", error);
    let line = lines[error.line() - 1];
    prop_assert!(error.column() <= line.chars().count() + 1, "{}", error);
    shown(&error, line)
}

/// Checks that the caret is under the character at the error's column.
fn shown(error: &Error, line: &str) -> Result<(), TestCaseError> {
    let printed = error.to_string();
    let lines: Vec<&str> = printed.lines().collect();
    prop_assert!(lines.len() >= 5, "{}", printed);
    let caret = lines[4].chars().position(|c| c == '^').unwrap();
    let marked = lines[3].chars().nth(caret);
    let meant = line.chars().nth(error.column() - 1);
    if let (Some(marked), Some(meant)) = (marked, meant) {
        prop_assert!(marked == meant || marked == '\u{fffd}' || meant.is_whitespace(), "{}", printed);
    }
    Ok(())
}

/// Words that occur in scenarios, to mutate with.
const WORDS: &[&str] = &[
    "1e308",
    "-1",
    "$fan_in",
    "$tighter",
    "index",
    "parent",
    "uniform(",
    "exponential",
    "cdf(",
    ")",
    "(",
    "\"",
    "[",
    "]",
    "{",
    "}",
    "=",
    "5 ms",
    "14 KB",
    "65 packets",
    "50%",
    "0..4",
    "..",
    ",",
    "\n",
    "#",
    "[[traffic]]",
    "[run]",
    "*",
    "/",
    "+",
    "-",
    "0",
    "999999999999999999999",
    "long",
    "d2tcp",
    "star",
    "µs",
    "\u{202e}",
    "\u{0}",
    "\r",
    "'''",
    "nan",
    "true",
    "alone",
    "$input",
    "$per_token",
    "[[traffic.stage]]",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check(&String::from_utf8_lossy(&bytes), &Options::default())?;
    }

    #[test]
    fn any_words(picks in prop::collection::vec(0..WORDS.len(), 0..60)) {
        let text: String = picks.iter().map(|i| format!("{} ", WORDS[*i])).collect();
        check(&text, &Options::default())?;
    }

    #[test]
    fn any_value(text in "[ -~µ$]{0,40}", key in 0..6usize) {
        let quoted = text.replace(['\\', '"'], "");
        let good = ["\"20 us\"", "\"4 MB\"", "\"uniform(2 KB, 50 KB)\"", "\"7..9\"", "\"$pause + index * 10 us\"", "\"uniform(0, 50%)\""][key];
        check(&BASE.replacen(good, &format!("\"{quoted}\""), 1), &Options::default())?;
    }

    #[test]
    fn any_expression(picks in prop::collection::vec(0..WORDS.len(), 1..12), key in 0..4usize) {
        let text: String = picks.iter().map(|i| format!("{} ", WORDS[*i])).filter(|word| !word.contains(['"', '\n', '\r'])).collect();
        let good = ["\"20 us\"", "\"4 MB\"", "\"uniform(2 KB, 50 KB)\"", "\"$pause + index * 10 us\""][key];
        check(&BASE.replacen(good, &format!("\"{text}\""), 1), &Options::default())?;
    }

    #[test]
    fn any_amount_of_requests(picks in prop::collection::vec(0..WORDS.len(), 1..8), key in 0..4usize) {
        let text: String = picks.iter().map(|i| format!("{} ", WORDS[*i])).filter(|word| !word.contains(['"', '\n', '\r'])).collect();
        let good = ["\"2 * alone\"", "\"1 ms + $per_token * $input\"", "\"1 KB * $input\"", "\"20 ms\""][key];
        check(&STAGES.replacen(good, &format!("\"{text}\""), 1), &with_requests())?;
    }

    #[test]
    fn any_file_of_requests(text in "[ -~\n,]{0,60}", format in 0..5usize) {
        let head = ["time,tokens\n", "TIMESTAMP,ContextTokens,GeneratedTokens\n", "{\"timestamp\":", "9 1\n", ""][format];
        let columns = ["", "format = \"azure-llm\"", "format = \"mooncake\"", "format = \"coflow\"", ""][format];
        let mut scenario = STAGES.to_owned();
        if !columns.is_empty() {
            scenario = scenario.replace("columns = { arrival = \"time\", input = \"tokens\" }", columns);
        }
        let mut options = with_requests();
        options.files.insert("requests.csv".into(), format!("{head}{text}").into_bytes());
        check(&scenario, &options)?;
    }

    #[test]
    fn stages_with_edits(edits in prop::collection::vec((any::<prop::sample::Index>(), 0..20usize, 0..WORDS.len()), 1..4)) {
        let mut text: Vec<char> = STAGES.chars().collect();
        for (at, removed, word) in edits {
            let at = at.index(text.len());
            let end = (at + removed).min(text.len());
            text.splice(at..end, WORDS[word].chars());
        }
        check(&text.iter().collect::<String>(), &with_requests())?;
    }

    #[test]
    fn any_option(option in "[a-z.=_ 0-9\"\\[{µ]{0,40}") {
        check(BASE, &Options { set: vec![option], ..Options::default() })?;
    }

    #[test]
    fn mutated_examples(
        which in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..20usize, 0..WORDS.len()), 1..4),
    ) {
        let examples = examples();
        let mut text: Vec<char> = which.get(&examples).1.chars().collect();
        for (at, removed, word) in edits {
            let at = at.index(text.len());
            let end = (at + removed).min(text.len());
            text.splice(at..end, WORDS[word].chars());
        }
        check(&text.iter().collect::<String>(), &Options::default())?;
    }

    #[test]
    fn lines_in_another_order(which in any::<prop::sample::Index>(), from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>()) {
        let examples = examples();
        let mut lines: Vec<&str> = which.get(&examples).1.lines().collect();
        let line = lines.remove(from.index(lines.len()));
        lines.insert(to.index(lines.len()), line);
        check(&lines.join("\n"), &Options::default())?;
    }
}

/// Texts that are meant to be expensive.
#[test]
fn hostile_texts_are_refused_in_time() {
    let many = |text: &str, times: usize| text.repeat(times);
    let texts = [
        many("[[traffic]]\n", 100_000),
        many("a", 100 << 20),
        format!("x = {}", many("[", 1_000_000)),
        format!("x = {}", many("{a=", 500_000)),
        format!("[{}]", many("a.", 500_000)),
        many("a = 1\n", 300_000),
        BASE.replace("\"20 us\"", &format!("\"{}1 us\"", many("1 + ", 100_000))),
        BASE.replace("\"20 us\"", &format!("\"{}\"", many("-", 100_000))),
        BASE.replace("[0, 1]", &format!("[{}0]", many("0, ", 200_000))),
        BASE.replace("[0, 1]", &format!("[{}\"0..9\"]", many("\"0..9\", ", 200_000))),
        BASE.replace("hosts = 9", "hosts = 1000000000000"),
        BASE.replace("hosts = 9", &format!("{} = 9", many("hosts", 100_000))),
        format!(
            "[parameters]\n{}",
            (0..60).map(|i| format!("p{i} = \"$p{} + $p{}\"\n", i + 1, i + 1)).collect::<String>()
        ) + &BASE.replace("[parameters]\n", "").replace("$tighter", "$p0"),
    ];
    let start = std::time::Instant::now();
    for text in texts {
        assert!(attempt(&text, &Options::default()).is_err());
    }
    // The largest that is allowed.
    let largest = BASE.replace("hosts = 9", "hosts = 131072").replace("load = \"30%\"", "load = \"0.5%\"");
    attempt(&largest, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    assert!(start.elapsed().as_secs() < 60);
}
