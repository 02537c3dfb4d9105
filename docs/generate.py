"""Write the pages, and the parts of pages, that follow from the code and from recorded results.

    python docs/generate.py                reference.md, results.md, the tables of the other pages
    python docs/generate.py --record DIR   first keep the results of `duetime reproduce` in DIR
    python docs/generate.py --expand DIR   write the records as such results, for `duetime report`; no pages
    python docs/generate.py --examples     first make the runs that bound.md shows, if those there are stale
    python docs/generate.py --pictures     first draw the picture of the demo, if it is stale
    python docs/generate.py --names stale  print the stale experiments (or `all`), and how to repeat them

A test compares the files with the output of this script, so that they stay the same. A record is a table of
rows and a header, `docs/record/NAME.csv` and `NAME.toml` (`duetime.experiments.kept`). The header names what
the engine gave that made it: the last hash of each of its lines in tests/goldens.hashes. It is stale when
that has moved, and when a claim is written otherwise than it was judged.
"""

import argparse
import ast
import hashlib
import io
import json
import re
import shutil
import sys
import tempfile
import tokenize
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duetime
from duetime import fluid, plots, rowtable
from duetime.columns import COLUMNS
from duetime.contract.catalog import Catalog, Entry, Format, Key, Profile, Signal
from duetime.contract.experiments import Reproduction
from duetime.contract.rows import Row
from duetime.display.catalog import default_of, preset
from duetime.engine.points import Point, run_points
from duetime.experiments import experiment as reading
from duetime.experiments import kept, places
from duetime.experiments.claims import ask
from duetime.experiments.experiment import read
from duetime.experiments.reproduce import parameters_of
from duetime.experiments.verdicts import STATUSES, in_unit
from duetime.report import page, reproduced
from duetime.testbed import record as testbed

DOCS = Path(__file__).resolve().parent
RECORD = DOCS / "record"
GOLDENS = DOCS.parent / "tests/goldens.hashes"
#: The scenario that `make demo` compares, under `TRANSPORTS`; its picture, and the numbers behind that.
DEMO, PICTURE, NUMBERS = "large-messages", DOCS / "images/demo.png", "demo.json"
#: What `make scale` has measured.
MEASURED = DOCS.parent / "bench/record"
LINUX = DOCS.parent / "deploy" / "linux"
#: What bound.md compares with the bound: how it is called -> a scenario and changes to it.
EXAMPLES: dict[str, tuple[str, tuple[str, ...]]] = {
    "`oldi.toml` (fan-in 40)": ("oldi", ()),
    "`oldi.toml`, `tighter=0.3`": ("oldi", ("tighter=0.3",)),
    "`oldi.toml`, `fan_in=100`, 0.5 s": ("oldi", ("fan_in=100", "run.duration=500 ms")),
    "`large-messages.toml`": ("large-messages", ()),
    "`large-messages.toml`, all deadlines 45 ms": ("large-messages", ("traffic.answers.deadline=45 ms",)),
    "`mixed.toml`": ("mixed", ()),
}
TRANSPORTS = ("tcp", "dctcp", "d2tcp")
#: Pages with parts from recorded results, each with the pages in its folder.
FILLED = ("science", "studies", "bound", "family", "fluid", "mcp", "promise", "requests")
#: Where the keys of the JSON object are declared, the object itself first.
DECLARED = [
    DOCS.parent / "crates/results/src" / f"{name}.rs"
    for name in ("report", "summary", "limit", "queries", "requests", "statistics")
]

HEAD = """\
# Reference

<!-- Written by docs/generate.py from the declarations in the code. Change those, then run `make docs`. -->

Every key of the [scenario language](language.md), with its default, the values that are possible, and its
source. "Required": leaving it out is an error; "none": there is none unless it is given.
"""


RESULTS = """\
# Results

<!-- Written by docs/generate.py from the declarations in the code. Change those, then run `make docs`. -->

`duetime run --out DIR` writes `run.json` and the tables `flows.parquet` and `links.parquet`. Fan-in classes
have `queries.parquet`, and a trace that the scenario asks for is `trace.parquet`. Classes of stages have
`requests.parquet`, and `pieces.parquet` where one has `pieces = true`. `duetime compare --out DIR` writes
such a folder for each transport (and seed) and `compare.json`. In Python they are `Result.flows`,
`Result.links`, `Result.queries`, `Result.requests`, `Result.pieces` and `Result.trace`. The unit of a value
is the end of its name.

## Checksums

Every folder of a result has a file `SHA256SUMS`, which `sha256sum -c SHA256SUMS` checks. The folders of
several runs have one for the whole and one for each part, and so have finished runs (`runs/`). duetime checks
what it reads: `duetime.load`, `duetime report` and `duetime plot` check the records and pictures, and a table
when it is first used. The first file that differs is named, and the exit code is 2. `duetime plot` and
`duetime report` add files that are not listed.

A checksum takes one more reading of a table when it is written, and again when it is read. Results of older
versions have none and are read as they are.

## The JSON object

`duetime run --json` prints this; `run.json` holds it too, beside `version`, `notes` and the `scenario` with
every default. With `compare --seeds` every number becomes `{"mean", "ci95": [low, high], "values": [...]}`;
where too few seeds saw a miss, or differ, for an interval, `ci95` is two nulls and `seeds` about how many
would do. A value that does not exist (the median of nothing) is null. So is one that depends on messages in
flight when the run ended: `at_least`, in the same object, then has its lower bound, over seeds the mean's.
`compare` adds `against`, `differences` (what each other transport has more or less, in the form of `runs`)
and `verdicts`, with a `sentence` for each; see [comparing](comparing.md). `--fail-if` adds `limits`: the
value, interval and threshold of each condition.

How to read the figures:

- **missed** is the share of deadlines missed among the messages that started in the measured time. One that
  has not finished when its deadline passes is a miss. The run lasts until all are decided, as far as
  [`cool_down`](language.md#run) allows; a message undecided even then counts for neither.
- **bound** is the share that any schedule of the same messages must miss. Such a schedule knows them all in
  advance and loses nothing; see [how far from the best](bound.md).
- **FCT** runs from the moment a message is handed to the transport until its last byte arrives. **slowdown**
  is FCT over the time that the message takes on an empty network. Both, and **deadline ratio**, are of all
  counted messages but flows without end and messages that were given up. The run lasts until all have
  arrived, as far as `cool_down` allows. Of messages in flight even then (`censored`) a lower limit is known,
  the time until the end. A percentile that depends on it is null and has a bound in `at_least`;
  tables show it as `>=`, and no verdict rests on it.
- **answers in time** is what the user of a service sees: of one query's answers, the share that arrived in
  time.
- **NAME met** is the share of the requests of stages that reached the goal NAME in time. **all goals met** is
  the share that reached every goal of theirs. See [below](#requests-of-stages).
- Messages that start during `warm_up` or after the duration are not counted. A flow without end (`long`) is
  an unfinished message; what it delivers counts in the goodput.
- One seed is one sample. Compare with `--seeds`, and look at the differences and their intervals.

## The tables

| table | has a row for |
|---|---|
| `flows` | each message that was counted: its hosts, start, completion time, deadline and retransmissions |
| `queries` | each query of a fan-in class: its answers, and how many arrived in time |
| `requests` | each request of a class of stages: its times, its goals, and what took the time |
| `pieces` | each message and work of such requests, where their class has `pieces = true` |
| `links` | each direction of a link: packets, bytes, drops, marks and queues at its port |
| `trace` | each sample of a signal |

[Every column](results/tables.md), and [every key of the JSON object](results/keys.md).

```{toctree}
:hidden:

results/keys
results/tables
```

## Requests of stages

A class with `pattern = "stages"` has requests beside messages, and an object `requests` in its summary. Its
messages keep figures of their own. Whether these are in time depends on what their transport is told
(`deadlines`), and is not what a user waits for.

- **Counted** are requests that arrive in the measured time. A goal is reached in time if its stage, or for
  `deadline` the last stage, has ended at all hosts by then. A request that is over without having reached a
  goal has missed it: a message of it was given up, or it was abandoned. One in progress when the run ended
  has missed the goals whose time had passed; the others are undecided, null in the table, and count for
  neither.
- **Intervals** are over seeds, and each request is one event, however many messages it has. So `--fail-if
  "requests.goals.TTFT.attainment_percent < 99"` and verdicts of a comparison rest on requests. Transports are
  compared by all goals together (`all_goals_percent`), seed by seed.
- **Times** are from the arrival to the end of the last stage, of requests that ended; requests in progress
  give lower bounds, as messages do. **goodput_per_s** counts the requests that reached every goal.
- **Parts of the time**: the last message or work to end has waited for another one to end, and so on to the
  arrival. This critical path is the whole time of the request. `stages` divides it by stage, into
  messages (`network`), `work`, and works that waited for a server (`waiting`). `stragglers` are the hosts
  which most often had the longest piece of it.
- **bound** is the number of requests that miss a goal under
  [any schedule](bound.md#requests-of-several-stages).

How much a service carries is a search: `duetime capacity FILE --over traffic.chat.requests.speed --attain 99%
--goal TTFT` finds the highest rate at which 99 % of the requests reach TTFT in time; without `--goal` every
goal counts. `duetime need` finds the smallest rate of the links in the same way.

`duetime plot DIR` draws `requests` (attainment, and the parts of the time). With `pieces = true` in the class
it draws a `timeline`. Above is one request, each host a row: messages and works by stage, with a dark edge on
the critical path. A thin line leads from the end of each to the time by which it must end: the slack left.
A mark shows where a late one should have ended. `--request CLASS:NUMBER` names the request. Below are
the critical paths of the slowest per cent.
"""

KEYS = """\
# Keys of the JSON object

<!-- Written by docs/generate.py from the declarations in the code. Change those, then run `make docs`. -->

`duetime run --json` prints this object, and `run.json` holds it; see [how to read it](../results.md), and
when a key is null. NAME is the name of a class or a set; below `goals` and `stages` of one of these.
"""

TABLES = """\
# Columns of the tables

<!-- Written by docs/generate.py from the declarations in the code. Change those, then run `make docs`. -->

The columns of the Parquet files, which are `Result.flows`, `Result.links`, `Result.queries`,
`Result.requests`, `Result.pieces` and `Result.trace` in Python. In a column NAME is that of a goal or stage.
The unit of a value is the end of its name; see [how to read them](../results.md).
"""


def main() -> None:
    """Write all files, or do as the options say."""
    arguments = argparse.ArgumentParser(
        description="Write what follows from the code and from recorded results."
    )
    arguments.add_argument("--record", type=Path, metavar="DIR", help="keep these results first")
    arguments.add_argument("--expand", type=Path, metavar="DIR", help="write the records as results here")
    arguments.add_argument("--examples", action="store_true", help="make the runs of bound.md first")
    arguments.add_argument("--pictures", action="store_true", help="draw the demo first")
    arguments.add_argument(
        "--names",
        choices=["stale", "all"],
        help="print experiments with the options to repeat them, and write nothing",
    )
    given = arguments.parse_args()
    if given.names is not None:
        names = stale() if given.names == "stale" else places.names(places.folder())
        print("\n".join(f"{name} {options(name)}" for name in names))
        return
    if given.expand is not None:
        expand(given.expand)
        return
    if given.record is not None:
        try:
            record(given.record)
        except (KeyError, ValueError) as error:
            said = f"a result.json has no key {error}" if isinstance(error, KeyError) else error
            print(f"docs/generate.py: {given.record}: {said}", file=sys.stderr)
            sys.exit(2)
    if given.examples and not examples_are_current():
        run_examples()
    if given.pictures and not demo_is_current():
        draw_demo()
    for name, text in written().items():
        (DOCS / name).write_text(text, encoding="utf-8")


def written() -> dict[str, str]:
    """Return every generated file by its name."""
    pages = [page for name in FILLED for page in marked(name)]
    records = kept.read_all(RECORD, places.folder())
    return {
        "reference.md": reference(duetime.catalog()),
        "results.md": RESULTS,
        "results/keys.md": result_keys(),
        "results/tables.md": result_tables(),
        **{name: filled(text, RECORD, records) for name, text in pages},
        **{name: validated(text, RECORD / "validation") for name, text in marked("validation")},
        "decisions/speed.md": counted((DOCS / "decisions/speed.md").read_text(encoding="utf-8"), MEASURED),
        "scale.md": threaded(scaled((DOCS / "scale.md").read_text(encoding="utf-8"), MEASURED), MEASURED),
        "simulators.md": raced((DOCS / "simulators.md").read_text(encoding="utf-8"), MEASURED),
        "estimate.md": estimated((DOCS / "estimate.md").read_text(encoding="utf-8"), MEASURED),
        "howto/receive.md": on_receive(
            filled((DOCS / "howto/receive.md").read_text(encoding="utf-8"), RECORD, records),
            LINUX / "record/receive.json",
        ),
        "../README.md": sped((DOCS.parent / "README.md").read_text(encoding="utf-8"), MEASURED),
        "../deploy/linux/testbed/README.md": on_testbed(
            (LINUX / "testbed/README.md").read_text(encoding="utf-8"), LINUX / "record"
        ),
    }


def marked(name: str) -> list[tuple[str, str]]:
    """Return a page and the pages in its folder, as far as they have generated parts: name and text."""
    paths = [DOCS / f"{name}.md", *sorted((DOCS / name).glob("*.md"))]
    texts = [(path.relative_to(DOCS).as_posix(), path.read_text(encoding="utf-8")) for path in paths]
    return [(path, text) for path, text in texts if "<!-- /" in text]


def on_testbed(text: str, folder: Path) -> str:
    """The page with every `<!-- testbed: NAME -->` filled from what `duetime.testbed.record` has kept."""

    def fill(match: re.Match[str]) -> str:
        content = testbed.told(json.loads((folder / f"{match[1]}.json").read_text(encoding="utf-8")))
        return f"<!-- testbed: {match[1]} -->\n{content}<!-- /testbed -->"

    return re.sub(r"<!-- testbed: (\S+) -->\n.*?<!-- /testbed -->", fill, text, flags=re.DOTALL)


def on_receive(text: str, record: Path) -> str:
    """The page with its `<!-- receive -->` filled from what `deploy/linux/receive/measure.py` has kept."""
    content = received(json.loads(record.read_text(encoding="utf-8")))
    return re.sub(
        r"<!-- receive -->\n.*?<!-- /receive -->",
        lambda _: f"<!-- receive -->\n{content}<!-- /receive -->",
        text,
        flags=re.DOTALL,
    )


def by_arm(runs: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the runs without and with `d2tcp receive`."""
    return [[run for run in runs if run["receive"] == receive] for receive in (False, True)]


def missed_shares(arms: list[list[dict[str, Any]]]) -> list[str]:
    """Return the missed deadlines of each arm in per cent."""
    return [
        f"{100 * sum(run['missed'] for run in arm) / sum(run['answers'] for run in arm):.2f}" for arm in arms
    ]


def received(record: dict[str, Any]) -> str:
    """Return the table of missed deadlines without and with `d2tcp receive`, and its conditions."""
    rows, loads = [], []
    for set_up in record["set_ups"]:
        arms = by_arm(set_up["runs"])
        shares = missed_shares(arms)
        simulated = missed_shares(by_arm(set_up["simulated"])) if "simulated" in set_up else ["", ""]
        bulk = [
            f"{sum(run['bulk_mbps'] for run in arm) / len(arm):.1f}" if "bulk_mbps" in arm[0] else ""
            for arm in arms
        ]
        cost = sum(run["cpu_us_per_answer"] for run in arms[1]) / len(arms[1])
        loads += [run["load"] for arm in arms for run in arm]
        answers = sum(run["answers"] for run in arms[1])
        rows.append([set_up["what"], str(answers), *shares, *simulated, *bulk, f"{cost:.0f}"])
    head = [
        "set-up",
        "answers",
        "missed without, %",
        "with, %",
        "simulated without, %",
        "with, %",
        "bulk without, Mbit/s",
        "with",
        "CPU per answer, us",
    ]
    where = f"{record['date']}, Linux {record['kernel']}, {record['processors']} processors"
    return f"\n{tabled(head, rows)}\n{where} at a load of {min(loads):.0f} to {max(loads):.0f}.\n"


def validated(text: str, folder: Path) -> str:
    """The page with every `<!-- validation: NAME -->` filled from what `make validate` has kept."""
    tables = {
        "closed-forms": closed_forms,
        "incast": steps,
        "cubic": steps,
        "tcp": steps,
        "dctcp": steps,
        "ns3": beside,
        "htsim": beside_htsim,
        "htsim-dctcp": late_by_step,
        "kernel": on_kernel,
        "cost": cost,
    }

    def fill(match: re.Match[str]) -> str:
        file = folder / f"{match[1]}.csv"
        if not file.exists():
            return f"<!-- validation: {match[1]} -->\nNo such run is recorded.\n<!-- /validation -->"
        rows = rowtable.read(file.read_text(encoding="utf-8"))
        return f"<!-- validation: {match[1]} -->\n{tables[match[1]](rows)}<!-- /validation -->"

    return re.sub(r"<!-- validation: (\S+) -->\n.*?<!-- /validation -->", fill, text, flags=re.DOTALL)


def tabled(head: list[str], rows: list[list[str]]) -> str:
    """A table of a page."""
    lines = [head, ["---"] * len(head), *rows]
    return (
        "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
        + "\n"
    )


def closed_forms(rows: list[dict[str, Any]]) -> str:
    """Return the table of expected and measured values, with the reasons."""
    return tabled(
        ["check", "expected", "measured", "within", "", "because"],
        [
            [
                row["what"],
                *(f"{row[key]:.6g}" for key in ("expected", "measured")),
                in_unit(f"{row['tolerance']:.2g}", row["unit"]),
                "holds" if row["holds"] else "**fails**",
                row["derivation"],
            ]
            for row in rows
        ],
    )


def steps(rows: list[dict[str, Any]]) -> str:
    """One setup, one difference at a time."""
    heads = {"drops": "drops per query", "timeouts": "timeouts per query", "queue": "queue's mean, packets"}
    told = [key for key in heads if all(key in row for row in rows)]
    cells = [
        [row["simulator"], row["what"], *(f"{row[key]:.1f}" for key in told), f"{row['missed']:.1f} %"]
        for row in rows
    ]
    return tabled(["", "with", *(heads[key] for key in told), "late"], cells)


def beside(rows: list[dict[str, Any]]) -> str:
    """duetime beside ns-3, mended and as it is."""
    found: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
    for row in rows:
        key = (row["setup"], row["transport"], row["of"], row["figure"])
        found.setdefault(key, {})[row["side"]] = row
    cells = []
    for (setup, transport, of, figure), sides in found.items():
        held = sides["mended"]
        cells.append([f"{setup}, {transport}", str(held["seeds"]), f"{of}: {figure}", f"{held['ours']:.4g}"])
        for side in ("mended", "as it is"):
            found_there = sides.get(side)
            cells[-1] += (
                ["", ""] if found_there is None else [f"{found_there['theirs']:.4g}", apart(found_there)]
            )
    heads = ["setup", "seeds", "figure", "duetime", "ns-3 mended", "difference", "ns-3", "difference"]
    return tabled(heads, cells)


def beside_htsim(rows: list[dict[str, Any]]) -> str:
    """Return the table of duetime beside csg-htsim."""
    cells = [
        [
            row["side"],
            row["transport"],
            f"{row['of']}: {row['figure']}",
            *(f"{row[key]:.4g}" for key in ("ours", "theirs")),
            apart(row),
        ]
        for row in rows
    ]
    return tabled(["with", "transport", "figure", "duetime", "csg-htsim", "difference"], cells)


def late_by_step(rows: list[dict[str, Any]]) -> str:
    """One setup, one difference at a time, where nothing is lost."""
    cells = [[row["simulator"], row["what"], f"{row['queue']:.1f}", f"{row['missed']:.1f} %"] for row in rows]
    return tabled(["", "with", "queue's mean, packets", "late"], cells)


def on_kernel(rows: list[dict[str, Any]]) -> str:
    """Figures 6 and 7 on real TCP beside simulations of the same messages."""
    cells = [
        [
            f"{row['experiment']}, {row['transport']}",
            row["figure"],
            str(row["repeats"]),
            *(f"{row[key]:.4g}" for key in ("real", "simulated")),
            f"{row['difference']:+.2g}" + ("" if row["half"] is None else f" ± {row['half']:.1g}"),
            f"{row['late_us_p99']:.0f}, {row['late_us_max']:.0f}",
            f"{row['load']:.1f} on {row['cores']} cores",
        ]
        for row in rows
    ]
    heads = ["", "figure", "repeats", "real", "simulated", "difference"]
    return tabled([*heads, "hosts late, us: p99, at most", "load"], cells)


def cost(rows: list[dict[str, Any]]) -> str:
    """Return the CPU time of the recorded run, as a sentence."""
    return f"The recorded run took {rows[0]['cpu_s']} s of CPU.\n"


NOTHING = "*Nothing is recorded yet.*\n"
NOTHING_OF = "*No result of `{}` is recorded yet.*\n"


def recorded(folder: Path, kind: str) -> list[dict[str, Any]]:
    """Return the measurements of a kind in `bench/`, the latest last."""
    files = sorted(folder.glob(f"*-{kind}.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def placed(text: str, mark: str, content: str) -> str:
    """The page with this between `<!-- MARK -->` and `<!-- /MARK -->`."""
    filled = f"<!-- {mark} -->\n{content}<!-- /{mark} -->"
    return re.sub(rf"<!-- {mark} -->\n.*?<!-- /{mark} -->", lambda _: filled, text, flags=re.DOTALL)


def scaled(text: str, folder: Path) -> str:
    """The page with every `<!-- scale: SERIES -->` filled from the last record of that series."""
    last: dict[str, dict[str, Any]] = {}
    for line in recorded(folder, "scale"):
        last.update(dict.fromkeys(line["results"], line))
    plan = tomllib.loads((DOCS.parent / "bench/scale.toml").read_text(encoding="utf-8"))["series"]
    series = {each["name"]: each for each in plan}

    def fill(match: re.Match[str]) -> str:
        name = match[1]
        wanted = "messages-out" if name == "far" else name
        content = NOTHING
        if wanted in last:
            line = last[wanted]
            rows = line["results"][wanted]
            content = far(rows) if name == "far" else growth(series[name], rows, line)
        return f"<!-- scale: {name} -->\n{content}<!-- /scale -->"

    return re.sub(r"<!-- scale: (\S+) -->\n.*?<!-- /scale -->", fill, text, flags=re.DOTALL)


def counted(text: str, folder: Path) -> str:
    """The page with `<!-- instructions -->` filled from every record of `make instructions`."""
    rows = [
        [line["at"][:10], *(f"{line['results'][work]:.0f}" for work in ("W1", "W2", "W3")), line["note"]]
        for line in recorded(folder, "instructions")
    ]
    return placed(text, "instructions", tabled(["date", "W1", "W2", "W3", "with"], rows))


def threaded(text: str, folder: Path) -> str:
    """The page with `<!-- threads -->` filled from `bench/threads.py`: the last record on each processor."""
    last = {line["cpu"]: line for line in recorded(folder, "threads")}
    return placed(text, "threads", "\n".join(map(gained, last.values())) or NOTHING)


def gained(line: dict[str, Any]) -> str:
    """Return the table of the gain of threads, from a record."""
    most = {row["case"]: span(row) for row in line["results"] if row.get("beside")}
    rows = [
        [
            row["case"],
            row["threads"],
            f"{row['one_s']:.2f} s",
            f"{row['several_s']:.2f} s",
            span(row),
            f"{row['loop_ratio']:.2f}",
            most.get(row["case"], "-"),
            " to ".join(f"{ns:.0f}" for ns in sorted(row["round_trip_ns"])) + " ns",
        ]
        for row in line["results"]
        if not row.get("beside")
    ]
    heads = ["case", "threads", "one", "several", "gain", "of the events alone", "two runs side by side"]
    heads.append("round trip between cores")
    where = f"{line['at'][:10]}, {line['cpu']}, {line['cores']} cores"
    note = f"; {line['note']}" if line["note"] else ""
    return f"{tabled(heads, rows)}\n*Medians and ranges of pairs. {where}{note}.*\n"


def span(row: dict[str, Any]) -> str:
    """A median ratio and its range."""
    return f"{row['ratio']:.2f} ({row['least']:.2f} to {row['most']:.2f})"


def estimated(text: str, folder: Path) -> str:
    """The page with `<!-- estimates -->` filled from the last record of each case of `bench/estimate.py`."""
    last = {line["case"]: line for line in recorded(folder, "estimate")}

    def row(case: str, line: dict[str, Any]) -> list[str]:
        cells = [f"{case} (warned of)" if line["warnings"] else case]
        full, estimate = line["full"], line["estimate"]
        for figure in ("missed_percent", "p50", "p99"):
            pair = (each["summary"] | each["summary"]["slowdown"] for each in (full, estimate))
            cells.append(", ".join(f"{each[figure]:.3g}" for each in pair))
        links = line["links"]
        return [
            *cells,
            f"{links['simulated']} of {links['of']}",
            f"{full['cpu_s']:.3g} s, {estimate['cpu_s']:.3g} s",
        ]

    heads = ["case", "missed, %", "slowdown p50", "p99", "links simulated", "CPU"]
    content = tabled(heads, [row(case, line) for case, line in sorted(last.items())])
    return placed(text, "estimates", content)


def raced(text: str, folder: Path) -> str:
    """The page with `<!-- peers -->` filled from the records of `bench/beside.py`: the last day, by build."""
    lines = recorded(folder, "peers")
    line = lines[-1]
    of_day = {each.get("build", ""): each for each in lines if each["at"][:10] == line["at"][:10]}
    builds = sorted(of_day, reverse=True)
    cells = [
        [work, build, f"{of['duetime']['delivered_per_s'] / 1e6:.2f}"]
        + [
            cell
            for row in (of["csg-htsim"], of["ns-3"])
            for cell in (
                f"{shown(row['times'])} [{shown(row['times_low'])}, {shown(row['times_high'])}]",
                shown(row["times_whole_process"]),
            )
        ]
        for work in line["results"]
        for build, of in ((build, of_day[build]["results"][work]) for build in builds)
    ]
    heads = ["work", "built", "duetime", "over csg-htsim: loop", "process", "over ns-3: loop", "process"]
    where = f"{line['at'][:10]}, {line['cpu']}, {line['cores']} cores, load average {line['load']}"
    how = f"{where}, {line['rounds']} rounds; duetime in millions of packets per second."
    return placed(text, "peers", f"{tabled(heads, cells)}\n*{how}*\n")


#: The workloads of `bench/workloads.toml`, as the README names them.
WORKLOADS = {
    "W1": "40 long flows into one port of 1 Gbps",
    "W2": "8 long flows into one port of 10 Gbps",
    "W3": "fan-in over 1000 hosts",
}


def sped(text: str, folder: Path) -> str:
    """The README with its figures from the last record of `bench/beside.py` without a profile.

    `<!-- speed -->` is the table, and `<!-- times: NAME -->` the range of the ratios to another simulator.
    """
    line = [each for each in recorded(folder, "peers") if each.get("build") == "without a profile"][-1]

    def ratio(row: dict[str, Any]) -> str:
        return f"{shown(row['times'])} ({shown(row['times_whole_process'])})"

    def times(match: re.Match[str]) -> str:
        ratios = [of[match[1]]["times"] for of in line["results"].values()]
        least, most = (f"{float(f'{ratio:.2g}'):g}" for ratio in (min(ratios), max(ratios)))
        return f"<!-- times: {match[1]} -->{least} to {most}<!-- /times -->"

    text = re.sub(r"<!-- times: (\S+) -->.*?<!-- /times -->", times, text)
    cells = [
        [f"{work}: {WORKLOADS[work]}", ratio(of["csg-htsim"]), ratio(of["ns-3"])]
        for work, of in line["results"].items()
    ]
    how = (
        f"Medians of {line['rounds']} interleaved rounds on one core of an {line['cpu']}, {line['at'][:10]}."
    )
    return placed(text, "speed", f"{tabled(['workload', 'csg-htsim', 'ns-3'], cells)}\n*{how}*\n")


def growth(series: dict[str, Any], rows: list[dict[str, Any]], line: dict[str, Any]) -> str:
    """One series of `bench/scale.toml`, and how it was measured."""
    by, of_samples = series["by"], series["by"] == "samples"
    written = ["tables"] if "written_mb" in rows[0] else []
    heads = [
        by,
        "million hops",
        f"ns per {'sample' if of_samples else 'hop'}",
        "set-up",
        "memory",
        "growth, each",
    ]
    cells = []
    for number, row in enumerate(rows):
        spent = row["ns_per_hop"] * (row["packet_hops"] / row["at"] if of_samples else 1)
        # Too short a run says nothing of a hop.
        timed = of_samples or row["packet_hops"] >= 100_000
        cells.append(
            [
                f"{row['at']:,}",
                f"{row['packet_hops'] / 1e6:,.2f}",
                f"{spent:,.0f}" if timed else "-",
                f"{row['set_up_s']:.1f} s",
                f"{row['memory_mb']:,.0f} MB",
                "" if number == 0 else memory(more(rows[number - 1], row)),
                *(f"{row['written_mb']:,.0f} MB" for _ in written),
            ]
        )
    loads = sorted(round(row["load_average"]) for row in rows)
    load = " to ".join(dict.fromkeys(str(each) for each in (loads[0], loads[-1])))
    where = f"{line['at'][:10]}, {line['cpu']}, {line['cores']} cores, load average {load}"
    about = series["about"]
    note = f"; {line['note']}" if line["note"] else ""
    how = f"{about[0].upper()}{about[1:]}. {where}{note}."
    return f"{tabled([*heads, *written], cells)}\n*{how}*\n"


def more(one: dict[str, Any], other: dict[str, Any]) -> float:
    """Bytes of memory that the second line has more, for each of what it has more of."""
    return float((other["memory_mb"] - one["memory_mb"]) * 1e6 / (other["at"] - one["at"]))


def memory(amount: float) -> str:
    """Return an amount of memory, in bytes or kilobytes."""
    return f"{amount / 1000:,.1f} KB" if abs(amount) >= 1000 else f"{amount:,.1f} B"


def far(rows: list[dict[str, Any]]) -> str:
    """Extrapolate the last two lines to more messages than were run."""
    one, other = rows[-2:]
    target = next(many for many in (10**8, 10**9, 10**12) if many > other["at"])
    each = more(one, other)
    reached = other["memory_mb"] + max(0.0, each) * (target - other["at"]) / 1e6
    disk = other["written_mb"] * target / other["at"] / 1e3
    grew = f"grew by {memory(each)} each" if each > 0 else "did not grow"
    return (
        f"From {one['at']:,} to {other['at']:,} messages memory {grew}. "
        f"At that, {target:,}, which were not run, would take {reached:,.0f} MB and {disk:,.0f} GB of disk.\n"
    )


def apart(row: dict[str, Any]) -> str:
    """A difference with its interval, and what it shows."""
    text = f"{row['difference']:+.2g} ± {row['half']:.1g}"
    return {"agrees": f"{text} =", "differs": f"**{text}**", "open": text}[row["verdict"]]


def result_keys() -> str:
    """Return the page on the keys of the JSON object."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in DECLARED)
    rows = [
        "| key | is |",
        "|---|---|",
        *(f"| `{key}` | {meaning} |" for key, meaning in fields("Report", text)),
    ]
    return "\n".join([KEYS, "\n".join(rows) + "\n"])


def result_tables() -> str:
    """Return the page on the columns of the tables."""
    parts = [TABLES]
    for name, columns in COLUMNS.items():
        rows = [
            "| column | is |",
            "|---|---|",
            *(f"| `{key}` | {meaning} |" for key, meaning in columns.items()),
        ]
        parts += [f"## `{name}.parquet`\n", "\n".join(rows) + "\n"]
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


def goldens() -> dict[str, dict[str, str]]:
    """Return the engine's results: for each experiment and scenario, each transport's hash of its run."""
    found: dict[str, dict[str, str]] = {}
    for line in GOLDENS.read_text(encoding="utf-8").splitlines()[2:]:
        name, *words = re.split(r"\s{2,}", line)
        # Name, two hashes, and where runs of its kind are recorded a last hash.
        if len(words) == 3:
            run, _, transport = name.partition(", ")
            found.setdefault(run, {})[transport] = words[2]
    return found


def engine(name: str) -> dict[str, str]:
    """Return the hashes that identify the results of an experiment; another value needs another record."""
    found = dict(goldens().get(name, {}))
    experiment = read(places.path_of(places.folder(), name))
    if "fluid" in experiment.measures or "engine=fluid" in experiment.path.read_text(encoding="utf-8"):
        # Floats may differ from one library to the next, so that there are no goldens of the fluid model.
        sources = sorted(Path(fluid.__file__).parent.glob("*.py"))
        found["the fluid model"] = hashlib.sha256("".join(map(code, sources)).encode()).hexdigest()[:8]
    return found


def code(path: Path) -> str:
    """Return the lines of a Python file without comments, docstrings and blank lines."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(text)):
        # A text that is a statement is a docstring.
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            for row in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                lines[row - 1] = ""
    return "\n".join(line.rstrip() for line in lines if line.strip())


def options(name: str) -> str:
    """Return the options of `duetime reproduce` that repeat a record: its scale and number of seeds."""
    head = kept.header(RECORD, name)
    scale: str = head.get("scale", "quick")
    own = read(places.path_of(places.folder(), name)).scales[scale].seeds
    return f"--scale {scale} --seeds {max(len(head.get('seeds', ())), own)}"


def stale() -> list[str]:
    """Return the experiments without a record, or with one of other results or of other claims."""
    found, root = [], places.folder()
    published = reading.published(root)
    for name in places.names(root):
        head, now = kept.header(RECORD, name), engine(name)
        judged = kept.is_judged(head, read(places.path_of(root, name)), published)
        if not now or head.get("engine") != now or not judged:
            found.append(name)
    return found


def record(folder: Path) -> None:
    """Keep the rows of every reproduced experiment for its claims, its charts and the tables of the pages."""
    pages = "".join(path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md")))
    for path in sorted(folder.rglob("result.json")):
        whole = json.loads(path.read_text(encoding="utf-8"))
        queries = " ".join(re.findall(rf"<!-- table: {re.escape(whole['id'])}: (.*?) -->", pages, re.DOTALL))
        shown = {name for chart in whole["charts"] for name in columns_of(chart)} | {
            *re.findall(r"\w+", queries)
        }
        rows = [row for row in whole["rows"] if any(draws(chart, row) for chart in whole["charts"])]
        rows = [{name: rounded(row[name]) for name in row if name in shown} for row in rows or whole["rows"]]
        unique = list({json.dumps(row): row for row in rows}.values())
        new = whole | {"rows": unique, "claims": [rounded(claim) for claim in whole["claims"]]}
        new["engine"] = engine(whole["id"])
        drawn = {
            f"images/{whole['id'].replace('/', '-')}-{picture.name}": picture
            for picture in sorted(path.parent.glob("figure*.png"))
        }
        drawn = {name: picture for name, picture in drawn.items() if name in pages}
        new["pictures"] = {name: hash_of(picture) for name, picture in drawn.items()}
        kept.write(RECORD, new, places.folder())
        for name, picture in drawn.items():
            (RECORD.parent / name).parent.mkdir(exist_ok=True)
            (RECORD.parent / name).write_bytes(picture.read_bytes())


def expand(folder: Path) -> None:
    """Write every record as the `result.json` of its experiment, with the settings that it has today."""
    root = places.folder()
    with tempfile.TemporaryDirectory() as aside:
        for name, whole in kept.read_all(RECORD, root).items():
            experiment = read(places.path_of(root, name))
            scenario, parameters = parameters_of(experiment, whole["scale"], Path(aside))
            whole |= {"scenario": scenario, "parameters": parameters}
            target = folder / name / "result.json"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def hash_of(picture: Path) -> str:
    """Return the hash that ties a picture to its numbers: they are recorded together."""
    return hashlib.sha256(picture.read_bytes()).hexdigest()[:16]


def draw_demo() -> None:
    """Draw what `make demo` draws, and keep the numbers behind it."""
    with tempfile.TemporaryDirectory() as folder:
        drawn = Path(folder) / "demo"
        compared = duetime.compare(DOCS.parent / f"scenarios/{DEMO}.toml", TRANSPORTS, progress=False)
        compared.save(drawn)
        plots.plot_dir(drawn)
        shutil.copy(drawn / "plots/overview.png", PICTURE)
    figures = rounded({name: demo_figures(run) for name, run in compared.data["runs"].items()})
    kept = {"engine": demo_engine(), "pictures": {PICTURE.name: hash_of(PICTURE)}, "figures": figures}
    (RECORD / NUMBERS).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def demo_figures(run: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of a run that the demo's picture shows."""
    summary = run["summary"]
    shown = ("missed_percent", "complete_queries_percent", "fct_us", "answers_in_time_percent")
    return {name: summary[name] for name in shown}


def demo_engine() -> dict[str, str]:
    """Return the hashes that identify the results of the demo's runs."""
    known = goldens().get(DEMO, {})
    return {name: known.get(name, "none") for name in TRANSPORTS}


def demo_is_current() -> bool:
    """Return whether the picture shows the engine's results."""
    path = RECORD / NUMBERS
    return path.is_file() and json.loads(path.read_text(encoding="utf-8"))["engine"] == demo_engine()


def examples_engine() -> dict[str, str]:
    """Return the hashes that identify the results of the runs that bound.md shows."""
    known = goldens()
    scenarios = dict.fromkeys(name for name, _ in EXAMPLES.values())
    return {
        f"{name}, {each}": known.get(name, {}).get(each, "none") for name in scenarios for each in TRANSPORTS
    }


def examples_are_current() -> bool:
    """Return whether bound.md shows the engine's results."""
    path = RECORD / "bound.json"
    kept = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return kept.get("engine") == examples_engine()


def run_examples(store: Path = DOCS.parent / "out/reproduce/points") -> None:
    """Keep what the examples of bound.md miss, and the bound."""
    points = [
        Point(DOCS.parent / f"scenarios/{name}.toml", changes, transport)
        for name, changes in EXAMPLES.values()
        for transport in TRANSPORTS
    ]
    runs = iter(run_points(points, store=store))
    rows = []
    for example in EXAMPLES:
        found = [next(runs).run for _ in TRANSPORTS]
        shares = {
            name: each["summary"]["missed_percent"] for name, each in zip(TRANSPORTS, found, strict=True)
        }
        rows.append(
            {
                "scenario": example,
                **shares,
                "bound": min(each["bound"]["missed_percent"] for each in found if each["bound"]),
            }
        )
    kept = {"engine": examples_engine(), "rows": rounded(rows)}
    text = json.dumps(kept, indent=1, ensure_ascii=False) + "\n"
    (RECORD / "bound.json").write_text(text, encoding="utf-8")


def examples(folder: Path) -> str:
    """Return the table of misses of the examples."""
    path = folder / "bound.json"
    if not path.is_file():
        return "*Nothing is recorded yet.*\n"
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    lines = [list(rows[0]), ["---", *["---:"] * (len(rows[0]) - 1)]]
    lines += [[each if isinstance(each, str) else shown(each) for each in row.values()] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def draws(chart: dict[str, Any], row: dict[str, Any]) -> bool:
    """Return whether a chart shows a row."""
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


def filled(text: str, folder: Path, records: dict[str, Reproduction] | None = None) -> str:
    """The page with every `<!-- what: experiment -->` ... `<!-- /what -->` filled from the record.

    ``experiment#2`` are the values of its second chart. A table is a query over the recorded rows:
    ``<!-- table: experiment: select ... -->``. `records` are the records of the folder, if read.
    """
    if records is None:
        records = kept.read_all(folder, places.folder())
    known = {each.id: each for each in reproduced.in_order(map(reproduced.understood, records.values()))}
    makers = {
        "claims": claims,
        "values": values_of,
        "how": how,
        "finding": finding,
        "robust": robust_of(records),
    }
    text = numbers(text, {name: each["rows"] for name, each in records.items()})
    text = re.sub(
        r"<!-- needs -->\n.*?<!-- /needs -->",
        lambda _: f"<!-- needs -->\n{needs(duetime.catalog()['transports'])}<!-- /needs -->",
        text,
        flags=re.DOTALL,
    )

    def fill(match: re.Match[str]) -> str:
        what, name = match[1], match[2]
        experiment, _, chart = name.partition("#")
        if experiment not in known:
            content = NOTHING_OF.format(experiment)
        elif chart:
            content = values_of(known[experiment], int(chart))
        else:
            content = makers[what](known[experiment])
        return f"<!-- {what}: {name} -->\n{content}<!-- /{what} -->"

    def ask_for(match: re.Match[str]) -> str:
        name, query = match[1], match[2]
        found = records.get(name)
        content = queried(name, found["rows"], query) if found else NOTHING_OF.format(name)
        return f"<!-- table: {name}: {query} -->\n{content}<!-- /table -->"

    text = re.sub(
        r"<!-- examples -->\n.*?<!-- /examples -->",
        lambda _: f"<!-- examples -->\n{examples(folder)}<!-- /examples -->",
        text,
        flags=re.DOTALL,
    )
    text = re.sub(
        r"<!-- tally -->\n.*?<!-- /tally -->",
        lambda _: f"<!-- tally -->\n{tally(list(known.values()))}<!-- /tally -->",
        text,
        flags=re.DOTALL,
    )
    text = re.sub(
        r"<!-- (claims|values|how|finding|robust): (\S+) -->\n.*?<!-- /\1 -->", fill, text, flags=re.DOTALL
    )
    return re.sub(r"<!-- table: (\S+): (.*?) -->\n.*?<!-- /table -->", ask_for, text, flags=re.DOTALL)


def queried(name: str, rows: list[Row], query: str) -> str:
    """Return the result of a query over the rows of a record, as a table."""
    names, found = ask(rows, query, f"docs/record/{name}.csv")
    lines = [names, ["---"] * len(names), *([shown(cell) for cell in row] for row in found)]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def finding(experiment: Any) -> str:
    """Return the finding, in a sentence."""
    return (experiment.finding or "*Nothing was found.*") + "\n"


#: With more than these, the places where a claim holds are counted and not named.
MAX_PLACES = 4


def robust_of(records: dict[str, Reproduction]) -> Callable[[Any], str]:
    """Makes the table of claims in variants of what a paper leaves open."""

    def table_of(experiment: Any) -> str:
        found = records[experiment.id].get("robust")
        if not found:
            return "*The present record was made without variants.*\n"
        many = len(found["variants"])
        rows = [f"| claim | as written | holds in, of {many} variants | where |", "|---|---|---|---|"]
        for each in found["claims"]:
            few = each["where"] if len(each["where"]) <= len(each["where_not"]) else each["where_not"]
            words = "; ".join(few) if len(few) <= MAX_PLACES else ""
            where = words and ("only with " if few is each["where"] else "not with ") + words
            verdict = {True: "yes", False: "**no**", None: "-"}[each["as_written"]]
            rows.append(f"| {each['claim']} | {verdict} | {each['held']} | {where} |")
        return "\n".join(rows) + "\n"

    return table_of


def numbers(text: str, rows: dict[str, list[Row]]) -> str:
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
    """Return both ends; shares are between 0 and 100 %, and an interval without width says nothing."""
    if low is None or high is None or low == high:
        return ""
    if shares:
        low, high = max(low, 0.0), min(high, 100.0)
    return f" ({shown(low)} to {shown(high)})"


def tally(experiments: list[Any]) -> str:
    """Return the table of the claimed facts that hold in each experiment, of the measured ones."""
    rows = ["| experiment | asks | facts that hold |", "|---|---|---|"]
    for each in experiments:
        counts = page.counts(each.claims)
        some = [f"{counts['holds']} of {sum(counts.values()) - counts['open']}"]
        some += [
            f"{counts[word]} {STATUSES[word].removeprefix('holds').strip(', ')}"
            for word in ("few", "late", "calibrated", "uncalibrated")
            if counts[word]
        ]
        rows.append(f"| `{each.id}` | {each.title} | {'; '.join(some)} |")
    return "\n".join(rows) + "\n"


#: So many claims in a row that differ in a number only are told as one.
MANY = 4


def claims(experiment: Any) -> str:
    """Return the table of published and measured values; many claims of one kind are in one row.

    Of the set-up only differences are told.
    """
    word = {**STATUSES, "holds": "yes", "fails": "**no**"}
    rows = ["| claim | published | measured | holds |", "|---|---|---|---|"]
    kinds: dict[Any, list[Any]] = {}
    for number, claim in enumerate(experiment.claims):
        if claim.kind == "setup" and claim.status != "fails":
            continue
        # Claims expanded from one have its rule; claims in words have rows of their own.
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
    beside = [other for claim in some if (other := claim.beside) and other.get("measured") is not None]
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
    return in_unit(shown(value), unit) + interval(low, high)


def _span(values: list[float], unit: str) -> str:
    low, high = shown(min(values)), shown(max(values))
    return in_unit(low if low == high else f"{low} to {high}", unit)


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
    """Return a row of a chart: for each series the value, its interval, and the published value."""
    # As of figures of runs: values in percent and never outside 0 to 100 are shares, not differences.
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


def reference(catalog: Catalog) -> str:
    """Return the whole page of the reference."""
    shared = shared_keys(catalog["transports"])
    parts = [
        HEAD,
        "## `[run]`\n",
        table(catalog["run"]),
        "### `trace`\n",
        table(catalog["trace"]),
        "Signals that `what` can name:\n",
        signals(catalog["signals"]),
        "## `profile`\n",
        profiles(catalog["profiles"]),
        "## `[network]`\n",
        "Keys of every topology:\n",
        table(catalog["network"]),
        *(section("topology", entry, entry["keys"]) for entry in catalog["topologies"]),
        "### An entry of `links`\n",
        table(catalog["links"]),
        "## `[[fault]]`\n",
        "Keys of every fault:\n",
        table(catalog["fault"]),
        *(section("kind", entry, entry["keys"]) for entry in catalog["faults"]),
        "## `[transport]`\n",
        "What each needs:\n",
        needs(catalog["transports"]),
        "What the note `outside-regime` judges a network by:\n",
        "\n".join(
            f"- {each['name']}, `{regime['key']}`: {regime['source']}"
            for each in catalog["transports"]
            for regime in each["needs"]["regimes"]
        )
        + "\n",
        "Parameters of every transport:\n",
        table(shared),
        *(transport(entry, shared) for entry in catalog["transports"]),
        "## `[[traffic]]`\n",
        "Keys of every pattern:\n",
        table(catalog["traffic"]),
        *(section("pattern", entry, entry["keys"]) for entry in catalog["patterns"]),
        "Formats of files of requests:\n",
        formats(catalog["formats"]),
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


def profiles(known: list[Profile]) -> str:
    """Each profile, and what it sets."""
    parts = [
        "Which stack a scenario means where it writes nothing itself; without `profile` it is "
        f"`{known[0]['name']}`. A key that is written replaces a profile's. A transport keeps what it "
        "declares anew, such as pFabric's timers. Defaults in the tables below are those of "
        f"`{known[0]['name']}`, and what other profiles make them.\n"
    ]
    for each in known:
        parts.append(f'### `profile = "{each["name"]}"`\n\n{sentence(each["help"])} ({each["source"]})\n')
        if each["settings"]:
            rows = ["| key | value | source |", "|---|---|---|"]
            rows += [
                f"| `{one['section']}.{one['key']}` | `{preset(one)}` | {one['source']} |"
                for one in each["settings"]
            ]
            parts.append("\n".join(rows) + "\n")
    return "\n".join(parts)


def needs(transports: Sequence[Entry]) -> str:
    """Return the table of the needs of each transport of switches and hosts."""
    rows = ["| transport | of switches | of hosts |", "|---|---|---|"]
    told = ((each["name"], each["needs"]["switches"], each["needs"]["hosts"]) for each in transports)
    rows += ["| " + " | ".join(cells) + " |" for cells in told]
    return "\n".join(rows) + "\n"


def shared_keys(entries: Sequence[Entry]) -> list[Key]:
    """The keys that all entries have, and most declare alike."""
    all_have = set.intersection(*({key["name"] for key in entry["keys"]} for entry in entries))
    alike = [key for key in entries[0]["keys"] if key["name"] in all_have]
    return [key for key in alike if sum(key in entry["keys"] for entry in entries) > len(entries) / 2]


def transport(entry: Entry, shared: list[Key]) -> str:
    """Return one transport: its own keys, and the shared keys that it does not read."""
    own = [key for key in without(entry["keys"], shared) if key["name"] not in entry["unread"]]
    unread = ", ".join(f"`{name}`" for name in entry["unread"])
    return section("name", entry, own) + (f"\nIt takes and does not read {unread}.\n" if unread else "")


def without(keys: list[Key], others: list[Key]) -> list[Key]:
    """The keys that are not among the others."""
    return [key for key in keys if key not in others]


def section(selector: str, entry: Entry, keys: list[Key]) -> str:
    """One transport, topology or pattern."""
    source = f" ({entry['source']})" if entry.get("source") else ""
    inside = [f"Keys of `{key['table']}`:\n\n{table(key['keys'])}" for key in keys if "keys" in key]
    own = f'### `{selector} = "{entry["name"]}"`\n\n{sentence(entry["help"])}{source}\n'
    own += f"\n{table(keys)}" if keys else ""
    return "\n".join([own, *inside])


def formats(known: list[Format]) -> str:
    """One row per format of files of requests."""
    rows = ["| format | is | source |", "|---|---|---|"]
    rows += [f"| `{each['name']}` | {each['help']} | {each['source']} |" for each in known]
    return "\n".join(rows) + "\n"


def signals(signals: list[Signal]) -> str:
    """One row per signal."""
    rows = ["| signal | is | unit |", "|---|---|---|"]
    rows += [f"| `{each['name']}` | {each['help']} | {each['unit'] or ''} |" for each in signals]
    return "\n".join(rows) + "\n"


def table(keys: list[Key]) -> str:
    """One row per key."""
    rows = ["| key | default | values | does | source |", "|---|---|---|---|---|"]
    for key in keys:
        cells = (f"`{key['name']}`", default(key), values(key), key["help"], key["source"])
        rows.append("| " + " | ".join(str(cell or "").replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def default(key: Key) -> str:
    """Return the value of a key that is left out."""
    if key["required"]:
        return "required"
    if key["profiles"]:
        return str(default_of(key))
    return "none" if key["default"] is None else f"`{key['default']}`"


def values(key: Key) -> str:
    """Return the values that the key may have."""
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
