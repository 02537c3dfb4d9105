"""The ways to give deadlines to replies: a service, a client, and their requirements."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import bottleneck

HERE = Path(__file__).resolve().parent
CLIENTS = HERE.parent
ROOT = CLIENTS.parents[2]
#: The folder of fetched and built files.
BUILT = ROOT / "target" / "clients"


class Unavailable(Exception):
    """A requirement of a way is missing here; the message names it."""


@dataclass(frozen=True)
class Way:
    """One way: a service with deadlines (`announced`) or without, and its client."""

    name: str
    #: Returns a service's command and environment, with or without announcements.
    service: Callable[[bool], tuple[list[str], dict[str, str]]]
    #: Returns a client's command, for the service's port, the deadline in ms and the number of replies.
    client: Callable[[int, int, int, list[str]], list[str]]
    #: The port, or none where the service says which it got.
    port: int | None = None
    #: True if the client aborts at its deadline, so that a late reply has no time.
    gives_up: bool = False
    #: Returns options of `d2tcp attach`, with or without announcements.
    options: Callable[[bool], list[str]] = field(default=lambda announced: [])  # noqa: ARG005


def run(command: list[str | Path], folder: Path | None = None, **environment: str) -> None:
    """Run a program that fetches or builds; if it fails, the way is unavailable."""
    try:
        subprocess.run(
            command, cwd=folder, env={**os.environ, **environment}, check=True, capture_output=True, text=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", None) or str(error)
        raise Unavailable(f"{command[0]}: {said.strip().splitlines()[-1]}") from None


@contextmanager
def alone() -> Iterator[None]:
    """Hold the folder of fetched and built files, which other processes may be filling."""
    BUILT.mkdir(parents=True, exist_ok=True)
    with (BUILT / ".lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def once(key: str, *sources: Path) -> tuple[Path, bool]:
    """Return a folder for the product of `sources`, and true if the product exists."""
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.read_bytes())
    folder = BUILT / f"{key}-{digest.hexdigest()[:12]}"
    return folder, (folder / ".done").exists()


def done(folder: Path) -> None:
    """Mark a folder as complete."""
    (folder / ".done").touch()


@cache
@alone()
def python_with_grpc() -> str:
    """Return a Python that has grpcio as locked, in a virtual environment."""
    lock = CLIENTS / "python" / "requirements-test.txt"
    folder, made = once("venv", lock)
    python = folder / "bin" / "python"
    if not made:
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        run([python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", lock])
        done(folder)
    return str(python)


@cache
@alone()
def nginx() -> str:
    """Return Debian's nginx: the installed one, or one unpacked without installation."""
    found = shutil.which("nginx")
    if found:
        return found
    folder = BUILT / "nginx"
    program = folder / "usr" / "sbin" / "nginx"
    if not program.exists():
        if shutil.which("apt-get") is None:
            raise Unavailable("nginx is not installed")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        run(["apt-get", "download", "-q", "nginx"], folder)
        (package,) = folder.glob("nginx_*.deb")
        run(["dpkg-deb", "-x", package, folder])
    run([program, "-v"])
    return str(program)


@cache
@alone()
def preload() -> str:
    """The library to preload."""
    if shutil.which("cc") is None:
        raise Unavailable("there is no C compiler")
    run(["make", "-s", "-C", CLIENTS / "http", f"OUT={BUILT}"])
    return str(BUILT / "libd2tcp-http.so")


#: The configuration of an nginx with one process, in the foreground, that serves the files of `folder`.
NGINX = """\
user root; daemon off; master_process off; pid {folder}/pid; error_log stderr error;
events {{ worker_connections 256; }}
http {{
  access_log off; sendfile on; tcp_nopush on; default_type application/octet-stream;
  client_body_temp_path {folder}/1; proxy_temp_path {folder}/2; fastcgi_temp_path {folder}/3;
  uwsgi_temp_path {folder}/4; scgi_temp_path {folder}/5;
  server {{ listen {address}:{port}; root {folder}; }}
}}
"""


def nginx_serving(port: int) -> list[str]:
    """Return the command of an nginx that serves ``/reply``, of `bottleneck.REPLY_BYTES`, unmodified."""
    folder = BUILT / f"www-{port}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "reply").write_bytes(bytes(bottleneck.REPLY_BYTES))
    configuration = folder / "nginx.conf"
    configuration.write_text(NGINX.format(folder=folder, address=bottleneck.ADDRESS, port=port))
    return [nginx(), "-e", "stderr", "-c", str(configuration)]


def _grpc_python(*flags: str) -> Callable[[bool], tuple[list[str], dict[str, str]]]:
    def service(announced: bool) -> tuple[list[str], dict[str, str]]:
        command = [python_with_grpc(), str(HERE / "grpc_server.py"), f"{bottleneck.ADDRESS}:0", *flags]
        return command + ([] if announced else ["--plain"]), {"PYTHONPATH": str(CLIENTS / "python")}

    return service


def _grpc_client(port: int, milliseconds: int, calls: int, more: list[str]) -> list[str]:
    address = f"{bottleneck.ADDRESS}:{port}"
    asked = [str(bottleneck.REPLY_BYTES), str(milliseconds / 1e3), str(calls)]
    return [python_with_grpc(), str(HERE / "grpc_client.py"), address, *asked, *more]


@cache
@alone()
def go_server() -> str:
    """Return the gRPC service in Go."""
    found = shutil.which("go") or "/usr/local/go/bin/go"
    if not Path(found).exists():
        raise Unavailable("go is not installed")
    program = BUILT / "go-server"
    run([found, "build", "-o", program, "./examples/server"], CLIENTS / "go" / "d2tcpgrpc")
    return str(program)


def _grpc_go(announced: bool) -> tuple[list[str], dict[str, str]]:
    return [go_server(), f"{bottleneck.ADDRESS}:0", *([] if announced else ["plain"])], {}


def _http_client(port: int, milliseconds: int, replies: int, more: list[str]) -> list[str]:
    asked = ["/reply", str(milliseconds), str(replies)]
    return [sys.executable, str(HERE / "http_client.py"), bottleneck.ADDRESS, str(port), *asked, *more]


@cache
@alone()
def netty() -> list[str]:
    """Return the command of Java for the HTTP server on Netty, without its arguments."""
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            raise Unavailable(f"{tool} is not installed")
    folder = CLIENTS / "netty"
    path = BUILT / "netty" / "classpath"
    jar = BUILT / "netty" / "d2tcp-netty-0.2.0.jar"
    sources = [folder / "pom.xml", *folder.rglob("*.java")]
    if not jar.exists() or any(jar.stat().st_mtime < source.stat().st_mtime for source in sources):
        goals = ["package", "dependency:build-classpath", f"-Dmdep.outputFile={path}"]
        run(["mvn", "-q", "-B", f"-Dmaven.repo.local={BUILT}/m2", *goals], folder)
    return ["java", "-cp", f"{jar}:{path.read_text()}", str(folder / "examples" / "Server.java")]


def _http_netty(announced: bool) -> tuple[list[str], dict[str, str]]:
    asked = [bottleneck.ADDRESS, "8001", str(bottleneck.REPLY_BYTES)]
    return [*netty(), *asked, *([] if announced else ["plain"])], {}


def _preloaded(announced: bool) -> tuple[list[str], dict[str, str]]:
    return nginx_serving(8000), {"LD_PRELOAD": preload()} if announced else {}


WAYS = [
    Way("grpc-python", _grpc_python(), _grpc_client, gives_up=True),
    Way("grpc-python-aio", _grpc_python("--aio"), _grpc_client, gives_up=True),
    Way("grpc-go", _grpc_go, _grpc_client, gives_up=True),
    Way("http-netty", _http_netty, _http_client, port=8001),
    Way("http-preload", _preloaded, _http_client, port=8000),
]
