//! The valid word that was most likely meant by a wrong one.

/// Returns the valid word most similar to `word`; none if no word is similar.
pub fn nearest<'a>(word: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = folded(word);
    let length = folded.chars().count();
    if length == 0 || folded.len() > 60 {
        return None;
    }
    let limit = (length / 3).max(1);
    let near = valid.into_iter().map(|candidate| (distance(&folded, &self::folded(candidate)), candidate));
    // A one-letter word is near to every other: only words that share something count.
    let near = near.filter(|(d, candidate)| *d <= limit && *d < candidate.chars().count().max(2));
    // Of words equally near the one that begins alike: in `dtcp` a letter is missing, none is wrong.
    let begins_alike = |candidate: &str| self::folded(candidate).chars().next() == folded.chars().next();
    near.min_by_key(|(d, candidate)| (*d, !begins_alike(candidate))).map(|(_, candidate)| candidate)
}

/// Returns the word in lower case, without dashes, underscores and spaces.
pub fn folded(word: &str) -> String {
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
        assert_eq!(nearest("dtcp", ["tcp", "cubic", "dctcp"]), Some("dctcp"));
        assert_eq!(nearest("dedline", ["deadline", "cap"]), Some("deadline"));
        assert_eq!(nearest("zzz", keys), None);
        assert_eq!(nearest("", keys), None);
    }

    #[test]
    fn dashes_and_underscores_are_the_same() {
        assert_eq!(nearest("leaf_spine", ["star", "leaf-spine"]), Some("leaf-spine"));
        assert_eq!(nearest("warmup", ["warm_up", "duration"]), Some("warm_up"));
    }

    #[test]
    fn distance_counts_each_kind_of_edit() {
        for (a, b, edits) in
            [("", "abc", 3), ("abc", "abc", 0), ("abc", "acb", 1), ("abc", "axc", 1), ("abcd", "bdc", 2)]
        {
            assert_eq!((distance(a, b), distance(b, a)), (edits, edits), "{a} {b}");
        }
    }
}
