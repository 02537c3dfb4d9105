"""A host's queue must not decide the rates of its flows, where a scenario does not set it."""

from itertools import pairwise
from typing import Any

import polars as pl
import pytest

import duetime as dt

#: Flow i begins at i times this.
STEP_S = 0.5


def joining(transport: str, **changes: str) -> list[list[float]]:
    """Mean throughput (Mbit/s) of each flow while one to four of them send, after 100 ms of each step.

    The set-up of figure 16 of the DCTCP paper (SIGCOMM 2010): flows to one receiver join one by one.
    """
    scenario: dict[str, Any] = {
        "title": "Flows join one by one",
        "run": {"duration": "2 s", "trace": {"every": "5 ms", "what": ["throughput"]}},
        "network": {
            "topology": "star",
            "hosts": 5,
            "rate": "1 Gbps",
            "delay": "20 us",
            "mark": "20 packets",
        },
        "transport": {"name": transport},
        "traffic": [{"name": "flows", "pattern": "long", "from": "0..4", "to": 4, "start": "500 ms * index"}],
    }
    trace = dt.run(scenario | changes).trace
    steps = []
    for begin, end in pairwise(STEP_S * step for step in range(5)):
        measured = trace.filter((pl.col("time_s") > begin + 0.1) & (pl.col("time_s") <= end))
        means = measured.group_by("src").agg(pl.col("value").mean()).sort("src")["value"].to_list()
        steps.append(means)
    return steps


@pytest.mark.parametrize("transport", ["tcp", "cubic", "dctcp", "d2tcp", "xdctcp", "d2tcp_plus"])
def test_flows_that_join_one_by_one_share_the_link(transport: str) -> None:
    # 973.3 Mbit/s of payload: 243 for each of four, within the 15 % that two saws out of step may differ by.
    assert joining(transport)[-1] == pytest.approx([243.3] * 4, rel=0.15)


def test_a_host_queue_without_a_limit_starves_flows_that_join() -> None:
    shares = joining("dctcp", profile="classic")[-1]
    assert shares[0] > 900
    assert max(shares[1:]) < 10


STAR = {"topology": "star", "hosts": 16, "delay": "5 us"}
LEAF_SPINE = {
    "topology": "leaf-spine",
    "leaves": 2,
    "hosts_per_leaf": 8,
    "spines": 2,
    "uplink": "40 Gbps",
    "delay": "1.2 us",
}


def short_slowdown(network: dict[str, Any], load: str, **transport: Any) -> float:
    """The p99 slowdown of messages up to 100 KB of the web search workload under dctcp, over three seeds."""
    scenario = {
        "title": "Web search",
        "run": {"duration": "40 ms", "warm_up": "5 ms", "cool_down": "1 s"},
        "network": {"rate": "10 Gbps", "mark": "65 packets"} | network,
        "transport": {"name": "dctcp"} | transport,
        "traffic": [{"name": "search", "pattern": "poisson", "load": load, "size": "cdf(websearch)"}],
    }
    flows = pl.concat(dt.run(scenario, seed=seed).flows for seed in (1, 2, 3))
    slowdowns = flows.filter(pl.col("counted") & (pl.col("bytes") <= 100_000))["slowdown"]
    assert slowdowns.null_count() == 0
    return float(slowdowns.quantile(0.99) or 0)


@pytest.mark.parametrize("load", ["40%", "60%"])
@pytest.mark.parametrize("network", [STAR, LEAF_SPINE], ids=["star", "leaf-spine"])
def test_short_messages_do_not_wait_behind_long_ones_of_their_host(
    network: dict[str, Any], load: str
) -> None:
    by_default = short_slowdown(network, load)
    limited = short_slowdown(network | {"host_queue": "unlimited"}, load, nic_limit="2 packets")
    unlimited = short_slowdown(network | {"host_queue": "unlimited"}, load, cwnd_validation=False)
    assert by_default <= 1.5 * limited
    assert unlimited >= 3 * by_default


def test_the_queue_of_a_host_is_measured() -> None:
    scenario = {
        "title": "A short message beside a long one",
        "run": {"duration": "16 ms"},
        "network": {"topology": "star", "hosts": 3, "rate": "10 Gbps", "delay": "5 us", "mark": "65 packets"},
        "transport": {"name": "dctcp"},
        "traffic": [
            {"name": "long", "pattern": "flows", "flows": [{"from": 0, "to": 1, "size": "20 MB"}]},
            {
                "name": "short",
                "pattern": "flows",
                "flows": [{"from": 0, "to": 2, "size": "10 KB", "start": "5 ms"}],
            },
        ],
    }
    result = dt.run(scenario)
    # Seven packets, each behind one of the long message, 1.2 us each; 3.6 us for the packets that are there
    # and the switch, 10 us for two links.
    short = result.flows.filter(pl.col("class") == "short")["fct_us"][0]
    assert short == pytest.approx(14 * 1.2 + 3.6 + 10, abs=1.5)
    port = result.links.filter(pl.col("src") == "host 0")
    assert port["queue_mean"][0] == pytest.approx(1, abs=0.05)
    # One waits while the long message is sent; a shorter last packet leaves room for one more.
    assert port["queue_max"][0] in (1, 2)
