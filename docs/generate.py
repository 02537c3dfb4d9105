"""Write `reference.md` from the declarations in the code.

    python docs/generate.py

A test compares the file with what this prints, so that the two cannot part.
"""

from pathlib import Path
from typing import Any

import duetime

REFERENCE = Path(__file__).with_name("reference.md")

HEAD = """\
# Reference

<!-- Written by docs/generate.py from the declarations in the code. Change those, then run `make docs`. -->

Every key of the [scenario language](language.md), with its default, the values that are possible, and where
it comes from. "Required": leaving it out is an error; "none": there is none unless it is given.
"""


def main() -> None:
    """Write the file."""
    REFERENCE.write_text(reference(duetime.catalog()), encoding="utf-8")


def reference(catalog: dict[str, Any]) -> str:
    """The whole page."""
    shared = shared_keys(catalog["transports"])
    parts = [
        HEAD,
        "## `[run]`\n",
        table(catalog["run"]),
        "### `trace`\n",
        table(catalog["trace"]),
        "## `[network]`\n",
        "Keys of every topology:\n",
        table(catalog["network"]),
        *(section("topology", entry, entry["keys"]) for entry in catalog["topologies"]),
        "### An entry of `links`\n",
        table(catalog["links"]),
        "## `[transport]`\n",
        "Parameters of every transport:\n",
        table(shared),
        *(section("name", entry, without(entry["keys"], shared)) for entry in catalog["transports"]),
        "## `[[traffic]]`\n",
        "Keys of every pattern:\n",
        table(catalog["traffic"]),
        *(section("pattern", entry, entry["keys"]) for entry in catalog["patterns"]),
        "### An entry of `flows`\n",
        table(catalog["flows"]),
        "## Distributions that come with the language\n",
        "\n".join(f"- `cdf({known['name']})`: {known['help']}" for known in catalog["distributions"]) + "\n",
    ]
    return "\n".join(parts)


def shared_keys(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The keys that all entries declare alike."""
    return [key for key in entries[0]["keys"] if all(key in entry["keys"] for entry in entries)]


def without(keys: list[dict[str, Any]], others: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The keys that are not among the others."""
    return [key for key in keys if key not in others]


def section(selector: str, entry: dict[str, Any], keys: list[dict[str, Any]]) -> str:
    """One transport, topology or pattern."""
    source = f" ({entry['source']})" if entry.get("source") else ""
    return f'### `{selector} = "{entry["name"]}"`\n\n{sentence(entry["help"])}{source}\n\n{table(keys)}'


def table(keys: list[dict[str, Any]]) -> str:
    """One row per key."""
    rows = ["| key | default | values | does | source |", "|---|---|---|---|---|"]
    for key in keys:
        cells = (f"`{key['name']}`", default(key), values(key), key["help"], key["source"])
        rows.append("| " + " | ".join(str(cell or "").replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def default(key: dict[str, Any]) -> str:
    """What holds when the key is left out."""
    if key["default"] is None:
        return "required" if key["required"] else "none"
    return f"`{key['default']}`"


def values(key: dict[str, Any]) -> str:
    """What may stand at the key."""
    if key["choices"]:
        words = ", ".join(f"`{word}`" for word in key["choices"])
        return f"list of {words}" if key["kind"].startswith("list") else words
    limits = f"; {key['range']}" if key["range"] else ""
    return str(key["kind"]) + limits + (f" {key['unit']}" if limits and key["unit"] else "")


def sentence(text: str) -> str:
    """With a full stop at its end and a capital at its start."""
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")


if __name__ == "__main__":
    main()
