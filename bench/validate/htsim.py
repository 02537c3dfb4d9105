"""csg-htsim on drawn arrivals: the tree that the user names, built there (`make -C sim libhtsim.a`), and the
driver `bench/peers/htsim/peer.cc`. Its TCP is compared, its DCTCP, and its DCTCP with RFC 8257's rules.
"""

import json
import os
import subprocess
import tempfile
import tomllib
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duetime as dt
from validate import beside
from validate.arrivals import (
    Absent,
    Arrivals,
    Outcome,
    compiled,
    draw,
    ended,
    of_all,
    one_amount,
    ours,
    quantity,
)

PEER = Path(__file__).resolve().parents[1] / "peers" / "htsim" / "peer.cc"
SETUP = Path(__file__).parent / "setups" / "whole-packets.toml"
SEEDS = range(1, 11)
TRANSPORTS = ("tcp", "dctcp")
AS_IT_IS, RULED = SIDES = ("csg-htsim", "csg-htsim, RFC 8257")
#: Of each query in the setup.
LEAVES = 10

#: What htsim does and duetime can be told to do.
ALIKE: dict[str, Any] = {
    "transport.handshake": True,
    "transport.recovery": "newreno",
    # Written into its sources.
    "transport.rto_min": "250 ms",
    "transport.rto_initial": "3 s",
}
#: The least window that a mark leaves in htsim's DCTCP, in segments.
FLOOR: dict[str, Any] = {"transport.cwnd_floor": 1.0}
CHANGES = {"tcp": ALIKE, "dctcp": ALIKE | FLOOR}

#: The differences of its DCTCP from RFC 8257: a name in the plan, and in words.
RULES = {
    "cuts_marked_only": "windows without marks are not cut",
    "alpha_begins_at_one": "alpha begins at 1",
    "cuts_at_echo": "the cut comes with the first echo",
    "keeps_on_echo": "echoes do not let the window grow",
    "windows_by_sequence": "windows end by sequence number",
    "grows_as_rfc5681": "the window grows also while more than it is on its way",
    "marks_on_arrival": "the port marks what comes, not what leaves",
}


def build(tree: Path, source: Path = PEER) -> Path:
    """A driver, compiled against the user's tree; `Absent` where that cannot be."""
    sources = tree / "sim" if (tree / "sim").is_dir() else tree
    library = sources / "libhtsim.a"
    if not library.exists():
        raise Absent(f"no {library}: make -C {sources} libhtsim.a")
    return compiled(source, ["-I", str(sources), str(library)])


def theirs(
    arrivals: Arrivals, transport: str, program: Path, folder: Path, rules: Collection[str] | None = None
) -> Outcome:
    """csg-htsim on these arrivals: its own DCTCP, or the driver's, with these of `RULES` as RFC 8257's."""
    plan = folder / "plan.txt"
    settings = [*planned(arrivals, transport), *ruled(transport, rules)]
    plan.write_text("\n".join(settings) + "\n", encoding="utf-8")
    command = [str(program), str(plan), str(folder / "all.csv"), str(folder / "ends.txt")]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        raise RuntimeError(f"csg-htsim: {made.stderr.strip()}")
    ports = json.loads(made.stdout)["ports"]
    busiest = max(ports, key=lambda port: float(port["mean"]))
    drops = sum(port["drops"] for port in ports)
    # It counts neither marks nor timeouts.
    return Outcome(ended(arrivals, folder / "ends.txt"), drops, 0, 0, busiest["mean"], busiest["p99"])


def planned(arrivals: Arrivals, transport: str) -> Iterable[str]:
    """The driver's plan for the scenario."""
    resolved, _ = dt.check(arrivals.scenario, transport=transport, set=ALIKE)
    network, chosen = resolved["network"], resolved["transport"]
    mss = round(quantity(chosen["mss"]))
    yield f"warm_up {quantity(resolved['run']['warm_up'])!r}"
    yield f"duration {arrivals.duration!r}"
    yield f"end {arrivals.end!r}"
    yield f"hosts {network['hosts']}"
    yield f"rate {round(quantity(network['rate']))}"
    yield f"delay {round(quantity(network['delay']) * 1e12)}"
    yield f"mss {mss}"
    yield f"wire {mss + round(quantity(chosen['header']))}"
    yield f"initial_window {round(float(chosen['initial_window']))}"
    yield f"buffer {round(quantity(of_all(network['buffer'])))}"
    mark = one_amount(network.get("mark"))
    yield f"mark {round(quantity(mark)) if mark else 0}"
    yield f"jitter {0 if network.get('host_jitter') else 1}"
    yield f"seed {resolved['run']['seed'] + 1}"


def ruled(transport: str, rules: Collection[str] | None) -> Iterable[str]:
    """The transport; where rules are given, the driver's own, with these as RFC 8257 has them."""
    yield f"transport {transport if rules is None else 'rules'}"
    for rule in RULES:
        yield f"{rule} {int(rule in (rules or ()))}"


def compare(tree: Path) -> Iterable[beside.Line]:
    """The setup under both transports; DCTCP also with every rule as RFC 8257 has it."""
    program = build(tree)
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(os.cpu_count()) as threads:
        for transport in TRANSPORTS:

            def run(seed: int, transport: str = transport) -> beside.Pairs:
                return pairs(transport, seed, program, Path(temporary))

            yield from beside.lines(SETUP.stem, transport, list(threads.map(run, SEEDS)), sides=SIDES)


def pairs(transport: str, seed: int, program: Path, folder: Path) -> beside.Pairs:
    """Run each simulator once."""
    arrivals, own = drawn(transport, seed, folder)
    sides = {AS_IT_IS: beside.figures(theirs(arrivals, transport, program, own))}
    if transport == "dctcp":
        sides[RULED] = beside.figures(theirs(arrivals, transport, program, own, RULES))
    mine = beside.figures(ours(arrivals, transport, CHANGES[transport]))
    return {side: {key: (value, other[key]) for key, value in mine.items()} for side, other in sides.items()}


def drawn(transport: str, seed: int, folder: Path) -> tuple[Arrivals, Path]:
    """The arrivals, and the folder where they are."""
    scenario = tomllib.loads(SETUP.read_text(encoding="utf-8"))
    if transport != "dctcp":
        del scenario["network"]["mark"]
    own = folder / f"{transport}-{seed}"
    own.mkdir()
    return draw(scenario, seed, own), own


def steps(tree: Path) -> Iterable[beside.Step]:
    """From htsim's DCTCP to RFC 8257's, a rule more in each step; then duetime's."""
    program = build(tree)
    names = list(RULES)
    cases: list[tuple[str, Collection[str] | None]] = [
        ("its own DCTCP", None),
        ("the driver's, with the same rules", ()),
        *((("" if at == 0 else "and ") + RULES[name], names[: at + 1]) for at, name in enumerate(names)),
    ]
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(os.cpu_count()) as threads:
        places = [drawn("dctcp", seed, Path(temporary)) for seed in SEEDS]
        for what, rules in cases:

            def run(place: tuple[Arrivals, Path], rules: Collection[str] | None = rules) -> Outcome:
                return theirs(place[0], "dctcp", program, place[1], rules)

            yield beside.step("csg-htsim", what, list(threads.map(run, places)), LEAVES)
        for what, changes in {"a least window of one segment": FLOOR, "its default of two": {}}.items():
            made = [ours(arrivals, "dctcp", ALIKE | changes) for arrivals, _ in places]
            yield beside.step("duetime", what, made, LEAVES)
