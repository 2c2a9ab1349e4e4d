"""What the notebook knows about the page in front of it."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from toolnexus_nb.notebook.display import page_is_heard


@pytest.mark.parametrize(
    ("version", "heard"), [((6, 17, 1), False), ((6, 31, 0, ""), False), ((7, 0, 1), True), ((7, 4, 0), True)]
)
def test_old_kernels_hear_the_page_only_after_the_cell(monkeypatch, version: tuple[int, ...], heard: bool) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace(version_info=version))
    assert page_is_heard() is heard


def test_another_kernel_is_given_the_time_to_answer(monkeypatch) -> None:
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    assert page_is_heard()


def test_pyodide_runs_one_thing_at_a_time(monkeypatch) -> None:
    monkeypatch.setattr(sys, "platform", "emscripten")
    assert not page_is_heard()
