"""The Rust core: text, bytes and errors in and out. Use the package `duetime` instead."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Self, TypeAlias, TypedDict, final

__all__ = [
    "InternalError",
    "Network",
    "PluginError",
    "Run",
    "ScenarioError",
    "Window",
    "_panic",
    "bound",
    "catalog",
    "check",
    "cost",
    "explain",
    "foreseen",
    "measured",
    "profiled",
    "register",
    "run",
    "schema",
    "sweep",
    "version",
]

#: numpy type, values, one byte per row that is 0 where it has no value, the words of a text's codes.
_Column: TypeAlias = tuple[str, bytes, bytes | None, list[str] | None]

#: The type of a numpy array, and its bytes.
_Array: TypeAlias = tuple[str, bytes]
_Foreseen = TypedDict(
    "_Foreseen",
    {
        "class": _Array,
        "from": _Array,
        "to": _Array,
        "start": _Array,
        "bytes": _Array,
        "deadline": _Array,
        "ideal": _Array,
        "query": _Array,
        "first": _Array,
        "hops": _Array,
        "rate": _Array,
        "delay": _Array,
        "room": _Array,
        "mark": _Array,
        "frame": _Array,
        "links": list[tuple[str, str]],
    },
)

class ScenarioError(ValueError):
    """What is wrong with a scenario; ``str()`` shows the place with a caret."""

    file: str
    line: int
    column: int
    message: str
    hint: str | None

class InternalError(RuntimeError):
    """A bug in duetime itself: please report it with the scenario that shows it."""

class PluginError(RuntimeError):
    """A plug-in failed during a run: the message names it, its function and the simulated time."""

@final
class Window:
    """What a connection has seen since the last call, and its window. Seconds, bytes, segments."""

    #: The congestion window, in segments: set it, or return it.
    cwnd: float
    #: The slow-start threshold, in segments; infinite before the first loss.
    ssthresh: float
    @property
    def acked(self) -> float:
        """Segments that were acknowledged."""
    @property
    def marked(self) -> float:
        """The share of the arrived bytes that were marked, 0 to 1."""
    @property
    def lost(self) -> int:
        """The detected losses."""
    @property
    def timeouts(self) -> int:
        """The retransmission timeouts."""
    @property
    def rtt(self) -> float | None:
        """The smoothed round-trip time; none before the first sample."""
    @property
    def min_rtt(self) -> float | None:
        """The least round-trip time so far."""
    @property
    def now(self) -> float:
        """The simulated time."""
    @property
    def remaining(self) -> float | None:
        """Bytes of the present message that are left; none for a flow without end."""
    @property
    def size(self) -> float | None:
        """The size of the present message; none for a flow without end."""
    @property
    def left(self) -> float | None:
        """The time left until its deadline, 0 from then on; none without one."""
    @property
    def mss(self) -> float:
        """Payload of a full segment, in bytes."""
    @property
    def floor(self) -> float:
        """Minimum of the window after a cut, in segments."""

@final
class Network:
    """A run that is told its messages on the way; times in ps."""

    def __new__(
        cls,
        text: str,
        name: str,
        folder: str | PathLike[str] | None = None,
        set: Sequence[str] = ...,
        seed: int | None = None,
        transport: str | None = None,
    ) -> Self: ...
    @property
    def hosts(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def classes(self) -> list[str]: ...
    @property
    def now(self) -> int: ...
    def transfer(
        self, of_class: int, at: int, src: int, dst: int, bytes: int, deadline: int | None = None
    ) -> int: ...
    def advance(self, until: int, stops: bool) -> list[tuple[int, int, bool]]: ...

@final
class Run:
    """What came of a run."""

    @property
    def json(self) -> str: ...
    @property
    def resolved(self) -> str: ...
    @property
    def notes(self) -> list[str]: ...
    def flows(self) -> dict[str, _Column]: ...
    def queries(self) -> dict[str, _Column]: ...
    def requests(self) -> dict[str, _Column]: ...
    def pieces(self) -> dict[str, _Column]: ...
    def links(self) -> dict[str, _Column]: ...
    def trace(self) -> dict[str, _Column]: ...

def run(
    text: str,
    name: str,
    folder: str | PathLike[str] | None = None,
    set: Sequence[str] = ...,
    seed: int | None = None,
    transport: str | None = None,
    files: Mapping[str, bytes] = ...,
    progress: Callable[[float, float, int], object] | None = None,
    out: str | PathLike[str] | None = None,
    rows: bool = True,
    block: int = ...,
) -> Run: ...
def check(
    text: str,
    name: str,
    folder: str | PathLike[str] | None = None,
    set: Sequence[str] = ...,
    seed: int | None = None,
    transport: str | None = None,
    files: Mapping[str, bytes] = ...,
) -> tuple[str, list[str], list[str]]: ...
def explain(
    text: str,
    name: str,
    folder: str | PathLike[str] | None = None,
    set: Sequence[str] = ...,
    seed: int | None = None,
) -> str: ...
def sweep(text: str, name: str, folder: str | PathLike[str] | None = None) -> str: ...
def cost(
    text: str,
    name: str,
    folder: str | PathLike[str] | None = None,
    set: Sequence[str] = ...,
    seed: int | None = None,
    transport: str | None = None,
) -> str: ...
def bound(
    text: str,
    name: str,
    folder: str | PathLike[str] | None = None,
    set: Sequence[str] = ...,
    seed: int | None = None,
    transport: str | None = None,
) -> tuple[str, list[str]]: ...
def schema() -> str: ...
def measured(
    text: str,
    name: str,
    measured: str,
    folder: str | PathLike[str] | None = None,
    set: Sequence[str] = ...,
    seed: int | None = None,
    transport: str | None = None,
    files: Mapping[str, bytes] = ...,
    wall_s: float = 0.0,
) -> Run: ...
def foreseen(
    text: str,
    name: str,
    folder: str | PathLike[str] | None = None,
    set: Sequence[str] = ...,
    seed: int | None = None,
    transport: str | None = None,
    files: Mapping[str, bytes] = ...,
) -> _Foreseen: ...
def catalog() -> str: ...
def register(name: str, class_: type, ecn: str) -> str: ...
def version() -> str: ...
def _panic(message: str) -> None: ...
def profiled() -> bool:
    """Whether this was compiled with a profile of runs (PGO)."""
