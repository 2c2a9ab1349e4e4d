"""What passed on the wire as a story: one step for each request, with its times and what is new in it. No HTML."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..openai.errors import APIError
from ..openai.sse import SSEReader
from ..openai.stream import parse_response

if TYPE_CHECKING:
    from ..openai.types import Message, Usage
    from ..rounds.tap import Exchange

#: In the order they happen. What comes after an exchange is the tools, or the wait before a retry.
SEGMENTS = ("waiting", "first token", "streaming", "tools", "wait before retry")


@dataclass(frozen=True)
class Reply:
    """What an endpoint said, read: a message, why it ended, usage; or why it can't be read."""

    message: Message | None = None
    finish_reason: str | None = None
    usage: Usage | None = None
    problem: str = ""


@dataclass(frozen=True)
class Step:
    """One request of a run.

    number: 1-based among the steps. offset: seconds since the first request. segments: (name, seconds) in order.
    kept_messages: how many of its messages were in the request before it, unchanged, from the first on.
    changed: the other keys of the body that differ from the request before, `+ key`, `- key` or `key`.
    """

    number: int
    exchange: Exchange
    offset: float
    segments: Sequence[tuple[str, float]]
    kept_messages: int
    changed: Sequence[str]
    reply: Reply

    @property
    def messages(self) -> list[Any]:
        listed = self.exchange.request.body.get("messages")
        return list(listed) if isinstance(listed, list) else []

    @property
    def seconds(self) -> float:
        return sum(seconds for _, seconds in self.segments)


def steps(exchanges: Sequence[Exchange]) -> list[Step]:
    """The story of some exchanges in the order they were sent."""
    told: list[Step] = []
    for at, exchange in enumerate(exchanges):
        before = exchanges[at - 1] if at else None
        after = exchanges[at + 1] if at + 1 < len(exchanges) else None
        told.append(
            Step(
                number=at + 1,
                exchange=exchange,
                offset=max(0.0, exchange.sent_at - exchanges[0].sent_at),
                segments=segments(exchange, after),
                kept_messages=_kept(before, exchange),
                changed=_changed(before, exchange),
                reply=read_reply(exchange),
            )
        )
    return told


def segments(exchange: Exchange, after: Exchange | None = None) -> list[tuple[str, float]]:
    """How the time of one exchange went. Whatever has not happened is left out."""
    end = exchange.ended if exchange.ended is not None else max((at for at, _ in exchange.chunks), default=0.0)
    first = exchange.first_byte
    if first is None:
        parts = [("waiting", end)]
    else:
        token = first_token_at(exchange)
        parts = [("waiting", first)]
        parts += [("first token", token - first), ("streaming", end - token)] if token else [("streaming", end - first)]
    if after is not None:
        gap = after.sent_at - exchange.sent_at - end
        parts.append(("tools" if after.round != exchange.round else "wait before retry", gap))
    return [(name, seconds) for name, seconds in parts if seconds > 0.0005]


_TOKEN_KEYS = ("content", "reasoning_content", "reasoning", "refusal", "tool_calls", "function_call")


def first_token_at(exchange: Exchange) -> float | None:
    """Seconds until the first chunk with a piece of the answer (text, reasoning, a call); None if there is none."""
    reader = SSEReader()
    for at, data in exchange.chunks:
        if any(_holds_token(event.data) for event in reader.feed(data)):
            return at
    return None


def _holds_token(data: bytes) -> bool:
    if not any(f'"{key}"'.encode() in data for key in _TOKEN_KEYS):
        return False
    try:
        chunk = json.loads(data)
    except ValueError:
        return False
    choices = chunk.get("choices") if isinstance(chunk, dict) else None
    deltas = [choice.get("delta") for choice in choices or () if isinstance(choice, dict)]
    return any(delta.get(key) for delta in deltas if isinstance(delta, dict) for key in _TOKEN_KEYS)


def _kept(before: Exchange | None, exchange: Exchange) -> int:
    if before is None:
        return 0
    old, new = before.request.body.get("messages"), exchange.request.body.get("messages")
    if not isinstance(old, list) or not isinstance(new, list):
        return 0
    kept = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        kept += 1
    return kept


def _changed(before: Exchange | None, exchange: Exchange) -> list[str]:
    if before is None:
        return []
    old, new = dict(before.request.body), dict(exchange.request.body)
    told = [f"- {key}" for key in old if key not in new]
    told += [key if key in old else f"+ {key}" for key, value in new.items() if key not in old or old[key] != value]
    return [key for key in told if key != "messages"]


def read_reply(exchange: Exchange) -> Reply:
    """The reply of an exchange, put together by the same code that serves the chat."""
    if exchange.stopped:
        return Reply(message=_partial(exchange), problem=f"{exchange.stopped} before the answer was complete")
    if exchange.error is not None and not exchange.chunks:
        return Reply(problem=exchange.error)
    if exchange.status is None:
        return Reply(problem=exchange.error or "no reply yet")
    try:
        response = parse_response(exchange.body, exchange.status, dict(exchange.headers))
    except APIError as error:
        return Reply(message=error.partial, problem=str(error))
    choice = response.choices[0] if response.choices else None
    return Reply(
        message=choice.message if choice else None,
        finish_reason=choice.finish_reason if choice else None,
        usage=response.usage,
        problem=exchange.error or "",
    )


def _partial(exchange: Exchange) -> Message | None:
    """What had come of an answer that was stopped."""
    if exchange.status is None or not exchange.chunks:
        return None
    try:
        parse_response(exchange.body, exchange.status, dict(exchange.headers))
    except APIError as error:
        return error.partial
    return None


def sent_to(exchange: Exchange) -> str:
    """`POST https://…/chat/completions`."""
    return f"{exchange.request.method} {exchange.request.url}"


def body_without_messages(body: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a request: everything but its messages, with the tools as their names."""
    kept = {key: value for key, value in body.items() if key != "messages"}
    if isinstance(kept.get("tools"), list):
        kept["tools"] = [_tool_name(tool) for tool in kept["tools"]]
    return kept


def _tool_name(tool: Any) -> str:
    function = tool.get("function", tool) if isinstance(tool, Mapping) else {}
    return str(function.get("name", "?")) if isinstance(function, Mapping) else "?"
