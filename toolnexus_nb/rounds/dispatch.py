"""Telling handlers what happens: in order, on the thread that asked. One that raises is noted and breaks nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from ..openai.handler import flatten_handlers, receives_events
from .events import Event, Note, RunFinished, ToolFinished, ToolStarted

Own = Callable[[Awaitable[Any]], Awaitable[Any]]
"""Awaits what an async handler returned, in the way of the caller."""
Told = tuple[Callable[..., Any], tuple[Any, ...]]
"""A method of a handler, and what it is called with."""


class Dispatcher:
    """Hands events to handlers. An EventHandler (it has `on_event`) hears all of them, a ToolHandler the tool calls."""

    def __init__(self, handlers: Iterable[Any]) -> None:
        self.handlers: list[Any] = []
        for handler in handlers:
            for one in flatten_handlers(handler):
                if not any(one is known for known in self.handlers):
                    self.handlers.append(one)
        self._event_handlers = {id(handler) for handler in self.handlers if receives_events(handler)}
        self._failed: set[int] = set()
        self._notes: list[str] = []
        self._called: set[str] = set()

    async def dispatch(self, event: Event, own: Own) -> Sequence[Event]:
        """Tell everybody; gives the events this made (a Note about a handler that failed), already told."""
        if isinstance(event, RunFinished):
            event.result.notes.extend(self._notes)
        before = len(self._notes)
        for handler in self.handlers:
            await self._tell(handler, event, own)
        if len(self._notes) == before:
            return ()
        if isinstance(event, RunFinished):
            event.result.notes.extend(self._notes[before:])
            return ()
        made: list[Event] = [Note(event.round, text, "warning") for text in self._notes[before:]]
        for note in made:
            for handler in self.handlers:
                await self._tell(handler, note, own)
        return made

    async def _tell(self, handler: Any, event: Event, own: Own) -> None:
        try:
            if id(handler) in self._event_handlers:
                feed: Iterable[Told] = ((handler.on_event, (event,)),)
            else:
                feed = self._feed(handler, event)
            for method, args in feed:
                answer = method(*args)
                if hasattr(answer, "__await__"):
                    await own(answer)
        except Exception as error:
            if id(handler) not in self._failed:
                self._failed.add(id(handler))
                self._notes.append(
                    f"The handler {type(handler).__name__} raised {type(error).__name__}: {error}. The run went on."
                )

    def _feed(self, handler: Any, event: Event) -> list[Told]:
        """What a ToolHandler is told of an event."""
        if isinstance(event, ToolStarted):
            self._called.add(event.call.id)
            return [(handler.on_tool_call, (event.call,))]
        if not isinstance(event, ToolFinished):
            return []
        call, result = event.call, event.result
        told: list[Told] = []
        if call.id not in self._called:  # denied or cut off before it began: it was called all the same
            told.append((handler.on_tool_call, (call,)))
        on_error = getattr(handler, "on_tool_error", None)
        tell = on_error if result.is_error and on_error is not None else handler.on_tool_result
        told.append((tell, (call.id, call.name, result.output)))
        return told
