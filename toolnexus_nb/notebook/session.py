"""The notebook's own client, toolkit and conversation: what the magics act on, reachable as `tn.session()`.

There is one session for each kernel. It makes its parts when they are first needed, so that loading the extension costs
nothing and asks no endpoint anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from traitlets import Bool, CaselessStrEnum, Int, Unicode
from traitlets.config import Configurable

from ..tools.context import main_namespace
from . import runner
from .display import shell as running_shell

if TYPE_CHECKING:
    from ..rounds.chat import Chat
    from ..rounds.client import Client
    from ..rounds.result import RunResult
    from ..tools.toolkit import Toolkit
    from .commands_serve import Served
    from .panel import EventPanel

T = TypeVar("T")


class Toolnexus(Configurable):
    """What `%config Toolnexus` shows and sets, for every ask of this notebook."""

    max_rounds = Int(10, min=1, help="the most rounds one question may take").tag(config=True)
    approve = CaselessStrEnum(
        ["ask", "allow", "deny"],
        "ask",
        help="tools that need approval: ask the person, allow all, or deny all",
    ).tag(config=True)
    interpolate = Bool(True, help="put values in place of {name} in questions and options").tag(config=True)
    panel = CaselessStrEnum(
        ["auto", "html", "text", "off"],
        "auto",
        help="how a run is shown: live widget where the page has one, plain HTML, streamed text, or not at all",
    ).tag(config=True)
    system = Unicode("", help="the system message that goes with every question").tag(config=True)


@dataclass(frozen=True, slots=True)
class Asked:
    """One turn that a cell asked: which cell, in which execution, and how many turns the chat had after it."""

    cell_id: str
    execution: int
    turns: int


@dataclass(slots=True)
class Kept:
    """Where a block under `Session.keeping` puts its result."""

    result: RunResult | None = None


class NotServed:
    """Stands for the server while there is none: false, and says what to do when it is asked for anything."""

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "<nothing is being served: %toolnexus serve begins it>"

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"nothing is being served, so there is no {name}: %toolnexus serve begins it")


class Session:
    """The state behind the magics.

    .client .toolkit .chat     made on first use; `connect` replaces the client and keeps the conversation
    .last                      the RunResult of the last question, or None
    .server                    what `%toolnexus serve` serves (`.url`, `.key`, `.stop()`); false while nothing is served
    .shell                     the running IPython, or None in a script
    .config                    what `%config Toolnexus.x = …` sets
    """

    def __init__(self) -> None:
        self.config = Toolnexus()
        self.told: set[str] = set()
        self._server: Served | None = None
        self._client: Client | None = None
        self._toolkit: Toolkit | None = None
        self._chat: Chat | None = None
        # which cell registered which names, so that a re-run without a function takes it away
        self._cells: dict[str, set[str]] = {}
        self._asked: list[Asked] = []
        self._cell_id: str | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._resumed: Future[None] | None = None
        self.kept_as: str | None = None
        """The variable of a run that is paused: what goes on after the pause belongs to it as well."""
        self._execution = 0

    def __repr__(self) -> str:
        client = self._client.label if self._client else "not connected"
        turns = len(self._chat.turns) if self._chat else 0
        tools = ", ".join(self._toolkit.names) if self._toolkit else ""
        return f"<toolnexus session: {client}; tools: {tools or 'none'}; {turns} turn{'s' * (turns != 1)}>"

    @property
    def shell(self) -> Any:
        return running_shell()

    @property
    def client(self) -> Client:
        """The client in use, made from the environment on first use; the rehearsal model without OPENAI_* variables.

        Raises ToolnexusError when the environment names an endpoint or a key but no model.
        """
        if self._client is None:
            from ..rounds.chat import default_client

            self._client = default_client()
        return self._client

    @property
    def connected(self) -> bool:
        """Whether a client was made or chosen already."""
        return self._client is not None

    @property
    def server(self) -> Served | NotServed:
        return self._server or NotServed()

    @server.setter
    def server(self, server: Served | None) -> None:
        self._server = server

    @property
    def toolkit(self) -> Toolkit:
        if self._toolkit is None:
            from ..tools.toolkit import Toolkit

            self._toolkit = Toolkit()
        return self._toolkit

    @property
    def chat(self) -> Chat:
        """The notebook's conversation, with the session's client and toolkit."""
        if self._chat is None:
            from ..rounds.chat import Chat

            self._chat = Chat(self.client, self.toolkit, system=self.config.system or None)
        return self._chat

    @property
    def last(self) -> RunResult | None:
        """The result of the last question; also of one that failed or was stopped."""
        return self._chat.last if self._chat is not None else None

    @property
    def namespace(self) -> Mapping[str, Any]:
        """The user's variables."""
        return self.shell.user_ns if self.shell is not None else main_namespace()

    def connect(self, client: Client) -> Client:
        """Use this client from now on. The conversation and the tools stay."""
        self._client = client
        if self._chat is not None:
            self._chat.client = client
        return client

    def reset(self) -> int:
        """Forget the conversation; gives how many turns it had."""
        turns = len(self._chat.turns) if self._chat is not None else 0
        self._chat, self.kept_as = None, None
        self._asked.clear()
        return turns

    def run(self, make: Callable[[], Awaitable[T]]) -> Any:
        """Do asynchronous work for the cell: gives an awaitable where the cell is awaited, else waits, Stop-safe."""
        return runner.run(make)

    def keep(self, name: str | None, result: RunResult) -> None:
        """Put the result in a variable of the notebook, if one was named; remember it while the run is paused."""
        self.kept_as = name if result.status == "paused" else None
        if name is not None:
            self.shell.user_ns[name] = result

    @contextmanager
    def keeping(self, name: str | None) -> Iterator[Kept]:
        """Keep what the block puts into `.result`; if it is stopped or fails, what its run had come to until then."""
        kept = Kept()
        try:
            yield kept
        except BaseException as error:
            kept.result = getattr(error, "result", None)
            raise
        finally:
            if kept.result is not None:
                self.keep(name, kept.result)

    def once(self, key: str) -> bool:
        """True the first time it is asked about this key: for hints that are given once in a notebook."""
        first = key not in self.told
        self.told.add(key)
        return first

    # --- which cell is running ------------------------------------------------------------------------------------

    def cell_starts(self, info: Any) -> None:
        """IPython's `pre_run_cell`. JupyterLab and Notebook 7 give the cell's id; nbclient and terminals give None."""
        self._cell_id = getattr(info, "cell_id", None)
        self._execution += 1
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:  # a terminal
            self._loop = None

    def replace_tools_of_cell(self, names: set[str]) -> list[str]:
        """Note what the running cell registers; gives the names it registered before and does not any more."""
        if self._cell_id is None:
            return []
        gone = self._cells.get(self._cell_id, set()) - names
        for names_elsewhere in self._cells.values():
            names_elsewhere -= names
        self._cells[self._cell_id] = set(names)
        return sorted(name for name in gone if name in self.toolkit)

    def take_back_own_turns(self) -> int:
        """Undo the turns at the end of the conversation that an earlier run of this very cell asked; gives how many."""
        undone = 0
        while self._asked and self._chat is not None:
            asked = self._asked[-1]
            own = asked.cell_id == self._cell_id and asked.execution != self._execution
            if not own or asked.turns != len(self._chat.turns):
                break
            self._chat.undo()
            self._asked.pop()
            undone += 1
        return undone

    def note_turn(self, before: int) -> None:
        """The running cell has asked; the chat had `before` turns until then. A run that left no turn is not noted."""
        turns = len(self._chat.turns) if self._chat is not None else 0
        self._asked = [asked for asked in self._asked if asked.turns <= before]
        if self._cell_id is not None and turns > before:
            self._asked.append(Asked(self._cell_id, self._execution, turns))

    # --- showing a run --------------------------------------------------------------------------------------------

    def new_panel(self, prompt: str, toolkit: Toolkit | None = None, show: str | None = None) -> EventPanel:
        """A panel for the next run of the session."""
        from ..openai.tokens import estimate_tool_tokens
        from .panel import EventPanel

        offered = self.toolkit if toolkit is None else toolkit
        cost = sum(estimate_tool_tokens(definition) for definition in offered.to_openai())
        panel = EventPanel(prompt, self.client, schema_tokens=cost, show=show or self.config.panel)
        panel.on_decisions = lambda decisions: self._resume(panel, decisions)
        return panel

    def approval(self, panel: EventPanel, policy: str | None = None) -> Any:
        """What `Chat.ask(approve=)` takes for a policy of the settings: a word, or the panel's buttons."""
        policy = policy or self.config.approve
        return panel.decide if policy == "ask" else policy

    @contextmanager
    def watched(self, panel: EventPanel, toolkit: Toolkit | None = None) -> Iterator[None]:
        """While entered, the chat offers these tools. However what is asked ends, the panel ends too."""
        chat = self.chat
        before = len(chat.turns)
        if toolkit is not None:
            chat.toolkit = toolkit
        chat.system = self.config.system or chat.system  # one that was set from Python stays
        panel.show()
        try:
            yield
        except BaseException as error:
            panel.fail(error)
            raise
        finally:
            chat.toolkit = self.toolkit
            self.note_turn(before)

    def _resume(self, panel: EventPanel, decisions: dict[str, Any]) -> None:
        """The buttons of a paused run were clicked: go on, on the kernel's loop, whatever thread the click came on."""
        from .commands_core import resume_after_clicks

        if self._loop is not None:
            work = resume_after_clicks(self, panel, decisions)
            self._resumed = asyncio.run_coroutine_threadsafe(work, self._loop)

    def stop_resumed(self) -> bool:
        """Stop the run that goes on since a button was clicked; False if there is none."""
        return self._resumed is not None and self._resumed.cancel()

    # --- tools ----------------------------------------------------------------------------------------------------

    def unregistered_tools(self) -> list[str]:
        """Variables of the notebook that hold a Tool which no model is offered."""
        from ..tools.definition import Tool

        return [
            name
            for name, value in self.namespace.items()
            if isinstance(value, Tool) and not name.startswith("_") and value.name not in self.toolkit
        ]

    def stop_serving(self) -> None:
        """Stop what `%toolnexus serve` has started, if anything."""
        server, self._server = self._server, None
        if server is not None:
            server.stop()

    async def forget_tools(self) -> None:
        """Close the toolkit with its servers, and go on with an empty one."""
        self.stop_serving()
        old, self._toolkit = self.toolkit, None
        self._cells.clear()
        if self._chat is not None:
            self._chat.toolkit = self.toolkit
        await old.close()


_the_session: Session | None = None


def session() -> Session:
    """The session of this kernel (or script): `.client`, `.toolkit`, `.chat`, `.last`."""
    global _the_session
    if _the_session is None:
        _the_session = Session()
    return _the_session
