"""The ratchet on the field's words: what it counts, and that a count may only fall."""

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "packaging"))
import words

RUST = """//! A port.

/// What waits.
fn queued(least_rate: u64) -> u64 {
    let text = "// what is no comment, and most_of_it";
    // A packet goes to the port that has those that wait.
    'a'.len() // Nobody knows.
}
"""
PYTHON = '''"""The queue."""


def most_queued(port):
    """Which."""
    # What is queued, and "what is quoted".
    return "what is a text"
'''


def found(path: str, text: str) -> list[tuple[int, str]]:
    return sorted((each.line, each.pattern) for each in words.look(path, text))


def test_rust_comments_and_identifiers_are_counted_and_literals_are_not() -> None:
    assert found("crates/sim/src/port.rs", RUST) == [
        (1, "short"),
        (3, "opening"),
        (3, "short"),
        (3, "what-noun"),
        (4, "identifier"),
        (6, "motion"),
        (6, "those-that"),
        (7, "person"),
    ]


def test_types_of_jsdoc_are_no_words() -> None:
    text = """/** @type {Port} */
/** @param {Port} port */
/**
 * Returns a port's queue.
 *
 * @template T
 * @param {{ those: T, that: T }} [port=those] A port.
 * @returns {Queue} Nobody knows.
 */
"""
    assert found("playground/src/queue.js", text) == [(8, "person")]


def test_docstrings_and_comments_of_python_are_counted() -> None:
    assert found("python/duetime/port.py", PYTHON) == [
        (1, "short"),
        (4, "identifier"),
        (5, "opening"),
        (5, "short"),
        (6, "what-noun"),
    ]


def test_a_long_sentence_is_counted_once_and_code_blocks_are_not() -> None:
    sentence = " ".join(["word"] * 31)
    page = f"# Title\n\n{sentence}.\n\n```\n{sentence}\n```\n\n| {sentence} |\n"
    assert found("docs/page.md", page) == [(3, "long")]
    assert found("docs/page.md", page.replace("word ", "", 1).replace(f"\n{sentence}.", "\nShort.")) == []


def test_nine_in_ten_sentences_of_the_docs_have_a_limit(tmp_path: Path) -> None:
    def longest(words_of_one_in_five: int) -> int:
        (tmp_path / "docs").mkdir(exist_ok=True)
        lengths = [4, 4, 4, 4, words_of_one_in_five] * 4
        text = "\n\n".join(" ".join(["word"] * length) + "." for length in lengths)
        (tmp_path / "docs" / "page.md").write_text(text, encoding="utf-8")
        return words.docs_sentence(tmp_path)

    assert (longest(32), longest(33)) == (32, 33)
    assert words.too_long(32) == []
    assert words.too_long(33) == ["docs: nine in ten sentences have at most 33 words, and 32 are allowed"]
    assert words.docs_sentence() <= words.MAX_DOCS_SENTENCE


def test_every_pattern_is_at_a_tenth_of_its_beginning() -> None:
    now, begun = Counter[str](), Counter[str]()
    for (_, pattern), (ceiling, start) in words.ceilings().items():
        now[pattern] += ceiling
        begun[pattern] += start
    assert {pattern for pattern in begun if 10 * now[pattern] > begun[pattern]} == set()


def test_a_question_is_no_noun() -> None:
    assert found("docs/page.md", "So what is the bound? It tells what is lost.\n") == [(1, "what-noun")]


def test_a_count_above_its_ceiling_fails_and_ceilings_only_fall(tmp_path: Path) -> None:
    kept = tmp_path / "words.csv"
    two = [words.Found("docs/page.md", line, "motion", "goes") for line in (1, 2)]
    words.write(two, kept)
    assert words.excess(two, words.ceilings(kept)) == []
    assert len(words.excess([*two, two[0]], words.ceilings(kept))) == 1
    words.write(two[:1], kept)
    words.write(two, kept)
    assert words.ceilings(kept) == {("docs", "motion"): (1, 2)}
    assert words.excess([words.Found("crates/new/a.rs", 1, "long", "")], words.ceilings(kept))


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("Deduplicate pair helpers", True),
        ("Feed idle ports", True),
        ("What the last changes wrote twice is written once", False),
        ("Fixed the port", False),
        ("fix the port", False),
        ("Fix the port.", False),
        (f"Fix {'x' * 69}", False),
        (f"Fix {'x' * 68}", True),
    ],
)
def test_subjects(text: str, right: bool) -> None:
    assert (words.subject(text) == "") == right
