"""Handlers: who is told what, in what order, and how a context carries one."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import Any

import pytest

from toolnexus_nb.openai import (
    EventHandler,
    NoOpToolHandler,
    ToolCall,
    ToolHandler,
    combine_handlers,
    tool_handler_from_context,
    with_tool_handler,
)
from toolnexus_nb.openai.handler import flatten_handlers, receives_events

CALL = ToolCall(id="c1", function={"name": "f"})


class Notes:
    """A handler of the seed's two methods that keeps what it is told."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def on_tool_call(self, tool_call: ToolCall) -> None:
        self.seen.append(tool_call.name)

    def on_tool_result(self, tool_call_id: str, tool_name: str, result: str) -> None:
        self.seen.append((tool_call_id, tool_name, result))


class Watcher(EventHandler):
    """A handler of events."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def on_event(self, event: Any) -> None:
        self.seen.append(event)

    def on_tool_call(self, tool_call: ToolCall) -> None:
        pytest.fail("an EventHandler hears of events only")


def test_outside_of_any_block_there_is_no_handler() -> None:
    assert tool_handler_from_context() is None


def test_blocks_nest_and_the_innermost_hears() -> None:
    outer, inner = Notes(), Notes()
    with with_tool_handler(outer) as given:
        assert given is outer is tool_handler_from_context()
        with with_tool_handler(inner):
            assert tool_handler_from_context() is inner
        assert tool_handler_from_context() is outer
    assert tool_handler_from_context() is None


def test_an_error_in_the_block_still_ends_it() -> None:
    with pytest.raises(ValueError), with_tool_handler(Notes()):
        raise ValueError
    assert tool_handler_from_context() is None


def test_tasks_and_threads_that_carry_the_context_see_it() -> None:
    handler = Notes()

    async def child() -> Any:
        return tool_handler_from_context()

    async def run() -> None:
        with with_tool_handler(handler):
            task = asyncio.create_task(child())
            assert await asyncio.to_thread(tool_handler_from_context) is handler
        assert await task is handler
        assert tool_handler_from_context() is None

    asyncio.run(run())
    seen: list[Any] = []
    with with_tool_handler(handler):
        context = contextvars.copy_context()
    thread = threading.Thread(target=lambda: seen.append(context.run(tool_handler_from_context)))
    thread.start()
    thread.join()
    assert seen == [handler]


def test_a_block_may_end_in_another_context() -> None:
    block = with_tool_handler(Notes())
    contextvars.copy_context().run(block.__enter__)
    block.__exit__(None, None, None)
    assert tool_handler_from_context() is None


def test_what_counts_as_a_handler() -> None:
    assert isinstance(Notes(), ToolHandler) and isinstance(NoOpToolHandler(), ToolHandler)
    assert receives_events(Watcher()) and not receives_events(Notes())
    assert not isinstance(object(), ToolHandler)


def test_several_handlers_are_one_and_each_hears_its_own_feed() -> None:
    notes, watcher = Notes(), Watcher()
    both = combine_handlers(notes, None, combine_handlers(watcher))
    assert flatten_handlers(both) == [notes, watcher]
    both.on_tool_call(CALL)
    both.on_tool_result("c1", "f", "r")
    both.on_tool_error("c2", "g", "boom")
    both.on_event("event")
    assert notes.seen == ["f", ("c1", "f", "r"), ("c2", "g", "boom")]
    later: list[str] = []

    class Fails(NoOpToolHandler):
        def on_tool_error(self, tool_call_id: str, tool_name: str, error: str) -> None:
            later.append(error)

    combine_handlers(notes, Fails()).on_tool_error("c3", "h", "bang")
    assert later == ["bang"]
    assert watcher.seen == ["event"]
    assert flatten_handlers(None) == [] and flatten_handlers(notes) == [notes]


def test_a_handler_that_raises_does_not_keep_the_others_from_hearing() -> None:
    class Broken(Notes):
        def on_tool_call(self, tool_call: ToolCall) -> None:
            raise RuntimeError("mine")

    notes = Notes()
    with pytest.raises(RuntimeError, match="mine"):
        combine_handlers(Broken(), notes).on_tool_call(CALL)
    assert notes.seen == ["f"]


def test_async_handlers_are_awaited() -> None:
    seen: list[str] = []

    class Later(NoOpToolHandler):
        async def on_tool_call(self, tool_call: ToolCall) -> None:  # type: ignore[override]
            await asyncio.sleep(0)
            seen.append("later")

    class Broken(NoOpToolHandler):
        async def on_tool_call(self, tool_call: ToolCall) -> None:  # type: ignore[override]
            raise RuntimeError("mine")

    async def run() -> None:
        with pytest.raises(RuntimeError, match="mine"):
            await combine_handlers(Broken(), Later(), Notes()).on_tool_call(CALL)

    asyncio.run(run())
    assert seen == ["later"]
