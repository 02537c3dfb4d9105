//! The names of a list of descriptions, and a help text that lists them, as constants.

/// The names of the descriptions of a list, as an array.
macro_rules! names {
    ($list:ident) => {{
        let mut names = [""; $list.len()];
        let mut i = 0;
        while i < names.len() {
            names[i] = $list[i].name;
            i += 1;
        }
        names
    }};
}

/// Declares `NAMES`, the names of the descriptions of a list, and `HELP`: a text in front, each name with its help, and
/// a text behind.
macro_rules! listed {
    ($list:ident, $front:literal, $behind:literal) => {
        /// The names of the list.
        static NAMES: [&str; $list.len()] = $crate::listed::names!($list);

        /// The help text of the key that selects one of the list.
        const HELP: &str = {
            const PARTS: [&str; 4 * $list.len() + 1] = {
                let mut parts = [$behind; 4 * $list.len() + 1];
                let mut i = 0;
                while i < $list.len() {
                    parts[4 * i] = if i == 0 { $front } else { "; " };
                    parts[4 * i + 1] = $list[i].name;
                    parts[4 * i + 2] = ": ";
                    parts[4 * i + 3] = $list[i].help;
                    i += 1;
                }
                parts
            };
            static TEXT: [u8; $crate::listed::length(&PARTS)] = $crate::listed::joined(&PARTS);
            match std::str::from_utf8(&TEXT) {
                Ok(text) => text,
                Err(_) => unreachable!(),
            }
        };
    };
}

pub(crate) use {listed, names};

/// Returns the length of all parts together, in bytes.
pub(crate) const fn length(parts: &[&str]) -> usize {
    let (mut length, mut i) = (0, 0);
    while i < parts.len() {
        length += parts[i].len();
        i += 1;
    }
    length
}

/// Returns the bytes of all parts, one after another; `N` is their [`length`].
pub(crate) const fn joined<const N: usize>(parts: &[&str]) -> [u8; N] {
    let (mut text, mut at, mut i) = ([0; N], 0, 0);
    while i < parts.len() {
        let (part, mut j) = (parts[i].as_bytes(), 0);
        while j < part.len() {
            text[at] = part[j];
            at += 1;
            j += 1;
        }
        i += 1;
    }
    text
}
