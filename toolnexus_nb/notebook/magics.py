"""`%toolnexus` and `%%toolnexus`: one magic, one dispatcher; loading and unloading without leftovers.

The words after the magic are in `commands.py` and the `commands_*.py` beside it. What the transformers tell the magic
(the cell awaits it, its value goes nowhere, it is a footer) stands at the head of the line; see `transformers.py`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand

from . import commands as registry
from . import runner
from .commands import UsageError
from .session import Session, session
from .transformers import AWAITED, REGISTERS, UNUSED, FooterHider, mend, placer

NAME = "toolnexus"


@magics_class
class ToolnexusMagics(Magics):
    """Reads the line, finds the word, runs it."""

    def __init__(self, shell: Any, the_session: Session) -> None:
        super().__init__(shell)
        shell.configurables.remove(self)  # settings are the session's; this would be a second, empty entry of %config
        self.session = the_session
        self._running_cells = 0

    @line_cell_magic
    @no_var_expand
    def toolnexus(self, line: str, cell: str | None = None) -> Any:
        """Tool calling in cells."""
        words, told = line.strip(), set()
        while words.split(" ", 1)[0] in (AWAITED, UNUSED):
            word, _, words = words.partition(" ")
            told.add(word)
        if AWAITED not in told:
            return self._run(words, cell, UNUSED in told)
        with runner.cell_awaits():
            value = self._run(words, cell, UNUSED in told)
        return value if inspect.isawaitable(value) else _value(value)

    def _run(self, line: str, cell: str | None, unused: bool) -> Any:
        if line.startswith(REGISTERS):
            return self._register(line)
        if cell is not None and (not line or line.startswith("-") or line.split()[0] == "tools"):
            return self._tools_cell(line, cell)
        name, rest = [*(line or "status").split(None, 1), ""][:2]
        entry = registry.find(name)
        if cell is not None and not entry.cell:
            raise UsageError(f"%%toolnexus {name} takes no text below it; write it in one line: %toolnexus {name} …")
        if rest.strip() in ("-h", "--help"):
            print(entry.help())
            return None
        namespace = self.session.namespace if self.session.config.interpolate else None
        args = registry.parse(entry, rest.strip(), namespace)
        value = entry.run(self.session, args, cell)
        if inspect.isawaitable(value):
            work = value
            value = self.session.run(lambda: work)
        drop = unused and entry.shows
        if inspect.isawaitable(value):
            return _dropped(value) if drop else value
        return None if drop else value

    def _register(self, line: str) -> None:
        from .registering import register_cell

        head, _, options = line.partition(" ")
        if options.strip():
            raise UsageError(f"%%toolnexus: {options.split()[0]} is not known here; it takes no options")
        register_cell(self.session, [name for name in head.partition("=")[2].split(",") if name])

    def _tools_cell(self, line: str, cell: str) -> None:
        """A `%%toolnexus` cell that did not pass the transformer (a program called the magic): run it as a cell."""
        self.shell.run_cell(f"%%toolnexus {line}\n{cell}").raise_error()

    # --- what the transformers ask ------------------------------------------------------------------------------

    def may_await(self, line: str) -> bool:
        """Whether this line is asynchronous, and the cell transformed now is the outermost one and can await it."""
        words = line.split(None, 1)
        entry = registry.commands().get(words[0]) if words else None
        if entry is None or not inspect.iscoroutinefunction(entry.run):
            return False
        return self._running_cells == 0 and bool(self.shell.autoawait) and runner.can_await()

    def cell_runs(self, *_: Any) -> None:
        self._running_cells += 1

    def cell_ran(self, *_: Any) -> None:
        self._running_cells = max(0, self._running_cells - 1)

    # --- completion ---------------------------------------------------------------------------------------------

    def complete(self, _shell: Any, event: Any) -> list[str]:
        """IPython's `complete_command` hook for the magic: words, options, and what the word itself proposes."""
        first = event.line.splitlines()[0] if event.line else ""
        words = first.split()[1:]
        if words and not first.endswith((" ", "\t")):
            words = words[:-1]
        known = registry.commands()
        if not words:
            cells = event.line.lstrip().startswith("%%")
            return ["tools", *(n for n, e in known.items() if e.cell)] if cells else list(known)
        entry = known.get(words[0])
        if entry is None:
            return []
        proposed: Iterable[str] = _choices(entry, words[-1])
        if not proposed:
            proposed = [*(entry.complete(self.session, words[1:]) if entry.complete else ()), *entry.options()]
        return [word for word in proposed if word.startswith(event.symbol) or not event.symbol.strip("-%")]


def _choices(entry: registry.Command, word: str) -> list[str]:
    """The values of the option that was typed last, where they are a fixed set."""
    action = entry.parser._option_string_actions.get(word)
    return [str(choice) for choice in action.choices] if action is not None and action.choices else []


async def _value(value: Any) -> Any:
    return value


async def _dropped(value: Any) -> None:
    await value


# --- loading ----------------------------------------------------------------------------------------------------------

_unload: Callable[[], None] | None = None


def load(shell: Any) -> None:
    """Put the magic, its transformers, hooks and settings in place, and say in one line what is connected."""
    global _unload
    unload()
    from . import commands_core
    from .errors import short_errors

    the_session = session()
    magics = ToolnexusMagics(shell, the_session)
    shell.register_magics(magics)
    method = shell.magics_manager.magics["line"][NAME]
    method.__func__.__doc__ = commands_core.overview()
    place, hide = placer(magics.may_await), FooterHider()
    shell.input_transformers_cleanup.insert(0, mend)
    shell.input_transformers_post.append(place)
    shell.ast_transformers.append(hide)
    events = {
        "pre_execute": magics.cell_runs,
        "post_execute": magics.cell_ran,
        "pre_run_cell": the_session.cell_starts,
    }
    for name, callback in events.items():
        shell.events.register(name, callback)
    hooks = [f"%{NAME}", f"%%{NAME}"]
    for key in hooks:
        shell.set_hook("complete_command", magics.complete, str_key=key)
    shell.configurables.append(the_session.config)
    undo_errors = short_errors()
    request: dict[str, Any] = getattr(shell, "get_parent", dict)() or {}
    the_session.cell_starts(SimpleNamespace(cell_id=(request.get("metadata") or {}).get("cellId")))  # the cell at hand

    def undo() -> None:
        from .display import freeze_open_views

        freeze_open_views()
        undo_errors()
        shell.configurables.remove(the_session.config)
        for key in hooks:
            shell.strdispatchers["complete_command"].strs.pop(key, None)
        for name, callback in events.items():
            shell.events.unregister(name, callback)
        if hide in shell.ast_transformers:  # IPython takes one away that has failed
            shell.ast_transformers.remove(hide)
        shell.input_transformers_post.remove(place)
        shell.input_transformers_cleanup.remove(mend)
        for kind in ("line", "cell"):
            shell.magics_manager.magics[kind].pop(NAME, None)
        shell.magics_manager.registry.pop(type(magics).__name__, None)

    _unload = undo
    print(greeting(the_session))


def unload() -> None:
    """Take everything out of IPython that `load` put there. The session (tools, conversation) stays.

    What is served ends, and so do MCP servers, so that no process is left behind; one that is called later opens again.
    """
    global _unload
    if _unload is not None:
        _unload()
        _unload = None
        session().stop_serving()
    mcp_sessions = sys.modules.get("toolnexus_nb.tools.mcp_session")
    if mcp_sessions is not None:  # not imported: no server was ever opened
        mcp_sessions.end_all_sessions()


def greeting(the_session: Session) -> str:
    """One line: what is connected, or what to set."""
    from ..openai.errors import ToolnexusError
    from . import commands_core

    try:
        client = the_session.client
    except ToolnexusError as error:
        return f"toolnexus: {error}"
    if client.keyless:
        return f"toolnexus: connected to {client.label} (no key needed; %toolnexus connect NAME for a real model)"
    return f"toolnexus: the model is {commands_core.described(client)}"
