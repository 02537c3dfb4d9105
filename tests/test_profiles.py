"""The stack of a scenario, and times that follow the network."""

from typing import Any

import pytest

import duetime as dt


def scenario(transport: str, **network: Any) -> dict[str, Any]:
    """One message between two hosts."""
    return {
        "run": {"duration": "1 ms"},
        "network": {"topology": "star", "hosts": 2, "rate": "10 Gbps", "delay": "1 us"} | network,
        "transport": {"name": transport},
        "traffic": [
            {"name": "a", "pattern": "flows", "flows": [{"from": 0, "to": 1, "size": "10 KB"}]},
        ],
    }


@pytest.mark.parametrize(
    ("profile", "rto_initial", "host_queue"),
    [
        (None, "10 ms", "fair"),
        ("datacenter", "10 ms", "fair"),
        ("linux", "1 s", "fair"),
        ("classic", "20 ms", "unlimited"),
    ],
)
def test_a_profile_reaches_transport_and_network(
    profile: str | None, rto_initial: str, host_queue: str
) -> None:
    named = {} if profile is None else {"profile": profile}
    found, _ = dt.check(named | scenario("dctcp"))
    assert (found["transport"]["rto_initial"], found["network"]["host_queue"]) == (rto_initial, host_queue)


def test_pdq_lets_short_messages_go_on_a_fast_link() -> None:
    # One-packet messages at half of 10 Gbps: with the dampening of 1 Gbps 113 of 805 completed.
    short = scenario("pdq", hosts=41, buffer="100 MB", sharing="per-port") | {
        "run": {"duration": "2 ms", "seed": 2, "cool_down": "0 s"},
        "traffic": [
            {"name": "p", "pattern": "poisson", "from": "0..40", "to": [40], "load": "1.2%", "size": "1460 B"}
        ],
    }
    summary = dt.run(short).summary
    assert summary["messages"] == 805
    assert summary["unfinished"] <= 10
