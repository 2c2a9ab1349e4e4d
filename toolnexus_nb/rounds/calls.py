"""One call, from what the model wrote to what it is answered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..openai.types import ToolCall
from ..tools.context import ToolContext
from ..tools.results import ToolResult, to_result
from .adapt import definition_name
from .approval import Verdict, decide, verdict
from .events import ApprovalAsked, CallState, ToolFinished, ToolProgress, ToolStarted
from .guards import bound_output
from .result import CallRecord, Pending

if TYPE_CHECKING:
    from ..tools.definition import Tool
    from .engine import Run

NO_OUTPUT = "(no output)"
WAITING = "Not run yet: a person has to allow this call first."
CANCELLED = "Cancelled by the person before it was done."


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one call ended: the text the model is answered, and the record, or who it waits for."""

    answer: str = ""
    record: CallRecord | None = None
    pending: Pending | None = None
    for_caller: bool = False


class Caller:
    """Runs the calls of one round. `decisions` (by call id) are a person's, about calls that waited for them."""

    def __init__(self, run: Run, decisions: Mapping[str, Any] | None) -> None:
        self._run = run
        self._decisions = decisions
        self._options = run.options
        self._caller_names = {definition_name(tool) for tool in run.options.caller_tools}
        self._contexts: dict[int, ToolContext] = {}
        self._shown: dict[int, ToolCall] = {}
        self._began: dict[int, float] = {}

    async def answer(self, call: ToolCall) -> Outcome:
        """Run one call. Raises only what a hook or the approve function raised, and cancellation."""
        wanted = self._options.wanted
        if call.name in self._caller_names:
            return Outcome(for_caller=True)
        if wanted is not None and wanted.is_answer([call]):
            return Outcome(answer=wanted.read_call(call, self._run.result))
        tool = self._run.toolkit.resolve(call.name)
        problem = self._problem(call, tool)
        if problem is not None:
            await self._start(call, call, tool)
            return self._finished(call, ToolResult.error(problem), "failed")
        if tool is None:
            await self._start(call, call, None)
            return self._finished(call, await self._run.toolkit.execute(call.name, call.arguments), "failed")
        allowed = await self._allowed(call, tool)
        if isinstance(allowed, Outcome):
            return allowed
        edited = allowed.arguments is not None
        running = _with_arguments(call, allowed.arguments) if allowed.arguments is not None else call
        for hook in tuple(self._options.hooks.before_call):
            changed = await self._options.ask(hook, running)
            if isinstance(changed, Mapping):
                running = _with_arguments(running, dict(changed))
            elif changed is not None:
                await self._start(call, running, tool)
                return self._finished(call, to_result(changed), "done")
        await self._start(call, running, tool)
        result = await self._execute(running, tool)
        for hook in tuple(self._options.hooks.after_call):
            changed = await self._options.ask(hook, running, result)
            if changed is not None:
                result = to_result(changed)
        if edited:
            words = "(The person changed the arguments of this call to " + running.arguments_text + ".)\n"
            result = replace(result, output=words + result.output)
        result = bound_output(result, self._options.output_limit)
        self._run._guard.saw(call, self._run.round, result.output)
        return self._finished(call, result, "failed" if result.is_error else "done")

    def _problem(self, call: ToolCall, tool: Tool | None) -> str | None:
        """Why the call cannot run, as a sentence for the model; None if it can."""
        if call.arguments_error:
            return (
                f"The arguments of {call.name or 'this call'} could not be read, so it was not run: "
                f"{call.arguments_error}. Call it again with arguments that are one valid JSON object."
            )
        return self._run._guard.hint(call, self._run.round)

    async def _allowed(self, call: ToolCall, tool: Tool) -> Verdict | Outcome:
        reason = tool.approval_needed(call.arguments)
        if reason is None:
            return Verdict("allow")
        if self._decisions is not None and call.id in self._decisions:
            said = verdict(self._decisions[call.id])
        elif self._decisions is not None:
            said = Verdict("wait")
        else:
            await self._run.sink.tell(ApprovalAsked(self._run.round, call, reason))
            said = await decide(self._options.approve, call, self._options.ask)
        if said.kind == "wait":
            return Outcome(answer=WAITING, pending=Pending(call, reason))
        if said.kind == "deny":
            why = f": {said.why}" if said.why else ""
            return self._finished(call, ToolResult.error(f"The person did not allow this call{why}."), "denied")
        return said

    async def _start(self, call: ToolCall, running: ToolCall, tool: Tool | None) -> None:
        self._shown[id(call)] = running
        await self._run.sink.tell(ToolStarted(self._run.round, running, tool))
        self._began[id(call)] = time.monotonic()

    async def _execute(self, call: ToolCall, tool: Tool) -> ToolResult:
        limit = self._options.call_timeout
        context = ToolContext(
            call_id=call.id,
            deadline=None if limit is None else time.monotonic() + limit,
            on_progress=self._progress(call.id),
        )
        self._contexts[id(call)] = context
        self._run.running.add(call.name)
        try:
            async with asyncio.timeout(limit):
                return await tool.execute(call.arguments, context)
        except TimeoutError:
            context.cancel()
            return ToolResult.error(f"{call.name} was stopped: it did not finish within {limit:g} s.")
        finally:
            self._run.running.discard(call.name)

    def _progress(self, call_id: str) -> Any:
        """Progress from any thread, as events of the run."""
        loop, run = asyncio.get_running_loop(), self._run

        def report(progress: float | None, total: float | None, message: str | None) -> None:
            event = ToolProgress(run.round, call_id, progress, total, message)
            try:
                loop.call_soon_threadsafe(run.sink.write, event)
            except RuntimeError:
                return  # the loop is closed: the run is over and nobody listens

        return report

    def cancel(self) -> None:
        """Tell every running tool to stop."""
        for context in self._contexts.values():
            context.cancel()

    def cancelled(self, call: ToolCall) -> Outcome:
        """The answer to a call that a stop or an error cut off."""
        return self._finished(call, ToolResult.error(CANCELLED), "cancelled")

    def refused(self, call: ToolCall, why: str) -> Outcome:
        """The answer to a call that may not run."""
        return self._finished(call, ToolResult.error(why), "cancelled")

    def _finished(self, call: ToolCall, result: ToolResult, state: CallState) -> Outcome:
        began = self._began.get(id(call))
        seconds = 0.0 if began is None else time.monotonic() - began
        shown = self._shown.get(id(call), call)
        self._run.sink.write(ToolFinished(self._run.round, shown, result, seconds, state))
        record = CallRecord(shown, result, seconds, state, self._run.round)
        return Outcome(answer=result.output or NO_OUTPUT, record=record)


def _with_arguments(call: ToolCall, arguments: dict[str, Any]) -> ToolCall:
    return ToolCall.from_any(
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}
    )
