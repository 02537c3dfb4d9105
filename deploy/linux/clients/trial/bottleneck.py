"""A service and its client on the testbed: replies share a marked link with three plain flows.

The service is host 0, and its client is host 1. Hosts 2 to 4 send to host 1 without end, under the same
congestion control and without deadlines. Programs run unchanged and unprivileged in the hosts' network
namespaces, and get D2TCP by their control group.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import duetime
from duetime.testbed import bench, need, network, plan, processes

SERVICE, CLIENT, OTHERS = 0, 1, (2, 3, 4)
#: The address of the service.
ADDRESS = network.address(SERVICE, ipv6=False)
#: The rate of the link, which a shared processor can sustain. At 200 some cannot, and replies with deadlines
#: are as late as others.
RATE_MBPS = 100
#: The size of a reply. A quarter of the link sends it in 1.6 s, half of it in 0.8 s. A pause of the machine
#: of some 50 ms is then small compared with the effect of deadlines.
REPLY_BYTES = 5_000_000
#: The time until the plain flows share the link fairly, in seconds.
_WARM_UP_S = 1.0
#: The ends of messages in the output of `d2tcp status --json`.
_ENDS = ("met", "missed", "cancelled", "unfinished")
#: Longer than any trial, which stops the flows at its end.
_DURATION_NS = 3600 * 10**9

_SCENARIO = {
    "profile": "classic",
    "run": {"duration": "1 ms"},
    "network": {
        "topology": "star",
        "hosts": 5,
        "delay": "20 us",
        "buffer": "4 MB",
        "sharing": "dynamic",
        # 3.6 ms of the link, as in the experiment `urgent`.
        "mark": "30 packets",
    },
    "transport": {"name": "dctcp", "handshake": True},
    "traffic": [{"name": f"plain-{host}", "pattern": "long", "from": host, "to": CLIENT} for host in OTHERS],
}


class Trial:
    """The testbed with its running plain flows."""

    def __init__(self, bed: bench.Bed, stack: ExitStack) -> None:
        """Start programs in `bed`, and stop them with `stack`."""
        self._bed, self._stack = bed, stack

    def start(
        self,
        host: int,
        command: Sequence[str | Path],
        environment: Mapping[str, str] | None = None,
        errors: int | None = None,
    ) -> subprocess.Popen[str]:
        """Start a program on a host, without any privilege, in the control group that has D2TCP."""
        bed = self._bed
        assert bed.group is not None
        group = bed.group / "cgroup.procs"

        def join() -> None:
            group.write_text("0")
            # As for the testbed's own hosts: the program must wait for the network, not for the processor.
            processes.on_one_processor()
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))

        enter = ["nsenter", f"--net=/proc/{bed.pids[host]}/ns/net"]
        bare = ["setpriv", "--bounding-set=-all", "--no-new-privs"]
        process = subprocess.Popen(
            [*enter, *bare, *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(environment or {})},
            preexec_fn=join,
        )
        self._stack.callback(_end, process)
        return process

    def accepted(self) -> int:
        """Return the number of announced messages."""
        return int(self._messages()["accepted"])

    def waiting(self) -> int:
        """Return the number of announced messages that have neither ended nor been cancelled."""
        messages = self._messages()
        return self.accepted() - sum(count for what, count in messages.items() if what in _ENDS)

    def _messages(self) -> dict[str, int]:
        tool = need.find("d2tcp")
        assert tool is not None
        said = subprocess.run([tool, "status", "--json"], capture_output=True, text=True, check=True).stdout
        messages = json.loads(said)["messages"]
        assert isinstance(messages, dict)
        return messages


@contextmanager
def trial(options: Sequence[str] = (), rate_mbps: int = RATE_MBPS) -> Iterator[Trial]:
    """Set up the testbed, with additional options of `d2tcp attach`, and start the plain flows."""
    network_ = {**_SCENARIO["network"], "rate": f"{rate_mbps} Mbps"}  # type: ignore[dict-item]
    simulated = duetime.run({**_SCENARIO, "network": network_})
    made = dataclasses.replace(plan.make(simulated, plan.Options(user_urgency="")), duration_ns=_DURATION_NS)
    with bench.ready(made, opt_in=False, options=options) as bed, ExitStack() as stack:
        bed.start()
        time.sleep(_WARM_UP_S)
        yield Trial(bed, stack)


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def hear(process: subprocess.Popen[str]) -> str:
    """Return the next line of a program's output; its end is a failure."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        said = process.stderr.read() if process.stderr else ""
        sys.exit(f"{process.args!r} ended with {process.wait()}: {said}")
    return line.rstrip("\n")
