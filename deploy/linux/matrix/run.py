"""Boot other kernels under emulation and see what D2TCP does on each: ``make kernel-matrix``.

Takes the kernels for virtual machines of Debian and Ubuntu as `apt` has them from the suites in `SOURCES`:
of each series from 6.1 on the newest, or with ``--all`` every one. Each boots with qemu without hardware
virtualisation, from a file system in memory with the programs of ``make linux`` and busybox, and is
checked, attached to and detached from. On those named with ``--measure`` D2TCP is measured as well, beside
the kernel's own DCTCP, which needs Python there and takes ten minutes or more.

Writes ``deploy/linux/record/kernels.json``, in which kernels that were not tried this time stay. Needs
Debian's qemu-system-x86, busybox-static, cpio, kmod, xz-utils and zstd.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
RECORD = ROOT / "deploy" / "linux" / "record" / "kernels.json"
NEEDED = (
    "apt-get",
    "apt-cache",
    "dpkg-deb",
    "depmod",
    "cpio",
    "ldd",
    "busybox",
    "xz",
    "zstd",
    "qemu-system-x86_64",
)
#: The folder of apt's lists for these suites; the machine's own are not changed.
STATE = ROOT / "target" / "matrix"
#: The age at which the lists are fetched anew.
STALE_S = 86400
#: Distribution -> its archives and suites.
SOURCES = {
    "debian": [
        ("http://deb.debian.org/debian", "bookworm bookworm-updates bookworm-backports"),
        ("http://deb.debian.org/debian", "trixie trixie-updates trixie-backports sid"),
        ("http://deb.debian.org/debian-security", "bookworm-security trixie-security"),
    ],
    "ubuntu": [
        ("http://archive.ubuntu.com/ubuntu", "jammy-updates noble noble-updates plucky questing"),
    ],
}
#: Distribution -> the names of its images, with the version as the first group.
IMAGES = {
    "debian": r"linux-image-([0-9].*)-cloud-amd64",
    "ubuntu": r"linux-image-(?:unsigned-)?([0-9].*)-generic",
}
#: Older kernels lack features for congestion controls in BPF.
OLDEST = (6, 1)
TOOLS = ("ip", "tc", "nsenter", "setpriv", "sh")
MODULES = ("veth", "sch_htb", "sch_ingress", "cls_bpf", "tcp_dctcp", "act_api")
PACKAGES = ("duetime", "polars", "_polars_runtime_32", "numpy", "numpy.libs", "tomli_w", "click", "rich")
NOT_OF_PYTHON = (
    *("test", "tests", "idlelib", "tkinter", "site-packages", "__pycache__"),
    *("*.a", "config-*", "ensurepip", "lib2to3", "turtledemo"),
)
MEMORY_MB = 3072


def main() -> None:
    """Boot each kernel and record its results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", nargs="*", help="packages; default: the newest of each series")
    parser.add_argument("--all", action="store_true", help="every kernel that apt has, hundreds of them")
    parser.add_argument(
        "--measure", nargs="*", default=[], help="packages on which D2TCP is measured as well"
    )
    parser.add_argument("--list", action="store_true", help="say what would be tried, and leave")
    parser.add_argument("--timeout", type=int, default=1500, help="seconds for each kernel")
    options = parser.parse_args()
    missing = [tool for tool in NEEDED if shutil.which(tool) is None]
    missing += [
        name for name in ("d2tcp", "duetime-testbed") if not (ROOT / "target/release" / name).exists()
    ]
    if missing:
        sys.exit(f"the kernel matrix needs {', '.join(missing)}")
    kernels = [kernel for apt in apts() for kernel in offered(apt)]
    if options.kernels or options.measure:
        wanted = {*(options.kernels or []), *options.measure}
        missing = wanted - {kernel.package for kernel in kernels}
        if missing:
            sys.exit(f"apt has no {', '.join(sorted(missing))}")
        kernels = [kernel for kernel in kernels if kernel.package in wanted]
    elif not options.all:
        kernels = newest(kernels)
    if options.list:
        print(*(f"{kernel.apt.distribution} {kernel.package}" for kernel in kernels), sep="\n")
        return
    RECORD.parent.mkdir(exist_ok=True)
    for kernel in kernels:
        begun = time.monotonic()
        measured = kernel.package in options.measure
        with tempfile.TemporaryDirectory(prefix="duetime-matrix-") as folder:
            said = boot(*prepare(kernel, Path(folder), measured), options.timeout, measured)
        got = {"package": kernel.package, "distribution": kernel.apt.distribution, **read(said)}
        print(
            f"{kernel.package}: {got.get('attach', 'did not come up')} in {time.monotonic() - begun:.0f} s",
            flush=True,
        )
        keep(got)


def keep(got: dict[str, Any]) -> None:
    """Put a kernel's result into the record, ordered by version, in place of its earlier one."""
    kept = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else []
    kept = [each for each in kept if each["package"] != got["package"]] + [got]
    kept.sort(key=lambda each: _numbers(each["package"]))
    aside = RECORD.with_suffix(".part")
    aside.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    aside.replace(RECORD)


@dataclass(frozen=True)
class Apt:
    """Apt for one distribution, with separate lists."""

    distribution: str
    folder: Path

    def __call__(self, tool: str, *arguments: str, cwd: Path | None = None) -> str:
        """Run apt-get or apt-cache, and return the output."""
        sources = self.folder / "sources.list"
        options = {
            "Dir::Etc::SourceList": sources,
            "Dir::Etc::SourceParts": "-",
            "Dir::State::Lists": self.folder / "lists",
            "Dir::Cache": self.folder / "cache",
            "APT::Sandbox::User": "root",
        }
        command = [tool, *(part for key, value in options.items() for part in ("-o", f"{key}={value}"))]
        done = subprocess.run([*command, *arguments], cwd=cwd, capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(f"{tool} {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout


@dataclass(frozen=True)
class Kernel:
    """A package with the image of a kernel."""

    apt: Apt
    package: str
    release: str


@cache
def apts() -> list[Apt]:
    """Return Apt for each reachable distribution, with fresh lists."""
    ready = []
    for distribution, sources in SOURCES.items():
        apt = Apt(distribution, STATE / distribution)
        for name in ("lists/partial", "cache/archives/partial"):
            (apt.folder / name).mkdir(parents=True, exist_ok=True)
        try:
            keyring = _keyring(distribution)
            lines = [
                f"deb [arch=amd64 signed-by={keyring}] {where} {suite} main\n"
                for where, suites in sources
                for suite in suites.split()
            ]
            (apt.folder / "sources.list").write_text("".join(lines), encoding="utf-8")
            stamp = apt.folder / "updated"
            if not stamp.exists() or time.time() - stamp.stat().st_mtime > STALE_S:
                apt("apt-get", "update", "-q")
                stamp.touch()
        except OSError as error:
            print(f"SKIPPED: kernels of {distribution}: {error}", file=sys.stderr)
            continue
        ready.append(apt)
    return ready


def _keyring(distribution: str) -> Path:
    """Return the keys of a distribution: the installed ones, or Debian's package of them."""
    name = f"{distribution}-archive-keyring"
    installed = Path("/usr/share/keyrings") / f"{name}.gpg"
    unpacked = STATE / "keys" / "usr" / "share" / "keyrings" / f"{name}.gpg"
    if installed.exists() or unpacked.exists():
        return installed if installed.exists() else unpacked
    debian = Apt("debian", STATE / "debian")
    with tempfile.TemporaryDirectory() as folder:
        debian("apt-get", "download", f"{distribution}-keyring", cwd=Path(folder))
        subprocess.run(["dpkg-deb", "-x", next(Path(folder).glob("*.deb")), STATE / "keys"], check=True)
    return unpacked


def offered(apt: Apt) -> list[Kernel]:
    """Return the kernels of a distribution in apt, the oldest first."""
    names = apt("apt-cache", "pkgnames", "linux-").split()
    found = {
        match[1]: Kernel(apt, name, match[1])
        # A signed image is equivalent to an unsigned one, and is often in another suite.
        for name in sorted(names, reverse=True)
        if (match := re.fullmatch(IMAGES[apt.distribution], name))
        and _series(match[1]) >= OLDEST
        # The archive keeps only some parts of superseded kernels.
        and (_part(name, "binary") not in names or _part(name, "modules") in names)
    }
    return sorted(found.values(), key=lambda kernel: _numbers(kernel.release))


def _part(image: str, part: str) -> str:
    """Return the name of the package with a part of a kernel that is split."""
    return f"linux-{part}-" + image.removeprefix("linux-image-").removeprefix("unsigned-")


def newest(kernels: Iterable[Kernel]) -> list[Kernel]:
    """Return the newest kernel of each series and distribution."""
    return list({(each.apt.distribution, _series(each.release)): each for each in kernels}.values())


def _series(release: str) -> tuple[int, ...]:
    return tuple(_numbers(release)[:2])


def _numbers(name: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", name)]


def prepare(package: Kernel, folder: Path, measured: bool) -> tuple[Path, Path]:
    """Fetch a kernel and create the machine's file system; return the kernel and the packed file system."""
    kernel = folder / "kernel"
    # Ubuntu has a separate package for modules; Debian since 7.0 has one for each part.
    known = package.apt("apt-cache", "pkgnames", "linux-").split()
    others = [_part(package.package, part) for part in ("modules", "binary", "base")]
    for part in (package.package, *(name for name in others if name in known)):
        package.apt("apt-get", "download", part, cwd=folder)
    for deb in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", deb, kernel], check=True)
    root = folder / "root"
    for name in ("proc", "sys", "dev", "tmp", "run", "bin", "etc", "root", "programs", "matrix", "usr/bin"):
        (root / name).mkdir(parents=True)
    shutil.copy(ROOT / "deploy/linux/matrix/init", root / "init")
    (root / "init").chmod(0o755)
    shutil.copy(ROOT / "deploy/linux/matrix/guest.py", root / "matrix")
    (root / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\n")
    _modules(kernel, root)
    binaries = [Path(str(shutil.which(name))) for name in (*TOOLS, "busybox")]
    binaries += [ROOT / "target/release" / name for name in ("d2tcp", "duetime-testbed")]
    for binary in binaries:
        ours = binary.is_relative_to(ROOT)
        place = root / "programs" / binary.name if ours else root / "bin" / binary.name
        shutil.copy(binary.resolve(), place)
    if measured:
        binaries += _python(root)
    _libraries(binaries, root)
    image = folder / "root.cpio"
    packed = subprocess.run(["find", ".", "-print0"], cwd=root, capture_output=True, check=True).stdout
    with image.open("wb") as out:
        command = ["cpio", "--null", "--create", "--format=newc", "--owner=0:0", "--quiet"]
        subprocess.run(command, cwd=root, input=packed, stdout=out, check=True)
    shutil.rmtree(root)
    return next((kernel / "boot").glob("vmlinuz-*")), image


def _modules(kernel: Path, root: Path) -> None:
    """Return the required modules with their dependencies, uncompressed."""
    (folder,) = next(
        each for each in (kernel / "usr/lib/modules", kernel / "lib/modules") if each.exists()
    ).iterdir()
    subprocess.run(["depmod", "-b", folder.parents[2], folder.name], check=True)
    needs = {}
    for line in (folder / "modules.dep").read_text().splitlines():
        module, others = line.split(":")
        needs[module] = others.split()
    wanted = {path for path in needs if re.sub(r"\.ko.*", "", Path(path).name) in MODULES}
    wanted |= {other for path in wanted for other in needs[path]}
    target = root / "lib/modules" / folder.name
    for path in wanted:
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / path, target / path)
        for end, tool in ((".xz", "xz"), (".zst", "zstd")):
            if path.endswith(end):
                subprocess.run([tool, "-d", "-q", target / path], check=True)
                (target / path).unlink(missing_ok=True)
    for name in ("modules.builtin", "modules.order"):
        shutil.copy(folder / name, target)
    subprocess.run(["depmod", "-b", root, folder.name], check=True)


def _python(root: Path) -> list[Path]:
    """Copy Python with the imports of `duetime testbed`, if installed; return the binaries and the libraries
    that they load dynamically.
    """
    standard, packages = Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib"))
    skip = shutil.ignore_patterns(*NOT_OF_PYTHON)
    shutil.copytree(standard, root / standard.relative_to("/"), ignore=skip)
    site = root / standard.relative_to("/") / "site-packages"
    for name in PACKAGES:
        source = ROOT / "python" / name if name == "duetime" else packages / name
        if source.exists():
            shutil.copytree(source, site / name, ignore=shutil.ignore_patterns("__pycache__", "tests"))
    for more in ("markdown_it", "mdurl", "pygments"):
        if (packages / more).exists():
            shutil.copytree(packages / more, site / more, ignore=shutil.ignore_patterns("__pycache__"))
    program = Path(sys.executable).resolve()
    place = root / program.relative_to("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(program, place)
    (root / "usr/bin/python3").symlink_to(program)
    return [program, *(path for path in site.parent.rglob("*.so*") if path.is_file())]


def _libraries(binaries: Iterable[Path], root: Path) -> None:
    """Copy the shared libraries of programs to the same paths."""
    for binary in binaries:
        listed = subprocess.run(["ldd", binary], capture_output=True, text=True, check=False).stdout
        for library in re.findall(r"(?:=> )?(/\S+) \(0x", listed):
            source = Path(library)
            place = root / source.relative_to("/")
            if not place.exists() and not source.is_relative_to(root):
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source.resolve(), place)


def boot(kernel: Path, image: Path, timeout: int, measured: bool) -> str:
    """Run the machine until it stops, and return its console output.

    One thread emulates both processors. With one for each, qemu 7.2 sometimes corrupts a processor's flags,
    and the machine ends in a double fault in the kernel.
    """
    command = [
        "qemu-system-x86_64", "-accel", "tcg,thread=single", "-cpu", "max", "-smp", "2", "-m", str(MEMORY_MB),
        "-nodefaults", "-display", "none", "-no-reboot", "-serial", "stdio",
        "-kernel", kernel, "-initrd", image, "-append",
        f"console=ttyS0 quiet panic=-1 mitigations=off{' measured' if measured else ''}",
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=timeout, check=False, stdin=subprocess.DEVNULL
        )
        said = done.stdout + done.stderr
    except subprocess.TimeoutExpired as late:
        said = (late.stdout or b"") + f"\n@@trouble no end within {timeout} s\n".encode()
    return said.decode(errors="replace").replace("\r", "")


def read(said: str) -> dict[str, Any]:
    """Parse a console's output into a record."""
    lines: dict[str, list[str]] = {}
    for line in said.splitlines():
        found = re.match(r"@@([a-z-]+) ?(.*)", line)
        if found:
            lines.setdefault(found[1], []).append(found[2])
    if "kernel" not in lines:
        return {"kernel": None, "trouble": said[-3000:].splitlines()}
    return {
        "kernel": lines["kernel"][0],
        "check": lines.get("check", []),
        "check_status": int(lines["check-status"][0]) if "check-status" in lines else None,
        "attach": lines.get("attach", ["never came to it"])[0],
        "attach_said": lines.get("attach-said", []),
        "status": lines.get("status", []),
        "attached_and_detached": int(lines.get("rounds", ["0"])[0]),
        "runs": [json.loads(run) for run in lines.get("run", [])],
        "kernel_warnings": [line for line in lines.get("dmesg", []) if "calibrate_delay" not in line],
        "trouble": lines.get("trouble", []) + [f"no module {name}" for name in lines.get("missing", [])],
        "finished": "done" in lines,
        # The last output of a machine that stopped early.
        "last_words": [] if "done" in lines else said.splitlines()[-40:],
    }


if __name__ == "__main__":
    main()
