"""The fluid model: what a step does to queues and windows, by hand, and beside the packets."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import duetime
from duetime import _core
from duetime.errors import Missing
from duetime.fluid import arrays, engine, laws, sessions
from duetime.scenario import Unreadable

XP = arrays.namespace("numpy")
SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"
#: 10 Gbit/s, a round trip of 100 us: 125 kB in flight.
RATE, TAU, PIPE = 1.25e9, 1e-4, 1.25e5


def network(hosts: int, *, room: float = np.inf, mark: float = np.inf, line: float = RATE) -> engine.Links:
    """A link out of each of the hosts, and one that all share."""
    ports = np.array([np.inf] * hosts + [1.0])
    rate = np.array([line] * hosts + [RATE])
    return engine.Links(rate, np.full(hosts + 1, TAU / 4), room * ports, mark * ports)


def messages(
    sizes: list[float], allowed: float | list[float] = np.inf, start: float = 0.0
) -> engine.Messages:
    """One from each host, all over the shared link."""
    many = len(sizes)
    hops = np.stack([np.arange(many), np.full(many, many)], axis=1)
    due = np.broadcast_to(np.asarray(allowed, dtype=float), (many,)).copy()
    return engine.Messages(
        np.full(many, start),
        np.array(sizes, dtype=float),
        due,
        hops,
        np.zeros(many, int),
        np.full(many, 1500.0),
    )


def run(name: str, links: engine.Links, sent: engine.Messages, until: float, **values: Any) -> engine.Outcome:
    law = laws.LAWS[name](XP, 1500.0, values)
    return engine.simulate(XP, links, sent, [law], tau=TAU, until=until)


def test_sums_over_links_are_those_of_a_loop() -> None:
    random = np.random.default_rng(1)
    hops = random.integers(0, 8, (50, 4))
    values = random.random((50, 4))
    expected = np.zeros(8)
    np.add.at(expected, hops.reshape(-1), values.reshape(-1))
    found = arrays.Incidence(XP, hops, 8).sums([values[:, hop] for hop in range(4)])
    assert found == pytest.approx(expected, rel=1e-12)


def test_what_a_link_cannot_serve_waits_and_what_does_not_fit_is_lost() -> None:
    # Three flows at the rate of their links: of three pipes in a step one is served, one waits, one is lost.
    outcome = run("jit", network(3, room=PIPE), messages([np.inf] * 3), TAU)
    assert outcome.served[3] == pytest.approx(PIPE)
    assert outcome.queue_most[3] == pytest.approx(PIPE)
    assert outcome.lost.sum() == pytest.approx(PIPE)
    assert outcome.delivered.sum() == pytest.approx(2 * PIPE)


def test_a_message_ends_when_its_last_byte_has_crossed_queue_and_links() -> None:
    # Half a pipe from each of two: one step, no queue left but the excess of arrivals; 50 us of propagation.
    outcome = run("tcp", network(2), messages([PIPE / 2, PIPE / 2]), 1.0, initial_window=1e6)
    sending, flight, frames = PIPE / 2 / RATE, TAU / 2, 2 * 1500 / RATE
    assert outcome.end == pytest.approx([sending + flight + frames] * 2)
    late = run("tcp", network(2), messages([PIPE, PIPE], start=0.37 * TAU), 1.0, initial_window=1e6)
    # Twice as much: a pipe waits at the end of the step. The clock is the message's own.
    assert late.end - 0.37 * TAU == pytest.approx([PIPE / RATE + TAU + flight + frames] * 2)


def test_a_paced_message_arrives_at_its_deadline_and_no_earlier() -> None:
    sent = messages([10 * PIPE], allowed=20 * TAU)
    outcome = run("jit", network(1), sent, 1.0, aim=1.0, margin_rtts=0.0)
    assert outcome.end[0] == pytest.approx(20 * TAU + TAU / 2 + 2 * 1500 / RATE, rel=1e-6)
    assert outcome.queue_most[1] == 0.0


def test_dctcp_fills_the_link_and_keeps_the_queue_at_its_threshold() -> None:
    mark = 65 * 1500.0
    outcome = run("dctcp", network(2, mark=mark), messages([np.inf] * 2), 0.4)
    assert outcome.served[2] / (RATE * 0.4) > 0.98
    assert 0.3 * mark < outcome.queue_mean[2] < 1.5 * mark
    # TCP hears nothing and fills what there is.
    plain = run("tcp", network(2, mark=mark, room=10 * mark), messages([np.inf] * 2), 0.4)
    assert plain.queue_mean[2] > 3 * mark
    assert plain.lost.sum() > 0


def test_alpha_follows_the_share_of_marks_and_cuts_by_half_of_it() -> None:
    law = laws.Dctcp(XP, 1500.0, {"initial_alpha": 0.5, "g": 0.25})
    ones = np.ones(1)
    flows = laws.Flows(1e9 * ones, laws.FOREVER * ones, TAU * ones, RATE * ones)
    rows = law.start(flows) | {"window": 1e5 * ones, "threshold": 1e4 * ones}
    seen = laws.Seen(
        tau=TAU, rtt=TAU * ones, marked=0.3 * ones, lost=0.0 * ones, queued=0.0 * ones,
        load_price=lambda *_: 0.0 * ones, left=1e9 * ones, time_left=laws.FOREVER * ones, flows=flows,
    )  # fmt: skip
    after = law.step(rows, seen)
    assert after["alpha"][0] == pytest.approx(0.75 * 0.5 + 0.25 * 0.3)
    assert after["window"][0] == pytest.approx(1e5 * (1 - 0.45 / 2))
    # A round trip without marks adds a segment, however large alpha is.
    unmarked = law.step(rows, laws.Seen(**{**seen.__dict__, "marked": 0.0 * ones}))
    assert unmarked["window"][0] == pytest.approx(1e5 + 1500)
    # With a round trip of two steps, half of both.
    slow = law.step(rows, laws.Seen(**{**seen.__dict__, "rtt": 2 * TAU * ones}))
    assert slow["alpha"][0] == pytest.approx(0.875 * 0.5 + 0.125 * 0.3)


@pytest.mark.parametrize(
    ("left", "time_left", "d"), [(1.5e6, 5e-4, 2.0), (1.5e5, 1.0, 0.5), (1.5e5, laws.FOREVER, 1.0)]
)
def test_d2tcp_cuts_by_alpha_to_the_power_of_d(left: float, time_left: float, d: float) -> None:
    law = laws.D2tcp(XP, 1500.0)
    ones = np.ones(1)
    flows = laws.Flows(left * ones, time_left * ones, TAU * ones, RATE * ones)
    rows = law.start(flows) | {"window": 1.5e5 * ones, "alpha": 0.25 * ones}
    seen = laws.Seen(
        tau=TAU, rtt=TAU * ones, marked=ones, lost=0.0 * ones, queued=0.0 * ones,
        load_price=lambda *_: 0.0 * ones, left=left * ones, time_left=time_left * ones, flows=flows,
    )  # fmt: skip
    assert law.penalty(rows, seen)[0] == pytest.approx(0.25**d)


@pytest.mark.parametrize(("many", "gamma"), [(1, 0.5), (1, 0.9), (4, 0.2), (45, 0.02), (80, 0.01)])
def test_flows_of_mcp_rest_at_the_rates_that_their_deadlines_need(many: int, gamma: float) -> None:
    # 2000 round trips, of which the second half is examined: the delivered bytes must be the needed ones.
    size, steps = gamma * PIPE * 2000, 2000
    sent = messages([size] * many, allowed=steps * TAU)
    half = run("mcp-opt", network(many), sent, steps * TAU / 2, aim=1.0, margin_rtts=0.0)
    assert half.delivered.sum() == pytest.approx(many * size / 2, rel=0.05)
    assert half.queue_most[many] < PIPE


def test_a_floor_of_a_segment_per_round_trip_breaks_it() -> None:
    # 80 flows of a hundredth need 0.8 of the link; a segment of 1500 B each takes 0.96, of 3000 B 1.92.
    sent = messages([0.01 * PIPE * 2000] * 80, allowed=2000 * TAU)
    kept = run("mcp-opt", network(80), sent, 0.02, aim=1.0, margin_rtts=0.0)
    broken = run("mcp-opt", network(80), sent, 0.02, aim=1.0, margin_rtts=0.0, **{"least_rate": 3000 / PIPE})
    assert kept.queue_most[80] < PIPE
    assert broken.queue_most[80] > 100 * PIPE


def test_a_loss_halves_and_a_small_window_waits_for_its_timeout() -> None:
    law = laws.Tcp(XP, 1500.0, {"rto_min": 0.02})
    two = np.ones(2)
    flows = laws.Flows(1e9 * two, laws.FOREVER * two, TAU * two, RATE * two)
    rows = law.start(flows) | {"window": np.array([1e5, 4500.0])}
    seen = laws.Seen(
        tau=TAU, rtt=TAU * two, marked=0.0 * two, lost=np.array([0.1, 0.4]), queued=0.0 * two,
        load_price=lambda *_: 0.0 * two, left=1e9 * two, time_left=laws.FOREVER * two, flows=flows,
    )  # fmt: skip
    after = law.step(rows, seen)
    assert after["window"] == pytest.approx([5e4, 1500.0])
    assert after["silent"] == pytest.approx([0.0, 0.02])
    assert law.rate(after, TAU * two, flows)[1] == 0.0
    # Less than a segment is not lost yet.
    little = law.step(rows, laws.Seen(**{**seen.__dict__, "lost": np.array([0.01, 0.1])}))
    assert little["window"][0] > 1e5


def test_shares_of_a_host_leave_room_and_sessions_pause() -> None:
    assert 2 * sum(sessions.SHARES.values()) == pytest.approx(0.85)
    setting = sessions.Setting(hosts=16)
    drawn = sessions.draw(setting, 0.5, 0.2, seed=3)
    for name, (low, high) in sessions.ENDS.items():
        own = drawn.messages.bytes[drawn.type == sessions.TYPES.index(name)] * sessions.MSS / sessions.FRAME
        assert low <= own.min()
        assert own.max() <= high
    # Each host has as many sessions in as out, and is on about half of the time.
    out = np.bincount(drawn.messages.hops[:, 0], minlength=16)
    assert out.min() > 0
    on = drawn.messages.allowed.sum() / (0.2 * 16 * 6)
    assert 0.3 < on < 0.7
    assert np.all(np.diff(drawn.messages.start) >= 0)
    again = sessions.draw(setting, 0.5, 0.2, seed=3)
    assert np.array_equal(drawn.messages.bytes, again.messages.bytes)


@pytest.mark.parametrize("reading", ["collisions", "random"])
def test_paths_of_the_fat_tree_lead_from_link_to_link(reading: str) -> None:
    setting = sessions.Setting(reading=reading, hosts=16)
    drawn = sessions.draw(setting, 0.5, 0.05, seed=3)
    half, edges, hosts = 2, 16, 16
    for source, up, high, low, down, to in drawn.messages.hops[:200]:
        to_host = to - hosts
        if source // half == to_host // half:
            assert {up, high, low, down} == {len(drawn.links.rate)}
            continue
        assert (up - 2 * hosts) // half == source // half
        assert (down - 2 * hosts - edges) // half == to_host // half
        far = source // (half * half) != to_host // (half * half)
        assert far == (high != len(drawn.links.rate))
        if far:
            # The aggregation switch that the way up ends at is the one that the core link leaves.
            assert (high - 2 * hosts - 2 * edges) // half % half == (up - 2 * hosts) % half
            assert (low - high - edges) // (half * half) == to_host // 4 - source // 4
    # The core carries four times what a host does.
    assert drawn.links.rate[-1] == 4 * drawn.links.rate[0]


def test_runs_side_by_side_are_those_runs() -> None:
    setting = sessions.Setting(hosts=16)
    alone = [sessions.draw(setting, load, 0.01, seed=5) for load in (0.4, 0.9)]
    both, run_of = sessions.side_by_side(alone)
    law = [laws.LAWS["dctcp"](XP, 1500.0)]
    together = engine.simulate(XP, both.links, both.messages, law, tau=setting.rtt, until=0.01)
    for number, one in enumerate(alone):
        apart = engine.simulate(XP, one.links, one.messages, law, tau=setting.rtt, until=0.01)
        assert together.end[run_of == number] == pytest.approx(apart.end, nan_ok=True)


@pytest.mark.parametrize("name", list(laws.LAWS))
def test_nothing_beyond_the_array_api_standard_is_used(name: str) -> None:
    """array-api-strict has only the standard's functions; its results are the same to the last bit."""
    strict = importlib.import_module("array_api_strict")
    setting = sessions.Setting(reading="random", hosts=16)
    drawn = sessions.draw(setting, 0.8, 0.004, seed=1)

    def ends(xp: Any) -> Any:
        law = [laws.LAWS[name](xp, 1500.0)]
        return engine.simulate(xp, drawn.links, drawn.messages, law, tau=setting.rtt, until=0.004).end

    assert np.array_equal(ends(XP), ends(strict), equal_nan=True)


# Scenario files


SMALL = """
title = "Four flows"
profile = "classic"
[run]
duration = "60 ms"
engine = "fluid"
[network]
topology = "star"
hosts = 5
rate = "10 Gbps"
delay = "25 us"
buffer = "4 MB"
sharing = "per-port"
mark = "65 packets"
[transport]
name = "dctcp"
[[traffic]]
name = "four"
pattern = "flows"
flows = [{ from = "0..4", to = 4, size = "10 MB", deadline = "50 ms" }]
"""


def test_a_scenario_file_runs_as_fluid_and_gives_what_packets_give() -> None:
    fluid = duetime.run(SMALL)
    packets = duetime.run(SMALL, set={"run.engine": "packets"})
    assert fluid.data.keys() - packets.data.keys() == {"fluid"}
    assert fluid.summary["messages"] == packets.summary["messages"] == 4
    # 40 MB in frames of 1500 B for 1460 take 32.9 ms; both fill the link.
    for each in (fluid, packets):
        assert each.summary["fct_us"]["max"] == pytest.approx(32_900, rel=0.05)
    starts = [each.flows.sort("src")["start_us"].to_list() for each in (fluid, packets)]
    assert starts[0] == starts[1]


@pytest.mark.parametrize(("name", "until"), [("mixed", "30 ms"), ("incast", "100 ms")])
def test_foreseen_messages_are_those_of_a_run(name: str, until: str) -> None:
    path, changes = (
        SCENARIOS / f"{name}.toml",
        [f"run.duration={until}", "run.cool_down=0 s", "run.warm_up=0 s"],
    )
    ahead = _core.foreseen(path.read_text(encoding="utf-8"), name, str(SCENARIOS), set=changes)
    columns = {key: np.frombuffer(each[1], each[0]) for key, each in ahead.items() if key != "links"}
    flows = duetime.run(path, set=changes).flows
    assert flows.height == len(columns["start"])
    assert columns["from"].tolist() == [int(word.split()[-1]) for word in flows["src"].cast(str)]
    assert columns["start"] / 1e6 == pytest.approx(flows["start_us"].to_numpy())
    assert columns["bytes"].tolist() == [-1 if size is None else size for size in flows["bytes"].to_list()]
    due = [-1 if us is None else us * 1e6 for us in flows["deadline_us"].to_list()]
    assert columns["deadline"] == pytest.approx(np.array(due))
    # Each path begins at the sender's link and ends at the receiver's, one link after the other.
    ends, first, hops = ahead["links"], columns["first"].astype(int), columns["hops"]
    for row in range(0, flows.height, 7):
        way = [ends[link] for link in hops[first[row] : first[row + 1]]]
        assert way[0][0] == f"host {columns['from'][row]}"
        assert way[-1][1] == f"host {columns['to'][row]}"
        assert all(one[1] == next_one[0] for one, next_one in itertools.pairwise(way))


def test_a_comparison_may_be_fluid() -> None:
    found = duetime.compare(SMALL, transports=["tcp", "d2tcp"], seeds=2)
    assert set(found.data["runs"]) == {"tcp", "d2tcp"}
    for each in found.data["runs"].values():
        assert each["summary"]["messages"]["mean"] == 4


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"run.trace.every": "1 ms", "run.trace.what": ["queue"]}, "run.trace"),
        ({"network.discipline": "priority"}, "network.discipline"),
        ({"network.mark_at": "departure"}, "network.mark_at"),
        ({"transport.pacing": "window"}, "transport.pacing"),
        ({"transport.name": "d3"}, "transport.name"),
        ({"traffic.four.priority": 1}, "priority"),
        ({"traffic.four.weight": 3}, "weight"),
    ],
)
def test_what_the_model_cannot_say_is_refused_by_its_key(changes: dict[str, Any], key: str) -> None:
    with pytest.raises(Unreadable, match=f"{key}: the fluid model cannot say this"):
        duetime.run(SMALL, set=changes)


def test_trees_are_refused_as_their_messages_follow_from_others() -> None:
    with pytest.raises(Unreadable, match=r"class `.*`.*levels"):
        duetime.run(SCENARIOS / "tree.toml", set={"run.engine": "fluid"})


def test_what_is_below_the_grain_is_told() -> None:
    notes = duetime.run(SMALL, set={"transport.recovery": "newreno", "transport.ack_every": 2}).notes
    assert any("no packets: ack_every, recovery" in note for note in notes)


def test_a_library_that_is_not_there_is_named() -> None:
    with pytest.raises(Missing, match="not on abacus"):
        arrays.namespace("abacus")
    if importlib.util.find_spec("cupy") is None:
        with pytest.raises(Missing, match="cupy is not installed"):
            arrays.namespace("cupy")


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")
@pytest.mark.parametrize("law", ["dctcp", "mcp-opt"])
def test_jax_gives_what_numpy_gives(law: str) -> None:
    setting = sessions.Setting(reading="random", hosts=16)
    until = 40 * setting.rtt
    drawn = sessions.draw(setting, 0.8, until, seed=1)

    def ends(library: str) -> Any:
        xp = arrays.namespace(library)
        laws_of = [laws.LAWS[law](xp, sessions.FRAME)]
        return engine.simulate(xp, drawn.links, drawn.messages, laws_of, tau=setting.rtt, until=until).end

    # Sums may be taken in another order: times of some milliseconds, to a picosecond.
    np.testing.assert_allclose(ends("jax"), ends("numpy"), rtol=0, atol=1e-12)


def test_a_duration_below_one_step_is_refused() -> None:
    # A round trip of a full packet takes more than a microsecond.
    said = r"run\.duration: 1 us is less than one step of the fluid model, [\d.]+ us here"
    with pytest.raises(Unreadable, match=said):
        duetime.run(SMALL, set={"run.duration": "1 us", "run.engine": "fluid"})
