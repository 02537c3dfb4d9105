"""Tables in a terminal of any width: no figure is cut, no line is too long, nothing is lost."""

import contextlib
import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from conftest import SCENARIOS, SMALL, arguments
from duetime.display import figures, terminal
from duetime.display.grid import Column, Grid

WIDTHS = (40, 60, 80, 120, 200)
#: Figures as tables write them; the words beside them do not matter here.
FIGURE = re.compile(r"\d(?:[\d,]*\d)?(?:\.\d+)?")

SWEEP = """
title = "Sizes and windows"
scenario = "small.toml"
transports = ["tcp", "dctcp", "d2tcp"]
seeds = 2
grid = { "traffic.queries.size" = ["2 KB", "20 KB"], "transport.rto_min" = ["1 ms", "10 ms"] }
"""

#: Every verb that prints a table, on a small scenario.
VERBS: dict[str, tuple[str, ...]] = {
    "run": ("run", "small.toml"),
    "compare": ("compare", "small.toml", "--transports", "tcp,cubic,dctcp,d2tcp,xdctcp"),
    "compare-seeds": ("compare", "small.toml", "--transports", "tcp,dctcp,d2tcp", "--seeds", "3"),
    "bound": ("bound", "small.toml"),
    "sweep": ("sweep", "sweep.toml", "--out", "swept"),
    "tighten": (
        "tighten",
        "small.toml",
        "--target",
        "1%",
        "--seeds",
        "2",
        "--step",
        "20%",
        "--out",
        "search",
    ),
    "capacity": (
        *("capacity", "small.toml", "--target", "5%", "--over", "traffic.queries.leaves", "--to", "5"),
        *("--seeds", "2", "--out", "capacity"),
    ),
    "need": (
        *("need", "small.toml", "--target", "50%", "--over", "network.buffer", "--from", "100000 B"),
        *("--step", "200000 B", "--seeds", "2", "--out", "need"),
    ),
    "robust": ("robust", "small.toml", "--transports", "tcp,d2tcp", "--variants", "4", "--out", "varied"),
    "reproduce": ("reproduce", "d2tcp/fig03", "--out", "reproduced"),
    "reproduce-list": ("reproduce", "--list"),
    "explain": ("check", "small.toml", "--explain"),
    "transports": ("transports",),
    "transport": ("transports", "d2tcp"),
    "topologies": ("topologies", "leaf-spine"),
    "patterns": ("patterns", "fan-in"),
    "faults": ("faults",),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    (folder / "small.toml").write_text(SMALL)
    (folder / "sweep.toml").write_text(SWEEP)
    return folder


def printed(folder: Path, words: tuple[str, ...], width: int) -> str:
    text = in_terminal(arguments(*words), folder, width)
    # How long a run took differs from run to run.
    return re.sub(r"\s+in\s+[\d.]+\s+s\s+\([\d.]+\s+M\s+packets/s\)", "", text)


def in_terminal(words: list[str], folder: Path, width: int) -> str:
    """Run a command whose output is a terminal of this width; give what it shows, without bold."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    environment = {**os.environ, "COLUMNS": str(width), "TERM": "xterm", "NO_COLOR": "1"}
    with subprocess.Popen(words, cwd=folder, env=environment, stdout=its, stderr=subprocess.PIPE) as run:
        os.close(its)
        shown = b""
        # Linux ends the reading of a terminal that no process writes to any more with an error.
        with contextlib.suppress(OSError):
            while part := os.read(ours, 65536):
                shown += part
        assert run.stderr is not None
        error = run.stderr.read().decode()
    os.close(ours)
    assert run.returncode == 0, error
    return re.sub(r"\x1b\[[\d;]*m", "", shown.decode()).replace("\r", "")


@pytest.mark.parametrize("verb", VERBS)
def test_no_figure_is_cut_at_any_width(verb: str, folder: Path) -> None:
    words = VERBS[verb]
    if verb == "run":
        words = (*words, "--set", "run.seed=3")
    shown = {width: printed(folder, words, width) for width in WIDTHS}
    for width, text in shown.items():
        assert "…" not in text
        long = [line for line in text.splitlines() if len(line.rstrip()) > width]
        assert not long, f"{width} columns: {long}"
    # Differences of comparisons are left out where they do not fit, and said to be.
    if verb != "compare-seeds":
        widest = set(FIGURE.findall(shown[200]))
        for width, text in shown.items():
            assert set(FIGURE.findall(text)) == widest, f"{width} columns"
    else:
        told = {width: "need more room" in text for width, text in shown.items()}
        assert told[80]
        assert not told[200]
        kept = {"745.17", "205.42", "342.50", "126.3"}
        assert all(kept <= set(FIGURE.findall(text)) for text in shown.values())


def draw(grid: Grid, width: int) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    terminal.show(console, grid)
    return console.export_text()


def grid(columns: int, cell: str = "12,345.67", **more: Any) -> Grid:
    made = Grid(["what"], [Column(f"transport {i}") for i in range(columns)], **more)
    made.add(["messages"], [cell] * columns)
    return made


def test_a_table_that_fits_is_one_table() -> None:
    assert draw(grid(3), 80).count("what") == 1


def test_a_wide_table_turns_before_it_is_split() -> None:
    assert [line.split() for line in draw(grid(8, turns=True), 40).splitlines() if "12,345" in line] == [
        ["transport", str(i), "12,345.67"] for i in range(8)
    ]


def test_columns_that_do_not_fit_go_below() -> None:
    text = draw(grid(8), 40)
    assert text.count("12,345.67") == 8
    assert text.count("what") == 4
    assert len(re.findall("12,345.67 +12,345.67", text)) == 4


def test_what_is_wider_than_the_terminal_becomes_a_list() -> None:
    lines = draw(grid(2, cell="1234567890123456 (1234567890 to 2345678901)"), 40).splitlines()
    assert lines[0].strip() == "messages"
    assert "".join(lines).count("1234567890123456") == 2


def test_extras_go_first_and_are_missed() -> None:
    assert terminal.show(Console(width=120, file=io.StringIO()), grid(3, extras=1))
    assert not terminal.show(Console(width=40, file=io.StringIO()), grid(3, extras=1))
    assert "transport 2" not in draw(grid(3, extras=1), 40).replace("\n", " ")


def test_a_name_between_colons_is_no_picture(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.say(terminal.console(), "to :fire: and :heart:")
    assert capsys.readouterr().out.strip() == "to :fire: and :heart:"


@pytest.mark.parametrize(
    ("values", "written"),
    [
        ([980.0, 1200.0], ["980.0 us", "1,200.0 us"]),
        ([980.0, 2_100_000.0], ["0.98 ms", "2,100.00 ms"]),
        ([980.0, 120_000.0], ["0.98 ms", "120.00 ms"]),
        ([45_080.0, 47_440.0, None], ["45.08 ms", "47.44 ms", "-"]),
        ([0.0, 3_000_000.0], ["0.000 s", "3.000 s"]),
    ],
)
def test_a_row_has_one_unit(values: list[float | None], written: list[str]) -> None:
    write: Callable[[float], str] = figures.in_one_unit(values, figures.MICROSECONDS)
    assert [figures.written(value, write) for value in values] == written


ONE_CLASS = SMALL[: SMALL.index('[[traffic]]\nname = "web"')]


def rows(folder: Path, text: str) -> list[str]:
    (folder / "classes.toml").write_text(text)
    shown = printed(folder, ("run", "classes.toml"), 200)
    return [line.split()[0] for line in shown.splitlines() if re.match(r"  \w+ +[\d,]+ +\d", line)]


def test_all_is_said_where_it_says_more(folder: Path) -> None:
    assert rows(folder, SMALL) == ["queries", "web", "all"]
    assert rows(folder, ONE_CLASS) == ["queries"]


def test_scenarios_of_the_documentation_fit_a_terminal(folder: Path) -> None:
    words = ("run", str(SCENARIOS / "four-flows.toml"), "--set", "run.duration=50 ms")
    assert all(len(line.rstrip()) <= 80 for line in printed(folder, words, 80).splitlines())
