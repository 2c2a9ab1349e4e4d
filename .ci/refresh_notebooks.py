"""Run notebooks and save them as they should be read: outputs kept, no widget state, no timings.

python .ci/refresh_notebooks.py [notebooks/NAME.ipynb ...]      all of them by default
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]


def refresh(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook,
        timeout=120,
        kernel_name="python3",
        store_widget_state=False,
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if "solution" in cell.metadata.get("tags", []):
            cell.outputs = []  # a solution gives itself away by what it shows
    nbformat.validate(notebook)
    nbformat.write(notebook, path)


if __name__ == "__main__":
    os.environ.setdefault("TOOLNEXUS_PACE", "0")
    chosen = [Path(name) for name in sys.argv[1:]] or sorted((ROOT / "notebooks").glob("*.ipynb"))
    for one in chosen:
        refresh(one)
        print(one)
