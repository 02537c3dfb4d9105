"""From a scenario to the plan of the testbed's hosts and switch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from duetime import language
from duetime.frames import pl
from duetime.quantities import amount, size_bytes, time_ps
from duetime.results import Result
from duetime.scenario import Unreadable

if TYPE_CHECKING:
    from duetime.contract.scenarios import Network, Resolved, Traffic, Transport

#: Transport of a scenario -> the kernel's name of the congestion control.
CONTROLS = {"tcp": "reno", "cubic": "cubic", "dctcp": "d2tcp", "d2tcp": "d2tcp", "d2tcp_wait": "d2tcp"}
#: Transports whose programs tell deadlines -> the mode of the congestion control.
MODES = {"d2tcp": "d2tcp", "d2tcp_wait": "plus"}
#: Times of d2tcp_wait, as the control has them before its `--time-scale`.
PLUS_TIMES = {
    "floor_horizon": "10 ms",
    "hold_most": "20 ms",
    "guard_most": "10 ms",
    "hopeless_hold": "100 ms",
}
SCALED: Final = ("floor_horizon", "hold_most", "guard_most", "hopeless_hold")
#: A message's number and length are its first bytes.
SMALLEST = 16
#: Hosts beyond this would need another plan of addresses, and more processes than a machine is good for.
MAX_HOSTS = 250
_ETHERNET = 14
_FIRST_PORT = 9000
#: Of the network cards of hosts, in packets: the simulator's are unlimited.
NIC_QUEUE = 100_000
#: Parameters of the congestion control, set with `d2tcp attach`; they hold for all connections at once.
_PARAMETERS: Final = ("g", "d_cap", "t_c", "rtt", "expired", "margin", "initial_alpha")


@dataclass(frozen=True)
class Link:
    """A port: how fast it is, and when it marks or drops. Amounts are (packets, bytes), 0 for none."""

    rate_bps: int
    limit: tuple[int, int]
    mark: tuple[int, int] = (0, 0)
    drop_non_ect: bool = False


@dataclass(frozen=True)
class Flow:
    """A traffic class on the testbed."""

    name: str
    control: str
    #: What the receiver listens with: another control refuses ECN.
    peer: str
    tells_deadlines: bool
    persistent: bool
    port: int


@dataclass(frozen=True)
class Message:
    """A message to send: its row in the schedule, and its properties."""

    row: int
    flow: Flow
    sender: int
    receiver: int
    at_ns: int
    size: int | None
    deadline_ns: int | None


@dataclass(frozen=True)
class Options:
    """The settings of a real network that a scenario does not have."""

    ipv6: bool = False
    #: Receivers of classes under D2TCP listen with Reno and without ECN.
    refuse_ecn: bool = False
    #: "dctcp" is the kernel's own tcp_dctcp rather than ours without deadlines.
    kernel_dctcp: bool = False
    #: The budget of urgency of one user, as `d2tcp attach` takes it; empty for its default. All hosts of a
    #: testbed have the users of one machine. The simulator has no budget.
    user_urgency: str = "100%"
    #: How late HTB may be woken without a link losing time: so much may be sent at once, in seconds.
    burst_s: float = 250e-6


@dataclass(frozen=True)
class Plan:
    """Everything that a testbed is set up and run from."""

    options: Options
    hosts: int
    duration_ns: int
    warm_up_ns: int
    sample_ns: int | None
    signals: list[str]
    mtu: int
    mss: int
    uplinks: list[Link]
    ports: list[Link]
    flows: list[Flow]
    messages: list[Message]
    sysctl: list[tuple[str, str]]
    route: str
    #: Parameters of `d2tcp attach`; none where no connection is under D2TCP.
    control: dict[str, object] | None
    #: The simulator's rows: arrivals, ideal times, links.
    schedule: pl.DataFrame
    links: pl.DataFrame
    notes: list[str] = field(default_factory=list)

    def receivers(self) -> set[int]:
        """Hosts that messages are sent to."""
        return {message.receiver for message in self.messages}


def make(simulated: Result, options: Options) -> Plan:
    """Plan what `simulated` was, on a testbed: the same network, and the same messages at the same times.

    Raises `Unreadable` where the scenario asks for what the testbed cannot do.
    """
    scenario = simulated.scenario
    network, run = scenario["network"], scenario["run"]
    if scenario.get("fault"):
        raise Unreadable("the testbed has no faults: leave out [[fault]]")
    hosts = _hosts(network)
    transports = [_transport(scenario, traffic) for traffic in scenario["traffic"]]
    first = transports[0]
    mss = size_bytes(first["mss"])
    notes = _notes(network, transports)
    flows = _flows(scenario["traffic"], transports, options)
    trace = run.get("trace")
    duration_ns = time_ps(run["duration"]) // 1000
    uplinks, ports = _links(network, simulated.links, hosts)
    # Messages that start later are not measured; the testbed ends with the duration.
    schedule = simulated.flows.filter(simulated.flows["start_us"] * 1e3 < duration_ns)
    return Plan(
        options=options,
        hosts=hosts,
        duration_ns=duration_ns,
        warm_up_ns=time_ps(run.get("warm_up", "0 s")) // 1000,
        sample_ns=time_ps(trace["every"]) // 1000 if trace else None,
        signals=list(trace["what"]) if trace else [],
        mtu=mss + (60 if options.ipv6 else 40),
        mss=mss,
        uplinks=uplinks,
        ports=ports,
        flows=flows,
        messages=_messages(schedule, {flow.name: flow for flow in flows}),
        sysctl=_sysctl(first, transports),
        route=_route(first),
        control=_control(transports, options),
        schedule=schedule,
        links=simulated.links,
        notes=notes,
    )


def _hosts(network: Network) -> int:
    if not language.topology(network["topology"])["single_switch"]:
        possible = " or ".join(
            f'"{each["name"]}"' for each in language.catalog()["topologies"] if each["single_switch"]
        )
        raise Unreadable(f'the testbed is one switch: topology = {possible}, not "{network["topology"]}"')
    if network["mark_at"] != "arrival":
        raise Unreadable('the testbed marks packets before they are queued: mark_at = "arrival"')
    hosts = int(network["hosts"])
    if hosts > MAX_HOSTS:
        raise Unreadable(f"the testbed has room for {MAX_HOSTS} hosts, not {hosts}")
    return hosts


def _transport(scenario: Resolved, traffic: Traffic) -> Transport:
    transport = traffic.get("transport") or scenario["transport"]
    if transport["name"] not in CONTROLS:
        known = ", ".join(CONTROLS)
        raise Unreadable(f"{traffic['name']}: no real {transport['name']} here; the testbed runs {known}")
    return {**scenario["transport"], **transport}


def _flows(classes: list[Traffic], transports: list[Transport], options: Options) -> list[Flow]:
    flows = []
    for number, (traffic, transport) in enumerate(zip(classes, transports, strict=True)):
        control = _kernel_name(transport["name"], options)
        refused = options.refuse_ecn and control == "d2tcp"
        flows.append(
            Flow(
                name=str(traffic["name"]),
                control=control,
                peer="reno" if refused else control,
                tells_deadlines=transport["name"] in MODES,
                persistent=traffic["connections"] == "persistent",
                port=_FIRST_PORT + number,
            )
        )
    return flows


def _messages(schedule: pl.DataFrame, flows: dict[str, Flow]) -> list[Message]:
    messages = []
    for row, each in enumerate(schedule.iter_rows(named=True)):
        flow, size = flows[each["class"]], each["bytes"]
        if size is not None and size < SMALLEST:
            raise Unreadable(f"{flow.name}: a message of {size} B; the testbed needs {SMALLEST} B or more")
        told = flow.tells_deadlines and each["deadline_us"] is not None
        messages.append(
            Message(
                row=row,
                flow=flow,
                sender=each["src"],
                receiver=each["dst"],
                at_ns=round(each["start_us"] * 1e3),
                size=size,
                deadline_ns=round(each["deadline_us"] * 1e3) if told else None,
            )
        )
    return messages


def _links(network: Network, links: pl.DataFrame, hosts: int) -> tuple[list[Link], list[Link]]:
    rates = {(row["src"], row["dst"]): row["rate_bps"] for row in links.iter_rows(named=True)}
    limit, mark = _limit(network, hosts), _mark(network)
    drop = network["non_ect"] == "drop"
    uplinks = [Link(_rate(rates, f"host {i}", None), (NIC_QUEUE, 0)) for i in range(hosts)]
    ports = [Link(_rate(rates, None, f"host {i}"), limit, mark, drop) for i in range(hosts)]
    return uplinks, ports


def _rate(rates: dict[tuple[str, str], int], source: str | None, to: str | None) -> int:
    return next(rate for ends, rate in rates.items() if source in (None, ends[0]) and to in (None, ends[1]))


def _limit(network: Network, hosts: int) -> tuple[int, int]:
    buffer = network["buffer"]
    # A testbed has one switch.
    packets, size = amount(next(iter(buffer.values())) if isinstance(buffer, dict) else buffer)
    if network["sharing"] == "per-port":
        return packets, size
    alpha = float(network["dynamic_alpha"])
    # What one busy port may hold of a pool that the others leave to it (Choudhury and Hahne).
    share = 1 / hosts if network["sharing"] == "static" else alpha / (1 + alpha)
    return round(packets * share), round(size * share)


def _mark(network: Network) -> tuple[int, int]:
    mark = network.get("mark")
    if isinstance(mark, dict):
        mark = mark.get("host")
    return amount(mark) if mark else (0, 0)


def _route(transport: Transport) -> str:
    """Attributes of each host's route: what Linux lets a route decide."""
    rto_min_ms = max(1, round(time_ps(transport["rto_min"]) / 1e9))
    quick = " quickack 1" if transport["ack_every"] == 1 else ""
    # In mode plus it is the control's, and a route's would be above it.
    least = "" if MODES.get(transport["name"]) == "plus" else f" rto_min {rto_min_ms}ms"
    return f"initcwnd {round(transport['initial_window'])}{least}{quick}"


def _sysctl(first: Transport, transports: list[Transport]) -> list[tuple[str, str]]:
    classic = {bool(each.get("ecn", False)) for each in transports if CONTROLS[each["name"]] != "d2tcp"}
    if len(classic) > 1:
        raise Unreadable(
            "classic ECN is a setting of a whole host here: all classes under tcp and cubic, or none"
        )
    return [
        ("net.ipv4.tcp_ecn", "1" if True in classic else "0"),
        # Full segments of the scenario's size: no room is taken by timestamps.
        ("net.ipv4.tcp_timestamps", "0"),
        ("net.ipv4.tcp_sack", "1" if first["recovery"] == "sack" else "0"),
        ("net.ipv4.tcp_slow_start_after_idle", "1" if first["idle_restart"] else "0"),
        # A connection must not begin with what the one before it has learnt.
        ("net.ipv4.tcp_no_metrics_save", "1"),
        ("net.ipv6.conf.all.accept_dad", "0"),
        ("net.ipv6.conf.default.accept_dad", "0"),
    ]


def _kernel_name(transport: str, options: Options) -> str:
    return "dctcp" if transport == "dctcp" and options.kernel_dctcp else CONTROLS[transport]


def _control(transports: list[Transport], options: Options) -> dict[str, object] | None:
    ours = [each for each in transports if _kernel_name(each["name"], options) == "d2tcp"]
    if not ours:
        return None
    merged: dict[str, object] = {}
    for each in ours:
        given: dict[str, object] = {key: each[key] for key in _PARAMETERS if key in each}
        if each["name"] in MODES:
            given["mode"] = MODES[each["name"]]
        if given.get("mode") == "plus":
            given |= {"rto_min": each["rto_min"], "time_scale": _time_scale(each)}
        for key, value in given.items():
            if merged.setdefault(key, value) != value:
                raise Unreadable(f"{key} holds for all connections here; it differs between classes")
    if merged.get("expired") == "abort":
        raise Unreadable('expired = "abort" is not to be had on Linux; take neutral, cap or yield')
    return merged


def _time_scale(transport: Transport) -> float:
    """Return the factor of the times of d2tcp_wait: the control has only one for all."""
    scales = {time_ps(transport[key]) / time_ps(PLUS_TIMES[key]) for key in SCALED}
    if len(scales) > 1:
        raise Unreadable(f"on Linux {', '.join(PLUS_TIMES)} can only be multiplied by one number")
    return scales.pop()


def _notes(network: Network, transports: list[Transport]) -> list[str]:
    notes = [
        f"delay = {network['delay']} is not applied: virtual links have no propagation delay; "
        "the smallest RTT that was measured is in `testbed.min_rtt_us`"
    ]
    if network["sharing"] != "per-port":
        notes.append(f'sharing = "{network["sharing"]}": each port gets what one busy port would be given')
    if any(each.get("cwnd_floor", 2) != 2 for each in transports):
        notes.append("cwnd_floor is 2 on Linux")
    if any(each.get("pacing", "off") != "off" for each in transports):
        notes.append("pacing is left out: packets leave as the window opens")
    return notes


def frame(link: Link, plan: Plan) -> tuple[int, int, int]:
    """(rate, burst, limit in bytes) of a link as HTB and its queue count them, with Ethernet headers."""
    factor = (plan.mtu + _ETHERNET) / plan.mtu
    rate = round(link.rate_bps * factor)
    burst = max(2 * (plan.mtu + _ETHERNET), round(rate * plan.options.burst_s / 8))
    return rate, burst, round(link.limit[1] * factor)
