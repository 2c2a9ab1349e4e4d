"""The saved outputs are those that the notebooks give today, but for times, addresses and ids."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
CHANGES = [
    (r"(under )?\d+(\.\d+)? ?(ms|s|seconds)\b", "TIME"),
    (r"waiting TIME.*", "TIMES"),  # phases that took no time are left out
    (r"\d\d:\d\d(:\d\d)?", "CLOCK"),
    (r"\d{4}-\d\d-\d\d(T[\d:.+]+)?", "DATE"),
    (r"127\.0\.0\.1:\d+", "ADDRESS"),
    (r'"(created|at|seconds)": ?[\d.]+', r'"\1": N'),
    (r"\b(call_[0-9a-f]{24}|chatcmpl-\w+)", "ID"),
    (r'("id"|"tool_call_id"): ?"[A-Za-z0-9_-]+"', r"\1: ID"),
    (r"about [\d,]+ tokens", "about N tokens"),
]


def _told(notebook: Any) -> list[tuple[str, str]]:
    """(cell id, what its outputs say in plain text) without what changes from run to run."""
    told = []
    for cell in notebook.cells:
        if cell.cell_type != "code" or "solution" in cell.metadata.get("tags", []):
            continue
        whole = ""
        for output in cell.outputs:
            text = output.get("text") or output.get("data", {}).get("text/plain") or output.get("evalue") or ""
            whole += "".join(text) + ("" if output.output_type == "stream" else "\n")  # streams come in any pieces
        for pattern, name in CHANGES:
            whole = re.sub(pattern, name, whole)
        told.append((cell.id, whole))
    return told


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_saved_outputs_are_todays(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLNEXUS_PACE", "0")
    saved = nbformat.read(path, as_version=4)
    today = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(today, timeout=120, kernel_name="python3", resources=resources).execute()
    assert _told(saved) == _told(today)
