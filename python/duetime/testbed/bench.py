"""One run on the testbed, from its set-up to its removal."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from duetime.contract import reading
from duetime.testbed import control, need, network
from duetime.testbed.batches import in_batches
from duetime.testbed.measured import Reports
from duetime.testbed.plan import Plan
from duetime.testbed.processes import Process

if TYPE_CHECKING:
    from duetime.contract.testbed import Counters, Go, HostSetup, SwitchSetup

#: The user that hosts run as: `nobody`, since messages with deadlines need no privilege.
USER = 65534
#: The time between two samples of a queue.
_WATCH_NS = 1_000_000
#: From the last preparation to the first message.
_LEAD_NS = 200_000_000
_PATIENCE_S = 30.0


class Bed:
    """A plan's switch and hosts, connected and ready, each in a network namespace of its own."""

    def __init__(self, plan: Plan, group: Path | None, stack: ExitStack) -> None:
        """Set them up; `stack` takes them away, with D2TCP's control group `group`."""
        self.plan, self.group = plan, group
        program = need.find("duetime-testbed")
        assert program is not None

        def process(role: str, name: str) -> Process:
            started = Process(program, role, name)
            stack.callback(started.stop)
            return started

        self._switch = process("switch", "the switch")
        self._hosts = [process("host", f"host {number}") for number in range(plan.hosts)]
        self._switch_pid = reading.ready(self._switch.hear(_PATIENCE_S))["pid"]
        #: Of the hosts: whoever enters their network namespaces is on the testbed.
        self.pids = [reading.ready(host.hear(_PATIENCE_S))["pid"] for host in self._hosts]
        network.connect(plan, self._switch_pid, self.pids)
        self._switch.tell(_switch_setup(plan))
        for number, host in enumerate(self._hosts):
            host.tell(_host_setup(plan, number, group))
        # Hosts first: a host that fails takes its port with it, and the switch would only miss the port.
        for each in (*self._hosts, self._switch):
            each.hear(_PATIENCE_S)
        self._start_ns = 0
        self._before: list[Counters] = []

    def start(self) -> None:
        """Begin with the plan's messages."""
        plan = self.plan
        self._before = network.counters(self._switch_pid, plan.hosts)
        self._start_ns = time.monotonic_ns() + _LEAD_NS
        go: Go = {
            "start_ns": self._start_ns,
            "duration_ns": plan.duration_ns,
            "warm_up_ns": plan.warm_up_ns,
        }
        self._switch.tell({**go, "sample_ns": plan.sample_ns if "queue" in plan.signals else None})
        for host in self._hosts:
            host.tell(go)

    def finish(self) -> Reports:
        """Wait for the end of the plan, and return the reports of all hosts and the switch."""
        plan = self.plan
        patience = plan.duration_ns / 1e9 + _PATIENCE_S
        reports = [reading.host_report(host.hear(patience)) for host in self._hosts]
        switch_report = reading.switch_report(self._switch.hear(patience))
        after = network.counters(self._switch_pid, plan.hosts)
        return Reports(
            start_ns=self._start_ns,
            hosts=reports,
            switch=switch_report,
            counters=[network.between(a, b) for a, b in zip(self._before, after, strict=True)],
            wall_s=plan.duration_ns / 1e9,
        )


def carry_out(plan: Plan) -> Reports:
    """Set the testbed up, run the plan, and remove it again; also after an error or Ctrl-C."""
    with ready(plan) as bed:
        bed.start()
        return bed.finish()


@contextmanager
def ready(plan: Plan, *, opt_in: bool = True, options: Sequence[str] = ()) -> Iterator[Bed]:
    """Yield the testbed of the plan, and remove it again whatever happens.

    D2TCP is attached with more `options`; without `opt_in` it also gets connections that do not ask for it.
    """
    need.check(control=plan.control is not None)
    with _terminable(), ExitStack() as stack:
        lock = stack.enter_context(control.alone())
        group = None
        if plan.control is not None:
            group = stack.enter_context(control.control_group())
            budget = ["--user-urgency", urgency] if (urgency := plan.options.user_urgency) else []
            all_options = [*budget, *options]
            stack.enter_context(control.attached(group, plan.control, opt_in=opt_in, options=all_options))
        bed = Bed(plan, group, stack)
        stack.enter_context(in_batches(lock))
        yield bed


def _switch_setup(plan: Plan) -> SwitchSetup:
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


def _host_setup(plan: Plan, number: int, group: Path | None) -> HostSetup:
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
    """Let SIGTERM and SIGHUP end a run as Ctrl-C does, with everything removed."""
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
