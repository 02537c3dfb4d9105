"""Repeat the published studies, write their numbers into docs/studies.md and draw docs/images/study-*.png.

    python studies/run.py [four-flows] [xdctcp] [large-messages] [--raw FOLDER]

Without names: all. FOLDER holds the raw data of the xDCTCP study (its files avgfile_*.tr), which is not ours
to copy; without it that one table stays as it is.
"""

import argparse
from pathlib import Path

import four_flows
import large_messages
import xdctcp


def main() -> None:
    """Run the studies that were named."""
    parser = argparse.ArgumentParser(description="Repeat the published studies.")
    names = ("four-flows", "xdctcp", "large-messages")
    parser.add_argument("names", nargs="*", metavar="STUDY", help=f"{', '.join(names)}; all without a name")
    parser.add_argument("--raw", type=Path, help="folder with the xDCTCP study's raw data")
    arguments = parser.parse_args()
    chosen = arguments.names or names
    if unknown := set(chosen) - set(names):
        parser.error(f"no study named {', '.join(sorted(unknown))}")
    if "four-flows" in chosen:
        four_flows.study()
    if "xdctcp" in chosen:
        xdctcp.study(arguments.raw)
    if "large-messages" in chosen:
        large_messages.study()


if __name__ == "__main__":
    main()
