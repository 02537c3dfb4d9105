"""`bench/hpcc_ns3.py`: the flows it draws, and the files of HPCC's simulator that it reads."""

import importlib.util
import struct
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).resolve().parents[1] / "bench"
#: Two points: half of the messages are below 500 B.
HALVES = [(0.0, 0.0), (500.0, 50.0), (1500.0, 100.0)]


@pytest.fixture(scope="module")
def peer() -> ModuleType:
    """`bench/hpcc_ns3.py`, which imports `run` from beside it."""
    sys.path.insert(0, str(BENCH))
    try:
        spec = importlib.util.spec_from_file_location("bench_hpcc_ns3", BENCH / "hpcc_ns3.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(BENCH))
    return module


def test_sizes_are_linear_between_the_points(peer: ModuleType) -> None:
    assert peer.distribution("0 0\n500 50\n1500 100\n") == HALVES
    assert [peer.size_at(HALVES, percent) for percent in (0, 25, 50, 75, 100)] == [1, 250, 500, 1000, 1500]
    # Half of them are 250 B in the mean, and half 1000 B.
    assert peer.mean(HALVES) == 625


def test_drawn_flows_take_the_load_and_incasts_their_share(peer: ModuleType) -> None:
    case = peer.Case("a", load=0.005, incasts=0.02, arrivals_ms=1.0, end_ms=2.0)
    flows = peer.drawn(case, HALVES, seed=3)
    assert flows == sorted(flows) == peer.drawn(case, HALVES, seed=3)
    # 320 hosts at 100 Gbps for 1 ms are 4 GB.
    background = [flow for flow in flows if flow.port == peer.BACKGROUND]
    expected = 0.005 * 4e9 / 625
    assert abs(len(background) - expected) < 4 * expected**0.5, "four standard deviations of Poisson's law"
    incasts = [flow for flow in flows if flow.port == peer.INCAST]
    # 2 % of 4 GB are 80 MB: two incasts of 60 x 500 KB fit.
    assert len(incasts) == 120
    for start in {flow.start_ns for flow in incasts}:
        one = [flow for flow in incasts if flow.start_ns == start]
        assert len({flow.dst for flow in one}) == 1
        assert len({flow.src for flow in one} | {one[0].dst}) == 61
    assert all(flow.src != flow.dst and 0 <= flow.dst < 320 for flow in flows)
    assert all(peer.BEGIN_NS <= flow.start_ns <= peer.BEGIN_NS + 1e6 for flow in flows)


def test_flow_list_has_the_simulators_columns(peer: ModuleType, tmp_path: Path) -> None:
    flows = [peer.Flow(2_000_000_007, 3, 300, 100, 1234), peer.Flow(2_001_000_000, 4, 5, 200, 500_000)]
    peer.setup(tmp_path, peer.CASES[0], peer.LAWS[0], Path("/fat.txt"), flows)
    lines = (tmp_path / "flow.txt").read_text().splitlines()
    assert lines == ["2", "3 300 3 100 1234 2.000000007", "4 5 3 200 500000 2.001000000"]
    keys = dict(line.split(" ", 1) for line in (tmp_path / "config.txt").read_text().splitlines())
    traced = dict(line.split(" ", 1) for line in (tmp_path / "traced.txt").read_text().splitlines())
    assert {key for key in keys if keys[key] != traced[key]} == {"ENABLE_TRACE"}
    assert keys["CC_MODE"] == "3"
    assert keys["TOPOLOGY_FILE"] == "/fat.txt"


def test_each_pair_counts_its_ports(peer: ModuleType) -> None:
    flows = [peer.Flow(at, *ends, 100, 1) for at, ends in enumerate([(0, 1), (1, 0), (0, 1), (0, 2)])]
    assert list(peer.ports(flows)) == [(0, 1, 10000), (1, 0, 10000), (0, 1, 10001), (0, 2, 10000)]


def test_output_names_nodes_by_address(peer: ModuleType) -> None:
    # 11.0.1.1 is node 1, and 11.1.44.1 is node 256 + 44.
    lines = ["0b000101 0b012c01 10002 100 1234 2000000007 9100 8000"]
    assert peer.completed(lines) == {(1, 300, 10002): 9100}


def record(
    time: int, ends: tuple[int, int], *, protocol: int = 0x11, event: int = 0, port: int = 10000
) -> bytes:
    """One record of the trace, packed field by field as the C++ structure is."""
    sip, dip = (0x0B000001 + (node // 256 << 16) + (node % 256 << 8) for node in ends)
    head = struct.pack("<QHBBIIIHBBBB", time, ends[1], 1, 3, 0, sip, dip, 1048, protocol, event, 0, 0)
    return head.ljust(32, b"\0") + struct.pack("<HHIQHH", port, 100, 0, 0, 3, 1000).ljust(24, b"\0")


def test_last_data_packet_at_the_receiver_counts(peer: ModuleType, tmp_path: Path) -> None:
    trace = tmp_path / "packets.bin"
    ports = struct.pack("<I", 2) + 2 * struct.pack("<HBQ", 1, 1, 100) + struct.pack("<I", 153_000)
    records = [
        record(100, (1, 300)),
        record(250, (1, 300)),
        record(200, (1, 300)),
        record(300, (1, 300), protocol=0xFC),
        record(400, (1, 300), event=2),
        record(350, (1, 300), port=10001),
        record(120, (300, 1)),
    ]
    trace.write_bytes(ports + b"".join(records))
    assert peer.last_bytes(trace) == {
        (1, 300, 10000): 250,
        (1, 300, 10001): 350,
        (300, 1, 10000): 120,
    }


def test_table_joins_both_by_flow(peer: ModuleType) -> None:
    flows = [peer.Flow(at, 0, 1, 100, size) for at, size in enumerate([400, 500, 501, 900])]
    flows.append(peer.Flow(9, 0, 1, 200, 500_000))
    ideal = dict.fromkeys(range(5), 10.0)
    theirs = {0: 20.0, 1: 10.0, 2: 10.0, 3: 40.0, 4: 50.0}
    ours = [{0: 10.0, 1: 30.0, 2: 20.0, 3: 40.0, 4: 50.0}, {0: 10.0, 1: 10.0, 2: 10.0, 3: 20.0}]
    small, middle, incasts = peer.table(flows, ideal, ours, theirs)
    assert [row["group"] for row in (small, middle, incasts)] == ["to 500 B", "to 1000 B", "incasts"]
    assert [row["flows"] for row in (small, middle, incasts)] == [2, 2, 1]
    assert small["p50"] == {"ns3": 2.0, "duetime": 2.0, "low": 1.0, "high": 3.0}
    assert middle["p99"] == {"ns3": 4.0, "duetime": 3.0, "low": 2.0, "high": 4.0}
    # A flow that has not ended in one seed.
    assert incasts["p95"]["ns3"] == 5.0
    assert incasts["p95"]["high"] == float("inf")


def test_percentile_is_the_simulators(peer: ModuleType) -> None:
    values = list(range(1, 101))
    assert [peer.percentile(values, share) for share in peer.PERCENTILES] == [51, 96, 100]
    assert peer.percentile([7.0], 0.99) == 7.0
