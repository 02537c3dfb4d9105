//! Names and texts from outside the tool, made safe to print.
//!
//! Any user chooses the names of programs, cgroups and files. Such a name could otherwise move the cursor, recolour or
//! overwrite a table, add a line to a log, or end a label of a metric.

use std::fmt;
use std::fmt::Write as _;
use std::path::Path;

use serde::{Serialize, Serializer};

/// A name chosen by a program, another user or the kernel: bytes, which need not be UTF-8. Displayed, it has escapes.
/// JSON has escapes of its own, and there a sequence of bytes that is not UTF-8 is U+FFFD.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(Vec<u8>);

impl Name {
    /// Returns the name of these bytes.
    pub fn new(bytes: impl AsRef<[u8]>) -> Name {
        Name(bytes.as_ref().to_owned())
    }
    /// Returns true if the name has this text in it, as it is and without escapes.
    pub fn contains(&self, text: &str) -> bool {
        text.is_empty() || self.0.windows(text.len()).any(|part| part == text.as_bytes())
    }
    /// Returns the name as a label's value in Prometheus' text formats: there a backslash, a quote and a line feed have
    /// escapes, and other characters have none. Characters that a terminal must not get are written as [`Name`] shows
    /// them, since pages of metrics are read on terminals, too.
    pub fn label(&self) -> String {
        let mut text = String::new();
        self.each(|part| match part {
            Part::Valid('\n') => text += "\\n",
            Part::Valid('"') => text += "\\\"",
            Part::Valid('\\') => text += "\\\\",
            Part::Valid(c) if !is_unsafe(c) => text.push(c),
            part => text += &part.to_string().replace('\\', "\\\\"),
        });
        text
    }
    fn each(&self, mut handle: impl FnMut(Part)) {
        for chunk in self.0.utf8_chunks() {
            chunk.valid().chars().for_each(|c| handle(Part::Valid(c)));
            chunk.invalid().iter().for_each(|byte| handle(Part::Invalid(*byte)));
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.each(|part| write!(text, "{part}").expect("writing to a string"));
        f.pad(&text)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&String::from_utf8_lossy(&self.0))
    }
}

/// A part of a name: a character, or a byte that belongs to none.
#[derive(Clone, Copy)]
enum Part {
    Valid(char),
    Invalid(u8),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Part::Valid('\\') => f.write_str("\\\\"),
            Part::Valid('\n') => f.write_str("\\n"),
            Part::Valid('\r') => f.write_str("\\r"),
            Part::Valid('\t') => f.write_str("\\t"),
            Part::Valid(c) if c.is_ascii_control() => write!(f, "\\x{:02x}", u32::from(c)),
            Part::Valid(c) if is_unsafe(c) => write!(f, "\\u{{{:x}}}", u32::from(c)),
            Part::Valid(c) => f.write_char(c),
            Part::Invalid(byte) => write!(f, "\\x{byte:02x}"),
        }
    }
}

/// Returns true for control characters (C0, DEL and C1), and for overrides and isolates of the direction of writing.
/// Other characters without a glyph count as well, since names that differ would look the same.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns a text of the tool's own that may contain foreign words, safe to print. Line feeds and backslashes stay, and
/// so do names that are escaped already.
pub fn lines(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\\' => safe.push(c),
            c => write!(safe, "{}", Part::Valid(c)).expect("writing to a string"),
        }
    }
    safe
}

/// Returns a value as JSON in one line that is safe to print. The text is another one for the same value.
pub fn json(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string(value).map(|text| unicode_escapes(&text))
}

/// Returns a value as JSON over several lines that are safe to print.
pub fn json_lines(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string_pretty(value).map(|text| unicode_escapes(&text))
}

/// Writes unsafe characters in JSON as escapes of JSON. They are all within strings, except line feeds between values;
/// in strings these are escaped already.
fn unicode_escapes(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' || !is_unsafe(c) {
            safe.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            write!(safe, "\\u{unit:04x}").expect("writing to a string");
        }
    }
    safe
}

/// A path or a file's name as it may be shown.
pub trait Shown {
    /// Returns the name, which is displayed with escapes.
    fn shown(&self) -> Name;
}

impl Shown for Path {
    fn shown(&self) -> Name {
        Name::new(self.as_os_str().as_encoded_bytes())
    }
}

/// A name that would clear the screen, reverse text, end a line and a label, and is not UTF-8 at its end.
#[cfg(test)]
pub const HOSTILE: &[u8] = b"a\x1b[2J\n\"\\\xc2\x9b\xe2\x80\xae\xff";

/// Returns true if no character of a text but line feeds can change a terminal's state.
#[cfg(test)]
pub fn is_safe(text: &str) -> bool {
    text.chars().all(|c| c == '\n' || !is_unsafe(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_with_escapes() {
        assert_eq!(Name::new(HOSTILE).to_string(), "a\\x1b[2J\\n\"\\\\\\u{9b}\\u{202e}\\xff");
        for (name, shown) in [
            ("nginx: worker", "nginx: worker"),
            ("größe 日本", "größe 日本"),
            ("a\tb\r", "a\\tb\\r"),
            ("\x7f", "\\x7f"),
            ("\u{2066}x\u{2069}", "\\u{2066}x\\u{2069}"),
            ("x\u{200b}", "x\\u{200b}"),
            ("a\\x1b", "a\\\\x1b"),
        ] {
            assert_eq!(Name::new(name).to_string(), shown);
        }
        // The bytes of 日 without the last one.
        assert_eq!(Name::new(b"\xe6\x97x").to_string(), "\\xe6\\x97x");
        assert_eq!(format!("{:<8}|", Name::new("a\x1b")), "a\\x1b   |", "padded as shown");
    }

    #[test]
    fn labels_have_the_escapes_of_prometheus() {
        assert_eq!(Name::new("a\"b\\c\nd").label(), "a\\\"b\\\\c\\nd");
        assert_eq!(Name::new(HOSTILE).label(), "a\\\\x1b[2J\\n\\\"\\\\\\\\u{9b}\\\\u{202e}\\\\xff");
    }

    #[test]
    fn json_is_safe_and_has_the_same_value() {
        let text = json(&Name::new("a\x1b\u{9b}\u{202e}\u{e0041}\"\\")).unwrap();
        assert_eq!(text, r#""a\u001b\u009b\u202e\udb40\udc41\"\\""#);
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), "a\x1b\u{9b}\u{202e}\u{e0041}\"\\");
        assert_eq!(json(&Name::new(b"a\xff")).unwrap(), "\"a\u{fffd}\"");
        assert_eq!(json_lines(&[Name::new("\u{9b}")]).unwrap(), "[\n  \"\\u009b\"\n]");
    }

    #[test]
    fn escaped_names_in_texts_stay_as_they_are() {
        let name = Name::new(HOSTILE).to_string();
        assert_eq!(lines(&format!("first\n{name}")), format!("first\n{name}"));
        assert_eq!(lines("a\x1b\u{9b}"), "a\\x1b\\u{9b}");
        assert!(is_safe(&name) && !is_safe("a\x1b") && !is_safe("\u{202e}"));
    }

    #[test]
    fn names_are_searched_as_they_are() {
        let name = Name::new("a\x1bb");
        assert!(name.contains("\x1bb") && name.contains("") && !name.contains("x1b"));
    }
}
