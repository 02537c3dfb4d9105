"""Folders of `duetime robust`: the verdict, and what each transport gave in every variant."""

from __future__ import annotations

from pathlib import Path

from duetime import manifest
from duetime.contract import reading
from duetime.contract.variants import Robustness, Variant
from duetime.errors import NoReport
from duetime.report.model import Axis, Chart, Experiment, Point, Series


def read(folder: Path) -> list[Experiment]:
    """The variants in `folder` as one experiment; nothing where there are none."""
    path = folder / "robust.json"
    if not path.exists():
        return []
    try:
        return [_experiment(reading.robustness(manifest.content(path)))]
    except (OSError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise NoReport(f"{path}: is not what `duetime robust` writes: {error!r}") from error


def _experiment(record: Robustness) -> Experiment:
    measure, variants, names = record["measure"], record["variants"], record["transports"]
    series = (
        Series(
            name,
            tuple(
                Point(_words(each), float(value))
                for each in variants
                if (value := each["values"][name]) is not None
            ),
        )
        for name in names
    )
    axis = Axis(measure["name"], measure["unit"])
    chart = Chart(
        "Unspecified details, one at a time and in pairs", "bar", Axis("variant"), axis, tuple(series)
    )
    return Experiment(
        id="robust",
        title=str(record["title"]),
        verdicts=tuple(f"{each['sentence']}." for each in record["verdicts"]),
        facts={
            "variants": len(variants),
            "failed": sum(each["error"] is not None for each in variants) or None,
        },
        charts=(chart,),
        versions={"duetime": record["version"]},
    )


def _words(variant: Variant) -> str:
    return ", ".join(f"{name} {value}" for name, value in variant["choices"].items()) or "as written"
