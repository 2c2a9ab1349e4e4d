"""Write docs/reference.md from the code: magics, presets, public names. `--check`: only say if it is old."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import toolnexus_nb as tn
from toolnexus_nb.notebook.commands import Command, commands
from toolnexus_nb.openai.go_names import GO_NAMES
from toolnexus_nb.rounds.connectors import list_connectors

PAGE = Path(__file__).parents[1] / "docs" / "reference.md"


def cell(text: object) -> str:
    return " ".join(str(text).split()).replace("|", "\\|")


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in lines)


def first_line(thing: object) -> str:
    if not callable(thing):
        return ""
    return (inspect.getdoc(thing) or "").strip().split("\n\n")[0]


def usage(entry: Command) -> str:
    line = entry.help().split("\n\n")[0].removeprefix("usage:")
    return cell(line.replace("%%", "%"))


def magics() -> str:
    rows = [[f"`{usage(entry)}`", "yes" if entry.cell else "", cell(entry.summary)] for entry in commands().values()]
    return table(["line", "as a cell (`%%`)", "what it does"], rows)


def presets() -> str:
    rows = [
        [
            f"`{c.name}`",
            cell(c.summary),
            cell(c.needs),
            f"`{c.base_url}`" if c.base_url else "",
            "yes" if c.tested else "untested",
        ]
        for c in list_connectors()
    ]
    return table(["name", "what it is", "needs", "address", "tried against the real thing"], rows)


def names(module: object, listed: list[str], prefix: str) -> str:
    return table(
        ["name", "what it is"], [[f"`{prefix}{n}`", cell(first_line(getattr(module, n)))] for n in sorted(listed)]
    )


def go_names() -> str:
    return table(["Go", "Python"], [[f"`{cell(go)}`", f"`{cell(py)}`"] for go, py in GO_NAMES.items()])


def page() -> str:
    parts = [
        "# Reference",
        "Made from the code by `python .ci/build_reference.py`; do not edit.",
        "## Magics",
        "`%%toolnexus` alone is short for `%%toolnexus tools`: the functions of the cell become tools. "
        "`%toolnexus` alone is short for `%toolnexus status`. `%toolnexus help NAME` tells the options.",
        magics(),
        "## Models: what `connect` knows",
        presets(),
        "## Public names",
        "Each has a docstring: `tn.Toolkit?` in a cell.",
        names(tn, tn.__all__, "tn."),
        "## The wire, for readers of the Go package",
        "`toolnexus_nb.openai` is the Python form of the `openai` package of paularlott/mcp.",
        go_names(),
    ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    text = page()
    if "--check" in sys.argv:
        sys.exit(
            0 if PAGE.read_text(encoding="utf-8") == text else "docs/reference.md is old: python .ci/build_reference.py"
        )
    PAGE.write_text(text, encoding="utf-8")
