"""One call of one tool: where it runs, what is kept of it, and how everything that can go wrong becomes a sentence.

Async functions run on the loop that awaits the call; plain functions in a thread of ours with the caller's contextvars;
`main_thread` tools on the main thread. Cancelling the call sets `context.cancelled` and passes through; a plain
function cannot be stopped, so it is left and named (see background.py). A generator's yields are progress, its last
value the result.
"""

from __future__ import annotations

import asyncio
import inspect
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from .arguments import ArgumentsError, read_arguments
from .background import in_thread, on_main_thread
from .binding import Misfits
from .context import ToolContext, current_context
from .misfits import one_message
from .printing import capture_prints
from .results import ToolResult, to_result

if TYPE_CHECKING:
    from .definition import Tool

_PACKAGE = str(Path(__file__).parents[1])
_LONGEST_ERROR = 2_000


class Runner(Protocol):
    """Runs a bound call and reads what came back; raises whatever the tool raises."""

    async def run(
        self, tool: Tool, positional: list[Any], keywords: dict[str, Any], context: ToolContext
    ) -> ToolResult: ...


class InvokeRunner:
    """A tool of another source: one coroutine function of (arguments, context)."""

    def __init__(self, invoke: Callable[[dict[str, Any], ToolContext], Awaitable[Any]]) -> None:
        self._invoke = invoke

    async def run(
        self, tool: Tool, positional: list[Any], keywords: dict[str, Any], context: ToolContext
    ) -> ToolResult:
        return to_result(await self._invoke(positional[0], context))


class FunctionRunner:
    """A Python function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._at_hand = _runs_on_the_loop(function)

    async def run(
        self, tool: Tool, positional: list[Any], keywords: dict[str, Any], context: ToolContext
    ) -> ToolResult:
        if tool.main_thread:
            return await on_main_thread(self._started, positional, keywords, context)
        if self._at_hand:
            return await self._finished(positional, keywords, context)
        outcome = await in_thread(self._called, positional, keywords, context, label=tool.name)
        return outcome if isinstance(outcome, ToolResult) else await _awaited(outcome, context)

    def _called(self, positional: list[Any], keywords: dict[str, Any], context: ToolContext) -> Any:
        """Call, drain a generator and read the result where the function runs: a ToolResult, or something to await."""
        value = self._function(*positional, **keywords)
        if inspect.isawaitable(value) or inspect.isasyncgen(value):
            return value
        return to_result(_drained(value, context) if inspect.isgenerator(value) else value)

    def _started(self, positional: list[Any], keywords: dict[str, Any], context: ToolContext) -> Any:
        """A plain function's result, or what is still to be awaited: only the latter needs a loop on that thread."""
        outcome = self._called(positional, keywords, context)
        return outcome if isinstance(outcome, ToolResult) else _awaited(outcome, context)

    async def _finished(self, positional: list[Any], keywords: dict[str, Any], context: ToolContext) -> ToolResult:
        started = self._started(positional, keywords, context)
        return started if isinstance(started, ToolResult) else await started


def _runs_on_the_loop(function: Any) -> bool:
    """Whether it is async: a function, a partial of one, or an object whose `__call__` is."""
    behind = (function, type(function).__call__)
    return any(inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one) for one in behind)


async def _awaited(outcome: Any, context: ToolContext) -> ToolResult:
    if inspect.isasyncgen(outcome):
        return to_result(await _drained_async(outcome, context))
    value = await outcome
    return to_result(_drained(value, context) if inspect.isgenerator(value) else value)


def _drained(generator: Any, context: ToolContext) -> Any:
    """The last value of a generator function, or what it returned; every earlier yield is progress."""
    if getattr(generator, "gi_code", None) is not None and generator.gi_code.co_name == "<genexpr>":
        return generator  # a generator expression is a lazy list, not a story of progress
    last: Any = None
    try:
        while True:
            last = next(generator)
            _progress(last, context)
            if context.cancelled:
                generator.close()
                return last
    except StopIteration as end:
        return last if end.value is None else end.value


async def _drained_async(generator: Any, context: ToolContext) -> Any:
    last: Any = None
    try:
        async for last in generator:
            _progress(last, context)
    finally:
        await generator.aclose()
    return last


def _progress(value: Any, context: ToolContext) -> None:
    context.report(message=value if isinstance(value, str) else to_result(value).output[:200])


async def run_call(
    tool: Tool, arguments: Mapping[str, Any] | str | None, context: ToolContext | None = None
) -> ToolResult:
    """What `Tool.execute` does, without the tick."""
    context = context or ToolContext()
    token = current_context.set(context)
    try:
        with capture_prints() as printed:
            try:
                result = await _with_timeout(tool, read_arguments(arguments), context)
            except (ArgumentsError, Misfits) as error:
                found = error.sentences if isinstance(error, Misfits) else [str(error)]
                result = ToolResult.error(one_message(tool.name, found), metadata={"reason": "arguments"})
            except _GivenUp as error:
                result = ToolResult.error(str(error), metadata={"reason": "timeout"})
            except asyncio.CancelledError:
                context.cancel()
                if _we_are_cancelled():
                    raise
                result = ToolResult.error(f"{tool.name} was cancelled from inside (CancelledError)")
            except KeyboardInterrupt:
                context.cancel()
                raise
            except BaseException as error:  # whatever a tool raises is an answer to the model, SystemExit too
                result = failed(error)
        text = printed.text
        return replace(result, printed=result.printed + text) if text else result
    finally:
        current_context.reset(token)


def _we_are_cancelled() -> bool:
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


class _GivenUp(Exception):
    """The tool's timeout passed."""


async def _with_timeout(tool: Tool, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
    if tool.timeout is None:
        return await tool.run(arguments, context)
    end = time.monotonic() + tool.timeout
    context.deadline = end if context.deadline is None else min(end, context.deadline)
    try:
        async with asyncio.timeout(tool.timeout) as limit:
            return await tool.run(arguments, context)
    except TimeoutError:
        if not limit.expired():
            raise
        context.cancel()
        raise _GivenUp(f"{tool.name} did not finish within {tool.timeout:g} seconds and was given up") from None


def failed(error: BaseException) -> ToolResult:
    """The result of a call that raised: one line for the model, the traceback for the person."""
    line = error_line(error)
    return ToolResult.error(
        _with_hint(line),
        metadata={"reason": "exception", "exception": type(error).__name__},
        traceback=_traceback(error),
    )


def error_line(error: BaseException) -> str:
    """`KeyError: 'k'` on one line; the type alone when there is no message."""
    try:
        message = " ".join(str(error).split())
    except Exception:  # a broken __str__ must not hide that the tool failed
        message = ""
    notes = "; ".join(getattr(error, "__notes__", ()))
    line = ": ".join(part for part in (type(error).__name__, message) if part)
    line = f"{line} ({notes})" if notes else line
    return line if len(line) <= _LONGEST_ERROR else line[:_LONGEST_ERROR] + "…"


_BOUND_TO_A_THREAD = (
    "SQLite objects created in a thread",
    "There is no current event loop in thread",
    "attached to a different loop",
    "bound to a different event loop",
    "main thread is not in main loop",
    "signal only works in main thread",
    "outside of the main thread",
)
"""What libraries say (there is no type for it) when their object is used on another thread or loop than its own."""


def _with_hint(line: str) -> str:
    if not any(sign in line for sign in _BOUND_TO_A_THREAD):
        return line
    way_out = "The object is bound to the notebook's main thread: define the tool with @tn.tool(main_thread=True)"
    return f"{line.rstrip('.')}. {way_out}"


def _traceback(error: BaseException) -> str:
    """The traceback from the tool's own first line on; our frames say nothing to its author."""
    start: TracebackType | None = error.__traceback__
    while start is not None and start.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        start = start.tb_next
    try:
        return "".join(traceback.format_exception(type(error), error, start or error.__traceback__))
    except Exception:  # a broken __str__ or __repr__ in the chain
        return error_line(error)
