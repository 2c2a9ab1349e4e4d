"""How each fault misbehaves. An act takes what a good endpoint would send and gives what a bad one sends.

Chunk acts change the chunks of a stream, byte acts its bytes, reply acts answer in the endpoint's place. Rows are
those of the quirks the client is built against; every one was seen in the wild.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from ..openai.errors import APIConnectionError
from ..rounds.transport import BytesResponse, TransportRequest
from .speaking import DONE, JSON_HEADERS, SSE_HEADERS, error_body

Chunk = dict[str, Any]
ChunkAct = Callable[[AsyncIterator[Chunk]], AsyncIterator[Chunk]]
ByteAct = Callable[[AsyncIterator[bytes]], AsyncIterator[bytes]]
ReplyAct = Callable[[TransportRequest], BytesResponse]

CUT = "cut here"
"""A chunk with this key tells the transport to end the bytes, without [DONE]."""


def calls_in(chunk: Chunk) -> list[dict[str, Any]]:
    """The tool-call pieces of a chunk."""
    return [
        call for choice in chunk.get("choices") or () for call in (choice.get("delta") or {}).get("tool_calls") or ()
    ]


def finish_of(chunk: Chunk) -> str | None:
    """The finish reason in a chunk, if it brings one."""
    return next((choice["finish_reason"] for choice in chunk.get("choices") or () if choice.get("finish_reason")), None)


def _with_delta(chunk: Chunk, delta: dict[str, Any], finish: str | None = None) -> Chunk:
    return {
        **{k: v for k, v in chunk.items() if k != "usage"},
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


# --- tool calls, piece by piece


def each_call(edit: Callable[[dict[str, Any], bool], None]) -> ChunkAct:
    """An act that edits every tool-call piece in place; `edit(piece, opens)` hears whether it opens its call."""

    async def act(chunks: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
        async for chunk in chunks:
            for call in calls_in(chunk):
                edit(call, bool((call.get("function") or {}).get("name")))
            yield chunk

    return act


def _no_index(call: dict[str, Any], opens: bool) -> None:
    call.pop("index", None)


def _null_index(call: dict[str, Any], opens: bool) -> None:
    call["index"] = None


def _same_index(call: dict[str, Any], opens: bool) -> None:
    call["index"] = 0


def _empty_ids(call: dict[str, Any], opens: bool) -> None:
    if not opens:
        call["id"], call["type"] = "", ""
        call["function"]["name"] = ""


def _no_ids(call: dict[str, Any], opens: bool) -> None:
    call.pop("id", None)


def _prefixed(call: dict[str, Any], opens: bool) -> None:
    if opens:
        call["function"]["name"] = f"functions.{call['function']['name']}"


def _unknown(call: dict[str, Any], opens: bool) -> None:
    if opens:
        call["function"]["name"] = f"{call['function']['name']}_v2"


index_missing, index_null, index_reused = each_call(_no_index), each_call(_null_index), each_call(_same_index)
ids_empty, ids_missing = each_call(_empty_ids), each_call(_no_ids)
name_prefixed, name_unknown = each_call(_prefixed), each_call(_unknown)


async def name_repeated(chunks: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
    """Every piece says id and name again."""
    known: dict[int, tuple[str, str]] = {}
    async for chunk in chunks:
        for call in calls_in(chunk):
            index = call.get("index", 0)
            if call["function"].get("name"):
                known[index] = (call.get("id", ""), call["function"]["name"])
            call["id"], call["function"]["name"] = known.get(index, ("", ""))
        yield chunk


async def name_split(chunks: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
    """The name comes in two pieces."""
    async for chunk in chunks:
        calls = calls_in(chunk)
        name = calls[0]["function"].get("name") if calls else None
        if not name or len(name) < 2:
            yield chunk
            continue
        half = len(name) // 2
        opening = {**calls[0], "function": {**calls[0]["function"], "name": name[:half]}}
        yield _with_delta(chunk, {"tool_calls": [opening]})
        yield _with_delta(
            chunk,
            {"tool_calls": [{"index": calls[0].get("index", 0), "function": {"name": name[half:], "arguments": ""}}]},
        )


async def whole_calls(chunks: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
    """Calls are held back and come whole, one chunk each (what the acts below start from)."""
    open_: dict[int, dict[str, Any]] = {}
    async for chunk in chunks:
        calls = calls_in(chunk)
        for call in calls:
            slot = open_.setdefault(call.get("index", 0), {**call, "function": {"name": "", "arguments": ""}})
            slot["function"]["name"] += call["function"].get("name") or ""
            slot["function"]["arguments"] += call["function"].get("arguments") or ""
        if calls:
            continue
        if finish_of(chunk):
            for call in open_.values():
                yield _with_delta(chunk, {"tool_calls": [call]})
            open_ = {}
        yield chunk


def _whole(edit: Callable[[list[dict[str, Any]]], list[dict[str, Any]]], finish: str | None = None) -> ChunkAct:
    """An act on the list of whole calls of the answer; `finish` replaces the finish reason of an answer with calls."""

    async def act(chunks: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
        held: list[dict[str, Any]] = []
        async for chunk in whole_calls(chunks):
            calls = calls_in(chunk)
            held.extend(calls)
            if calls:
                continue
            if finish_of(chunk) and held:
                for call in edit(held):
                    yield _with_delta(chunk, {"tool_calls": [call]})
                if finish is not None:
                    chunk["choices"][0]["finish_reason"] = finish
            yield chunk

    return act


def _text(call: dict[str, Any], text: Any) -> dict[str, Any]:
    return {**call, "function": {**call["function"], "arguments": text}}


def _cut(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    last = calls[-1]["function"]["arguments"]
    return [*calls[:-1], _text(calls[-1], last[: max(1, len(last) * 2 // 3)].rstrip("}"))]


def _parsed(call: dict[str, Any]) -> Any:
    return json.loads(call["function"]["arguments"] or "{}")


def _packed(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    uses = [{"recipient_name": f"functions.{call['function']['name']}", "parameters": _parsed(call)} for call in calls]
    return [{**calls[0], "function": {"name": "multi_tool_use.parallel", "arguments": json.dumps({"tool_uses": uses})}}]


calls_whole = _whole(lambda calls: calls)
args_object = _whole(lambda calls: [_text(call, _parsed(call)) for call in calls])
args_cut = _whole(_cut, "length")
args_cut_unsaid = _whole(_cut, "tool_calls")
args_broken = _whole(lambda calls: [_text(call, call["function"]["arguments"].replace(":", " ", 1)) for call in calls])
args_fenced = _whole(lambda calls: [_text(call, f"```json\n{call['function']['arguments']}\n```") for call in calls])
args_encoded_twice = _whole(lambda calls: [_text(call, json.dumps(call["function"]["arguments"])) for call in calls])
ids_repeated = _whole(lambda calls: [{**call, "id": calls[0].get("id"), "index": at} for at, call in enumerate(calls)])
calls_packed = _whole(_packed)


async def args_placeholder(chunks: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
    """Each call opens with the arguments "{}" before the real ones come."""
    async for chunk in chunks:
        for call in calls_in(chunk):
            if call["function"].get("name"):
                call["function"]["arguments"] = "{}"
        yield chunk


# --- finish, text, usage


async def finish_stop(chunks: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
    """Tool calls, but the finish reason says "stop"."""
    async for chunk in chunks:
        if finish_of(chunk) == "tool_calls":
            chunk["choices"][0]["finish_reason"] = "stop"
        yield chunk


async def finish_missing(chunks: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
    """No finish reason, ever."""
    async for chunk in chunks:
        for choice in chunk.get("choices") or ():
            choice["finish_reason"] = ""
        yield chunk


async def reasoning_in_text(chunks: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
    """Thinking comes inside the text, between <think> tags."""
    thinking = False
    async for chunk in chunks:
        for choice in chunk.get("choices") or ():
            delta = choice.get("delta") or {}
            thought = delta.pop("reasoning_content", None)
            if thought:
                delta["content"] = ("" if thinking else "<think>\n") + thought
                thinking = True
            elif thinking and (delta.get("content") or delta.get("tool_calls") or choice.get("finish_reason")):
                delta["content"] = "\n</think>\n\n" + (delta.get("content") or "")
                thinking = False
        yield chunk


async def content_parts(chunks: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
    """Text comes as lists of parts."""
    async for chunk in chunks:
        for choice in chunk.get("choices") or ():
            text = (choice.get("delta") or {}).get("content")
            if text:
                choice["delta"]["content"] = [{"type": "text", "text": text}]
        yield chunk


async def usage_everywhere(chunks: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
    """Usage in every chunk, growing."""
    count = 0
    async for chunk in chunks:
        if chunk.get("choices"):
            count += 1
            chunk["usage"] = {"prompt_tokens": 10, "completion_tokens": count, "total_tokens": 10 + count}
        yield chunk


async def usage_missing(chunks: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
    """No usage at all."""
    async for chunk in chunks:
        if chunk.get("choices"):
            yield {key: value for key, value in chunk.items() if key != "usage"}


async def first_chunk_empty(chunks: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
    """The first chunk has no choices and empty names (Azure)."""
    yield {"id": "", "object": "", "created": 0, "model": "", "choices": [], "prompt_filter_results": []}
    async for chunk in chunks:
        yield chunk


# --- streams that break


async def stream_cut(chunks: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
    """The bytes end in the middle, without a finish reason or [DONE]."""
    async for chunk in _until_half(chunks):
        yield chunk
    yield {CUT: True}


async def connection_lost(chunks: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
    """The connection breaks in the middle."""
    async for chunk in _until_half(chunks):
        yield chunk
    raise APIConnectionError("the connection was closed before the answer was complete")


async def error_in_stream(chunks: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
    """After some good chunks an error event, in a reply that began with 200."""
    async for chunk in _until_half(chunks):
        yield chunk
    yield {"error": {"message": "Provider disconnected", "code": 502, "type": "server_error"}}


async def _until_half(chunks: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
    """The chunks up to some in the middle of the text or of the arguments."""
    spoken = 0
    async for chunk in chunks:
        delta = (chunk.get("choices") or [{}])[0].get("delta") or {}
        spoken += bool(delta.get("content") or any((call["function"].get("arguments")) for call in calls_in(chunk)))
        if finish_of(chunk) or spoken > 3:
            return
        yield chunk


# --- bytes


async def comments(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Comment lines between the events (OpenRouter)."""
    yield b": OPENROUTER PROCESSING\n\n"
    async for part in parts:
        yield part
        yield b": OPENROUTER PROCESSING\n\n"


async def crlf(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Lines end with CR LF, and no blank after "data:"."""
    async for part in parts:
        yield part.replace(b"data: ", b"data:").replace(b"\n", b"\r\n")


async def odd_pieces(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Three bytes at a time, through the middle of letters."""
    async for part in parts:
        for at in range(0, len(part), 3):
            yield part[at : at + 3]


async def no_done(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The stream ends without [DONE]."""
    async for part in parts:
        if part != DONE:
            yield part


async def slow(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """A second of silence before the first byte."""
    await asyncio.sleep(1.0)
    async for part in parts:
        yield part


# --- replies in the endpoint's place


def rate_limit(request: TransportRequest) -> BytesResponse:
    """429 with a short Retry-After; the second attempt succeeds."""
    return _refusal(429, "Rate limit reached for requests", "rate_limit_exceeded", {"retry-after": "0.2"})


def quota(request: TransportRequest) -> BytesResponse:
    """429 for a used-up quota: not worth another attempt."""
    return _refusal(
        429, "You exceeded your current quota, please check your plan and billing details.", "insufficient_quota"
    )


def wrong_key(request: TransportRequest) -> BytesResponse:
    """401."""
    return _refusal(401, "Incorrect API key provided.", "invalid_api_key")


def bad_gateway(request: TransportRequest) -> BytesResponse:
    """502 with a page of HTML; the second attempt succeeds."""
    page = (
        b"<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center>"
        b"</body></html>"
    )
    return BytesResponse(502, {"content-type": "text/html", "retry-after": "0.1"}, [page])


def error_list(request: TransportRequest) -> BytesResponse:
    """400 whose body is a list (Gemini)."""
    body = [{"error": {"code": 400, "message": "Request contains an invalid argument.", "status": "INVALID_ARGUMENT"}}]
    return BytesResponse(400, JSON_HEADERS, [json.dumps(body).encode()])


def error_with_200(request: TransportRequest) -> BytesResponse:
    """HTTP 200 whose stream is only an error."""
    body = {"error": {"message": "Provider returned error", "code": 503, "metadata": {"raw": "overloaded"}}}
    return BytesResponse(200, SSE_HEADERS, [b"data: " + json.dumps(body).encode() + b"\n\n"])


def _refusal(status: int, message: str, code: str, headers: dict[str, str] | None = None) -> BytesResponse:
    return BytesResponse(status, {**JSON_HEADERS, **(headers or {})}, [error_body(message, kind=code, code=code)])
