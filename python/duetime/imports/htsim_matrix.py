"""Connection matrices of htsim (``.cm``), with triggers.

A matrix has ``Nodes N``, ``Connections N`` and ``Triggers N``, then lines like
``0->13 id 1 start 0 size 2000000 send_done_trigger 1`` and ``trigger id 1 oneshot``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from duetime.imports.model import Flow, Flows, Format, Options, Part, Step, Steps, counted
from duetime.imports.text import Text, Word

HEADERS = ("Nodes", "Connections", "Triggers", "Failures")
ENDS = re.compile(r"(\d+)->(\d+)")
#: Words of a connection that are followed by a number.
NUMBERS = ("id", "start", "size", "trigger", "send_done_trigger", "recv_done_trigger", "prio")
#: Starts of less than this many picoseconds are hardly meant: older matrices had microseconds.
PLAUSIBLE_PS = 1000


@dataclass
class Connection:
    """A line of the matrix."""

    word: Word
    flow: Flow
    words: dict[str, Word]
    #: The triggers that it fires when it is done.
    fires: list[int]


@dataclass
class Trigger:
    """A trigger, with the connections that fire it and that it starts."""

    word: Word
    kind: str
    count: int
    fired_by: list[Connection] = field(default_factory=list)
    starts: list[Connection] = field(default_factory=list)


def is_it(text: Text) -> bool:
    """Return whether the matrix says its nodes and its connections first."""
    first = [row[0].text for row, _ in zip(text.rows(), range(2), strict=False)]
    return first == ["Nodes", "Connections"]


def read(text: Text, options: Options) -> Part:
    """Read the connections; with triggers they become stages."""
    header: dict[str, int] = {}
    places: dict[str, Word] = {}
    connections: list[Connection] = []
    triggers: dict[int, Trigger] = {}
    for row in text.rows():
        first = row[0]
        if first.text in HEADERS:
            if first.text in header:
                raise text.fault(first, f"`{first}` appears twice")
            if connections or triggers:
                raise text.fault(first, f"`{first}` is expected before the connections")
            if len(row) != 2:
                raise text.fault(first.line, f"`{first}` has one number")
            header[first.text], places[first.text] = text.whole(row[1], f"`{first}`"), row[1]
        elif ENDS.fullmatch(first.text):
            connections.append(_connection(text, row, header))
        elif first.text == "trigger":
            number, trigger = _trigger(text, row)
            if number in triggers:
                raise text.fault(trigger.word, f"trigger {number} appears twice")
            triggers[number] = trigger
        elif first.text == "failure":
            hint = 'a failed link is [[fault]] with kind = "down" in a scenario'
            raise text.fault(first, "failures of a connection matrix are not imported", hint)
        else:
            raise text.fault(first, f"`{first}` is neither a connection like 0->13 nor a trigger")
    for name, found in (("Nodes", None), ("Connections", len(connections)), ("Triggers", len(triggers))):
        if name not in header and name != "Triggers":
            raise text.fault(1, f"`{name}` is expected in the first lines")
        if found is not None and header.get(name, 0) != found:
            place = places.get(name, 1)
            raise text.fault(place, f"`{name}` announces {header.get(name, 0)}, the file has {found}")
    if not connections:
        raise text.fault(places["Connections"], "the file announces no connections")
    unit, notes = _unit(text, connections, options)
    if any("prio" in each.words for each in connections):
        notes.append("`prio` has no meaning here: all flows have the same priority")
    summary = f"htsim connection matrix: {counted(header['Nodes'], 'node')}, "
    summary += counted(len(connections), "connection")
    flows = [each.flow for each in connections]
    if not triggers and not any(each.fires or "trigger" in each.words for each in connections):
        ending = {1e-12: "_ps", 1e-6: "_us"}[unit]
        return Part(summary, traffic=Flows(text, flows, (ending, unit), header["Nodes"]), notes=notes)
    _wire(text, connections, triggers)
    notes.append(
        "a triggered flow starts when the last byte of those that it follows has arrived; in htsim "
        "`send_done_trigger` fires when the ACK of that byte has returned, half a round trip later"
    )
    steps = _steps(text, connections, triggers)
    summary += f", {counted(len(triggers), 'trigger')}"
    return Part(summary, traffic=Steps(text, steps, header["Nodes"], unit), notes=notes)


def _connection(text: Text, row: list[Word], header: dict[str, int]) -> Connection:
    first, nodes = row[0], header.get("Nodes")
    if nodes is None:
        raise text.fault(first, "`Nodes` is expected before the connections")
    ends = ENDS.fullmatch(first.text)
    assert ends is not None
    src, dst = (Word(ends[i], first.line, first.column + ends.start(i)) for i in (1, 2))
    for end in (src, dst):
        if int(end.text) >= nodes:
            raise text.fault(end, f"node {end} does not exist: the file announces {nodes}, 0 to {nodes - 1}")
    if src.text == dst.text:
        raise text.fault(dst, f"node {dst} would send to itself")
    words: dict[str, Word] = {}
    at = 1
    while at < len(row):
        name = row[at]
        if name.text == "msg":
            raise text.fault(name, "several messages (`msg`) of one connection are not imported")
        if name.text not in NUMBERS:
            raise text.fault(name, f"`{name}` is unknown; a connection has {', '.join(NUMBERS)}")
        if at + 1 == len(row):
            raise text.fault(name, f"`{name}` is followed by a number")
        if name.text in words:
            raise text.fault(name, f"`{name}` appears twice")
        words[name.text] = row[at + 1]
        at += 2
    if "size" not in words:
        raise text.fault(first, "this connection has no `size`: flows without end are not imported")
    if ("start" in words) == ("trigger" in words):
        what = "both `start` and `trigger`" if "start" in words else "neither `start` nor `trigger`"
        raise text.fault(first, f"this connection has {what}: one of them says when it starts")
    start = words.get("start")
    if start is not None:
        text.number(start, "`start`")
    size = text.whole(words["size"], "`size`", least=1)
    fires = [
        text.whole(words[f"{end}_done_trigger"], "a trigger", 1)
        for end in ("send", "recv")
        if f"{end}_done_trigger" in words
    ]
    return Connection(first, Flow(src, dst, size, start.text if start else "0"), words, fires)


def _trigger(text: Text, row: list[Word]) -> tuple[int, Trigger]:
    kind, number, count = None, None, None
    at = 1
    while at < len(row):
        word = row[at]
        if word.text in ("oneshot", "multishot", "barrier"):
            if kind is not None:
                raise text.fault(word, "a trigger has one kind")
            kind = word.text
            at += 1
        elif word.text in ("id", "count") and at + 1 < len(row):
            value = text.whole(row[at + 1], f"`{word}`", least=1)
            number, count = (value, count) if word.text == "id" else (number, value)
            at += 2
        else:
            hint = "a trigger is like: trigger id 1 oneshot, or trigger id 2 barrier count 3"
            raise text.fault(word, f"`{word}` is unknown in a trigger", hint)
    if number is None or kind is None:
        raise text.fault(row[0].line, f"this trigger has no {'`id`' if number is None else 'kind'}")
    if kind == "barrier" and count is None:
        raise text.fault(row[0].line, "a barrier has a `count`")
    return number, Trigger(row[0], kind, count or 1)


def _unit(text: Text, connections: list[Connection], options: Options) -> tuple[float, list[str]]:
    starts = [(float(each.flow.start), each) for each in connections if "start" in each.words]
    latest, last = max(starts, key=lambda each: each[0], default=(0.0, connections[0]))
    if options.start_unit is not None:
        return (1e-12 if options.start_unit == "ps" else 1e-6), []
    if not latest:
        return 1e-12, []
    if latest < PLAUSIBLE_PS:
        raise text.fault(
            last.words["start"],
            f"the unit of starts is not clear: {latest:g} is the last, htsim reads picoseconds, and older "
            "matrices have microseconds",
            "say which: --start-unit us, or --start-unit ps",
        )
    return 1e-12, ["starts are picoseconds, as htsim reads them; --start-unit us reads older matrices"]


def _wire(text: Text, connections: list[Connection], triggers: dict[int, Trigger]) -> None:
    """Join connections and triggers, and refuse triggers that stages cannot express."""
    for each in connections:
        if "trigger" in each.words:
            word = each.words["trigger"]
            if (number := text.whole(word, "`trigger`", 1)) not in triggers:
                raise text.fault(word, f"trigger {number} is used, but no line says what it is")
            triggers[number].starts.append(each)
        for number in each.fires:
            if number not in triggers:
                raise text.fault(each.word.line, f"trigger {number} is used, but no line says what it is")
            triggers[number].fired_by.append(each)
    for number, trigger in triggers.items():
        fired = len(trigger.fired_by)
        if not trigger.starts:
            raise text.fault(trigger.word.line, f"trigger {number} starts no connection")
        if trigger.kind == "barrier" and trigger.count != fired:
            message = (
                f"barrier {number} waits for {trigger.count}, and {counted(fired, 'connection')} can fire it"
            )
            raise text.fault(trigger.word.line, message)
        if trigger.kind == "oneshot" and fired != 1:
            message = f"oneshot {number} is fired by {counted(fired, 'connection')}, one is expected"
            hint = "a barrier waits for several; the first of several is not imported"
            raise text.fault(trigger.word.line, message, hint)
        if trigger.kind == "multishot" and (fired != 1 or len(trigger.starts) != 1):
            message = (
                f"multishot {number} starts one connection each time it is fired, in the order of the run"
            )
            hint = "only a multishot of one connection that starts one other can be imported"
            raise text.fault(trigger.word.line, message, hint)


def _steps(text: Text, connections: list[Connection], triggers: dict[int, Trigger]) -> list[Step]:
    names = {id(each): f"flow {number}" for number, each in enumerate(connections, 1)}
    before: dict[int, list[Connection]] = {id(each): [] for each in connections}
    for trigger in triggers.values():
        for each in trigger.starts:
            before[id(each)] = trigger.fired_by
    # A stage follows stages above it.
    done: set[int] = set()
    waiting: dict[int, list[Connection]] = {}
    left = {id(each): len(before[id(each)]) for each in connections}
    for each in connections:
        for first in before[id(each)]:
            waiting.setdefault(id(first), []).append(each)
    ready = [each for each in connections if not left[id(each)]]
    steps = []
    for each in ready:
        done.add(id(each))
        after = [names[id(first)] for first in before[id(each)]]
        steps.append(Step(names[id(each)], each.flow, after))
        for after_it in waiting.get(id(each), []):
            left[id(after_it)] -= 1
            if not left[id(after_it)]:
                ready.append(after_it)
    for each in connections:
        if id(each) not in done:
            raise text.fault(each.word.line, "this connection would wait for itself, by a circle of triggers")
    return steps


FORMAT = Format("htsim-matrix", "a connection matrix of htsim (.cm), with triggers", is_it, read)
