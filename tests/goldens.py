"""The results of short runs, in two files that `test_goldens.py` recomputes.

    python tests/goldens.py     write both anew (`make goldens`)

`goldens.txt` is for reviewers: some sixty runs with rounded figures that count the fates of packets. Its
first line counts how often results have changed. When a former line of the other file changes or disappears,
the number grows, and CHANGELOG.md must describe the change under that number ("results 7").

`goldens.hashes` has a line for every run. Its two hashes are of a run's JSON without its wall-clock time, and
of its tables (each message with its times, each link, each sample of the trace). When only the JSON contract
changes, the first alone does. A last hash, where there is one, is of the messages' outcomes and of the trace,
whatever other columns the tables have. The documentation's records name it, and are stale when it moves
(`docs/generate.py`).
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duetime
from duetime import _core, files, scenario
from duetime.experiments import experiment as reading
from duetime.experiments import places
from duetime.experiments.reproduce import prepare
from duetime.statistics import BOUNDS, WALL_CLOCK

ROOT = Path(__file__).resolve().parents[1]
TABLE, HASHES = (Path(__file__).with_name(f"goldens.{kind}") for kind in ("txt", "hashes"))
FIGURES = ("delivered", "drops", "marks", "timeouts", "missed")
#: The second line of the file for reviewers, and the first of the other.
ABOUT = "# Counts of a run, of three digits; `make goldens` writes them, and goldens.hashes has every run."
UNREAD = "# Hashes of runs for programs to compare. No person need read them: goldens.txt is for people."
#: The transports of `scenarios/` that reviewers see; under the last of them they see faults.
SHOWN = ("dctcp", "d2tcp")
#: Of the tables of messages and of the trace: what happened.
HAPPENED = (
    "class",
    "src",
    "dst",
    "bytes",
    "start_us",
    "end_us",
    "deadline_us",
    "missed",
    "timeouts",
    "marks",
)
TRACED = ("time_s", "what", "class", "src", "dst", "value")
#: Names as they were when the hashes were recorded: another name is no other result.
RECORDED = {"src": "from", "dst": "to"}
#: Figures added since then, by the object that has them: a further figure is no other result.
ADDED = {"fct_us": ("p999",), "query_us": ("p999",), "slowdown": ("mean", "p999")}

#: Durations of `scenarios/`, long enough for drops or marks where they have any. Others run for `DURATION`.
DURATION = "100 ms"
DURATIONS = {
    "all-reduce": "25 ms",
    "incast": "200 ms",
    "large-messages": "1 s",
    "mixed": "12 ms",
    "oldi": "140 ms",
    "oldi-background": "140 ms",
    "rails": "1 ms",
    "rpc": "15 ms",
    "tree": "200 ms",
    "w1": "200 ms",
    "w2": "50 ms",
    "w3": "60 ms",
    "websearch": "15 ms",
    "xdctcp": "120 ms",
}
#: Runs of minutes: senders with go-back-n repeat themselves where ports drop and nothing is marked in time.
ENDLESS = {("rpc", "dcqcn")}
#: The same for experiments; all others run for `EXPERIMENT`.
EXPERIMENT = "60 ms"
EXPERIMENTS = {
    "d2tcp/collapse-guard": "400 ms",
    "d2tcp/fig06": "60 ms",
    "d2tcp/fig07": "400 ms",
    "d2tcp/large-messages": "600 ms",
    "d2tcp/tc-forms": "600 ms",
    "d3/fig11": "600 ms",
    "d3/fig12": "300 ms",
    "d3/fig13": "300 ms",
    "d3/table1": "600 ms",
    "hpcc/fig11": "300 us",
    "mcp/fig01": "10 ms",
    "mcp/fig02": "4 ms",
    "mcp/fig03": "1 ms",
    "mcp/fig03-k8": "1 ms",
    "mcp/fig04": "1 ms",
    "mcp/karuna": "4 ms",
    "mcp/shares": "1 ms",
    "promise/ablation-grants": "20 ms",
    "promise/fabric": "1 ms",
    "promise/fan-in": "20 ms",
    "promise/fat-tree": "1 ms",
    "promise/first-mover": "1 ms",
    "promise/grants": "20 ms",
    "promise/open-loop": "1 ms",
    "promise/sessions": "1 ms",
    "promise/speed": "0.5 ms",
}

#: Bursts into ports that hold a part of them, beside other messages: losses, marks, timeouts and misses.
BASE = """
title = "Base"
profile = "classic"

[run]
duration = "60 ms"
seed = 9
trace = { every = "1 ms", what = ["queue", "cwnd", "alpha", "d", "throughput", "rate", "request"] }

[network]
topology = "star"
hosts = 16
rate = "1 Gbps"
delay = "20 us"
buffer = "40 KB"
sharing = "per-port"
mark = "12 packets"

[transport]
name = "d2tcp"
rto_min = "5 ms"

[[traffic]]
name = "answers"
pattern = "fan-in"
leaves = 10
parents = 2
every = "8 ms"
size = "uniform(4 KB, 30 KB)"
jitter = "uniform(0 us, 50 us)"
deadline = { base = "4 ms", vary = "uniform(0, 50%)" }

[[traffic]]
name = "pages"
pattern = "poisson"
load = "10%"
size = "cdf(websearch)"

[[traffic]]
name = "copy"
pattern = "long"
from = 3
to = 4

[[traffic]]
name = "records"
pattern = "trace"
file = "messages.csv"
"""

#: Changes that turn `BASE` into connections that stay open over ports of six packets: so D3 loses some too.
OPEN = (
    "network.buffer=9 KB",
    "network.mark=4 packets",
    "traffic.answers.connections=persistent",
    "traffic.pages.connections=persistent",
)
#: Everything of `[network]` and of the classes that is chosen by a word; a transport's words are found.
CHOICES = {
    "sharing static": ["network.sharing=static", "network.buffer=400 KB"],
    "sharing dynamic": ["network.sharing=dynamic", "network.buffer=400 KB"],
    "non-ECT dropped": ["network.non_ect=drop", "traffic.copy.transport=tcp"],
    "marks at departure": ["network.mark_at=departure"],
    "RED at departure": [
        "network.mark_at=departure",
        "network.marking=red",
        "network.red_kmax=24 packets",
        "network.red_weight=0.5",
    ],
    "priority": ["network.discipline=priority", "traffic.answers.priority=0", "traffic.copy.priority=2"],
    "priority, pushing out": [
        "network.discipline=priority",
        "network.when_full=push-out",
        "network.buffer=20 KB",
        "traffic.answers.priority=0",
        "traffic.pages.priority=1",
        "traffic.copy.priority=2",
    ],
    "priority, untagged first": [
        "network.discipline=priority",
        "network.untagged=highest",
        "traffic.answers.priority=1",
    ],
    "placement at random": ["traffic.answers.placement=random"],
    "placement in order": ["traffic.answers.placement=in-order"],
}
#: Topologies of many hosts have runs of their own length.
SHORTER = {"rails": ("run.duration=35 ms",)}
#: What some words need beside them.
NEEDS = {"tlp": ("transport.loss_detection=rack",)}
#: A file for the pattern `trace`.
MESSAGES = "start,src,dst,bytes,deadline\n" + "".join(
    f"{at * 1e-3},{at % 16},{(at * 7 + 3) % 16},{1000 * (1 + at % 5)},{2e-3 if at % 2 else ''}\n"
    for at in range(20)
    if at % 16 != (at * 7 + 3) % 16
)


@dataclass(frozen=True)
class Golden:
    """A line of the files: one run, or several whose figures are added up."""

    name: str
    runs: tuple[Run, ...]
    #: Whether the documentation records runs of this kind.
    recorded: bool = False
    #: Whether reviewers see its figures.
    shown: bool = False


@dataclass(frozen=True)
class Outcome:
    """The results of a line: its hashes and its figures."""

    golden: Golden
    hashes: tuple[str, ...]
    figures: tuple[int, ...]


@dataclass(frozen=True)
class Run:
    """A run of the files: its file, its changes, its transport and its seed."""

    path: Path
    changes: tuple[str, ...] = field(default=())
    transport: str | None = None
    seed: int | None = None


def main() -> None:
    """Write both files anew; with the next number, if results have changed."""
    found, number = outcomes(), version()
    text = hashed(found)
    if rows(HASHES.read_text(encoding="utf-8")) - rows(text):
        number += 1
        print(f"results changed: say in CHANGELOG.md what moved, and why, as `results {number}`")
    files.write(HASHES, text.encode())
    files.write(TABLE, readable(found, number).encode())


def rows(text: str) -> set[tuple[str, ...]]:
    """The lines of hashes as words, however wide the columns are."""
    return {tuple(line.split()) for line in text.splitlines()[2:]}


def version() -> int:
    """Return the number of times that results have changed."""
    return int(TABLE.read_text(encoding="utf-8").splitlines()[0].removeprefix("results "))


def outcomes() -> list[Outcome]:
    """Make every run; give the results in the order of the files."""
    with tempfile.TemporaryDirectory() as folder:
        goldens = list(every(Path(folder)))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(outcome, goldens))


def readable(found: Sequence[Outcome], number: int) -> str:
    """Return the file for reviewers, with the number of times that results have changed."""
    lines = [("run", *FIGURES)]
    lines += [(each.golden.name, *map(rounded, each.figures)) for each in found if each.golden.shown]
    width = max(len(name) for name, *_ in lines)
    text = [f"{name:{width}}" + "".join(f"  {each:>9}" for each in figures) for name, *figures in lines]
    return "\n".join([f"results {number}", ABOUT, *text, ""])


def rounded(figure: int) -> str:
    """Return a figure of three digits."""
    return f"{float(f'{figure:.3g}'):.0f}"


def hashed(found: Sequence[Outcome]) -> str:
    """Return the file of hashes."""
    width = max((len(each.golden.name) for each in found), default=0)
    lines = ["  ".join((f"{each.golden.name:{width}}", *each.hashes)) for each in found]
    return "\n".join([UNREAD, f"{'run':{width}}  {'json':8}  {'tables':8}  happened", *lines, ""])


def outcome(golden: Golden) -> Outcome:
    """Make the runs of a line."""
    contracts, tables, happened = hashlib.sha256(), hashlib.sha256(), hashlib.sha256()
    sums = dict.fromkeys(FIGURES, 0)
    for run in golden.runs:
        read = scenario.read_file(run.path)
        done = _core.run(
            read.text, read.name, read.folder, set=run.changes, seed=run.seed, transport=run.transport
        )
        result = json.loads(done.json)
        # Timers say again, timer by timer, what `timeouts` counts.
        left_out = {*WALL_CLOCK, "timers"}
        contract = {key: as_recorded(result[key]) for key in result if key not in left_out}
        contracts.update(json.dumps(contract).encode())
        for part in (done.flows(), done.queries(), done.requests(), done.links(), done.trace()):
            for name, (kind, values, valid, words) in part.items():
                for piece in (
                    f"{RECORDED.get(name, name)} {kind}".encode(),
                    spelt(values, words),
                    valid or b"",
                ):
                    tables.update(piece)
        for part, names in ((done.flows(), HAPPENED), (done.trace(), TRACED)):
            for name in names:
                _, values, valid, words = part[name]
                happened.update(spelt(values, words))
                happened.update(valid or b"")
        for name, value in figures(result).items():
            sums[name] += value
            happened.update(f"{name} {value}".encode())
    every_hash = (contracts, tables, happened) if golden.recorded else (contracts, tables)
    return Outcome(golden, tuple(each.hexdigest()[:8] for each in every_hash), tuple(sums.values()))


def as_recorded(value: object, within: str = "") -> object:
    """Return an object with the names of its keys as they were recorded, without figures added since."""
    if not isinstance(value, dict):
        return value
    known = {key: each for key, each in value.items() if key not in ADDED.get(within, ())}
    return {
        RECORDED.get(key, key): as_recorded(each, within if key == BOUNDS else key)
        for key, each in known.items()
        if key != BOUNDS or set(each) - set(ADDED.get(within, ()))
    }


def spelt(values: bytes, words: list[str] | None) -> bytes:
    """Return the values of a column; of a column of words the words, independent of their codes."""
    if words is None:
        return values
    return "\0".join(words[code] for code in memoryview(values).cast("I")).encode()


def figures(result: Mapping[str, Any]) -> dict[str, int]:
    """The figures that a person looks at first."""
    return {
        "delivered": result["packets_delivered"],
        "drops": result["drops"],
        "marks": result["marks"],
        "timeouts": result["timeouts"],
        "missed": result["summary"]["missed"] or 0,
    }


def every(folder: Path) -> Iterator[Golden]:
    """Yield every line; scenarios that must be files are written into `folder`."""
    yield from of_scenarios()
    yield from of_words(folder)
    yield from of_experiments(folder)


def shortened(path: Path) -> tuple[str, ...]:
    """Changes (`--set`) that cut a file of `scenarios/` to what a test may take."""
    return (f"run.duration={DURATIONS.get(path.stem, DURATION)}", "run.warm_up=0 s")


def of_scenarios() -> Iterator[Golden]:
    """Each file of `scenarios/` under each transport."""
    for path in sorted((ROOT / "scenarios").glob("*.toml")):
        for transport in names("transports"):
            if (path.stem, transport) in ENDLESS:
                continue
            runs = (Run(path, shortened(path), transport),)
            yield Golden(f"{path.stem}, {transport}", runs, recorded=True, shown=transport in SHOWN)


def with_sack(change: tuple[str, ...], transport: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a change with SACK where RACK needs that and the transport repairs losses in another way."""
    recovery = next((own_default(key) for key in transport["keys"] if key["name"] == "recovery"), None)
    is_needed = "transport.loss_detection=rack" in change and recovery not in (None, "sack")
    return (*change, "transport.recovery=sack") if is_needed else change


def of_words(folder: Path) -> Iterator[Golden]:
    """Everything that is chosen by a word, one at a time."""
    base = folder / "base.toml"
    base.write_text(BASE, encoding="utf-8")
    (folder / "messages.csv").write_text(MESSAGES, encoding="utf-8")
    for transport in duetime.catalog()["transports"]:
        name = transport["name"]
        yield Golden(f"base, {name}", (Run(base, (), name),), shown=True)
        yield Golden(f"open connections, {name}", (Run(base, OPEN, name),))
        for key in transport["keys"]:
            words = {"true or false": ["true", "false"], "word": key["choices"]}.get(key["kind"], [])
            for word in words:
                if word == "go-back-n" and not transport["by_senders"]:
                    continue
                if word != own_default(key):
                    change = with_sack(
                        (f"transport.{key['name']}={word}", *NEEDS.get(key["name"], ())), transport
                    )
                    runs = Run(base, change, name), Run(base, (*OPEN, *change), name)
                    yield Golden(f"{name}, {key['name']} = {word}", runs)
    before, _, after = BASE.partition('topology = "star"\nhosts = 16\n')
    for topology in duetime.catalog()["topologies"]:
        name = topology["name"]
        path = folder / f"{name}.toml"
        path.write_text(f'{before}topology = "{name}"\n{topology["example"]}\n{after}', encoding="utf-8")
        shorter = SHORTER.get(name, ())
        yield Golden(f"base on {name}", (Run(path, shorter),), shown=True)
        for transport in names("transports"):
            yield Golden(f"base on {name}, {transport}", (Run(path, shorter, transport),))
    for name, chosen in CHOICES.items():
        yield Golden(name, (Run(base, tuple(chosen)),), shown=True)
    for fault in duetime.catalog()["faults"]:
        kind = fault["name"]
        path = folder / f"fault-{kind}.toml"
        path.write_text(f'{BASE}\n[[fault]]\nkind = "{kind}"\n{fault["example"]}\n', encoding="utf-8")
        for transport in names("transports"):
            runs = (Run(path, (), transport),)
            yield Golden(f"fault {kind}, {transport}", runs, shown=transport == SHOWN[-1])


def own_default(key: dict[str, Any]) -> Any:
    """Return the default of a key under the profile that `BASE` names."""
    return key["profiles"]["classic"] if key["profiles"] else key["default"]


def of_experiments(folder: Path) -> Iterator[Golden]:
    """Each experiment under each of its transports: all cells of the quick scale, their first seed."""
    root = places.folder()
    for name in places.names(root):
        experiment = reading.read(root / f"{name}.toml")
        study, _ = prepare(experiment, scale="quick", seeds=1, jobs=1, out=folder)
        # So short a run counts from its beginning to its end.
        duration = f"run.duration={EXPERIMENTS.get(name, EXPERIMENT)}"
        short = (duration, "run.warm_up=0 s", "run.cool_down=0 s")
        for transport in study.transports:
            points = [study.point(cell, transport, study.seeds[0]) for cell in study.cells()]
            runs = [
                Run(point.scenario, (*point.overrides, *short), point.transport, point.seed)
                for point in dict.fromkeys(points)
            ]
            # The fluid model is no part of the core: its floats may differ from one library to the next.
            packets = tuple(run for run in runs if not is_fluid(run))
            if packets:
                yield Golden(f"{name}, {transport}", packets, recorded=True)


def is_fluid(run: Run) -> bool:
    """Return whether its scenario selects the fluid model instead of packets."""
    asked = [change.partition("=")[2] for change in run.changes if change.startswith("run.engine=")]
    return asked[-1] == "fluid" if asked else 'engine = "fluid"' in run.path.read_text(encoding="utf-8")


def names(family: str) -> list[str]:
    """The names of all transports, topologies or patterns."""
    return [each["name"] for each in duetime.catalog()[family]]


if __name__ == "__main__":
    main()
