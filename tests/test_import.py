"""Files of other simulators: the parts that are read, the places of mistakes, and runs of the scenarios."""

import csv
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import Command
from duetime.imports import FORMATS

#: Four hosts at switches 4 and 5, joined by a faster link; one host's link loses packets.
TOPOLOGY = """6 2 5
4 5
0 4 100Gbps 1000ns 0
1 4 100Gbps 0.001ms 0
2 5 100Gbps 1000ns 0.000000
3 5 25000000000.0 2us 0.01
4 5 400Gbps 1000ns 0
First line: nodes, switches, links
"""
FLOWS = """3
0 2 3 100 500000 2
1 2 3 101 500000 2.000001
3 0 3 100 20000 2.0000025
"""
MATRIX = """Nodes 16
Connections 4
Triggers 2
0->13 id 1 start 0 size 2000000 send_done_trigger 1
0->9 id 2 trigger 1 size 1000000 send_done_trigger 2
1->9 id 3 start 5000000 size 1000000 recv_done_trigger 2
9->2 id 4 trigger 2 size 1000

trigger id 1 oneshot
trigger id 2 barrier count 2
"""
PLAIN = "Nodes 16\nConnections 2\n0->13 start 0 size 2000000\n13->0 id 2 start 1500000 size 4000\n"
TIERS = """# two tiers
Nodes 8
Tiers 2
Podsize 8

Tier 0
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 2
Oversubscribed 2
Downlink_Latency_ns 1000
Switch_Latency_ns 100
Queue_Up 90000

Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Downlink_Latency_ns 500
Switch_Latency_ns 300
Queue_Down 90000
"""
CONFIG = """ENABLE_QCN 1
PACKET_PAYLOAD_SIZE 1000
TOPOLOGY_FILE mix/topology.txt
FLOW_FILE mix/flow.txt {the flows}
FCT_OUTPUT_FILE mix/fct.txt
SIMULATOR_STOP_TIME 2.01
CC_MODE 8
EWMA_GAIN 0.0625
RATE_AI 50Mb/s
LINK_DOWN 10 4 5
ERROR_RATE_PER_LINK 0.0000
KMAX_MAP 3 25000000000 400 100000000000 1600 400000000000 6400
KMIN_MAP 3 25000000000 100 100000000000 400 400000000000 1600
BUFFER_SIZE 32
"""


def imported(duetime: Command, folder: Path, **files: str) -> tuple[Any, str]:
    """Import files, and return the scenario and the notes on it."""
    for name, text in files.items():
        (folder / name).write_text(text)
    (folder / "out.toml").unlink(missing_ok=True)
    for path in folder.glob("out-*.csv"):
        path.unlink()
    done = duetime("import", *files, "-o", "out.toml")
    assert done.returncode == 0, done.stderr
    return tomllib.loads((folder / "out.toml").read_text()), done.stderr


def refused(duetime: Command, folder: Path, text: str, *options: str) -> str:
    """Import a file that is refused; return the place and the message."""
    (folder / "f").write_text(text)
    (folder / "out.toml").unlink(missing_ok=True)
    done: subprocess.CompletedProcess[str] = duetime("import", "f", *options, "-o", "out.toml")
    assert done.returncode == 2, done.stderr
    assert not (folder / "out.toml").exists()
    message = re.match(r"error: (.*)", done.stderr)
    place = re.search(r"--> f:(\d+:\d+)", done.stderr)
    assert message, done.stderr
    assert place, done.stderr
    return f"{place[1]} {message[1]}"


def test_a_topology_is_read_link_by_link(duetime: Command, tmp_path: Path) -> None:
    scenario, said = imported(duetime, tmp_path, topology=TOPOLOGY)
    network = scenario["network"]
    assert network["switches"] == ["switch 4", "switch 5"]
    assert (network["hosts"], network["rate"], network["delay"]) == (4, "100 Gbps", "1 us")
    assert network["links"] == [
        {"from": "0..2", "to": "switch 4"},
        {"from": 2, "to": "switch 5"},
        {"from": 3, "to": "switch 5", "rate": "25 Gbps", "delay": "2 us"},
        {"from": "switch 4", "to": "switch 5", "rate": "400 Gbps"},
    ]
    assert scenario["fault"] == [{"kind": "loss", "link": "host 3 - switch 5", "probability": 0.01}]
    assert "topology: HPCC topology: 4 hosts, 2 switches, 5 links\n" in said
    assert "no file says the transport: dctcp" in said


def test_hosts_may_have_several_links_and_links_to_hosts(duetime: Command, tmp_path: Path) -> None:
    at_switches = "".join(f"{host} {switch} 100Gbps 1us 0\n" for host in range(4) for switch in (4, 5))
    topology = f"6 2 10\n4 5\n{at_switches}0 1 900Gbps 1us 0\n3 2 900Gbps 1us 0.5\n"
    scenario, _ = imported(duetime, tmp_path, topology=topology, flow=FLOWS)
    assert scenario["network"]["links"] == [
        {"from": "0..4", "to": "switch 4"},
        {"from": "0..4", "to": "switch 5"},
        {"from": 0, "to": 1, "rate": "900 Gbps"},
        {"from": 3, "to": 2, "rate": "900 Gbps"},
    ]
    assert scenario["fault"] == [{"kind": "loss", "link": "host 3 - host 2", "probability": 0.5}]
    done = duetime("run", "out.toml", "--json")
    assert done.returncode == 0, done.stderr


def test_hosts_keep_their_numbers_or_their_offset_is_said(duetime: Command, tmp_path: Path) -> None:
    """The switch is node 0: hosts are nodes 1 to 3, and PowerTCP's header has four numbers."""
    topology = "4 1 1 3\n0\n0 1 10Gbps 1us 0\n0 2 10Gbps 1us 0\n3 0 10Gbps 1us 0\n"
    scenario, said = imported(duetime, tmp_path, t=topology, f="2\n1 3 3 100 1000 0\n3 2 3 100 2000 0.5\n")
    assert scenario["network"]["links"] == [{"from": "0..3", "to": "switch 0"}]
    assert "t: hosts are numbered from 0 here: host h is node h + 1" in said
    rows = (tmp_path / "out-flows.csv").read_text().splitlines()
    assert rows == ["start,src,dst,bytes", "0,0,2,1000", "0.5,2,1,2000"]
    (tmp_path / "f").write_text("1\n0 3 3 100 1000 0\n")
    done = duetime("import", "t", "f", "-o", "new.toml")
    assert done.returncode == 2
    assert "node 0 is a switch of the topology" in done.stderr
    assert "f:2:1" in done.stderr


def test_imported_flows_are_those_of_the_file(duetime: Command, tmp_path: Path) -> None:
    """Round trip: the same pairs, sizes and starts, from the file, the list beside the scenario and a run."""
    imported(duetime, tmp_path, topology=TOPOLOGY, flow=FLOWS)
    lines = [line.split() for line in FLOWS.splitlines()[1:]]
    wanted = [(src, dst, size, start) for src, dst, _, _, size, start in lines]
    with (tmp_path / "out-flows.csv").open() as file:
        found = [(row["src"], row["dst"], row["bytes"], row["start"]) for row in csv.DictReader(file)]
    assert found == wanted
    done = duetime("run", "out.toml", "--out", "result")
    assert done.returncode == 0, done.stderr
    ran = pl.read_parquet(tmp_path / "result" / "flows.parquet")
    rows = ran.select("src", "dst", "bytes", "start_us").rows()
    assert [(str(src), str(dst), str(size)) for src, dst, size, _ in rows] == [each[:3] for each in wanted]
    assert [start for *_, start in rows] == pytest.approx([2e6, 2000001.0, 2000002.5])
    assert ran["fct_us"].null_count() == 0


def test_a_topology_that_cannot_be_meant_is_refused(duetime: Command, tmp_path: Path) -> None:
    def wrong(old: str, new: str) -> str:
        assert old in TOPOLOGY
        return refused(duetime, tmp_path, TOPOLOGY.replace(old, new), "--as", "hpcc-topology")

    assert wrong("6 2 5", "6 2 6") == "1:5 the first line announces 6 links, the file has 5"
    assert wrong("4 5\n", "4\n") == "2:1 the first line announces 2 switches, this one has 1"
    assert wrong("3 5 25", "6 5 25").startswith("6:1 node 6 does not exist: the file announces 6, 0 to 5")
    assert wrong("3 5 25", "2 5 25") == "6:1 nodes 2 and 5 are joined in line 5 already"
    assert wrong("3 5 25", "2 4 25") == "2:1 node 3 is neither among the switches nor has it a link"
    assert wrong("3 5 25", "4 4 25") == "6:3 node 4 would be joined with itself"
    assert wrong("400Gbps", "400Gbit").startswith("7:5 a rate like 100Gbps")
    assert wrong("2us", "2").startswith("6:19 a delay like 1000ns")
    assert wrong("0.01", "1.5") == "6:23 a share of lost packets is at most 1, not 1.5"
    assert wrong("4 5\n", "4 4\n") == "2:3 switch 4 appears twice"
    assert wrong("6 2 5", "6 8 2 0 5 H100").startswith("1:1 three or four numbers are expected first")


def test_flows_that_cannot_be_meant_are_refused(duetime: Command, tmp_path: Path) -> None:
    def wrong(old: str, new: str) -> str:
        assert old in FLOWS
        return refused(duetime, tmp_path, FLOWS.replace(old, new), "--as", "hpcc-flows")

    assert wrong("3\n", "4\n") == "1:1 the first line announces 4 flows, the file has 3"
    late = "4:17 this flow starts at 1.5 s, before the one above it (2.000001 s)"
    assert wrong("2.0000025", "1.5") == late
    assert wrong("3 0 3", "3 3 3") == "4:3 node 3 would send to itself"
    assert wrong("20000", "0") == "4:11 the bytes must be a whole number of 1 or more, not `0`"
    assert wrong("3 0 3 100 20000 2.0000025", "3 0 3") == "4:1 six columns are expected, not 3"
    assert wrong("3\n0 2", "x\n0 2") == "1:1 the number of flows must be a whole number, not `x`"


def test_flows_behind_the_announced_ones_are_counted(duetime: Command, tmp_path: Path) -> None:
    _, said = imported(duetime, tmp_path, flow=FLOWS.replace("3\n0", "1\n0") + "src dst pg port size start\n")
    assert "flow: the first line announces 1 flow: 2 behind them are not read, as in HPCC" in said
    assert "no file says the network: one switch with 3 hosts at 100 Gbps and 1 us" in said


def test_a_matrix_without_triggers_is_a_trace_in_picoseconds(duetime: Command, tmp_path: Path) -> None:
    scenario, said = imported(duetime, tmp_path, plain=PLAIN)
    rows = (tmp_path / "out-flows.csv").read_text().splitlines()
    assert rows == ["start_ps,src,dst,bytes", "0,0,13,2000000", "1500000,13,0,4000"]
    # 16 hosts are a fat-tree of switches with four ports.
    assert (scenario["network"]["topology"], scenario["network"]["k"]) == ("fat-tree", 4)
    assert "starts are picoseconds, as htsim reads them" in said
    assert duetime("run", "out.toml", "--out", "result").returncode == 0
    starts = pl.read_parquet(tmp_path / "result" / "flows.parquet")["start_us"].to_list()
    assert starts == [0.0, 1.5]


def test_triggers_become_stages_that_wait(duetime: Command, tmp_path: Path) -> None:
    """Each triggered flow starts at the instant in which the last flow that it follows has arrived."""
    scenario, _ = imported(duetime, tmp_path, matrix=MATRIX)
    (traffic,) = scenario["traffic"]
    after = {stage["name"]: stage["after"] for stage in traffic["stage"]}
    assert after == {
        "flow 1": [],
        "flow 2": ["flow 1"],
        "until flow 3": [],
        "flow 3": ["until flow 3"],
        "flow 4": ["flow 2", "flow 3"],
    }
    assert duetime("run", "out.toml", "--out", "result").returncode == 0
    ran = pl.read_parquet(tmp_path / "result" / "flows.parquet")
    by_size = {(row["src"], row["dst"]): row for row in ran.iter_rows(named=True)}
    assert len(by_size) == 4
    assert by_size[0, 9]["start_us"] == pytest.approx(by_size[0, 13]["end_us"])
    assert by_size[1, 9]["start_us"] == pytest.approx(5.0)
    last = max(by_size[0, 9]["end_us"], by_size[1, 9]["end_us"])
    assert by_size[9, 2]["start_us"] == pytest.approx(last)


def test_a_matrix_that_cannot_be_meant_is_refused(duetime: Command, tmp_path: Path) -> None:
    def wrong(old: str, new: str) -> str:
        assert old in MATRIX
        return refused(duetime, tmp_path, MATRIX.replace(old, new))

    assert wrong("Connections 4", "Connections 5") == "2:13 `Connections` announces 5, the file has 4"
    assert wrong("Triggers 2", "Triggers 1") == "3:10 `Triggers` announces 1, the file has 2"
    assert wrong("0->13", "0->16") == "4:4 node 16 does not exist: the file announces 16, 0 to 15"
    assert wrong("0->13", "0->0") == "4:4 node 0 would send to itself"
    assert wrong("start 0 ", "") == (
        "4:1 this connection has neither `start` nor `trigger`: one of them says when it starts"
    )
    assert wrong("size 2000000 ", "").startswith("4:1 this connection has no `size`")
    assert wrong("count 2", "count 3") == "10:1 barrier 2 waits for 3, and 2 connections can fire it"
    assert wrong("barrier count 2", "oneshot") == (
        "10:1 oneshot 2 is fired by 2 connections, one is expected"
    )
    assert wrong("barrier count 2", "multishot").startswith("10:1 multishot 2 starts one connection")
    assert wrong("trigger 1 size", "trigger 7 size") == "5:19 trigger 7 is used, but no line says what it is"
    assert wrong("start 0 size 2000000", "trigger 1 size 9").startswith(
        "4:1 this connection would wait for it"
    )
    assert wrong("size 1000\n", "seize 1000\n").startswith("7:21 `seize` is unknown")
    assert wrong("1->9 id 3", "failure switch_id 3\n1->9 id 3").startswith(
        "6:1 failures of a connection matrix"
    )
    unclear = refused(duetime, tmp_path, PLAIN.replace("1500000", "15"))
    assert unclear.startswith("4:18 the unit of starts is not clear: 15 is the last")
    assert duetime("import", "f", "--start-unit", "us", "-o", "us.toml").returncode == 0
    assert (tmp_path / "us-flows.csv").read_text().splitlines()[0] == "start_us,src,dst,bytes"


def test_tiers_become_switches_and_links_with_all_latencies(duetime: Command, tmp_path: Path) -> None:
    """A path over three switches: 2 (1000 + 500) ns of links, 100 + 300 + 100 ns of switches."""
    scenario, _ = imported(duetime, tmp_path, topo=TIERS, cm="Nodes 8\nConnections 1\n0->7 start 0 size 1\n")
    network = scenario["network"]
    assert network["switches"] == ["tor 0", "tor 1", "agg 0", "agg 1"]
    assert network["delay"] == "1.05 us"
    assert network["links"][:2] == [{"from": "0..4", "to": "tor 0"}, {"from": "4..8", "to": "tor 1"}]
    joint = {"delay": "700 ns", "buffer": "90000 B"}
    assert network["links"][2:] == [
        {"from": f"tor {tor}", "to": f"agg {agg}", **joint} for tor in (0, 1) for agg in (0, 1)
    ]
    assert 2 * (1050 + 700) == 2 * (1000 + 500) + 100 + 300 + 100
    done = duetime("run", "out.toml", "--set", "network.host_jitter=0 s", "--out", "result")
    assert done.returncode == 0
    row = pl.read_parquet(tmp_path / "result" / "flows.parquet").row(0, named=True)
    # One byte and 40 of headers, over four links of 100 Gbps.
    assert row["fct_us"] == pytest.approx(3.5 + 4 * 41 * 8 / 100e3)


def test_three_tiers_are_htsims_fat_tree(duetime: Command, tmp_path: Path) -> None:
    """Four pods of two ToRs and two switches above, and four cores: as a fat-tree of k = 4."""
    tier = "Downlink_speed_Gbps 100\nDownlink_Latency_ns 1000\n"
    text = "Nodes 16\nTiers 3\nPodsize 4\nTier 0\nRadix_Down 2\nRadix_Up 2\n" + tier
    text += "Tier 1\nRadix_Down 2\nRadix_Up 2\n" + tier + "Tier 2\nRadix_Down 4\n" + tier
    scenario, said = imported(duetime, tmp_path, topo=text)
    assert "16 hosts, 8 ToRs, 8 aggregation switches, 4 cores" in said
    links = scenario["network"]["links"]
    assert (len(links), sum("core" in link["to"] for link in links)) == (8 + 16 + 16, 16)
    ups = [link["to"] for link in links if link["from"] == "agg 3"]
    assert ups == ["core 1", "core 3"]


def test_tiers_that_cannot_be_meant_are_refused(duetime: Command, tmp_path: Path) -> None:
    def wrong(old: str, new: str) -> str:
        assert old in TIERS
        return refused(duetime, tmp_path, TIERS.replace(old, new, 1))

    assert wrong("Oversubscribed 2", "Oversubscribed 4").startswith(
        "10:16 tier 0 has 4 ports down at 100 Gbps"
    )
    assert wrong("Podsize 8", "Podsize 3") == "4:9 8 nodes are no whole number of pods of 3"
    assert wrong("Tiers 2", "Tiers 3").startswith("3:7 3 tiers are announced, the file has 2")
    assert wrong("Radix_Down 2", "Radix_Down 4").startswith("17:12 each switch of tier 1 has 4 ports down")
    assert wrong("Queue_Down 90000", "Queue_Down 80000").startswith(
        "15:1 ports up to tier 1 have queues of 90000"
    )
    assert wrong("Switch_Latency_ns 300", "Switch_Latancy_ns 300").startswith(
        "19:1 `Switch_Latancy_ns` is unknown"
    )
    assert wrong("Queue_Up 90000", "Bundle 2").startswith("13:8 bundles of 2 links are not imported")


def test_a_configuration_brings_its_files_and_names_the_rest(duetime: Command, tmp_path: Path) -> None:
    (tmp_path / "mix").mkdir()
    (tmp_path / "mix" / "topology.txt").write_text(TOPOLOGY)
    (tmp_path / "mix" / "flow.txt").write_text(FLOWS)
    scenario, said = imported(duetime, tmp_path, config=CONFIG)
    assert scenario["run"]["duration"] == "2.01 s"
    assert scenario["transport"] == {"mss": "1000 B", "name": "dctcp", "recovery": "go-back-n", "g": 0.0625}
    network = scenario["network"]
    assert (network["buffer"], network["mark"]) == ("32 MiB", "400 KB")
    assert (network["lossless"], network["dynamic_alpha"]) == (True, 0.125)
    assert (network["marking"], network["red_kmax"]) == ("red", {"host": "1600 KB", "uplink": "6400 KB"})
    assert network["mark_at"] == "departure"
    assert [link.get("mark") for link in network["links"]] == [None, None, "100 KB", "1600 KB"]
    down = {"kind": "down", "link": "switch 4 - switch 5", "at": "2 s + 10 us"}
    assert scenario["fault"][1] == down
    assert "links to hosts have one Kmax here, that of the fastest: 1600 KB" in said
    assert "# Keys of other modes than CC_MODE 8: RATE_AI.\n" in (tmp_path / "out.toml").read_text()
    assert refused(duetime, tmp_path, CONFIG.replace("CC_MODE 8", "CC_MODE 5")).startswith(
        "7:9 CC_MODE 5 is unknown"
    )
    short = refused(duetime, tmp_path, CONFIG.replace("KMIN_MAP 3", "KMIN_MAP 4"))
    assert short == "13:1 `KMIN_MAP` announces 4 pairs of a rate and a value, and has 3"
    (tmp_path / "other").write_text(FLOWS.replace("500000", "600000"))
    done = duetime("import", "config", "other", "-o", "given.toml")
    assert "config: names mix/flow.txt; other was given and is read instead" in done.stderr
    assert "600000" in (tmp_path / "given-flows.csv").read_text()
    lost = refused(duetime, tmp_path, CONFIG.replace("mix/flow.txt", "mix/flows.txt"))
    assert lost == "4:11 the file mix/flows.txt is not found"


def configured(duetime: Command, folder: Path, *keys: str) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Import a configuration with a topology of 100 and 400 Gbps: its transport, its network, the file."""
    scenario, _ = imported(duetime, folder, config="\n".join((*keys, "SIMULATOR_STOP_TIME 2.01")), tree=TREE)
    checked = duetime("check", "out.toml")
    assert checked.returncode == 0, checked.stderr
    return scenario["transport"], scenario["network"], (folder / "out.toml").read_text()


#: Two hosts at each of two switches.
TREE = "6 2 5\n4 5\n" + "".join(
    f"{a} {b} {rate}Gbps 1000ns 0\n"
    for a, b, rate in ((0, 4, 100), (1, 4, 100), (2, 5, 100), (3, 5, 100), (4, 5, 400))
)
MAPS = (
    "KMAX_MAP 2 100000000000 1600 400000000000 6400",
    "KMIN_MAP 2 100000000000 400 400000000000 1600",
    "PMAX_MAP 2 100000000000 0.2 400000000000 0.2",
    "BUFFER_SIZE 32",
)


def test_a_configuration_of_dcqcn_has_its_times_steps_and_marks(duetime: Command, tmp_path: Path) -> None:
    keys = """CC_MODE 1
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
CLAMP_TARGET_RATE 0
RP_TIMER 300
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 1
RATE_AI 20Mb/s
RATE_HAI 200Mb/s
MIN_RATE 1000Mb/s
HAS_WIN 1
VAR_WIN 1
U_TARGET 0.95
L2_ACK_INTERVAL 1
L2_BACK_TO_ZERO 0
ACK_HIGH_PRIO 1
L2_CHUNK_SIZE 4000"""
    transport, network, text = configured(duetime, tmp_path, keys, *MAPS)
    assert transport == {
        "name": "dcqcn",
        "reaction": "periodic",
        "stages": "timer",
        "alpha_interval": "1 us",
        "cnp_interval": "4 us",
        "clamp_target": False,
        "increase_timer": "300 us",
        "g": 0.00390625,
        "fast_recovery": 1,
        "add_step": "20 Mbps",
        "hyper_step": "200 Mbps",
        "window": "scaled",
        "least_rate": "1%",
    }
    assert (network["mark"], network["red_kmax"]) == ("400 KB", {"host": "1600 KB", "uplink": "6400 KB"})
    assert (network["red_pmax"], network["lossless"], network["mark_at"]) == ("20%", True, "departure")
    # Without marks there is no time of them.
    _, unmarked, _ = configured(duetime, tmp_path, keys, "ENABLE_QCN 0", *MAPS)
    assert "mark_at" not in unmarked
    assert "# Keys of config without a meaning here: ACK_HIGH_PRIO 1, L2_CHUNK_SIZE 4000.\n" in text
    assert "# Keys of other modes than CC_MODE 1: U_TARGET.\n" in text
    transport, *_ = configured(duetime, tmp_path, keys.replace("HAS_WIN 1", "HAS_WIN 0"), *MAPS)
    assert transport["window"] == "none"


def test_configurations_of_other_modes_and_of_conweave(duetime: Command, tmp_path: Path) -> None:
    steps = ("RATE_AI 100Mb/s", "RATE_HAI 500Mb/s", "MIN_RATE 1000Mb/s", "U_TARGET 0.9", "MI_THRESH 0")
    transport, *_ = configured(duetime, tmp_path, "CC_MODE 3", *steps, *MAPS)
    assert transport == {"name": "hpcc", "eta": 0.9, "max_stage": 0, "additive_increase": "0.1%"}
    transport, *_ = configured(duetime, tmp_path, "CC_MODE 7", "HAS_WIN 0", *steps, *MAPS)
    assert (transport["hai_steps"], transport["add_step"], transport["window"]) == (5, "100 Mbps", "none")
    assert (transport["t_low"], transport["least_rate"]) == ("50 us", "1%")
    step = (*MAPS[1:], "KMAX_MAP 2 100000000000 400 400000000000 1600")
    _, network, _ = configured(duetime, tmp_path, "CC_MODE 8", *step)
    assert "marking" not in network
    assert (network["mark"], network["mark_at"]) == ("400 KB", "departure")
    assert network["links"][-1]["mark"] == "1600 KB"
    transport, network, _ = configured(duetime, tmp_path, "CC_MODE 1", "ENABLE_PFC 0", "ENABLE_IRN 1", *MAPS)
    assert transport["recovery"] == "sack"
    assert "lossless" not in network
    for irn, window in ((1, "fixed"), (0, "none")):
        keys = ("CC_MODE 1", "HAS_WIN 0", "VAR_WIN 0", "ENABLE_PFC 0", f"ENABLE_IRN {irn}", *MAPS)
        transport, *_ = configured(duetime, tmp_path, *keys)
        assert transport["window"] == window
    pint = refused(duetime, tmp_path, "CC_MODE 10\nSIMULATOR_STOP_TIME 2")
    assert pint.startswith("1:9 CC_MODE 10 is HPCC-PINT")
    low = "\n".join(("CC_MODE 1", "SIMULATOR_STOP_TIME 2", *MAPS)).replace(
        "1600 400000000000 6400", "300 400000000000 6400"
    )
    assert refused(duetime, tmp_path, low).startswith(
        "3:1 Kmax is below Kmin for links of 100 Gbps: 300 and 400"
    )


def test_a_distribution_needs_its_unit_where_the_file_has_none(duetime: Command, tmp_path: Path) -> None:
    scenario, _ = imported(duetime, tmp_path, sizes="0 0\n1000 50\n2000 100\n")
    assert scenario["traffic"][0]["size"] == "cdf(sizes)"
    ns2 = "6 1 0\n6 1 0.15\n20 1 1\n"
    said = refused(duetime, tmp_path, ns2)
    assert (
        said
        == "1:1 this file has three columns (ns-2's), and does not say whether it counts bytes or packets"
    )
    assert duetime("import", "f", "--scale", "1460 B", "-o", "ns2.toml").returncode == 0
    homa = "2\n1 0.5\n3 1\n"
    assert refused(duetime, tmp_path, homa).startswith("1:1 this file begins with its mean (Homa's)")
    done = duetime("import", "f", "--scale", "1442 B", "-o", "homa.toml")
    assert done.returncode == 0
    assert "read as steps" in done.stderr
    shape = tomllib.loads((tmp_path / "homa.toml").read_text())["traffic"][0]["size"]
    assert shape == {"cdf": "f", "scale": "1442 B"}
    falls = refused(duetime, tmp_path, "0 0\n1000 50\n2000 40\n3000 100\n")
    assert falls == "3:6 the probabilities must not fall from line to line"


def test_nothing_is_overwritten_and_no_other_file_is_taken(duetime: Command, tmp_path: Path) -> None:
    imported(duetime, tmp_path, flow=FLOWS)
    before = (tmp_path / "out.toml").read_bytes()
    done = duetime("import", "flow", "-o", "out.toml")
    assert done.returncode == 2
    assert "exists already" in done.stderr
    assert (tmp_path / "out.toml").read_bytes() == before
    (tmp_path / "other").write_text("hello\n")
    done = duetime("import", "other", "-o", "new.toml")
    assert done.returncode == 2
    assert all(each.name in done.stderr for each in FORMATS)
    done = duetime("import", "missing", "-o", "new.toml")
    assert (done.returncode, done.stderr) == (2, "error: missing: there is no such file\n")
    assert not (tmp_path / "new.toml").exists()
