"""A service and its client on the testbed: replies share a marked link with three plain flows.

The service is host 0, its client host 1; hosts 2 to 4 send to host 1 without end, under the same congestion
control and without deadlines. Programs run unchanged and unprivileged in the hosts' network namespaces, and
get D2TCP by their control group.
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
#: Where the service is.
ADDRESS = network.address(SERVICE, ipv6=False)
#: What a processor that others use as well keeps up with. With 200 not every one does, and replies with
#: deadlines are as late there as others.
RATE_MBPS = 100
#: A quarter of the link carries it in 1.6 s, half of it in 0.8 s: so long that a pause of the machine, of
#: 50 ms say, is small beside what deadlines change.
REPLY_BYTES = 5_000_000
#: Until the plain flows have shared the link out among them, in seconds.
_WARM_UP_S = 1.0
#: How messages end, as `d2tcp status --json` says.
_ENDS = ("met", "missed", "cancelled", "unfinished")
#: Longer than any trial: it is taken away when the trial ends.
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
    """The testbed with its plain flows under way."""

    def __init__(self, bed: bench.Bed, stack: ExitStack) -> None:
        """Start programs in `bed`, and end them with `stack`."""
        self._bed, self._stack = bed, stack

    def start(
        self,
        host: int,
        command: Sequence[str | Path],
        environment: Mapping[str, str] | None = None,
        errors: int | None = None,
    ) -> subprocess.Popen[str]:
        """Start a program on a host: without any privilege, in the control group that has D2TCP."""
        bed = self._bed
        assert bed.group is not None
        group = bed.group / "cgroup.procs"

        def join() -> None:
            group.write_text("0")
            # As the testbed's own hosts: it shall wait for the network, not for the machine's other work.
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
        """How many messages have been announced."""
        return int(self._messages()["accepted"])

    def waiting(self) -> int:
        """How many of them have neither ended nor been cancelled."""
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
    """Set the testbed up, with more options of `d2tcp attach`, and have the plain flows begin."""
    network_ = {**_SCENARIO["network"], "rate": f"{rate_mbps} Mbps"}  # type: ignore[dict-item]
    simulated = duetime.run({**_SCENARIO, "network": network_})
    made = dataclasses.replace(plan.make(simulated, plan.Options()), duration_ns=_DURATION_NS)
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
    """The next line that a program says; its end is a failure."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        said = process.stderr.read() if process.stderr else ""
        sys.exit(f"{process.args!r} ended with {process.wait()}: {said}")
    return line.rstrip("\n")
