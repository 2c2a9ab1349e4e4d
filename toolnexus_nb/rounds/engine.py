"""The rounds: ask the model, run its calls, ask again; and always leave the conversation in order.

What holds, whatever happens:

* **One story, one sink.** A run is one task (`_tell_story`) that writes events, in order, into a sink: a pipe that
  `run_rounds` reads, or the delivery of a chat. An event before a tool runs (ToolStarted, ApprovalAsked) holds the tool
  back until it has been dealt with, so a handler has always seen the start before anything happened.
* **Every call is answered.** An assistant message with calls is followed directly by exactly one tool message per
  call, in call order: with the result, with the reason why it was not run, with "cancelled", or, while a person
  decides, with a placeholder that `resume` replaces. So the history can be sent after every possible end.
* **Stop** (`stop()`, a cancelled reader, a closed iterator) cancels the story. The HTTP stream is closed, async tools
  are cancelled, tools in threads are told through their context, and whatever has not ended after `CLEAN_UP` seconds
  is left and named. Then the open calls are answered "cancelled", and ToolFinished and RunFinished are still handed
  out. Nothing else of the run is left. A time limit of the run ends it in the same way.
* **Nothing is raised from here** for what an endpoint, a tool or a hook did: the run ends with status "error" and
  `result.error`. Only the reader's own cancellation passes through.
* **Half an answer** is never acted on: calls of a stream that broke are dropped; its text is kept in the result.

Runs on the loop that iterates, which for a chat is the background loop; hooks and `approve` are called through `ask`,
which a chat sends to the thread that asked.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..openai.errors import APIError, ToolnexusError
from ..openai.tokens import TokenCounter
from ..openai.types import Message, ToolCall, Usage
from ..tools.background import left_running
from ..tools.toolkit import Toolkit
from .adapt import Writer, definition_name
from .approval import Approve, at_hand
from .calls import CANCELLED, Caller, Outcome
from .client import Client
from .events import (
    Event,
    Note,
    RetryScheduled,
    RoundFinished,
    RoundStarted,
    RunFinished,
    UsageReported,
)
from .guards import OUTPUT_LIMIT, LoopGuard
from .history import open_calls, put_answers
from .hooks import Hooks
from .pipe import Pipe, Sink
from .reading import Reader
from .result import Limit, RunResult
from .structured import Wanted
from .tap import collecting

CLEAN_UP = 0.12
"""Seconds that cancelled work gets to end before the run goes on without it."""

_CUT_OFF: dict[str | None, tuple[Limit, str]] = {
    "length": ("length", "The answer was cut off: it reached the limit of tokens."),
    "content_filter": ("content_filter", "The answer was cut off by the provider's content filter."),
}


@dataclass
class RunOptions:
    """How a run goes; `Chat` fills it in.

    `params`: parameters of the request. `caller_tools`: definitions that are offered but run by the caller.
    `timeout`: seconds for the whole run, `call_timeout` for each call. `output_limit`: characters of a tool's output.
    `wanted`: what `returns=` asks for. `ask(function, *args)`: calls hooks and `approve` where they belong.
    """

    params: Mapping[str, Any] = field(default_factory=dict)
    max_rounds: int = 10
    approve: Approve = None
    caller_tools: Sequence[dict[str, Any]] = ()
    stream: bool = True
    timeout: float | None = None
    call_timeout: float | None = None
    output_limit: int | None = OUTPUT_LIMIT
    wanted: Wanted | None = None
    hooks: Hooks = field(default_factory=Hooks)
    ask: Callable[..., Awaitable[Any]] = at_hand

    def __post_init__(self) -> None:
        if self.max_rounds < 1:
            raise ValueError(f"max_rounds is at least 1, not {self.max_rounds}")


async def run_rounds(
    client: Client,
    toolkit: Toolkit | None,
    messages: Sequence[Message],
    *,
    params: Mapping[str, Any] | None = None,
    **options: Any,
) -> AsyncGenerator[Event, None]:
    """The rounds after `messages` (which end with the question) as events; the last is RunFinished with the result.

    `options` are the fields of `RunOptions`. Closing the iterator or cancelling its reader stops the run.
    """
    pipe = Pipe()
    run = Run(client, toolkit, messages, RunOptions(params=dict(params or {}), **options), pipe)
    story = run.start()
    story.add_done_callback(lambda _: pipe.close())
    try:
        async for event in pipe:
            yield event
    finally:
        run.stop()
        pipe.abandon()
        await asyncio.wait([story], timeout=2 * CLEAN_UP)


class Run:
    """One run of rounds. `own_from`: where in `messages` this run's own begin (default: the last, the question).

    `earlier` continues a paused run: `decisions` (by call id) are about the calls it left pending.
    """

    def __init__(
        self,
        client: Client,
        toolkit: Toolkit | None,
        messages: Sequence[Message],
        options: RunOptions,
        sink: Sink,
        *,
        own_from: int | None = None,
        earlier: RunResult | None = None,
        decisions: Mapping[str, Any] | None = None,
    ) -> None:
        self.client = client
        self.toolkit = toolkit if toolkit is not None else Toolkit()
        self.options = options
        self.messages = list(messages)
        self.result = _result_after(earlier)
        self.result.model = str(options.params.get("model") or client.model)
        self._own_from = max(0, len(self.messages) - 1) if own_from is None else own_from
        self._earlier = earlier
        self._decisions = dict(decisions or {})
        self.round = earlier.rounds if earlier is not None else 0
        self._last_round = options.max_rounds
        self._guard = LoopGuard()
        self._writer = Writer(client.profile)
        self.sink = sink
        self._story: asyncio.Task[None] | None = None
        self._stopping = False
        self._begun = False
        self._started = time.monotonic()
        self._reader: Reader | None = None
        self._threads_before: list[str] = []
        self._deaf: list[str] = []
        """Names of async tools that went on although they were cancelled."""
        self.running: set[str] = set()
        """Names of the tools that run just now."""

    # --- from outside -------------------------------------------------------------------------------------------------

    def note(self, text: str, *, warning: bool = False) -> None:
        """Something the person should know; told once."""
        if text not in self.result.notes:
            self.result.notes.append(text)
            self.sink.write(Note(self.round, text, "warning" if warning else "note"))

    def start(self) -> asyncio.Task[None]:
        """Start the run on the loop at hand; RunFinished is the last it writes."""
        if self._story is not None:
            raise RuntimeError("a run is told once")
        self._story = asyncio.get_running_loop().create_task(self._tell_story(), name="toolnexus-run")
        return self._story

    def stop(self) -> None:
        """Stop the run; its last events still come. Call it on the loop that runs it."""
        if not self._stopping and self._story is not None and not self._story.done():
            self._stopping = True
            if self._begun:  # a task cancelled before its first step would tell nothing
                self._story.cancel()

    def abandon(self) -> None:
        """Take what there is of a run whose loop does not answer, since an async tool blocks it; from any thread.

        The story goes on into nothing as soon as its loop is free, and ends there.
        """
        messages = self.messages[self._own_from :]
        _, calls = open_calls(messages)
        messages += [Message.tool(call.id, CANCELLED) for call in calls]
        self.result = replace(
            self.result, messages=messages, status="stopped", rounds=self.round, left_running=sorted(self.running)
        )

    # --- the story ----------------------------------------------------------------------------------------------------

    async def _tell_story(self) -> None:
        result = self.result
        self._begun = True
        token = collecting.set(result.exchanges)
        self._threads_before = left_running()
        try:
            async with asyncio.timeout(self.options.timeout) as limit:
                if self._stopping:
                    raise asyncio.CancelledError
                await self._rounds()
        except (asyncio.CancelledError, KeyboardInterrupt):
            result.status = "stopped"
        except Exception as error:
            if isinstance(error, TimeoutError) and limit.expired():
                self._incomplete("timeout", f"The run was stopped after its limit of {self.options.timeout:g} s.")
                if result.exchanges and result.exchanges[-1].stopped:
                    result.exchanges[-1].stopped = "stopped at the time limit of the run"
            else:
                result.status, result.error = "error", error
            if isinstance(error, APIError) and error.partial is not None and not result.text:
                result.text = error.partial.get_content_as_string()
        finally:
            collecting.reset(token)
        if result.status in ("stopped", "error", "incomplete"):
            self._close_open_calls()
        self._keep_partial_answer()
        result.left_running = [*self._deaf, *_new_in(left_running(), self._threads_before)]
        result.messages = self.messages[self._own_from :]
        result.rounds = self.round
        result.seconds = time.monotonic() - self._started
        self.sink.write(RunFinished(self.round, result))

    async def _rounds(self) -> None:
        """Ask and run until there is an answer, or a reason to end without one."""
        go_on = self._earlier is None or await self._take_up()
        while go_on and self.round < self._last_round:
            self.round += 1
            go_on = await self._deal_with(await self._ask_model())
        if go_on:
            self._incomplete("max_rounds", self._too_many_rounds())

    async def _deal_with(self, message: Message) -> bool:
        """Do what an answer of the model asks for; whether another round follows."""
        wanted, calls = self.options.wanted, message.tool_calls
        if not calls:
            if (cut := _CUT_OFF.get(self.result.finish_reason)) is not None:
                self._incomplete(*cut)
                return False
            return wanted is not None and self._complain(wanted)
        if self.round == self._last_round and not self._may_run_last(calls):
            self._refuse_calls(message)
            self._incomplete("max_rounds", self._too_many_rounds())
            return False
        return await self._run_calls(message, calls)

    def _may_run_last(self, calls: Sequence[ToolCall]) -> bool:
        """Whether calls of the last round cost no further round: the wanted answer, or calls of the caller's own."""
        theirs = {definition_name(tool) for tool in self.options.caller_tools}
        wanted = self.options.wanted
        return (wanted is not None and wanted.is_answer(calls)) or all(call.name in theirs for call in calls)

    def _complain(self, wanted: Wanted) -> bool:
        """Read an answer of a wanted shape; one that does not fit is asked for again, once."""
        problem = wanted.read_text(self.result)
        if problem is None:
            return False
        if wanted.complaints > 1:
            self._incomplete("returns", f"The answer did not fit what was asked for: {problem}")
            return False
        self.note(f"The answer did not fit what was asked for; asked once more: {problem}")
        self.messages.append(Message.user(wanted.complaint(problem)))
        self._last_round = max(self._last_round, self.round + 1)
        return True

    def _too_many_rounds(self) -> str:
        return (
            f"The model did not come to an answer within {self.options.max_rounds} rounds. "
            "Allow more with max_rounds=, or ask to go on."
        )

    def _incomplete(self, limit: Limit, why: str) -> None:
        self.result.status, self.result.limit = "incomplete", limit
        self.note(why, warning=True)

    # --- asking -------------------------------------------------------------------------------------------------------

    async def _ask_model(self) -> Message:
        """One request and its answer, streamed; the message is appended when it is whole."""
        started = time.monotonic()
        body = self._body()
        for hook in tuple(self.options.hooks.before_request):
            changed = await self.options.ask(hook, body)
            if changed is not None:
                body = dict(changed)
        self.result.model = str(body.get("model") or self.result.model)
        self.sink.write(
            RoundStarted(self.round, self.result.model, len(body["messages"]), len(body.get("tools") or ()))
        )
        reader = self._reader = Reader(self.round, self.sink.write if self.sink.heard else None)
        try:
            answer = await reader.read(self.client, body, self._retrying)
        except APIError as error:
            if self.options.wanted is not None and self.options.wanted.refused_by(error):
                self.note("The endpoint takes no response_format; a forced tool asks for the answer instead.")
                return await self._ask_model()
            raise
        self._reader = None
        for text in answer.notes:
            self.note(text)
        message = answer.message
        self.result.finish_reason = answer.finish_reason
        self.result.text = message.get_content_as_string()
        self.result.reasoning += message.reasoning_text
        self.result.refusal = message.refusal or None
        usage = answer.usage if answer.usage is not None else estimated_usage(body, message)
        self.result.usages.append(usage)
        self.result.usage = self.result.usage + usage
        self.messages.append(message)
        self.sink.write(UsageReported(self.round, usage))
        self.sink.write(RoundFinished(self.round, message, answer.finish_reason, usage, time.monotonic() - started))
        for hook in tuple(self.options.hooks.after_response):
            await self.options.ask(hook, message)
        return message

    def _body(self) -> dict[str, Any]:
        params = dict(self.options.params)
        tools: list[dict[str, Any]] = [*self.toolkit.to_openai(), *self.options.caller_tools]
        choice = params.get("tool_choice")
        if isinstance(choice, str) and any(definition_name(tool) == choice for tool in tools):
            params["tool_choice"] = {"type": "function", "function": {"name": choice}}
        if self.round > 1 and choice not in (None, "auto", "none"):
            params["tool_choice"] = "auto"  # a model that is forced again and again never answers (J03)
        if self.round == self._last_round and tools:
            if self.options.caller_tools:
                tools = list(self.options.caller_tools)
            else:
                params["tool_choice"] = "none"
        if self.options.wanted is not None:
            tools = self.options.wanted.ask_for(params, tools, self.client.profile)
        # A hook may change what it is given, so it is never given what other requests share.
        writer = None if self.options.hooks.before_request else self._writer
        return self.client.body(self.messages, tools, params, stream=self.options.stream, writer=writer)

    def _retrying(self, attempt: int, seconds: float, reason: str) -> None:
        self.sink.write(RetryScheduled(self.round, attempt, seconds, reason, self.client.retries + 1))

    def _keep_partial_answer(self) -> None:
        """What was said of a broken or stopped answer stays in the result, and in the history once tools have run."""
        reader, self._reader = self._reader, None
        if reader is None:
            return
        text = reader.text
        self.result.reasoning += reader.reasoning
        if not text:
            return
        self.result.text = text
        self.result.finish_reason = None
        if self.messages and self.messages[-1].role == "tool":
            self.messages.append(Message.assistant(text))

    # --- running ------------------------------------------------------------------------------------------------------

    async def _run_calls(
        self, message: Message, calls: Sequence[ToolCall], decisions: Mapping[str, Any] | None = None
    ) -> bool:
        """Run calls side by side and append their answers in order; whether the rounds go on."""
        caller = Caller(self, decisions)
        tasks = [asyncio.get_running_loop().create_task(caller.answer(call)) for call in calls]
        outcomes: list[Outcome | None] = [None] * len(tasks)
        try:
            await _all_or_first_error(tasks)
        finally:
            if not all(task.done() for task in tasks):
                caller.cancel()
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks, timeout=CLEAN_UP)
                self._deaf += [call.name for call, task in zip(calls, tasks, strict=True) if not task.done()]
                await self._await_threads()
            for i, (call, task) in enumerate(zip(calls, tasks, strict=True)):
                ended = task.done() and not task.cancelled() and task.exception() is None
                outcomes[i] = task.result() if ended else caller.cancelled(call)
            self._append_answers(message, calls, outcomes)
        return not self._calls_left()

    async def _await_threads(self) -> None:
        """Tools in threads were told to stop; those that look at their context end in a moment."""
        end = time.monotonic() + CLEAN_UP / 2
        while _new_in(left_running(), self._threads_before) and time.monotonic() < end:  # noqa: ASYNC110 - no event
            await asyncio.sleep(0.01)

    def _append_answers(self, message: Message, calls: Sequence[ToolCall], outcomes: Sequence[Outcome | None]) -> None:
        answers: dict[int, Message] = {}
        for call, outcome in zip(calls, outcomes, strict=True):
            assert outcome is not None
            if outcome.pending is not None:
                self.result.pending.append(outcome.pending)
            if outcome.for_caller:
                self.result.caller_calls.append(call)
                continue
            if outcome.record is not None:
                self.result.calls.append(outcome.record)
            answers[id(call)] = Message.tool(call.id, outcome.answer)
        put_answers(self.messages, message, answers)

    def _calls_left(self) -> bool:
        result = self.result
        if result.pending:
            result.status = "paused"
        elif result.caller_calls:
            result.finish_reason = "tool_calls"
        elif self.options.wanted is None or not self.options.wanted.settled:
            return False
        elif not self.options.wanted.answered:
            self._incomplete("returns", "The answer did not fit what was asked for, also not the second time.")
        return True

    def _refuse_calls(self, message: Message) -> None:
        """Calls of the last permitted round get an answer, but do not run."""
        caller = Caller(self, None)
        outcomes = [caller.refused(call, "Not run: the limit of rounds was reached.") for call in message.tool_calls]
        self._append_answers(message, message.tool_calls, outcomes)

    def _close_open_calls(self) -> None:
        """Calls that were never begun, since the run ended between the model's message and them."""
        message, calls = open_calls(self.messages)
        if message is not None and calls:
            caller = Caller(self, None)
            self._append_answers(message, calls, [caller.cancelled(call) for call in calls])

    async def _take_up(self) -> bool:
        """Answer the calls that a paused run left open; whether the rounds go on."""
        assert self._earlier is not None
        waiting = {pending.call.id for pending in self._earlier.pending}
        message, _ = open_calls(self.messages)
        if message is None:
            raise ToolnexusError("the paused run is not the end of this conversation any more")
        calls = [call for call in message.tool_calls if call.id in waiting]
        self.result.pending = []
        return await self._run_calls(message, calls, self._decisions)


def estimated_usage(body: Mapping[str, Any], message: Message) -> Usage:
    """What a round probably cost, for an endpoint that does not say; marked as estimated."""
    counter = TokenCounter()
    counter.add_prompt_tokens_from_messages(body["messages"])
    counter.add_prompt_tokens_from_tools(body.get("tools") or ())
    counter.add_completion_tokens_from_message(message)
    return counter.get_usage()


def _result_after(earlier: RunResult | None) -> RunResult:
    """Where a run's result begins: empty, or with what had happened before it paused."""
    if earlier is None:
        return RunResult()
    return RunResult(
        calls=list(earlier.calls),
        pending=list(earlier.pending),  # until they are taken up: a resumption may be stopped before that
        usage=earlier.usage,
        usages=list(earlier.usages),
        usages_before=len(earlier.usages),
        notes=list(earlier.notes),
        reasoning=earlier.reasoning,
        exchanges=list(earlier.exchanges),
    )


async def _all_or_first_error(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Wait for all; raise the first error of ours (a hook, an approve function) at once."""
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    for task in done:
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error


def _new_in(now: Sequence[str], before: Sequence[str]) -> list[str]:
    """What is in `now` more often than in `before`."""
    return list((Counter(now) - Counter(before)).elements())
