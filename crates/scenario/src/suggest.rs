//! Suggestions of valid words for wrong ones.

use units::folded;

use crate::language;

/// Returns the valid word that was most likely meant, none when nothing is near: the same word in other letters, one
/// that means the same, or a similar one.
pub(crate) fn nearest<'a>(word: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let valid: Vec<&str> = valid.into_iter().collect();
    let near = units::nearest(word, valid.iter().copied());
    let same = near.filter(|near| folded(near) == folded(word));
    same.or_else(|| synonym(word, valid.iter().copied())).or(near)
}

/// Returns the valid word that means the same.
pub(crate) fn synonym<'a>(word: &str, valid: impl IntoIterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let word = folded(word);
    let meant = language::aliases().filter(|(alias, _)| folded(alias) == word).map(|(_, meant)| meant);
    meant.into_iter().find_map(|meant| valid.clone().into_iter().find(|valid| valid == meant))
}

/// Returns words as a list: "`a`, `b` and `c`".
pub(crate) fn list<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| format!("`{word}`")).collect();
    match words.as_slice() {
        [] => "nothing".into(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synonyms_are_nearer_than_similar_words() {
        let keys = ["rate", "delay", "buffer", "sharing", "mark", "hosts"];
        assert_eq!(nearest("bufer", keys), Some("buffer"));
        assert_eq!(nearest("Rate", keys), Some("rate"));
        assert_eq!(nearest("bandwidth", keys), Some("rate"));
        assert_eq!(nearest("ecn_threshold", keys), Some("mark"));
        assert_eq!(nearest("latency", keys), Some("delay"));
        assert_eq!(nearest("zzz", keys), None);
    }

    #[test]
    fn lists_read_like_a_sentence() {
        assert_eq!(list(["a"]), "`a`");
        assert_eq!(list(["a", "b", "c"]), "`a`, `b` and `c`");
    }
}
