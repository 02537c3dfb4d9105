"""Shell completion of options: transports, scenarios, experiments, the keys of ``--set``.

click calls each function with the word typed so far; a mistake in a file gives no suggestions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from click import Context, Parameter
from click.shell_completion import CompletionItem, FishComplete, add_completion_class

from duetime.data import SCENARIOS
from duetime.errors import NoExperiments
from duetime.language import catalog
from duetime.run import resolve
from duetime.scenario import read_file

if TYPE_CHECKING:
    from duetime.contract.catalog import Kind
    from duetime.contract.scenarios import Resolved


class _Fish(FishComplete):
    """click's script for fish splits suggestions at every comma; some are lists of transports with commas."""

    source_template = FishComplete.source_template.replace('split ","', 'split --max 1 ","')


add_completion_class(_Fish)


def transports(_: Context, __: Parameter, typed: str) -> list[CompletionItem]:
    """Names separated by commas, each once."""
    before, comma, last = typed.rpartition(",")
    taken = before.split(",")
    return _items(
        ((f"{before}{comma}{each['name']}", each["help"]) for each in catalog()["transports"]),
        f"{before}{comma}{last}",
        {f"{before}{comma}{name}" for name in taken},
    )


def names(kind: Kind) -> Callable[[Context, Parameter, str], list[CompletionItem]]:
    """Return the completion function for names of the catalog's `kind`."""

    def offered(_: Context, __: Parameter, typed: str) -> list[CompletionItem]:
        return _items(((each["name"], each["help"]) for each in catalog()[kind]), typed)

    return offered


def scenario_names() -> list[str]:
    """Return the scenarios shipped with duetime."""
    return sorted(path.stem for path in SCENARIOS.glob("*.toml"))


def scenarios(_: Context, __: Parameter, typed: str) -> list[CompletionItem]:
    """Complete the names of the scenarios shipped with duetime."""
    return _items(((name, "") for name in scenario_names()), typed)


def experiments(context: Context, _: Parameter, typed: str) -> list[CompletionItem]:
    """Experiments of the folder that is asked for, and all of them."""
    # Loaded late: only a shell that completes a name needs it.
    from duetime.experiments.places import folder, names

    try:
        known = names(folder(context.params.get("root")))
    except NoExperiments:
        return []
    return _items(((name, "") for name in ("all", *known)), typed)


def keys(context: Context, _: Parameter, typed: str) -> list[CompletionItem]:
    """Keys of the scenario that is named, as ``--set`` takes them; behind one, its value there."""
    # Behind an option that still lacks its value the file is among the arguments not yet parsed.
    named = context.params.get("file") or next(iter(context.args), None)
    if named is None:
        return []
    try:
        resolved = resolve(read_file(Path(named)), None, None, None)[0]
    except ValueError:
        return []
    return _items(((f"{key}=", f"now {value}") for key, value in settings(resolved)), typed)


def settings(resolved: Resolved) -> list[tuple[str, object]]:
    """Every key of a resolved scenario that ``--set`` can change, with its value."""
    found = list(resolved.get("parameters", {}).items())
    for section in ("run", "network", "transport"):
        found += _flat(section, resolved.get(section, {}))
    for each in resolved["traffic"]:
        own = {key: value for key, value in each.items() if key != "name"}
        found += _flat(f"traffic.{each['name']}", own)
    return found


def _flat(path: str, value: object) -> list[tuple[str, object]]:
    if not isinstance(value, Mapping):
        return [(path, value)]
    return [entry for key, each in value.items() for entry in _flat(f"{path}.{key}", each)]


def _items(known: Iterable[tuple[str, str]], typed: str, but: Iterable[str] = ()) -> list[CompletionItem]:
    left_out = set(but)
    return [
        CompletionItem(name, help=help or None)
        for name, help in known
        if name.startswith(typed) and name not in left_out
    ]
