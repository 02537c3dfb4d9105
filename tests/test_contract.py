"""The JSON object of `run --json`: its keys, its nulls, and that it is the same every time."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

import duetime as dt
from conftest import SCENARIOS, Command

TOP = {
    *("title", "seed", "transport", "simulated_s", "cool_down_s", "wall_s", "packets_delivered"),
    *("packet_hops", "events"),
    *("drops", "marks", "timeouts", "timers", "retransmits", "packets", "busiest_queue", "rate_requests"),
    "summary",
    *("bound", "classes"),
}
SUMMARY = {
    *("messages", "completed", "unfinished", "censored", "with_deadline", "missed", "undecided"),
    "missed_percent",
    *("goodput_mbps", "goodput_in_time_mbps", "fct_us", "slowdown", "deadline_ratio"),
}
FAN_IN = {"queries", "complete_queries_percent", "answers_in_time_percent", "query_us"}
LIMIT = {"missed", "missed_percent", "side", "method", "reason"}
CLASS = {"bottleneck_delay_us", "bottleneck_mbps", "too_late"}
NESTED = {
    "fct_us": {"mean", "p50", "p90", "p99", "p999", "max"},
    "slowdown": {"mean", "p50", "p99", "p999"},
    "deadline_ratio": {"p50", "p90", "p99"},
    "answers_in_time_percent": {"mean", "p1"},
    "query_us": {"mean", "p50", "p90", "p99", "p999", "max"},
}


def without_wall_time(text: str) -> str:
    data = json.loads(text)
    assert data.pop("wall_s") >= 0
    return json.dumps(data)


def check_part(part: dict[str, Any], keys: set[str]) -> None:
    assert set(part) == keys
    for name in NESTED.keys() & keys:
        # Lower bounds are there where something is not known, and of just that.
        unknown = part[name].get("at_least", {}).keys()
        assert part[name].keys() - {"at_least"} == NESTED[name]
        assert all(part[name][each] is None for each in unknown)
    assert part["censored"] <= part["unfinished"]
    assert part["messages"] == part["completed"] + part["unfinished"]
    assert part["missed"] + part["undecided"] <= part["with_deadline"] <= part["messages"]


def test_the_object_has_exactly_the_keys_of_the_contract(duetime: Command, small: Path) -> None:
    done = duetime("run", small, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    data = json.loads(done.stdout)
    assert set(data) == TOP
    assert (data["title"], data["seed"], data["transport"], data["simulated_s"]) == (
        "Small",
        5,
        "d2tcp",
        0.01,
    )
    check_part(data["summary"], SUMMARY | FAN_IN)
    assert list(data["classes"]) == ["queries", "web"]
    check_part(data["classes"]["queries"], SUMMARY | FAN_IN | CLASS)
    check_part(data["classes"]["web"], SUMMARY | CLASS)
    assert set(data["busiest_queue"]) == {"src", "dst", "mean", "p5", "p50", "p99", "max"}
    assert set(data["bound"]) == LIMIT | {"classes"}
    assert data["bound"]["classes"] == {"queries": {key: data["bound"][key] for key in LIMIT}, "web": None}
    assert data["packets_delivered"] > 100
    assert data["summary"]["messages"] == sum(part["messages"] for part in data["classes"].values()) > 20


def test_what_there_is_nothing_to_say_of_is_null(small: Path) -> None:
    data = dt.run(small, set={"run.warm_up": "9.999 ms", "traffic.web.load": "0.001%"}).data
    web = data["classes"]["web"]
    assert web["messages"] == 0
    assert web["missed_percent"] is web["goodput_in_time_mbps"] is web["fct_us"]["p99"] is None
    assert dt.run(small, set={"traffic.queries.count": 1, "run.warm_up": "9.999 ms"}).bound is None
    assert web["slowdown"]["p50"] is web["deadline_ratio"]["p50"] is None


def test_all_numbers_are_finite(small: Path) -> None:
    text = dt.run(small).json()

    def refuse(word: str) -> float:
        raise AssertionError(word)

    json.loads(text, parse_constant=refuse)
    assert math.isfinite(json.loads(text)["wall_s"])


SHORT = {
    **{"four-flows": "20 ms", "incast": "60 ms", "large-messages": "320 ms", "mixed": "60 ms"},
    **{
        "custom": "60 ms",
        "oldi": "230 ms",
        "oldi-background": "230 ms",
        "w1": "20 ms",
        "w2": "10 ms",
        "tree": "60 ms",
        "w3": "60 ms",
        "xdctcp": "80 ms",
        "all-reduce": "10 ms",
        "rails": "1 ms",
        "rpc": "5 ms",
        "serving": "120 ms",
        "websearch": "5 ms",
    },
}


def test_every_example_is_tried() -> None:
    assert {path.stem for path in SCENARIOS.glob("*.toml")} == set(SHORT)


@pytest.mark.parametrize("name", SHORT)
def test_examples_run_alike_every_time_and_lose_no_packet(name: str) -> None:
    # Drops in a warm-up are not counted.
    changes = {"run.duration": SHORT[name], "run.warm_up": "0 s"}
    first, second = (dt.run(SCENARIOS / f"{name}.toml", set=changes) for _ in range(2))
    assert without_wall_time(first.json()) == without_wall_time(second.json())
    assert first.flows.equals(second.flows)
    assert first.links.equals(second.links)
    assert first.trace.equals(second.trace)
    packets = first.data["packets"]
    assert packets["sent"] == packets["received"] + packets["in_flight"] + first.data["drops"]
    assert first.data["packets_delivered"] > 0


@pytest.mark.parametrize("name", ["incast", "mixed", "oldi"])
def test_another_seed_gives_another_run(name: str) -> None:
    runs = [
        dt.run(SCENARIOS / f"{name}.toml", seed=seed, set={"run.duration": SHORT[name], "run.warm_up": "0 s"})
        for seed in (1, 2)
    ]
    assert [run.seed for run in runs] == [1, 2]
    assert runs[0].data["summary"] != runs[1].data["summary"]


def test_the_summary_follows_from_the_flows(small: Path) -> None:
    import numpy as np

    run = dt.run(small)
    counted = run.flows.filter("counted")
    summary = run.summary
    assert counted.height == summary["messages"]
    assert counted["end_us"].count() == summary["completed"]
    assert counted["missed"].sum() == summary["missed"]
    assert counted["deadline_us"].count() == summary["with_deadline"]
    done = counted["fct_us"].drop_nulls().to_numpy()
    for key, percent in (("p50", 50), ("p90", 90), ("p99", 99), ("max", 100)):
        assert summary["fct_us"][key] == pytest.approx(np.percentile(done, percent))
    slowdowns = counted["slowdown"].drop_nulls()
    assert slowdowns.min() >= 1  # type: ignore[operator]
