"""Link by link: a link's simulation by hand, which links are alike, and the sum."""

import importlib.util
import json
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl
import pytest

import duetime as dt
from conftest import SMALL, Command
from duetime import manifest, scenario
from duetime.errors import Damaged, Unreadable
from duetime.estimates import (
    Runs,
    Task,
    check,
    correct,
    delays,
    estimate,
    limits,
    of_links,
    paths,
    ranges,
    summary,
    traffic,
)
from duetime.estimates.cluster import _differ, clusters
from duetime.estimates.link import alone, ideal
from duetime.report import NoReport, experiments

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / "bench"
#: 1500 B at 1 Gbps, in us.
PACKET = 12.0


def star(hosts: int, *flows: dict[str, Any], **network: Any) -> dict[str, Any]:
    """Messages of whole packets at a switch whose hosts keep perfect time."""
    return {
        "title": "By hand",
        "profile": "classic",
        "run": {"duration": "50 ms"},
        "network": {
            "topology": "star",
            "hosts": hosts,
            "rate": "1 Gbps",
            "delay": "5 us",
            "buffer": "4 MB",
            "host_jitter": "0 s",
            **network,
        },
        "transport": {"name": "dctcp"},
        "traffic": [{"name": "messages", "pattern": "flows", "flows": list(flows)}],
    }


def flow(sender: int, receiver: int, packets: int = 1, start: str = "0 s", **more: Any) -> dict[str, Any]:
    return {"from": sender, "to": receiver, "size": f"{1460 * packets} B", "start": start, **more}


LEAF_SPINE = {
    "title": "Two racks",
    "profile": "classic",
    "run": {"duration": "4 ms", "seed": 3},
    "network": {
        "topology": "leaf-spine",
        "leaves": 2,
        "hosts_per_leaf": 4,
        "spines": 3,
        "rate": "10 Gbps",
        "uplink": "40 Gbps",
        "delay": "1 us",
        "frame_overhead": "38 B",
    },
    "transport": {"name": "dctcp"},
    "traffic": [
        {
            "name": "across",
            "pattern": "poisson",
            "from": "0..4",
            "to": "4..8",
            "load": 0.3,
            "size": "uniform(1 KB, 90 KB)",
        }
    ],
}


def task(source: dict[str, Any] | str, *changes: str) -> Task:
    return Task.of(scenario.read(source), changes)


def drawn(source: dict[str, Any] | str, *changes: str) -> traffic.Traffic:
    asked = task(source, *changes)
    return traffic.of(asked.resolved, asked.read, asked.changes, asked.seed)


def completion(source: dict[str, Any], folder: Path) -> np.ndarray[Any, Any]:
    """Estimated completion times in us, in order of start."""
    found, _ = paths.completion(drawn(source), 1, Runs(folder, 1, False))
    return found / 1e6


def test_one_crowded_link_gives_what_the_run_gives(tmp_path: Path) -> None:
    # Each sender has one message, and windows hold it: all that is waited for is the receiver's link.
    crowd = star(5, *(flow(host, 4, 8, f"{host * 3} us") for host in range(4)))
    found = completion(crowd, tmp_path)
    assert found == pytest.approx(dt.run(crowd).flows["fct_us"].to_numpy(), abs=1e-3)
    # 32 packets in a row, the last of which is also the last of one message: it leaves its sender at 12 us
    # at the earliest.
    ends = found + np.arange(4) * 3
    assert ends.max() == pytest.approx(PACKET + 5 + 32 * PACKET + 5, abs=1e-3)


def test_what_is_waited_for_at_two_links_adds_up(tmp_path: Path) -> None:
    # Host 0 sends two packets at once, and so the second of them waits for one at the first link. Hosts 0 and
    # 3 send a packet each to host 2 at that time. Without other traffic one of these waits for the other
    # there.
    found = completion(star(4, flow(0, 1), flow(0, 2), flow(3, 2)), tmp_path)
    alone = 2 * (PACKET + 5)
    assert (found - alone).sum() == pytest.approx(2 * PACKET, abs=1e-3)
    assert found.min() == pytest.approx(alone, abs=1e-3)


def test_links_with_equal_traffic_are_one_cluster_with_equal_delays(tmp_path: Path) -> None:
    # Four receivers, each with the same messages at the same times from senders of its own.
    flows = [
        flow(4 + 3 * to + number, to, 4, f"{burst * 1000} us")
        for to in range(4)
        for burst in range(40)
        for number in range(3)
    ]
    source = star(16, *flows)
    found = drawn(source)
    (receivers,) = [each for each in clusters(found, samples=100, loads=1) if len(each.links) == 4]
    assert len(receivers.simulated) == 1
    by_receiver = {}
    for link in receivers.links:
        cut = alone(found, int(link))
        run = dt.run(cut.scenario.text)
        by_receiver[int(link)] = sorted(run.flows["fct_us"])
    first, *others = by_receiver.values()
    assert len(first) == 120
    assert all(each == first for each in others)
    # With one of them simulated, the others' messages draw from its delays, which are 4, 8 and 12 packets in
    # a row.
    times = completion(source, tmp_path)
    assert set(np.round(times, 3)) <= {round(each, 3) for each in first}
    assert len(set(np.round(times[found.receiver == 3], 3))) == len(set(np.round(first, 3)))


def test_messages_cross_the_links_that_they_do_in_a_run() -> None:
    found = drawn(LEAF_SPINE)
    started = found.start < 4 * 10**9
    run = dt.run(LEAF_SPINE | {"run": {"duration": "4 ms", "seed": 3, "cool_down": "1 s"}})
    assert run.data["retransmits"] == 0
    # Beyond the measured time the run counts nothing, and so it is given time to send all.
    longer = dt.run(LEAF_SPINE, set={"run.duration": "40 ms", "traffic.across.count": int(started.sum())})
    crossed = np.bincount(
        found.hops, weights=np.where(started, found.packets, 0)[found.row], minlength=len(found.rate)
    )
    links = {(row["src"], row["dst"]): row["packets"] for row in longer.links.iter_rows(named=True)}
    forwards = [
        number
        for number, (source, to) in enumerate(found.names)
        if crossed[number]
        and (source.startswith("leaf 0") or to in {"leaf 1", *(f"host {n}" for n in range(4, 8))})
    ]
    assert len(forwards) == 3 + 3 + 4
    assert [int(crossed[each]) for each in forwards] == [links[found.names[each]] for each in forwards]


def test_the_ideal_time_is_the_engines() -> None:
    found = drawn(LEAF_SPINE)
    shapes, path = paths._paths(found)
    assert len(shapes) == 1
    assert shapes[0] == ((10**10, 10**6), (4 * 10**10, 10**6), (4 * 10**10, 10**6), (10**10, 10**6))
    own = ideal(shapes[0], found.packets, found.bytes, found.framing[0])
    assert (path == 0).all()
    # The engine rounds each transmission to a picosecond.
    assert np.abs(own - found.ideal).max() < found.packets.max()


def test_a_cut_out_link_keeps_round_trips_and_rates() -> None:
    found = drawn(LEAF_SPINE)
    link = found.names.index(("leaf 0", "spine 0"))
    # Of messages that other links hold the first rate is another.
    (shape,) = (each for each in alone(found, link).shapes if each[0][0] == 10**10)
    assert [rate for rate, _ in shape] == [10**10, 4 * 10**10, 4 * 10**11]
    frame, ack = 1538, 78

    def trip(path: Any) -> float:
        return sum(2 * delay + (frame + ack) * 8e12 / rate for rate, delay in path)

    whole = paths._paths(found)[0][0]
    # A link's delay is a whole number of picoseconds, both ways.
    assert trip(shape) == pytest.approx(trip(whole), abs=4)


def test_acknowledgements_take_their_part_of_a_link() -> None:
    # Host 2 sends as much as it receives: its acknowledgements for 2 packets, of 40 B in 50 ms.
    found = drawn(star(3, flow(0, 2, 2), flow(2, 1, 2)))
    to_two = alone(found, found.names.index(("switch", "host 2")))
    resolved, _ = dt.check(to_two.scenario.text)
    # 2 x 40 B in 50 ms are 12.8 kbps.
    assert [each["rate"] for each in resolved["network"]["links"]] == ["1 Gbps", "999.9872 Mbps"]


def test_acknowledgements_come_when_a_long_message_does(tmp_path: Path) -> None:
    # While host 2 receives 400 packets it sends as many. Each of these is acknowledged with 40 B through the
    # link that the others arrive by, where a packet then has 1540 B of room.
    both = star(3, flow(0, 2, 400), flow(2, 1, 400))
    found = drawn(both)
    to_two = alone(found, found.names.index(("switch", "host 2")))
    resolved, _ = dt.check(to_two.scenario.text)
    assert resolved["network"]["links"][1]["rate"] == "1 Gbps"
    took = completion(both, tmp_path)[found.receiver == 2].item()
    run = dt.run(both).flows
    assert took == pytest.approx(run.filter(run["dst"] == 2)["fct_us"].item(), rel=0.005)
    assert took == pytest.approx(400 * PACKET * 1540 / 1500, rel=0.01)


def test_messages_of_a_sender_are_there_at_the_receiver_of_a_long_one() -> None:
    flows = [flow(0, 2, 400), flow(0, 1, 2000, "1 ms"), flow(0, 1, 2000, "40 ms"), flow(0, 1, 2, "2 ms")]
    source = star(3, *flows) | {"run": {"duration": "1 s"}}
    found = drawn(source)
    assert found.long[np.argsort(found.start)].tolist() == [True, True, False, True]
    # 4402 packets leave host 0, 400 are sent to host 2 and 4002 to host 1: the mean share of
    # their links that these take in a second.
    load = (4402 + 400 + 4002) / 3 * 12e-6
    longer = 1 + 2 * load / (1 - load)
    # The first takes 4.8 ms alone. The second and the short one begin in that time, and the third later. Of
    # the second there is what the link can carry until the first is through.
    rows = np.array([0])
    (second, short) = found.beside(rows, rows).tolist()
    until = longer * (400 * PACKET + PACKET + 10)
    assert second[:2] == [1, 10**9]
    assert second[2] == pytest.approx((until - 1000) * 125, abs=1)
    assert short == [2, 2 * 10**9, 2920]


def test_of_an_earlier_message_what_is_left_is_there() -> None:
    source = star(3, flow(0, 1, 1000), flow(0, 2, 4000, "6 ms")) | {"run": {"duration": "1 s"}}
    found = drawn(source)
    load = (5000 + 1000 + 4000) / 3 * 12e-6
    lasts = (1 + 2 * load / (1 - load)) * (1000 * PACKET + PACKET + 10)
    rows = np.array([1])
    ((message, start, size),) = found.beside(rows, rows)
    assert (message, start) == (0, 6 * 10**9)
    assert size == pytest.approx(1_460_000 * (1 - 6000 / lasts), abs=1)


def test_what_a_sender_makes_wait_is_not_added_between(tmp_path: Path) -> None:
    # Both messages of host 0 share its link, and cross the same two links between racks, which are four
    # times as fast and never full. Each takes twice its own time, and not three or four times.
    source = LEAF_SPINE | {
        "run": {"duration": "50 ms"},
        "network": LEAF_SPINE["network"] | {"spines": 1, "host_jitter": "0 s"},  # type: ignore[operator]
        "transport": {"name": "dctcp", "nic_limit": "2 packets"},
        "traffic": [{"name": "two", "pattern": "flows", "flows": [flow(0, 4, 400), flow(0, 5, 400)]}],
    }
    found = completion(source, tmp_path)
    assert found == pytest.approx(dt.run(source).flows["fct_us"].to_numpy(), rel=0.01)
    assert found == pytest.approx(2 * 400 * 1538 * 8e-4, rel=0.02)


def test_messages_of_one_sender_that_are_under_way_together() -> None:
    sender = np.array([0, 0, 0, 1, 1, 0])
    start = np.array([0, 10, 30, 5, 100, 70])
    took = np.array([25.0, 2.0, 20.0, 90.0, 5.0, np.inf])
    # Of host 0 the second starts before the first ends; the third after, and the last after that.
    assert paths._overlapping(sender, start, took).tolist() == [0, 1]
    assert paths._overlapping(sender, start, took * 2).tolist() == [0, 1, 2, 3, 4]


def test_a_long_message_waits_once_for_another_of_its_sender(tmp_path: Path) -> None:
    # They share the sender's link, packet by packet, and so each takes twice its own time but for a packet.
    # That wait is seen in the simulation of each receiver's link; with the sender's link added it would be
    # three times.
    both = star(3, flow(0, 1, 400), flow(0, 2, 400))
    both["transport"]["nic_limit"] = "2 packets"
    found = completion(both, tmp_path)
    assert found == pytest.approx(dt.run(both).flows["fct_us"].to_numpy(), rel=0.01)
    assert found == pytest.approx(2 * 400 * PACKET, rel=0.02)


def test_samples_tell_sources_apart() -> None:
    generator = np.random.default_rng(1)
    one, other = (np.sort(generator.exponential(1, 400)) for _ in range(2))
    assert not _differ(one, other)
    assert _differ(one, np.sort(generator.exponential(3, 400)))
    assert not _differ(one[:5], np.array([10.0, 20.0, 30.0]))


def test_unlike_traffic_is_not_one_kind() -> None:
    flows = [flow(4, 0, 1, f"{number * 100} us") for number in range(100)]
    flows += [flow(5, 1, 3, f"{number * 100} us") for number in range(100)]
    found = drawn(star(6, *flows))
    kinds = {tuple(found.names[link] for link in each.links): each.kind for each in clusters(found)}
    assert len(set(kinds.values())) == 4


def test_delays_are_drawn_by_size_and_per_packet() -> None:
    many = 300
    packets = np.repeat([1, 10, 100], many)
    per_packet = np.repeat([5.0, 7.0, 9.0], many)
    zeros = np.zeros(3 * many, dtype=int)
    samples = delays.Samples(zeros, zeros, zeros, packets, per_packet * packets)
    asked = np.array([1, 10, 9, 100, 5000])
    none = np.zeros(5, dtype=int)
    wanted = delays.Samples(none, none, none, asked, np.zeros(5))
    found = delays.draw(samples, wanted, np.random.default_rng(1))
    assert found.tolist() == [5.0, 70.0, 63.0, 900.0, 45000.0]


def test_a_cluster_without_samples_draws_from_its_kind() -> None:
    zeros = np.zeros(200, dtype=int)
    samples = delays.Samples(zeros, np.repeat([0, 1], 100), zeros, zeros + 1, np.repeat([3.0, 8.0], 100))
    one = np.ones(1, dtype=int)
    wanted = delays.Samples(one * 7, one, one * 0, one, one * 0.0)
    assert delays.draw(samples, wanted, np.random.default_rng(1)).tolist() == [8.0]


def test_a_smaller_network_keeps_its_loads() -> None:
    fan_in = {"name": "asks", "pattern": "fan-in", "parents": 8, "leaves": 3, "every": "1 ms", "size": "2 KB"}
    network = LEAF_SPINE["network"] | {"leaves": 64}  # type: ignore[operator]
    source = LEAF_SPINE | {"network": network, "traffic": [fan_in]}
    assert check.smaller(task(source), 2.0) == []
    assert check.smaller(task(source), 0.25) == ["network.leaves=16", "traffic.asks.parents=2"]
    # Hosts that are named are still to be there: less time instead.
    assert check.smaller(task(LEAF_SPINE), 0.25) == ["run.duration=1000000000 ps"]


def test_networks_whose_hosts_have_several_links_are_refused() -> None:
    limits.refuse_hosts(drawn(star(6, flow(0, 1, 1))), "here.toml")
    pairs = [{"from": 0, "to": 1}, {"from": 1, "to": 2}]
    for network in (
        {"topology": "rails", "servers": 2, "gpus": 2},
        {"topology": "custom", "hosts": 3, "switches": [], "links": pairs},
    ):
        source = star(6, flow(0, 1, 1)) | {"network": network | {"rate": "1 Gbps", "delay": "1 us"}}
        with pytest.raises(Unreadable, match=r"here.toml: network.topology: .* `duetime run`"):
            limits.refuse_hosts(drawn(source), "here.toml")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (("transport.name=d3",), "transport d3"),
        (("transport.name=homa",), "transport homa"),
        (('traffic.web={ name = "web", pattern = "long", from = 0, to = 1 }',), "class `web`"),
        (("run.engine=fluid",), "run.engine"),
    ],
)
def test_what_cannot_be_estimated_is_said(
    duetime: Command, small: Path, tmp_path: Path, changes: tuple[str, ...], words: str
) -> None:
    given = [part for change in changes for part in ("--set", change)]
    if "traffic.web" in changes[0]:
        small.write_text(
            SMALL.split('[[traffic]]\nname = "web"')[0]
            + '[[traffic]]\nname = "web"\npattern = "long"\nfrom = 0\nto = 1\n'
        )
        given = []
    answer = duetime("estimate", small, "--out", tmp_path / "out", *given)
    assert answer.returncode == 2
    assert answer.stderr.startswith("error: ")
    assert words in answer.stderr
    assert "Traceback" not in answer.stderr


def test_bursts_that_meet_twice_are_told() -> None:
    # Three senders behind one uplink of 10 Gbps ask more of it than it carries, and then of the receiver's
    # link.
    racks = {
        "title": "Meet twice",
        "profile": "classic",
        "run": {"duration": "4 ms"},
        "network": {
            "topology": "racks",
            "racks": 2,
            "hosts_per_rack": 6,
            "rate": "10 Gbps",
            "uplink": "10 Gbps",
            "delay": "1 us",
        },
        "transport": {"name": "dctcp"},
        "traffic": [
            {"name": "asks", "pattern": "fan-in", "leaves": 8, "every": "1 ms", "size": "2 KB", "parents": 1}
        ],
    }
    (said,) = limits.warnings(drawn(racks))
    assert "class `asks`: correlated incast" in said
    one_switch = star(9) | {"traffic": racks["traffic"]}
    assert list(limits.warnings(drawn(one_switch))) == []


def test_messages_that_wait_for_a_connection_are_told() -> None:
    source = star(3, flow(0, 1))
    source["traffic"][0]["connections"] = "persistent"
    (said,) = limits.warnings(drawn(source))
    assert "connections that stay open" in said


def test_figures_leave_out_what_is_not_decided() -> None:
    frame = dt.run(star(3, flow(0, 2, 5, deadline="1 us"), flow(1, 2, 5, deadline="10 ms"))).flows
    found = summary.figures(frame)
    assert found["summary"]["missed_percent"] == 50.0
    assert found["summary"]["messages"] == 2
    assert sum(each["messages"] for each in found["sizes"]) == 2
    half = summary.errors(
        found["summary"], found["summary"] | {"slowdown": {"p50": 1.0, "p99": None}, "missed_percent": 40.0}
    )
    assert half["missed_points"] == 10.0
    assert half["slowdown_p99_percent"] is None


def test_the_command_says_what_it_estimates_and_how_far_it_is(
    duetime: Command, small: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    answer = duetime("estimate", small, "--always", "--out", out, "--jobs", "1", "--json")
    assert answer.returncode == 0, answer.stderr
    data = json.loads(answer.stdout)
    assert data["method"] == "links"
    assert data["check"]["set"] == []
    full = dt.run(small)
    assert data["check"]["full"]["summary"]["missed_percent"] == pytest.approx(full.summary["missed_percent"])
    kept = sorted(path.name for path in (out / "runs").rglob("*"))
    shown = duetime("estimate", small, "--always", "--out", out)
    said = " ".join(shown.stdout.split())
    assert "Corrected by a full run of the whole, from which the links' sum is off by: slowdown p50 " in said
    assert "A full run would cost less than this estimate" in said
    assert sorted(path.name for path in (out / "runs").rglob("*")) == kept
    # Pictures and a report are in the folder, and do not keep an estimate from being made again.
    pictures = duetime("plot", out)
    assert {Path(line).name for line in pictures.stdout.split()} == {
        f"{name}.{kind}" for name in ("estimate", "estimate-check") for kind in ("png", "svg")
    }
    assert duetime("report", out).returncode == 0
    read = dt.load(out)
    assert read.data == {key: value for key, value in data.items() if not key.startswith("cpu_")}
    messages = dt.estimate(small, out=out, budget=0, always=True)
    assert messages.data["check"] is None
    assert messages.data["ranges"] is None
    assert any("not held against a full run" in each for each in messages.data["warnings"])
    assert messages.data["summary"] == data["check"]["estimated"]["summary"]


def test_a_report_shows_an_estimate_beside_the_full_run(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    found = dt.estimate(tmp_path / "small.toml", out=tmp_path / "out", always=True).data
    whole, held = experiments(tmp_path / "out")
    titles = ["Missed deadlines", "Slowdown, median", "Slowdown, 99th percentile"]
    assert [chart.title for chart in whole.charts] == titles
    estimate, full = held.charts[2].series
    assert (estimate.name, full.name) == ("estimate", "full run")
    group = found["check"]["full"]["sizes"][0]
    assert (full.points[0].x, full.points[0].y) == (f"{group['up_to']:,}", group["slowdown"]["p99"])
    (tmp_path / "out" / "estimate.json").write_text("{}")
    with pytest.raises(Damaged, match="differs from its checksum"):
        experiments(tmp_path / "out")
    (tmp_path / "out" / manifest.NAME).unlink()
    with pytest.raises(NoReport, match="is not what `duetime estimate` writes"):
        experiments(tmp_path / "out")


def test_fewer_links_are_simulated_where_delays_differ_little() -> None:
    # Four hosts send 100 messages each to four others: all links of a place are alike.
    flows = [flow(host, 4 + host, 1, f"{many * 100 + host} us") for host in range(4) for many in range(100)]
    found = drawn(star(8, *flows))
    chosen = clusters(found, samples=200, loads=1)
    # 200 of 400 messages at receivers, and half of that at senders.
    simulated = {found.names[each.links[0]][0].split()[0]: len(each.simulated) for each in chosen}
    assert simulated == {"host": 1, "switch": 2}


def test_every_message_has_a_row(tmp_path: Path) -> None:
    asked = task(SMALL)
    links, messages = of_links(asked, Runs(tmp_path, 1, False))
    assert links["simulated"] > 0
    run = dt.run(SMALL).flows.filter("counted")
    for column in ("class", "src", "dst", "bytes"):
        assert messages[column].to_list() == run[column].to_list()
    assert messages["deadline_us"].to_list() == pytest.approx(run["deadline_us"].to_list())


def test_a_run_that_costs_less_is_made_instead(duetime: Command, small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = duetime("estimate", small, "--out", out, "--json")
    assert answer.returncode == 0, answer.stderr
    data = json.loads(answer.stdout)
    assert data["method"] == "run"
    assert data["cost"]["run"] <= data["cost"]["links"] + data["cost"]["check"]
    full = summary.figures(dt.run(small).flows.filter("counted"))
    assert {key: data[key] for key in full} == full
    shown = duetime("estimate", small, "--out", out)
    assert "This is a full run, whose figures have no error" in " ".join(shown.stdout.split())
    (whole,) = experiments(out)
    assert whole.facts["links simulated"] == "none: a full run"


def fat_tree(**run: Any) -> dict[str, Any]:
    """Issue 33's fat-tree: drop-tail of 100 KB, CUBIC, short messages with deadlines beside web search."""
    return {
        "title": "Drop-tail",
        "run": {"duration": "15 ms", "warm_up": "2 ms", "seed": 4, "cool_down": "1 s", **run},
        "network": {
            "topology": "fat-tree",
            "k": 6,
            "rate": "10 Gbps",
            "delay": "2 us",
            "buffer": "100 KB",
            "sharing": "per-port",
        },
        "transport": {"name": "cubic", "nic_limit": "2 packets"},
        "traffic": [
            {"name": "w", "pattern": "poisson", "load": 0.3, "size": "cdf(websearch)"},
            {
                "name": "ask",
                "pattern": "poisson",
                "load": 0.05,
                "size": "uniform(2 KB, 30 KB)",
                "deadline": "1 ms",
            },
        ],
    }


def test_a_fat_tree_with_drop_tail_costs_less_as_a_run() -> None:
    asked = task(fat_tree(duration="60 ms", warm_up="5 ms"))
    found = traffic.of(asked.resolved, asked.read, asked.changes, asked.seed)
    cost = estimate._cost(found.packet_hops, paths.cut_out(found), 0)
    assert cost["check"] == 0
    assert cost["run"] < cost["links"]


def two_at_an_uplink(**more: Any) -> dict[str, Any]:
    """Two long messages over one uplink of their hosts' rate, to hosts of another rack."""
    flows = [flow(0, 4, 400), flow(1, 5, 400)]
    return LEAF_SPINE | {
        "run": {"duration": "50 ms"},
        "network": LEAF_SPINE["network"] | {"spines": 1, "uplink": "10 Gbps", "host_jitter": "0 s"},  # type: ignore[operator]
        "transport": {"name": "dctcp", "nic_limit": "2 packets"},
        "traffic": [{"name": "two", "pattern": "flows", "flows": flows}],
        **more,
    }


def test_a_message_is_held_by_its_slowest_link_and_not_there() -> None:
    found = drawn(two_at_an_uplink())
    assert found.long.all()
    # The uplink and the downlink have 10 Gbps for both, and one of them counts as the slowest.
    shares = found.shares.reshape(2, 4)
    assert shares[0] == pytest.approx([10e9, 5e9, 5e9, 10e9], rel=0.01)
    for own, up, down, receivers in found.held.reshape(2, 4).tolist():
        assert own == receivers == 5 * 10**9
        assert sorted((up, down)) == [5 * 10**9, traffic.NOT_HELD]


def test_messages_that_share_two_links_wait_at_one(tmp_path: Path) -> None:
    # Each takes twice its own time, and not three times.
    source = two_at_an_uplink()
    found = completion(source, tmp_path)
    run = dt.run(source).flows["fct_us"].to_numpy()
    assert found == pytest.approx(run, rel=0.1)
    assert found == pytest.approx(2 * 400 * 1538 * 8e-4, rel=0.1)


def test_the_others_on_a_link_as_a_mean_over_time() -> None:
    link, start = np.array([0, 0, 1]), np.array([0.0, 5.0, 0.0])
    lasts, amount = np.array([10.0, 20.0, 10.0]), np.array([1.0, 3.0, 7.0])
    # They are together from 5 to 10: half of the first's time, a quarter of the second's.
    assert traffic._beside_each(link, start, lasts, amount) == pytest.approx([1.5, 0.25, 0.0])


def test_of_timeouts_at_several_links_one_counts() -> None:
    found = drawn(star(3, flow(0, 2), flow(1, 2)))
    waits = np.array([25e9, 1e6, 30e9, 21e9])
    assert paths._added(found, waits).tolist() == [25e9 + 1e6, 30e9]


def a_table(slowdown: list[float | None], deadline: float | None = None) -> pl.DataFrame:
    many = len(slowdown)
    took = [None if each is None else each * 10.0 for each in slowdown]
    return pl.DataFrame(
        {
            "class": ["a"] * many,
            "bytes": [1000] * many,
            "fct_us": took,
            "ideal_fct_us": [10.0] * many,
            "slowdown": slowdown,
            "deadline_us": pl.Series([deadline] * many, dtype=pl.Float64),
            "missed": pl.Series([None] * many, dtype=pl.Boolean),
        }
    )


def test_an_estimate_is_corrected_by_the_ratio_at_its_place() -> None:
    dice = np.random.default_rng(1)
    beyond = dice.exponential(5.0, 1000) + 1.0
    # The links' sum gave twice what the run gave, beyond the ideal time.
    estimated, full = a_table((1 + 2 * beyond).tolist()), a_table((1 + beyond).tolist())
    other = np.sort(dice.exponential(5.0, 400) + 1.0)
    found = correct.corrected(a_table((1 + 2 * other).tolist(), deadline=60.0), estimated, full)
    slowdown = found["slowdown"].to_numpy()
    assert slowdown[:380] == pytest.approx(1 + other[:380], rel=0.05)
    # The largest, of which chance decides, are corrected as those below them.
    assert (slowdown[380:] < 1 + 2 * other[380:]).all()
    assert found["missed"].to_list() == (found["fct_us"] > 60.0).to_list()
    assert 0 < found["missed"].sum() < 400


def test_what_did_not_arrive_in_the_check_does_not_count_as_a_time() -> None:
    slow: list[float | None] = [float(each) for each in range(2, 202)]
    full = a_table([*slow[:-10], *[None] * 10])
    found = correct.corrected(a_table(slow), a_table(slow), full)
    assert found["slowdown"].to_list() == pytest.approx(slow, rel=1e-9)


def test_ranges_by_hand() -> None:
    part = {"messages": 400, "missed_percent": 25.0, "slowdown": {"p50": 2.0, "p99": 10.0}}
    check = {
        "dropped": 0.01,
        "estimated": {"summary": part | {"missed_percent": 50.0}, "classes": {}},
        "full": {"summary": part, "classes": {}},
    }
    found = ranges.of({"summary": part, "classes": {"a": part}}, check)
    # Arc sines: 30 and 45 degrees; half of the range from the check's error, its chance and its drops.
    scale = ranges.SCALES["missed_percent"]
    parts = (scale.own, scale.check * np.pi / 12, scale.chance * 0.5 / 20, scale.drops * 0.1)
    half = scale.times * np.sqrt(sum(each**2 for each in parts))
    assert found["summary"]["missed_percent"] == pytest.approx(
        [100 * np.sin(max(np.pi / 6 - half, 0)) ** 2, 100 * np.sin(np.pi / 6 + half) ** 2]
    )
    low, high = found["summary"]["slowdown_p50"]
    assert low == max(4.0 / high, 1.0)
    # The check has none of this class.
    assert found["classes"]["a"] == dict.fromkeys(ranges.NAMES)


def test_a_percentile_of_few_messages_has_no_range() -> None:
    part = {"messages": 50, "missed_percent": 25.0, "slowdown": {"p50": 2.0, "p99": 10.0}}
    assert ranges.known("slowdown_p99", part, part) is None
    assert ranges.known("slowdown_p50", part, part) == (0.0, pytest.approx(50**-0.5))


def test_no_range_where_none_was_calibrated() -> None:
    found = drawn(star(3, flow(0, 1)))
    full = a_table([2.0] * 200)
    held = check.Held([], full, full, 1, 0.0)
    (said,) = limits.outside(found, held)
    assert "hosts queue all that the windows of dctcp allow" in said
    bounded = star(3, flow(0, 1)) | {"transport": {"name": "dctcp", "nic_limit": "2 packets"}}
    assert list(limits.outside(drawn(bounded), held)) == []
    lossy = replace(held, dropped=0.2)
    assert [each for each in limits.outside(drawn(bounded), lossy) if "dropped 20.0 %" in each]
    few = replace(held, full=full.head(20))
    assert [each for each in limits.outside(drawn(bounded), few) if "20 messages" in each]


@pytest.fixture
def coverage(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """`bench/coverage.py`, which measured the networks of the record."""
    monkeypatch.syspath_prepend(BENCH)
    spec = importlib.util.spec_from_file_location("bench_coverage", BENCH / "coverage.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_ranges_hold_for_nine_of_ten_networks_that_were_drawn(coverage: ModuleType) -> None:
    """None of this set was used to calibrate."""
    lines = coverage.by_profile(coverage._lines([]), coverage.TEST)["datacenter"]
    tested = [each for each in lines if coverage.has_ranges(each)]
    assert len([each for each in tested if each["set"] == "datacenter-test"]) >= 20
    assert len({each["topology"] for each in tested}) == 5
    assert {"cubic", "hull", "xdctcp"} <= {each["transport"] for each in tested}
    assert sum(map(coverage.holds, tested)) >= limits.LEVEL * len(tested)


def test_the_coverage_that_warnings_tell_is_that_of_the_record(coverage: ModuleType) -> None:
    told = json.loads(limits.COVERAGE.read_text("utf-8"))
    assert told == coverage.record_of(coverage._lines([]))
    (page,) = re.findall(
        r"In (\d+) of (\d+) test networks", (ROOT / "docs" / "estimate.md").read_text("utf-8")
    )
    assert page == (str(told["datacenter"]["held"]), str(told["datacenter"]["tested"]))


def test_what_was_calibrated_is_what_is_fitted(coverage: ModuleType) -> None:
    groups = coverage.by_profile(coverage._lines([]), coverage.CALIBRATION)
    assert groups.keys() == {"classic", "datacenter"}
    stated = [[each for each in kept if coverage.has_ranges(each)] for kept in groups.values()]
    for figure in ranges.NAMES:
        assert coverage.fitted(figure, stated) == ranges.SCALES[figure]


def test_ranges_that_hold_too_seldom_are_warned_of() -> None:
    coverage = {
        "classic": {"calibrated": 30, "tested": 20, "held": 20},
        "datacenter": {"calibrated": 40, "tested": 20, "held": 18},
    }
    assert list(limits._untested("datacenter", coverage)) == []
    assert list(limits._untested("classic", coverage)) == []
    (said,) = limits._untested("linux", coverage)
    assert said == "ranges were calibrated with the profiles classic and datacenter, and not with linux"
    coverage["datacenter"]["held"] = 17
    (said,) = limits._untested("datacenter", coverage)
    assert said == "ranges: with the profile datacenter they held in 17 of 20 networks, not nine of ten"


def test_the_figures_of_a_network_are_a_row_and_one_for_each_class(
    coverage: ModuleType, tmp_path: Path
) -> None:
    def figures(messages: int, **classes: int) -> dict[str, Any]:
        def part(many: int) -> dict[str, Any]:
            return {"messages": many, "missed_percent": 1.5, "slowdown": {"p50": 2.0, "p99": None}}

        return {"summary": part(messages), "classes": {name: part(many) for name, many in classes.items()}}

    network = {
        **{"version": "0.1.0", "set": "classic-test", "number": 3, "topology": "star", "transport": "tcp"},
        **{"pattern": "fan-in", "share": 0.166667, "full": figures(30, a=10, b=20)},
        **{"links": figures(30, a=10, b=20), "corrected": figures(30, a=10, b=20)},
        "check": {"dropped": 0.01, "estimated": figures(5, a=5), "full": figures(6, a=5, b=1)},
    }
    table = tmp_path / "table.csv"
    coverage.append(table, network)
    coverage.append(table, network | {"number": 4, "note": "by hand"})
    head, *rows = table.read_text("utf-8").splitlines()
    assert head.startswith(
        "version,set,number,topology,transport,pattern,share,dropped,note,class,full_messages"
    )
    assert rows[0].startswith("0.1.0,classic-test,3,star,tcp,fan-in,0.166667,0.01,,,30,1.5,2.0,,30,1.5,2.0,,")
    assert rows[2].endswith(",20,1.5,2.0,,,,,,1,1.5,2.0,")
    assert [row.split(",")[9] for row in rows] == ["", "a", "b"] * 2
    assert coverage._lines([str(table)]) == [network, network | {"number": 4, "note": "by hand"}]
