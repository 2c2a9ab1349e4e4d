"""How a keyless model speaks: a message as server-sent events, in small pieces and at a human pace."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import string
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

SSE_HEADERS = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
JSON_HEADERS = {"content-type": "application/json"}
DONE = b"data: [DONE]\n\n"

_ID_LETTERS = string.ascii_letters + string.digits


@dataclass(frozen=True)
class SpokenCall:
    """A tool call to be streamed: `arguments` is JSON text."""

    name: str
    arguments: str
    id: str


@dataclass(frozen=True)
class Spoken:
    """A whole message before it is cut into chunks. `usage` is the object for the last chunk, None to leave it out."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[SpokenCall, ...] = ()
    usage: Mapping[str, Any] | None = None
    finish_reason: str | None = None

    @property
    def finish(self) -> str:
        return self.finish_reason or ("tool_calls" if self.calls else "stop")


@dataclass
class Voice:
    """Names a reply and paces it. `pace` 1.0 is about two seconds for a short run, 0 is at once."""

    model: str
    pace: float = 0.0
    id: str = "chatcmpl-rehearsal"
    created: int = 0
    spent: float = field(default=0.0)

    longest: float = 1.4
    """Seconds of waiting in one reply at pace 1, however long it is."""

    def chunk(self, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        """One chunk of the reply."""
        return {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        }

    async def wait(self, seconds: float) -> None:
        """Let time pass as a model would, but never more than `longest` in all."""
        seconds = min(seconds, self.longest - self.spent)
        if self.pace > 0 and seconds > 0:
            self.spent += seconds
            await asyncio.sleep(seconds * self.pace)


def default_pace() -> float:
    """TOOLNEXUS_PACE if set (0 is at once), else 1.0 in a kernel with a front end and 0 elsewhere."""
    said = os.environ.get("TOOLNEXUS_PACE")
    if said:
        try:
            return max(0.0, float(said))
        except ValueError:
            return 0.0
    return 1.0 if "ipykernel" in sys.modules and _in_kernel() else 0.0


def _in_kernel() -> bool:
    from IPython.core.getipython import get_ipython

    return getattr(get_ipython(), "kernel", None) is not None


def call_id(position: int, *parts: Any) -> str:
    """An id for a call: nine letters and digits, the same for the same call of the same conversation (row I08)."""
    digest = hashlib.sha256(json.dumps([position, *parts], sort_keys=True, default=str).encode()).digest()
    return "".join(_ID_LETTERS[byte % len(_ID_LETTERS)] for byte in digest[:9])


def pieces(text: str) -> list[str]:
    """A text cut at word ends: joined again, it is the text."""
    return re.findall(r"\s*\S+|\s+", text)


def argument_pieces(text: str) -> list[str]:
    """JSON text cut where a model's tokens would end."""
    return re.findall(r"[{}\[\]:,\"]|[^{}\[\]:,\"]{1,12}", text)


def chunks(spoken: Spoken, voice: Voice) -> Iterator[tuple[float, dict[str, Any]]]:
    """(seconds to wait before it, chunk) for every chunk of a message."""

    chunk = voice.chunk
    yield 0.12, chunk({"role": "assistant", "content": None if spoken.calls and not spoken.text else ""})
    for piece in pieces(spoken.reasoning):
        yield 0.018, chunk({"reasoning_content": piece})
    for piece in pieces(spoken.text):
        yield 0.03, chunk({"content": piece})
    for index, call in enumerate(spoken.calls):
        opening = {"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
        yield 0.08, chunk({"tool_calls": [opening]})
        for piece in argument_pieces(call.arguments):
            yield 0.02, chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield 0.02, chunk({}, spoken.finish)
    if spoken.usage is not None:
        last = chunk({})
        last["choices"] = []
        last["usage"] = dict(spoken.usage)
        yield 0.0, last


def event(data: Mapping[str, Any]) -> bytes:
    """One server-sent event."""
    return b"data: " + json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n\n"


async def spoken_bytes(spoken: Spoken, voice: Voice) -> AsyncIterator[bytes]:
    """The message as server-sent events, with the pauses between them."""
    for seconds, chunk in chunks(spoken, voice):
        await voice.wait(seconds)
        yield event(chunk)
    yield DONE


def completion(spoken: Spoken, voice: Voice) -> dict[str, Any]:
    """The message as the body of a reply that is not streamed."""
    message: dict[str, Any] = {"role": "assistant", "content": spoken.text or (None if spoken.calls else "")}
    if spoken.reasoning:
        message["reasoning_content"] = spoken.reasoning
    if spoken.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in spoken.calls
        ]
    body: dict[str, Any] = {
        "id": voice.id,
        "object": "chat.completion",
        "created": voice.created,
        "model": voice.model,
        "choices": [{"index": 0, "message": message, "finish_reason": spoken.finish}],
    }
    if spoken.usage is not None:
        body["usage"] = dict(spoken.usage)
    return body


def model_list(names: Sequence[str]) -> bytes:
    """The body of GET /models."""
    return json.dumps(
        {
            "object": "list",
            "data": [{"id": name, "object": "model", "created": 0, "owned_by": "toolnexus_nb"} for name in names],
        }
    ).encode()


def error_body(message: str, *, kind: str = "invalid_request_error", code: str | None = None) -> bytes:
    """An error as OpenAI writes it."""
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": code}}).encode()
