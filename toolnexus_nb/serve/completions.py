"""`POST /v1/chat/completions`: the served model answers, this server's tools run, the caller gets one reply."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from starlette.types import Receive, Scope, Send

from ..rounds.engine import run_rounds
from ..rounds.events import ToolFinished
from .activity import Activity, ServedCall, log_output
from .approval import may_run
from .asgi import ClientGone, raw_headers, send_json, while_connected
from .chat_request import ChatRequest, read_chat_request
from .chat_wire import PING, Envelope
from .crossing import crossing
from .forward_reply import ForwardReply
from .handback import Handbacks
from .limits import Gate, Limits, read_body
from .problems import BUG, Problem, upstream_problem
from .run_reply import RunReply

if TYPE_CHECKING:
    from ..openai.types import ChatCompletionChunk, ChatCompletionResponse, ToolCall
    from ..rounds.approval import Decision
    from ..rounds.client import Client
    from ..tools.definition import Tool
    from ..tools.toolkit import Toolkit
    from .approval import ServedApproval

log = logging.getLogger("toolnexus_nb.serve")

Reply: TypeAlias = RunReply | ForwardReply

_SSE = raw_headers(
    {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-cache, no-transform",
        "x-accel-buffering": "no",
    }
)


class Completions:
    """The endpoint, an ASGI app."""

    def __init__(
        self,
        toolkit: Toolkit,
        client: Client,
        activity: Activity,
        limits: Limits,
        *,
        max_rounds: int,
        approve: ServedApproval,
        keep: Callable[[str], bool] | None,
    ) -> None:
        self._all = toolkit
        self._keep = keep
        self._client = client
        self._activity = activity
        self._limits = limits
        self._max_rounds = max_rounds
        self._approve = approve
        self._gate = Gate(limits.at_once)
        self._handbacks = Handbacks()

    def offered(self) -> dict[str, Tool]:
        """The tools that run here, as they are now, by the names the model sees."""
        toolkit = self._toolkit()
        return {toolkit.wire_name(tool): tool for tool in toolkit}

    def _toolkit(self) -> Toolkit:
        return self._all if self._keep is None else self._all.filter(self._keep)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        trouble = "stopped with the server"
        answer = _Answer(send)
        self._activity.began()
        try:
            with self._gate.enter():
                body = await read_body(scope, receive, self._limits)
                request = read_chat_request(body, self.offered())
                await while_connected(receive, self._reply(request, answer))
            trouble = ""
        except ClientGone:
            trouble = "the client went away"
        except Exception as error:
            problem = error if isinstance(error, Problem) else upstream_problem(error)
            trouble = " ".join(f"{problem.status} {problem.message}".split())  # one line of a log, whoever said it
            if problem.code == BUG:
                log.exception("the reply failed")
            await answer.problem(problem)
        finally:
            self._activity.ended(trouble)
            level, seconds = logging.WARNING if trouble else logging.INFO, time.perf_counter() - began
            log.log(level, "POST %s: %s (%.2f s)", scope["path"], trouble or "200", seconds)

    async def _reply(self, request: ChatRequest, answer: _Answer) -> None:
        """One reply, from the first round to the last byte."""
        source, reply = self._begin(request)
        try:
            async with asyncio.timeout(self._limits.seconds), crossing(source) as across:
                async for batch in across.batches(self._limits.heartbeat):
                    data = b"".join([reply.feed(item) for item in batch]) if batch else PING
                    self._note_calls(batch)
                    if request.stream and data:
                        await answer.write(data)
        except TimeoutError:
            raise Problem(
                504, f"the reply took longer than {self._limits.seconds:g} s and was stopped", code="timeout"
            ) from None
        if isinstance(reply, RunReply):
            self._finish_run(request, reply)
        if request.stream:
            await answer.write(reply.last(), more=False)
        else:
            await answer.whole(reply.whole())

    def _begin(self, request: ChatRequest) -> tuple[Callable[[], AsyncIterator[Any]], Reply]:
        """What to iterate over on the background loop, and what makes a reply of it."""
        client, toolkit = self._client, self._toolkit()
        params = dict(request.params)
        if not client.model and request.model:
            params["model"] = request.model
        envelope = Envelope(client.model or request.model or client.label, request.include_usage)
        messages = self._handbacks.restore(request.messages)
        if not len(toolkit):
            if request.tools:
                params["tools"] = request.tools  # as they are: custom tools are for the model to understand
            body = client.body(messages, None, params, stream=request.stream)
            return partial(_ask_once, client, body), ForwardReply(envelope, messages)
        run = partial(
            run_rounds,
            client,
            toolkit,
            messages,
            params=params,
            max_rounds=self._max_rounds,
            approve=self._decide,
            caller_tools=request.tools,
        )
        return run, RunReply(envelope, messages)

    def _finish_run(self, request: ChatRequest, reply: RunReply) -> None:
        """Check how the run ended, and keep what the caller will come back to."""
        result = reply.result
        if result is None or result.status == "stopped":
            raise Problem(503, "the server stopped this reply", code="stopped")
        if result.error is not None:
            raise result.error
        if reply.handed_back:
            ids = [call["id"] for call in reply.handed_back]
            # the run's messages begin with the caller's last, which the caller has
            self._handbacks.remember(request.messages, ids, result.messages[1:])

    async def _decide(self, call: ToolCall) -> Decision:
        """Nobody is here to be asked, so a call that needs approval follows the server's policy."""
        allowed = await may_run(self._approve, call.name, call.arguments)
        if allowed is None:
            return ("deny", "it needs a person's approval, and nobody is here to give it")
        return "allow" if allowed else "deny"

    def _note_calls(self, batch: list[Any]) -> None:
        for item in batch:
            if isinstance(item, ToolFinished):
                log_output(item.call.name, item.result)
                self._activity.called(ServedCall(item.call.name, item.seconds, item.state, "chat"))


async def _ask_once(
    client: Client, body: dict[str, Any]
) -> AsyncIterator[ChatCompletionChunk | ChatCompletionResponse]:
    """The model's own chunks, or its reply, where there are no tools to run."""
    if not body.get("stream"):
        yield await client.answer(body)
        return
    async with client.open_stream(body) as chunks:
        async for chunk in chunks:
            yield chunk


class _Answer:
    """The HTTP side of one reply. Nothing is sent before there is something to say: an early failure has its status."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = False

    async def write(self, data: bytes, *, more: bool = True) -> None:
        """A piece of the stream, or its last."""
        if not self._begun:
            self._begun = True
            await self._send({"type": "http.response.start", "status": 200, "headers": _SSE})
        await self._send({"type": "http.response.body", "body": data, "more_body": more})

    async def whole(self, reply: dict[str, Any]) -> None:
        """The plain reply."""
        self._begun = True
        await send_json(self._send, reply)

    async def problem(self, problem: Problem) -> None:
        """An error status, or the last event of a stream that has begun."""
        if self._begun:
            await self.write(problem.event(), more=False)
        else:
            await send_json(self._send, problem.body(), problem.status, problem.headers)
