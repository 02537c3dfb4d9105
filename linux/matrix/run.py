"""Boot other kernels under emulation and see what D2TCP does on each: ``make kernel-matrix``.

Takes Debian's cloud kernels as apt has them, the oldest and the newest series. Each boots with qemu without
hardware virtualisation, from a file system in memory with the programs of ``make linux``, Python and busybox.
Writes ``linux/record/kernels.json``. Needs Debian's qemu-system-x86, busybox-static, cpio, kmod and xz-utils.
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
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "linux" / "record" / "kernels.json"
NEEDED = ("apt-get", "apt-cache", "dpkg-deb", "depmod", "cpio", "ldd", "busybox", "qemu-system-x86_64")
TOOLS = ("ip", "tc", "nsenter", "setpriv", "sh")
MODULES = ("veth", "sch_htb", "sch_ingress", "cls_bpf", "tcp_dctcp", "act_api")
PACKAGES = ("duetime", "polars", "_polars_runtime_32", "numpy", "numpy.libs", "tomli_w", "click", "rich")
NOT_OF_PYTHON = (
    *("test", "tests", "idlelib", "tkinter", "site-packages", "__pycache__"),
    *("*.a", "config-*", "ensurepip", "lib2to3", "turtledemo"),
)
MEMORY_MB = 3072


def main() -> None:
    """Boot each kernel and write down what came."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", nargs="*", help="packages; default: the oldest and newest cloud kernels")
    parser.add_argument("--timeout", type=int, default=1500, help="seconds for each kernel")
    options = parser.parse_args()
    missing = [tool for tool in NEEDED if shutil.which(tool) is None]
    missing += [
        name for name in ("d2tcp", "duetime-testbed") if not (ROOT / "target/release" / name).exists()
    ]
    if missing:
        sys.exit(f"the kernel matrix needs {', '.join(missing)}")
    results = []
    for package in options.kernels or offered():
        print(f"{package}: unpacking", flush=True)
        with tempfile.TemporaryDirectory(prefix="duetime-matrix-") as folder:
            said = boot(*prepare(package, Path(folder)), options.timeout)
        results.append({"package": package, **read(said)})
        print(json.dumps(results[-1], indent=2), flush=True)
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def offered() -> list[str]:
    """The first and the last of the cloud kernels that apt knows; of a series the newest."""
    names = subprocess.run(
        ["apt-cache", "search", "--names-only", r"^linux-image-[0-9].*-cloud-amd64$"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    series: dict[tuple[int, int], list[str]] = {}
    for name in (line.split(" ")[0] for line in names):
        found = re.fullmatch(r"linux-image-(\d+)\.(\d+)(\..+)-cloud-amd64", name)
        if found:
            series.setdefault((int(found[1]), int(found[2])), []).append(name)
    newest = {key: max(each, key=_numbers) for key, each in series.items()}
    return [newest[key] for key in sorted({min(newest), max(newest)})]


def _numbers(name: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", name)]


def prepare(package: str, folder: Path) -> tuple[Path, Path]:
    """Fetch a kernel and lay out the machine's file system; gives the kernel and the packed file system."""
    subprocess.run(["apt-get", "download", package], cwd=folder, check=True, capture_output=True)
    kernel = folder / "kernel"
    subprocess.run(["dpkg-deb", "-x", next(folder.glob("*.deb")), kernel], check=True)
    root = folder / "root"
    for name in ("proc", "sys", "dev", "tmp", "run", "bin", "etc", "root", "programs", "matrix", "usr/bin"):
        (root / name).mkdir(parents=True)
    shutil.copy(ROOT / "linux/matrix/init", root / "init")
    (root / "init").chmod(0o755)
    shutil.copy(ROOT / "linux/matrix/guest.py", root / "matrix")
    (root / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\n")
    _modules(kernel, root)
    binaries = [Path(str(shutil.which(name))) for name in (*TOOLS, "busybox")]
    binaries += [ROOT / "target/release" / name for name in ("d2tcp", "duetime-testbed")]
    for binary in binaries:
        ours = binary.is_relative_to(ROOT)
        place = root / "programs" / binary.name if ours else root / "bin" / binary.name
        shutil.copy(binary.resolve(), place)
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
    """The modules that are needed, with those that they need, uncompressed."""
    (folder,) = (kernel / "lib/modules").iterdir()
    subprocess.run(["depmod", "-b", kernel, folder.name], check=True)
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
        if path.endswith(".xz"):
            subprocess.run(["xz", "-d", target / path], check=True)
    for name in ("modules.builtin", "modules.order"):
        shutil.copy(folder / name, target)
    subprocess.run(["depmod", "-b", root, folder.name], check=True)


def _python(root: Path) -> list[Path]:
    """Python with what `duetime testbed` imports, where it lies here; gives what is loaded dynamically."""
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
    """The shared libraries of programs, at their places."""
    for binary in binaries:
        listed = subprocess.run(["ldd", binary], capture_output=True, text=True, check=False).stdout
        for library in re.findall(r"(?:=> )?(/\S+) \(0x", listed):
            source = Path(library)
            place = root / source.relative_to("/")
            if not place.exists() and not source.is_relative_to(root):
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source.resolve(), place)


def boot(kernel: Path, image: Path, timeout: int) -> str:
    """Run the machine until it goes, and give what it said on its console."""
    command = [
        "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", str(MEMORY_MB),
        "-nodefaults", "-display", "none", "-no-reboot", "-serial", "stdio",
        "-kernel", kernel, "-initrd", image, "-append", "console=ttyS0 quiet panic=-1 mitigations=off",
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
    """From a console to what is kept."""
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
        # What it said last, where it went before its time.
        "last_words": [] if "done" in lines else said.splitlines()[-40:],
    }


if __name__ == "__main__":
    main()
