"""The requirements of the testbed on the machine, and messages on missing ones."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from duetime.errors import Missing

#: Where `make linux` puts programs, for a checkout that is used in place.
BUILT = Path(__file__).resolve().parents[3] / "target" / "release"


def check(control: bool) -> None:
    """Check that a testbed can run, with D2TCP if `control`; raise `Missing` with every missing part."""
    missing = []
    if os.geteuid() != 0:
        missing.append("it must be run as root: it makes network namespaces and loads BPF programs")
    for tool, package in (("ip", "iproute2"), ("tc", "iproute2"), ("nsenter", "util-linux")):
        if shutil.which(tool) is None:
            missing.append(f"the program {tool} (Debian: {package})")
    missing.extend(
        f"the program {name}: `make linux` builds it"
        for name in ["duetime-testbed", *(["d2tcp"] if control else [])]
        if find(name) is None
    )
    if not Path("/sys/kernel/btf/vmlinux").exists():
        missing.append("a kernel with BTF (CONFIG_DEBUG_INFO_BTF): /sys/kernel/btf/vmlinux does not exist")
    if control and cgroup2() is None:
        missing.append("a mounted cgroup2 file system")
    if missing:
        raise Missing("the testbed cannot run here:\n" + "\n".join(f"  - {each}" for each in missing))


def find(program: str) -> Path | None:
    """Find a program of ours: in ``DUETIME_PROGRAMS``, in what `make linux` built, on the path."""
    folders = [Path(os.environ["DUETIME_PROGRAMS"])] if "DUETIME_PROGRAMS" in os.environ else []
    for folder in [*folders, BUILT]:
        if os.access(folder / program, os.X_OK) and (folder / program).is_file():
            return folder / program
    found = shutil.which(program)
    return Path(found) if found else None


def cgroup2() -> Path | None:
    """Return where cgroup2 is mounted."""
    mounts = Path("/proc/self/mounts")
    if not mounts.exists():
        return None
    for line in mounts.read_text(encoding="utf-8").splitlines():
        _, place, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(place)
    return None
