"""A conversation over many cells: it keeps the messages, runs the rounds, and stays valid to be continued."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..openai.handler import tool_handler_from_context
from ..openai.types import Message, Usage
from ..tools.toolkit import Toolkit
from .approval import Approve, Decision, check_approve, verdict
from .client import Client, messages_of
from .connectors import connect
from .delivery import Awaiting, Blocking, Delivery, drive
from .dispatch import Dispatcher
from .engine import Run, RunOptions
from .events import Event, RunFinished
from .guards import OUTPUT_LIMIT
from .history import open_calls, put_answers
from .hooks import Hook, Hooks, add
from .prompt import user_message
from .result import RunResult, RunStopped, mark_cancelled
from .structured import Wanted

_OPTIONS = ("max_rounds", "approve", "stream", "timeout", "call_timeout", "output_limit")
NOT_DECIDED = "Not run: nobody allowed this call."


class Chat:
    """A conversation with a model that may call the tools of a toolkit.

    * `client`: a Client, a name or address for `connect`, or None: from the environment, else the rehearsal model.
    * `toolkit`: a Toolkit, or tools to make one of.
    * `system`: instructions, sent first with every request; a plain attribute.
    * `max_rounds`: requests per question; the last one asks for an answer without tools.
    * `approve`: "allow", "deny", or a function of the call, for tools that need approval; None: the run pauses.
    * `handler`: a ToolHandler or EventHandler; more with `add_handler`.
    * `timeout`: seconds for one question in all; `call_timeout`: for one call. `output_limit`: characters of a tool's
      output that go to the model. `stream=False` asks without streaming.
    * every other parameter goes into each request (`temperature=0`, `tool_choice="required"` …).

    Handlers, `approve` and hooks are called on the thread that asked: in a cell the kernel's main thread. What an
    async one returns is awaited there too; in the blocking forms (`ask_sync`) on the background loop.
    """

    def __init__(
        self,
        client: Client | str | Callable[..., Any] | None = None,
        toolkit: Toolkit | Iterable[Any] | None = None,
        *,
        system: str | None = None,
        max_rounds: int = 10,
        approve: Approve = None,
        handler: Any = None,
        stream: bool = True,
        timeout: float | None = None,
        call_timeout: float | None = None,
        output_limit: int | None = OUTPUT_LIMIT,
        **params: Any,
    ) -> None:
        self._client = default_client() if client is None else _client_of(client)
        self.toolkit = toolkit if isinstance(toolkit, Toolkit) else Toolkit(toolkit or ())
        self.system = system
        self.options: dict[str, Any] = {
            "max_rounds": max_rounds,
            "approve": check_approve(approve),
            "stream": stream,
            "timeout": timeout,
            "call_timeout": call_timeout,
            "output_limit": output_limit,
        }
        self.params = params
        self.messages: list[Message] = []
        self.turns: list[int] = []
        """Where in `messages` each question begins."""
        self.usage = Usage()
        """Tokens of everything asked so far, also of questions that were taken back."""
        self.last: RunResult | None = None
        self._handlers: list[Any] = [] if handler is None else [handler]
        self._hooks = Hooks()
        self._turn: _Turn | None = None
        """The question being asked now."""

    # --- asking -------------------------------------------------------------------------------------------------------

    async def ask(self, prompt: Any, *, returns: Any = None, handler: Any = None, **overrides: Any) -> RunResult:
        """Ask, run the calls, ask again, until there is an answer.

        `prompt`: text, or a list of text and images (see `prompt.py`). `returns`: a pydantic model or any type the
        answer must have; it is validated into `.value`. `handler`: one more, for this question. `overrides`: this
        chat's options and parameters for this question.

        Gives a result of status done, incomplete or paused. Raises APIError and its kin when the endpoint fails, and
        CancelledError at Stop; both carry `.result`, which is in `chat.last` too. If no tool has run by then the
        prompt is taken back, so that the cell can be run again.
        """
        return await self._run_out(self._question(prompt, returns, handler, overrides), Awaiting())

    def ask_sync(self, prompt: Any, *, returns: Any = None, handler: Any = None, **overrides: Any) -> RunResult:
        """Blocking form of `ask`, for scripts, plain cells and under a running loop. At Stop it raises RunStopped."""
        return drive(self._run_out(self._question(prompt, returns, handler, overrides), Blocking()))

    def events(self, prompt: Any, *, returns: Any = None, handler: Any = None, **overrides: Any) -> RunEvents:
        """Everything that happens, as `async for event in chat.events(...)` or, blocking, `for event in ...`.

        RunFinished is the last event; after it errors are raised as by `ask`. Leaving the loop stops the run.
        """
        return RunEvents(self, self._question(prompt, returns, handler, overrides))

    async def resume(
        self, decisions: Mapping[str, Decision] | Decision = None, *, result: RunResult | None = None, **overrides: Any
    ) -> RunResult:
        """Go on with the paused run; see `RunResult.resume`. Raises ValueError when nothing is paused here."""
        return await self._run_out(self._resumption(decisions, result, overrides), Awaiting())

    def resume_sync(
        self, decisions: Mapping[str, Decision] | Decision = None, *, result: RunResult | None = None, **overrides: Any
    ) -> RunResult:
        """Blocking form of `resume`."""
        return drive(self._run_out(self._resumption(decisions, result, overrides), Blocking()))

    # --- the conversation ---------------------------------------------------------------------------------------------

    @property
    def client(self) -> Client:
        """The model asked. Another may be set in mid conversation; what only the old one understands is dropped."""
        return self._client

    @client.setter
    def client(self, client: Client | str | Callable[..., Any]) -> None:
        client = _client_of(client)
        if client.base_url != self._client.base_url:
            self.messages[:] = [_portable(message) for message in self.messages]
        self._client = client

    @property
    def busy(self) -> bool:
        """Whether a question is being asked now: until it ends, only a fork can ask another."""
        return self._turn is not None and not self._turn.abandoned

    def fork(self) -> Chat:
        """A copy that goes its own way: same client and tools, its own messages, hooks and handlers."""
        other = Chat(self._client, self.toolkit, system=self.system, **self.options, **self.params)
        other.messages = [message.model_copy(deep=True) for message in self.messages]
        other.turns = list(self.turns)
        other.usage = self.usage.model_copy()
        if self.last is not None:
            other.last = replace(self.last, chat=other, pending=list(self.last.pending))
        other._handlers = list(self._handlers)
        other._hooks = self._hooks.copy()
        return other

    def undo(self) -> list[Message]:
        """Take the last question and all that followed it back; gives the messages taken, `[]` if there are none."""
        self._check_idle()
        if not self.turns:
            return []
        start = self.turns.pop()
        taken = self.messages[start:]
        del self.messages[start:]
        self.last = None
        return taken

    def reset(self) -> None:
        """Forget the conversation and its usage; client, tools, system and parameters stay."""
        self._check_idle()
        self.messages.clear()
        self.turns.clear()
        self.usage = Usage()
        self.last = None

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the conversation as JSON: messages, system, parameters, a paused run; never a key. Gives the path."""
        from .saving import write_chat

        return write_chat(self, Path(path))

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], client: Client | str | None = None, toolkit: Any = None, **options: Any
    ) -> Chat:
        """Read a saved conversation. Client and tools are not saved: give them again (default: as `Chat()`)."""
        from .saving import read_chat

        return read_chat(cls, Path(path), client, toolkit, options)

    def to_script(self) -> str:
        """The same rounds as a plain Python program over httpx, which does without this package."""
        from .script import chat_script

        return chat_script(self)

    def __repr__(self) -> str:
        tools = len(self.toolkit)
        return (
            f"<Chat with {self._client.label}, {tools} tool{'s' if tools != 1 else ''}, "
            f"{len(self.messages)} message{'s' if len(self.messages) != 1 else ''}>"
        )

    # --- who listens --------------------------------------------------------------------------------------------------

    def add_handler(self, handler: Any) -> Callable[[], None]:
        """Tell one more ToolHandler or EventHandler, on the thread that asks; gives the undo."""
        return add(self._handlers, handler)

    def before_request(self, hook: Hook) -> Callable[[], None]:
        """`hook(body)` before each request; a dict it returns is sent instead. Gives the undo."""
        return add(self._hooks.before_request, hook)

    def after_response(self, hook: Hook) -> Callable[[], None]:
        """`hook(message)` after each answer of the model. Gives the undo."""
        return add(self._hooks.after_response, hook)

    def before_call(self, hook: Hook) -> Callable[[], None]:
        """`hook(call)` before each call; gives the undo.

        A dict it returns are other arguments; anything else, not None, is the result, and the tool does not run.
        """
        return add(self._hooks.before_call, hook)

    def after_call(self, hook: Hook) -> Callable[[], None]:
        """`hook(call, result)` after each call that ran; what it returns, not None, is the result. Gives the undo."""
        return add(self._hooks.after_call, hook)

    # --- inside -------------------------------------------------------------------------------------------------------

    def _question(self, prompt: Any, returns: Any, handler: Any, overrides: dict[str, Any]) -> _Turn:
        message = user_message(prompt)
        wanted = None if returns is None else Wanted(returns)
        return _Turn(message=message, wanted=wanted, handler=handler, overrides=overrides)

    def _resumption(
        self, decisions: Mapping[str, Decision] | Decision, result: RunResult | None, overrides: dict[str, Any]
    ) -> _Turn:
        earlier = self.last if result is None else result
        if earlier is None or not earlier.pending or earlier is not self.last:
            raise ValueError("nothing is paused here: only the last run of a chat, while it is paused, can be resumed")
        waiting = [pending.call.id for pending in earlier.pending]
        if isinstance(decisions, Mapping):
            unknown = [call_id for call_id in decisions if call_id not in waiting]
            if unknown:
                raise ValueError(f"no call {unknown[0]!r} waits for a decision; waiting: {', '.join(waiting)}")
            chosen = dict(decisions)
        else:
            chosen = {} if decisions is None else dict.fromkeys(waiting, decisions)
        for decision in chosen.values():
            verdict(decision)
        before = earlier.turn if earlier.turn is not None else _Turn(overrides={})
        handler = overrides.pop("handler", before.handler)
        return _Turn(
            earlier=earlier,
            decisions=chosen,
            wanted=before.wanted,
            handler=handler,
            overrides={**before.overrides, **overrides},
        )

    async def _run_out(self, turn: _Turn, asker: Awaiting | Blocking) -> RunResult:
        async for _ in self._events(turn, asker, heard=False):
            pass
        assert self.last is not None
        return self.last

    async def _events(
        self, turn: _Turn, asker: Awaiting | Blocking, *, heard: bool = True
    ) -> AsyncGenerator[Event, None]:
        """One question or resumption, from the first event to the state the chat is left in."""
        await self._end_abandoned(asker)
        self._turn = turn
        try:
            delivery, start = self._begin(turn, heard)
            turn.end = lambda asker: self._end(turn, delivery, start, asker)
            events = delivery.events(asker)
            try:
                async for event in events:
                    if isinstance(event, RunFinished):
                        self._finish(delivery.run, start, turn)
                    yield event
            except (asyncio.CancelledError, KeyboardInterrupt) as stop:
                result = self._finish(delivery.run, start, turn)
                if isinstance(stop, KeyboardInterrupt):
                    raise RunStopped(result, result.left_running) from None
                raise mark_cancelled(stop, result) from None
            finally:
                await events.aclose()
                if delivery.run is not None:
                    self._finish(delivery.run, start, turn)
            result = self._finish(delivery.run, start, turn)
            if result.error is not None:
                raise _with_result(result.error, result)
            if result.status == "stopped":  # from inside: a tool on the main thread was interrupted
                raise RunStopped(result, result.left_running)
        finally:
            turn.end = None
            if self._turn is turn:
                self._turn = None

    async def _end(self, turn: _Turn, delivery: Delivery, start: int, asker: Awaiting | Blocking) -> None:
        await delivery.end(asker)
        if delivery.run is not None:
            self._finish(delivery.run, start, turn)
        if self._turn is turn:
            self._turn = None

    def _begin(self, turn: _Turn, heard: bool) -> tuple[Delivery, int]:
        """The delivery of a run, and where in `messages` it begins."""
        self.messages[:] = messages_of(self.messages)  # a person may have put dicts there
        self._close_pending(turn)
        if turn.message is not None:
            start = len(self.messages)
            own = [turn.message]
        else:
            start = self.turns[-1] if self.turns else 0
            own = []
        head = [Message.system(self.system)] if self.system else []
        messages = [*head, *self.messages, *own]
        options = {name: turn.overrides.get(name, self.options[name]) for name in _OPTIONS}
        check_approve(options["approve"])
        params = {**self.params, **{key: value for key, value in turn.overrides.items() if key not in _OPTIONS}}
        client, toolkit = self._client, self.toolkit

        def make(delivery: Delivery) -> Run:
            return Run(
                client,
                toolkit,
                messages,
                RunOptions(params=params, wanted=turn.wanted, hooks=self._hooks.copy(), ask=delivery.ask, **options),
                delivery,
                own_from=start + len(head),
                earlier=turn.earlier,
                decisions=turn.decisions,
            )

        dispatcher = Dispatcher([tool_handler_from_context(), *self._handlers, turn.handler])
        return Delivery(make, dispatcher, heard=heard), start

    def _close_pending(self, turn: _Turn) -> None:
        """A new question instead of a decision: what waited is answered, since the history must say something."""
        if turn.earlier is not None or self.last is None or not self.last.pending:
            return
        waiting = {pending.call.id for pending in self.last.pending}
        message, _ = open_calls(self.messages)
        if message is not None:
            answers = {
                id(call): Message.tool(call.id, NOT_DECIDED) for call in message.tool_calls if call.id in waiting
            }
            put_answers(self.messages, message, answers)
        self.last.pending = []

    def _finish(self, run: Run | None, start: int, turn: _Turn) -> RunResult:
        """Take over what the run left; the second time it only gives the result."""
        if run is None:  # stopped before it began
            result = RunResult(status="stopped", chat=self, turn=turn)
            self.last = result if turn.earlier is None else turn.earlier  # what is paused stays so
            return result
        result = run.result
        if result.chat is self:
            return result
        result.chat, result.turn = self, turn
        self.last = result
        self.usage = self.usage + result.new_usage
        nothing_ran = not any(message.role == "tool" for message in result.messages)
        if result.status in ("stopped", "error") and nothing_ran:
            return result
        self.messages[start:] = result.messages
        if start not in self.turns:
            self.turns.append(start)
        return result

    def _check_idle(self) -> None:
        drive(self._end_abandoned(Blocking()))

    async def _end_abandoned(self, asker: Awaiting | Blocking) -> None:
        """Make room for what comes: end a question whose events nobody reads any more (the loop over them was left,
        and asyncio closes its generator only later); raises RuntimeError when one is really being asked."""
        while (turn := self._turn) is not None:
            if not turn.abandoned or turn.end is None:
                raise RuntimeError("this chat is in the middle of a question; wait for it, or ask on chat.fork()")
            await turn.end(asker)


class _Turn:
    """A question, or the decisions that let a paused one go on."""

    def __init__(
        self,
        *,
        message: Message | None = None,
        wanted: Wanted | None = None,
        earlier: RunResult | None = None,
        decisions: Mapping[str, Any] | None = None,
        handler: Any = None,
        overrides: dict[str, Any],
    ) -> None:
        self.message = message
        self.wanted = wanted
        self.earlier = earlier
        self.decisions = decisions
        self.handler = handler
        self.overrides = overrides
        self.end: Callable[[Awaiting | Blocking], Awaitable[None]] | None = None
        self.reader: weakref.ref[Any] | None = None
        """The iterator through which the caller reads the events of this question, if there is one."""

    @property
    def abandoned(self) -> bool:
        """Whether the loop over the events was left in the middle."""
        return self.reader is not None and self.reader() is None


class RunEvents:
    """The events of one question, awaited (`async for`) or not (`for`). `.result` once it is over."""

    def __init__(self, chat: Chat, turn: _Turn) -> None:
        self._chat = chat
        self._turn = turn

    @property
    def result(self) -> RunResult | None:
        """The run's result, None until it is over."""
        last = self._chat.last
        return last if last is not None and last.turn is self._turn else None

    def _begin(self, asker: Awaiting | Blocking) -> AsyncGenerator[Event, None]:
        if self._turn.reader is not None:
            raise RuntimeError("these events were read already; ask again for new ones")
        events = self._chat._events(self._turn, asker)
        self._turn.reader = weakref.ref(events)  # weak: leaving the loop over them must be seen
        return events

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._begin(Awaiting())

    def __iter__(self) -> Iterator[Event]:
        events = self._begin(Blocking())
        try:
            while True:
                try:
                    yield drive(_step(events))
                except StopAsyncIteration:
                    return
        finally:
            drive(_close(events))

    async def aclose(self) -> None:
        """Stop the run if it still goes on."""
        if self._turn.reader is not None and (events := self._turn.reader()) is not None:
            await events.aclose()


async def _step(events: AsyncGenerator[Event, None]) -> Event:
    return await anext(events)


async def _close(events: AsyncGenerator[Event, None]) -> None:
    await events.aclose()


def default_client() -> Client:
    """The endpoint of the environment, else the rehearsal model. Raises SetupError when a key is set and no model."""
    if os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_KEY"):
        return Client.from_env()
    return connect("rehearsal")


def _client_of(client: Client | str | Callable[..., Any]) -> Client:
    return client if isinstance(client, Client) else connect(client)


def _with_result(error: BaseException, result: RunResult) -> BaseException:
    error.result = result  # type: ignore[attr-defined]
    return error.with_traceback(None)


def _portable(message: Message) -> Message:
    """A message without what only the endpoint it came from understands."""
    return Message.from_any(
        {
            key: value
            for key, value in message.model_dump_wire().items()
            if key in ("role", "content", "name", "tool_calls", "tool_call_id")
        }
    )
