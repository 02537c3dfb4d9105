"""One run on the testbed, from nothing and back to nothing."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from duetime.testbed import control, need, network
from duetime.testbed.measured import Reports
from duetime.testbed.plan import Plan
from duetime.testbed.processes import Process

#: Whom hosts run as: nobody, since messages with deadlines need no privilege.
USER = 65534
#: Between two looks at a queue.
_WATCH_NS = 1_000_000
#: From the last preparation to the first message.
_LEAD_NS = 200_000_000
_PATIENCE_S = 30.0


def carry_out(plan: Plan) -> Reports:
    """Set the testbed up, run the plan, take it away again; also when something fails or Ctrl-C comes."""
    need.check(control=plan.control is not None)
    with _terminable(), ExitStack() as stack:
        stack.enter_context(control.alone())
        group = None
        if plan.control is not None:
            group = stack.enter_context(control.control_group())
            stack.enter_context(control.attached(group, plan.control))
        return _run(plan, group, stack)


def _run(plan: Plan, group: Path | None, stack: ExitStack) -> Reports:
    program = need.find("duetime-testbed")
    assert program is not None

    def process(role: str, name: str) -> Process:
        started = Process(program, role, name)
        stack.callback(started.stop)
        return started

    switch = process("switch", "the switch")
    hosts = [process("host", f"host {number}") for number in range(plan.hosts)]
    switch_pid = int(switch.hear(_PATIENCE_S)["pid"])
    network.connect(plan, switch_pid, [int(host.hear(_PATIENCE_S)["pid"]) for host in hosts])

    switch.tell(_switch_setup(plan))
    for number, host in enumerate(hosts):
        host.tell(_host_setup(plan, number, group))
    # Hosts first: with a host that fails its port goes too, and the switch would only miss that.
    for each in (*hosts, switch):
        each.hear(_PATIENCE_S)

    before = network.counters(switch_pid, plan.hosts)
    start_ns = time.monotonic_ns() + _LEAD_NS
    go = {"start_ns": start_ns, "duration_ns": plan.duration_ns, "warm_up_ns": plan.warm_up_ns}
    switch.tell({**go, "sample_ns": plan.sample_ns if "queue" in plan.signals else None})
    for host in hosts:
        host.tell(go)
    patience = plan.duration_ns / 1e9 + _PATIENCE_S
    reports = [host.hear(patience) for host in hosts]
    switch_report = switch.hear(patience)
    after = network.counters(switch_pid, plan.hosts)
    return Reports(
        start_ns=start_ns,
        hosts=reports,
        switch=switch_report,
        counters=[{key: b[key] - a[key] for key in a} for a, b in zip(before, after, strict=True)],
        wall_s=plan.duration_ns / 1e9,
    )


def _switch_setup(plan: Plan) -> dict[str, Any]:
    watched = plan.receivers()
    return {
        "sysctl": [
            ["net.ipv4.ip_forward", "1"],
            ["net.ipv6.conf.all.forwarding", "1"],
            ["net.ipv4.conf.all.rp_filter", "0"],
        ],
        "watch_ns": _WATCH_NS,
        "ports": [
            {
                "interface": network.port_name(host),
                "mark_packets": link.mark[0],
                "mark_bytes": link.mark[1],
                "drop_non_ect": link.drop_non_ect,
                "watched": host in watched,
            }
            for host, link in enumerate(plan.ports)
        ],
    }


def _host_setup(plan: Plan, number: int, group: Path | None) -> dict[str, Any]:
    ipv6 = plan.options.ipv6
    allowed = {"d2tcp", *control.unprivileged()}
    mine = [message for message in plan.messages if message.sender == number]
    theirs = {message.flow.name for message in plan.messages if message.receiver == number}
    return {
        "sysctl": plan.sysctl,
        "cgroup": str(group) if group else None,
        "user": USER,
        "net_admin": any(flow.control not in allowed for flow in plan.flows),
        "listen": [
            {"address": network.endpoint(number, flow.port, ipv6), "control": flow.peer}
            for flow in plan.flows
            if flow.name in theirs
        ],
        "messages": [
            {
                "number": message.row,
                "at_ns": message.at_ns,
                "to": network.endpoint(message.receiver, message.flow.port, ipv6),
                "control": message.flow.control,
                "bytes": message.size,
                "deadline_ns": message.deadline_ns,
                "persistent": message.flow.persistent,
            }
            for message in sorted(mine, key=lambda message: message.at_ns)
        ],
        "sample_ns": plan.sample_ns,
    }


@contextmanager
def _terminable() -> Iterator[None]:
    """Have SIGTERM and SIGHUP end a run as Ctrl-C does, with everything taken away."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        raise KeyboardInterrupt(f"the testbed was ended by {signal.Signals(number).name}; nothing was kept")

    former = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
