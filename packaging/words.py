"""Hold comments, documentation and commit subjects to the field's words.

    python packaging/words.py            fail where a folder has more of a pattern than its ceiling
    python packaging/words.py --write    lower the ceilings to today's counts; none is ever raised
    python packaging/words.py FOLDER     print each place of a folder, with advice

`words.csv` has a ceiling for each folder and pattern, and the count at which the folder started. The rules
and the glossary are in docs/glossary.md.
"""

from __future__ import annotations

import ast
import csv
import io
import re
import statistics
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CEILINGS = Path(__file__).with_name("words.csv")
#: Commits after this one are held to the rules of subjects.
BASE = "7619d4ca59f7e29c5d59a640703a84b0d24bd6ea"
MAX_SUBJECT = 72
#: A sentence of more words is too long.
MAX_SENTENCE = 30
#: Of all sentences in `docs/`, nine in ten have at most so many words.
MAX_DOCS_SENTENCE = 32
#: A doc comment of so few words says too little.
FEW_WORDS = 3

#: Each pattern's expression in comments and documentation, and the advice that is printed.
PATTERNS = {
    "what-noun": (
        r"\b[Ww]hat (?:is|are|was|were|has|have|had|can|may|must|will|would|comes?|goes|\w+[^s\W]s)\b",
        "name the thing: 'the queue', not 'what waits'",
    ),
    "motion": (
        r"\b(?:comes?|came|coming|goes|go(?!-back)|went|gone|stands?|stood|lies|lie)\b",
        "data is sent, received, enqueued, dequeued, forwarded, delivered, dropped",
    ),
    "person": (
        r"\b(?:[Ww]ho|[Ww]hom|[Nn]obody|[Ss]omebody|[Ee]verybody)\b",
        "a port, host or thread is 'it'",
    ),
    "those-that": (r"\b[Tt]hose (?:that|which|who|whose|of|in|to|from)\b", "repeat the noun"),
}
#: The same of the first sentence of a doc comment.
OPENING = re.compile(r"(?:What|Which|How (?:many|much|often|long|far)|Whether|When|Where|Who|Why|That)\b")
NOT_IMPERATIVE = re.compile(
    r"(?:What|The|An?|This|That|It|There|We|I|(?!Embed|Feed|Need|Bring|Seed)\w+(?:ed|ing))\b"
)
IDENTIFIER = re.compile(r"\b(?:most|least|fewest)_\w+|\b(?:MOST|LEAST|FEWEST)_\w+")
ADVICE = {name: advice for name, (_, advice) in PATTERNS.items()} | {
    "opening": "say what the item is or returns: 'Returns the queue length', not 'How long it is'",
    "short": "say more than the name does, or nothing",
    "long": f"at most {MAX_SENTENCE} words in a sentence",
    "identifier": "max_, min_",
}
EXPRESSIONS = {name: re.compile(expression) for name, (expression, _) in PATTERNS.items()}

#: A comment, or a literal, so that a literal with slashes is taken for no comment.
C_LIKE = re.compile(
    r'(?P<line>(?://[^\n]*(?:\n[ \t]*(?=//))?)+)|(?P<block>/\*.*?\*/)|r(?P<hash>\#*)".*?"(?P=hash)'
    r"|\"(?:\\.|[^\"\\])*\"|'(?:\\.[^']*|[^'\\\n])'",
    re.DOTALL,
)
#: A tag of JSDoc with its type and name; a description may follow.
TAG = re.compile(
    r"@import\b.*|@(?:param|property|template|typedef)\b(?: \{.*\})?(?: \[?[\w.=]+\]?)?|@\w+(?: \{.*\})?"
)
HASH = re.compile(r"(?m)^[ \t]*#(?!!).*(?:\n[ \t]*#.*)*")
READERS = {
    **dict.fromkeys((".rs", ".c", ".h", ".go", ".java", ".js", ".cjs", ".mjs", ".ts", ".bpf.c"), "c"),
    ".py": "python",
    ".md": "markdown",
    ".toml": "hash",
    ".sh": "hash",
}
#: Generated files, and files of other projects.
SKIPPED = re.compile(
    r"(^|/)(CHANGELOG\.md|fuzz/corpus|docs/record|python/duetime/report/assets|requirements"
    r"|deploy/linux/bpf/vmlinux\.h|playground/editor)(/|$)|package-lock"
)


@dataclass(frozen=True)
class Found:
    """A place that breaks a rule, and the rule."""

    path: str
    line: int
    pattern: str
    text: str


def blank(found: re.Match[str]) -> str:
    """Return the line ends of what matched, so that lines keep their numbers."""
    return "\n" * found[0].count("\n")


def comments(text: str, kind: str) -> Iterator[tuple[int, str, bool]]:
    """Yield each comment: its line, its text, and whether it documents an item."""
    if kind == "c":
        for found in C_LIKE.finditer(text):
            if found["line"] or found["block"]:
                line = text.count("\n", 0, found.start()) + 1
                for at, words, doc in parts(found[0]):
                    yield line + at, words, doc
    elif kind == "hash":
        for found in HASH.finditer(text):
            yield text.count("\n", 0, found.start()) + 1, re.sub(r"(?m)^[ \t]*#:? ?", "", found[0]), False
    elif kind == "python":
        yield from python(text)
    else:
        yield from markdown(text)


def parts(comment: str) -> Iterator[tuple[int, str, bool]]:
    """Yield the pieces of a run of `//`, `///` and `//!` lines, or of a block."""
    if comment.startswith("/*"):
        yield 0, re.sub(r"(?m)^/\*+|[ \t]*\*+/$|^[ \t]*\*", "", comment), comment.startswith("/**")
        return
    kept: list[str] = []
    start, kind = 0, ""
    for at, line in enumerate(comment.splitlines()):
        found = re.match(r"[ \t]*(///?!?|//!)(?!/) ?(.*)", line)
        mark, words = (found[1], found[2]) if found else ("//", "")
        if kept and mark != kind:
            yield start, "\n".join(kept), kind != "//"
            kept, start = [], at
        kept, kind = [*kept, words], mark
    if kept:
        yield start, "\n".join(kept), kind != "//"


def python(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yield the docstrings and comments of a Python file."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            words = ast.get_docstring(node)
            if words:
                yield node.body[0].lineno, words, True
    run: list[str] = []
    first = last = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            line, words = token.start[0], token.string.lstrip("#:! ")
            if run and line == last + 1:
                run.append(words)
            else:
                if run:
                    yield first, "\n".join(run), False
                run, first = [words], line
            last = line
    if run:
        yield first, "\n".join(run), False


def markdown(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yield the paragraphs of a page, without code, tables and generated parts."""
    text = re.sub(r"(?ms)^(`{3,}|~{3,}).*?^\1\s*$|<!--.*?-->|^---\n.*?^---\n", blank, text)
    line = 1
    for paragraph in re.split(r"\n(?=\s*\n|[ \t]*(?:[-*+] |\d+\. |#|\|))", text):
        if paragraph.strip() and not paragraph.strip().startswith(("|", "#")):
            yield line + len(paragraph) - len(paragraph.lstrip("\n")), paragraph.strip(), False
        line += paragraph.count("\n") + 1


def sentences(words: str) -> Iterator[str]:
    """Yield the sentences of a comment."""
    plain = re.sub(r"`[^`\n]*`", "code", re.sub(r"\]\([^)]*\)", "]", words))
    yield from (each for each in re.split(r"(?<=[.!?])\s+|\n\s*\n|\n\s*[-*] |\n {4,}", plain) if each.strip())


def look(path: str, text: str) -> Iterator[Found]:
    """Yield the places of a file that break a rule."""
    kind = READERS[Path(path).suffix]
    for line, words, doc in comments(text, kind):
        if Path(path).suffix in {".js", ".ts"}:
            words = TAG.sub("", words)
        plain = re.sub(r"`[^`]*`|\"[^\"\n]*\"", "code", words)
        for name, expression in EXPRESSIONS.items():
            for found in expression.finditer(plain):
                end = plain[found.end() :].lstrip("\n ")
                if name == "what-noun" and re.match(r"[^.!;:]*\?", end):
                    continue
                yield Found(path, line + plain.count("\n", 0, found.start()), name, found[0])
        if doc and words.strip():
            if OPENING.match(words.strip()):
                yield Found(path, line, "opening", words.strip().splitlines()[0])
            if len(words.split()) <= FEW_WORDS:
                yield Found(path, line, "short", words.strip())
        for sentence in sentences(words):
            if len(sentence.split()) > MAX_SENTENCE:
                yield Found(path, line, "long", " ".join(sentence.split()[:8]) + " ..")
    if Path(path).suffix in {".rs", ".py"}:
        for number, each in enumerate(without_texts(text, kind).splitlines(), 1):
            yield from (Found(path, number, "identifier", found) for found in IDENTIFIER.findall(each))


def without_texts(text: str, kind: str) -> str:
    """Return the code without its comments and literals."""
    if kind == "c":
        return C_LIKE.sub(blank, text)
    return re.sub(
        r'(?s)""".*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#[^\n]*', blank, text
    )


def folder_of(path: str) -> str:
    """Return the folder under which a file is counted."""
    parts = path.split("/")
    depth = 3 if path.startswith(("python/", "deploy/", "crates/sim/src", "crates/transport/src")) else 2
    return "/".join(parts[: min(depth, len(parts) - 1)]) or "."


def everything(root: Path = ROOT) -> list[Found]:
    """Return the places of all tracked files that break a rule."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True)
    found: list[Found] = []
    for path in listed.stdout.split("\0"):
        file = root / path
        if (
            Path(path).suffix in READERS
            and not SKIPPED.search(path)
            and file.is_file()
            and not file.is_symlink()
        ):
            found += look(path, file.read_text(encoding="utf-8"))
    return found


def ceilings(path: Path = CEILINGS) -> dict[tuple[str, str], tuple[int, int]]:
    """Return the ceiling and the first count of each folder and pattern."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {
            (row["folder"], row["pattern"]): (int(row["ceiling"]), int(row["start"]))
            for row in csv.DictReader(file)
        }


def write(found: list[Found], path: Path = CEILINGS) -> None:
    """Lower the ceilings to the counts; a folder that is new has none, so that its counts are zero."""
    old = ceilings(path)
    counts = Counter((folder_of(each.path), each.pattern) for each in found)
    rows = {key: (min(ceiling, counts[key]), start) for key, (ceiling, start) in old.items()}
    rows = rows or {key: (count, count) for key, count in counts.items()}
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["folder", "pattern", "ceiling", "start"])
        out.writerows([*key, *row] for key, row in sorted(rows.items()))


def excess(found: list[Found], allowed: dict[tuple[str, str], tuple[int, int]]) -> list[str]:
    """Return a message for each folder and pattern above its ceiling."""
    counts = Counter((folder_of(each.path), each.pattern) for each in found)
    wrong = []
    for (folder, pattern), count in sorted(counts.items()):
        ceiling = allowed.get((folder, pattern), (0, 0))[0]
        if count > ceiling:
            wrong.append(f"{folder}: {count} of {pattern}, at most {ceiling}: {ADVICE[pattern]}")
    return wrong


def docs_sentence(root: Path = ROOT) -> int:
    """Return the 90th percentile of a sentence's length in `docs/`, in words."""
    lengths = [
        len(sentence.split())
        for path in sorted((root / "docs").rglob("*.md"))
        for _, words, _ in markdown(path.read_text(encoding="utf-8"))
        for sentence in sentences(words)
    ]
    return round(statistics.quantiles(lengths, n=10)[-1])


def too_long(length: int) -> list[str]:
    """Return a message if `length`, that of nine in ten sentences of `docs/`, is too many words."""
    if length <= MAX_DOCS_SENTENCE:
        return []
    return [f"docs: nine in ten sentences have at most {length} words, and {MAX_DOCS_SENTENCE} are allowed"]


def subjects(root: Path = ROOT) -> list[str]:
    """Return a message for each commit after `BASE` whose subject breaks a rule."""
    git = ["git", "-C", str(root)]
    if subprocess.run([*git, "cat-file", "-e", BASE], capture_output=True).returncode:
        print(
            "SKIPPED: commit subjects: this clone does not reach back to the first that is held to the rules"
        )
        return []
    listed = subprocess.run(
        [*git, "log", "--no-merges", "--format=%h %s", f"{BASE}..HEAD"],
        check=True,
        capture_output=True,
        text=True,
    )
    return [
        f"commit {line}: {why}"
        for line in listed.stdout.splitlines()
        if (why := subject(line.split(" ", 1)[1]))
    ]


def subject(text: str) -> str:
    """Return the rule that a commit's subject breaks; empty if there is none."""
    if len(text) > MAX_SUBJECT:
        return f"{len(text)} characters, at most {MAX_SUBJECT}"
    if not text[:1].isupper() or text.endswith("."):
        return "a capital letter first and no full stop last"
    if NOT_IMPERATIVE.match(text):
        return "the imperative: 'Drop the cache', not 'The cache is dropped'"
    return ""


def main() -> None:
    """Check, lower the ceilings, or print a folder's places."""
    found = everything()
    match sys.argv[1:]:
        case []:
            length = docs_sentence()
            wrong = excess(found, ceilings()) + subjects() + too_long(length)
            print(f"words: {len(found)} places, nine in ten sentences of docs/ have at most {length} words")
            if wrong:
                sys.exit("\n".join([*wrong, "python packaging/words.py FOLDER prints the places"]))
        case ["--write"]:
            write(found)
        case [folder]:
            for each in found:
                if folder_of(each.path) == folder or each.path == folder:
                    print(f"{each.path}:{each.line}: {each.text!r}: {ADVICE[each.pattern]}")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
