"""A local endpoint that does what a test tells it, also badly, and a strict reader of what we send."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from toolnexus_nb.rounds.client import Client
from toolnexus_nb.rounds.transport import BytesResponse, TransportRequest


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **extra: Any) -> bytes:
    """One event of a streamed answer."""
    choices = [] if delta is None and finish is None else [{"index": 0, "delta": delta or {}, "finish_reason": finish}]
    body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **extra}
    return b"data: " + json.dumps(body).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"


def sse(text: str = "", calls: Any = (), usage: Any = (10, 5), finish: str | None = None, **delta: Any) -> list[bytes]:
    """A streamed answer, event by event: text in pieces, calls as (id, name, arguments), usage (prompt, completion)."""
    events = [chunk({"role": "assistant", "content": ""})]
    if delta:
        events.append(chunk(delta))
    events += [chunk({"content": text[i : i + 5]}) for i in range(0, len(text), 5)]
    for index, (call_id, name, arguments) in enumerate(calls):
        function = {"name": name, "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments)}
        events.append(
            chunk({"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]})
        )
    events.append(chunk({}, finish or ("tool_calls" if calls else "stop")))
    if usage is not None:
        prompt, completion = usage
        events.append(
            chunk(usage={"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion})
        )
    return [*events, DONE]


def whole(text: str | None = None, calls: Any = (), finish: str | None = None) -> bytes:
    """The same as one JSON body."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {
                "id": i,
                "type": "function",
                "function": {"name": n, "arguments": a if isinstance(a, str) else json.dumps(a)},
            }
            for i, n, a in calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": finish or ("tool_calls" if calls else "stop")}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return json.dumps(
        {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    ).encode()


@dataclass
class Act:
    """What one request is answered: a status, headers, and pieces: bytes, seconds to wait, "reset", "hang" or
    "close"."""

    pieces: list[Any] = field(default_factory=list)
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})
    silent: bool = False


def error_act(status: int, message: str, headers: dict[str, str] | None = None, **fields: Any) -> Act:
    body = json.dumps({"error": {"message": message, **fields}}).encode()
    return Act([body], status, {"content-type": "application/json", **(headers or {})})


@dataclass
class Seen:
    """One request as it arrived, and when its connection was closed by the client in mid answer."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at: float
    connection: int
    closed_at: float | None = None


class Endpoint:
    """Answers request after request with `acts` (an Act, a list of pieces, or a function of the request giving one);
    the last one is repeated."""

    def __init__(self) -> None:
        self.acts: list[Any] = []
        self.seen: list[Seen] = []
        self.connections = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        self._ready.wait(5)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [seen.body for seen in self.seen]

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._server = self._loop.run_until_complete(asyncio.start_server(self._connection, "127.0.0.1", 0))
        self.port = self._server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        self._server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        try:
            while await self._request(reader, writer, number):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        seen = Seen(method, path, headers, json.loads(raw) if raw else {}, time.monotonic(), number)
        self.seen.append(seen)
        act = self.acts[min(len(self.seen), len(self.acts)) - 1]
        act = act(seen) if callable(act) else act
        act = act if isinstance(act, Act) else Act(list(act))
        if act.silent:
            await self._until_closed(reader, seen)
            return False
        lines = [
            f"HTTP/1.1 {act.status} X",
            "transfer-encoding: chunked",
            *(f"{k}: {v}" for k, v in act.headers.items()),
        ]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n")
        gone = asyncio.ensure_future(self._until_closed(reader, seen))
        try:
            for piece in act.pieces:
                if piece == "reset":
                    writer.transport.abort()
                    return False
                if piece == "close":
                    return False
                if piece == "hang":
                    await gone
                    return False
                if isinstance(piece, int | float):
                    await asyncio.wait([gone], timeout=piece)
                    if gone.done():
                        return False
                    continue
                writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                await writer.drain()
            writer.write(b"0\r\n\r\n")
            await writer.drain()
            return True
        except ConnectionError:  # closed by the client while a piece was being written
            seen.closed_at = seen.closed_at or time.monotonic()
            raise
        finally:
            gone.cancel()

    async def _until_closed(self, reader: asyncio.StreamReader, seen: Seen) -> None:
        try:
            while not reader.at_eof() and not reader._buffer:  # type: ignore[attr-defined]
                await asyncio.sleep(0.005)
            if reader.at_eof():
                seen.closed_at = time.monotonic()
        except ConnectionError:
            seen.closed_at = time.monotonic()


class Scripted:
    """A transport in memory: answers request after request like `Endpoint`, without a network. Pieces: bytes, seconds,
    "hang", or an exception to raise."""

    def __init__(self, *acts: Any) -> None:
        self.acts = list(acts)
        self.bodies: list[dict[str, Any]] = []
        self.closed = 0

    async def send(self, request: TransportRequest) -> BytesResponse:
        self.bodies.append(request.json())
        act = self.acts[min(len(self.bodies), len(self.acts)) - 1]
        act = act(self.bodies[-1]) if callable(act) else act
        if isinstance(act, Exception):
            raise act
        act = act if isinstance(act, Act) else Act(list(act))
        return BytesResponse(act.status, act.headers, self._pieces(act.pieces))

    async def _pieces(self, pieces: list[Any]) -> Any:
        try:
            for piece in pieces:
                if isinstance(piece, Exception):
                    raise piece
                if piece == "hang":
                    await asyncio.sleep(60)
                elif isinstance(piece, int | float):
                    await asyncio.sleep(piece)
                else:
                    yield piece
        finally:
            self.closed += 1

    async def aclose(self) -> None: ...


@pytest.fixture
def scripted() -> Callable[..., tuple[Client, Scripted]]:
    """`client, model = scripted(act, act, ...)`."""

    def make(*acts: Any, **options: Any) -> tuple[Client, Scripted]:
        transport = Scripted(*acts)
        return Client(model="m", transport=transport, **options), transport

    return make


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    server = Endpoint()
    yield server
    server.close()


@pytest.fixture
def wire() -> Any:
    """The helpers of this file, for tests (which cannot import a conftest)."""

    class Wire:
        chunk = staticmethod(chunk)
        sse = staticmethod(sse)
        whole = staticmethod(whole)
        error = staticmethod(error_act)
        valid = staticmethod(check_messages)
        Act = Act
        DONE = DONE

    return Wire


@pytest.fixture(autouse=True)
def no_endpoint_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the environment decides what a test asks."""
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL", "TOOLNEXUS_PACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TOOLNEXUS_PACE", "0")


def check_messages(messages: list[dict[str, Any]]) -> None:
    """What a strict endpoint demands of a conversation (I rows); raises AssertionError, saying which rule is broken."""
    open_calls: list[str] = []
    for i, message in enumerate(messages):
        role = message["role"]
        assert role in ("system", "user", "assistant", "tool"), f"{i}: unknown role {role}"
        assert role != "system" or i == 0, f"{i}: a system message in the middle"
        assert set(message) <= {"role", "content", "name", "tool_calls", "tool_call_id", "reasoning_content"}, (
            f"{i}: {set(message)}"
        )
        if role == "tool":
            assert open_calls, f"{i}: a tool message without a call"
            assert message["tool_call_id"] == open_calls.pop(0), f"{i}: answers out of order"
            assert isinstance(message["content"], str) and message["content"], f"{i}: a result that is no text"
            continue
        assert not open_calls, f"{i}: calls without an answer: {open_calls}"
        if role == "assistant":
            assert "content" in message, f"{i}: content left out"
            calls = message.get("tool_calls")
            assert calls is None or calls, f"{i}: an empty list of calls"
            if not calls:
                assert isinstance(message["content"], str), f"{i}: null content without calls"
            for call in calls or ():
                assert set(call) == {"id", "type", "function"}, f"{i}: {set(call)}"
                assert call["id"], f"{i}: a call without id"
                assert isinstance(json.loads(call["function"]["arguments"]), dict), f"{i}: arguments that are no object"
            open_calls = [call["id"] for call in calls or ()]
            assert len(set(open_calls)) == len(open_calls), f"{i}: equal ids"
        else:
            assert message["content"], f"{i}: an empty {role} message"
    assert not open_calls, f"calls without an answer: {open_calls}"
    assert messages[-1]["role"] in ("user", "tool"), "ends with an assistant message"


@pytest.fixture
def call_soon() -> Iterator[Callable[[float, Callable[[], Any]], None]]:
    """Run a function in another thread after some seconds."""
    timers: list[threading.Timer] = []

    def later(seconds: float, function: Callable[[], Any]) -> None:
        timer = threading.Timer(seconds, function)
        timer.daemon = True
        timers.append(timer)
        timer.start()

    yield later
    for timer in timers:
        timer.cancel()
