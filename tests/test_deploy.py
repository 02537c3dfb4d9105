"""D2TCP for Linux as it is delivered: version, units, manifest, and scripts of the packages."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

LINUX = Path(__file__).parents[1] / "deploy" / "linux"
UNITS = ["d2tcp.service", "d2tcp-metrics.service"]
#: The threshold of `systemd-analyze security`, in tenths.
MAX_EXPOSURE = 20


def version_of(name: str) -> str:
    found = tomllib.loads((LINUX / name).read_text(encoding="utf-8"))
    return str((found.get("package") or found["project"])["version"])


VERSION = version_of("d2tcp/Cargo.toml")


@pytest.mark.parametrize(
    "name",
    ["law/Cargo.toml", "testbed/Cargo.toml", "clients/rust/Cargo.toml", "clients/python/pyproject.toml"],
)
def test_the_parts_of_the_tool_have_one_version(name: str) -> None:
    assert version_of(name) == VERSION


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("CHANGELOG.md", r"(?m)^## \[(\d[\d.]*)\] - \d{4}"),
        ("packages/README.md", r"d2tcp[_-](\d+\.\d+\.\d+)-1[_.]"),
        ("packages/daemonset.yaml", r"/d2tcp:(\S+)"),
        ("clients/netty/pom.xml", r"<artifactId>d2tcp-netty</artifactId>\s*<version>([^<]*)"),
        ("clients/trial/ways.py", r"d2tcp-netty-(\d[\d.]*)\.jar"),
        ("clients/go/d2tcpgrpc/go.mod", r"deploy/linux/clients/go v(\S+)"),
    ],
)
def test_the_version_is_written_the_same_everywhere(name: str, written: str) -> None:
    found = re.findall(written, (LINUX / name).read_text(encoding="utf-8"))
    # The changelog has former versions below.
    assert set(found[:1] if name == "CHANGELOG.md" else found) == {VERSION}


def exposure(unit: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run systemd's assessment of a unit's sandbox, which fails above the threshold."""
    limits = ["--offline=true", f"--threshold={MAX_EXPOSURE}", "--no-pager"]
    command = ["systemd-analyze", "security", *limits, unit]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
@pytest.mark.parametrize("unit", UNITS)
def test_units_have_little_exposure(unit: str, tmp_path: Path) -> None:
    text = (LINUX / "systemd" / unit).read_text(encoding="utf-8")
    (tmp_path / unit).write_text(text)
    done = exposure(unit, tmp_path)
    if "unrecognized option" in done.stderr:
        pytest.skip("this systemd-analyze has no --offline")
    assert done.returncode == 0, done.stdout[-200:] + done.stderr
    # The threshold is in force: the unit without its filter of system calls is above it.
    (tmp_path / unit).write_text(re.sub(r"(?m)^(SystemCallFilter|RestrictNamespaces)=.*\n", "", text))
    assert exposure(unit, tmp_path).returncode != 0


def manifest() -> dict[tuple[str, str], Any]:
    """Return the objects of the manifest by kind and name."""
    yaml = pytest.importorskip("yaml")
    text = (LINUX / "packages" / "daemonset.yaml").read_text(encoding="utf-8")
    return {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(text)}


def test_containers_of_the_manifest_mount_what_their_pods_have() -> None:
    sets = [each for (kind, _), each in manifest().items() if kind == "DaemonSet"]
    assert len(sets) == 2
    for each in sets:
        pod = each["spec"]["template"]["spec"]
        assert each["spec"]["selector"]["matchLabels"] == each["spec"]["template"]["metadata"]["labels"]
        for container in pod.get("initContainers", []) + pod["containers"]:
            mounted = {mount["name"] for mount in container["volumeMounts"]}
            assert mounted == {volume["name"] for volume in pod["volumes"]}
            assert container["securityContext"]["capabilities"]["drop"] == ["ALL"]


def test_metrics_of_a_cluster_are_on_the_address_of_their_pod_and_have_a_policy() -> None:
    objects = manifest()
    for (kind, name), each in objects.items():
        if kind != "DaemonSet":
            continue
        pod = each["spec"]["template"]["spec"]
        served = [container for container in pod["containers"] if "--listen" in container["args"]]
        assert bool(served) == (name == "d2tcp-metrics")
        for container in served:
            address, port = container["args"][container["args"].index("--listen") + 1].rsplit(":", 1)
            assert address == "$(POD_IP)"
            (given,) = container["env"]
            assert given["name"] == "POD_IP"
            assert given["valueFrom"] == {"fieldRef": {"fieldPath": "status.podIP"}}
            # A policy has no effect on a pod in the network of its node.
            assert not pod.get("hostNetwork")
            policy = objects["NetworkPolicy", name]
            assert policy["metadata"]["namespace"] == each["metadata"]["namespace"]
            labels = each["spec"]["template"]["metadata"]["labels"]
            assert policy["spec"]["podSelector"]["matchLabels"] == labels
            assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
            assert policy["spec"]["egress"] == []
            (admitted,) = policy["spec"]["ingress"]
            assert [each["port"] for each in admitted["ports"]] == [int(port)]
            (peer,) = admitted["from"]
            assert peer["namespaceSelector"]["matchLabels"]
            assert peer["podSelector"]["matchLabels"]


@dataclass
class Machine:
    """A folder in place of a machine, where scripts of packages run with programs that record their calls."""

    root: Path
    #: The exit codes of calls, by their first words; others succeed.
    codes: dict[str, int] = field(default_factory=dict)

    def run(self, script: str, *arguments: str, systemd: bool = True) -> list[str]:
        """Run a script; return the calls of `systemctl` and `d2tcp`, and its own output."""
        calls = self.root / "calls"
        calls.write_text("")
        cases = "".join(f'"{begin}"*) exit {code} ;;\n' for begin, code in self.codes.items())
        for name in ("systemctl", "d2tcp"):
            program = self.root / "usr" / "bin" / name
            program.parent.mkdir(parents=True, exist_ok=True)
            body = f'#!/bin/sh\necho "{name} $*" >>{calls}\ncase "{name} $*" in\n{cases}esac\n'
            program.write_text(body)
            program.chmod(0o755)
        running = self.root / "run" / "systemd" / "system"
        running.mkdir(parents=True, exist_ok=True)
        if not systemd:
            running.rmdir()
        text = (LINUX / "packages" / "scripts" / script).read_text(encoding="utf-8")
        # A root of DPKG_ROOT would leave out the calls.
        text = text.replace("${DPKG_ROOT:-}", "").replace("$root/", f"{self.root}/")
        for path in ("/usr/bin/d2tcp", "/run/systemd/system"):
            text = re.sub(rf"(?<![\w/.]){path}(?!: remove)", f"{self.root}{path}", text)
        # No script may change this machine.
        assert "$root" not in text.replace('"$root"', "")
        path = f"{self.root / 'usr' / 'bin'}:/usr/bin:/bin"
        command = ["sh", "-c", text, script, *arguments]
        done = subprocess.run(command, env={"PATH": path}, check=True, capture_output=True, text=True)
        return calls.read_text().splitlines() + (done.stdout + done.stderr).splitlines()

    def make(self, *names: str) -> None:
        """Make empty files with these names."""
        for name in names:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text("")

    def left(self) -> set[str]:
        """Return the files and links, except for the programs."""
        found = (each for each in self.root.rglob("*") if each.is_symlink() or each.is_file())
        names = {str(each.relative_to(self.root)) for each in found}
        return {name for name in names if name != "calls" and not name.startswith("usr/bin")}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


STOP = "systemctl --quiet disable --now d2tcp-metrics.service d2tcp.service"


@pytest.mark.parametrize("argument", ["remove", "0"])
def test_a_removal_stops_the_units_and_detaches(machine: Machine, argument: str) -> None:
    assert machine.run("preremove", argument) == [STOP, "d2tcp detach"]


def test_a_removal_detaches_without_systemd(machine: Machine) -> None:
    assert machine.run("preremove", "remove", systemd=False) == [STOP.replace(" --now", ""), "d2tcp detach"]


@pytest.mark.parametrize("argument", ["upgrade", "1"])
def test_an_upgrade_detaches_nothing(machine: Machine, argument: str) -> None:
    assert machine.run("preremove", argument) == []


@pytest.mark.parametrize(("code", "told"), [(4, 0), (5, 0), (6, 0), (3, 1), (1, 1)])
def test_a_removal_that_could_not_detach_says_so(machine: Machine, code: int, told: int) -> None:
    machine.codes = {"d2tcp detach": code}
    said = [line for line in machine.run("preremove", "remove") if line.startswith("d2tcp: still attached")]
    assert len(said) == told


OWN = (
    "var/log/d2tcp/audit.jsonl",
    "etc/systemd/system/multi-user.target.wants/d2tcp.service",
    "etc/systemd/system/d2tcp.service.wants/d2tcp-metrics.service",
)
SETTINGS = (
    "etc/systemd/system/d2tcp.service.d/override.conf",
    "etc/systemd/system/d2tcp-metrics.service.d/override.conf",
    "etc/systemd/system/d2tcp.service.saved",
)
FOREIGN = "etc/systemd/system/multi-user.target.wants/ssh.service"


@pytest.mark.parametrize(
    ("argument", "left"),
    [
        ("remove", {FOREIGN, *OWN, *SETTINGS}),
        ("upgrade", {FOREIGN, *OWN, *SETTINGS}),
        ("purge", {FOREIGN}),
        ("1", {FOREIGN, *OWN, *SETTINGS}),
        ("0", {FOREIGN, *SETTINGS}),
    ],
)
def test_a_purge_leaves_nothing(machine: Machine, argument: str, left: set[str]) -> None:
    machine.make(FOREIGN, *OWN, *SETTINGS)
    machine.run("postremove", argument)
    assert machine.left() == left
    machine.run("postremove", argument, systemd=False)
    assert machine.left() == left


ACTIVE = {"systemctl --quiet is-active": 3, "d2tcp status": 4}


def attached(calls: list[str]) -> list[str]:
    """Return the calls that attach, and messages."""
    return [
        each
        for each in calls
        if re.match(r"systemctl (--quiet )?(reload|restart|start|enable)|d2tcp: ", each)
    ]


@pytest.mark.parametrize("arguments", [("configure", ""), ("1",)])
def test_an_installation_attaches_nothing(machine: Machine, arguments: tuple[str, ...]) -> None:
    machine.codes = ACTIVE
    assert attached(machine.run("postinstall", *arguments)) == []


@pytest.mark.parametrize("arguments", [("configure", "0.2.0-1"), ("2",)])
def test_an_upgrade_replaces_the_programs(machine: Machine, arguments: tuple[str, ...]) -> None:
    assert attached(machine.run("postinstall", *arguments)) == ["systemctl reload d2tcp.service"]


def test_an_upgrade_of_another_layout_attaches_anew(machine: Machine) -> None:
    machine.codes = {"systemctl reload": 1}
    again, restart, told = attached(machine.run("postinstall", "configure", "0.1.0-1"))
    assert [again, restart] == ["systemctl reload d2tcp.service", "systemctl restart d2tcp.service"]
    assert "attached anew with D2TCP_OPTIONS" in told
    machine.codes["systemctl restart"] = 1
    assert "attached anew not: see journalctl" in machine.run("postinstall", "configure", "0.1.0-1")[-1]


def test_an_attachment_by_hand_of_another_layout_is_named(machine: Machine) -> None:
    machine.codes = {**ACTIVE, "d2tcp status": 3}
    (told,) = attached(machine.run("postinstall", "configure", "0.1.0-1"))
    assert "by a former version" in told


@pytest.mark.parametrize(
    ("arguments", "moved"),
    [(("configure", ""), True), (("1",), True), (("configure", "0.1.0-1"), False), (("2",), False)],
)
def test_units_of_the_first_release_are_moved_by_a_first_installation(
    machine: Machine, arguments: tuple[str, ...], moved: bool
) -> None:
    units = machine.root / "etc" / "systemd" / "system"
    machine.make("etc/systemd/system/d2tcp.service", "usr/local/bin/d2tcp")
    link = units / "multi-user.target.wants" / "d2tcp.service"
    link.parent.mkdir()
    link.symlink_to("/etc/systemd/system/d2tcp.service")
    said = machine.run("postinstall", *arguments)
    assert any("/usr/local/bin/d2tcp of a former installation precedes" in line for line in said)
    assert (units / "d2tcp.service.saved").exists() == moved
    assert (units / "d2tcp.service").exists() != moved
    assert str(link.readlink()) == f"/{'usr/lib' if moved else 'etc'}/systemd/system/d2tcp.service"
