"""The testbed: what it makes of a scenario, and, as root, real TCP on it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import duetime
from duetime import testbed
from duetime.errors import Missing
from duetime.quantities import amount, size_bytes, time_ps
from duetime.scenario import Unreadable
from duetime.testbed import batches, control, measured, need, plan, record
from duetime.testbed.experiments import EXPERIMENTS

ROOT = os.geteuid() == 0 and need.find("duetime-testbed") is not None
WITH_CONTROL = ROOT and need.find("d2tcp") is not None and need.cgroup2() is not None
needs_root = pytest.mark.skipif(
    not ROOT, reason="root and target/release/duetime-testbed (make linux) are needed"
)
needs_control = pytest.mark.skipif(
    not WITH_CONTROL, reason="root, cgroup2 and target/release/d2tcp are needed"
)


def steadily(scenario: Any, **options: Any) -> duetime.Result:
    """Run a scenario without the machine standing still in between; skip the test where it never can."""
    pauses = []
    for _ in range(6):
        result = testbed.run(scenario, **options)
        pauses.append(result.data["testbed"]["longest_pause_ms"])
        if pauses[-1] <= measured.PAUSE_MS:
            return result
    pytest.skip(f"the machine stood still for {min(pauses):.0f} ms or longer in each of {len(pauses)} runs")


TINY = [{"from": 0, "to": 2, "size": "8 B"}]


def scenario(**changes: Any) -> dict[str, Any]:
    """Two senders at 100 Mbps: a message with a deadline each, half a second."""
    made: dict[str, Any] = {
        "title": "Two to one",
        "profile": "classic",
        "run": {"duration": "500 ms"},
        "network": {
            "topology": "star",
            "hosts": 3,
            "rate": "100 Mbps",
            "delay": "20 us",
            "buffer": "1 MB",
            "sharing": "per-port",
            "mark": "30 packets",
        },
        "transport": {"name": "tcp", "ecn": True, "handshake": True},
        "traffic": [
            {
                "name": "two",
                "pattern": "flows",
                "flows": [
                    {"from": 0, "to": 2, "size": "2 MB", "start": "20 ms", "deadline": "400 ms"},
                    {"from": 1, "to": 2, "size": "2 MB", "start": "40 ms", "deadline": "400 ms"},
                ],
            }
        ],
    }
    for key, value in changes.items():
        section, _, name = key.partition("__")
        if name:
            made[section][name] = value
        else:
            made[section] = value
    return made


def planned(source: dict[str, Any], options: plan.Options | None = None) -> plan.Plan:
    return plan.make(duetime.run(source), options or plan.Options())


@pytest.mark.parametrize(
    ("text", "picoseconds"), [("20 us", 20_000_000), ("1.5 ms", 1_500_000_000), ("0 s", 0), ("1 ps", 1)]
)
def test_times_are_read(text: str, picoseconds: int) -> None:
    assert time_ps(text) == picoseconds


def test_sizes_are_read() -> None:
    assert size_bytes("1.46 KB") == 1460
    assert size_bytes("2 KiB") == 2048
    assert size_bytes("8 Kb") == 1000
    assert amount("65 packets") == (65, 0)
    assert amount("1 packet") == (1, 0)
    assert amount("4 MB") == (0, 4_000_000)


def test_the_plan_has_the_simulators_messages() -> None:
    source = scenario(
        traffic=[
            {
                "name": "answers",
                "pattern": "fan-in",
                "leaves": 2,
                "every": "exponential(50 ms)",
                "size": "uniform(2 KB, 50 KB)",
                "deadline": {"base": "20 ms", "vary": "uniform(0, 50%)"},
                "jitter": "uniform(0 us, 300 us)",
                "transport": "d2tcp",
            },
            {"name": "copy", "pattern": "long", "from": 0, "to": 2, "transport": "cubic"},
        ]
    )
    simulated = duetime.run(source, seed=5)
    made = plan.make(simulated, plan.Options())
    # The simulator continues until all counted messages have arrived; the testbed ends with the 500 ms.
    listed = simulated.flows.filter(simulated.flows["start_us"] < 500_000)
    assert len(made.messages) == listed.height > 10
    for message, row in zip(made.messages, listed.iter_rows(named=True), strict=True):
        assert (message.sender, message.receiver, message.size) == (row["src"], row["dst"], row["bytes"])
        assert abs(message.at_ns - row["start_us"] * 1e3) <= 0.5
        assert message.flow.control == ("d2tcp" if row["class"] == "answers" else "cubic")
        assert (message.deadline_ns is None) == (row["class"] == "copy")


def test_dctcp_is_the_same_control_without_deadlines() -> None:
    source = scenario(transport={"name": "dctcp", "g": 0.125})
    made = planned(source)
    assert {message.flow.control for message in made.messages} == {"d2tcp"}
    assert all(message.deadline_ns is None for message in made.messages)
    assert made.control is not None
    assert made.control["g"] == 0.125
    assert planned(scenario()).control is None
    own = planned(source, plan.Options(kernel_dctcp=True))
    assert (own.flows[0].control, own.control) == ("dctcp", None)


def test_d2tcp_wait_is_a_mode_of_the_control_with_a_least_timeout_of_its_own() -> None:
    transport = {"name": "d2tcp", "rto_min": "8 ms", "initial_window": 3}
    made = planned(scenario(transport=transport))
    assert made.control is not None
    assert made.control["mode"] == "d2tcp"
    assert "rto_min" not in made.control
    assert made.route == "initcwnd 3 rto_min 8ms quickack 1"
    made = planned(scenario(transport={**transport, "name": "d2tcp_wait"}))
    assert made.control is not None
    assert (made.control["mode"], made.control["rto_min"], made.control["time_scale"]) == ("plus", "8 ms", 1)
    assert "cap" not in made.control
    # A route's limit would be above the control's.
    assert made.route == "initcwnd 3 quickack 1"
    assert [flow.control for flow in made.flows] == ["d2tcp"]
    assert all(message.deadline_ns == 400_000_000 for message in made.messages)
    times = {
        "floor_horizon": "50 ms",
        "hold_most": "100 ms",
        "guard_most": "50 ms",
        "hopeless_hold": "500 ms",
    }
    made = planned(scenario(transport={"name": "d2tcp_wait", **times}))
    assert made.control is not None
    assert made.control["time_scale"] == 5
    with pytest.raises(Unreadable, match="can only be multiplied by one number"):
        planned(scenario(transport={"name": "d2tcp_wait", **times, "hold_most": "20 ms"}))
    mixed = scenario(transport=transport)
    other = mixed["traffic"][0] | {"name": "others", "transport": {"name": "d2tcp_wait"}}
    with pytest.raises(Unreadable, match="mode holds for all connections here"):
        planned(mixed | {"traffic": [*mixed["traffic"], other]})


def test_a_receiver_that_refuses_ecn_listens_with_reno() -> None:
    made = planned(scenario(transport={"name": "d2tcp"}), plan.Options(refuse_ecn=True))
    assert [(flow.control, flow.peer) for flow in made.flows] == [("d2tcp", "reno")]


def test_buffers_are_those_of_one_busy_port() -> None:
    def limit(**network: Any) -> tuple[int, int]:
        changes = {f"network__{key}": value for key, value in network.items()}
        return planned(scenario(**changes)).ports[2].limit

    assert limit(buffer="50 KB") == (0, 50_000)
    assert limit(buffer="90 packets") == (90, 0)
    assert limit(buffer="300 KB", sharing="static") == (0, 100_000)
    assert limit(buffer="300 KB", sharing="dynamic") == (0, 150_000)
    assert limit(buffer="300 KB", sharing="dynamic", dynamic_alpha=2.0) == (0, 200_000)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"transport": {"name": "xdctcp"}},
            "two: no real xdctcp here; the testbed runs tcp, cubic",
        ),
        ({"transport": {"name": "d2tcp", "expired": "abort"}}, "take neutral, cap or yield"),
        (
            {
                "network": {
                    "topology": "leaf-spine",
                    "leaves": 2,
                    "hosts_per_leaf": 2,
                    "spines": 1,
                    "uplink": "100 Mbps",
                    "rate": "100 Mbps",
                    "delay": "20 us",
                }
            },
            'topology = "star", not "leaf-spine"',
        ),
        ({"network__hosts": 300}, "room for 250 hosts, not 300"),
        ({"network__mark_at": "departure"}, "marks packets before they are queued"),
        (
            {
                "traffic": [
                    {"name": "tiny", "pattern": "flows", "flows": [{"from": 0, "to": 2, "size": "8 B"}]}
                ]
            },
            "tiny: a message of 8 B; the testbed needs 16 B or more",
        ),
    ],
)
def test_what_the_testbed_cannot_do_is_said(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(Unreadable) as refused:
        planned(scenario(**changes))
    assert message in str(refused.value)


def test_what_is_missing_is_said_in_one_message(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(need, "BUILT", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Missing) as missing:
        testbed.check(control=True)
    for words in ("run as root", "the program tc (Debian: iproute2)", "d2tcp: `make linux` builds it"):
        assert words in str(missing.value)


def test_the_shell_says_what_is_missing_with_status_2(tmp_path: Path) -> None:
    if ROOT:
        pytest.skip("nothing is missing here")
    command = [sys.executable, "-m", "duetime", "testbed", "urgent", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: the testbed cannot run here:\n  - ")
    assert not (tmp_path / "out").exists()


def test_control_groups_of_the_dead_are_removed(tmp_path: Path) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    names = [f"duetime-testbed-{dead.pid}-abcdef", f"duetime-testbed-{os.getpid()}-abcdef", "another-1-2"]
    for name in names:
        (tmp_path / name).mkdir()
    control.remove_stale(tmp_path)
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(names[1:])


def test_every_experiment_can_be_planned() -> None:
    for experiment in EXPERIMENTS.values():
        for arm in experiment.arms:
            simulated = duetime.run(
                experiment.scenario, transport=arm.transport, set=["run.duration=1100 ms", *arm.set]
            )
            assert plan.make(simulated, arm.options).messages


def test_reports_become_a_result_in_the_simulators_form() -> None:
    made = planned(
        scenario(run={"duration": "500 ms", "trace": {"every": "10 ms", "what": ["cwnd", "queue"]}})
    )
    reports = measured.Reports(
        start_ns=10**9,
        hosts=[
            sender(
                0, 10**9 + 20_000_100, samples=[["cwnd", 10_000_000, 0, 12.0], ["srtt", 10_000_000, 0, 9.0]]
            ),
            sender(1, 10**9 + 40_000_000),
            {
                "sent": [],
                "segments": 2740,
                "samples": [],
                "received": {
                    "0": {"bytes": 2_000_000, "counted_bytes": 2_000_000, "end_ns": 10**9 + 220_000_100},
                    "1": {"bytes": 1_500_000, "counted_bytes": 1_500_000, "end_ns": None},
                },
            },
        ],
        switch={
            "ports": [port(0), port(1), port(2, marks=7, lengths=[10, 80, 10], samples=[[10_000_000, 2]])],
            "longest_pause_ns": 20_500_000,
        },
        counters=[{"rx_packets": 100, "rx_bytes": 150_000, "tx_packets": 50, "tx_bytes": 2000}] * 3,
        wall_s=0.5,
    )
    origin = measured.Origin(duetime.scenario.read(scenario()), None, None, None)
    result = measured.result(origin, made, reports)
    simulated = duetime.run(scenario())
    assert set(result.data) == {*simulated.data, "testbed"}
    assert result.flows.schema == simulated.flows.schema
    assert result.links.schema == simulated.links.schema
    assert result.flows["fct_us"].to_list() == [200_000.0, None]
    assert result.flows["missed"].to_list() == [False, True]
    assert (result.summary["missed_percent"], result.data["marks"]) == (50.0, 7)
    assert result.data["testbed"]["longest_pause_ms"] == 20.5
    assert result.notes[-1] == "the machine stood still for 20 ms, and its links with it: run this again"
    busiest = result.data["busiest_queue"]
    assert (busiest["dst"], busiest["mean"], busiest["p50"], busiest["p99"]) == ("host 2", 1.0, 1, 2)
    assert result.trace.select("what", "message", "link", "value").rows() == [
        ("cwnd", 0, None, 12.0),
        ("queue", None, "switch -> host 2", 2.0),
    ]


def sender(row: int, start_ns: int, samples: list[Any] | None = None) -> dict[str, Any]:
    sent = {
        "number": row,
        "start_ns": start_ns,
        "retransmits": 0,
        "timeouts": 0,
        "marks": 3,
        "min_rtt_us": 30,
        "state": None,
        "refused": None,
        "error": None,
    }
    return {"sent": [sent], "received": {}, "segments": 0, "samples": samples or []}


def port(host: int, marks: int = 0, lengths: Any = (), samples: Any = ()) -> dict[str, Any]:
    return {
        "interface": f"port{host}",
        "packets": 50,
        "bytes": 2700,
        "marks": marks,
        "drops": 0,
        "non_ect_drops": 0,
        "longest": 2,
        "lengths": list(lengths),
        "samples": list(samples),
    }


@pytest.mark.real
@needs_root
def test_classic_ecn_is_marked_and_holds_the_queue() -> None:
    simulated, real = duetime.run(scenario()), steadily(scenario())
    assert real.data["marks"] > 0
    assert real.data["drops"] == 0
    assert real.flows["fct_us"].null_count() == 0
    # A pause that is let pass may bring a tail loss probe at the end of each message; losses would be dozens.
    assert (real.flows["retransmits"] <= 1).all()
    # Reno halves the bytes under way at the mark: the queue stays near K and below the buffer's 660 packets.
    queue = real.links.filter(pl.col("dst") == "host 2").row(0, named=True)
    assert queue["queue_max"] < 200
    # 4 MB in 320 ms at 100 Mbps: the link's rate is the scenario's.
    last = real.flows.select((pl.col("start_us") + pl.col("fct_us")).max()).item()
    assert 320e3 < last < 500e3
    assert simulated.flows["bytes"].to_list() == real.flows["bytes"].to_list()


@pytest.mark.real
@needs_root
def test_a_shallow_buffer_drops() -> None:
    source = scenario(network__buffer="20 packets", transport={"name": "tcp", "handshake": True})
    result = testbed.run(source)
    assert result.data["drops"] > 0
    assert result.data["retransmits"] > 0
    assert result.data["marks"] == 0
    assert result.links.filter(pl.col("dst") == "host 2")["queue_max"].item() <= 21


@pytest.mark.real
@needs_root
def test_messages_in_turn_on_one_connection() -> None:
    flows = [{"from": 0, "to": 2, "size": "200 KB", "start": f"{start} ms"} for start in (0, 2, 100)]
    traffic = [{"name": "turns", "pattern": "flows", "flows": flows, "connections": "persistent"}]
    result = steadily(scenario(traffic=traffic))
    # 200 KB take 16.4 ms at 100 Mbps; the second waits for the first, the third finds the link empty.
    first, second, third = result.flows["fct_us"].to_list()
    assert first > 16_000
    assert second > 25_000
    assert 16_000 < third < 30_000 + first


@pytest.mark.real
@needs_root
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_behind(number: signal.Signals, tmp_path: Path) -> None:
    file = tmp_path / "long.json"
    file.write_text(json.dumps(scenario(run={"duration": "60 s"})))
    code = "import json, sys\nfrom duetime import testbed\ntestbed.run(json.load(open(sys.argv[1])))"
    before = namespaces()
    # Of all of the machine's queues: on while the testbed is there, where it can be had.
    former = hysteresis()
    process = subprocess.Popen([sys.executable, "-c", code, str(file)], stderr=subprocess.DEVNULL)
    wait(lambda: len(namespaces()) >= len(before) + 4 and hysteresis() in ("1", None))
    process.send_signal(number)
    process.wait(30)
    wait(lambda: namespaces() <= before)
    with control.alone(60):
        assert hysteresis() == former or former is None


def hysteresis() -> str | None:
    """Return the setting of HTB's hysteresis; none where it cannot be set."""
    there = os.access(batches.HYSTERESIS, os.W_OK)
    return batches.HYSTERESIS.read_text().strip() if there else None


@pytest.mark.skipif(sys.platform != "linux", reason="the testbed is for Linux")
@pytest.mark.parametrize("former", ["0", "1"])
def test_queues_send_in_batches_until_whatever_ends_the_testbed(former: str, tmp_path: Path) -> None:
    setting, lock = tmp_path / "hysteresis", tmp_path / "lock"
    code = (
        "import pathlib, sys, time\nfrom duetime.testbed import batches\n"
        "batches.HYSTERESIS = pathlib.Path(sys.argv[1])\n"
        "with open(sys.argv[2], 'w') as lock, batches.in_batches(lock.fileno()):\n"
        "    print(batches.HYSTERESIS.read_text(), flush=True)\n"
        "    if sys.argv[3] == 'stay':\n        time.sleep(60)"
    )
    for what in ("go", "stay"):
        setting.write_text(former + "\n")
        command = [sys.executable, "-c", code, str(setting), str(lock), what]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "1\n"
        if what == "stay":
            process.kill()
        assert process.wait(30) == (0 if what == "go" else -signal.SIGKILL)
        process.stdout.close()
        wait(lambda: setting.read_text().strip() == former)


def test_where_queues_have_no_batches_the_testbed_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "HYSTERESIS", tmp_path / "none")
    with batches.in_batches(0):
        assert not batches.HYSTERESIS.exists()


def namespaces() -> set[str]:
    """The network namespaces of all processes."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found.add(str((process / "ns" / "net").readlink()))
        except OSError:
            continue
    return found


def wait(until: Any, patience_s: float = 40.0) -> None:
    end = time.monotonic() + patience_s
    while not until():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


@pytest.mark.real
@needs_control
def test_an_urgent_message_is_faster_with_its_deadline() -> None:
    experiment = EXPERIMENTS["urgent"]
    runs = {transport: steadily(experiment.scenario, transport=transport) for transport in ("dctcp", "d2tcp")}
    for result in runs.values():
        assert result.data["marks"] > 0
        assert result.data["drops"] == 0
        assert result.data["testbed"]["ecn_connections"] == 4
        assert result.flows["fct_us"].null_count() == 0
        # Nothing is dropped, and on one processor no packet overtakes another. A pause that is let pass may
        # bring a tail loss probe at the end of each message.
        assert (result.flows["retransmits"] <= 1).all()
    urgent = {transport: result.flows["fct_us"][0] for transport, result in runs.items()}
    assert urgent["d2tcp"] <= 0.7 * urgent["dctcp"]
    about = runs["d2tcp"].data["testbed"]
    assert (about["deadlines_told"], about["deadlines_refused"]) == (4, 0)
    # d as the programs read it back: the relaxed ones yield, the urgent one insists.
    assert (about["d_lowest"], about["d_highest"]) == (0.5, 2.0)
    assert runs["dctcp"].data["testbed"]["deadlines_told"] == 0


@pytest.mark.real
@needs_control
def test_the_truth_about_a_pipeline_is_never_slower_than_silence() -> None:
    """One connection has 3 MB for 6 s and behind it 1 MB for 800 ms; only the second is in a hurry."""
    experiment = EXPERIMENTS["pipeline"]
    # Half as fast as the experiment: not every machine keeps up with that, and there chance decides.
    slower = {
        "network.rate": "100 Mbps",
        "network.mark": "30 packets",
        "run.duration": "5 s",
        "hurried": "800 ms",
    }
    pairs = []
    for seed in range(1, 7):
        # They take turns, so that a machine that grows slower is so for both.
        both = [
            steadily(experiment.scenario, transport=transport, seed=seed, set=slower)
            for transport in ("dctcp", "d2tcp")
        ]
        about = both[1].data["testbed"]
        assert about["deadlines_told"] > 0 == about["deadlines_refused"]
        pairs.append(tuple(float(result.flows["fct_us"][1]) for result in both))
    print([(round(silent / 1e3), round(truthful / 1e3)) for silent, truthful in pairs])
    assert all(truthful <= silent for silent, truthful in pairs)


@pytest.mark.real
@needs_control
def test_the_same_over_ipv6() -> None:
    result = steadily(EXPERIMENTS["ipv6"].scenario, transport="d2tcp", ipv6=True)
    assert result.data["testbed"]["ip"] == 6
    assert result.data["marks"] > 0
    assert result.flows["fct_us"][0] == result.flows["fct_us"].min()


@pytest.mark.real
@needs_control
def test_a_peer_that_refuses_ecn_leaves_reno() -> None:
    result = testbed.run(EXPERIMENTS["ecn-refused"].scenario, transport="d2tcp", refuse_ecn=True)
    assert result.data["testbed"]["ecn_connections"] == 0
    assert result.data["marks"] == 0
    # Without marks the buffer fills until it drops, and everything arrives all the same.
    assert result.flows["fct_us"].null_count() == 0


def test_a_record_says_who_was_better_in_how_many_pairs() -> None:
    """Mean, half of the 95 % interval (12.7 standard errors of two values), range; pairs by repeat."""
    rows = [
        {"arm": arm, "where": "real", "figures": {"answers: missed, %": missed, "drops": drops}, **machine}
        for arm, figures in {"d2tcp": ((10.0, 3), (12.0, 3)), "d2tcp_plus": ((9.0, 0), (12.5, 4))}.items()
        for (missed, drops), machine in zip(
            figures, ({"pause_ms": 2.0, "late_us": 900.0}, {"pause_ms": 12.4, "late_us": None}), strict=True
        )
    ]
    text = record.told(
        {"rows": rows, "set": [], "run_again": 3, "load": [0.2, 1.0], "at": "day", "kernel": "6", "cores": 2}
    )
    assert "| answers: missed, % | 11.0 ± 12.7 (10.0 to 12.0) | 10.8 ± 22.2 (9.0 to 12.5) |" in text
    assert "| drops | 3 | 0 to 4 |" in text
    assert "d2tcp_plus has less than d2tcp: real in 1 of 2 repeats." in text
    assert "no pause above 12 ms" in text
    assert "begun within 0.9 ms; 3 runs with longer pauses" in text
