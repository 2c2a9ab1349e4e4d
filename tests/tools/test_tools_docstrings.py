"""Docstrings as people write them, beside the styles in the books."""

from __future__ import annotations

import pytest

from toolnexus_nb.tools.docstrings import read_docstring


@pytest.mark.parametrize(
    ("docstring", "description", "parameters"),
    [
        ("Args:\n        x: the x\n    ", "", {"x": "the x"}),
        ("Go.\r\n\r\n    Args:\r\n        x: the x\r\n    ", "Go.", {"x": "the x"}),
        ("Go.\n\n    Args:\n        - x: the x\n        - `y` (int): the y\n", "Go.", {"x": "the x", "y": "the y"}),
        (
            "Go.\n\nParameters:\n- x: the x\n  goes on\n- y: the y\n\nMore:\n- z\n",
            "Go.\n\nMore:\n- z",
            {"x": "the x goes on", "y": "the y"},
        ),
        ("Go.\n\n    Args:\n        x (:obj:`int`, `optional`): the x\n", "Go.", {"x": "the x"}),
        ("Go.\n\n    Args:\n        x: the x\n\n\n        y: the y\n    More.", "Go.\n\nMore.", {"x": "the x"}),
    ],
    ids=["only arguments", "CRLF", "a list in the section", "a Markdown list", "roles", "blank lines"],
)
def test_everyday_forms_are_read(docstring: str, description: str, parameters: dict[str, str]) -> None:
    read = read_docstring(docstring)
    assert read.description == description
    assert {name: said.description for name, said in read.parameters.items() if name in parameters} == parameters
