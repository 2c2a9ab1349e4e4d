"""What is saved in the notebooks is fit for a reader without a kernel, and holds nothing that it should not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
MACHINE = re.compile(r"/(?:root|home|work|Users)/\w|site-packages|[A-Z]:\\\\Users")
KEY = re.compile(r"\b(?:sk|gsk|xai)-[A-Za-z0-9]{8,}|Bearer\s+[A-Za-z0-9._-]{12,}")


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request: pytest.FixtureRequest) -> Any:
    return nbformat.read(request.param, as_version=4)


def _outputs(notebook: Any) -> list[tuple[Any, Any]]:
    return [(cell, output) for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def test_it_is_valid_and_names_its_kernel(notebook: Any) -> None:
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    ids = [cell.id for cell in notebook.cells]
    assert len(ids) == len(set(ids))


def test_it_holds_no_widget(notebook: Any) -> None:
    assert "widgets" not in notebook.metadata
    for _, output in _outputs(notebook):
        assert "application/vnd.jupyter.widget-view+json" not in output.get("data", {})


def test_every_rich_output_has_a_text_form(notebook: Any) -> None:
    for _, output in _outputs(notebook):
        data = output.get("data", {})
        if data:
            plain = data.get("text/plain", "")
            assert plain and "<" + "IPython.core" not in plain and "object at 0x" not in plain


def test_it_tells_nothing_of_the_machine_and_no_key(notebook: Any) -> None:
    for cell, output in _outputs(notebook):
        text = json.dumps(output, ensure_ascii=False)
        assert not MACHINE.search(text), cell.id
        assert not KEY.search(text), cell.id


def test_errors_are_meant(notebook: Any) -> None:
    for cell, output in _outputs(notebook):
        if output.output_type == "error":
            assert "raises-exception" in cell.metadata.get("tags", []), cell.id
        if output.output_type == "stream":
            assert output.name != "stderr", cell.id


def test_every_code_cell_was_run_in_order(notebook: Any) -> None:
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    assert counts == list(range(1, len(counts) + 1))
