"""Folders with made-up numbers, as `duetime reproduce --out` writes them."""

import json
import tomllib
from pathlib import Path
from typing import Any

import tomli_w

from duetime.experiments import places

FAN_INS = (5, 10, 15, 20, 25, 30, 35, 40)
# Percent missed at the largest fan-in; it grows with the cube.
AT_MOST = {"tcp": 62.0, "dctcp": 24.5, "d3": 19.0, "d2tcp": 23.8, "bound": 0.0}
SCENARIO = 'title = "Made up"\n\n[run]\nduration = "1 s"\n'


def rows(seeds: int = 3) -> list[dict[str, Any]]:
    found = []
    for transport, most in AT_MOST.items():
        for fan_in in FAN_INS:
            missed = most * (fan_in / 40) ** 3
            half = 0.08 * missed if seeds > 1 else None
            found.append(
                {
                    "fan_in": fan_in,
                    "variance": "medium",
                    "transport": transport,
                    "missed_percent": missed,
                    "missed_percent_low": None if half is None else missed - half,
                    "missed_percent_high": None if half is None else missed + half,
                }
            )
    return found


CHART = {
    "title": "Deadlines missed",
    "kind": "line",
    "x": {"column": "fan_in", "label": "fan-in", "unit": ""},
    "y": {
        "column": "missed_percent",
        "label": "missed deadlines",
        "unit": "%",
        "low": "missed_percent_low",
        "high": "missed_percent_high",
    },
    "series": {"column": "transport"},
    "where": {"variance": "medium"},
    "published": [
        {"series": "dctcp", "x": 40, "y": 25, "label": "around 25 %"},
        {"series": "d2tcp", "x": 40, "y": 7, "label": "below 7 %"},
    ],
}
CLAIMS = [
    {
        "claim": "DCTCP misses around 25 % at fan-in 40",
        "published": 25,
        "measured": 24.5,
        "holds": True,
        "why": "",
    },
    {
        "claim": "D2TCP misses less than 7 % at fan-in 40",
        "published": 7,
        "measured": 23.8,
        "low": 22.1,
        "high": 25.5,
        "unit": "%",
        "rule": "stated as a bound",
        "holds": False,
        "why": "Every miss is a loss with a timeout, which the law of D2TCP does not touch.",
    },
    {
        "claim": "The real network misses somewhat more",
        "published": {"real": 15.2, "sim": 13.0},
        "measured": None,
        "holds": None,
        "why": "Needs the testbed.",
    },
]


def experiment(folder: Path, name: str = "d2tcp/fig10", **changes: Any) -> Path:
    """The folder of one experiment, two levels below `folder`."""
    record: dict[str, Any] = {
        "id": name,
        "title": "Missed deadlines under medium variance of deadlines",
        "source": "Vamanan et al., SIGCOMM 2012, figure 10",
        "question": "How many deadlines are missed as the fan-in grows?",
        "scale": "quick",
        "seeds": [1, 2, 3],
        "regime": "paper",
        "scenario": SCENARIO,
        "parameters": {
            "network": {"hosts": 41, "mark": "20 packets"},
            "traffic": [{"name": "answers", "leaves": 40}],
        },
        "versions": {"duetime": "0.1.0", "python": "3.11"},
        "runs": 96,
        "charts": [CHART],
        "rows": rows(),
        "published": {"missed_percent_at_40": {"dctcp": 25}},
        "claims": CLAIMS,
        "notes": ["Made up: no run was made for this."],
        **changes,
    }
    inside = folder / name
    inside.mkdir(parents=True)
    (inside / "result.json").write_text(json.dumps(record), encoding="utf-8")
    return inside


def experiment_file(root: Path, name: str = "d2tcp/fig10") -> Path:
    """A folder of experiments with the file whose result `experiment` makes up."""
    charts = [CHART | {"series": CHART["series"]["column"]}]
    claims = [
        {"claim": each["claim"], "published": f"paper.numbers[{number}]", "why": each["why"]}
        | {"rule": each.get("rule", ""), "unit": each.get("unit", "")}
        | {"measured": "select 1", "holds": "measured"}
        for number, each in enumerate(CLAIMS)
    ]
    content = {
        "title": "Missed deadlines under medium variance of deadlines",
        "source": "Vamanan et al., SIGCOMM 2012, figure 10",
        "question": "How many deadlines are missed as the fan-in grows?",
        "regime": "paper",
        "transports": [each for each in AT_MOST if each != "bound"],
        "scenario": tomllib.loads(SCENARIO),
        "scales": {"quick": {"seeds": 3}, "paper": {"seeds": 3}},
        "charts": charts,
        "claims": claims,
    }
    numbers = {"paper": {"numbers": [each["published"] for each in CLAIMS]}}
    path = root / f"{name}.toml"
    path.parent.mkdir(parents=True)
    path.write_text(tomli_w.dumps(content), encoding="utf-8")
    (root / places.PUBLISHED).write_text(tomli_w.dumps(numbers), encoding="utf-8")
    regimes = {"regimes": {"paper": {"help": "as the paper has it", "set": []}}}
    (root / places.REGIMES).write_text(tomli_w.dumps(regimes), encoding="utf-8")
    return root


def bars(**changes: Any) -> dict[str, Any]:
    """A chart of bars with words along the axis."""
    return {
        "title": "Latency over deadline at fan-in 40",
        "kind": "bar",
        "x": {"column": "percentile", "label": "percentile"},
        "y": {
            "column": "latency",
            "label": "latency over deadline",
            "unit": "%",
            "low": "low",
            "high": "high",
        },
        "series": {"column": "transport"},
        **changes,
    }


def bar_rows() -> list[dict[str, Any]]:
    return [
        {
            "percentile": word,
            "transport": transport,
            "latency": base * k,
            "low": base * k - 3,
            "high": base * k + 3,
        }
        for word, base in (("50th", 20.0), ("90th", 45.0), ("99th", 90.0))
        for transport, k in (("dctcp", 1.2), ("d3", 1.1), ("d2tcp", 1.0))
    ]


def points_rows() -> list[dict[str, Any]]:
    """Another look: a scatter over a wide range."""
    return [
        {"size": 1000.0 * 4**step, "kind": kind, "gain": 1 + step * (0.2 if kind == "1 Gbps" else 0.35)}
        for step in range(7)
        for kind in ("1 Gbps", "10 Gbps")
    ]


POINTS = {
    "title": "Gain by size",
    "kind": "points",
    "x": {"column": "size", "label": "size", "unit": "B"},
    "y": {"column": "gain", "label": "gain"},
    "series": {"column": "kind"},
}


def several(folder: Path) -> Path:
    """A report's worth of experiments: lines, bars, points, and a table without a chart."""
    experiment(folder)
    experiment(
        folder,
        "d2tcp/fig12",
        title="Latency at three percentiles",
        charts=[bars()],
        rows=bar_rows(),
        claims=CLAIMS[:1],
    )
    experiment(
        folder, "d2tcp/large-messages", title="Large messages", charts=[POINTS], rows=points_rows(), claims=[]
    )
    experiment(
        folder,
        "d2tcp/table1",
        title="Priority inversions of D3",
        charts=[],
        rows=[{"fan_in": n, "transport": "d3", "inverted_percent": 20 + n / 2} for n in FAN_INS],
        claims=CLAIMS[1:],
    )
    return folder
