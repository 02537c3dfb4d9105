"""Write the pages, and the parts of pages, that follow from the code and from recorded results.

    python docs/generate.py                    reference.md, results.md, the tables of science and studies
    python docs/generate.py --record DIR       first keep the results of `duetime reproduce` in DIR

A test compares the files with what this writes, so that the two cannot part.
"""

import argparse
import json
import re
from pathlib import Path
from typing import Any

import duetime
from duetime.columns import COLUMNS
from duetime.experiments.claims import ask
from duetime.experiments.verdicts import STATUSES
from duetime.report import page, reproduced

DOCS = Path(__file__).resolve().parent
RECORD = DOCS / "record"
#: Where the keys of the JSON object are declared, the object itself first.
DECLARED = [
    DOCS.parent / "crates/results/src" / f"{name}.rs"
    for name in ("report", "summary", "limit", "queries", "statistics")
]

HEAD = """\
# Reference

<!-- Written by docs/generate.py from the declarations in the code. Change those, then run `make docs`. -->

Every key of the [scenario language](language.md), with its default, the values that are possible, and where
it comes from. "Required": leaving it out is an error; "none": there is none unless it is given.
"""


RESULTS = """\
# Results

<!-- Written by docs/generate.py from the declarations in the code. Change those, then run `make docs`. -->

`duetime run --out DIR` writes `run.json` and the tables `flows.parquet`, `links.parquet`, with fan-in classes
`queries.parquet`, and if the scenario asks for a trace `trace.parquet`. `duetime compare --out DIR` writes
such a folder for each transport (and seed) and `compare.json`. In Python they are `Result.flows`,
`Result.links`, `Result.queries` and `Result.trace`. The unit of a value is the end of its name.

## The JSON object

`duetime run --json` prints this; `run.json` holds it too, beside `version`, `notes` and the `scenario` with
every default. With `compare --seeds` every number becomes `{"mean", "ci95": [low, high], "values": [...]}`. A
value that does not exist (the median of nothing) is null. `compare` adds `against`, `differences` (what each
other transport has more or less, in the form of `runs`) and `verdicts`, with a `sentence` for each; see
[comparing](comparing.md). `--fail-if` adds `limits`: the value, interval and threshold of each condition.

How to read the figures:

- **missed** is the share of deadlines missed among the messages that started in the measured time. One that
  has not finished when its deadline passes is a miss. The run goes on until all are decided, as far as
  [`cool_down`](language.md#run) allows; what is undecided even then counts for neither.
- **bound** is the share that any schedule of the same messages must miss, even one that knows them all in
  advance and loses nothing; see [how far from the best](bound.md).
- **FCT** runs from the moment a message is handed to the transport until its last byte arrives. **slowdown**
  is FCT over the time that the message takes on an empty network.
- **answers in time** is what the user of a service sees: of one query's answers, the share that came in time.
- Messages that start during `warm_up` or after the duration are not counted. A flow without end (`long`) is
  an unfinished message; what it delivers counts in the goodput.
- One seed is one sample. Compare with `--seeds`, and look at the differences and their intervals.
"""


def main() -> None:
    """Write everything."""
    arguments = argparse.ArgumentParser(
        description="Write what follows from the code and from recorded results."
    )
    arguments.add_argument("--record", type=Path, metavar="DIR", help="keep these results first")
    folder = arguments.parse_args().record
    if folder is not None:
        record(folder)
    for name, text in written().items():
        (DOCS / name).write_text(text, encoding="utf-8")


def written() -> dict[str, str]:
    """Every file that this writes, by its name."""
    pages = {
        name: (DOCS / name).read_text(encoding="utf-8") for name in ("science.md", "studies.md", "promise.md")
    }
    return {
        "reference.md": reference(duetime.catalog()),
        "results.md": results(),
        **{name: filled(text, RECORD) for name, text in pages.items()},
    }


def results() -> str:
    """The page on result files."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in DECLARED)
    rows = [
        "| key | is |",
        "|---|---|",
        *(f"| `{key}` | {meaning} |" for key, meaning in fields("Report", text)),
    ]
    parts = [RESULTS, "\n".join(rows) + "\n", "## The tables\n"]
    for name, columns in COLUMNS.items():
        rows = [
            "| column | is |",
            "|---|---|",
            *(f"| `{key}` | {meaning} |" for key, meaning in columns.items()),
        ]
        parts += [f"### `{name}.parquet`\n", "\n".join(rows) + "\n"]
    return "\n".join(parts)


def fields(struct: str, text: str, path: str = "") -> list[tuple[str, str]]:
    """The keys that a Rust struct becomes in JSON, with the comments that declare them."""
    body = re.search(rf"pub struct {struct} \{{\n(.*?)\n\}}", text, re.DOTALL)
    if body is None:
        raise ValueError(f"no struct {struct} is declared in {[path.name for path in DECLARED]}")
    found = []
    pattern = r"((?: +///.*\n)+)((?: +#\[.*\]\n)*) +pub (\w+): ([^\n]+),"
    for comment, attributes, name, kind in re.findall(pattern, body[1] + "\n"):
        meaning = " ".join(line.strip().removeprefix("///").strip() for line in comment.strip().splitlines())
        inner = re.findall(r"[A-Z]\w+", kind)
        nested = bool(inner) and f"pub struct {inner[-1]} {{" in text
        place = path if "flatten" in attributes else f"{path}{name}."
        if "by_name" in attributes:
            place += "NAME."
        if "flatten" not in attributes:
            found.append((f"{path}{name}", meaning.replace("|", "\\|")))
        if nested:
            found += fields(inner[-1], text, place)
    return found


def record(folder: Path) -> None:
    """Keep of every reproduced experiment what its claims and charts need, and the tables of the pages."""
    pages = "".join(path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md")))
    for path in sorted(folder.rglob("result.json")):
        whole = json.loads(path.read_text(encoding="utf-8"))
        queries = " ".join(re.findall(rf"<!-- table: {re.escape(whole['id'])}: (.*?) -->", pages, re.DOTALL))
        shown = {name for chart in whole["charts"] for name in columns_of(chart)} | {
            *re.findall(r"\w+", queries)
        }
        drawn = [row for row in whole["rows"] if any(draws(chart, row) for chart in whole["charts"])]
        rows = [{name: rounded(row[name]) for name in row if name in shown} for row in drawn or whole["rows"]]
        unique = list({json.dumps(row): row for row in rows}.values())
        kept = whole | {"rows": unique, "claims": [rounded(claim) for claim in whole["claims"]]}
        target = RECORD / kept["id"] / "result.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        for picture in sorted(path.parent.glob("figure*.png")):
            name = f"images/{kept['id'].replace('/', '-')}-{picture.name}"
            if name in pages:
                (RECORD.parent / name).parent.mkdir(exist_ok=True)
                (RECORD.parent / name).write_bytes(picture.read_bytes())


def draws(chart: dict[str, Any], row: dict[str, Any]) -> bool:
    """Whether a chart shows a row."""
    there = all(row.get(chart[axis]["column"]) is not None for axis in ("x", "y"))
    return there and all(row.get(column) == value for column, value in chart.get("where", {}).items())


def columns_of(chart: dict[str, Any]) -> set[str]:
    """The columns that a chart reads."""
    named = {chart[axis].get(key) for axis in ("x", "y") for key in ("column", "low", "high")}
    return {name for name in (*named, chart["series"]["column"], *chart.get("where", {})) if name}


def rounded(value: Any) -> Any:
    """Numbers to five digits, wherever they are."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, list) else value


def filled(text: str, folder: Path) -> str:
    """The page with every `<!-- what: experiment -->` ... `<!-- /what -->` filled from the record.

    ``experiment#2`` are the values of its second chart. A table is a query over the recorded rows:
    ``<!-- table: experiment: select ... -->``.
    """
    known = {experiment.id: experiment for experiment in reproduced.read(folder)}
    makers = {"claims": claims, "values": values_of, "how": how, "finding": finding}
    text = numbers(text, known_rows(folder))

    def fill(match: re.Match[str]) -> str:
        what, name = match[1], match[2]
        experiment, _, chart = name.partition("#")
        if experiment not in known:
            content = f"*No result of `{experiment}` is recorded yet.*\n"
        elif chart:
            content = values_of(known[experiment], int(chart))
        else:
            content = makers[what](known[experiment])
        return f"<!-- {what}: {name} -->\n{content}<!-- /{what} -->"

    def ask_for(match: re.Match[str]) -> str:
        name, query = match[1], match[2]
        path = folder / name / "result.json"
        content = queried(path, query) if path.is_file() else f"*No result of `{name}` is recorded yet.*\n"
        return f"<!-- table: {name}: {query} -->\n{content}<!-- /table -->"

    text = re.sub(
        r"<!-- tally -->\n.*?<!-- /tally -->",
        lambda _: f"<!-- tally -->\n{tally(list(known.values()))}<!-- /tally -->",
        text,
        flags=re.DOTALL,
    )
    text = re.sub(
        r"<!-- (claims|values|how|finding): (\S+) -->\n.*?<!-- /\1 -->", fill, text, flags=re.DOTALL
    )
    return re.sub(r"<!-- table: (\S+): (.*?) -->\n.*?<!-- /table -->", ask_for, text, flags=re.DOTALL)


def queried(path: Path, query: str) -> str:
    """What a query over the rows of a record gives."""
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    names, found = ask(rows, query, str(path))
    lines = [names, ["---"] * len(names), *([shown(cell) for cell in row] for row in found)]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def finding(experiment: Any) -> str:
    """What was found, in a sentence."""
    return (experiment.finding or "*Nothing was found.*") + "\n"


def known_rows(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows of every recorded experiment."""
    found = (json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("result.json")))
    return {each["id"]: each["rows"] for each in found}


def numbers(text: str, rows: dict[str, list[dict[str, Any]]]) -> str:
    """Fill every ``<!-- n: experiment; column = value, ...; column -->`` in a sentence."""

    def fill(match: re.Match[str]) -> str:
        name, where, column = (part.strip() for part in match[1].split(";"))
        wanted = dict(part.split(" = ") for part in where.split(", "))
        found = {
            row[column]
            for row in rows.get(name, ())
            if all(str(row.get(key)) == value for key, value in wanted.items())
            and row.get(column) is not None
        }
        if rows and len(found) != 1:
            raise ValueError(f"{match[1]}: {len(found)} values")
        return f"<!-- n:{match[1]}-->{shown(found.pop()) if found else '?'}<!-- /n -->"

    return re.sub(r"<!-- n:([^>]*?)-->.*?<!-- /n -->", fill, text)


def shown(value: Any, places: int = 3) -> str:
    """A number with three digits that matter: no reader uses a fourth."""
    if not isinstance(value, float):
        return page.value(value)
    return f"{value:.0f}" if abs(value) >= 10 ** (places - 1) else f"{value:.{places}g}"


def interval(low: float | None, high: float | None, *, shares: bool = False) -> str:
    """Both ends; shares lie between 0 and 100 %, and an interval without width says nothing."""
    if low is None or high is None or low == high:
        return ""
    if shares:
        low, high = max(low, 0.0), min(high, 100.0)
    return f" ({shown(low)} to {shown(high)})"


def tally(experiments: list[Any]) -> str:
    """How many facts that papers claim hold in each experiment, of those that were measured."""
    rows = ["| experiment | asks | facts that hold |", "|---|---|---|"]
    for each in experiments:
        counts = page.counts(each.claims)
        some = [f"{counts['holds']} of {sum(counts.values()) - counts['open']}"]
        some += [
            f"{counts[word]} {STATUSES[word].removeprefix('holds').strip(', ')}"
            for word in ("late", "calibrated", "uncalibrated")
            if counts[word]
        ]
        rows.append(f"| `{each.id}` | {each.title} | {'; '.join(some)} |")
    return "\n".join(rows) + "\n"


#: So many claims in a row that differ in a number only are told as one.
MANY = 4


def claims(experiment: Any) -> str:
    """What the paper says beside what was measured; many claims of one kind in one row.

    Of the set-up only what differs is told.
    """
    word = {**STATUSES, "holds": "yes", "fails": "**no**"}
    rows = ["| claim | published | measured | holds |", "|---|---|---|---|"]
    kinds: dict[Any, list[Any]] = {}
    for number, claim in enumerate(experiment.claims):
        if claim.kind == "setup" and claim.status != "fails":
            continue
        # What is expanded from one claim has its rule; claims in words stand alone.
        numeric = isinstance(claim.measured, int | float) and isinstance(claim.published, int | float)
        alone = claim.kind == "setup" or not (numeric and claim.rule)
        kinds.setdefault(number if alone else (claim.rule, claim.unit, claim.status), []).append(claim)
    for alike in kinds.values():
        for some in [alike] if len(alike) >= MANY else [[claim] for claim in alike]:
            told = "**differs**" if some[0].kind == "setup" else word[some[0].status]
            cells = (*_said(some), told + (f" ({len(some)})" if len(some) > 1 else ""))
            rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def _said(some: list[Any]) -> tuple[str, str, str]:
    """Claim, published and measured of one claim, or the ranges of several."""
    first, last, unit = some[0], some[-1], some[0].unit
    beside = [claim.beside for claim in some if claim.beside.get("measured") is not None]
    if len(some) == 1:
        parts = [_measured(first.measured, first.low, first.high, unit)]
        parts += [
            f"{each['regime']}: {_measured(each['measured'], each.get('low'), each.get('high'), unit)}"
            for each in beside
        ]
        return first.claim, page.published(first), "; ".join(parts)
    published, measured = (
        _span([float(getattr(claim, name)) for claim in some], unit) for name in ("published", "measured")
    )
    if beside:
        other = _span([float(each["measured"]) for each in beside], unit)
        measured = f"{measured}; {beside[0]['regime']}: {other}"
    return f'{len(some)} claims, from "{first.claim}" to "{last.claim}"', published, measured


def _measured(value: Any, low: float | None, high: float | None, unit: str) -> str:
    if value is None:
        return page.value(None)
    return shown(value) + (f" {unit}" if unit else "") + interval(low, high)


def _span(values: list[float], unit: str) -> str:
    low, high = shown(min(values)), shown(max(values))
    return (low if low == high else f"{low} to {high}") + (f" {unit}" if unit else "")


def values_of(experiment: Any, number: int = 1) -> str:
    """The values of one of an experiment's charts."""
    chart = experiment.charts[number - 1]
    rows = [
        f"| {chart.x.text} | " + " | ".join(one.name for one in chart.series) + " |",
        "|---" * (len(chart.series) + 1) + "|",
        *(f"| {page.value(place)} | " + " | ".join(_cells(chart, place)) + " |" for place in chart.places),
    ]
    return f"{chart.y.text}:\n\n" + "\n".join(rows) + "\n"


def _cells(chart: Any, place: Any) -> list[str]:
    """A row of a chart: for each series the value, its interval, and what was published."""
    # As of figures of runs: what is in percent and never outside 0 to 100 is a share, not a difference.
    shares = chart.y.unit == "%" and all(0 <= point.y <= 100 for one in chart.series for point in one.points)
    cells = []
    for one in chart.series:
        parts = [
            shown(point.y) + interval(point.low, point.high, shares=shares)
            for point in one.points
            if point.x == place
        ]
        parts += [f"published {point.label or shown(point.y)}" for point in one.published if point.x == place]
        cells.append("; ".join(parts) or "\N{EN DASH}")
    return cells


def how(experiment: Any) -> str:
    """How an experiment was run, in a line."""
    parts = [f"{name}: {page.value(value)}" for name, value in experiment.facts.items()]
    return f"{experiment.source}; {'; '.join(parts)}.\n"


def reference(catalog: dict[str, Any]) -> str:
    """The whole page."""
    shared = shared_keys(catalog["transports"])
    parts = [
        HEAD,
        "## `[run]`\n",
        table(catalog["run"]),
        "### `trace`\n",
        table(catalog["trace"]),
        "Signals that `what` can name:\n",
        signals(catalog["signals"]),
        "## `[network]`\n",
        "Keys of every topology:\n",
        table(catalog["network"]),
        *(section("topology", entry, entry["keys"]) for entry in catalog["topologies"]),
        "### An entry of `links`\n",
        table(catalog["links"]),
        "## `[transport]`\n",
        "Parameters of every transport:\n",
        table(shared),
        *(section("name", entry, without(entry["keys"], shared)) for entry in catalog["transports"]),
        "## `[[traffic]]`\n",
        "Keys of every pattern:\n",
        table(catalog["traffic"]),
        *(section("pattern", entry, entry["keys"]) for entry in catalog["patterns"]),
        "### An entry of `flows`\n",
        table(catalog["flows"]),
        "## Notes\n",
        "What a valid scenario is told all the same by `check`, `run`, `compare` and `sweep`; each note ends "
        "with its name. `duetime check --explain` shows the figures behind them.\n",
        "\n".join(f"- `{known['name']}`: {known['help']}" for known in catalog["notes"]) + "\n",
        "## Distributions that come with the language\n",
        "\n".join(f"- `cdf({known['name']})`: {known['help']}" for known in catalog["distributions"]) + "\n",
    ]
    return "\n".join(parts)


def shared_keys(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The keys that all entries declare alike."""
    return [key for key in entries[0]["keys"] if all(key in entry["keys"] for entry in entries)]


def without(keys: list[dict[str, Any]], others: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The keys that are not among the others."""
    return [key for key in keys if key not in others]


def section(selector: str, entry: dict[str, Any], keys: list[dict[str, Any]]) -> str:
    """One transport, topology or pattern."""
    source = f" ({entry['source']})" if entry.get("source") else ""
    return f'### `{selector} = "{entry["name"]}"`\n\n{sentence(entry["help"])}{source}\n\n{table(keys)}'


def signals(signals: list[dict[str, Any]]) -> str:
    """One row per signal."""
    rows = ["| signal | is | unit |", "|---|---|---|"]
    rows += [f"| `{each['name']}` | {each['help']} | {each['unit'] or ''} |" for each in signals]
    return "\n".join(rows) + "\n"


def table(keys: list[dict[str, Any]]) -> str:
    """One row per key."""
    rows = ["| key | default | values | does | source |", "|---|---|---|---|---|"]
    for key in keys:
        cells = (f"`{key['name']}`", default(key), values(key), key["help"], key["source"])
        rows.append("| " + " | ".join(str(cell or "").replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def default(key: dict[str, Any]) -> str:
    """What holds when the key is left out."""
    if key["default"] is None:
        return "required" if key["required"] else "none"
    return f"`{key['default']}`"


def values(key: dict[str, Any]) -> str:
    """What may stand at the key."""
    if key["choices"]:
        words = ", ".join(f"`{word}`" for word in key["choices"])
        return f"list of {words}" if key["kind"].startswith("list") else words
    limits = f"; {key['range']}" if key["range"] else ""
    return str(key["kind"]) + limits + (f" {key['unit']}" if limits and key["unit"] else "")


def sentence(text: str) -> str:
    """With a full stop at its end and a capital at its start."""
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")


if __name__ == "__main__":
    main()
