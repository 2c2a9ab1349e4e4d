"""Every Python block of the README and the docs runs, in order, in one kernel a page, with no network and no key."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)")


def _blocks(page: Path) -> list[str]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [page for page in PAGES if _blocks(page)], ids=lambda page: page.name)
def test_the_code_on_a_page_runs(page: Path, tmp_path: Path) -> None:
    blocks = ["%load_ext toolnexus_nb\n%toolnexus connect rehearsal", *_blocks(page)]
    cells = [nbformat.v4.new_code_cell(block) for block in blocks]
    notebook = nbformat.v4.new_notebook(cells=cells)
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=60, kernel_name="python3", resources=resources).execute()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_local_links_lead_somewhere(page: Path) -> None:
    broken = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if not (page.parent / link).exists()]
    assert not broken
