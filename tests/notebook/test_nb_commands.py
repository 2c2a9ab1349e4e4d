"""Reading what was typed after %toolnexus."""

from __future__ import annotations

import pytest
from IPython.core.error import UsageError
from IPython.core.magic_arguments import argument, magic_arguments

from toolnexus_nb.notebook import commands
from toolnexus_nb.notebook.commands import Command, command, did_you_mean, find, interpolate, parse, split


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> dict[str, Command]:
    """Two commands of our own in an empty registry."""
    registry: dict[str, Command] = {}
    monkeypatch.setattr(commands, "_COMMANDS", registry)
    monkeypatch.setattr(commands, "_loaded", True)

    @command("say", summary="say something", rest=True)
    @magic_arguments()
    @argument("--into", help="a variable")
    @argument("-n", "--times", type=int, default=1, help="how often")
    @argument("--raw", action="store_true", help="as it is")
    def say(session, args, cell):
        """Say something."""

    @command("take", summary="take things")
    @magic_arguments()
    @argument("names", nargs="+", help="things")
    @argument("--all", action="store_true", help="everything")
    def take(session, args, cell):
        """Take things."""

    return registry


def test_options_come_first_and_the_rest_is_kept_as_typed(words: dict[str, Command]) -> None:
    args = parse(words["say"], """--into a -n 2 What's "up" -- with --this and\\that?""", None)
    assert (args.into, args.times) == ("a", 2)
    assert args.rest == """What's "up" -- with --this and\\that?"""


def test_two_dashes_end_the_options(words: dict[str, Command]) -> None:
    assert parse(words["say"], "--raw -- --into is a word", None).rest == "--into is a word"


def test_a_negative_number_starts_the_text(words: dict[str, Command]) -> None:
    assert parse(words["say"], "-5 plus 3", None).rest == "-5 plus 3"


def test_an_unknown_option_is_told_in_one_line_with_the_nearest(words: dict[str, Command]) -> None:
    with pytest.raises(UsageError, match=r"%toolnexus say: --inot is not known here: did you mean --into\?"):
        parse(words["say"], "--inot x hello", None)
    with pytest.raises(UsageError, match="invalid int value"):
        parse(words["say"], "--times many hello", None)
    with pytest.raises(UsageError, match="names"):
        parse(words["take"], "", None)


def test_an_unknown_word_says_what_was_meant(words: dict[str, Command]) -> None:
    with pytest.raises(UsageError, match=r"has no 'sya': did you mean say\?"):
        find("sya")
    with pytest.raises(UsageError, match=r"has no 'xyzzy'\. `%toolnexus help`"):
        find("xyzzy")
    assert did_you_mean("ask", ["asks"]) == ": did you mean asks?"


def test_words_are_split_like_a_shells_but_backslashes_stay() -> None:
    assert split(r"""a "b c" C:\data\x 'it is'""") == ["a", "b c", r"C:\data\x", "it is"]
    with pytest.raises(UsageError, match="not closed"):
        split('a "b')


def test_values_of_the_notebook_are_put_in_place_of_names(words: dict[str, Command]) -> None:
    names = {"city": "New Delhi", "n": 3}
    assert parse(words["say"], "--into {city} warm in {city}?", names).rest == "warm in New Delhi?"
    assert parse(words["say"], "--raw warm in {city}?", names).rest == "warm in {city}?"
    assert parse(words["take"], "{city} b", names).names == ["New Delhi", "b"]  # a value stays one word


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{price:.2f} EUR", "3.50 EUR"),
        ("{cities[0]} {table.shape}", "Oslo (2, 3)"),
        ("{name!r}", "'Ada'"),
        ('{"city": "Oslo"}', '{"city": "Oslo"}'),
        ("{unknown} {}", "{unknown} {}"),
        ("{{name}}", "{name}"),
        ("{{unknown}}", "{{unknown}}"),
        ("{name.missing}", "{name.missing}"),
        ("{2 + 2} {print('x')}", "{2 + 2} {print('x')}"),
        ("a { name } b", "a { name } b"),
    ],
)
def test_interpolation_reads_names_and_evaluates_nothing(text: str, expected: str) -> None:
    class Table:
        shape = (2, 3)

    names = {"price": 3.5, "cities": ["Oslo"], "table": Table(), "name": "Ada"}
    assert interpolate(text, names) == expected


def test_every_command_of_the_package_has_help_and_a_summary() -> None:
    for name, entry in commands.commands().items():
        assert entry.summary, name
        assert f"%toolnexus {name}" in entry.help()
        assert "::" not in entry.help(), name
