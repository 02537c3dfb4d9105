"""A trace of real connections, as `d2tcp trace --out FILE.parquet` writes it."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import cast

from duetime import manifest, names
from duetime.contract.runs import SavedRun
from duetime.errors import NoResults, Unreadable
from duetime.frames import pl
from duetime.plots.data import MESSAGES, Arm, Results, Run

_COLUMNS = {"time_s", "what", "class", "src", "dst", "value", "src_address", "dst_address"}


@dataclass(frozen=True)
class Recorded(Run):
    """A recording of connections; there is no scenario behind it."""

    @cached_property
    def trace(self) -> pl.DataFrame:
        """The samples over time."""
        try:
            table = manifest.parquet(self.directory, verified=False)
        except (Unreadable, OSError) as error:
            raise NoResults(str(error)) from error
        if not set(table.columns) >= _COLUMNS:
            missing = ", ".join(sorted(_COLUMNS - set(table.columns)))
            raise NoResults(f"{self.directory} is no trace of d2tcp: its columns {missing} are missing")
        return table

    @cached_property
    def messages(self) -> pl.DataFrame:
        """No rows: a trace has windows, not messages."""
        kinds = {"class": pl.String}
        return pl.DataFrame(schema={name: kinds.get(name, pl.Int64) for name in MESSAGES})

    @cached_property
    def ends(self) -> dict[int, str]:
        """Addresses with their ports, by number."""
        pairs = [
            self.trace.select(number=pl.col(column), address=pl.col(f"{column}_address"))
            for column in ("src", "dst")
        ]
        return dict(pl.concat(pairs).unique().rows())

    def between(self, source: int, target: int) -> str:
        """The two ends of a connection."""
        return f"{self.ends[source]} to {self.ends[target]}"


def is_recorded(path: Path) -> bool:
    """Return whether a Parquet file has the columns of such a trace."""
    try:
        with manifest.readable(path):
            return {names.present(name) for name in pl.read_parquet_schema(path)} >= _COLUMNS
    except (Unreadable, OSError):
        return False


def recorded(path: Path) -> Results:
    """Read the trace of real connections."""
    # A trace has no figures: all that the pictures read of a run is there.
    run = Recorded(path, cast(SavedRun, {"title": path.stem, "transport": "d2tcp"}))
    if run.trace.is_empty():
        raise NoResults(f"{path} holds no samples: no connection was under D2TCP, or none sent anything")
    return Results(path.stem, (Arm("d2tcp", (run,)),))
