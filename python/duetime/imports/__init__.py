"""Files of other simulators as scenarios: each format has a module here, and a line in `FORMATS`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from duetime.imports import hpcc_config, hpcc_flows, hpcc_topology, htsim_matrix, htsim_topology, sizes, text
from duetime.imports.model import Flows, Format, Network, Options, Part, Settings, Sizes, Steps
from duetime.imports.written import Written, scenario

#: All formats, in the order in which they are recognised.
FORMATS: tuple[Format, ...] = (
    htsim_matrix.FORMAT,
    htsim_topology.FORMAT,
    hpcc_config.FORMAT,
    hpcc_topology.FORMAT,
    hpcc_flows.FORMAT,
    sizes.FORMAT,
)


@dataclass
class Imported:
    """A scenario that was made of files, and notes on them."""

    written: Written
    #: For each file the parts that were read, and those without a meaning here.
    notes: list[str] = field(default_factory=list)


def bring(paths: list[Path], out: Path, options: Options, forced: str | None = None) -> Imported:
    """Make the scenario `out` of files; `Unreadable` names the place of what cannot be meant."""
    found = Imported(Written(""))
    parts: list[tuple[text.Text, Part]] = []

    def add(path: Path, name: str | None) -> Part:
        content = text.read(path)
        part = _format(content, name).read(content, options)
        parts.append((content, part))
        found.notes.append(f"{path}: {part.summary}")
        found.notes += [f"{path}: {note}" for note in part.notes]
        return part

    for path in paths:
        add(path, forced)
    for content, part in list(parts):
        for kind, word in part.names.items():
            given = next((each for each, other in parts if getattr(other, kind) is not None), None)
            if given is None:
                add(_named(content, word), None)
            elif given.path.name != Path(word.text).name:
                found.notes.append(
                    f"{content.path}: names {word}; {given.path} was given and is read instead"
                )
    networks = [(content, part.network) for content, part in parts if part.network is not None]
    traffic = [(content, part.traffic) for content, part in parts if part.traffic is not None]
    settings = [(content, part.settings) for content, part in parts if part.settings is not None]
    for what, several in (("topologies", networks), ("configurations", settings)):
        if len(several) > 1:
            raise text.Mistaken(
                f"{several[0][0].path} and {several[1][0].path} are both {what}: one is expected"
            )
    found.written = scenario(
        out,
        networks[0][1] if networks else None,
        [each for _, each in traffic],
        settings[0][1] if settings else Settings(),
        [content.path for content, _ in parts],
    )
    found.notes += found.written.notes
    return found


def _format(content: text.Text, name: str | None) -> Format:
    if name is not None:
        return next(each for each in FORMATS if each.name == name)
    for each in FORMATS:
        if each.is_it(content):
            return each
    known = ", ".join(each.name for each in FORMATS)
    raise text.Mistaken(
        f"{content.path}: this is none of the known formats ({known})\n"
        "  = --as FORMAT reads it as one, and says where it differs; CSV and JSON need no import: a scenario "
        'names them, as `file` of pattern = "trace" or in `requests` of pattern = "stages"'
    )


def _named(content: text.Text, word: text.Word) -> Path:
    """Return the file that a configuration names."""
    name, folder = Path(word.text), content.path.parent
    # The simulator's paths start from its own folder, which mostly is the one around the configuration's.
    for place in (name, folder / name, folder.parent / name, folder / name.name):
        if place.is_file():
            return place
    raise content.fault(word, f"the file {name} is not found", "name it on the command line too")


__all__ = [
    "FORMATS",
    "Flows",
    "Format",
    "Imported",
    "Network",
    "Options",
    "Part",
    "Settings",
    "Sizes",
    "Steps",
    "Written",
    "bring",
]
