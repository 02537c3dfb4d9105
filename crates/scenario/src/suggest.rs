//! Suggestions of valid words for wrong ones.

use crate::language;

/// Returns the valid word that was most likely meant, none when nothing is near.
pub(crate) fn nearest<'a>(word: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let valid: Vec<&str> = valid.into_iter().collect();
    let folded = fold(word);
    if folded.is_empty() || folded.len() > 60 {
        return None;
    }
    if let Some(same) = valid.iter().find(|candidate| fold(candidate) == folded) {
        return Some(same);
    }
    if let Some(meant) = synonym(word, valid.iter().copied()) {
        return Some(meant);
    }
    let limit = (folded.chars().count() / 3).max(1);
    let near = valid.iter().map(|candidate| (distance(&folded, &fold(candidate)), *candidate));
    // A one-letter word is near to every other: only words that share something count.
    let near = near.filter(|(d, candidate)| *d <= limit && *d < candidate.chars().count().max(2));
    // Of words equally near the one that begins alike: in `dtcp` a letter is missing, none is wrong.
    let begins_alike = |candidate: &str| fold(candidate).chars().next() == folded.chars().next();
    near.min_by_key(|(d, candidate)| (*d, !begins_alike(candidate))).map(|(_, candidate)| candidate)
}

/// Returns the valid word that means the same.
pub(crate) fn synonym<'a>(word: &str, valid: impl IntoIterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let word = fold(word);
    let meant = language::aliases().filter(|(alias, _)| fold(alias) == word).map(|(_, meant)| meant);
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

fn fold(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

/// Returns the number of edits between two words: insertions, deletions, replacements and swaps of neighbours.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            if i == 0 || j == 0 {
                rows[i][j] = i + j;
                continue;
            }
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            rows[i][j] = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                rows[i][j] = rows[i][j].min(rows[i - 2][j - 2] + 1);
            }
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_mistakes_are_recognised() {
        let keys = ["rate", "delay", "buffer", "sharing", "mark", "hosts"];
        assert_eq!(nearest("bufer", keys), Some("buffer"));
        assert_eq!(nearest("hsots", keys), Some("hosts"));
        assert_eq!(nearest("Rate", keys), Some("rate"));
        assert_eq!(nearest("bandwidth", keys), Some("rate"));
        assert_eq!(nearest("ecn_threshold", keys), Some("mark"));
        assert_eq!(nearest("latency", keys), Some("delay"));
        assert_eq!(nearest("dtcp", ["tcp", "cubic", "dctcp"]), Some("dctcp"));
        assert_eq!(nearest("zzz", keys), None);
        assert_eq!(nearest("", keys), None);
    }

    #[test]
    fn dashes_and_underscores_are_the_same() {
        assert_eq!(nearest("leaf_spine", ["star", "leaf-spine"]), Some("leaf-spine"));
        assert_eq!(nearest("warmup", ["warm_up", "duration"]), Some("warm_up"));
    }

    #[test]
    fn lists_read_like_a_sentence() {
        assert_eq!(list(["a"]), "`a`");
        assert_eq!(list(["a", "b", "c"]), "`a`, `b` and `c`");
    }
}
