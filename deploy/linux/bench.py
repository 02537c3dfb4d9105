#!/usr/bin/env python3
"""What D2TCP costs: throughput over loopback against the kernel's cubic, in pairs, and the time of a call.

Needs root and the tool in target/release. Works in a network namespace and a cgroup of its own.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

TOOL = Path(__file__).resolve().parent.parent / "target/release/d2tcp"
CLONE_NEWNET = 0x40000000


def throughput(control: str, seconds: float) -> float:
    """Return the Gbit/s of one connection with both ends under `control`."""
    with socket.socket() as listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        with socket.socket() as sender:
            sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
            sender.connect(listener.getsockname())
            receiver, _ = listener.accept()
            with receiver:
                ends = time.monotonic() + seconds
                sending = threading.Thread(target=send_until, args=(sender, ends))
                sending.start()
                room, got, begun = bytearray(1 << 20), 0, time.monotonic()
                while count := receiver.recv_into(room):
                    got += count
                took = time.monotonic() - begun
                sending.join()
                return got * 8 / took / 1e9


def send_until(sender: socket.socket, ends: float) -> None:
    """Send data without pause."""
    data = bytes(1 << 20)
    while time.monotonic() < ends:
        sender.sendall(data)
    sender.shutdown(socket.SHUT_WR)


def main() -> None:
    """Run the pairs and print the results."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pairs", type=int, default=15)
    options.add_argument("--seconds", type=float, default=1.0, help="of each run")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    if os.geteuid() != 0:
        sys.exit("root is needed")
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    root = Path(next(mount[1] for mount in mounts if mount[2] == "cgroup2"))
    before = root / next(
        line[4:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::/")
    )
    cgroup = root / f"d2tcp-bench-{os.getpid()}"
    cgroup.mkdir()
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        sys.exit("no network namespace of its own")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    tool = [str(TOOL), "--pins", f"/sys/fs/bpf/{cgroup.name}"]
    subprocess.run(
        [*tool, "attach", "--cgroup", str(cgroup), "--opt-in"], check=True, stdout=subprocess.DEVNULL
    )
    try:
        (cgroup / "cgroup.procs").write_text(str(os.getpid()))
        throughput("d2tcp", 0.2)
        throughput("cubic", 0.2)
        pairs = []
        for _ in range(given.pairs):
            order = ["cubic", "d2tcp"]
            random.shuffle(order)
            run = {control: throughput(control, given.seconds) for control in order}
            pairs.append((run["d2tcp"], run["cubic"]))
        status = json.loads(
            subprocess.run([*tool, "status", "--json"], check=True, capture_output=True).stdout
        )
    finally:
        (before / "cgroup.procs").write_text(str(os.getpid()))
        subprocess.run([*tool, "detach"], check=True, stdout=subprocess.DEVNULL)
        cgroup.rmdir()
    ratios = [ours / theirs for ours, theirs in pairs]
    resampled = sorted(statistics.median(random.choices(ratios, k=len(ratios))) for _ in range(2000))
    result = {
        "pairs": len(pairs),
        "d2tcp_gbps": statistics.median(ours for ours, _ in pairs),
        "cubic_gbps": statistics.median(theirs for _, theirs in pairs),
        "ratio": statistics.median(ratios),
        "ratio_95": [resampled[50], resampled[-51]],
        "ns_per_call": status["ns_per_call"],
        "ns_per_receiver_call": status["ns_per_receiver_call"],
    }
    if given.json:
        print(json.dumps(result, indent=2))
        return
    low, high = result["ratio_95"]
    print(f"d2tcp {result['d2tcp_gbps']:.1f} Gbit/s, cubic {result['cubic_gbps']:.1f} Gbit/s (medians)")
    print(
        f"d2tcp / cubic, paired: {result['ratio']:.3f} (95 % interval of the median {low:.3f} to {high:.3f})"
    )
    calls = result["ns_per_call"], result["ns_per_receiver_call"]
    print("{:.0f} ns per acknowledgement, {:.0f} ns per arrival".format(*calls))


if __name__ == "__main__":
    main()
