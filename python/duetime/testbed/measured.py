"""From the reports of hosts and switch to a result in the simulator's form."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from duetime import _core, scenario
from duetime.contract import reading
from duetime.results import Result
from duetime.testbed.network import port_name
from duetime.testbed.plan import Plan

if TYPE_CHECKING:
    from duetime.contract import measurements
    from duetime.contract.runs import Testbed
    from duetime.contract.testbed import Counters, HostReport, Received, SwitchReport

#: A run with a longer pause of the machine measures the machine. The urgent message of `urgent` took 568 to
#: 610 ms in runs without a pause above 12 ms, 767 and 1009 ms in two with 25 and 65 ms.
PAUSE_MS = 15.0
_HEADERS = 40


@dataclass(frozen=True)
class Reports:
    """The reports of one run of the testbed."""

    start_ns: int
    hosts: list[HostReport]
    switch: SwitchReport
    #: Of each port, during the run.
    counters: list[Counters]
    wall_s: float


@dataclass(frozen=True)
class Origin:
    """The scenario that was run, as `duetime.run` takes it."""

    read: scenario.Scenario
    seed: int | None
    changes: scenario.Changes | None
    transport: str | None


def result(origin: Origin, plan: Plan, reports: Reports) -> Result:
    """Make a result: its summaries follow the same rules as the simulator's."""
    measured: measurements.Measured = {
        "simulated": plan.duration_ns * 1000,
        "counters": _counters(reports),
        "classes": _classes(plan, reports),
        "messages": _messages(plan, reports),
        "links": _links(plan, reports),
        "samples": list(_samples(plan, reports)),
    }
    run = _core.measured(
        origin.read.text,
        origin.read.name,
        json.dumps(measured),
        origin.read.folder,
        set=scenario.changes(origin.changes),
        seed=origin.seed,
        transport=origin.transport,
        wall_s=reports.wall_s,
    )
    contract = reading.run(run.json)
    contract["testbed"] = _about(plan, reports)
    notes = [*run.notes, *plan.notes, *_troubles(reports)]
    return Result(json.dumps(contract, separators=(",", ":")), run.resolved, notes, run)


def _about(plan: Plan, reports: Reports) -> Testbed:
    """Return the properties that a simulated run lacks: the machine, and its kernel's figures."""
    sent = [each for host in reports.hosts for each in host["sent"]]
    states = [each["state"] for each in sent if each["state"]]
    round_trips = [each["min_rtt_us"] for each in sent if 0 < each["min_rtt_us"] < 2**32 - 1]
    late = _lateness_us(plan, reports)
    imminence = [value for host in reports.hosts for what, _, _, value in host["samples"] if what == "d"]
    return {
        "kernel": platform.release(),
        "cpus": os.cpu_count(),
        "ip": 6 if plan.options.ipv6 else 4,
        "min_rtt_us": min(round_trips, default=None),
        "start_late_us": {"p99": late[int(0.99 * (len(late) - 1))], "max": late[-1]} if late else None,
        # Between two samples of the queues, which are due every millisecond.
        "longest_pause_ms": _pause_ms(reports),
        "ecn_connections": sum(state["ecn"] for state in states),
        "d2tcp_connections": len(states),
        "deadlines_told": sum(state["messages"] for state in states),
        "deadlines_refused": sum(each["refused"] is not None for each in sent),
        "control_met": sum(state["met"] for state in states),
        "control_missed": sum(state["missed"] for state in states),
        "cuts": sum(state["cuts"] for state in states),
        "failed_connections": sum(each["error"] is not None for each in sent),
        "non_ect_drops": sum(port["non_ect_drops"] for port in reports.switch["ports"]),
        # As the control reported it to its program, while messages were under way.
        "d_lowest": min(imminence, default=None),
        "d_highest": max(imminence, default=None),
    }


def _troubles(reports: Reports) -> Iterable[str]:
    sent = [each for host in reports.hosts for each in host["sent"]]
    for what, reasons in (
        ("connections failed", [each["error"] for each in sent]),
        ("deadlines were refused", [each["refused"] for each in sent]),
    ):
        words = [reason for reason in reasons if reason is not None]
        if words:
            yield f"{len(words)} {what}, the first: {words[0]}"
    if _pause_ms(reports) > PAUSE_MS:
        pause = f"{_pause_ms(reports):.0f} ms"
        yield f"the machine stood still for {pause}, and its links with it: run this again"


def _pause_ms(reports: Reports) -> float:
    return float(reports.switch["longest_pause_ns"] / 1e6)


def _lateness_us(plan: Plan, reports: Reports) -> list[float]:
    planned = {message.row: message.at_ns for message in plan.messages}
    late = [
        (each["start_ns"] - reports.start_ns - planned[each["number"]]) / 1e3
        for host in reports.hosts
        for each in host["sent"]
        if each["start_ns"]
    ]
    return sorted(late)


def _counters(reports: Reports) -> measurements.Counters:
    sent = sum(each["rx_packets"] for each in reports.counters)
    received = sum(each["tx_packets"] for each in reports.counters)
    ports = reports.switch["ports"]
    return {
        "packets_sent": sent,
        "packets_received": received,
        "packets_delivered": sum(host["segments"] for host in reports.hosts),
        "packet_hops": sent + received,
        "drops": sum(port["drops"] + port["non_ect_drops"] for port in ports),
        "marks": sum(port["marks"] for port in ports),
    }


def _received(reports: Reports) -> dict[int, Received]:
    return {int(row): each for host in reports.hosts for row, each in host["received"].items()}


def _classes(plan: Plan, reports: Reports) -> list[measurements.ClassTotals]:
    received = _received(reports)
    totals: dict[str, measurements.ClassTotals] = {
        flow.name: {"delivered_bytes": 0, "bottleneck_bytes": 0} for flow in plan.flows
    }
    for message in plan.messages:
        got = received.get(message.row)
        if got is not None:
            total = totals[message.flow.name]
            total["delivered_bytes"] += got["counted_bytes"]
            # Without retransmissions: which of the packets at a port were whose is not counted there.
            total["bottleneck_bytes"] += got["bytes"] + _HEADERS * math.ceil(got["bytes"] / plan.mss)
    return list(totals.values())


def _messages(plan: Plan, reports: Reports) -> list[measurements.Message]:
    received = _received(reports)
    sent = {each["number"]: each for host in reports.hosts for each in host["sent"]}
    classes = {flow.name: number for number, flow in enumerate(plan.flows)}
    messages: list[measurements.Message] = []
    for message, row in zip(plan.messages, plan.schedule.iter_rows(named=True), strict=True):
        there, here = received.get(message.row), sent.get(message.row)
        start_ns = message.at_ns if here is None else here["start_ns"] - reports.start_ns
        end_ns = None if there is None else there["end_ns"]
        messages.append(
            {
                "class": classes[message.flow.name],
                "from": message.sender,
                "to": message.receiver,
                "query": row["query"],
                "bytes": message.size,
                "start": max(0, start_ns) * 1000,
                "end": None if end_ns is None else (end_ns - reports.start_ns) * 1000,
                "ideal": _ps(row["ideal_fct_us"]),
                "deadline": _ps(row["deadline_us"]),
                "timeouts": here["timeouts"] if here else 0,
                "retransmits": here["retransmits"] if here else 0,
                "marks": here["marks"] if here else 0,
                "delivered": there["counted_bytes"] if there else 0,
            }
        )
    return messages


def _links(plan: Plan, reports: Reports) -> list[measurements.Link]:
    ports = {port["interface"]: port for port in reports.switch["ports"]}
    seconds = plan.duration_ns / 1e9
    links: list[measurements.Link] = []
    for row in plan.links.iter_rows(named=True):
        outward = row["dst"].startswith("host ")
        host = int((row["dst"] if outward else row["src"]).removeprefix("host "))
        counters, port = reports.counters[host], ports[port_name(host)]
        size = counters["tx_bytes"] if outward else counters["rx_bytes"]
        links.append(
            {
                "from": row["src"],
                "to": row["dst"],
                "packets": counters["tx_packets"] if outward else counters["rx_packets"],
                "bytes": size,
                "drops": port["drops"] + port["non_ect_drops"] if outward else 0,
                "marks": port["marks"] if outward else 0,
                "utilisation": size * 8 / (row["rate_bps"] * seconds),
                **_queue(port["lengths"] if outward else [], port["longest"] if outward else 0),
            }
        )
    return links


def _queue(lengths: list[int], longest: int) -> measurements.Queue:
    """Distribution of a queue's length, from how often each length was seen."""
    seen = sum(lengths)
    if not seen:
        return {"queue_mean": 0.0, "queue_p5": 0, "queue_p50": 0, "queue_p99": 0, "queue_max": longest}

    def percentile(share: float) -> int:
        below = 0
        for length, times in enumerate(lengths):
            below += times
            if below >= share * seen:
                return length
        return len(lengths) - 1

    return {
        "queue_mean": sum(length * times for length, times in enumerate(lengths)) / seen,
        "queue_p5": percentile(0.05),
        "queue_p50": percentile(0.50),
        "queue_p99": percentile(0.99),
        "queue_max": max(longest, len(lengths) - 1),
    }


def _samples(plan: Plan, reports: Reports) -> Iterable[measurements.Sample]:
    links = list(zip(plan.links["src"], plan.links["dst"], strict=True))
    samples: list[tuple[int, str, int | None, int | None, float]] = []
    for host in reports.hosts:
        samples += [(at, what, row, None, value) for what, at, row, value in host["samples"]]
    for port in reports.switch["ports"]:
        name = f"host {port['interface'].removeprefix('port')}"
        link = next(number for number, ends in enumerate(links) if ends[1] == name)
        samples += [(at, "queue", None, link, float(length)) for at, length in port["samples"]]
    order = {signal: number for number, signal in enumerate(plan.signals)}
    wanted = [sample for sample in samples if sample[1] in order]
    wanted.sort(key=lambda sample: (sample[0], order[sample[1]], sample[2] or 0, sample[3] or 0))
    for at, what, of_message, of_link, value in wanted:
        yield {"at": at * 1000, "what": what, "message": of_message, "link": of_link, "value": value}


def _ps(us: float | None) -> int | None:
    return None if us is None else round(us * 1e6)
