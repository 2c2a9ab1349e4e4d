"""The fault switchboard: any model made to misbehave as real endpoints do, by name and on the round you choose.

    tn.connect("rehearsal", faults=["index-missing"])      on every round
    tn.connect("rehearsal", faults=["args-cut@2"])         on the second round of a question
    tn.connect("rehearsal", faults={1: "rate-limit"})      the same, as a table
    list_faults()                                          every name, its row of the quirks, one line

What only looks odd happens on every round unless a round is named; what breaks an answer happens on the first round, so
that the next one can go well; what refuses a request refuses it once.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..openai.sse import SSEReader
from ..rounds.client import Client
from ..rounds.setup_error import SetupError
from ..rounds.transport import BytesResponse, Transport, TransportRequest, TransportResponse
from . import fault_acts as acts
from .speaking import DONE, event


@dataclass(frozen=True)
class Fault:
    """One way to misbehave: its name, its row in the quirks, one line about it, and the act."""

    name: str
    row: str
    summary: str
    chunks: acts.ChunkAct | None = None
    bytes: acts.ByteAct | None = None
    reply: acts.ReplyAct | None = None
    every_round: bool = True
    lasting: bool = False
    """Whether a refusal is repeated for the same request; the others refuse it once."""


FAULTS: dict[str, Fault] = {
    fault.name: fault
    for fault in (
        Fault("index-missing", "A01", "tool-call pieces come without their index", acts.index_missing),
        Fault("index-null", "A02", "the index of tool-call pieces is null", acts.index_null),
        Fault("index-reused", "A03", "every call of an answer has index 0", acts.index_reused),
        Fault("ids-missing", "A04", "calls come without an id", acts.ids_missing),
        Fault("ids-empty", "A06", 'later pieces have "" as id, type and name', acts.ids_empty),
        Fault("name-repeated", "A07", "every piece says id and name again", acts.name_repeated),
        Fault("name-split", "A08", "the name of a tool comes in two pieces", acts.name_split),
        Fault("args-placeholder", "A10", 'arguments start with a "{}" that is none', acts.args_placeholder),
        Fault("calls-whole", "A12", "each call comes whole, in one chunk", acts.calls_whole),
        Fault("ids-repeated", "A16", "two calls of one answer share their id", acts.ids_repeated),
        Fault("args-object", "A19", "arguments are an object, not text", acts.args_object),
        Fault(
            "calls-packed",
            "A27",
            "calls are packed into one multi_tool_use.parallel",
            acts.calls_packed,
            every_round=False,
        ),
        Fault("first-chunk-empty", "B01", "the first chunk has no choices and an empty model", acts.first_chunk_empty),
        Fault("finish-stop", "B04", 'the finish reason of tool calls is "stop"', acts.finish_stop),
        Fault("finish-missing", "B07", "no finish reason is ever given", acts.finish_missing),
        Fault("args-cut", "B09", "the token limit cuts the arguments of a call", acts.args_cut, every_round=False),
        Fault(
            "args-cut-unsaid",
            "B10",
            "cut arguments, but the finish reason hides it",
            acts.args_cut_unsaid,
            every_round=False,
        ),
        Fault("content-parts", "B15", "text comes as lists of parts", acts.content_parts),
        Fault("reasoning-in-text", "C06", "thinking comes inside the text, in <think> tags", acts.reasoning_in_text),
        Fault("comments", "D01", "comment lines stand between the events", bytes=acts.comments),
        Fault("crlf", "D04", "lines end with CR LF", bytes=acts.crlf),
        Fault("odd-pieces", "D05", "the bytes come three at a time", bytes=acts.odd_pieces),
        Fault("no-done", "D10", "the stream ends without [DONE]", bytes=acts.no_done),
        Fault("stream-cut", "D11", "the stream ends in the middle of the answer", acts.stream_cut, every_round=False),
        Fault(
            "connection-lost",
            "D13",
            "the connection breaks in the middle of the answer",
            acts.connection_lost,
            every_round=False,
        ),
        Fault("not-streamed", "D15", "a stream is asked for and one JSON body comes"),
        Fault("error-in-stream", "E01", "an error comes after good chunks", acts.error_in_stream, every_round=False),
        Fault(
            "error-with-200", "E03", "HTTP says 200, the body says error", reply=acts.error_with_200, every_round=False
        ),
        Fault(
            "error-list", "E06", "a 400 whose body is a list", reply=acts.error_list, every_round=False, lasting=True
        ),
        Fault("bad-gateway", "E11", "a 502 with a page of HTML, once", reply=acts.bad_gateway, every_round=False),
        Fault(
            "wrong-key", "E07", "a 401: the key is not accepted", reply=acts.wrong_key, every_round=False, lasting=True
        ),
        Fault("usage-everywhere", "F02", "every chunk brings a usage that grows", acts.usage_everywhere),
        Fault("usage-missing", "F05", "no usage is reported", acts.usage_missing),
        Fault("args-broken", "G01", "arguments are no valid JSON", acts.args_broken, every_round=False),
        Fault("args-fenced", "G02", "arguments stand in a code fence", acts.args_fenced, every_round=False),
        Fault("args-encoded-twice", "G05", "arguments are JSON text inside JSON text", acts.args_encoded_twice),
        Fault(
            "name-unknown", "G08", "the model calls a tool that does not exist", acts.name_unknown, every_round=False
        ),
        Fault("name-prefixed", "G09", 'the name of a tool comes as "functions.NAME"', acts.name_prefixed),
        Fault("rate-limit", "K01", "a 429 with Retry-After, once", reply=acts.rate_limit, every_round=False),
        Fault("quota", "K04", "a 429 for a used-up quota", reply=acts.quota, every_round=False, lasting=True),
        Fault("slow", "K06", "a second of silence before the first byte", bytes=acts.slow),
    )
}


def list_faults() -> list[Fault]:
    """Every fault there is, in the order of the quirks."""
    return list(FAULTS.values())


@dataclass(frozen=True)
class Planned:
    """A fault and the round it happens on; None is every round."""

    fault: Fault
    round: int | None

    def __str__(self) -> str:
        return self.fault.name if self.round is None else f"{self.fault.name}@{self.round}"


def read_faults(faults: Any) -> list[Planned]:
    """Faults as a user writes them: "a", "a@2", "a@all", a list of those, "a, b", or {round: name or names}.

    Raises SetupError for a name that does not exist, with the nearest ones.
    """
    if isinstance(faults, Mapping):
        return [_planned(name, int(round_)) for round_, names in faults.items() for name in _names(names)]
    return [_planned(name, None) for name in _names(faults)]


def _names(names: Any) -> list[str]:
    texts: Iterable[Any] = names.replace(",", " ").split() if isinstance(names, str) else names
    return [str(text).strip() for text in texts]


def _planned(text: str, round_: int | None) -> Planned:
    name, _, where = text.lower().replace("_", "-").partition("@")
    if name not in FAULTS:
        near = difflib.get_close_matches(name, FAULTS, n=2)
        guess = f"; did you mean {' or '.join(near)}?" if near else ";"
        raise SetupError(
            f'no fault is called "{name}"{guess} list_faults() and %toolnexus faults list all {len(FAULTS)}'
        )
    if where and where != "all" and not where.isdigit():
        raise SetupError(f'"{text}" names no round: write {name}@2, or {name}@all')
    if where:
        return Planned(FAULTS[name], None if where == "all" else int(where))
    return Planned(FAULTS[name], round_ if round_ is not None or FAULTS[name].every_round else 1)


class FaultyTransport:
    """A transport that misbehaves as planned; everything else passes through to the one inside."""

    def __init__(self, inner: Transport, planned: list[Planned]) -> None:
        self.inner = inner
        self.planned = planned
        self._refused: set[tuple[str, bytes]] = set()

    async def send(self, request: TransportRequest) -> TransportResponse:
        """The inner transport's answer, or the fault's. Requests that are no chat completions pass."""
        if request.method != "POST":
            return await self.inner.send(request)
        now = round_of(request.json())
        named = {one.fault.name for one in self.planned if one.round in (None, now)}
        due = [fault for fault in FAULTS.values() if fault.name in named]  # in a fixed order: bytes are cut up last
        for fault in due:
            if fault.reply is not None and (fault.lasting or (fault.name, request.body) not in self._refused):
                self._refused.add((fault.name, request.body))
                return fault.reply(request)
        if any(fault.name == "not-streamed" for fault in due) and request.stream:
            return await self._whole(request)
        response = await self.inner.send(request)
        if response.status >= 300 or not request.stream or not any(fault.chunks or fault.bytes for fault in due):
            return response
        return _Faulty(response, due)

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self.inner.aclose()

    async def _whole(self, request: TransportRequest) -> TransportResponse:
        body = {key: value for key, value in request.json().items() if key not in ("stream", "stream_options")}
        plain = TransportRequest(
            "POST", request.url, request.headers, json.dumps(body).encode(), False, request.timeout
        )
        return await self.inner.send(plain)


def round_of(body: Mapping[str, Any]) -> int:
    """Which round of a question a request is: one more than the model's messages since the last user message."""
    round_ = 1
    for message in body.get("messages") or ():
        role = message.get("role")
        round_ = 1 if role == "user" else round_ + (role == "assistant")
    return round_


class _Faulty(BytesResponse):
    """A response whose chunks and bytes pass through the acts of its faults."""

    def __init__(self, inner: TransportResponse, faults: list[Fault]) -> None:
        super().__init__(inner.status, inner.headers, _acted(inner, faults), inner.notes)
        self._inner = inner

    async def aclose(self) -> None:
        await super().aclose()
        await self._inner.aclose()


async def _acted(inner: TransportResponse, faults: list[Fault]) -> AsyncIterator[bytes]:
    chunks = _chunks(inner)
    for fault in faults:
        if fault.chunks is not None:
            chunks = fault.chunks(chunks)
    parts = _parts(chunks)
    for fault in faults:
        if fault.bytes is not None:
            parts = fault.bytes(parts)
    async for part in parts:
        yield part


async def _chunks(inner: TransportResponse) -> AsyncIterator[dict[str, Any]]:
    """The chunks of a stream; what is no JSON object is passed over."""
    reader = SSEReader()
    async for piece in inner:
        for data in reader.feed(piece):
            if (chunk := _object(data.data)) is not None:
                yield chunk
    for data in reader.finish():
        if (chunk := _object(data.data)) is not None:
            yield chunk


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(data)
    except ValueError:  # [DONE], comments
        return None
    return value if isinstance(value, dict) else None


async def _parts(chunks: AsyncIterator[dict[str, Any]]) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        if acts.CUT in chunk:
            return
        yield event(chunk)
    yield DONE


def with_faults(client: Client | None = None, faults: Any = None, **options: Any) -> Client:
    """The client, misbehaving as told; `faults` None or empty takes earlier faults away.

    Raises SetupError for an unknown fault, and without a client: faults are no model of their own.
    """
    if client is None:
        raise SetupError(
            'faults are no model of their own: tn.connect("rehearsal", faults=["args-cut"]), or %toolnexus '
            "faults args-cut"
        )
    inner = without_faults(client)
    planned = read_faults(faults) if faults else []
    if not planned:
        return inner
    faulty = inner.with_transport(lambda transport: FaultyTransport(transport, planned))
    faulty.notes_for_display = (*inner.notes_for_display, f"faults switched on: {', '.join(map(str, planned))}")
    return faulty


def without_faults(client: Client) -> Client:
    """The client without the faults that `with_faults` put on."""
    if not isinstance(client.transport, FaultyTransport):
        return client
    inner = client.transport.inner
    plain = client.with_transport(lambda _: inner)
    plain.notes_for_display = tuple(
        note for note in client.notes_for_display if not note.startswith("faults switched on")
    )
    return plain


def planned_faults(client: Client) -> list[Planned]:
    """The faults a client has switched on."""
    return list(client.transport.planned) if isinstance(client.transport, FaultyTransport) else []


__all__ = [
    "FAULTS",
    "Fault",
    "FaultyTransport",
    "list_faults",
    "planned_faults",
    "read_faults",
    "with_faults",
    "without_faults",
]
