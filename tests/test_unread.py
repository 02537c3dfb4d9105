"""Parameters that a transport takes and does not read: they change nothing, and a note says so."""

import json
from pathlib import Path
from typing import Any

import pytest

import duetime as dt
import goldens
from conftest import Command

#: Another value of each shared parameter but `recovery`, one that shows where it is read.
OTHERWISE = {
    "initial_window": 3,
    "cwnd_floor": 1,
    "floor_holds": "always",
    "slow_start_growth": "segment",
    "pacing": "window",
    "pacing_gain": 3,
    "pacing_gain_slow_start": 4,
    "window_limit": "3 packets",
    "nic_limit": "2 packets",
    "cwnd_validation": True,
    "nagle": True,
    "cut": "spread",
    "idle_restart": True,
    "handshake": True,
    "loss_detection": "rack",
    "reordering": "1 ms",
    "lost_retransmissions": "timeout",
    "rescue": True,
    "tlp": True,
    "limited_transmit": False,
    "rto_min": "3 ms",
    "rto_granularity": "4 ms",
    "rto_restart": "ack",
    "rto_initial": "2 ms",
    "rto_max": "30 ms",
    "backoff_reset": "ack",
    "ack_every": 3,
    "ack_delay": "3 ms",
    "receiver": "edf",
    "receiver_credit": "9 packets",
    "receiver_floor": 0.5,
    "receiver_patience": "3 ms",
}


def unread() -> dict[str, list[str]]:
    """Of each transport that leaves some unread."""
    return {each["name"]: each["unread"] for each in dt.catalog()["transports"] if each["unread"]}


@pytest.mark.parametrize("name", ["d3", "pdq", "edf-grants", "homa", "sird", "mcp-opt"])
def test_what_is_not_read_changes_nothing(name: str, tmp_path: Path) -> None:
    """In bursts into ports of six packets, with losses and timeouts, over connections that stay open."""
    base = tmp_path / "base.toml"
    base.write_text(goldens.BASE)
    (tmp_path / "messages.csv").write_text(goldens.MESSAGES)

    def made(**keys: Any) -> dict[str, Any]:
        changes = [f"transport.{key}={json.dumps(value)}" for key, value in keys.items()]
        result = dt.run(base, set=[*goldens.OPEN, *changes], transport=name)
        return {key: value for key, value in result.data.items() if key not in goldens.WALL_CLOCK}

    keys = unread()[name]
    plain = made()
    assert made(**{key: OTHERWISE[key] for key in keys if key in OTHERWISE}) == plain
    # RACK needs SACK.
    assert "recovery" not in keys or made(recovery="newreno") == plain
    assert made(mss="1000 B") != plain


def test_every_shared_parameter_has_another_value_here() -> None:
    assert {key for keys in unread().values() for key in keys} <= {*OTHERWISE, "recovery"}
    assert {"tcp", "d2tcp", "pfabric", "mcp"}.isdisjoint(unread())


def test_a_search_and_the_variants_tell_notes_too(duetime: Command, small: Path) -> None:
    note = "note: edf-grants: it does not read `rto_min` of [transport]\n"
    quick = ("--set", "run.duration=2 ms")
    for words in (
        ("tighten", small, "--target", "5%", "--seeds", 1),
        ("capacity", small, "--target", "5%", "--seeds", 1, "--to", 4),
        ("need", small, "--target", "5%", "--seeds", 1, "--over", "network.rate", "--to", "1 Gbps"),
        ("robust", small, "--variants", 2),
    ):
        done = duetime(*words, "--transports", "d2tcp,edf-grants", *quick)
        assert done.stderr.count(note) == 1, done.stderr
    done = duetime("run", small, *quick)
    assert "does not read" not in done.stderr


def test_what_no_compared_transport_reads_is_refused(duetime: Command, small: Path) -> None:
    words = ("compare", small, "--set", "run.duration=2 ms", "--set", "transport.nagle=true", "--transports")
    done = duetime(*words, "homa,sird")
    assert done.returncode == 2
    assert "--set transport.nagle: is not a parameter of homa or sird" in done.stderr
    assert duetime(*words, "homa,dctcp").returncode == 0
