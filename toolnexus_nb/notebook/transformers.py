"""How the text of a cell becomes what runs, where toolnexus magics are concerned. Other cells stay byte-identical.

Two input transformers, both pure functions of the cell's lines (a front end also transforms half-typed cells, to ask
whether they are complete, so nothing may be remembered between calls), and `FooterHider`, for tracebacks:

`mend` (cleanup: before IPython looks for magics)
    * a comment or blank lines above `%%toolnexus` are allowed, and a body that is missing is no cell at all;
    * `%toolnexus ask … Chennai?` in one line is a question, not a request for help on `Chennai`; but
      `%toolnexus ask?` is;
    * the body of a `%%toolnexus` cell runs as an ordinary cell: the first line becomes a comment (line numbers stay)
      and a footer that registers is appended. So `await`, `!`, `%`, exact tracebacks, the debugger and getsource
      work, and a cell that fails never reaches the footer.

`place` (post: the cell is Python by now)
    * a footer is told which names the cell's top level defines;
    * calls of the magic at the top level get `await` where a loop runs, and are told when nobody takes their value.

`place` speaks to the magic through words that it puts at the head of the line, the constants below. They are no
commands, so nobody types them.
"""

from __future__ import annotations

import ast
import linecache
import re
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import StringIO

AWAITED = "--awaited"
"""The caller awaits what the magic returns."""
UNUSED = "--unused"
"""The call is a statement: its value goes nowhere but to the cell's output."""
REGISTERS = "--registers"
"""The footer of a `%%toolnexus` cell; `--registers=a,b` once the names are known."""
ASSIGNED = "="
"""Stands after a name that the cell only assigns."""

_TOOLS_WORDS = re.compile(r"%%toolnexus(?:\s+tools\b)?(?P<options>\s+-.*|\s*)$")
_FOOTER = re.compile(rf"get_ipython\(\)\.run_line_magic\('toolnexus', '(?:{UNUSED} )?{REGISTERS}=")
_CELL = re.compile(r"%%toolnexus(?:\s|$)")
_ASK_LINE = re.compile(
    r"^(?P<indent>\s*)(?P<target>[\w.,\s\[\]]+?=\s*)?%toolnexus\s+(?P<words>ask\s+(?:.*\S)?\S\s*\?+)\s*$", re.DOTALL
)
_HELP_LINE = re.compile(r"^(?P<indent>\s*)%toolnexus\s+(?P<word>[\w-]+)\s*\?+\s*$")


def mend(lines: list[str]) -> list[str]:
    """The cleanup transformer."""
    if not any("toolnexus" in line for line in lines):
        return lines
    first = next((at for at, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), None)
    if first is not None and _CELL.match(lines[first]):
        return _mend_cell(lines, first)
    return [
        _mend_line(line) if _mendable(line) and _starts_statement(lines[:at]) else line for at, line in enumerate(lines)
    ]


# A terminal asks after each line whether the cell is complete. Mended, `%%toolnexus` alone is; as it stands, IPython
# waits for the blank line that ends a cell magic. It leaves transformers with this mark out of that question.
mend.has_side_effects = True  # type: ignore[attr-defined]


def _mend_cell(lines: list[str], first: int) -> list[str]:
    tools = _TOOLS_WORDS.match(lines[first].rstrip())
    if tools is None and not "".join(lines[first + 1 :]).strip():
        words = lines[first].split(None, 1)[1].strip()  # IPython refuses a cell without a body; the line form does not
        return [f"get_ipython().run_line_magic('toolnexus', {words!r})\n"]
    if tools is None:
        return lines[first:]  # IPython takes `%%` only in the first line
    body = [*lines[:first], "# " + lines[first], *lines[first + 1 :]]
    if not body[-1].endswith("\n"):
        body[-1] += "\n"
    footer = f"{REGISTERS}{' ' + tools['options'].strip() if tools['options'].strip() else ''}"
    return [*body, f"get_ipython().run_line_magic('toolnexus', {footer!r})\n"]


def _mendable(line: str) -> bool:
    return "%toolnexus" in line and bool(_ASK_LINE.match(line) or _HELP_LINE.match(line))


def _mend_line(line: str) -> str:
    help_wanted = _HELP_LINE.match(line)
    if help_wanted:
        return f"{help_wanted['indent']}%toolnexus help {help_wanted['word']}\n"
    asked = _ASK_LINE.match(line)
    if asked is None:
        return line
    call = f"get_ipython().run_line_magic('toolnexus', {asked['words'].strip()!r})\n"
    return f"{asked['indent']}{asked['target'] or ''}{call}"


def _starts_statement(before: list[str]) -> bool:
    """Whether a line after these starts a statement, so that it is no part of a string or a bracket."""
    # a magic's line need not be Python (What's new?), so it counts as an empty statement
    plain = [re.sub(r"^(\s*)[%!].*", r"\1pass", line) for line in before]
    try:
        for _ in tokenize.generate_tokens(StringIO("".join(plain)).readline):
            pass
    except tokenize.TokenError as error:
        return "EOF in multi-line" not in str(error) and "unterminated triple" not in str(error)
    except SyntaxError:  # IndentationError: the cell is wrong anyway, Python will say so
        return True
    return True


def placer(may_await: Callable[[str], bool]) -> Callable[[list[str]], list[str]]:
    """The post transformer. `may_await(line)` says whether that line's call is to be awaited in the cell at hand.

    Only what is asynchronous is awaited: an `await` makes the whole cell a coroutine, and then Stop cannot interrupt
    blocking code of the person's own in it.
    """

    def place(lines: list[str]) -> list[str]:
        if not any("_magic('toolnexus'" in line for line in lines):
            return lines
        source = "".join(lines)
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError):
            return lines  # Python says what is wrong when it runs
        calls = list(_calls(tree.body))
        if not calls:
            return lines
        return _edited(source, calls, defined_names(tree.body), may_await)

    return place


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of the magic at the top level: where it starts, where its line's text starts (row from 1, byte in row)."""

    start: tuple[int, int]
    text: tuple[int, int]
    line: str
    statement: bool

    @property
    def registers(self) -> bool:
        return self.line.startswith(REGISTERS)


def _edited(source: str, calls: list[_Call], names: list[str], may_await: Callable[[str], bool]) -> list[str]:
    lines = [line.encode() for line in re.split(r"(?<=\n)", source)]  # as ast counts: a form feed ends no line

    def insert(at: tuple[int, int], text: str) -> None:
        row, column = at
        line = lines[row - 1]
        lines[row - 1] = line[:column] + text.encode() + line[column:]

    for call in sorted(calls, key=lambda call: call.text, reverse=True):
        quote = (call.text[0], call.text[1] + 1)
        awaits = may_await(call.line)
        if call.registers:
            insert((quote[0], quote[1] + len(REGISTERS)), "=" + ",".join(names))
        words = (AWAITED + " " if awaits else "") + (UNUSED + " " if call.statement else "")
        insert(quote, words)
        if awaits:
            insert(call.start, "await ")
    return [line.decode() for line in lines]


class FooterHider:
    """An AST transformer that changes no code: it takes the text of a footer out of what tracebacks quote.

    IPython has put the cell's source into linecache by now. The line stays, empty, so that line numbers hold.
    """

    def visit(self, tree: ast.AST) -> ast.AST:
        last = tree.body[-1] if isinstance(tree, ast.Module) and tree.body else None
        text = _text_argument(last.value) if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) else None
        if text is not None and REGISTERS in str(text.value):
            for entry in reversed(list(linecache.cache.values())):
                lines = entry[2] if len(entry) == 4 else None
                if lines and _FOOTER.match(lines[-1]):
                    lines[-1] = "\n"
        return tree


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement that runs at the cell's top level, in order, also inside if, for, while, try, with and match."""
    for node in body:
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for _, part in ast.iter_fields(node):
            for inner in part if isinstance(part, list) else ():
                if isinstance(inner, ast.stmt):
                    yield from _statements([inner])
                elif isinstance(inner, ast.ExceptHandler | ast.match_case):
                    yield from _statements(inner.body)


def _calls(body: list[ast.stmt]) -> Iterator[_Call]:
    for node in _statements(body):
        value = getattr(node, "value", None)
        if not isinstance(node, ast.Expr | ast.Assign | ast.AnnAssign) or not isinstance(value, ast.Call):
            continue
        text = _text_argument(value)
        if text is not None:
            yield _Call(
                (value.lineno, value.col_offset),
                (text.lineno, text.col_offset),
                str(text.value),
                isinstance(node, ast.Expr),
            )


def _text_argument(call: ast.Call) -> ast.Constant | None:
    """The line's text in `get_ipython().run_line_magic('toolnexus', …)`, where that is just what IPython writes."""
    match call:
        case ast.Call(
            func=ast.Attribute(
                value=ast.Call(func=ast.Name(id="get_ipython")), attr="run_line_magic" | "run_cell_magic"
            ),
            args=[ast.Constant(value="toolnexus"), ast.Constant(value=str()) as text, *_],
        ):
            return text
    return None


def defined_names(body: list[ast.stmt]) -> list[str]:
    """Names that the top level defines with `def` ("area") or only assigns ("sky="), in order, without a leading `_`.

    Classes and imports are not among them. Of the assigned ones, the footer registers those that hold a Tool.
    """
    names: dict[str, str] = {}
    for node in _statements(body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names[node.name] = ""
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    names.setdefault(target.id, ASSIGNED)
    return [name + how for name, how in names.items() if not name.startswith("_")]
