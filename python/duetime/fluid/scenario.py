"""A scenario file in the fluid model: messages and paths are the same as for packets, its laws are fluid.

Settings that the model cannot represent are refused, with the key. Details below its resolution are left out,
and a note says so: which packet is lost first, or how an ACK is delayed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from duetime import _core, errors, foreseen, scenario
from duetime.contract import reading
from duetime.engine import Progress
from duetime.fluid import arrays, engine
from duetime.fluid.laws import LAWS, Law
from duetime.fluid.task import Task
from duetime.quantities import size_bytes, time_ps
from duetime.results import Result

if TYPE_CHECKING:
    from duetime.contract import measurements
    from duetime.contract.scenarios import Resolved, Transport
    from duetime.foreseen import Column

#: Keys of transports that tell packets apart, which there are none of here.
BELOW_THE_GRAIN = {
    "ack_delay", "ack_every", "backoff_reset", "cut", "cut_at", "cwnd_validation", "dup_ack_threshold",
    "floor_holds", "grow_on_echo", "growth_steps", "idle_restart", "limited_transmit", "nagle", "recovery",
    "rto_granularity", "rto_initial", "rto_max", "rto_restart",
}  # fmt: skip
#: Keys that are read elsewhere than in a law.
FRAMING = {"name", "mss", "header", "inherit"}
#: The only words of `[network]` that the model's ports can be.
PORTS = {
    "discipline": "fifo",
    "mark_at": "arrival",
    "marking": "threshold",
    "when_full": "drop-arriving",
}
#: After the measured time for messages with deadlines, in s: as long as that of the packets at most.
LONGEST_COOL_DOWN = 1.0


def simulate(task: Task, *, library: str = "numpy", progress: Progress | None = None) -> Result:
    """Run a scenario; its result has the form of a packet run's.

    `progress` is called with simulated seconds, their end, and 0. Raises `errors.Unreadable` for settings
    that the model cannot represent.
    """
    xp = arrays.namespace(library)
    begun = time.perf_counter()
    resolved, notes = task.resolved()
    transports = list(_transports(resolved))
    refuse(resolved, transports)
    try:
        ahead = _core.foreseen(task.text, task.name, **task.keywords())
    except _core.ScenarioError:
        raise
    except ValueError as error:
        raise errors.Unreadable(
            f"{task.name}: class `{error}`: when its messages start follows from others, for which the "
            "fluid model does not wait (levels)"
        ) from None
    columns = foreseen.columns(ahead)
    links, messages = _links(columns), _messages(columns, transports)
    laws = [_law(xp, each) for each in transports]
    duration = time_ps(resolved["run"]["duration"]) * 1e-12
    tau = _step(links, messages)
    if duration < tau:
        raise errors.Unreadable(
            f"run.duration: {resolved['run']['duration']} is less than one step of the fluid model, "
            f'{tau * 1e6:.4g} us here; engine = "packets" can'
        )
    until = duration + _cool_down(resolved, columns, duration)
    outcome = engine.simulate(
        xp, links, messages, laws, tau=tau, until=until,
        abort_late=all(each["expired"] == "abort" for each in transports if "expired" in each),
        progress=None if progress is None else lambda now: progress(min(now, duration), duration, 0),
    )  # fmt: skip
    measured = _measured(resolved, columns, ahead["links"], messages, outcome, duration)
    run = _core.measured(
        task.text,
        task.name,
        json.dumps(measured),
        **task.keywords(),
        wall_s=time.perf_counter() - begun,
    )
    contract = reading.run(run.json)
    contract["fluid"] = {"step_us": tau * 1e6, "steps": outcome.steps, "flow_steps": outcome.flow_steps}
    left_out = sorted(
        {key for each in transports for key in _changed(each, resolved["profile"]) if key in BELOW_THE_GRAIN}
    )
    if left_out:
        notes = [*notes, f"not in the fluid model, which has no packets: {', '.join(left_out)}"]
    return Result(json.dumps(contract, separators=(",", ":")), run.resolved, notes, run)


def refuse(resolved: Resolved, transports: Iterable[Transport]) -> None:
    """Say which key the model cannot say, if there is one."""
    if resolved.get("fault"):
        raise _Refused("fault", "its links do not fail")
    if resolved["run"].get("trace"):
        raise _Refused("run.trace", "it keeps no samples over time")
    for key, only in PORTS.items():
        if resolved["network"].get(key, only) != only:
            raise _Refused(f"network.{key}", f"its ports are {only}")
    for each in resolved["traffic"]:
        for key in ("priority", "weight"):
            if each.get(key) is not None:
                raise _Refused(f"traffic.{each['name']}.{key}", "its ports have no priorities and no weights")
    for transport in transports:
        name = transport["name"]
        law = LAWS.get(name)
        if law is None:
            raise _Refused("transport.name", f"it knows {', '.join(LAWS)}, not {name}")
        for key in _changed(transport, resolved["profile"]):
            if (
                key not in law.keys
                and key not in BELOW_THE_GRAIN | FRAMING
                and (key, transport.get(key))
                != (
                    "expired",
                    "abort",
                )
            ):
                raise _Refused(f"transport.{key}", f"its law of {name} knows {', '.join(law.keys)}")


class _Refused(errors.Unreadable):
    def __init__(self, key: str, why: str) -> None:
        super().__init__(f'{key}: the fluid model cannot say this: {why}. engine = "packets" can')


def _transports(resolved: Resolved) -> Iterable[Transport]:
    """The transport of each class."""
    for each in resolved["traffic"]:
        yield each.get("transport") or resolved["transport"]


def _changed(transport: Transport, profile: str) -> list[str]:
    """Keys that are not what the profile makes them."""
    plain = {
        "profile": profile,
        "run": {"duration": "1 s"},
        "network": {"topology": "star", "hosts": 2, "rate": "1 Gbps", "delay": "1 us"},
        "transport": {"name": transport["name"]},
        "traffic": [{"name": "a", "pattern": "flows", "flows": [{"from": 0, "to": 1, "size": "1 B"}]}],
    }
    text, _, _ = _core.check(scenario.read(plain).text, "plain")
    own: Mapping[str, object] = reading.resolved(text).get("transport", {})
    return [key for key, value in transport.items() if own.get(key) != value and key != "inherit"]


def _law(xp: Any, transport: Transport) -> Law:
    law = LAWS[transport["name"]]
    given = {key: transport.get(key) for key in law.keys}
    values = {key: _number(value) for key, value in given.items() if value is not None}
    frame = size_bytes(transport["mss"]) + size_bytes(transport["header"])
    return law(xp, float(frame), values)


def _number(value: object) -> float:
    """A time in s, a share or another number."""
    if isinstance(value, int | float):
        return value
    assert isinstance(value, str), f"{value!r} is no value of a law"
    if value.endswith("%"):
        return float(value[:-1]) / 100
    number, _, unit = value.partition(" ")
    return time_ps(value) * 1e-12 if unit.endswith("s") and not unit.startswith("packet") else float(number)


def _links(columns: Mapping[str, Column]) -> engine.Links:
    return engine.Links(columns["rate"] / 8.0, columns["delay"] * 1e-12, columns["room"], columns["mark"])


def _messages(columns: Mapping[str, Column], transports: Sequence[Transport]) -> engine.Messages:
    first = columns["first"].astype(np.int64)
    many, length = len(first) - 1, np.diff(first)
    hops = np.full((many, int(length.max(initial=1))), len(columns["rate"]), dtype=np.int64)
    rows = np.repeat(np.arange(many), length)
    hops[rows, np.arange(len(rows)) - np.repeat(first[:-1], length)] = columns["hops"]
    classes = columns["class"].astype(np.int64)
    payload = np.array([size_bytes(each["mss"]) for each in transports], dtype=float)[classes]
    frame = columns["frame"][classes]
    size = np.where(columns["bytes"] < 0, np.inf, columns["bytes"].astype(float))
    wire = size + np.ceil(size / payload) * (frame - payload)
    allowed = np.where(columns["deadline"] < 0, np.inf, columns["deadline"] * 1e-12)
    last = np.where(np.isfinite(size), np.minimum(wire, frame), frame)
    return engine.Messages(columns["start"] * 1e-12, wire, allowed, hops, classes, last)


def _step(links: engine.Links, messages: engine.Messages) -> float:
    """The round trip on an empty path that half of the messages have at most."""
    if not len(messages.start):
        return 1e-4
    delay = np.concatenate([links.delay, [0.0]])[messages.hops].sum(axis=1)
    rate = np.concatenate([links.rate, [np.inf]])[messages.hops]
    return float(np.median(2.0 * delay + (messages.frame[:, None] / rate).sum(axis=1)))


def _cool_down(resolved: Resolved, columns: Mapping[str, Column], duration: float) -> float:
    """Return the time beyond the measured one until all messages with a deadline are decided."""
    given = resolved["run"].get("cool_down")
    longest = time_ps(given) * 1e-12 if given else max(duration, LONGEST_COOL_DOWN)
    due = (columns["start"] + np.maximum(columns["deadline"], 0)) * 1e-12
    return float(min(longest, max(0.0, due[columns["deadline"] >= 0].max(initial=0.0) - duration)))


def _measured(
    resolved: Resolved,
    columns: Mapping[str, Column],
    ends: list[tuple[str, str]],
    messages: engine.Messages,
    outcome: engine.Outcome,
    duration: float,
) -> measurements.Measured:
    """Return the result in the form of measurements from a real network."""
    begin = time_ps(resolved["run"]["warm_up"]) * 1e-12
    classes = columns["class"]
    frame = float(columns["frame"].max(initial=1.0))
    # The bytes delivered within the window, as if each message had arrived evenly.
    last = np.where(np.isnan(outcome.end), duration, outcome.end)
    lasted = np.maximum(last - messages.start, 1e-12)
    inside = np.clip((np.minimum(last, duration) - np.maximum(messages.start, begin)) / lasted, 0.0, 1.0)
    size = np.where(
        columns["bytes"] < 0, outcome.delivered * _payload_share(resolved, columns), columns["bytes"]
    )
    came = np.where(np.isnan(outcome.end), outcome.delivered / np.maximum(messages.bytes, 1.0), 1.0)
    came = np.where(columns["bytes"] < 0, 1.0, came)
    delivered, wire = size * came * inside, outcome.delivered * inside
    lost = np.round(outcome.lost / frame).astype(int)
    packets = int(outcome.served.sum() / frame)
    end = [None if np.isnan(value) else round(value * 1e12) for value in outcome.end]
    ideal, deadline = _or_none(columns["ideal"]), _or_none(columns["deadline"])
    rows: list[measurements.Message] = [
        {
            "class": of_class, "from": source, "to": to, "query": query, "bytes": count,
            "start": begun, "end": ended, "ideal": least, "deadline": due,
            "timeouts": 0, "retransmits": again, "marks": 0, "delivered": got,
        }
        for (of_class, source, to, begun, again, got), query, count, ended, least, due in zip(
            zip(
                classes.tolist(), columns["from"].tolist(), columns["to"].tolist(),
                columns["start"].tolist(), lost.tolist(), delivered.astype(int).tolist(), strict=True,
            ),
            _or_none(columns["query"]), _or_none(columns["bytes"]), end, ideal, deadline, strict=True,
        )
    ]  # fmt: skip
    measured_for = max(outcome.steps * outcome.tau, 1e-12)
    return {
        "simulated": round(duration * 1e12),
        "ended": round(max(duration, measured_for) * 1e12),
        "counters": {
            "packets_sent": int(outcome.delivered.sum() / frame) + int(lost.sum()),
            "packets_received": int(outcome.delivered.sum() / frame),
            "packets_delivered": int(outcome.delivered.sum() / frame),
            "packet_hops": packets,
            "drops": int(lost.sum()),
            "marks": 0,
        },
        "classes": [
            {
                "delivered_bytes": int(delivered[classes == number].sum()),
                "bottleneck_bytes": int(wire[classes == number].sum()),
            }
            for number in range(len(resolved["traffic"]))
        ],
        "messages": rows,
        "links": [
            {
                "from": source, "to": to, "packets": round(served / frame), "bytes": round(served),
                "drops": 0, "marks": 0, "utilisation": min(1.0, served / (rate / 8.0 * measured_for)),
                "queue_mean": mean / frame, "queue_p5": 0, "queue_p50": round(mean / frame),
                "queue_p99": round(most / frame), "queue_max": round(most / frame),
            }
            for (source, to), rate, served, mean, most in zip(
                ends, columns["rate"].tolist(), outcome.served.tolist(), outcome.queue_mean.tolist(),
                outcome.queue_most.tolist(), strict=True,
            )
        ],
        "samples": [],
    }  # fmt: skip


def _or_none(column: engine.Column) -> list[int | None]:
    """Map -1 to None."""
    return [None if value < 0 else int(value) for value in column]


def _payload_share(resolved: Resolved, columns: Mapping[str, Column]) -> Column:
    payload = np.array([size_bytes(each["mss"]) for each in _transports(resolved)], dtype=float)
    found: Column = (payload / columns["frame"])[columns["class"]]
    return found
