"""A streamed reply as an iterator of chunks, and a whole reply read by the same code.

Bytes become events (`sse`), events chunks (`decode`), chunks a message (`accumulate`). How the bytes are cut plays no
part. An error is raised after the chunks before it, with what had arrived in `error.partial`; an answer that ends
without `[DONE]` and without a finish reason is a StreamError (D11).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import ExitStack
from inspect import isawaitable
from itertools import chain
from typing import Any, Protocol, Self, TypeVar

from .accumulate import CompletionAccumulator
from .decode import ChunkDecoder, in_pieces, no_answer
from .errors import APIError, StreamError, api_error
from .json_text import clean_text
from .types import ChatCompletionChunk, ChatCompletionResponse, Message, Usage, as_mapping

T = TypeVar("T")
INCOMPLETE = "it ended before the answer was complete"


class Decoder(Protocol):
    """From what a source yields to chunks. `ended`: nothing more is to be read; `complete`: the answer is whole."""

    ended: bool
    complete: bool

    def feed(self, item: Any) -> Iterator[ChatCompletionChunk]: ...

    def finish(self) -> Iterator[ChatCompletionChunk]: ...


class ChunkPasser:
    """The decoder of a source that yields chunks itself; where it ends, the answer ends."""

    ended = False
    complete = True

    def feed(self, item: Any) -> Iterator[ChatCompletionChunk]:
        yield item if isinstance(item, ChatCompletionChunk) else ChatCompletionChunk.read(as_mapping(item))

    def finish(self) -> Iterator[ChatCompletionChunk]:
        return iter(())


class ChatStream:
    """The seed's stream: `async for chunk in stream`, or plain `for`; then `message`, `usage`, `finish_reason`.

    Made by `from_bytes` or `from_iterable`. `async with` (or `aclose()`) closes the source, also when the loop over
    the chunks is left early. After an error `err` holds it, and `message` what had arrived.
    """

    def __init__(
        self,
        source: Iterable[Any] | AsyncIterable[Any],
        decoder: Decoder,
        *,
        tool_names: Iterable[str] = (),
        endpoint: str | None = None,
        secrets: Iterable[str] = (),
        aclose: Callable[[], Any] | None = None,
        block: Callable[[Callable[[], Awaitable[Any]]], Any] | None = None,
    ) -> None:
        self.accumulator = CompletionAccumulator(tool_names)
        self.current: ChatCompletionChunk | None = None
        self.err: BaseException | None = None
        self.done = False
        self._source = aiter(source) if isinstance(source, AsyncIterable) else iter(source)
        self._decoder = decoder
        self._endpoint = endpoint
        self._secrets = tuple(secrets)
        self._to_close: list[Callable[[], Any]] = [aclose] if aclose else []
        self._block = block
        self._ready: deque[ChatCompletionChunk] = deque()
        self._failure: BaseException | None = None
        self._exhausted = False

    @classmethod
    def from_bytes(cls, byte_chunks: Iterable[bytes] | AsyncIterable[bytes], **options: Any) -> Self:
        """Read the body of a reply as it arrives, or whole.

        Options: `tool_names` (the declared tools, see StreamingToolCallAccumulator), `endpoint` and `secrets` (for
        error messages), `aclose` (called once at the end), `block` (how plain `for` waits for an async source:
        takes a function that makes an awaitable).
        """
        return cls(in_pieces(byte_chunks), ChunkDecoder(), **options)

    @classmethod
    def from_iterable(cls, chunks: Iterable[Any] | AsyncIterable[Any], **options: Any) -> Self:
        """Pass on chunks (or their dicts). An exception from `chunks` is raised after the chunks before it."""
        return cls(chunks, ChunkPasser(), **options)

    @property
    def message(self) -> Message:
        """The message so far, of choice 0."""
        return self.accumulator.message()

    @property
    def usage(self) -> Usage | None:
        """The usage the provider reported, or None."""
        return self.accumulator.usage

    @property
    def finish_reason(self) -> str | None:
        """Why the answer ended, in the provider's word."""
        return self.accumulator.finish_reason

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ChatCompletionChunk:
        while not self._ready:
            if self._exhausted:
                await self._end()
                raise StopAsyncIteration
            try:
                source = self._source
                item = next(source) if isinstance(source, Iterator) else await anext(source)
            except (StopIteration, StopAsyncIteration):
                self._exhausted = True
                self._take(self._decoder.finish())
            except BaseException as error:
                self._exhausted = True
                # a connection that breaks after the last word was said has done no harm (D13)
                if not (isinstance(error, Exception) and self.finish_reason and self.usage):
                    self._failure = error
            else:
                self._take(self._decoder.feed(item))
        chunk = self.current = self._ready.popleft()
        self.accumulator.add_chunk(chunk)
        return chunk

    def __iter__(self) -> Iterator[ChatCompletionChunk]:
        with ExitStack() as stack:
            wait: Callable[[Callable[[], Coroutine[Any, Any, Any]]], Any]
            if isinstance(self._source, Iterator):
                wait = run_at_once
            elif self._block is not None:
                wait = self._block
            elif asyncio._get_running_loop() is not None:
                raise RuntimeError(
                    "the source of this stream is async and an event loop runs here already, as in a notebook: "
                    "use `async for`, or give the stream a `block`"
                )
            else:
                runner = stack.enter_context(asyncio.Runner())
                wait = lambda make: runner.run(make())  # noqa: E731
            stack.callback(wait, self.aclose)
            while (chunk := wait(self._next)) is not None:
                yield chunk

    async def read(self) -> ChatCompletionResponse:
        """Read to the end and give the reply as one. Raises what iterating raises."""
        async for _ in self:
            pass
        return self.accumulator.response()

    async def aclose(self) -> None:
        """Close the source; may be called at any time and again."""
        self._exhausted = True
        self._ready.clear()
        close = getattr(self._source, "aclose", None) or getattr(self._source, "close", None)
        closers, self._to_close = self._to_close, []
        for closer in [close, *closers] if close else closers:
            closing = closer()
            if isawaitable(closing):
                await closing

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _next(self) -> ChatCompletionChunk | None:
        """The next chunk, None at the end."""
        return await anext(self, None)

    def _take(self, chunks: Iterator[ChatCompletionChunk]) -> None:
        try:
            self._ready.extend(chunks)  # keeps the chunks before an error
        except APIError as error:
            self._failure = error
        self._exhausted = self._exhausted or self._decoder.ended or self._failure is not None

    async def _end(self) -> None:
        """Close the source and judge how the answer ended; raises the failure the first time it is asked."""
        failure = self._failure
        if self.done:
            return
        self.done = True
        if failure is None and not (self._decoder.complete or self.accumulator.has_finish_reason):
            failure = StreamError(INCOMPLETE)
        self.accumulator.closed = failure is None
        self.accumulator.cut = failure is not None
        self.err = failure
        await self.aclose()
        if isinstance(failure, APIError):
            finish_error(failure, self.accumulator, self._endpoint, self._secrets)
        if failure is not None:
            raise failure


def run_at_once(make: Callable[[], Awaitable[T]]) -> T:
    """The result of an awaitable that never has to wait. Raises RuntimeError if it does."""
    step = make().__await__()
    try:
        next(step)
    except StopIteration as finished:
        result: T = finished.value
        return result
    raise RuntimeError("closing this stream has to wait: use `async for`")


def finish_error(
    error: APIError, accumulator: CompletionAccumulator, endpoint: str | None, secrets: Iterable[str]
) -> None:
    """Give an error what only the reader of the answer knows."""
    error.partial = error.partial or accumulator.message()
    error.endpoint = error.endpoint or endpoint
    error.hide(secrets)


def parse_response(
    body: bytes | str,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    *,
    endpoint: str | None = None,
    secrets: Iterable[str] = (),
) -> ChatCompletionResponse:
    """Read the whole body of a reply: JSON, or an event stream that was not asked for (D16).

    Raises the APIError that belongs to a status of 400 or more, to an error inside a 200 body (E03), and to a body
    without an answer (B03).
    """
    if isinstance(body, str):
        body = clean_text(body).encode()
    if status >= 400:
        raise api_error(status, headers, body, secrets=secrets, endpoint=endpoint)
    accumulator, decoder = CompletionAccumulator(), ChunkDecoder()
    try:
        for chunk in chain(decoder.feed(body), decoder.finish()):
            accumulator.add_chunk(chunk)
        if not accumulator.choices:
            raise no_answer(body)
        if not (decoder.complete or accumulator.has_finish_reason):
            raise StreamError(INCOMPLETE)
    except APIError as error:
        accumulator.cut = True
        error.headers = error.headers or {name.lower(): value for name, value in (headers or {}).items()}
        finish_error(error, accumulator, endpoint, secrets)
        raise
    accumulator.closed = True
    return accumulator.response()
