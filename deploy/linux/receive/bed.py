"""Three network namespaces: senders, a switch with a shaped port, and an aggregator behind it.

    senders --- switch --- aggregator

The port to the aggregator has a rate and a buffer (HTB, a FIFO in bytes). Links send packet by packet.
Namespaces have names of their own and are removed at the end.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
#: The addresses of the senders, the aggregator and the router between them.
SENDERS, AGGREGATOR = "10.77.1.2", "10.77.2.2"
PORT = 7000


class BedError(Exception):
    """Something that the bed needs is missing or has failed."""


def tool() -> Path:
    """Return the tool: the one in D2TCP_TOOL, or that of `make linux`."""
    path = Path(os.environ.get("D2TCP_TOOL", ROOT / "target" / "release" / "d2tcp"))
    if not path.exists():
        raise BedError(f"{path} is missing: make linux")
    return path


def _run(*command: object) -> None:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise BedError(f"{' '.join(words)}: {done.stderr.strip()}")


class Bed:
    """The namespaces, with programs in them."""

    def __init__(self, stack: ExitStack, rate_mbps: float, buffer: int, mtu: int) -> None:
        """Make the namespaces and end them with `stack`."""
        self._stack = stack
        self.rate_mbps = rate_mbps
        self._name = f"d2r{os.getpid()}"
        for end in ("s", "r", "a"):
            self._namespace(end)
        self._link("s", f"{SENDERS}/24", "10.77.1.1/24", mtu)
        self._link("a", f"{AGGREGATOR}/24", "10.77.2.1/24", mtu)
        for end, router in (("s", "10.77.1.1"), ("a", "10.77.2.1")):
            _run("ip", "-n", self.namespace(end), "route", "add", "default", "via", router)
        self._inside("r", "sysctl", "-qw", "net.ipv4.ip_forward=1")
        settings = ["net.ipv4.tcp_no_metrics_save=1", "net.ipv4.tcp_slow_start_after_idle=0"]
        self._inside("s", "sysctl", "-qw", *settings)
        burst = max(3000, round(rate_mbps * 125 / 4))
        rate = ["rate", f"{rate_mbps}mbit", "burst", burst, "cburst", burst]
        self._inside("r", "tc", "qdisc", "add", "dev", "ra", "root", "handle", "1:", "htb", "default", 1)
        self._inside("r", "tc", "class", "add", "dev", "ra", "parent", "1:", "classid", "1:1", "htb", *rate)
        self._inside("r", "tc", "qdisc", "add", "dev", "ra", "parent", "1:1", "bfifo", "limit", buffer)

    def namespace(self, end: str) -> str:
        """Return the name of a namespace."""
        return self._name + end

    def _namespace(self, end: str) -> None:
        _run("ip", "netns", "add", self.namespace(end))
        self._stack.callback(_run, "ip", "netns", "del", self.namespace(end))
        _run("ip", "-n", self.namespace(end), "link", "set", "lo", "up")

    def _link(self, end: str, address: str, router: str, mtu: int) -> None:
        near, far = self.namespace(end), self.namespace("r")
        _run("ip", "link", "add", f"{end}0", "netns", near, "type", "veth", "peer", f"r{end}", "netns", far)
        for where, device, own in ((near, f"{end}0", address), (far, f"r{end}", router)):
            _run("ip", "-n", where, "addr", "add", own, "dev", device)
            _run("ip", "-n", where, "link", "set", device, "mtu", mtu, "gso_max_segs", 1, "up")

    def _inside(self, end: str, *command: object) -> None:
        _run("ip", "netns", "exec", self.namespace(end), *command)

    def start(
        self, end: str, command: Sequence[object], priority: int = 20, **options: object
    ) -> subprocess.Popen[str]:
        """Start a program in a namespace, at a real-time priority: it must wait for the network alone."""
        # `ip netns exec` would hide the control groups.
        enter = ["nsenter", f"--net=/run/netns/{self.namespace(end)}"]
        words = (
            [*enter, "chrt", "-f", str(priority), *(str(word) for word in command)]
            if priority
            else [
                *enter,
                *(str(word) for word in command),
            ]
        )
        process = subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            **options,  # type: ignore[call-overload]
        )
        self._stack.callback(_end, process)
        return process  # type: ignore[no-any-return]

    def serve(self, control: str = "cubic", port: int = PORT) -> subprocess.Popen[str]:
        """Start the senders: a program that answers a request with as many bytes as it asks for."""
        process = self.start("s", [sys.executable, HERE / "serve.py", SENDERS, port, control])
        hear(process)
        return process

    def receive(self, *options: object, end: str = "a", priority: int = 30) -> subprocess.Popen[str]:
        """Start the daemon at an end, as soon as it schedules."""
        socket = self.socket(end)
        command = [tool(), "receive", "--interface", f"{end}0", "--socket", socket, *options]
        process = self.start(end, command, priority)
        hear(process)
        return process

    def socket(self, end: str = "a") -> str:
        """Return the path of a daemon's socket."""
        return f"/run/{self.namespace(end)}.sock"

    def status(self, end: str = "a") -> dict[str, object]:
        """Return what a daemon says of itself."""
        command = [tool(), "receive", "--status", "--json", "--socket", self.socket(end)]
        said = subprocess.run(
            [str(word) for word in command], capture_output=True, text=True, check=True
        ).stdout
        state = json.loads(said)
        assert isinstance(state, dict)
        return state

    def aggregate(self, *options: object, end: str = "a") -> dict[str, float]:
        """Run the aggregator, and return its figures."""
        process = self.start(end, [sys.executable, HERE / "aggregate.py", SENDERS, *options])
        said, _ = process.communicate(timeout=300)
        if process.returncode:
            raise BedError(f"aggregate.py ended with {process.returncode}")
        figures = json.loads(said)
        assert isinstance(figures, dict)
        return figures


def hear(process: subprocess.Popen[str]) -> str:
    """Return the next line of a program's output; its end is a failure."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise BedError(f"{process.args!r} ended with {process.wait()}")
    return line.rstrip("\n")


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdout is not None:
        process.stdout.close()


@contextmanager
def bed(rate_mbps: float = 100, buffer: int = 400_000, mtu: int = 1500) -> Iterator[Bed]:
    """Make the namespaces, and remove them at the end with all programs in them."""
    with ExitStack() as stack:
        made = Bed(stack, rate_mbps, buffer, mtu)
        time.sleep(0.2)
        yield made
