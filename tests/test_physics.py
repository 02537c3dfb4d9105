"""Laws of the physics: queues, shares and deadlines against results derived by hand.

Durations are shortened where a claim does not need the whole run. Where a number has a tolerance, its reason
is beside it.
"""

import json
import math
import tomllib
from statistics import mean
from typing import Any

import polars as pl
import pytest

import duetime as dt
from conftest import SCENARIOS, Command

#: Payload of a full packet and what it takes on the wire.
MSS, WIRE, ACK = 1460, 1500, 40


def scenario(name: str) -> dict[str, Any]:
    return tomllib.loads((SCENARIOS / f"{name}.toml").read_text(encoding="utf-8"))


def without_deadlines(name: str, duration: str) -> dict[str, Any]:
    """A scenario with all deadlines taken out."""
    changed = scenario(name)
    changed["run"]["duration"] = duration
    for entry in changed["traffic"]:
        entry.pop("deadline", None)
        for flow in entry.get("flows", []):
            flow.pop("deadline", None)
    return changed


# ------------------------------------------------------------------------------------------ conservation


@pytest.mark.parametrize(
    ("name", "duration"),
    [
        ("custom", "60 ms"),
        ("four-flows", "100 ms"),
        ("incast", "200 ms"),
        ("large-messages", "1 s"),
        ("mixed", "60 ms"),
        ("oldi", "260 ms"),
        ("oldi-background", "260 ms"),
        ("tree", "60 ms"),
        ("w1", "100 ms"),
        ("w2", "50 ms"),
        ("w3", "60 ms"),
        ("xdctcp", "100 ms"),
        ("all-reduce", "10 ms"),
        ("rails", "1 ms"),
        ("rpc", "5 ms"),
        ("serving", "120 ms"),
        ("websearch", "5 ms"),
    ],
)
@pytest.mark.parametrize("transport", ["tcp", "tcppr", "cubic", "dctcp", "d2tcp", "xdctcp", "d3", "rcpdc"])
def test_packets_are_conserved(name: str, duration: str, transport: str) -> None:
    changes = {"run.duration": duration, "run.warm_up": "0 s"}
    run = dt.run(SCENARIOS / f"{name}.toml", transport=transport, set=changes)
    packets = run.data["packets"]
    assert packets["sent"] == packets["received"] + run.data["drops"] + packets["in_flight"]
    assert 0 < run.data["packets_delivered"] <= packets["received"]
    # The same from the other side: packets carried by links. No packet arrives that was not sent.
    received = run.links.filter(pl.col("dst").str.starts_with("host"))["packets"].sum()
    assert packets["received"] <= received
    # Hosts of rails pass packets on.
    assert name == "rails" or received <= packets["received"] + packets["in_flight"]


def test_every_example_is_among_those_above() -> None:
    (names,) = (mark.args[1] for mark in test_packets_are_conserved.pytestmark if "name" in mark.args[0])  # type: ignore[attr-defined]
    assert {name for name, _ in names} == {path.stem for path in SCENARIOS.glob("*.toml")}


def test_what_is_lost_is_sent_again_and_arrives() -> None:
    queries, answers, packets_each, buffer = 20, 40, 10, 20
    run = dt.run(
        SCENARIOS / "incast.toml",
        set={
            "run.duration": "20 s",
            "network.sharing": "per-port",
            "network.buffer": f"{buffer} packets",
            "traffic.queries.count": queries,
        },
    )
    packets = run.data["packets"]
    # The first windows of a query, whole answers, leave their hosts within 100 us of jitter and the time of
    # ten packets, and are up to one more late. What the port neither sends in that time nor holds is lost.
    arriving_us = 100 + (packets_each + 1) * 12
    lost = answers * packets_each - buffer - math.ceil(arriving_us / 12) - 1
    assert run.data["drops"] >= queries * lost
    # Each data packet that was lost was sent again; only some that arrived were too.
    assert run.data["retransmits"] >= run.data["drops"]
    assert packets["sent"] == packets["received"] + run.data["drops"] + packets["in_flight"]
    assert (run.summary["completed"], packets["in_flight"]) == (queries * answers, 0)


# ------------------------------------------------------------------------------------------ W1: the floor


@pytest.mark.parametrize(("flows", "floor"), [(40, 2), (40, 3), (25, 2), (60, 1)])
def test_windows_on_the_floor_fill_the_queue_that_arithmetic_says(flows: int, floor: int) -> None:
    # Every window is at the floor, so flows x floor packets are in the network. Packets that are not in the
    # queue are under way: the bandwidth-delay product. A round trip without waiting takes
    #   4 x 20 us (links) + 2 x 12 us (1500 B at 1 Gbps, NIC and switch) + 2 x 0.32 us (ACK) = 104.64 us
    # and on average half a packet of jitter, 6 us. The port sends a packet every 12 us: 9.22 packets are
    # under way. The rest waits.
    per_packet = WIRE * 8 / 1e9
    round_trip = 4 * 20e-6 + 2 * per_packet + 2 * ACK * 8 / 1e9 + per_packet / 2
    expected = flows * floor - round_trip / per_packet
    run = dt.run(
        SCENARIOS / "w1.toml",
        set={
            "run.duration": "1 s",
            "run.warm_up": "200 ms",
            "transport.cwnd_floor": floor,
            "network.hosts": flows + 1,
            "traffic.long.from": f"0..{flows}",
            "traffic.long.to": flows,
        },
    )
    assert run.data["drops"] == 0
    assert run.data["busiest_queue"]["dst"] == f"host {flows}"
    # The floor is the only state. A packet that leaves while the next arrives is counted in one place or the
    # other: a tenth of a packet in the mean.
    assert run.data["busiest_queue"]["mean"] == pytest.approx(expected, abs=0.1)
    # The port is never idle: to a packet at either end of 0.8 s.
    assert run.summary["goodput_mbps"] == pytest.approx(1000 * MSS / WIRE, abs=2 * MSS * 8 / 0.8e6)


# ------------------------------------------------------------------------------------------ W2: the sawtooth


def sawtooth(flows: int, mark: int) -> dict[str, Any]:
    run = dt.run(
        SCENARIOS / "w2.toml",
        set={
            "run.duration": "500 ms",
            "run.warm_up": "100 ms",
            "network.hosts": flows + 1,
            "network.mark": f"{mark} packets",
            "traffic.long.from": f"0..{flows}",
            "traffic.long.to": flows,
        },
    )
    # The port is never idle: to a packet at either end of 0.4 s.
    assert run.summary["goodput_mbps"] == pytest.approx(10_000 * MSS / WIRE, abs=2 * MSS * 8 / 0.4e6)
    return dict(run.data["busiest_queue"])


def test_the_queue_of_w2() -> None:
    queue = sawtooth(8, 65)
    assert queue["p99"] <= 65 + 8 + 1
    assert queue["p5"] >= 45
    assert 55 <= queue["mean"] <= 65


@pytest.mark.parametrize(
    ("flows", "mark"), [(2, 65), (4, 65), (8, 40), (8, 65), (8, 100), (12, 65), (16, 65), (20, 65)]
)
def test_the_queue_follows_the_analysis_of_dctcp(flows: int, mark: int) -> None:
    # SIGCOMM 2010, 3.3: N synchronised flows reach Q = K + N. Alpha is about sqrt(2 / W*) with
    # W* = (C RTT + K) / N, and a cut takes W* alpha / 2 from each.
    # So the queue swings by A = sqrt(2 N (C RTT + K)) / 2, between K + N - A and K + N.
    # A saw's mean is in its middle. Tolerances: the flows are not quite synchronised, which the analysis
    # neglects; it costs more the more there are (W* falls to 7 at N = 20). A packet each way at K + N, as
    # marks are counted in whole packets.
    bandwidth_delay = (4 * 25e-6 + 2 * WIRE * 8 / 10e9) * 10e9 / (WIRE * 8)
    swing = math.sqrt(2 * flows * (bandwidth_delay + mark)) / 2
    top = mark + flows
    queue = sawtooth(flows, mark)
    assert top - 3 <= queue["p99"] <= top + 1
    assert queue["p5"] == pytest.approx(top - swing, abs=4 + flows / 4)
    assert queue["mean"] == pytest.approx(top - swing / 2, abs=2 + flows / 4)


def test_the_flows_of_w2_get_equal_shares() -> None:
    run = dt.run(SCENARIOS / "w2.toml")
    sent = run.links.filter(pl.col("src").str.starts_with("host") & (pl.col("src") != "host 8"))["bytes"]
    assert len(sent) == 8
    # Over 5 s they are 2.7 % from their mean at most; over five link delays up to 3.3 %.
    assert all(share == pytest.approx(1, abs=0.04) for share in sent / sent.mean())


def test_the_queue_moves_with_k() -> None:
    low, high = (sawtooth(8, mark)["mean"] for mark in (40, 100))
    assert high - low == pytest.approx(60, abs=5)


# ------------------------------------------------------------------------------------------ xDCTCP


DCTCP, BEST = (0.0625, 0.5, 0.5), (0.095, 0.4, 1.0)


def study(point: tuple[float, float, float]) -> tuple[float, float]:
    """Mean delay of flows 0 to 4 in us, mean throughput of flows 5 to 7 in Mbps."""
    keys = dict(zip(("transport.g", "transport.ns", "transport.nl"), point, strict=True))
    run = dt.run(SCENARIOS / "xdctcp.toml", set=keys)
    delay = {name: run.classes[name]["bottleneck_delay_us"] for name in ("query", "short")}
    return (2 * delay["query"] + 3 * delay["short"]) / 5, run.classes["long"]["bottleneck_mbps"] / 3


def test_the_published_points_of_xdctcp() -> None:
    (before, before_mbps), (after, after_mbps) = study(DCTCP), study(BEST)
    assert before == pytest.approx(73.80, rel=0.01)
    assert after == pytest.approx(69.03, rel=0.01)
    # The study did not count the last 10 ms of its second, so ours are 1 % higher.
    assert before_mbps == pytest.approx(2690.26 / 0.99, rel=0.002)
    assert after_mbps == pytest.approx(2689.97 / 0.99, rel=0.002)
    # Published: 6.46. Over link delays of 24.6 to 25.4 us ours are 6.5 to 7.3.
    assert 6 <= 100 * (1 - after / before) <= 8


def test_the_long_flows_of_xdctcp_get_all_that_the_others_leave() -> None:
    # From 50 ms on the port is busy. Query: 8 packets a message, messages every ms from 50 and from 55 ms.
    # Short: 351 packets every 10 ms from 60, 65 and 70 ms.
    query = (950 + 945) * (10_240 + 8 * 40)
    short = (94 + 94 + 93) * (512_000 + 351 * 40)
    _, mbps = study(DCTCP)
    # In the first 0.5 ms the first long flow is alone and still growing; a queue's worth arrives ahead.
    assert mbps == pytest.approx((10_000 * 0.95 - (query + short) * 8 / 1e6) / 3, rel=0.002)


def test_the_point_half_half_of_xdctcp_is_dctcp_with_the_same_growth() -> None:
    keys = {"run.duration": "200 ms", "transport.grow_on_echo": "never", "transport.growth_steps": "per-ack"}
    points = {f"transport.{name}": 0.5 for name in ("ns", "nl")} | {"transport.g": 0.0625}
    one = dt.run(SCENARIOS / "xdctcp.toml", set=keys | points)
    other = dt.run(SCENARIOS / "xdctcp.toml", transport="dctcp", set=keys | {"transport.g": 0.0625})
    assert one.data["marks"] > 100
    assert one.classes == other.classes


# ------------------------------------------------------------------------------------------ D2TCP is DCTCP


@pytest.mark.parametrize(
    ("name", "duration", "deadlines_matter"),
    [
        ("four-flows", "200 ms", True),
        ("large-messages", "2 s", True),
        ("mixed", "80 ms", True),
        # Everything is marked and every window on the floor: alpha = 1, and 1 to the power of d is 1.
        ("incast", "300 ms", False),
    ],
)
def test_without_deadlines_d2tcp_is_dctcp(name: str, duration: str, deadlines_matter: bool) -> None:
    plain = without_deadlines(name, duration)
    one, other = (dt.run(plain, transport=transport) for transport in ("dctcp", "d2tcp"))
    assert one.data["marks"] > 0
    names = {"transport": "", "wall_s": 0}
    assert one.data | names == other.data | names
    assert one.flows.equals(other.flows)
    assert one.trace.filter(pl.col("what") != "d").equals(other.trace.filter(pl.col("what") != "d"))
    assert (other.trace.filter(pl.col("what") == "d")["value"] == 1).all()
    # With deadlines they differ, or the above would say nothing.
    changes = {"run.duration": duration}
    first, second = (
        dt.run(SCENARIOS / f"{name}.toml", transport=transport, set=changes)
        for transport in ("dctcp", "d2tcp")
    )
    assert first.flows.equals(second.flows) != deadlines_matter


# ------------------------------------------------------------------------------------------ figure 6


FIGURE_6_DELAYS = (24.6, 25.0, 25.4)


def figure_6(transport: str, rate: str, delay: float) -> dt.Result:
    changes = {"network.bottleneck": rate, "network.delay": f"{delay} us"}
    return dt.run(SCENARIOS / "four-flows.toml", transport=transport, set=changes)


def test_figure_6_of_d2tcp() -> None:
    runs = {
        (transport, delay): figure_6(transport, "4.2 Gbps", delay)
        for transport in ("dctcp", "d2tcp")
        for delay in FIGURE_6_DELAYS
    }
    times = {key: run.flows.sort("src")["fct_us"].to_list() for key, run in runs.items()}
    for delay in FIGURE_6_DELAYS:
        plain, aware = runs["dctcp", delay], runs["d2tcp", delay]
        assert plain.data["drops"] == aware.data["drops"] == 0
        # DCTCP: equal shares until the first has finished, so the near deadlines are missed.
        early = plain.trace.filter((pl.col("what") == "throughput") & (pl.col("time_s") < 1))
        shares = early.group_by("src").agg(pl.col("value").sum())["value"]
        assert len(shares) == 4
        assert all(share == pytest.approx(0.25, abs=0.02) for share in shares / shares.sum())
        assert plain.flows.sort("src")["missed"].to_list() == [True, True, False, False]
        # D2TCP brings the second to its deadline of 1500 ms, within half a percent: it ends at 1491 to 1504.
        assert times["d2tcp", delay][1] <= 1.005 * 1500e3
        assert aware.flows.sort("src")["missed"].to_list()[2:] == [False, False]
    assert not runs["d2tcp", 25.0].flows.sort("src")["missed"][1]
    change = [
        mean(times["d2tcp", delay][flow] / times["dctcp", delay][flow] - 1 for delay in FIGURE_6_DELAYS)
        for flow in range(4)
    ]
    assert change[0] < -0.05
    assert change[1] < -0.03
    assert change[2] == pytest.approx(0, abs=0.03)
    assert change[3] == pytest.approx(0, abs=0.005)
    # And the last has long been alone after 2200 ms.
    assert all(flows[2] < 2.2e6 for flows in times.values())


def test_figure_6_at_the_stated_10_gbps_has_no_misses() -> None:
    for transport in ("dctcp", "d2tcp"):
        run = figure_6(transport, "10 Gbps", 25.0)
        # 1220 MB of payload at 10 Gbps of wire.
        assert run.summary["fct_us"]["max"] == pytest.approx(1220e6 * 8 / 1e4 * WIRE / MSS, rel=0.01)
        assert run.summary["missed"] == 0
        # Equal shares, though all links have the same rate and packets arrive at the same instant.
        early = run.trace.filter((pl.col("what") == "throughput") & (pl.col("time_s") < 0.45))
        shares = early.group_by("src").agg(pl.col("value").sum())["value"]
        assert all(share == pytest.approx(0.25, abs=0.02) for share in shares / shares.sum())


# ------------------------------------------------------------------------------------------ deadlines


def misses(name: str, transport: str, seed: int, **changes: object) -> float:
    run = dt.run(SCENARIOS / f"{name}.toml", transport=transport, seed=seed, set=changes)
    assert run.summary["with_deadline"] > 0
    return float(run.summary["missed_percent"])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_d2tcp_misses_far_fewer_large_answers_than_dctcp(seed: int) -> None:
    plain = misses("large-messages", "dctcp", seed)
    assert plain > 5
    assert misses("large-messages", "d2tcp", seed) <= 0.3 * plain


def test_when_no_order_helps_the_advantage_is_gone() -> None:
    # The burst needs 1.4 times the base deadline.
    base = {"traffic.answers.deadline.base": "35 ms", "run.duration": "10 s"}
    plain, aware = (misses("large-messages", name, 1, **base) for name in ("dctcp", "d2tcp"))
    assert plain > 40
    assert aware > 0.7 * plain


@pytest.mark.parametrize("transport", ["tcp", "dctcp", "d2tcp"])
def test_nobody_misses_when_the_pool_holds_the_burst(transport: str) -> None:
    run = dt.run(SCENARIOS / "incast.toml", transport=transport)
    # 40 answers of 14 KB at 1 Gbps take 4.6 ms; the deadline is 20 ms or more. Nothing is lost.
    assert run.data["drops"] == run.data["timeouts"] == 0
    assert run.summary["with_deadline"] > 1000
    assert run.summary["missed"] == 0
    burst_us = 40 * (14_000 + 10 * 40) * 8 / 1e3
    assert burst_us * 0.95 < run.summary["fct_us"]["max"] < burst_us * 1.1


def test_many_miss_when_a_small_buffer_loses_the_burst() -> None:
    small = {"network.sharing": "per-port", "network.buffer": "50 KB"}
    run = dt.run(SCENARIOS / "incast.toml", set=small)
    assert run.data["drops"] > 0
    assert run.data["timeouts"] > 0
    assert run.summary["missed_percent"] > 5


@pytest.mark.parametrize(
    ("rate", "mark", "size", "relaxed"), [(1, 65, 10, 5), (1, 65, 30, 7), (10, 65, 30, 5), (10, 20, 30, 9)]
)
def test_an_urgent_message_is_nearly_twice_as_fast(rate: int, mark: int, size: int, relaxed: int) -> None:
    alone_ms = size * 8 / rate * WIRE / MSS
    message = {"to": relaxed + 1, "size": f"{size} MB"}
    factors = []
    for start in (0, 111, 503, 2000):
        plan = {
            "title": "One in a hurry",
            "profile": "classic",
            "run": {"duration": f"{2 * (relaxed + 1) * alone_ms} ms"},
            "network": {
                "topology": "star",
                "hosts": relaxed + 2,
                "rate": f"{rate} Gbps",
                "delay": "20 us",
                "buffer": "4 MB",
                "sharing": "per-port",
                "mark": f"{mark} packets",
            },
            "transport": {"name": "d2tcp"},
            "traffic": [
                {
                    "name": "urgent",
                    "pattern": "flows",
                    "flows": [
                        message | {"from": 0, "start": f"{start} us", "deadline": f"{2.2 * alone_ms} ms"}
                    ],
                },
                {
                    "name": "relaxed",
                    "pattern": "flows",
                    "flows": [
                        message
                        | {
                            "from": f"1..{relaxed + 1}",
                            "start": "index * 10 us",
                            "deadline": f"{20 * alone_ms} ms",
                        }
                    ],
                },
            ],
        }
        plain, aware = (dt.run(plan, transport=transport) for transport in ("dctcp", "d2tcp"))
        assert plain.summary["unfinished"] == aware.summary["unfinished"] == 0
        assert plain.data["drops"] == aware.data["drops"] == 0
        factors.append(plain.summary["fct_us"]["mean"] / aware.classes["urgent"]["fct_us"]["mean"])
        # Nothing can be faster than alone.
        assert aware.classes["urgent"]["fct_us"]["mean"] > alone_ms * 1e3
    assert min(factors) >= 2, factors


# ------------------------------------------------------------------------------------------ the same again


def test_the_command_line_gives_what_python_gives(duetime: Command) -> None:
    path = SCENARIOS / "w2.toml"
    told = json.loads(duetime("run", path, "--set", "run.duration=20 ms", "--json").stdout)
    assert told | {"wall_s": 0} == dt.run(path, set={"run.duration": "20 ms"}).data | {"wall_s": 0}


# ------------------------------------------------------------------------------------------ rates by request


def granted(transport: str, flows: list[dict[str, Any]], **more: Any) -> dt.Result:
    """Flows into one port of 1 Gbps; a round trip of about 105 us."""
    return dt.run(
        {
            "title": "Granted rates",
            "profile": "classic",
            "run": {"duration": "1 s", "trace": {"every": "100 us", "what": ["rate", "request"]}},
            "network": {"topology": "star", "hosts": 9, "rate": "1 Gbps", "delay": "20 us"} | more,
            "transport": {"name": transport},
            "traffic": [{"name": "a", "pattern": "flows", "flows": flows}],
        }
    )


def rate(run: dt.Result, message: int, signal: str = "rate") -> float:
    """The mean between 2 and 8 ms, in Mbit/s."""
    here = (
        (pl.col("what") == signal)
        & (pl.col("message") == message)
        & pl.col("time_s").is_between(0.002, 0.008)
    )
    return float(run.trace.filter(here)["value"].to_numpy().mean())


def counted(run: dt.Result) -> int:
    """Return the number of flows that routers still count at the end of the run."""
    columns = ("counted_flows", "allocated_bps", "requested_bps")
    return int(sum(run.links[column].sum() for column in columns))


@pytest.mark.parametrize("deadline", [None, "70 ms"])
def test_one_large_flow_is_granted_the_whole_link(deadline: str | None) -> None:
    flow = {"from": 0, "to": 8, "size": "5 MB"} | ({"deadline": deadline} if deadline else {})
    run = granted("d3", [flow], host_jitter="0 s")
    # The round trip of a header, 4 x (20 + 0.32) us, and then 3424 packets of 12 us and one of 8 us. The last
    # but one takes 12 us more at the switch.
    expected = 4 * 20.32 + 3424 * 12 + 12 + 8 + 2 * 20
    assert run.flows["fct_us"][0] == pytest.approx(expected, abs=0.01)
    assert rate(run, 0) == pytest.approx(1000, abs=1)
    assert (run.data["drops"], counted(run)) == (0, 0)


def test_a_deadline_is_granted_what_it_needs_and_an_equal_share_of_the_rest() -> None:
    flows = [
        {"from": 0, "to": 8, "size": "5 MB", "deadline": "60 ms"},
        {"from": 1, "to": 8, "size": "20 MB"},
    ]
    run = granted("d3", flows)
    # 5 MB and their headers in 60 ms: 685 Mbit/s at first, and less as its share takes it ahead.
    assert 640 < rate(run, 0, "request") < 690
    assert rate(run, 0) + rate(run, 1) == pytest.approx(1000, rel=0.02)
    assert rate(run, 0) - rate(run, 0, "request") == pytest.approx(rate(run, 1), rel=0.1)
    assert run.flows["missed"][0] is False
    # Fair shares are 500 each: too little for 685.
    fair = granted("rcpdc", flows)
    assert rate(fair, 0) == pytest.approx(500, rel=0.02)
    assert fair.flows["missed"][0] is True
    assert counted(run) == counted(fair) == 0


@pytest.mark.parametrize("transport", ["d3", "rcpdc"])
@pytest.mark.parametrize("n", [2, 4, 8])
def test_equal_flows_are_granted_equal_rates(transport: str, n: int) -> None:
    run = granted(transport, [{"from": f"0..{n}", "to": 8, "size": "2 MB"}])
    for flow in range(n):
        assert rate(run, flow) == pytest.approx(1000 / n, rel=0.02)
    assert (run.data["drops"], counted(run)) == (0, 0)


def test_lost_requests_grants_and_fins_leave_nothing_counted() -> None:
    run = dt.run(
        SCENARIOS / "incast.toml",
        transport="d3",
        set={
            "run.duration": "20 s",
            "network.buffer": "5 packets",
            "network.sharing": "per-port",
            "transport.rto_max": "100 ms",
            "transport.control": "plain",
            "traffic.queries.count": 20,
        },
    )
    assert run.data["drops"] > 1000
    assert run.summary["unfinished"] == 0
    assert counted(run) == 0


def test_with_the_base_rate_alone_many_flows_overfill_a_port() -> None:
    # One segment per 200 us is 60 Mbit/s: 16 flows fit into 1 Gbps, 17 do not.
    def drops(flows: int) -> int:
        network = {"hosts": flows + 1, "sharing": "per-port", "buffer": "100 packets"}
        run = granted("rcpdc", [{"from": f"0..{flows}", "to": flows, "size": "1 MB"}], **network)
        return int(run.data["drops"])

    assert drops(16) == 0
    assert drops(24) > 100


def test_inversions_are_shares_of_requests() -> None:
    run = dt.run(SCENARIOS / "oldi.toml", transport="d3", set={"run.duration": "400 ms"})
    requests = run.data["rate_requests"]
    assert requests["requests"] >= requests["denied"] >= requests["inverted"] >= requests["overtaken"] > 0
    for name in ("denied", "inverted", "overtaken", "displaceable", "refused", "passed_over"):
        assert requests[f"{name}_percent"] == pytest.approx(100 * requests[name] / requests["requests"])
    assert requests["refused"] >= max(requests["denied"], requests["passed_over"])
    by_port = run.links.filter(pl.col("src").str.starts_with("host").not_())
    assert by_port["inverted"].sum() >= requests["inverted"]
    assert dt.run(SCENARIOS / "w1.toml", set={"run.duration": "5 ms"}).data["rate_requests"] is None


# ----------------------------------------------------------------------------------------------- recovery

#: Segments 5 and 20 of 20 are lost: the host's wire was down while they crossed it.
FIFTH_AND_LAST = """
profile = "classic"
[run]
duration = "500 ms"
[network]
topology = "star"
hosts = 2
rate = "1 Gbps"
delay = "1 us"
buffer = "1 MB"
sharing = "per-port"
host_jitter = "0 s"
[[fault]]
kind = "down"
link = "switch -> host 1"
at = "64 us"
until = "70 us"
[[fault]]
kind = "down"
link = "switch -> host 1"
at = "244 us"
until = "250 us"
[transport]
name = "tcp"
initial_window = 20
[[traffic]]
name = "f"
pattern = "flows"
flows = [{ from = 0, to = 1, size = "29200 B" }]
"""


@pytest.mark.parametrize(
    ("how", "fct_us", "timeouts"),
    [
        ({"rescue": True}, 294.64, 0),
        ({"recovery": "newreno"}, 294.64, 0),
        ({"loss_detection": "rack"}, 294.64, 0),
        # Without RFC 6675's rule 4 only the timer tells of the last one.
        ({}, 20_294.64, 1),
    ],
)
def test_a_loss_at_the_end_of_a_message_is_repaired_without_a_timeout(
    how: dict[str, Any], fct_us: float, timeouts: int
) -> None:
    described = tomllib.loads(FIFTH_AND_LAST)
    described["transport"] |= how
    run = dt.run(described)
    (flow,) = run.flows.iter_rows(named=True)
    assert flow["fct_us"] == pytest.approx(fct_us, abs=0.01)
    assert (flow["timeouts"], flow["retransmits"]) == (timeouts, 2)
