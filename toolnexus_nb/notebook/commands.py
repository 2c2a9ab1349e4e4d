"""What can be said after `%toolnexus`: one decorated function for each word, one place that reads the line.

    @command("remove", summary="take tools away", complete=tool_names)
    @magic_arguments()
    @argument("names", nargs="+", help="names of tools")
    def remove(session: Session, args: Namespace, cell: str | None) -> object: ...

The function may be `async def`, and is one if it waits for anything: the cell then awaits it. What it returns is
displayed if it is not None. A person's mistake is raised as `UsageError("one sentence")`. Files named `commands_*.py`
in this folder register their words when `load()` imports them; help, completion and "did you mean" are made from the
registry.

Lines are read in one of two ways. An ordinary command's line is split like a shell's, with backslashes left alone.
A command with `rest=True` takes its options first; from the first word that is no option on, the text is kept as it was
typed, in `args.rest`, so that a question may hold quotation marks and dashes.
"""

from __future__ import annotations

import difflib
import inspect
import pkgutil
import re
import shlex
from argparse import Action, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from string import Formatter
from typing import TYPE_CHECKING, Any, TypeVar

from IPython.core.error import UsageError
from IPython.core.magic_arguments import MagicArgumentParser

if TYPE_CHECKING:
    from .session import Session

__all__ = ["Command", "UsageError", "command", "commands", "find", "interpolate", "load", "parse", "tool_names"]

Run = Callable[["Session", Namespace, "str | None"], Any]
Complete = Callable[["Session", Sequence[str]], Iterable[str]]
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Command:
    """One word after `%toolnexus`.

    run: called with the session, the parsed line and the cell's body (None in the line form); plain or async.
    complete: gives the words that may come next, from the session and the finished words after the command's name.
    cell: whether `%%toolnexus NAME` with a body makes sense.
    rest: whether what follows the options is kept as text in `args.rest`.
    shows: the command shows its result itself, so a cell that only runs it displays nothing more.
    """

    name: str
    run: Run
    parser: MagicArgumentParser
    summary: str
    complete: Complete | None = None
    cell: bool = False
    rest: bool = False
    shows: bool = False

    def options(self) -> list[str]:
        """The long options of the command, as typed."""
        return [text for action in self.parser._actions for text in action.option_strings if text.startswith("--")]

    def help(self) -> str:
        """Usage, the function's description, arguments and options."""
        return self.parser.format_help().strip()


_COMMANDS: dict[str, Command] = {}
_loaded = False


def command(
    name: str,
    *,
    summary: str,
    complete: Complete | None = None,
    cell: bool = False,
    rest: bool = False,
    shows: bool = False,
) -> Callable[[F], F]:
    """Register the decorated function as `%toolnexus NAME`. Arguments are declared with IPython's `magic_arguments`."""

    def register(function: F) -> F:
        parser = getattr(function, "parser", None) or MagicArgumentParser(description=function.__doc__)
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.description = inspect.cleandoc(parser.description or "")
        parser.prog = f"%toolnexus {name}"
        if rest:
            parser.usage = parser.format_usage().removeprefix("usage: ").strip().replace("%", "%%") + " TEXT"
        _COMMANDS[name] = Command(name, function, parser, summary, complete, cell, rest, shows)
        return function

    return register


def load() -> None:
    """Import every `commands_*.py` of this folder, once."""
    global _loaded
    if _loaded:
        return
    folder = import_module(__package__)
    for module in sorted(
        info.name for info in pkgutil.iter_modules(folder.__path__) if info.name.startswith("commands_")
    ):
        import_module(f"{__package__}.{module}")
    _loaded = True


def commands() -> dict[str, Command]:
    """All commands by name, in the order of the alphabet."""
    load()
    return dict(sorted(_COMMANDS.items()))


def find(name: str) -> Command:
    """The command of that name. Raises UsageError with the nearest names."""
    known = commands()
    if name in known:
        return known[name]
    near = did_you_mean(name, known) or "."
    raise UsageError(f"%toolnexus has no {name!r}{near} `%toolnexus help` lists what it knows.")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`: did you mean ask?`, or nothing when no name is near. Two names where both are about as near."""
    word = word.lower()
    ratios = {name: difflib.SequenceMatcher(None, word, name.lower()).ratio() for name in known}
    best = max(ratios.values(), default=0)
    near = sorted((name for name, ratio in ratios.items() if ratio >= max(0.5, best - 0.1)), key=lambda n: -ratios[n])
    return f": did you mean {' or '.join(near[:2])}?" if near else ""


def tool_names(session: Session, words: Sequence[str]) -> list[str]:
    """Completion: the names of the session's tools that were not typed yet."""
    return [name for name in session.toolkit.names if name not in words]


# --- reading a line -------------------------------------------------------------------------------------------


def parse(entry: Command, line: str, namespace: Mapping[str, Any] | None) -> Namespace:
    """Read what was typed after the command's name.

    `namespace` is where `{name}` is looked up; None leaves braces alone. `args.raw` does the same for one line.
    `args.missed` are the names in the text that have no value.
    Raises UsageError in one line for an unknown option, a missing word or an open quotation mark.
    """
    options, rest = leading_options(entry.parser, line) if entry.rest else (split(line), "")
    missed: list[str] = []
    if namespace is not None and "--raw" not in options:
        options = [interpolate(word, namespace) for word in options]
        rest = interpolate(rest, namespace, missed)
    try:
        args = entry.parser.parse_args(options)
    except UsageError as error:
        raise UsageError(_explain(entry, str(error))) from None
    args.rest, args.missed = rest, missed
    return args


def _explain(entry: Command, problem: str) -> str:
    prefix, _, unknown = problem.partition("unrecognized arguments: ")
    if unknown and not prefix:
        word = unknown.split()[0]
        known = entry.options()
        near = did_you_mean(word.split("=")[0], known) if word.startswith("-") else ""
        problem = f"{word} is not known here{near}"
        if not near and known:
            problem += f"; options are {', '.join(known)}"
    return f"%toolnexus {entry.name}: {problem} (`%toolnexus help {entry.name}`)"


def split(line: str) -> list[str]:
    """Words of a line: quotation marks group, backslashes are ordinary (paths, regular expressions)."""
    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split, lexer.commenters, lexer.escape = True, "", ""
    try:
        return list(lexer)
    except ValueError:
        raise UsageError(f"a quotation mark is not closed in: {line.strip()}") from None


_WORD = re.compile(r"""\s*((?:[^\s"']+|"[^"]*"|'[^']*')+)""")


def leading_options(parser: MagicArgumentParser, line: str) -> tuple[list[str], str]:
    """Split a line into its leading options, with their values, and the untouched text after them.

    `--into x What's up?` gives (["--into", "x"], "What's up?"); `--` ends the options.
    """
    options: list[str] = []
    at = 0
    waiting = 0  # values that the last option still takes
    while match := _WORD.match(line, at):
        word = match.group(1)
        if waiting:
            options += split(word)
            waiting -= 1
        elif word == "--":
            at = match.end()
            break
        elif word.startswith("--") or (len(word) == 2 and word in parser._option_string_actions):
            options += split(word)
            waiting = 0 if "=" in word else _values(parser._option_string_actions.get(word))
        else:
            break
        at = match.end()
    return options, line[at:].strip()


def _values(action: Action | None) -> int:
    if action is None:
        return 0
    return action.nargs if isinstance(action.nargs, int) else 1


_FIELD = r"[^\W\d]\w*(?:\.[^\W\d]\w*|\[[^\[\]{}]+\])*"
_BRACES = re.compile(rf"\{{\{{({_FIELD})\}}\}}|\{{({_FIELD})(![rsa])?(:[^{{}}]*)?\}}")


def interpolate(text: str, namespace: Mapping[str, Any], missed: list[str] | None = None) -> str:
    """Put values of the namespace in place of `{name}`, `{table.shape}`, `{cities[0]}`, `{price:.2f}`.

    Names that the namespace does not have are left as they are, so JSON and prose with braces pass through, and are
    appended to `missed`; `{{name}}` stands for the text `{name}`. Nothing is evaluated but attribute and item access.
    """
    formatter = Formatter()

    def put(match: re.Match[str]) -> str:
        literal, field, conversion, form = match.groups()
        name = literal or field
        if re.split(r"[.\[]", name, maxsplit=1)[0] not in namespace:
            if missed is not None and not literal:
                missed.append(field)
            return match.group()
        if literal:
            return "{" + literal + "}"
        try:
            value, _ = formatter.get_field(field, (), namespace)
            if conversion:
                value = formatter.convert_field(value, conversion[1:])
            return str(formatter.format_field(value, (form or ":")[1:]))
        except (AttributeError, LookupError, TypeError, ValueError):
            if missed is not None:
                missed.append(field)
            return match.group()  # not what the person meant by these braces, or misspelt

    return _BRACES.sub(put, text)
