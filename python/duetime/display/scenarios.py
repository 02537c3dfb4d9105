"""A scenario before it is run, on the terminal: the output of `duetime check`, with and without --explain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from duetime.display import terminal
from duetime.display.grid import Column, Grid
from duetime.quantities import counted, memory, short

if TYPE_CHECKING:
    from duetime.contract.scenarios import (
        Clients,
        Cost,
        Explanation,
        Fault,
        Link,
        Offered,
        Ports,
        Profile,
        Spread,
    )


def explained(data: Explanation) -> None:
    """Print the senders and receivers of each class, the load of each port, and the random inputs."""
    shown = terminal.console()
    shown.print(
        Text(f"{data['title'] or 'The scenario'}: {data['duration_s']:g} s, seed {data['seed']}", "bold")
    )
    for each in data["classes"]:
        terminal.say(shown, sentence(each))
        for line in offered(each):
            terminal.say(shown, line, indent="    ")
    profile(shown, data["profile"])
    most = max((each["load_percent"] for each in data["links"]), default=0)
    links = [each for each in data["links"] if each["flows_without_end"] or each["load_percent"] > most / 10]
    terminal.show(shown, _links(links))
    beyond = data["links_in_use"] - len(links)
    if beyond > 0:
        terminal.say(shown, f"{counted(beyond, 'more link')} carr{'ies' if beyond == 1 else 'y'} less")
    unknown(shown, data)
    terminal.say(
        shown,
        "asked: the load that the scenario asks for; drawn: the load of the messages that this seed draws",
    )
    terminal.say(
        shown,
        "burst: queue left by the first windows of messages that start together; limit: maximum queue when "
        "all other ports are idle; BDP: rate times base RTT; floors: bytes in flight with every window at "
        "cwnd_floor",
    )
    if any(each["mark_at"] == "departure" for each in data["links"]):
        terminal.say(shown, "K: what a packet leaves behind when its transmission begins (mark_at)")
    terminal.show(shown, _ports(data["ports"]))
    for number, one in enumerate(data["faults"], 1):
        terminal.say(shown, f"fault {number}: {fault(one)}")
    terminal.say(shown, expected_cost(data["cost"]))
    words = "; ".join(data["random"])
    terminal.say(shown, f"random: {words}" if words else "nothing is random: every seed gives the same run")


def profile(shown: Console, known: Profile) -> None:
    """Print the profile, and each key that it has set, with its source."""
    terminal.say(shown, f"profile {known['name']}: {known['help']} ({known['source']})")
    if not known["set"]:
        return
    grid = Grid(["set by the profile"], [Column(title, words=True) for title in ("value", "source")])
    several = len({each["table"] for each in known["set"]} - {"[network]"}) > 1
    for each in known["set"]:
        value = _written(each["value"])
        place = each["table"] if several or each["table"] == "[network]" else "transport"
        grid.add([f"{each['key']} of {place}" if several else each["key"]], [value, each["source"]])
    terminal.show(shown, grid)


def _ports(groups: Sequence[Ports]) -> Grid:
    """Return the ports by the way in which the engine simulates them."""
    columns = [Column("ports"), Column("mode", words=True), Column("because", words=True)]
    grid = Grid(["ports from"], columns)
    for each in groups:
        grid.add([each["of"]], [f"{each['ports']:,}", each["mode"], each["why"]])
    return grid


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def checked(data: Explanation) -> None:
    """Print the mean of each distribution of sizes, and the drawn load beside the configured one."""
    shown = terminal.console()
    for each in data["classes"]:
        for line in offered(each):
            terminal.say(shown, f"{each['name']}: {line}")
    finite = [each for each in data["links"] if each["expected_percent"] > 0]
    if finite:
        most = max(finite, key=lambda each: each["expected_percent"])
        terminal.say(
            shown,
            f"most loaded link: {most['link']}, asked {short(most['expected_percent'])} %, "
            f"drawn {short(most['load_percent'])} %",
        )
    unknown(shown, data)
    terminal.say(shown, expected_cost(data["cost"]))


def unknown(shown: Console, data: Explanation) -> None:
    """Say that the expected loads of some links are not known, where that is so."""
    if not data["expected_is_complete"]:
        terminal.say(
            shown, "the asked loads of links between switches are not known: this network has too many routes"
        )


def offered(each: Offered) -> list[str]:
    """Say the mean size of a class, and its messages and payload: those expected, and those drawn."""
    if clients := each["clients"]:
        return [_closed(clients)]
    if not each["expected_mbps"] and not each["drawn_mbps"]:
        return []
    drawn = each["messages"] - each["without_end"]
    until = f" in the first {_time(each['drawn_until_s'] * 1e6)}" if each["drawn_partly"] else ""
    mean = "" if each["size_mean_bytes"] is None else f"mean size {_size(each['size_mean_bytes'])}; "
    if each["bytes"]:
        mean = mean and f"{mean[:-2]}, drawn {_size(each['bytes']['mean'])}; "
    return [
        f"{mean}asked {_rate(each['expected_mbps'])} in {short(each['expected_messages'])} messages, "
        f"drawn {_rate(each['drawn_mbps'])} in {short(drawn)}{until}"
    ]


def _closed(clients: Clients) -> str:
    pause = f"after a pause of {_time(clients['think_us'])} (mean)" if clients["think_us"] else "at once"
    several, most = clients["count"] != 1, short(clients["messages"])
    return (
        f"{counted(clients['count'], 'client')}, {'each' if several else 'which'} asks again {pause} "
        f"when its request has ended: at most about {most} messages, which loads of links leave out"
    )


def expected_cost(each: Cost) -> str:
    """Return the expected cost of a run in words."""
    rows = each["rows"]["flows"] + each["rows"]["queries"] + each["rows"]["links"]
    flows = each["flows_without_end"]
    endless = f" and {counted(round(flows), 'flow')} without end" if flows else ""
    parts = (
        f"{short(each['messages'])} messages{endless}",
        f"{short(each['packet_hops'])} packet-hops",
        f"about {short(each['packets_in_flight'], 2)} packets in flight",
        f"{short(rows)} rows",
        f"{memory(each['memory_bytes'])} of memory",
    )
    return f"expected cost: {', '.join(parts)}"


def sentence(each: Offered) -> str:
    """Describe the senders, receivers, frequency and size of a class's messages."""
    hosts = f"{counted(each['senders'], 'host')} to {counted(each['receivers'], 'host')}"
    parts = [f"{each['name']} ({each['transport']}, {each['pattern']}): {hosts}"]
    finite = each["messages"] - each["without_end"]
    if each["without_end"]:
        parts.append(counted(each["without_end"], "flow") + " without end")
    if finite and each["bytes"]:
        drawn = f" in the first {short(each['drawn_until_s'])} s" if each["drawn_until_s"] else ""
        drawn = " in the clients' first requests" if each["clients"] else drawn
        parts.append(f"{counted(finite, 'message')} of {_spread(each['bytes'], _size)}{drawn}")
    if each["at_once"]:
        parts.append(f"{each['at_once']} at once")
    if each["deadline_us"]:
        parts.append(f"deadlines {_spread(each['deadline_us'], _time)}")
    if each["deadline_times_alone"]:
        parts.append(f"which are {_spread(each['deadline_times_alone'], short)} times alone")
    return ", ".join(parts) if each["messages"] else f"{parts[0]}: sends nothing"


def fault(each: Fault) -> str:
    """Describe a fault: its kind, its time, its links, and how many of them carry traffic."""
    end = "on" if each["until_s"] is None else f"to {_time(each['until_s'] * 1e6)}"
    names = ", ".join(each["links"][:4]) + (", ..." if each["directions"] > 4 else "")
    links = f"{counted(each['directions'], 'direction')} of links ({names})"
    return (
        f"{each['kind']} from {_time(each['at_s'] * 1e6)} {end}, {links}, {each['carry_traffic']} with data"
    )


def _links(links: Sequence[Link]) -> Grid:
    titles = ("rate", "asked", "drawn", "burst", "limit", "K", "BDP", "floors")
    grid = Grid(["link"], [*(Column(title) for title in titles), Column("classes", words=True)])
    for each in links:
        shares = (each["expected_percent"], each["load_percent"])
        asked, load = (f"{short(share)} %" for share in shares)
        if flows := each["flows_without_end"]:
            # Each of several shortest paths carries a share of the flows that may take any of them.
            words = counted(round(flows), "long flow") if flows >= 1 else f"{short(flows, 2)} of a long flow"
            asked, load = (
                f"{words} + {percent}" if share else words
                for share, percent in zip(shares, (asked, load), strict=True)
            )
        known = [each["burst_bytes"], each["limit_bytes"], each["mark_bytes"]]
        known += [each["bandwidth_delay_bytes"], each["floor_bytes"]]
        sizes = ("-" if size is None else _size(size) for size in known)
        grid.add([each["link"]], [_rate(each["rate_mbps"]), asked, load, *sizes, ", ".join(each["classes"])])
    return grid


def _spread(values: Spread, written: Callable[[float], str]) -> str:
    low, mean, high = (written(values[key]) for key in ("min", "mean", "max"))
    return low if low == high else f"{low} to {high} (mean {mean})"


def _rate(mbps: float) -> str:
    return f"{short(mbps / 1000)} Gbps" if mbps >= 1000 else f"{short(mbps)} Mbps"


def _size(count: float) -> str:
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if count >= factor:
            return f"{short(count / factor)} {unit}"
    return f"{short(count)} B"


def _time(us: float) -> str:
    for factor, unit in ((1e6, "s"), (1e3, "ms")):
        if us >= factor:
            return f"{short(us / factor)} {unit}"
    return f"{short(us)} us"


__all__ = ["checked", "explained"]
