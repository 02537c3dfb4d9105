"""Runs on the workers of a Dask cluster, which need nothing but duetime itself."""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from functools import cache
from typing import TYPE_CHECKING

from duetime.engine.work import Answer, Build, Bundle, Task, build, do
from duetime.errors import OtherBuild, Unusable
from duetime.quantities import counted

if TYPE_CHECKING:
    from distributed import Client, Future, KilledWorker

#: How long a scheduler may take to answer.
PATIENCE_S = 10
#: The same, where the answer is of use but not needed.
ASKING_S = 2


def on_cluster(
    address: str, work: Sequence[tuple[Task, str, Bundle]], finished: Callable[[int, Answer], object]
) -> bool:
    """Run tasks on the workers of the scheduler at `address`; each task has a name that identifies its
    result.

    `finished(number, answer)` is called here for each. A task whose worker is lost is run again by another
    worker. Returns True if Ctrl-C interrupted. Raises `Unusable` when no scheduler answers or a worker would
    simulate with another build, and `ConnectionError` when the scheduler is lost.
    """
    client = _connect(address)
    with client:
        waiting: dict[Future[Answer], int] = {}
        try:
            _wait_for_workers(client, address)
            _check_workers(client)
            waiting = _submit(client, work)
            from distributed import as_completed

            for future in as_completed(list(waiting), loop=client.loop):
                finished(waiting.pop(future), _answer(future, address))
                future.release()
        except KeyboardInterrupt:
            client.cancel(list(waiting))
            return True
    return False


@cache
def memory_of_a_run(address: str) -> float | None:
    """Return the bytes that a worker has for each of its runs, the least of all workers of a scheduler.

    None where none has a limit, without workers, and when no scheduler answers at once: the runs may all be
    kept already. It is asked for once.
    """
    try:
        with _connect(address, ASKING_S) as client:
            workers = list(client.scheduler_info(n_workers=-1)["workers"].values())
    except Unusable:
        return None
    shares = [each["memory_limit"] / each["nthreads"] for each in workers if each["memory_limit"]]
    return min(shares, default=None)


def _connect(address: str, timeout_s: float = PATIENCE_S) -> Client:
    try:
        from distributed import Client
    except ImportError:
        raise Unusable("a cluster needs Dask: pip install 'duetime[cluster]'") from None
    # It reports lost connections at length; our own errors report the relevant part. Each of its loggers has
    # a level of its own.
    for name in list(logging.root.manager.loggerDict):
        if name.startswith("distributed"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        _check_address(address)
        return Client(address, timeout=timeout_s, set_as_default=False, name="duetime")
    except (OSError, ValueError, ImportError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise Unusable(f"no Dask scheduler answers at {address}: {reason}") from None


def _check_address(address: str) -> None:
    """Raise `ValueError` or `OSError` for what a client would fail on after it has started its threads.

    It would wait for them when the process ends, and then complain at length.
    """
    from distributed.comm.addressing import resolve_address
    from distributed.security import Security

    scheme = address.partition("://")[0] if "://" in address else "tcp"
    if scheme not in ("tcp", "tls"):
        raise ValueError("an address is tcp://host:port or tls://host:port")
    resolve_address(address)
    if scheme == "tls" and Security().get_connection_args("client").get("ssl_context") is None:
        raise ValueError("Dask's configuration names no certificates (distributed.comm.tls)")


def _wait_for_workers(client: Client, address: str) -> None:
    if client.scheduler_info(n_workers=-1)["workers"]:
        return
    print(f"{address} has no worker yet, waiting for one", file=sys.stderr)
    while not client.scheduler_info(n_workers=-1)["workers"]:
        try:
            client.wait_for_workers(1, timeout=1)
        except TimeoutError:
            continue


def _check_workers(client: Client) -> None:
    """Compare the workers of this moment before the first run; `_on_worker` does so for later ones."""
    found: dict[str, object] = client.run(build, on_error="return")
    for worker, theirs in sorted(found.items()):
        if not isinstance(theirs, tuple):
            raise Unusable(f"the worker {worker} cannot load duetime: {type(theirs).__name__}: {theirs}")
        if theirs != build():
            raise Unusable(f"the worker {worker} cannot be used: {_difference(Build(*theirs))}")


def _submit(client: Client, work: Sequence[tuple[Task, str, Bundle]]) -> dict[Future[Answer], int]:
    # A bundle is a separate result: sent to the scheduler once, and available to any worker at any time.
    bundles: dict[int, Future[Bundle]] = {}
    waiting: dict[Future[Answer], int] = {}
    for number, (task, key, bundle) in enumerate(work):
        if id(bundle) not in bundles:
            bundles[id(bundle)] = client.submit(_same, bundle, key=f"duetime-scenario-{_hash(bundle)}")
        name = "-".join(("duetime-run", key, *task.tables))
        waiting[client.submit(_on_worker, task, bundles[id(bundle)], key=name)] = number
    return waiting


def _answer(future: Future[Answer], address: str) -> Answer:
    from distributed import KilledWorker

    try:
        answer = future.result()
        assert isinstance(answer, Answer)
        return answer
    except KilledWorker as error:
        return Answer(error=f"its worker was lost {_times(error)}; it may need more memory than workers have")
    except OtherBuild as error:
        raise Unusable(str(error)) from None
    except (CancelledError, OSError):
        raise ConnectionError(
            errno.ECONNRESET, "the scheduler was lost; what was finished is kept", address
        ) from None


def _times(error: KilledWorker) -> str:
    return counted(error.allowed_failures + 1, "time")


def _on_worker(task: Task, bundle: Bundle) -> Answer:
    try:
        return do(task, bundle)
    except OtherBuild:
        from distributed import get_worker

        message = f"the worker {get_worker().address} cannot be used: {_difference(build(), task.build)}"
        raise OtherBuild(message) from None


def _difference(theirs: Build, ours: Build | None = None) -> str:
    return f"it has {theirs}, this side has {ours or build()}; install the same everywhere"


def _same(bundle: Bundle) -> Bundle:
    return bundle


def _hash(bundle: Bundle) -> str:
    contents = sorted((path, hashlib.sha256(content).hexdigest()) for path, content in bundle.files.items())
    text = json.dumps([bundle.text, bundle.name, contents])
    return hashlib.sha256(text.encode()).hexdigest()
