"""What the transformers make of a cell's text, and what they leave alone."""

from __future__ import annotations

import ast

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from toolnexus_nb.notebook.transformers import defined_names, mend, placer


def transformed(cell: str, awaits: bool = False) -> str:
    manager = TransformerManager()
    manager.cleanup_transforms.insert(0, mend)
    lines = manager.transform_cell(cell).splitlines(keepends=True)
    return "".join(placer(lambda line: awaits and line.startswith("ask"))(lines))


@pytest.mark.parametrize(
    "cell",
    [
        "x = 1\n",
        "# %toolnexus is a magic\nprint('%%toolnexus')\n",
        'text = """\n%toolnexus ask What is this?\n"""\n',
        "text = (\n    'a'\n    '%toolnexus ask b?'\n)\n",
        "if True:\n\n    pass  # toolnexus\n",
        "get_ipython().run_line_magic('time', 'toolnexus')\n",
        "def broken(:\n    toolnexus\n",
        "x = 'toolnexus\x0c'\n",
    ],
)
def test_other_cells_stay_byte_identical(cell: str) -> None:
    lines = cell.splitlines(keepends=True)
    assert mend(lines) == lines
    assert placer(lambda line: True)(lines) == lines


def test_a_question_mark_at_the_end_of_a_question_asks_no_help() -> None:
    assert transformed("%toolnexus ask What's up in Chennai?") == (
        "get_ipython().run_line_magic('toolnexus', \"--unused ask What's up in Chennai?\")\n"
    )


def test_a_question_may_be_assigned() -> None:
    assert transformed("answer = %toolnexus ask Why?") == (
        "answer = get_ipython().run_line_magic('toolnexus', 'ask Why?')\n"
    )


def test_a_word_alone_with_a_question_mark_is_help_on_the_word() -> None:
    assert "help ask" in transformed("%toolnexus ask?")
    assert "pinfo" in transformed("%toolnexus?")


def test_a_question_inside_a_block_after_a_sentence_with_an_apostrophe() -> None:
    cell = "%toolnexus ask What's new?\nfor city in cities:\n    %toolnexus ask Is it warm in {city}?\n"
    made = transformed(cell)
    assert "    get_ipython().run_line_magic('toolnexus', '--unused ask Is it warm in {city}?')" in made
    assert "pinfo" not in made


def test_comments_and_blank_lines_may_stand_above_a_question_cell() -> None:
    assert transformed("# my question\n\n%%toolnexus ask --into a\nHow?\n") == (
        "get_ipython().run_cell_magic('toolnexus', '--unused ask --into a', 'How?\\n')\n"
    )


def test_a_tools_cell_runs_as_an_ordinary_cell_with_a_footer_that_knows_its_names() -> None:
    cell = (
        "# above\n%%toolnexus\nimport math\nclass Point: ...\ndef _own(): ...\ndef area(r: float) -> float:\n"
        "    def inner(): ...\n    return r\nif True:\n    async def later(): ...\nsky = %pwd\nfirst, second = 1, 2\n"
    )
    made = transformed(cell)
    lines = made.splitlines()
    assert lines[1] == "# %%toolnexus"
    assert lines[5].startswith("def area")  # the numbers of lines stay
    assert lines[-1] == "get_ipython().run_line_magic('toolnexus', '--unused --registers=area,later,sky=')"


def test_the_footer_of_a_cell_that_is_no_python_changes_nothing_so_that_python_says_what_is_wrong() -> None:
    made = transformed("%%toolnexus\ndef broken(:\n    pass\n")
    with pytest.raises(SyntaxError):
        ast.parse(made)
    assert "--registers'" in made


def test_only_asynchronous_calls_at_the_top_level_are_awaited() -> None:
    cell = (
        "%toolnexus status\n%toolnexus ask hi\nfor q in qs:\n    %toolnexus ask {q}\ndef f():\n    %toolnexus ask x\n"
    )
    made = transformed(cell, awaits=True)
    assert made.count("await get_ipython()") == 2
    assert "\nget_ipython().run_line_magic('toolnexus', '--unused status')" in "\n" + made
    assert "    get_ipython().run_line_magic('toolnexus', 'ask x')" in made


def test_awaiting_counts_bytes_as_python_does() -> None:
    made = transformed('größe = "ü"\nantwort = %toolnexus ask Wie groß?\n', awaits=True)
    assert "antwort = await get_ipython().run_line_magic('toolnexus', '--awaited ask Wie groß?')" in made


def test_a_magic_above_takes_the_cell_and_is_left_alone() -> None:
    assert transformed("%%time\n%%toolnexus ask\nhi\n", awaits=True) == (
        "get_ipython().run_cell_magic('time', '', '%%toolnexus ask\\nhi\\n')\n"
    )


def test_a_question_cell_without_a_body_is_the_line_form() -> None:
    line = "get_ipython().run_line_magic('toolnexus', '--unused ask Why so?')\n"
    assert transformed("%%toolnexus ask Why so?\n\n") == line
    assert transformed("%%toolnexus ask Why so?") == line


def test_transforming_twice_gives_the_same() -> None:
    cell = "%%toolnexus\ndef f(): ...\n"
    assert transformed(cell) == transformed(cell)


def test_names_are_found_in_every_kind_of_block() -> None:
    source = (
        "try:\n    def a(): ...\nexcept E:\n    def b(): ...\nfinally:\n    def c(): ...\n"
        "with x:\n    def d(): ...\nmatch y:\n    case 1:\n        def e(): ...\nwhile z:\n    def f(): ...\n"
        "tool: Tool = make()\n"
    )
    assert defined_names(ast.parse(source).body) == ["a", "b", "c", "d", "e", "f", "tool="]


@pytest.mark.parametrize(
    ("typed", "status"),
    [
        ("%%toolnexus\n", "incomplete"),
        ("%%toolnexus ask\n", "incomplete"),
        ("%%toolnexus\ndef f():\n    return 1\n", "incomplete"),
        ("%%toolnexus ask\nWhat's new?\n\n", "complete"),
        ("%toolnexus ask What's new in Chennai?\n", "complete"),
    ],
)
def test_a_terminal_waits_for_the_cell_below_the_magic(typed: str, status: str) -> None:
    manager = TransformerManager()
    manager.cleanup_transforms.insert(0, mend)
    assert manager.check_complete(typed)[0] == status
