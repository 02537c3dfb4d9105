"""The laws of transports, for all flows at once and a round trip at a time.

A law has rows of state, one entry per flow, and turns what a step has shown its flows into the rate of the
next. Amounts are in bytes, times in s. `Seen` is what a flow learns; a step lasts `tau`, a flow's own round
trip is longer where it waits in queues, so growth and cuts are taken in proportion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from duetime.fluid.arrays import Array

Rows = dict[str, Array]
#: A time that is no deadline, in s; and the size of a flow without end, in bytes.
FOREVER, ENDLESS = 1e20, 1e30


@dataclass(frozen=True)
class Flows:
    """The facts that a law may know of its flows when they start."""

    bytes: Array
    #: Allowed time; `FOREVER` or more without a deadline.
    allowed: Array
    #: Round trip on an empty path, and the rate of the first link.
    rtt: Array
    line: Array


@dataclass(frozen=True)
class Seen:
    """The observations of a step."""

    tau: float
    #: Round trip with the queues of the path.
    rtt: Array
    #: Shares of the flow's bytes that were marked and lost.
    marked: Array
    lost: Array
    #: Sum over the path of queues (in C tau) and of prices of the load, where a header carries them.
    queued: Array
    load_price: Callable[[float, float], Array]
    #: Bytes that are not delivered, and the time left.
    left: Array
    time_left: Array
    flows: Flows


class Law:
    """One transport. `keys` are the parameters that it knows, with their defaults."""

    keys: ClassVar[Mapping[str, float]] = {}
    #: Sends at a rate of its own; a window is sent at the rate of the link at the beginning of a round trip.
    paced = False

    def __init__(self, xp: Any, mss: float, values: Mapping[str, float] | None = None) -> None:
        """Set these parameters, and all others to their defaults."""
        self.xp = xp
        self.mss = mss
        self.values = {**self.keys, **(values or {})}

    def start(self, flows: Flows) -> Rows:
        """The state of flows that begin."""
        raise NotImplementedError

    def rate(self, rows: Rows, rtt: Array, flows: Flows) -> Array:
        """Return the rate of each flow, in bytes per second."""
        raise NotImplementedError

    def step(self, rows: Rows, seen: Seen) -> Rows:
        """The state after a round trip."""
        raise NotImplementedError


class Tcp(Law):
    """Reno: a segment per round trip, half of it after a loss, a pause where a timeout is needed."""

    keys: ClassVar[Mapping[str, float]] = {
        "initial_window": 10.0,
        "cwnd_floor": 2.0,
        "rto_min": 0.02,
    }

    def start(self, flows: Flows) -> Rows:
        """Slow start from the initial window."""
        xp, nothing = self.xp, 0.0 * flows.bytes
        return {
            "window": nothing + self.values["initial_window"] * self.mss,
            "threshold": nothing + xp.inf,
            "lost": nothing,
            "silent": nothing,
        }

    def rate(self, rows: Rows, rtt: Array, flows: Flows) -> Array:  # noqa: ARG002
        """A window in each round trip, none in a timeout."""
        return self.xp.where(rows["silent"] > 0.0, 0.0 * rtt, rows["window"] / rtt)

    def step(self, rows: Rows, seen: Seen) -> Rows:
        """Answer losses first, then marks, else grow."""
        xp, window = self.xp, rows["window"]
        part = xp.minimum(seen.tau / seen.rtt, 1.0 + 0.0 * seen.rtt)
        awake = rows["silent"] <= 0.0
        lost = rows["lost"] + xp.where(awake, seen.lost * window * part, 0.0 * window)
        # Less than a segment of loss is a packet that was delivered.
        hit = lost >= self.mss
        timeout = hit & ((window < 4.0 * self.mss) | (seen.lost > 0.5))
        floor = self.values["cwnd_floor"] * self.mss
        rows, cut = self.marks(rows, seen, part)
        marked = (cut > 0.0) & awake & ~hit
        slow = window < rows["threshold"]
        grown = xp.where(slow, xp.minimum(window * (1.0 + part), rows["threshold"]), window + self.mss * part)
        after_mark = xp.maximum(window * (1.0 - cut), floor + 0.0 * window)
        after_loss = xp.maximum(0.5 * window, floor + 0.0 * window)
        after = xp.where(marked, after_mark, xp.where(awake, grown, window))
        after = xp.where(hit, xp.where(timeout, self.mss + 0.0 * window, after_loss), after)
        threshold = xp.where(hit, after_loss, xp.where(marked, after_mark, rows["threshold"]))
        pause = xp.where(timeout, self.values["rto_min"] + 0.0 * window, rows["silent"] - seen.tau)
        return {
            **rows,
            "window": after,
            "threshold": threshold,
            "lost": xp.where(hit, 0.0 * lost, lost),
            "silent": xp.maximum(pause, 0.0 * pause),
        }

    def marks(self, rows: Rows, seen: Seen, part: Array) -> tuple[Rows, Array]:  # noqa: ARG002
        """Return the share by which marks cut the window: none here, as it ignores them."""
        return rows, 0.0 * seen.marked


class Dctcp(Tcp):
    """DCTCP: alpha follows the share of marks, and a marked round trip cuts by half of it."""

    keys: ClassVar[Mapping[str, float]] = {**Tcp.keys, "g": 0.0625, "initial_alpha": 1.0}

    def start(self, flows: Flows) -> Rows:
        """Return the state of TCP, with alpha."""
        return {**super().start(flows), "alpha": 0.0 * flows.bytes + self.values["initial_alpha"]}

    def marks(self, rows: Rows, seen: Seen, part: Array) -> tuple[Rows, Array]:
        """Half the penalty, in round trips with marks."""
        gain = self.values["g"] * part
        alpha = (1.0 - gain) * rows["alpha"] + gain * seen.marked
        rows = {**rows, "alpha": alpha}
        cut = 0.5 * part * self.penalty(rows, seen)
        return rows, self.xp.where(seen.marked > 0.0, cut, 0.0 * cut)

    def penalty(self, rows: Rows, seen: Seen) -> Array:  # noqa: ARG002
        """Return alpha, by which marks cut the window."""
        return rows["alpha"]


class D2tcp(Dctcp):
    """D2TCP: the penalty is alpha^d, d the time that the rest needs over the time left."""

    keys: ClassVar[Mapping[str, float]] = {**Dctcp.keys, "d_cap": 2.0}

    def penalty(self, rows: Rows, seen: Seen) -> Array:
        """Alpha to the power of d; d is 1 without a deadline, and once it has passed."""
        xp, cap = self.xp, self.values["d_cap"]
        needs = seen.left / (0.75 * rows["window"]) * seen.rtt
        d = xp.clip(needs / xp.maximum(seen.time_left, 1e-12 + 0.0 * needs), 1.0 / cap, cap)
        d = xp.where((seen.time_left > 0.0) & (seen.time_left < 0.5 * FOREVER), d, 1.0 + 0.0 * d)
        return xp.maximum(rows["alpha"], 1e-12 + 0.0 * d) ** d


class Jit(Law):
    """Paces at bytes left over time left and listens to nothing: the yardstick beside MCP."""

    keys: ClassVar[Mapping[str, float]] = {"aim": 1.05, "margin_rtts": 2.0, "least_rate": 1e-3}
    paced = True

    def start(self, flows: Flows) -> Rows:
        """At the rate that the deadline needs."""
        needed = self.needed(flows.bytes, flows.allowed, flows)
        return {"x": self.bounded(needed)}

    def rate(self, rows: Rows, rtt: Array, flows: Flows) -> Array:  # noqa: ARG002
        """A share of the sender's link."""
        return rows["x"] * flows.line

    def step(self, rows: Rows, seen: Seen) -> Rows:
        """Set the rate to the share needed now."""
        return {**rows, "x": self.bounded(self.needed(seen.left, seen.time_left, seen.flows))}

    def needed(self, left: Array, time_left: Array, flows: Flows) -> Array:
        """Gamma, as a share of the link; all of it once it is too late, or without a deadline."""
        xp = self.xp
        time = time_left - self.values["margin_rtts"] * flows.rtt
        rate = self.values["aim"] * left / (xp.maximum(time, 1e-12 + 0.0 * time) * flows.line)
        one = 1.0 + 0.0 * rate
        return xp.where((time > 0.0) & (time < 0.5 * FOREVER), xp.minimum(rate, one), one)

    def bounded(self, x: Array) -> Array:
        """Between the least rate and the link's."""
        return self.xp.clip(x, self.values["least_rate"], 1.0)


class McpOpt(Jit):
    """MCP: the backlog of the virtual queue pulls towards gamma, the network's sum pushes back."""

    keys: ClassVar[Mapping[str, float]] = {
        **Jit.keys,
        "gain": 0.1,
        "price_weight": 1e-3,
        "load_cap": 0.9,
        "backlog_cap": 10.0,
    }

    def start(self, flows: Flows) -> Rows:
        """At gamma, with nothing behind."""
        return {**super().start(flows), "backlog": 0.0 * flows.bytes, "estimate": 0.0 * flows.bytes}

    def step(self, rows: Rows, seen: Seen) -> Rows:
        """Law (10), normalised by the link and the base round trip."""
        xp, x = self.xp, rows["x"]
        gamma = self.needed(seen.left, seen.time_left, seen.flows)
        rows, network = self.network(rows, seen)
        backlog = xp.clip(rows["backlog"] + gamma - x, 0.0, self.values["backlog_cap"])
        change = self.values["gain"] * x * (backlog * gamma / (x * x) - network)
        change = xp.maximum(xp.minimum(change, 0.5 * x + 0.01), -0.5 * x)
        return {**rows, "x": self.bounded(x + change), "backlog": backlog}

    def network(self, rows: Rows, seen: Seen) -> tuple[Rows, Array]:
        """The header's sum over the path."""
        return rows, seen.queued + seen.load_price(self.values["price_weight"], self.values["load_cap"])


class Mcp(McpOpt):
    """MCP by marks alone, (11): K and the own marked share replace the queue, its growth the load."""

    keys: ClassVar[Mapping[str, float]] = {**McpOpt.keys, "threshold": 64.0}

    def network(self, rows: Rows, seen: Seen) -> tuple[Rows, Array]:
        """An estimate of zero where nothing was marked."""
        xp = self.xp
        pipe = seen.flows.line * seen.tau
        frame = self.mss / pipe
        estimate = self.values["threshold"] * frame + seen.marked * rows["x"]
        estimate = xp.where(seen.marked > 0.0, estimate, 0.0 * estimate)
        load = xp.clip(1.0 + estimate - rows["estimate"], 0.0, self.values["load_cap"])
        price = self.values["price_weight"] / (1.0 - load) ** 2
        price = xp.where(estimate > 0.0, price, 0.0 * price)
        return {**rows, "estimate": estimate}, estimate + price


LAWS: dict[str, type[Law]] = {
    "tcp": Tcp,
    "dctcp": Dctcp,
    "d2tcp": D2tcp,
    "jit": Jit,
    "mcp-opt": McpOpt,
    "mcp": Mcp,
}
