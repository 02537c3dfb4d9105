"""Scenarios and experiments: files of the package, which in a checkout are links to the folders beside it."""

from pathlib import Path

HERE = Path(__file__).resolve().parent
EXPERIMENTS = (HERE / "experiments").resolve()
SCENARIOS = (HERE / "scenarios").resolve()
