"""The rows that ``--csv`` prints: a table for each JSON object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, cast

from duetime.statistics import BOUNDS

if TYPE_CHECKING:
    from duetime.contract.estimates import Estimate, Ranges
    from duetime.contract.rows import Cell, Row
    from duetime.contract.runs import Foresight, OfTransport
    from duetime.contract.searches import Found, Search
    from duetime.contract.variants import Robustness

#: How all classes together are called.
ALL = "all"
#: The figures of a bound that a run has too.
OF_BOUND: Final = ("missed", "missed_percent")
#: The figures of a run that no class has.
TOTALS = ("packets_delivered", "drops", "trims", "marks", "timeouts", "retransmits")


def of_run(data: OfTransport) -> list[Row]:
    """Return a row for all messages of a run, also of one over several seeds, and for each class and set."""
    seeds = {"seeds": len(data["seeds"])} if "seeds" in data else {}
    about: Row = {"transport": data["transport"], "seed": data["seed"], **seeds}
    counted = [name for name in TOTALS if name != "trims" or name in data]
    bound, totals = data["bound"], flat({name: data.get(name) for name in counted})
    rows = [_row(about, ALL, {**data["summary"]}, bound_figures(bound), totals)]
    for name, part in data["classes"].items():
        # A class may have this name too.
        called = f"class {name}" if name == ALL else name
        rows.append(
            _row(about, called, {**part}, bound_figures(bound["classes"].get(name) if bound else None))
        )
    rows += [_row(about, f"set {name}", {**part}) for name, part in data.get("sets", {}).items()]
    return rows


def _row(about: Row, of_class: str, *parts: Mapping[str, object]) -> Row:
    figures = (flat(part) for part in parts)
    return {**about, "class": of_class, **{name: value for part in figures for name, value in part.items()}}


def bound_figures(bound: Mapping[str, object] | None) -> Row:
    """Return the figures of a bound that can be compared with the figures of a run."""
    return {} if bound is None else flat({key: bound[key] for key in OF_BOUND}, "bound")


def of_bound(foresight: Foresight) -> list[Row]:
    """Return a row for all messages, or requests, and one for each class of them that has a bound."""
    rows: list[Row] = []
    for what, bound in (("messages", foresight["bound"]), ("requests", foresight["requests"])):
        if bound is None:
            continue
        parts = {ALL: bound, **{name: part for name, part in bound["classes"].items() if part}}
        for name, part in parts.items():
            told = {key: value for key, value in part.items() if key != "classes"}
            rows.append({"seed": foresight["seed"], "of": what, "class": name, **flat(told)})
    return rows


def of_search(data: Search, name: Found) -> list[Row]:
    """Return a row for each value that was tried, by transport; ``answer`` marks the one that was found."""
    rows: list[Row] = []
    for answer in data["answers"]:
        low, high = answer["ci95"]
        for tried in answer["tried"]:
            rows.append(
                {
                    "transport": answer["transport"],
                    data.get("over", name): tried["value"],
                    **flat({"missed_percent": tried["missed_percent"]}),
                    "answer": tried["value"] == answer[name],
                    "interval_low": low,
                    "interval_high": high,
                }
            )
    return rows


def of_variants(record: Robustness) -> list[Row]:
    """Return a row for each variant and transport."""
    measure = record["measure"]
    return [
        {
            "variant": ", ".join(f"{name} {value}" for name, value in each["choices"].items())
            or "as written",
            "transport": transport,
            measure["name"]: value,
            "unit": measure["unit"],
            "error": each["error"],
        }
        for each in record["variants"]
        for transport, value in each["values"].items()
    ]


def of_estimate(data: Estimate) -> list[Row]:
    """Return a row for all messages, one for each class, and one for each group of sizes."""
    ranges = data["ranges"]

    def spans(of: Ranges | None) -> Iterator[tuple[str, Cell]]:
        for name, span in (of or {}).items():
            yield f"{name}_low", None if span is None else span[0]
            yield f"{name}_high", None if span is None else span[1]

    rows: list[Row] = [
        {"part": ALL, **flat({**data["summary"]}), **dict(spans(ranges and ranges["summary"]))}
    ]
    for name, part in data["classes"].items():
        rows.append({"part": name, **flat({**part}), **dict(spans(ranges and ranges["classes"].get(name)))})
    rows += [{"part": f"up to {part['up_to']} B", **flat({**part})} for part in data["sizes"]]
    return rows


def of_object(found: object, path: str = "") -> list[Row]:
    """Return a row for each value in a JSON object, with its path."""
    if isinstance(found, Mapping):
        pairs = [(str(key), each) for key, each in found.items()]
    elif isinstance(found, list):
        pairs = [
            (str(each["name"] if isinstance(each, Mapping) and "name" in each else number), each)
            for number, each in enumerate(found)
        ]
    else:
        return [{"key": path, "value": cast("Cell", found)}]
    return [row for key, each in pairs for row in of_object(each, _joined(path, key, "."))]


def flat(part: Mapping[str, object], prefix: str = "") -> Row:
    """Put nested figures side by side: ``fct_us.p99`` becomes ``fct_us_p99``."""
    found: Row = {}
    for key, value in part.items():
        name = _joined(prefix, key)
        if key == BOUNDS:
            # Next to the figures that they bound; left out where all are known.
            known = value.items() if isinstance(value, Mapping) else ()
            bounds = {f"{each}_{BOUNDS}": bound for each, bound in known}
            found.update(flat(bounds, prefix))
        elif isinstance(value, dict) and "ci95" in value:
            found[name] = value["mean"]
            found[f"{name}_low"], found[f"{name}_high"] = value["ci95"]
            if BOUNDS in value:
                found[_joined(prefix, f"{key}_{BOUNDS}")] = value[BOUNDS]
        elif isinstance(value, dict):
            found.update(flat(value, name))
        elif not isinstance(value, list):
            found[name] = cast("Cell", value)
    return found


def _joined(prefix: str, key: str, by: str = "_") -> str:
    return f"{prefix}{by}{key}" if prefix else key
