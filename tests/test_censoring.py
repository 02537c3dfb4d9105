"""A message counts by its start, not by how soon it is decided."""

import pytest

import duetime as dt
from conftest import SCENARIOS, Command
from duetime.statistics import share

#: Misses settle after about 100 ms: before, no answers of earlier queries are in the way.
OLDI = SCENARIOS / "oldi.toml"
WARM_UP_MS = 100


def missed(window_ms: int, seeds: int, **more: str) -> tuple[float, tuple[float, float]]:
    changes = {"run.warm_up": f"{WARM_UP_MS} ms", "run.duration": f"{WARM_UP_MS + window_ms} ms", **more}
    values = [
        dt.run(OLDI, transport="dctcp", seed=seed, set=changes).summary["missed_percent"]
        for seed in range(1, seeds + 1)
    ]
    found = share(values)
    assert found is not None
    low, high = found["ci95"]
    return found["mean"], (low, high)


def test_a_short_window_sees_what_a_long_one_does() -> None:
    """Deadlines are 20 to 67 ms: in a window of 40 ms a run that stopped there would decide the fewest."""
    (short, of_short), (long, of_long) = missed(40, 6), missed(160, 3)
    assert of_short[0] <= of_long[1], f"{short} {of_short}, {long} {of_long}"
    assert of_long[0] <= of_short[1], f"{short} {of_short}, {long} {of_long}"
    cut, of_cut = missed(40, 6, **{"run.cool_down": "0 s"})
    assert of_cut[1] < of_long[0], f"without a cool-down {cut} {of_cut}, {long} {of_long}"


def test_what_is_left_undecided_is_said(duetime: Command) -> None:
    changes = ["run.warm_up=0 s", "run.duration=40 ms", "run.cool_down=1 ms"]
    result = dt.run(OLDI, transport="dctcp", set=changes)
    undecided = result.summary["undecided"]
    assert undecided > 0
    assert result.data["cool_down_s"] == pytest.approx(0.001)
    words = [word for change in ("transport.name=dctcp", *changes) for word in ("--set", change)]
    said = f"excluded, since undecided when the run ended: {undecided:,} messages"
    assert said in duetime("run", OLDI, *words).stdout


@pytest.mark.parametrize(("duration", "late"), [("6 ms", 2), ("20 ms", 0)])
def test_messages_of_a_list_beyond_the_end_are_counted_and_said(duration: str, late: int) -> None:
    scenario = {
        "profile": "classic",
        "run": {"duration": duration},
        "network": {"topology": "star", "hosts": 2, "rate": "1 Gbps", "delay": "20 us"},
        "transport": {"name": "tcp"},
        "traffic": [
            {
                "name": "list",
                "pattern": "flows",
                "flows": [
                    {"from": 0, "to": 1, "size": "1 KB", "start": start} for start in ("0 s", "6 ms", "9 ms")
                ],
            }
        ],
    }
    result = dt.run(scenario)
    assert result.classes["list"]["too_late"] == late
    note = f"list: {late} of 3 messages start at {duration} or later and are not counted"
    assert [each for each in result.notes if "not counted" in each] == ([note] if late else [])
