"""Strict priorities at switches: the order of service, and its cost for the others."""

import json
from typing import Any

import polars as pl
import pytest

import duetime as dt
from conftest import SCENARIOS

#: A full packet's transmission at 1 Gbps, in us.
PACKET = 12.0


def star(hosts: int, traffic: list[dict[str, Any]], **network: Any) -> dict[str, Any]:
    return {
        "title": "Priorities",
        "profile": "classic",
        "run": {"duration": "50 ms"},
        "network": {
            "topology": "star",
            "hosts": hosts,
            "rate": "1 Gbps",
            "delay": "5 us",
            "buffer": "1000 packets",
            "sharing": "per-port",
            "host_jitter": "0 s",  # waits are counted in packets
            **network,
        },
        "transport": {"name": "tcppr", "initial_window": 100, "window_limit": "100 packets"},
        "traffic": traffic,
    }


def times(run: dt.Result, name: str, column: str = "fct_us") -> pl.Series:
    return run.flows.filter(pl.col("class") == name)[column]


@pytest.mark.parametrize("size", ["1 B", "1460 B", "100 KB"])
def test_a_message_waits_for_one_lower_packet_and_no_more(size: str) -> None:
    # Two endless flows keep the port to host 3 busy; a lone message passes their queue of some 190 packets.
    # Its first packet may find one of theirs in transmission; behind it, its packets arrive at the port's
    # rate.
    message = {"from": 0, "to": 3, "size": size, "deadline": "5 ms"}
    starts = [f"{10 + i * 1.0037} ms" for i in range(20)]
    run = dt.run(
        star(
            4,
            [
                {"name": "background", "pattern": "long", "from": [1, 2], "to": 3},
                {"name": "urgent", "pattern": "flows", "flows": [{**message, "start": at} for at in starts]},
            ],
        )
    )
    port = run.links.filter((pl.col("src") == "switch") & (pl.col("dst") == "host 3"))
    assert port["queue_p50"].item() > 150
    waited = times(run, "urgent") - times(run, "urgent", "ideal_fct_us")
    assert waited.len() == 20
    assert waited.min() >= 0  # type: ignore[operator]
    assert 0.5 * PACKET < waited.max() <= PACKET  # type: ignore[operator]


def test_classes_finish_one_after_the_other() -> None:
    # Messages of four classes at the same time, the laxest from the first host: each waits for those above.
    flows = [
        {"from": i, "to": 4, "size": "146 KB", "deadline": f"{50 - 10 * i} ms", "start": "1 ms"}
        for i in range(4)
    ]
    scenario = star(5, [{"name": "all", "pattern": "flows", "flows": flows}])
    scenario["transport"]["classes"] = 4
    done = dt.run(scenario).flows.sort("src", descending=True)["fct_us"].to_list()
    # 100 packets each; the first packets of all four arrive at once, so one lower packet may slip in.
    alone = 100 * PACKET + PACKET + 4 * 5
    for place, took in enumerate(done):
        assert took == pytest.approx(alone + place * 100 * PACKET, abs=4 * PACKET)


def test_waits_are_those_of_queueing_theory_and_their_mean_that_of_fifo() -> None:
    # Single packets that arrive at random, 40 % of the port's time in each class. Without preemption (Cobham
    # 1954), with W0 = rho S / 2 the mean rest of the transmission that is found:
    #   W1 = W0 / (1 - rho1) = 8 us, W2 = W0 / ((1 - rho1) (1 - rho1 - rho2)) = 40 us; fifo: 24 us for both.
    senders = 400
    load = 0.4 * 1460 / 1500 / senders
    part = {"pattern": "poisson", "load": load, "size": "1460 B", "from": f"0..{senders}", "to": senders}
    scenario = star(
        senders + 1,
        [{"name": "tight", "deadline": "10 ms", **part}, {"name": "lax", "deadline": "20 ms", **part}],
    )
    scenario["run"]["duration"] = "4 s"
    ran = {name: dt.run(scenario, transport=name) for name in ("tcp", "tcppr")}
    waits = {
        name: [(times(run, c) - times(run, c, "ideal_fct_us")).mean() for c in ("tight", "lax")]
        for name, run in ran.items()
    }
    # 130 000 packets of each class; the mean of a queue at 80 % load settles to within some 5 %.
    assert waits["tcppr"] == pytest.approx([8, 40], rel=0.06)
    assert waits["tcp"] == pytest.approx([24, 24], rel=0.06)
    # Whatever the order, the port is busy at the same times, so packets of one size wait equally long in all.
    both = [
        run.flows.filter(pl.col("start_us") < 3.9e6)["fct_us"].mean() for run in (ran["tcp"], ran["tcppr"])
    ]
    assert both[0] == pytest.approx(both[1], rel=1e-3)
    drops = [run.data["drops"] for run in ran.values()]
    assert drops == [0, 0]


def test_other_transports_come_last_or_first_as_the_network_says() -> None:
    traffic: list[dict[str, Any]] = [
        {
            "name": "own",
            "pattern": "flows",
            "flows": [{"from": 0, "to": 2, "size": "100 KB", "deadline": "9 ms"}],
        },
        {
            "name": "other",
            "pattern": "flows",
            "flows": [{"from": 1, "to": 2, "size": "100 KB", "deadline": "9 ms"}],
            "transport": {"name": "dctcp", "initial_window": 100},
        },
    ]
    last, first = (
        [times(run, name).item() for name in ("own", "other")]
        for run in (
            # With the limit below its deadline, the own message is in the second of two classes.
            dt.run(star(3, traffic, untagged=word), set={"transport.limits": "1 ms"})
            for word in ("lowest", "highest")
        )
    )
    assert last[0] < first[0]
    assert first[1] < last[1]
    assert min(last[0], first[1]) == pytest.approx(69 * PACKET + 4 * 5, rel=0.05)


def test_a_class_may_have_a_priority_with_any_transport() -> None:
    flow = {"to": 2, "size": "100 KB"}
    traffic = [
        {"name": "a", "pattern": "flows", "flows": [{"from": 0, **flow}], "priority": 1},
        {"name": "b", "pattern": "flows", "flows": [{"from": 1, **flow}], "priority": 0},
    ]
    scenario = star(3, traffic)
    scenario["transport"] = {"name": "dctcp", "initial_window": 100}
    with_priority = dt.run(scenario)
    assert times(with_priority, "b").item() < 0.6 * times(with_priority, "a").item()
    fifo = dt.run(scenario, set={"network.discipline": "fifo"})
    assert times(fifo, "b").item() > 0.9 * times(fifo, "a").item()


def test_the_classes_of_deadlines_are_told() -> None:
    run = dt.run(
        SCENARIOS / "oldi.toml", transport="tcppr", set={"run.duration": "30 ms", "run.warm_up": "0 s"}
    )
    # 20 ms to 45 ms + 50 %, so they part at 43.75 ms.
    assert "tcppr: the classes of deadlines part at 43.75 ms" in run.notes
    again = dt.run(
        SCENARIOS / "oldi.toml", transport="tcppr", set={"run.duration": "30 ms", "run.warm_up": "0 s"}
    )
    one, other = json.loads(run.json()), json.loads(again.json())
    del one["wall_s"], other["wall_s"]
    assert one == other
    assert run.flows.equals(again.flows)
    assert run.links.equals(again.links)


def test_departures_cost_at_most_one_event_more_per_hop() -> None:
    fifo, priority = (
        dt.run(SCENARIOS / "w1.toml", set={"run.duration": "50 ms", "network.discipline": name}).data
        for name in ("fifo", "priority")
    )
    assert fifo["packet_hops"] == priority["packet_hops"]
    assert fifo["events"] < priority["events"] <= 2 * fifo["events"]


@pytest.mark.parametrize("transport", ["d3", "dctcp"])
def test_one_class_is_fifo_for_every_kind_of_transport(transport: str) -> None:
    runs = [
        dt.run(
            SCENARIOS / "oldi.toml",
            transport=transport,
            set={
                "run.duration": "40 ms",
                "run.warm_up": "0 s",
                "network.buffer": "20 KB",
                "network.discipline": name,
            },
        )
        for name in ("fifo", "priority")
    ]
    assert runs[0].data["drops"] == runs[1].data["drops"] > 0
    assert runs[0].flows.equals(runs[1].flows)


@pytest.mark.parametrize("deadline", [None, "30 ms"])
def test_where_nothing_can_be_divided_no_limits_are_told(deadline: str | None) -> None:
    with_deadline = {} if deadline is None else {"deadline": deadline}
    traffic = [
        {"name": "some", "pattern": "periodic", "from": 0, "to": 3, "every": "1 ms", "size": "20 KB"}
        | with_deadline,
        {"name": "long", "pattern": "long", "from": 1, "to": 3},
    ]
    run = dt.run(star(4, traffic, host_jitter="1 us"))  # or a note says that nothing is random
    assert run.notes == []
    # One deadline for all is the highest class all the same.
    slowest = times(run, "some").max()
    assert isinstance(slowest, float)
    assert (slowest < 20 * 13 + 50) == (deadline is not None)
