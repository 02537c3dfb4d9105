"""Experiments as data: all files are valid, and every published number is answered."""

import json
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import duetime
from duetime.display import claims as display
from duetime.experiments import claims as judging
from duetime.experiments import experiment as reading
from duetime.experiments import figures, kept, places, verdicts
from duetime.experiments.measures import MEASURES, paired, raw
from duetime.experiments.measures.groups import together
from duetime.experiments.measures.latency import percentiles
from duetime.experiments.reproduce import prepare, reproduce
from duetime.experiments.study import figure_of, known_to, over_seeds

ROOT = Path(__file__).resolve().parents[1] / "experiments"
NAMES = places.names(ROOT)
PUBLISHED = reading.published(ROOT)

TINY = '''
title = "A tiny study"
source = "nobody, figure 1"
question = "Does it run?"
regime = "plain"
transports = ["dctcp", "d2tcp"]
published = ["paper.fig1"]

[scenario]
title = "Tiny"
profile = "classic"
run = { duration = "5 ms", seed = 3 }
network = { topology = "star", hosts = 5, rate = "1 Gbps", delay = "5 us", mark = "20 packets" }
transport = { name = "d2tcp" }
traffic = [
  { name = "a", pattern = "fan-in", leaves = 4, every = "1 ms", size = "20 KB", deadline = "900 us" },
]

[[axes]]
column = "leaves"
set = ["traffic.a.leaves={}"]
values = [2, 4]

[scales.quick]
seeds = 2
[scales.paper]
seeds = 3

[[charts]]
title = "Misses"
kind = "line"
x = { column = "leaves", label = "leaves" }
y = { column = "missed_percent", label = "missed", low = "missed_percent_low", high = "missed_percent_high" }
series = "transport"
published = [{ series = "dctcp", x = 4, y = "paper.fig1.missed[1]", label = "there" }]

[[claims]]
claim = "it misses {much} with {leaves} leaves"
each = { leaves = [2, 4], much = "paper.fig1.missed" }
published = "paper.fig1.missed[{i}]"
measured = """
select missed_percent, missed_percent_low, missed_percent_high from rows
where leaves = {leaves} and transport = 'dctcp'
"""
holds = "measured <= published"
rule = "a bound"
why = "deadlines are short"

[[claims]]
claim = "a transport that was not run"
published = "in words"
measured = "select missed_percent from rows where transport = 'tcp'"
holds = "measured < 1"
rule = "a bound"
'''


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A folder of experiments with one in it."""
    root = tmp_path / "experiments"
    (root / "paper").mkdir(parents=True)
    (root / "published.toml").write_text("[paper.fig1]\nmissed = [100.0, -1.0]\n")
    (root / "regimes.toml").write_text('[regimes.plain]\nhelp = "as it is"\nset = []\n')
    (root / "paper" / "fig1.toml").write_text(TINY)
    return root


def edited(root: Path, old: str, new: str) -> Path:
    path = root / "paper" / "fig1.toml"
    assert old in TINY
    path.write_text(TINY.replace(old, new))
    return path


def test_an_experiment_needs_neither_tables_nor_pictures(tiny: Path, tmp_path: Path) -> None:
    without = "import sys; sys.modules |= {'matplotlib': None, 'polars': None}; from duetime.cli import main"
    words = ["duetime", "reproduce", "paper/fig1", "--from", str(tiny), "--out", "out"]
    script = f"{without}; sys.argv = {words!r}; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "out" / "paper" / "fig1").iterdir()} == {
        "SHA256SUMS",
        "result.json",
    }
    assert "note: will be left out: tables of messages and Parquet files need polars" in done.stderr
    assert "note: will be left out: pictures need matplotlib" in done.stderr
    found = duetime.load(tmp_path / "out" / "paper" / "fig1")
    assert repr(found).startswith("<Reproduction of 'paper/fig1': ")
    assert found._repr_html_().count("<tr>") == 1 + len(found.data["claims"])


def run(root: Path, *words: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "duetime", "reproduce", *map(str, words), "--from", str(root)]
    command += [] if "--out" in words else ["--out", "out/reproduce"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root.parent, timeout=120)
    assert done.returncode == code, done.stderr
    return done


# The files in experiments/


def test_every_figure_and_table_is_there() -> None:
    figures = [f"d2tcp/fig{n:02}" for n in (6, 7, *range(9, 18))] + [f"d2tcp/table{n}" for n in (1, 2, 3)]
    words = ("tc-forms", "collapse-guard", "d3-beside-tcp", "sensitivity", "large-messages", "variance")
    studied = ("fig03", "fig04", "fig06-choices", "fig07-matched", "fig07-total", "load", "urgent")
    d3 = [f"d3/{word}" for word in ("fig11", "fig12", "fig12-alone", "fig13", "table1", "table1-readings")]
    fluid = ["fluid/packets", "mcp/fig03-fluid", "mcp/fig04-fluid"]
    reports = ("choices", "fig02", "fig03", "fig04", "mixes", "optimum", "points")
    xdctcp = [f"xdctcp/{word}" for word in reports]
    assert {*figures, *(f"d2tcp/{word}" for word in (*words, *studied)), *d3, *xdctcp, *fluid} <= {*NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_every_cell_is_a_valid_scenario(name: str, tmp_path: Path) -> None:
    experiment = reading.read(ROOT / f"{name}.toml")
    study, resolved = prepare(experiment, scale="paper", seeds=None, jobs=None, out=tmp_path)
    assert resolved["run"]["seed"] == study.seeds[0]
    assert len(study.seeds) == experiment.scales["paper"].seeds
    assert set(experiment.measures) <= set(MEASURES)
    quick = experiment.scales["quick"]
    for axis in experiment.axes:
        # Nothing is tried at the quick scale that the paper scale does not have.
        assert set(map(str, quick.axes.get(axis.column, []))) <= set(map(str, [*axis.cases, *axis.values]))


@pytest.mark.parametrize("scale", reading.SCALES)
@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_starts(name: str, scale: str, tmp_path: Path) -> None:
    experiment = reading.read(ROOT / f"{name}.toml")
    done = reproduce(experiment, scale=scale, seeds=1, jobs=1, out=tmp_path, cut="5 ms")
    assert done.failed == []
    transports = {row["transport"] for row in done.data["rows"]}
    # Pairs have a row for each transport beside their baseline.
    options = experiment.options
    beside = {options.of("paired", paired.Options).baseline} if "paired" in options else set()
    assert transports >= {*experiment.transports} - beside or experiment.measures == ["fluid"]
    assert any(note.startswith("every run was cut to 5 ms") for note in done.data["notes"])


@pytest.mark.parametrize("name", NAMES)
def test_every_published_number_is_in_a_claim(name: str) -> None:
    experiment = reading.read(ROOT / f"{name}.toml")
    answered = [
        path
        for written in experiment.claims
        for claim in reading.expanded(written, PUBLISHED)
        for path in judging.paths(claim)
    ]
    for section in experiment.published:
        for path in leaves(reading.at(PUBLISHED, section), section):
            assert any(path == each or path.startswith((f"{each}[", f"{each}.")) for each in answered), path


def test_every_section_with_results_is_answered() -> None:
    answered = {section for name in NAMES for section in reading.read(ROOT / f"{name}.toml").published}
    setup = {"d2tcp.common", "d2tcp.testbed", "d2tcp.at_scale"}  # checked against the scenarios below
    papers = ("d2tcp", "d3", "homa", "karuna", "mcp", "mooncake", "xdctcp")
    sections = {f"{paper}.{each}" for paper in papers for each in PUBLISHED[paper]}
    assert sections - setup == answered


def test_the_scenario_at_scale_is_the_papers() -> None:
    stated = PUBLISHED["d2tcp"]["at_scale"]
    scenario, _ = duetime.check(ROOT.parent / "scenarios" / "oldi.toml")
    network, traffic = scenario["network"], scenario["traffic"]
    assert (network["racks"], network["hosts_per_rack"]) == (stated["racks"], stated["hosts_per_rack"])
    assert (network["rate"], network["delay"]) == ("1 Gbps", f"{stated['link_latency_us']} us")
    assert [each["parents"] for each in traffic] == [stated["trees_per_application"]] * stated["applications"]
    assert [each["deadline"]["base"] for each in traffic] == [f"{ms} ms" for ms in stated["base_deadline_ms"]]
    common = PUBLISHED["d2tcp"]["common"]
    transport = scenario["transport"]
    assert (transport["g"], transport["rto_min"]) == (common["g"], f"{common['rto_min_ms']} ms")
    assert [1 / transport["d_cap"], transport["d_cap"]] == common["d_range"]
    axes = reading.read(ROOT / "d2tcp" / "fig10.toml").axes
    assert axes[0].values == stated["fan_in"]


@pytest.mark.parametrize("name", NAMES)
def test_every_claim_has_a_rule(name: str) -> None:
    for claim in reading.read(ROOT / f"{name}.toml").claims:
        assert claim.rule.strip()
        assert claim.published


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_confirms_no_more_than_it_can(name: str) -> None:
    experiment = reading.read(ROOT / f"{name}.toml")
    assert experiment.finding is not None
    known = reading.facts(ROOT)
    for written in experiment.claims:
        # An echo of the set-up is no claim, and a factor of two confirms nothing.
        assert (written.kind == "setup") == bool(re.match("The set-up|The load is", written.claim)), (
            written.claim
        )
        assert "factor of two" not in written.rule
        assert "published / 2" not in written.holds
        for claim in reading.expanded(written, PUBLISHED):
            assert not claim.fact or claim.fact in known, claim.fact


def test_every_fact_is_claimed() -> None:
    claimed = {
        claim.fact
        for name in NAMES
        for written in reading.read(ROOT / f"{name}.toml").claims
        for claim in reading.expanded(written, PUBLISHED)
    }
    assert claimed - {""} == {*reading.facts(ROOT)}


def test_hosts_are_divided_equally_among_the_services() -> None:
    for name in ("oldi", "oldi-background"):
        run = duetime.run(
            ROOT.parent / "scenarios" / f"{name}.toml", set={"fan_in": 20, "run.duration": "350 ms"}
        )
        services = run.flows.group_by("class").agg(pl.col("src").unique(), pl.col("dst").unique())
        hosts: dict[str, set[int]] = {}
        for service, senders, parents in services.iter_rows():
            assert len(parents) == 5 or service.startswith("long")
            assert not {*senders} & {*parents}
            part = hosts.setdefault(service.removeprefix("app-").removeprefix("long-"), set())
            assert not part & {*senders}  # a background flow has a host of its own
            part |= {*senders}
        assert sum(len(part) for part in hosts.values()) == len(set[int]().union(*hosts.values()))


def test_what_did_not_hold_is_explained() -> None:
    """`make record` keeps the verdict on every claim."""
    records = kept.read_all(ROOT.parent / "docs" / "record", ROOT)
    assert len(records) >= 60
    for name, result in records.items():
        for claim in result["claims"]:
            if claim["holds"] is False:
                assert len(claim["why"].split()) >= 5, f"{name}: {claim['claim']}"


def test_no_sentence_of_a_paper_is_copied() -> None:
    """Numbers are facts; the file has no texts beside the sources."""
    texts = [text for text in strings({k: v for k, v in PUBLISHED.items() if k != "sources"})]
    assert {*texts} <= {"tight", "moderate", "lax"}


# The worth of claims


def claim(holds: bool | None = True, **changes: Any) -> dict[str, Any]:
    return {"holds": holds, "kind": "claim", "fact": "", "late": "", **changes}


@pytest.mark.parametrize(
    ("holds", "beside", "calibrated", "late", "status"),
    [
        (True, None, False, "", "holds"),
        (True, None, True, "", "calibrated"),
        (True, True, True, "", "holds"),
        (True, False, True, "", "calibrated"),
        (False, True, True, "", "uncalibrated"),
        (False, False, True, "", "fails"),
        (False, None, True, "", "fails"),
        (True, None, False, "of fifteen", "late"),
        (True, True, True, "of fifteen", "late"),
        (True, False, True, "of fifteen", "calibrated"),
        (False, None, False, "of fifteen", "fails"),
        (None, None, True, "", "open"),
        (None, True, True, "of fifteen", "open"),
    ],
)
def test_what_came_of_a_claim(
    holds: bool | None, beside: bool | None, calibrated: bool, late: str, status: str
) -> None:
    judged = claim(holds, late=late) | ({} if beside is None else {"beside": {"holds": beside}})
    assert judging._status(judged, calibrated=calibrated) == status


def test_a_fact_counts_once_and_as_its_worst_claim() -> None:
    claims = [
        claim(status="holds"),
        claim(status="holds", fact="same"),
        claim(False, status="fails", fact="same"),
        claim(status="calibrated", fact="other"),
        claim(status="calibrated", fact="other"),
        claim(False, status="fails", kind="setup"),
        claim(status="holds", kind="own"),
        claim(None),  # of a former version
    ]
    counted = {word: many for word, many in verdicts.tally(claims).items() if many}
    assert counted == {"holds": 1, "fails": 1, "calibrated": 1, "open": 1}


def test_a_claim_is_judged_in_both_regimes(tiny: Path) -> None:
    (tiny / "regimes.toml").write_text(
        '[regimes.plain]\nhelp = "as it is"\ncalibrated = "by the paper"\nset = []\n'
        '[regimes.slow]\nhelp = "a tenth of the rate"\nset = ["network.rate=100 Mbps"]\n'
    )
    (tiny / "facts.toml").write_text('bound = "It is a fact."\n')
    text = (
        TINY.replace('regime = "plain"', 'regime = "plain"\nbeside = "slow"')
        .replace('rule = "a bound"\nwhy = "deadlines are short"', 'rule = "a bound"\nfact = "bound"')
        .replace("[[claims]]", FOUND + "\n[[claims]]", 1)
    )
    (tiny / "paper" / "fig1.toml").write_text(text)
    result = json.loads(run(tiny, "paper/fig1", "--json").stdout)
    assert {row["regime"] for row in result["rows"]} == {"plain", "slow"}
    assert result["runs"] == 16
    first, second, third = result["claims"]
    assert first["beside"]["regime"] == "slow"
    assert first["beside"]["measured"] > first["measured"]
    # Misses at most 100 % in both; more than -1 % in both, for a reason that the fact gives; not run.
    assert [each["status"] for each in (first, second, third)] == ["holds", "fails", "open"]
    assert second["why"] == "It is a fact."
    slow, plain = result["finding"].split(" against ")
    assert float(slow) > float(plain)


FOUND = '''
[finding]
says = "{slow:.1f} against {plain:.1f}"
measured = """
select max(missed_percent) filter (where regime = 'slow') as slow,
  max(missed_percent) filter (where regime = 'plain') as plain
from every where transport = 'dctcp'
"""
'''


# The machinery


def test_a_result_keeps_its_contract(tiny: Path) -> None:
    run(tiny, "paper/fig1")
    folder = tiny.parent / "out" / "reproduce" / "paper" / "fig1"
    result = json.loads((folder / "result.json").read_text())
    keys = (
        "id title source question scale seeds regime scenario parameters versions runs charts rows published"
    )
    assert set(f"{keys} claims notes".split()) <= set(result)
    assert (result["id"], result["seeds"], result["runs"]) == ("paper/fig1", [3, 4], 8)
    assert tomllib.loads(result["scenario"])["title"] == "Tiny"
    first, second, third = result["claims"]
    assert (first["claim"], first["published"], first["holds"]) == (
        "it misses 100.0 with 2 leaves",
        100.0,
        True,
    )
    assert (second["holds"], second["why"]) == (False, "deadlines are short")
    assert (third["holds"], third["measured"], third["why"]) == (None, None, "not measured")
    assert first["why"] == ""
    # Neither of two seeds saw a miss, which is no interval.
    assert (first["low"], first["measured"], first["high"]) == (None, 0, None)
    assert {"figure.png", "figure.svg", "rows.parquet"} <= {path.name for path in folder.iterdir()}
    rows = pl.read_parquet(folder / "rows.parquet")
    assert rows.height == len(result["rows"]) == 6
    assert rows["transport"].unique().sort().to_list() == ["bound", "d2tcp", "dctcp"]
    for chart in result["charts"]:
        for axis in ("x", "y"):
            assert chart[axis]["column"] in rows.columns
        assert chart["published"] == [{"series": "dctcp", "x": 4, "y": -1.0, "label": "there"}]


def test_an_axis_has_room_for_published_points_or_names_them() -> None:
    def axes(*published: float) -> Any:
        points = [reading.Point(1, y, "tcp") for y in published]
        chart = reading.Chart(
            "",
            "line",
            reading.Coordinate("x", "x"),
            reading.Coordinate("y", "y", "%"),
            "name",
            published=points,
        )
        rows = [{"x": x, "y": float(x), "name": "tcp"} for x in (1, 2)]
        return figures.draw([chart], rows, "", "").axes[0]

    near = axes(7.0)
    assert near.get_ylim()[1] > 7
    assert not near.texts
    # Four times the largest of ours is 8.
    far = axes(7.0, 9.0, 60.0)
    assert 7 < far.get_ylim()[1] < 9
    assert [text.get_text() for text in far.texts] == ["published: 9 to 60 %, above this axis"]


def with_a_ratio(root: Path) -> Path:
    """The tiny study with a claim of a ratio, over seeds that differ."""
    ratio = (
        "select 100.0 * a.fct_us_p99 / b.fct_us_p99 from rows a, rows b "
        "where a.leaves = 4 and b.leaves = 2 and a.transport = 'dctcp' and b.transport = 'dctcp'"
    )
    path = edited(root, "select missed_percent from rows where transport = 'tcp'", ratio)
    path.write_text(path.read_text().replace('every = "1 ms"', 'every = "exponential(300 us)"'))
    return path


def test_a_value_without_an_interval_gets_that_of_the_seeds(tiny: Path) -> None:
    with_a_ratio(tiny)
    run(tiny, "paper/fig1", "--seeds", 3)
    folder = tiny.parent / "out" / "reproduce" / "paper" / "fig1"
    result = json.loads((folder / "result.json").read_text())
    claim = result["claims"][2]
    assert claim["low"] < claim["measured"] < claim["high"]
    assert result["runs"] == 12, "nothing was run for it"


def test_in_each_regime_the_interval_is_that_of_its_own_runs(tiny: Path) -> None:
    path = with_a_ratio(tiny)
    alone = json.loads(run(tiny, "paper/fig1", "--seeds", 3, "--json").stdout)["claims"][2]
    (tiny / "regimes.toml").write_text(
        '[regimes.plain]\nhelp = "as it is"\nset = []\n'
        '[regimes.far]\nhelp = "longer links"\nset = ["network.delay=20 us"]\n'
    )
    path.write_text(path.read_text().replace('regime = "plain"', 'regime = "plain"\nbeside = "far"'))
    claim = json.loads(run(tiny, "paper/fig1", "--seeds", 3, "--json").stdout)["claims"][2]
    ends = ("measured", "low", "high")
    assert [claim[end] for end in ends] == [alone[end] for end in ends]
    path.write_text(path.read_text().replace('regime = "plain"\nbeside = "far"', 'regime = "far"'))
    far = json.loads(run(tiny, "paper/fig1", "--seeds", 3, "--json").stdout)["claims"][2]
    assert [claim["beside"][end] for end in ends] == [far[end] for end in ends]
    assert far["low"] < far["measured"] < far["high"]


def test_a_changed_study_makes_runs_of_its_own(tiny: Path) -> None:
    experiment = reading.read(tiny / "paper" / "fig1.toml")
    study, _ = prepare(experiment, scale="quick", seeds=2, jobs=1, out=tiny.parent)
    assert {run.seed for run in study.runs()} == {3, 4}
    assert {run.seed for run in study.without(3).runs()} == {4}
    other = replace(study, seeds=[4, 9], given=("traffic.a.size=40 KB",))
    assert {run.seed for run in other.runs()} == {4, 9}
    there = [
        [run.result["packets_delivered"] for run in each.runs() if run.seed == 4] for each in (study, other)
    ]
    assert all(more > less for less, more in zip(*there, strict=True))


def test_what_was_run_is_not_run_again(tiny: Path) -> None:
    run(tiny, "paper/fig1")
    points = tiny.parent / "out" / "reproduce" / "points"
    before = {path: path.stat().st_mtime_ns for path in points.rglob("*.json")}
    assert len(before) == 8
    edited(tiny, "deadlines are short", "deadlines are very short")
    again = json.loads(run(tiny, "paper/fig1", "--json").stdout)
    assert again["claims"][1]["why"] == "deadlines are very short"
    assert {path: path.stat().st_mtime_ns for path in points.rglob("*.json")} == before


def test_all_prints_how_many_claims_held(tiny: Path) -> None:
    shown = run(tiny, "all", "--seeds", 1).stdout
    assert "paper/fig1" in shown
    assert "Distinct claims of the papers: 1 holds, 1 not measured, 1 does not hold." in shown
    listed = json.loads(run(tiny, "all", "--seeds", 1, "--json").stdout)
    assert [each["seeds"] for each in listed] == [[3]]


def test_all_goes_on_past_one_that_cannot_be_run(tiny: Path) -> None:
    (tiny / "paper" / "fig0.toml").write_text(TINY.replace("traffic.a.leaves={}", "traffic.a.leafs={}"))
    (tiny / "paper" / "fig2.toml").write_text(TINY.replace("question =", "qestion ="))
    done = run(tiny, "all", "--seeds", 1, code=1)
    assert "unknown key `leafs`" in done.stderr
    assert "unknown key `qestion`" in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last == "error: 2 experiments of 3 could not be run: paper/fig0, paper/fig2"
    assert "Distinct claims of the papers: 1 holds" in done.stdout
    (found,) = json.loads(run(tiny, "all", "--seeds", 1, "--json", code=1).stdout)
    assert found["id"] == "paper/fig1"
    assert "Traceback" not in done.stderr


SEARCH = """
[options]
capacity = { over = "traffic.a.leaves", from = 1, to = 4, step = 1, target = 50 }

[[axes]]
column = "delay"
values = [5]
set = ["network.delay={} us", "transport.base_every=1 s"]

[scales.quick]
"""


def test_a_search_sets_a_parameter_where_it_is_one(tiny: Path) -> None:
    # base_every is a parameter of D3 alone, as in the regime of D3's experiments.
    text = TINY.replace(
        'transports = ["dctcp", "d2tcp"]', 'transports = ["tcp", "d3"]\nmeasures = ["capacity"]'
    )
    before, _, rest = text.partition("[[axes]]")
    search = SEARCH + rest.partition("[scales.quick]\n")[2]
    (tiny / "paper" / "fig1.toml").write_text(before + search.replace("missed_percent", "capacity"))
    text = (tiny / "paper" / "fig1.toml").read_text().replace(", capacity_low, capacity_high", "")
    (tiny / "paper" / "fig1.toml").write_text(text.replace("leaves = {leaves} and", ""))
    rows = json.loads(run(tiny, "paper/fig1", "--json").stdout)["rows"]
    assert [row["transport"] for row in rows] == ["tcp", "d3"]
    assert all(1 <= row["capacity"] <= 4 for row in rows)


def test_a_parameter_of_no_other_transport_stays() -> None:
    changes = ("transport.base_every=1 s", "transport.rto_min=1 ms", "network.rate=1 Gbps", "transport.x=1")
    assert known_to(["tcp"], changes) == changes[1:]
    assert known_to(["tcp", "d3"], changes) == changes


def test_runs_that_are_cut_are_short_and_few(tiny: Path) -> None:
    edited(tiny, "values = [2, 4]", "values = [1, 2, 3, 4]")
    edited_text = (tiny / "paper" / "fig1.toml").read_text()
    (tiny / "paper" / "fig1.toml").write_text(f'cut = ["traffic.a.size=1 KB"]\n{edited_text}')
    done = json.loads(run(tiny, "paper/fig1", "--cut", "2 ms", "--json").stdout)
    assert {row["leaves"] for row in done["rows"]} == {1, 4}
    own = next(row for row in done["rows"] if row["transport"] == "dctcp")
    assert own["messages"] == 1
    assert own["fct_us_p50"] < 100
    assert "every run was cut to 2 ms: claims show nothing" in done["notes"]
    assert not list((tiny.parent / "out").rglob("*.png"))


def test_the_list_names_all(tiny: Path) -> None:
    assert "A tiny study" in run(tiny, "--list").stdout
    assert json.loads(run(tiny, "--list", "--json").stdout)[0]["id"] == "paper/fig1"


def test_an_unknown_name_is_answered_with_the_nearest(tiny: Path) -> None:
    done = run(tiny, "paper/fig2", code=2)
    assert "did you mean paper/fig1?" in done.stderr
    assert "Traceback" not in done.stderr
    assert run(tiny, code=2).stderr.startswith("error: name an experiment")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("question =", "qestion =", "unknown key `qestion`; did you mean `question`?"),
        ('rule = "a bound"\nwhy', "why", "`rule` is missing"),
        ('regime = "plain"', 'regime = "fancy"', "no regime is called fancy; there are plain"),
        ("paper.fig1.missed[{i}]", "paper.fig1.mist[{i}]", "nothing is published at paper.fig1.mist[0]"),
        ("from rows\nwhere leaves", "from rws\nwhere leaves", "no such table: rws"),
        ('question = "Does it run?"', 'question = "?"\nmeasures = ["mood"]', "no measure is called mood"),
        ("traffic.a.leaves={}", "traffic.a.leafs={}", "unknown key `leafs`"),
        (
            'rule = "a bound"\nwhy',
            'kind = "bond"\nrule = "a bound"\nwhy',
            "`kind` is 'claim' or 'setup' or 'own', not 'bond'",
        ),
        ('rule = "a bound"\nwhy', 'fact = "moon"\nrule = "a bound"\nwhy', "no fact is called moon"),
        ('regime = "plain"', 'regime = "plain"\nbeside = "fancy"', "no regime is called fancy"),
    ],
)
def test_mistakes_are_told(tiny: Path, old: str, new: str, message: str) -> None:
    edited(tiny, old, new)
    done = run(tiny, "paper/fig1", code=2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_one_of_a_unit_is_no_plural() -> None:
    said = [
        ("1", "fan-ins", "1 fan-in"),
        ("2", "fan-ins", "2 fan-ins"),
        ("1", "cells in which it is slower", "1 cell in which it is slower"),
        ("1", "queries in each run", "1 query in each run"),
        ("1", "times DCTCP's", "1 times DCTCP's"),
        ("1", "of 5 fan-ins", "1 of 5 fan-ins"),
        ("1", "Mbps", "1 Mbps"),
        ("1", "us", "1 us"),
        ("1", "% fewer", "1 % fewer"),
        ("1", "", "1"),
    ]
    assert [verdicts.in_unit(number, unit) for number, unit, _ in said] == [shown for *_, shown in said]


def test_rows_measured_elsewhere_stand_beside_ours(tiny: Path) -> None:
    edited(tiny, 'regime = "plain"', 'regime = "plain"\nreal = "../measured/fig1.json"')
    (tiny / "measured").mkdir()
    row = {"leaves": 4, "transport": "dctcp", "missed_percent": 12.0}
    (tiny / "measured" / "fig1.json").write_text(json.dumps({"rows": [row], "notes": ["on two machines"]}))
    # The claims of the experiment would see both; the claims of fig07 name the network.
    edited_text = (tiny / "paper" / "fig1.toml").read_text()
    edited_text = edited_text.replace(
        "and transport = 'dctcp'", "and transport = 'dctcp' and network = 'real'"
    )
    (tiny / "paper" / "fig1.toml").write_text(edited_text)
    result = json.loads(run(tiny, "paper/fig1", "--json").stdout)
    assert [row["network"] for row in result["rows"]].count("real") == 1
    assert result["claims"][1]["measured"] == 12.0
    assert "on two machines" in result["notes"]


def test_equal_labels_make_one_row() -> None:
    rows = over_seeds([({"a": 1}, {"x": 1.0}), ({"a": 2}, {"x": 5.0}), ({"a": 1}, {"x": 3.0})])
    assert [(row["a"], row["runs"], row["x"]) for row in rows] == [(1, 2, 2.0), (2, 1, 5.0)]
    assert rows[0]["x_low"] < 2 < rows[0]["x_high"]
    assert rows[1]["x_low"] is None


def missed(transport: str, *percents: float, **more: float) -> list[tuple[Any, Any]]:
    """The misses of one transport, a seed each; the completion times differ."""
    return [
        ({"transport": transport, "leaves": 2}, {"missed_percent": value, "fct_us": float(i), **more})
        for i, value in enumerate(percents)
    ]


def test_too_few_misses_have_no_interval_in_a_row() -> None:
    """One of five seeds: 5 ln(5/4) = 1.1 events, so 10 / 1.1 * 5 seeds; of none it may be one."""
    (row,) = over_seeds(missed("dctcp", 0.0, 0.0, 3.0, 0.0, 0.0))
    assert (row["missed_percent"], row["missed_percent_seeds"]) == (pytest.approx(0.6), 45)
    assert (row["missed_percent_low"], row["missed_percent_high"]) == (None, None)
    assert row["fct_us_low"] < row["fct_us"] < row["fct_us_high"]
    (row,) = over_seeds(missed("dctcp", 0.0, 0.0, 0.0, 0.0, 0.0))
    assert (row["missed_percent_high"], row["missed_percent_seeds"]) == (None, 50)
    (row,) = over_seeds(missed("dctcp", 1.0, 2.0, 3.0, 1.0, 2.0))
    assert row["missed_percent_low"] < 1.8 < row["missed_percent_high"]
    assert "missed_percent_seeds" not in row
    # Nothing is random: seeds add nothing.
    (row,) = over_seeds([({"a": 1}, {"missed_percent": 0.0})] * 5)
    assert (row["missed_percent_low"], row["missed_percent_high"]) == (0, 0)
    apart = [
        ({"a": 1}, {"apart": value, "x": float(i)}) for i, value in enumerate([0.0, 0.0, -3.0, 0.0, 0.0])
    ]
    assert over_seeds(apart, ["apart"])[0]["apart_seeds"] == 45
    assert "apart_seeds" not in over_seeds(apart)[0]


@pytest.mark.parametrize(
    ("holds", "status", "seeds"),
    [
        ("high < 5", "few", 45),
        ("measured < 5", "holds", None),
        ("measured < 5 and high < 5", "few", 45),
        ("measured > 5 and high < 5", "fails", None),
        ("(select missed_percent_high < 5 from rows where transport = 'dctcp')", "few", 45),
        ("(select missed_percent_high < 5 from rows where transport = 'd2tcp')", "holds", None),
        ("(select max(a.missed_percent_high, b.missed_percent_high) < 5 from rows a, rows b "
         "where a.transport = 'dctcp' and b.transport = 'tcp')", "few", 50),
        ("(select missed_percent_high < 5 from rows where transport = 'd3')", "open", None),
    ],
)  # fmt: skip
def test_a_rule_that_reads_an_interval_needs_enough_misses(
    tiny: Path, holds: str, status: str, seeds: int | None
) -> None:
    path = edited(tiny, 'holds = "measured <= published"', f'holds = "{holds}"')
    experiment = reading.read(path)
    rows = over_seeds(
        [
            *missed("dctcp", 0.0, 0.0, 3.0, 0.0, 0.0),
            *missed("d2tcp", 1.0, 2.0, 3.0, 1.0, 2.0),
            *missed("tcp", 0.0, 0.0, 0.0, 0.0, 0.0),
        ]
    )
    found = judging.judge(experiment, rows, {}, reading.published(tiny))[0]
    assert (found["status"], found.get("seeds")) == (status, seeds)
    if seeds is not None:
        assert found["why"] == f"too few misses to compare; {seeds} seeds would do"
        assert (found["holds"], found["low"], found["high"]) == (None, None, None)
        assert display.verdict(found) == "too few misses to tell"


def test_the_seeds_of_a_ratio_must_see_misses(tiny: Path) -> None:
    """One of five seeds saw misses: without it there is no ratio, without another the same."""
    path = edited(
        tiny,
        "select missed_percent, missed_percent_low, missed_percent_high from rows\n"
        "where leaves = {leaves} and transport = 'dctcp'",
        "select 100.0 * sum(missed_percent) filter (where transport = 'd2tcp') "
        "/ (1e-9 + sum(missed_percent) filter (where transport = 'dctcp')) from rows",
    )
    path.write_text(path.read_text().replace("measured <= published", "high < 100"))
    experiment = reading.read(path)

    def status(ours: list[float], theirs: list[float]) -> tuple[str, int | None]:
        samples = [*missed("d2tcp", *ours), *missed("dctcp", *theirs)]
        rows = over_seeds(samples)
        without = [
            over_seeds([each for number, each in enumerate(samples) if number % 5 != i]) for i in range(5)
        ]
        found = judging.judge(experiment, rows, {}, reading.published(tiny), without)[0]
        assert found["measured"] == pytest.approx(50)
        return found["status"], found.get("seeds")

    assert status([0, 0, 2, 0, 0], [0, 0, 4, 0, 0]) == ("few", 45)
    assert status([1, 2, 2, 1, 1.5], [2.1, 4.1, 3.8, 1.9, 3.1]) == ("holds", None)


def test_an_unfinished_message_is_slow_and_not_absent() -> None:
    flows = pl.DataFrame(
        {
            "counted": [True, True, True],
            "start_us": [0.0, 0.0, 90.0],
            "fct_us": [10.0, None, None],
            "deadline_us": [20.0, 50.0, 50.0],
            "missed": [False, True, None],
        }
    )
    found = percentiles(flows, 100.0)
    assert found["p50_percent"] == pytest.approx((50 + 200) / 2)
    assert found["missed_percent"] == pytest.approx(50)


def test_classes_add_up() -> None:
    part: dict[str, Any] = {
        "with_deadline": 10,
        "undecided": 2,
        "missed": 1,
        "goodput_mbps": 5,
        "messages": 10,
    }
    other = part | {"with_deadline": 4, "undecided": 0, "missed": 2}
    assert together([part, other])["missed_percent"] == pytest.approx(100 * 3 / 12)


def leaves(value: Any, path: str) -> list[str]:
    if isinstance(value, dict):
        return [leaf for key, each in value.items() for leaf in leaves(each, f"{path}.{key}")]
    if isinstance(value, list):
        return [leaf for i, each in enumerate(value) for leaf in leaves(each, f"{path}[{i}]")]
    return [path]


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.values() for text in strings(each)]
    if isinstance(value, list):
        return [text for each in value for text in strings(each)]
    return [value] if isinstance(value, str) else []


def test_the_studys_raw_data_is_read_and_compared(tmp_path: Path) -> None:
    text = "0.0625 0.5 0.5\n" + "".join(f"{flow} {1e-6 * (70 + flow)} {2690 + flow}\n" for flow in range(8))
    (tmp_path / "avgfile_1.tr").write_text(text)
    found = raw.read(tmp_path)[0.0625, 0.5, 0.5]
    assert found == pytest.approx({"delay_us": 72, "query_us": 70.5, "short_us": 73, "long_mbps": 2696})
    assert raw.read(tmp_path / "none") == {}
    apart = raw.compared([99.0, 220.0], [100.0, 200.0])
    assert (apart["error_percent"], apart["beyond_3_percent"]) == (pytest.approx(4.5), 1)
    assert (apart["error_percent_low"], apart["error_percent_high"]) == (pytest.approx(-1), pytest.approx(10))


def test_a_metric_may_be_a_weighted_sum() -> None:
    result = {"classes": {"a": {"x": 2.0}, "b": {"x": 4.0, "none": None}}}
    assert figure_of(result, {"classes.a.x": 0.5, "classes.b.x": 0.25}) == pytest.approx(2)
    assert figure_of(result, {"classes.a.x": 0.5, "classes.b.none": 0.25}) is None


def test_transports_are_compared_run_by_run(tiny: Path) -> None:
    text = TINY.replace('question = "Does it run?"', 'question = "Does it run?"\nmeasures = ["paired"]')
    text = text.replace("[[axes]]", PAIRED + "[[axes]]", 1)
    (tiny / "paper" / "fig1.toml").write_text(text)
    rows = json.loads(run(tiny, "paper/fig1", "--seeds", 3, "--json").stdout)["rows"]
    found = {(row["leaves"], row["transport"]): row for row in rows}
    assert {key: row["runs"] for key, row in found.items()} == {
        **{(2, name): 2 for name in ("dctcp", "d2tcp")},  # two of the three seeds
        **{(4, name): 3 for name in ("dctcp", "d2tcp")},
    }
    for leaves in (2, 4):
        own, base = found[leaves, "d2tcp"], found[leaves, "dctcp"]
        assert "apart" not in base
        assert own["apart"] == pytest.approx(own["packets"] - base["packets"])
        assert own["times"] == pytest.approx(1)


PAIRED = """
[options.paired]
baseline = "dctcp"
values = { packets = "packets.sent", missed_percent = "summary.missed_percent" }
points = { apart = "packets.sent" }
times = { times = ["summary.messages", "summary.messages"] }
repeats = { leaves = { "2" = 2 } }

"""


def test_what_was_run_is_printed_as_a_scenario_that_gives_the_same(tiny: Path) -> None:
    result = json.loads(run(tiny, "paper/fig1", "--json").stdout)
    text = run(tiny, "paper/fig1", "--scenario").stdout
    assert text.startswith("# paper/fig1: ")
    resolved = tomllib.loads(text)
    again = duetime.run(text)
    last = [row for row in result["rows"] if row["transport"] == resolved["transport"]["name"]][-1]
    assert last["missed_percent"] == pytest.approx(again.summary["missed_percent"])
    other = run(tiny, "paper/fig1", "--scenario", "--transport", result["rows"][0]["transport"]).stdout
    assert tomllib.loads(other)["transport"]["name"] == result["rows"][0]["transport"]
    assert "has no transport" in run(tiny, "paper/fig1", "--scenario", "--transport", "d4tcp", code=2).stderr


def test_a_reader_may_change_what_is_run(tiny: Path) -> None:
    written = json.loads(run(tiny, "paper/fig1", "--json").stdout)
    # Less than 20 KB take on an empty network: all messages miss.
    changed = json.loads(run(tiny, "paper/fig1", "--json", "--set", "traffic.a.deadline=100 us").stdout)
    assert max(row["missed_percent"] for row in written["rows"]) < 100
    assert [row["missed_percent"] for row in changed["rows"]] == [100.0] * len(changed["rows"])
    assert changed["notes"][-1] == "changed, so that claims are of another run: traffic.a.deadline=100 us"
    text = run(tiny, "paper/fig1", "--scenario", "--set", "network.buffer=77 KB").stdout
    assert tomllib.loads(text)["network"]["buffer"] in ("77 KB", "77000 B")


def test_claims_are_judged_in_variants(tiny: Path) -> None:
    found = json.loads(run(tiny, "paper/fig1", "--json", "--robust", "3").stdout)["robust"]
    assert len(found["variants"]) == 3
    for claim in found["claims"]:
        assert claim["held"] == len(claim["where"])
        assert claim["of"] == len(claim["where"]) + len(claim["where_not"]) <= 3


def test_variants_run_only_the_cells_that_are_asked_for(tiny: Path) -> None:
    path = tiny / "paper" / "fig1.toml"
    written = path.read_text()
    path.write_text(written.replace("[scenario]", "robust = { leaves = [4] }\n\n[scenario]", 1))
    found = json.loads(run(tiny, "paper/fig1", "--json", "--robust", "2").stdout)
    assert {row["leaves"] for row in found["rows"]} == {2, 4}
    of = {claim["claim"]: claim["of"] for claim in found["robust"]["claims"]}
    assert {many for claim, many in of.items() if "with 2 leaves" in claim} == {0}
    assert {many for claim, many in of.items() if "with 4 leaves" in claim} == {2}
    path.write_text(written.replace("[scenario]", "robust = { fan_in = [4] }\n\n[scenario]", 1))
    answer = run(tiny, "paper/fig1", code=2)
    assert "no axis is called fan_in; there are leaves" in answer.stderr


def test_a_scale_may_choose_among_named_cases(tiny: Path) -> None:
    cases = 'cases = { few = ["traffic.a.leaves=2"], many = ["traffic.a.leaves=4"] }'
    text = TINY.replace('set = ["traffic.a.leaves={}"]\nvalues = [2, 4]', cases)
    text = text.replace("seeds = 2", 'seeds = 2\naxes = { leaves = ["many"] }')
    path = tiny / "paper" / "fig1.toml"
    path.write_text(text)
    experiment = reading.read(path)
    for scale, expected in (("quick", ["many"]), ("paper", ["few", "many"])):
        study, _ = prepare(experiment, scale=scale, seeds=None, jobs=None, out=tiny.parent / "out")
        assert [(cell.labels["leaves"], cell.set) for cell in study.cells()] == [
            (name, (f"traffic.a.leaves={2 if name == 'few' else 4}",)) for name in expected
        ]


def test_panels_with_a_common_axis_show_all_of_the_largest() -> None:
    x, y = reading.Coordinate("x", "x"), reading.Coordinate("y", "y")
    charts = [reading.Chart(f"{n}", "line", x, y, "series", {"panel": n}) for n in (1, 2)]
    rows = [
        {"x": x, "y": y, "series": "dctcp", "panel": n}
        for n, largest in ((1, 10.0), (2, 50.0))
        for x, y in ((0, 1.0), (1, largest))
    ]
    figure = figures.draw(charts, rows, "Two panels", "of one axis")
    for axes in figure.axes:
        low, high = axes.get_ylim()
        assert low == 0
        assert 50 < high < 60


def test_each_bar_of_a_logarithmic_axis_can_be_seen() -> None:
    """The axis begins at the power of ten below the least value, so that its bar has a length too."""
    x, y = reading.Coordinate("x", "x"), reading.Coordinate("y", "y", log=True)
    for least, begin in ((3.0, 1.0), (1.0, 0.1), (20.0, 10.0)):
        rows = [
            {"x": "50 %", "y": value, "series": name} for name, value in (("hpcc", least), ("dcqcn", 666.0))
        ]
        figure = figures.draw(
            [reading.Chart("", "bar", x, y, "series")], rows, "Bars", "on a logarithmic axis"
        )
        (axes,) = (each for each in figure.axes if each.axison)
        assert axes.get_yscale() == "log"
        low, high = axes.get_ylim()
        assert low == pytest.approx(begin)
        assert high > 666


def test_panels_of_long_names_have_room_for_each_dot_and_tell_variants_apart() -> None:
    """Three panels of three names in two lines; of d2tcp_plus there is a variant, which has its colour."""
    x, y = reading.Coordinate("x", "x"), reading.Coordinate("y", "y")
    transports = ["dctcp", "d2tcp_plus", "d2tcp_plus, slower", "edf-grants", "bound"]
    charts = [reading.Chart(f"{n}", "bar", x, y, "series", {"panel": n}) for n in (1, 2, 3)]
    rows = [
        {"x": f"a name of some length, {x}", "y": 1.0 + n, "series": name, "panel": n}
        for n in (1, 2, 3)
        for x in (1, 2, 3)
        for name in transports
    ]
    figure = figures.draw(charts, rows, "Three panels", "of dots")
    figure.draw_without_rendering()
    panels = [axes for axes in figure.axes if axes.axison]
    for axes in panels:
        assert axes.get_window_extent().height / figure.dpi > 3 * len(transports) * 0.07
    (legend,) = figure.legends
    drawn = {
        (line.get_color(), line.get_markerfacecolor())
        for axes in panels
        for line in axes.get_lines()
        if line.get_marker() == "o"
    }
    shown = {(line.get_color(), line.get_markerfacecolor()) for line in legend.get_lines()}
    assert len(shown) == len(transports)
    assert shown == drawn


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ((21.0, 80.0), ["20", "30", "50", "70"]),
        ((1.4, 2.4), ["1.5", "2"]),
        ((3.0, 300.0), None),
    ],
)
def test_a_short_logarithmic_axis_has_labels_too(
    values: tuple[float, float], labels: list[str] | None
) -> None:
    x, y = reading.Coordinate("x", "x"), reading.Coordinate("y", "y", log=True)
    rows = [{"x": x, "y": y, "series": "dctcp"} for x, y in enumerate(values)]
    figure = figures.draw([reading.Chart("1", "line", x, y, "series", {})], rows, "One", "panel")
    (axes,) = figure.axes
    low, high = axes.get_ylim()
    ticks = zip(axes.get_yticks(), axes.get_yticklabels(), strict=True)
    shown = [label.get_text() for tick, label in ticks if low <= tick <= high]
    assert len(shown) >= 2
    assert all(shown)
    assert labels is None or set(labels) <= set(shown)


STAGES = """
title = "Two stages"
run = { duration = "20 ms", cool_down = "200 ms", wait_for = "messages", seed = 3 }
network = { topology = "star", hosts = 4, rate = "1 Gbps", delay = "5 us", mark = "20 packets" }
transport = { name = "dctcp" }
[[traffic]]
name = "page"
pattern = "stages"
every = "exponential(500 us)"
deadline = "600 us"
[traffic.roles]
front = 0
back = { hosts = "1..4", pick = "all" }
[[traffic.stage]]
name = "ask"
from = "front"
to = "back"
size = "100 B"
[[traffic.stage]]
name = "answer"
from = "back"
to = "front"
size = "15 KB"
"""


def test_requests_are_compared_with_those_that_were_told_something_else(tmp_path: Path) -> None:
    root = tmp_path / "experiments"
    (root / "a").mkdir(parents=True)
    (root / "published.toml").write_text("")
    (root / "regimes.toml").write_text('[regimes.plain]\nhelp = "as it is"\nset = []\n')
    (root / "a" / "s.toml").write_text(STAGES)
    (root / "a" / "told.toml").write_text(
        """
title = "Told"
source = "ours"
question = "?"
scenario = "s.toml"
regime = "plain"
measures = ["requests"]
transports = ["dctcp", "edf-grants"]
options = { requests = { beside = { policy = "none" }, transfers = ["answer"] } }
charts = []
claims = []
finding = { says = "{n}", measured = "select count(*) as n from rows" }
axes = [{ column = "policy", set = ["traffic.page.deadlines={}"], values = ["none", "remaining"] }]
scales = { quick = { seeds = 3 }, paper = { seeds = 4 } }
"""
    )
    done = reproduce(
        reading.read(root / "a" / "told.toml"), scale="quick", seeds=None, jobs=1, out=tmp_path / "o"
    )
    assert done.failed == []
    found = {(row["policy"], row["transport"]): row for row in done.data["rows"]}
    assert set(found) == {(p, t) for p in ("none", "remaining") for t in ("dctcp", "edf-grants", "bound")}
    runs = {
        (policy, transport): [
            duetime.run(STAGES, seed=seed, transport=transport, set={"traffic.page.deadlines": policy})
            for seed in (3, 4, 5)
        ]
        for policy in ("none", "remaining")
        for transport in ("dctcp", "edf-grants")
    }
    late = {
        key: [100 - run.summary["requests"]["all_goals_percent"] for run in of] for key, of in runs.items()
    }
    for key, values in late.items():
        assert found[key]["late_percent"] == pytest.approx(sum(values) / 3)
        pairs = zip(values, late["none", key[1]], strict=True)
        assert found[key]["late_more_points"] == pytest.approx(sum(a - b for a, b in pairs) / 3)
        flows = [run.flows.filter(pl.col("stage") == "answer") for run in runs[key]]
        # A seed with a message in flight at its end has no mean.
        means = [each["fct_us"].mean() / 1000 for each in flows if not each["fct_us"].null_count()]
        assert found[key]["answer_ms"] == pytest.approx(sum(means) / len(means))
        assert found[key]["answer_ms"] > found[key]["answer_alone_ms"] > 15e3 * 8 / 1e9 * 1e3
        assert found[key]["answer_mb"] == 0.015
    assert late["none", "edf-grants"] != late["remaining", "edf-grants"]
    least = [run.summary["requests"]["bound"]["missed_percent"] for run in runs["none", "dctcp"]]
    assert 0 < found["none", "bound"]["late_percent"] <= sum(least) / 3 + 1e-9
