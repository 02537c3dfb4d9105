"""Remove the folder of the build from a wheel's SBOM, so that the wheel does not depend on it.

python packaging/portable.py FOLDER WHEEL

maturin writes crates of the workspace with their absolute paths; here they become relative to the workspace.
The wheel's RECORD is updated.
"""

import base64
import hashlib
import sys
import zipfile
from pathlib import Path


def main() -> None:
    """Rewrite the wheel in place."""
    folder, wheel = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    with zipfile.ZipFile(wheel) as before:
        entries = {entry.filename: (entry, before.read(entry)) for entry in before.infolist()}
    for name, (entry, content) in entries.items():
        if "/sboms/" in name:
            entries[name] = (entry, content.replace(f"{folder.as_uri()}/".encode(), b"file:///"))
    record = next(name for name in entries if name.endswith(".dist-info/RECORD"))
    lines = [recorded(line, entries) for line in entries[record][1].decode().splitlines()]
    entries[record] = (entries[record][0], "".join(f"{line}\n" for line in lines).encode())
    unfinished = wheel.with_suffix(".new")
    with zipfile.ZipFile(unfinished, "w") as after:
        for entry, content in entries.values():
            after.writestr(entry, content, entry.compress_type)
    unfinished.rename(wheel)


def recorded(line: str, entries: dict[str, tuple[zipfile.ZipInfo, bytes]]) -> str:
    """Return a line of RECORD for the present content of the wheel."""
    name = line.rsplit(",", 2)[0]
    if "/sboms/" not in name:
        return line
    content = entries[name][1]
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}"


if __name__ == "__main__":
    main()
