"""Add one more of each kind to a copy of the crates, and run the Rust tests there: they must pass.

    python tests/dummies.py

Each is a copy of an existing one under the name `dummy`: one new file, and one line in a list.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPY = ROOT / "target" / "dummies"
SIM = "crates/sim/src"
TRANSPORT = "crates/transport/src"


@dataclass(frozen=True)
class Dummy:
    """One more of a kind."""

    kind: str
    folder: str
    #: The file that is copied, without its ending.
    module: str
    #: Text in the copy -> its replacement, beside the name.
    changes: tuple[tuple[str, str], ...] = ()
    #: The name in its list, behind the module's.
    item: str = "DESCRIPTOR"


DUMMIES = (
    Dummy("marker", f"{SIM}/fabric/marker", "phantom", (('"phantom', '"dummy'),)),
    Dummy("discipline", f"{SIM}/fabric/qdisc", "pfabric"),
    Dummy("topology", f"{SIM}/topology", "racks"),
    Dummy("pattern", f"{SIM}/traffic", "periodic"),
    Dummy("fault", f"{SIM}/faults", "corruption"),
    Dummy("profile", f"{SIM}/profile", "linux", item="PROFILE"),
    Dummy("window transport", f"{TRANSPORT}/controllers", "hull", (("Hull", "Dummy"),), item="Hull"),
    Dummy("rates by routers", f"{TRANSPORT}/d3", "rcpdc", (('"rcpdc"', '"dummy-d3"'),)),
    Dummy("transport whose receivers grant", f"{TRANSPORT}/grants", "sird", (('"sird"', '"dummy-grants"'),)),
)


def main() -> int:
    """Return the exit code of the tests."""
    shutil.rmtree(COPY, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, COPY / name)
    for each in DUMMIES:
        add(each)
    return subprocess.run(
        ["cargo", "test", "--workspace", "--locked", "--no-fail-fast"],
        cwd=COPY,
        # Cargo would take what it builds here for the crates of the tree itself, in a folder that both share.
        env={**os.environ, "CARGO_TARGET_DIR": str(COPY.with_name("dummies-built"))},
    ).returncode


def add(dummy: Dummy) -> None:
    """Write the file of a dummy, and name it in the list of its kind."""
    folder = COPY / dummy.folder
    text = (folder / f"{dummy.module}.rs").read_text(encoding="utf-8")
    text = text.split("#[cfg(test)]\nmod tests")[0]
    for old, new in (*dummy.changes, (f'name: "{dummy.module}"', 'name: "dummy"')):
        text = text.replace(old, new)
    (folder / "dummy.rs").write_text(text, encoding="utf-8")
    listing = folder / "mod.rs"
    text = listing.read_text(encoding="utf-8")
    item = f"{dummy.module}::{dummy.item}"
    assert text.count(item) == 1, f"{dummy.kind}: {item} in {listing}"
    own = item.replace(dummy.module, "dummy").replace("Hull", "Dummy")
    text = text.replace(item, f"{item}, {own}")
    text = re.sub(rf"^((?:pub )?mod {dummy.module};)$", r"mod dummy;\n\1", text, count=1, flags=re.MULTILINE)
    listing.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
