"""A model that says what a test wants, and servers that stop with the test."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import httpx
import pytest

Answer = Mapping[str, Any]


class ScriptedTransport:
    """Answers each request with `answer(body, number of the request)`, as server-sent events or as one JSON body.

    An answer has text (or texts), reasoning, refusal, calls [(id, name, arguments text)], usage, finish; or status and
    body; or break_after, a number of chunks after which the connection breaks; or wait, an awaitable before it begins.
    """

    def __init__(self, answer: Callable[[dict[str, Any], int], Answer]) -> None:
        self.answer = answer
        self.requests: list[dict[str, Any]] = []
        self.closed = 0

    async def send(self, request: Any) -> Any:
        from toolnexus_nb.rounds.transport import BytesResponse

        body = request.json()
        self.requests.append(body)
        answer = self.answer(body, len(self.requests))
        if "status" in answer:
            headers = {"content-type": "application/json", **answer.get("headers", {})}
            return BytesResponse(answer["status"], headers, [json.dumps(answer["body"]).encode()])
        if not body.get("stream"):
            return BytesResponse(200, {"content-type": "application/json"}, [json.dumps(whole(answer)).encode()])
        return BytesResponse(200, {"content-type": "text/event-stream"}, self._stream(answer))

    async def _stream(self, answer: Answer) -> AsyncIterator[bytes]:
        from toolnexus_nb.openai.errors import APIConnectionError

        try:
            if "wait" in answer:
                await answer["wait"]()
            for i, chunk in enumerate(chunks(answer)):
                if i == answer.get("break_after"):
                    raise APIConnectionError("the connection broke")
                yield b"data: " + json.dumps(chunk).encode() + b"\n\n"
            if "then_wait" in answer:
                await answer["then_wait"]()
            yield b"data: [DONE]\n\n"
        finally:
            self.closed += 1

    async def aclose(self) -> None:
        """Nothing is held."""


USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def _calls(answer: Answer) -> list[dict[str, Any]]:
    return [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for call_id, name, arguments in answer.get("calls", ())
    ]


def chunks(answer: Answer) -> Iterator[dict[str, Any]]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": piece} for piece in answer.get("reasoning", ())]
    deltas += [{"content": piece} for piece in answer.get("texts", [answer["text"]] if answer.get("text") else [])]
    deltas += [{"refusal": piece} for piece in answer.get("refusal", ())]
    deltas += [{"tool_calls": [{"index": i, **call}]} for i, call in enumerate(_calls(answer))]
    for delta in deltas:
        yield {"id": "up", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    finish = answer.get("finish", "tool_calls" if answer.get("calls") else "stop")
    yield {"id": "up", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}
    usage = answer.get("usage", USAGE)
    if usage:
        yield {"id": "up", "choices": [], "usage": usage}


def whole(answer: Answer) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.get("text")}
    if answer.get("calls"):
        message["tool_calls"] = _calls(answer)
    finish = answer.get("finish", "tool_calls" if answer.get("calls") else "stop")
    body: dict[str, Any] = {"id": "up", "choices": [{"index": 0, "message": message, "finish_reason": finish}]}
    usage = answer.get("usage", USAGE)
    return {**body, "usage": usage} if usage else body


@pytest.fixture
def scripted() -> Callable[..., Any]:
    """`scripted(answer)`: a client whose model is the function; `.script` holds the requests it saw."""

    def make(answer: Callable[[dict[str, Any], int], Answer], model: str = "scripted", **options: Any) -> Any:
        from toolnexus_nb import Client

        transport = ScriptedTransport(answer)
        client = Client(transport=transport, model=model, retries=0, **options)
        client.script = transport  # type: ignore[attr-defined]
        return client

    return make


class Heard:
    """A whole answer of the server: the response's own attributes, and what its stream says."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response

    def __getattr__(self, name: str) -> Any:
        return getattr(self._response, name)

    @property
    def chunks(self) -> list[dict[str, Any]]:
        """Every data event but the last mark; the last is the mark or an error."""
        lines = [line[6:] for line in self.text.splitlines() if line.startswith("data: ")]
        assert lines[-1] == "[DONE]" or "error" in json.loads(lines[-1])
        return [json.loads(line) for line in lines if line != "[DONE]"]

    @property
    def deltas(self) -> list[dict[str, Any]]:
        return [choice["delta"] for chunk in self.chunks for choice in chunk.get("choices", ())]

    @property
    def comments(self) -> list[tuple[str, dict[str, Any]]]:
        """Tool events as (kind, content)."""
        lines = [line for line in self.text.splitlines() if line.startswith(":tool_")]
        return [(line.split(":")[1], json.loads(line.split(":", 2)[2])) for line in lines]


@pytest.fixture
def ask() -> Callable[..., Heard]:
    """`ask(app, body)`: one request in this process. `raw=` sends bytes, neither is a GET; the rest are headers."""

    def make(
        app: Any, body: Any = None, *, raw: bytes | None = None, path: str = "/v1/chat/completions", **headers: str
    ) -> Heard:
        async def go() -> Heard:
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=20) as client:
                if body is None and raw is None:
                    return Heard(await client.get(path, headers=headers))
                sent = raw if raw is not None else json.dumps(body).encode()
                return Heard(await client.post(path, content=sent, headers=headers))

        return asyncio.run(go())

    return make


class Waiting:
    """A toolkit of two tools that wait: `sleeps` (async) and `blocks` (in a thread), and whether they were stopped."""

    def __init__(self) -> None:
        import toolnexus_nb as tn

        self.started, self.cancelled, self.told = threading.Event(), threading.Event(), threading.Event()

        @tn.tool
        async def sleeps() -> str:
            """Waits."""
            self.started.set()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
            return ""

        @tn.tool
        def blocks(context: tn.ToolContext) -> str:
            """Waits in a thread."""
            end = time.monotonic() + 10
            while not context.cancelled and time.monotonic() < end:
                time.sleep(0.01)
            self.told.set()
            return ""

        self.toolkit = tn.Toolkit([sleeps, blocks])

    def both_stopped(self) -> bool:
        """Wait until both were stopped, then forget it."""
        stopped = self.cancelled.wait(2) and self.told.wait(2)
        for event in (self.started, self.cancelled, self.told):
            event.clear()
        return stopped


@pytest.fixture
def waiting() -> Waiting:
    return Waiting()


@pytest.fixture
def serving() -> Iterator[Callable[..., str]]:
    """`serving(app)` runs the app in a thread and gives its address; it stops with the test."""
    from toolnexus_nb.serve import Server

    servers: list[Server] = []

    def start(app: Any) -> str:
        servers.append(Server(app))
        return servers[-1].start()

    yield start
    for server in servers:
        server.stop()
