"""Who is told about tool calls: handlers, and the context that carries one.

A `ToolHandler` hears of tools only, in the seed's order: `on_tool_call`, the tool runs, `on_tool_result` (or
`on_tool_error`). An `EventHandler` hears of everything through `on_event` and of nothing twice. Methods may be plain
or async; who calls them awaits what they return.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import isawaitable
from typing import Any, Protocol, runtime_checkable

from .types import ToolCall


@runtime_checkable
class ToolHandler(Protocol):
    """Hears of tool calls. `on_tool_error(tool_call_id, tool_name, error: str)` is optional.

    Without `on_tool_error` the text of a failure goes to `on_tool_result`.
    """

    def on_tool_call(self, tool_call: ToolCall) -> Awaitable[None] | None:
        """Called before the tool runs."""

    def on_tool_result(self, tool_call_id: str, tool_name: str, result: str) -> Awaitable[None] | None:
        """Called after the tool has run, with the text the model gets."""


class NoOpToolHandler:
    """A handler that does nothing."""

    def on_tool_call(self, tool_call: ToolCall) -> None:
        """Do nothing."""

    def on_tool_result(self, tool_call_id: str, tool_name: str, result: str) -> None:
        """Do nothing."""

    def on_tool_error(self, tool_call_id: str, tool_name: str, error: str) -> None:
        """Do nothing."""


class EventHandler(NoOpToolHandler):
    """Hears of everything a run does, tool calls included, through `on_event`; its tool methods are never called."""

    def on_event(self, event: Any) -> Awaitable[None] | None:
        """Called with each event of `toolnexus_nb.rounds.events`, in order."""


class CombinedHandler(EventHandler):
    """Several handlers as one. `handlers` has no CombinedHandler in it.

    Tool calls go to the plain ToolHandlers, events to the EventHandlers. All are told, also when one raises; then the
    first exception is raised.
    """

    def __init__(self, handlers: tuple[Any, ...]) -> None:
        self.handlers = tuple(inner for handler in handlers for inner in flatten_handlers(handler))

    def on_tool_call(self, tool_call: ToolCall) -> Any:
        """Tell the ToolHandlers."""
        return self._tell("on_tool_call", tool_call)

    def on_tool_result(self, tool_call_id: str, tool_name: str, result: str) -> Any:
        """Tell the ToolHandlers."""
        return self._tell("on_tool_result", tool_call_id, tool_name, result)

    def on_tool_error(self, tool_call_id: str, tool_name: str, error: str) -> Any:
        """Tell the ToolHandlers; one without `on_tool_error` is told by `on_tool_result`."""
        return self._tell("on_tool_error", tool_call_id, tool_name, error)

    def on_event(self, event: Any) -> Any:
        """Tell the EventHandlers."""
        return self._tell("on_event", event)

    def _tell(self, method: str, *args: Any) -> Any:
        waiting: list[Awaitable[Any]] = []
        failed: list[Exception] = []
        for handler in self.handlers:
            if receives_events(handler) != (method == "on_event"):
                continue
            known = method if hasattr(handler, method) or method != "on_tool_error" else "on_tool_result"
            try:
                answer = getattr(handler, known)(*args)
            except Exception as error:
                failed.append(error)
            else:
                if isawaitable(answer):
                    waiting.append(answer)
        if waiting:
            return _await_all(waiting, failed)
        if failed:
            raise failed[0]
        return None


async def _await_all(waiting: list[Awaitable[Any]], failed: list[Exception]) -> None:
    for answer in waiting:
        try:
            await answer
        except Exception as error:
            failed.append(error)
    if failed:
        raise failed[0]


def combine_handlers(*handlers: Any) -> CombinedHandler:
    """Make one handler of several; None among them is left out."""
    return CombinedHandler(handlers)


def flatten_handlers(handler: Any) -> list[Any]:
    """The handlers behind `handler`: itself, those it combines, or none for None."""
    if handler is None:
        return []
    return list(handler.handlers) if isinstance(handler, CombinedHandler) else [handler]


def receives_events(handler: Any) -> bool:
    """Whether `handler` takes events; then it is given events only (never both feeds)."""
    return callable(getattr(handler, "on_event", None))


_handler: ContextVar[Any] = ContextVar("toolnexus_nb tool handler", default=None)


@contextmanager
def with_tool_handler(handler: Any) -> Iterator[Any]:
    """Within the block, runs started from here (also in tasks and in threads we start) tell `handler`.

    Blocks nest; the innermost handler is the one that hears. To keep the outer one too:
    `with_tool_handler(combine_handlers(tool_handler_from_context(), mine))`.
    """
    before = _handler.get()
    _handler.set(handler)
    try:
        yield handler
    finally:
        # not reset(token): a notebook or an async generator may close the block in another context
        _handler.set(before)


def tool_handler_from_context() -> Any:
    """The handler of the innermost `with_tool_handler` block, None outside of any."""
    return _handler.get()
