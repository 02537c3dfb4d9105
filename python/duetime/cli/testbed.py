"""The command `duetime testbed`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from duetime import files
from duetime.cli import completion, options
from duetime.comparison import Comparison
from duetime.results import Result
from duetime.run import resolve

if TYPE_CHECKING:
    from duetime.contract.rows import Row


@click.command(short_help="Run a scenario, or a named experiment, on real TCP.")
@click.argument("what", required=False)
@click.option("--list", "listed", is_flag=True, help="List the experiments that have a name.")
@click.option(
    "--transports",
    metavar="NAMES",
    shell_complete=completion.transports,
    help="Which to compare, separated by commas; an experiment has its own.",
)
@click.option("--seeds", type=options.SEEDS, metavar="N", help="Run each N times, seed by seed.")
@click.option(
    "--fan-in",
    "fan_ins",
    metavar="NUMBERS",
    help="Of fig07: which points, separated by commas (default: 20,25,30,35,40).",
)
@click.option("--ipv6", is_flag=True, help="Use IPv6.")
@click.option("--refuse-ecn", is_flag=True, help="Have receivers refuse ECN.")
@options.forms
@options.OUT
@options.SET
@options.SEED
def testbed(
    what: str | None,
    listed: bool,
    transports: str | None,
    seeds: int | None,
    fan_ins: str | None,
    ipv6: bool,
    refuse_ecn: bool,
    as_json: bool,
    as_csv: bool,
    out: Path | None,
    changes: tuple[str, ...],
    seed: int | None,
) -> None:
    """Run WHAT, a scenario file or an experiment's name, on real TCP in network namespaces of this machine.

    Each run is shown beside the simulation of the same messages. Needs root and the programs of `make linux`;
    whatever ends it, nothing is left behind.
    """
    # Loaded late: the testbed needs polars.
    from duetime.testbed import check
    from duetime.testbed.experiments import EXPERIMENTS

    known: list[Row] = [{"id": each.name, "title": each.help} for each in EXPERIMENTS.values()]
    if listed and as_json:
        sys.stdout.write(json.dumps(known, ensure_ascii=False) + "\n")
        return
    if listed and as_csv:
        options.print_rows(known)
        return
    if listed:
        for experiment in EXPERIMENTS.values():
            print(f"{experiment.name:12} {experiment.help}")
        return
    if what is None:
        raise options.Mistake("name a scenario file or an experiment; --list shows the experiments")
    check(control=False)
    if out is not None:
        files.check(out)
    if what == "fig07":
        _fig07(fan_ins, seeds, seed, changes, (as_json, as_csv), out)
        return
    comparison = _comparison(what, _names(transports), seeds, seed, changes, (ipv6, refuse_ecn))
    if out is not None:
        comparison.save(out)
    for note in sorted({note for runs in comparison.by_seed.values() for run in runs for note in run.notes}):
        options.tell_notes([note])
    if as_json:
        sys.stdout.write(comparison.json() + "\n")
    elif as_csv:
        options.print_rows(comparison.rows())
    else:
        # Loaded late: it takes time to load, and with --json no table is shown.
        from duetime.display import comparisons, terminal

        terminal.present(comparisons.table(comparison))
    _saved(out)


def _comparison(
    what: str,
    transports: list[str],
    seeds: int | None,
    seed: int | None,
    changes: tuple[str, ...],
    network: tuple[bool, bool],
) -> Comparison[Result]:
    # Loaded late: the same.
    from duetime.testbed import Options
    from duetime.testbed.experiments import EXPERIMENTS, Arm, carry_out

    ipv6, refuse_ecn = network
    if what in EXPERIMENTS:
        if transports or ipv6 or refuse_ecn:
            raise options.Mistake(f"{what} has transports and options of its own")
        experiment = EXPERIMENTS[what]
        return carry_out(
            experiment.scenario, experiment.arms, seeds=seeds, seed=seed, set=changes, advanced=_tell
        )
    if not Path(what).exists() and "/" not in what and not what.endswith(".toml"):
        raise options.Mistake(f"{what} is no file, and no experiment of {', '.join(EXPERIMENTS)}")
    wanted = Options(ipv6=ipv6, refuse_ecn=refuse_ecn)
    read = options.read(what)
    if not transports:
        transports = [str(resolve(read, seed, changes, None)[0]["transport"]["name"])]
    arms = tuple(Arm(name, wanted, simulated=not refuse_ecn) for name in transports)
    return carry_out(Path(what), arms, seeds=seeds, seed=seed, set=changes, advanced=_tell)


def _fig07(
    fan_ins: str | None,
    seeds: int | None,
    seed: int | None,
    changes: tuple[str, ...],
    form: tuple[bool, bool],
    out: Path | None,
) -> None:
    # Loaded late: the same.
    from duetime.testbed import fig07

    try:
        points = [int(each) for each in _names(fan_ins)] or list(fig07.FAN_INS)
    except ValueError:
        raise options.Mistake(f"--fan-in {fan_ins}: numbers separated by commas are expected") from None
    split = dict(change.split("=", 1) for change in changes if "=" in change)
    compared = fig07.run(points, seeds=seeds or 3, seed=seed, set=split, advanced=_tell)
    if out is not None:
        fig07.save(compared, out)
    rows = fig07.table(compared)
    as_json, as_csv = form
    if as_json:
        sys.stdout.write(json.dumps(rows) + "\n")
    elif as_csv:
        options.print_rows(rows["rows"])
    else:
        for row in rows["rows"]:
            print(
                f"fan-in {row['fan_in']}  {row['transport']:6} {row['where']:10} missed "
                f"{row['missed_percent']:5.1f} %  long flows {row['long_mbps'] or 0:5.1f} Mbit/s"
            )
        agree = sum(each["agree"] for each in rows["repeats"])
        print(f"The sign of d2tcp's difference to dctcp agrees in {agree} of {len(rows['repeats'])} repeats.")
    _saved(out)


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _tell(what: str) -> None:
    print(f"running {what}", file=sys.stderr)


def _saved(out: Path | None) -> None:
    if out is not None:
        print(f"Saved in {out}", file=sys.stderr)
