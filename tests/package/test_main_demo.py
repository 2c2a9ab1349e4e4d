"""`python -m toolnexus_nb demo`: the first notebook, run and printed; or the words that say what is missing."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from toolnexus_nb import _demo
from toolnexus_nb.__main__ import main


def test_the_first_notebook_runs_and_reads_well() -> None:
    pytest.importorskip("nbclient")
    done = subprocess.run(
        [sys.executable, "-m", "toolnexus_nb", "demo"], capture_output=True, text=True, encoding="utf-8", timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "%%toolnexus ask" in done.stdout
    assert "In [1]" in done.stdout
    assert "31 °C, sunny" in done.stdout
    assert done.stdout.rstrip().endswith("python -m toolnexus_nb demo --lab")
    for unreadable in ("<div", "<section", "\x1b[", "object at 0x", "Traceback", "VBox("):
        assert unreadable not in done.stdout
    assert "WARNING" not in done.stderr


def test_what_is_missing_is_said_with_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(_demo, "find_spec", lambda name: None if name in ("nbclient", "jupyterlab") else real(name))
    for arguments, module in ((["demo"], "nbclient"), (["demo", "--lab"], "jupyterlab")):
        assert main(arguments) == 1
        said = capsys.readouterr().err
        assert module in said and "toolnexus-nb[lab]" in said


def test_a_cell_that_fails_ends_it_with_the_cell_and_a_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nbformat = pytest.importorskip("nbformat")
    cells = [
        nbformat.v4.new_markdown_cell("# A *title*"),
        nbformat.v4.new_code_cell("1/0"),
        nbformat.v4.new_code_cell("2"),
    ]
    path = tmp_path / "n.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    monkeypatch.setattr(_demo, "notebook_path", lambda: path)
    assert main(["demo"]) == 1
    said = capsys.readouterr().out
    assert "A title" in said.replace("*", "") and "ZeroDivisionError" in said and "In [2]" not in said


def test_lab_opens_a_copy_and_keeps_one_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("jupyterlab")
    monkeypatch.chdir(tmp_path)
    calls: list[Any] = []
    monkeypatch.setattr(_demo.subprocess, "call", lambda command: calls.append(command) or 0)
    monkeypatch.setattr(os, "geteuid", lambda: 1000, raising=False)
    assert main(["demo", "--lab"]) == 0
    copy = tmp_path / _demo.NOTEBOOK
    assert copy.read_bytes() == _demo.notebook_path().read_bytes()
    copy.write_text("mine", encoding="utf-8")
    assert main(["demo", "--lab"]) == 0
    assert copy.read_text(encoding="utf-8") == "mine"
    assert [command[1:] for command in calls] == [["-m", "jupyterlab", str(copy)]] * 2
    monkeypatch.setattr(os, "geteuid", lambda: 0, raising=False)
    assert main(["demo", "--lab"]) == 0
    assert calls[-1][3:] == ["--allow-root", str(copy)]
    assert main(["demo", "--lab", "--no-browser", "--port", "8899"]) == 0
    assert calls[-1][4:-1] == ["--no-browser", "--port", "8899"]
    assert "already" in capsys.readouterr().out


def test_inside_the_source_tree_lab_opens_the_notebook_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jupyterlab")
    tree = _demo.notebook_path().parent.parent
    if tree.name == "toolnexus_nb":
        pytest.skip("an installed package has no source tree")
    monkeypatch.chdir(tree / "tests")
    calls: list[Any] = []
    monkeypatch.setattr(_demo.subprocess, "call", lambda command: calls.append(command) or 0)
    assert main(["demo", "--lab"]) == 0
    assert calls[0][-1] == str(tree / "notebooks" / _demo.NOTEBOOK)
    assert not (tree / "tests" / _demo.NOTEBOOK).exists()


def test_options_of_lab_mean_nothing_without_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["demo", "--no-browser"])
    assert "unrecognized arguments: --no-browser" in capsys.readouterr().err


def test_the_interpreter_is_named_as_one_would_type_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "venv" / "bin"
    monkeypatch.setattr(_demo.sys, "executable", str(folder / "python"))
    monkeypatch.chdir(tmp_path)
    assert _demo._this_python() == str(Path("venv") / "bin" / "python")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setattr(_demo.shutil, "which", lambda name: str(folder / name) if name == "python" else None)
    assert _demo._this_python() == "python"
    monkeypatch.setattr(_demo.shutil, "which", lambda name: None)
    assert _demo._this_python() == str(folder / "python")
