"""Sets of applications on different transports, in one file."""

import json
from pathlib import Path
from typing import Any

import pytest

import duetime as dt
from conftest import Command
from duetime.report import experiments

APP = """
[[traffic]]
name = "app-{number}"
set = "{set}"
pattern = "fan-in"
leaves = 10
every = "exponential(2 ms)"
size = "{size} KB"
deadline = "10 ms"
transport = {{ name = "${set}", inherit = true }}
"""
BASE = """
title = "Five applications and a long flow"
profile = "classic"

[parameters]
A = "tcp"
B = "d2tcp"

[run]
duration = "40 ms"

[network]
topology = "star"
hosts = 16
rate = "1 Gbps"
delay = "10 us"
mark = "20 packets"

[transport]
name = "dctcp"
rto_min = "5 ms"
initial_window = 2

[[traffic]]
name = "long"
pattern = "long"
from = [0, 1]
to = 15
"""


@pytest.fixture
def five(tmp_path: Path) -> Path:
    path = tmp_path / "five.toml"
    apps = [
        APP.format(number=number, set=group, size=2 * number)
        for number, group in enumerate(("A", "A", "A", "B", "B"), start=1)
    ]
    path.write_text(BASE + "".join(apps))
    return path


def transports(run: dt.Result) -> list[str]:
    classes: list[dict[str, Any]] = run.scenario["traffic"]
    return [entry["transport"]["name"] for entry in classes if "transport" in entry]


def test_sets_are_summed_up(five: Path) -> None:
    run = dt.run(five)
    assert transports(run) == ["tcp"] * 3 + ["d2tcp"] * 2
    assert list(run.sets) == ["A", "B"]
    for name, apps in (("A", (1, 2, 3)), ("B", (4, 5))):
        parts = [run.classes[f"app-{number}"] for number in apps]
        for key in ("messages", "missed", "queries"):
            assert run.sets[name][key] == sum(part[key] for part in parts)
    assert run.sets["A"]["messages"] > 100


def test_transports_of_sets_and_of_the_rest_change_by_options(five: Path, duetime: Command) -> None:
    assert transports(dt.run(five, set=["B=tcppr"])) == ["tcp"] * 3 + ["tcppr"] * 2
    one = dt.run(five, set=["traffic.app-1.transport.name=d3"])
    assert transports(one) == ["d3", "tcp", "tcp", "d2tcp", "d2tcp"]
    assert one.data["packets_delivered"] > 0
    # `compare` changes [transport]: the long flows. The sets keep theirs, in the regime of [transport].
    done = duetime(
        "compare", five, "--transports", "tcp,d2tcp", "--set", "traffic.app-2.transport=cubic", "--json"
    )
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    text = json.dumps(data)
    assert text.count('"sets"') == 3, "of both runs, and of their difference"


def test_every_transport_runs_beside_every_other(five: Path) -> None:
    names = [entry["name"] for entry in dt.catalog()["transports"]]
    for one, other in zip(names, names[1:] + names[:1], strict=True):
        run = dt.run(five, set=[f"A={one}", f"B={other}", "run.duration=10 ms"])
        packets = run.data["packets"]
        assert packets["sent"] == packets["received"] + run.data["drops"] + packets["in_flight"], (one, other)
        assert run.sets["A"]["completed"] > 0, (one, other)
        assert run.sets["B"]["completed"] > 0, (one, other)


def test_sets_stand_in_the_tables_and_in_the_report(five: Path, tmp_path: Path, duetime: Command) -> None:
    # A class may be called like the row of all of them.
    five.write_text(five.read_text().replace('"app-5"', '"all"'))
    done = duetime("compare", five, "--transports", "tcp,dctcp", "--out", "out")
    assert done.returncode == 0, done.stderr
    rows = [line.split("  messages")[0].strip() for line in done.stdout.splitlines() if "  messages" in line]
    assert rows[-4:] == ["class all", "set A", "set B", "all"]
    data = json.loads((tmp_path / "out/compare.json").read_text())["runs"]["tcp"]
    counts = [line.split()[-2:] for line in done.stdout.splitlines() if "  messages" in line]
    parts = [data["classes"]["all"], data["sets"]["A"], data["sets"]["B"], data["summary"]]
    assert [first for first, _ in counts[-4:]] == [f"{part['messages']:,}" for part in parts]
    assert "set B" in duetime("run", five).stdout
    (found,) = experiments(tmp_path / "out")
    missed = {point.x: point.y for point in found.charts[0].series[0].points}
    places = ("class all", "set A", "set B", "all")
    assert [missed[place] for place in places] == [part["missed_percent"] for part in parts]
    assert any(chart.title.startswith("Completion times of set A") for chart in found.charts)
