"""A message alone in a fabric takes little longer than it must, under every transport."""

from pathlib import Path

import pytest

import duetime as dt

#: 20 MB from one pod of a fat-tree to another.
MESSAGE = "start,src,dst,bytes\n0.0001,0,7,20000000\n"
NETWORKS = {
    "10 Gbps": {"rate": "10 Gbps", "buffer": "4 MB", "mark": "100 KB"},
    "400 Gbps": {"rate": "400 Gbps", "buffer": "64 MB", "mark": "800 KB"},
}
#: 20 MB take 400 us at 400 Gbps, a round trip 12.9 us. Slow start reaches its 72 segments in five of them,
#: if every second segment is acknowledged. Asking takes two. HPCC's target and its headers take 5 % each.
MOST = 1.2
#: HULL leaves slow start at the first mark, before the link is full, and then adds a segment in a round trip.
SLOWER = {("400 Gbps", "hull"): 1.6}


@pytest.mark.parametrize("balance", ["ecmp", "spray"])
@pytest.mark.parametrize("rate", NETWORKS)
@pytest.mark.parametrize("transport", [each["name"] for each in dt.catalog()["transports"]])
def test_a_message_alone_is_nearly_as_fast_as_possible(
    tmp_path: Path, transport: str, rate: str, balance: str
) -> None:
    (tmp_path / "message.csv").write_text(MESSAGE, encoding="utf-8")
    result = dt.run(
        {
            "title": "Alone",
            "run": {"duration": "100 ms"},
            "network": {
                "topology": "fat-tree",
                "k": 4,
                "delay": "1 us",
                "balance": balance,
                **NETWORKS[rate],
            },
            "transport": {"name": transport},
            "traffic": [{"name": "one", "pattern": "trace", "file": str(tmp_path / "message.csv")}],
        }
    )
    assert 1 <= result.flows["slowdown"][0] <= SLOWER.get((rate, transport), MOST)
    assert result.data["drops"] == 0
