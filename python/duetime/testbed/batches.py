"""Links that send several packets each time their timer wakes them.

HTB wakes for every packet of a busy link: 16 000 times a second at 200 Mbps, too often for the testbed's one
processor when others use it as well. With its hysteresis a link that was woken sends a burst
(`Options.burst_s`) and then waits for as long as that takes, so that it keeps its rate. This is a setting of
the kernel's module, for all of HTB's queues on the machine: it is on during a run only.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: Is there once the module is, that is once the first queue has been made.
HYSTERESIS = Path("/sys/module/sch_htb/parameters/htb_hysteresis")


@contextmanager
def in_batches(lock: int) -> Iterator[None]:
    """Have HTB send in batches, and restore the former setting, whatever ends this process.

    A process of its own does that, which holds the descriptor `lock` until it is done. Where the setting is
    not available, links send packet by packet.
    """
    try:
        former = HYSTERESIS.read_text(encoding="ascii").strip()
    except OSError:
        yield
        return
    keeper = subprocess.Popen(
        ["sh", "-c", 'read -r _; echo "$2" > "$1"', "sh", HYSTERESIS, former],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=(lock,),
        # Ctrl-C is for the testbed, not for the process that tidies up after it.
        start_new_session=True,
    )
    try:
        with suppress(OSError):
            HYSTERESIS.write_text("1", encoding="ascii")
        yield
    finally:
        keeper.communicate()
