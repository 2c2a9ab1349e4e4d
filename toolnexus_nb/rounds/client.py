"""One endpoint: where it is, how to get in, and how to ask it once. Asking again and again is `engine.py`'s."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit, urlunsplit

from ..openai.errors import APIError, StreamError, api_error
from ..openai.stream import ChatStream, ChunkDecoder, parse_response
from ..openai.types import ChatCompletionResponse, Message, ModelsResponse
from ..tools.background import block, hop, sync_twin
from .adapt import Writer, adapt, definition_name, encode
from .profiles import PRESETS, Profile, profile_for
from .retry import in_few_words, is_retryable, wait_before_retry
from .secrets import Headers, Secret, hide_url, secrets_of
from .setup_error import SetupError
from .tap import Tap
from .transport import Timeout, Transport, TransportRequest, TransportResponse

T = TypeVar("T")
OnRetry = Callable[[int, float, str], None]
"""Called with (attempt that failed, seconds until the next, reason in a few words)."""
OnNotes = Callable[[Sequence[str]], object]
"""Called with what a transport has to say about an answer."""

_CHAT, _MODELS = "/chat/completions", "/models"
_NOT_PARAMETERS = ("messages", "stream")


class Client:
    """An OpenAI-compatible endpoint.

    * `base_url`: with or without `/v1`'s tail `/chat/completions`; None is OPENAI_BASE_URL, else OpenAI.
    * `model`: None is OPENAI_MODEL where the address is the environment's own; asked without a model, it raises
      SetupError, it never guesses.
    * `api_key`: None looks into the variable of a known endpoint; a key of the environment goes only to the endpoint it
      belongs to. `""` sends none.
    * `headers`: sent with every request. `extra_body`: merged into every request, last.
    * `timeout`: seconds of silence, or a `Timeout(connect, read, total)`.
    * `retries`: further attempts after connection errors, 408, 409, 429, 5xx and 529, before anything was used.
    * `transport`: anything with `send` and `aclose`, instead of HTTP.

    Making one does no I/O. No repr, error or traceback shows a key.
    """

    def __init__(
        self,
        base_url: str | None = None,
        model: str | None = None,
        api_key: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: Timeout | float | None = None,
        retries: int = 2,
        transport: Transport | None = None,
        extra_body: Mapping[str, Any] | None = None,
        profile: Profile | None = None,
        label: str | None = None,
        keyless: bool = False,
        notes_for_display: Sequence[str] = (),
    ) -> None:
        own = os.environ.get("OPENAI_BASE_URL") or PRESETS["openai"].base_url
        if base_url is None:
            base_url = "" if transport is not None else own
        self._where = Secret(tidy_base_url(base_url) if base_url else "")  # it may hold ?key=
        environment = transport is None and self._url == tidy_base_url(own)
        self.profile = profile or profile_for(self._url)
        self.model = model or (os.environ.get("OPENAI_MODEL", "") if environment else "")
        self._key = Secret((_key_for(self.profile, environment) if api_key is None else api_key).strip())
        self._headers = Headers({name: str(value) for name, value in (headers or {}).items() if value is not None})
        for name, value in (("api_key", self._key.reveal()), *self._headers.items()):
            if not (value.isascii() and value.isprintable()):
                raise SetupError(f"{name} holds a character that cannot be sent in a header: was it copied whole?")
        self._secrets = [Secret(text) for text in secrets_of(self._url, self._headers, self._key)]
        self.timeout = Timeout.of(timeout)
        self.retries = max(0, retries)
        self.extra_body = dict(extra_body or {})
        for name in _NOT_PARAMETERS:
            if name in self.extra_body:
                raise ValueError(f"extra_body may not replace {name!r}")
        self.keyless = keyless
        self.notes_for_display = tuple(notes_for_display)
        self._label = label
        self._transport = transport
        self._refused: set[str] = set()

    @classmethod
    def from_env(cls, **options: Any) -> Client:
        """The endpoint of OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL.

        Raises SetupError, saying which variable to set, when there is no endpoint or no model.
        """
        if not any(os.environ.get(name) for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY")):
            raise SetupError(
                "no endpoint is set: set OPENAI_API_KEY and OPENAI_MODEL (and OPENAI_BASE_URL for one that is not "
                "OpenAI)"
            )
        if not (options.get("model") or os.environ.get("OPENAI_MODEL")):
            raise SetupError(
                "an endpoint is set but no model: set OPENAI_MODEL, or say which: "
                'tn.Client(model="...") or %toolnexus connect openai --model NAME'
            )
        return cls(**options)

    # --- who it is ----------------------------------------------------------------------------------------------------

    @property
    def _url(self) -> str:
        return self._where.reveal()

    @property
    def base_url(self) -> str:
        """The address, fit for eyes: no key, no password."""
        return hide_url(self._url)

    @property
    def place(self) -> str:
        """What errors call it: the address, or the label of a model that has none."""
        return self.base_url or self.label

    @property
    def label(self) -> str:
        """Model and place in a few words: "qwen3:8b at localhost:11434"."""
        if self._label is not None:
            return self._label
        return f"{self.model or 'no model yet'} at {urlsplit(self._url).netloc.rpartition('@')[2] or 'its transport'}"

    @property
    def transport(self) -> Transport:
        """What sends. httpx's is made here on first use."""
        if self._transport is None:
            from .http_transport import HttpTransport

            self._transport = HttpTransport()
        return self._transport

    def __repr__(self) -> str:
        return f"<Client {self.label}>"

    __str__ = __repr__

    def with_transport(self, wrap: Callable[[Transport], Transport]) -> Client:
        """The same client over `wrap(its transport)`: a recorder, faults, a log."""
        other = self._copy()
        other._transport = wrap(self.transport)
        return other

    def with_model(self, model: str) -> Client:
        """The same endpoint and connections, another model."""
        other = self._copy()
        other.model = model
        return other

    def _copy(self) -> Client:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every secret this client sends, for `redact(text, client.secrets)`."""
        return tuple(secret.reveal() for secret in self._secrets)

    # --- asking -------------------------------------------------------------------------------------------------------

    async def complete(
        self, messages: Iterable[Any] | str, tools: Any = None, *, on_retry: OnRetry | None = None, **params: Any
    ) -> ChatCompletionResponse:
        """Ask once, without streaming; nothing is executed.

        `messages`: dicts, our types, the openai package's objects, or a string for one user message. `tools`: a
        toolkit, tools, functions or plain definitions. Every other parameter of the endpoint passes through.
        Raises APIError and its kin.
        """
        body = self.body(messages, tools, params)
        return await hop(lambda: self.answer(body, on_retry=on_retry))

    complete_sync = sync_twin(complete)

    def stream(
        self, messages: Iterable[Any] | str, tools: Any = None, *, on_retry: OnRetry | None = None, **params: Any
    ) -> ChatStream:
        """Ask once, streaming: iterate over the chunks; `.message`, `.usage` and `.finish_reason` are there at the end.

        The request is sent with the first step. The same arguments as `complete`.
        """
        body = self.body(messages, tools, params, stream=True)
        return self._stream_of(_hopping(self._attempts(body, on_retry, None, 0)), body)

    async def models(self) -> ModelsResponse:
        """What the endpoint offers: `(await client.models()).data`."""
        return await hop(self._models)

    models_sync = sync_twin(models)

    async def close(self) -> None:
        """Close the connections; the client can be used again and then opens new ones."""
        if self._transport is not None:
            await hop(self._transport.aclose)

    close_sync = sync_twin(close)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    # --- what the engine uses -----------------------------------------------------------------------------------------

    def body(
        self,
        messages: Iterable[Any] | str,
        tools: Any = None,
        params: Mapping[str, Any] | None = None,
        *,
        stream: bool = False,
        writer: Writer | None = None,
    ) -> dict[str, Any]:
        """The JSON object of one request, as this endpoint wants it; `writer` shares what it wrote between requests.

        Raises SetupError when no model is set.
        """
        given = {name: value for name, value in (params or {}).items() if value is not None or name == "messages"}
        for name in _NOT_PARAMETERS:
            if name in given:
                raise TypeError(f"{name!r} is not a parameter: it is made here")
        model = given.pop("model", None) or self.model
        if not model:
            raise SetupError(
                f"no model is set for {self.base_url}: give Client(model=...) or %toolnexus connect ... --model NAME "
                "(client.models() lists what it has)"
            )
        extra = {**self.extra_body, **(given.pop("extra_body", None) or {})}
        written = (writer or Writer(self.profile)).write(messages_of(messages))
        body: dict[str, Any] = {"model": model, "messages": written}
        definitions = definitions_of(tools)
        if definitions:
            body["tools"] = definitions
        body.update(given)
        if stream:
            body["stream"] = True
            own = "stream_options" in (params or {})  # None there: none at all
            if self.profile.stream_options and not own and "stream_options" not in self._refused:
                body["stream_options"] = {"include_usage": True}
        body.update(extra)
        return adapt(body, self.profile)

    def open_stream(
        self,
        body: dict[str, Any],
        *,
        on_retry: OnRetry | None = None,
        on_notes: OnNotes | None = None,
        round: int = 0,
    ) -> ChatStream:
        """One streamed answer to `body`, read where it is iterated."""
        return self._stream_of(self._attempts(body, on_retry, on_notes, round), body)

    def _stream_of(self, source: AsyncIterator[bytes], body: Mapping[str, Any]) -> ChatStream:
        return ChatStream.from_bytes(
            source,
            tool_names=[definition_name(tool) for tool in body.get("tools") or ()],
            endpoint=self.place,
            secrets=self.secrets,
            aclose=getattr(source, "aclose", None),
            block=block,
        )

    async def _attempts(
        self, body: dict[str, Any], on_retry: OnRetry | None, on_notes: OnNotes | None, round: int
    ) -> AsyncIterator[bytes]:
        """The bytes of a streamed answer. They are held until the first event has been read, so that a failure before
        it, an error event included, can be tried again (K05)."""
        attempt = 1
        while True:
            head, held = ChunkDecoder(), list[bytes]()
            source = self._bytes(body, attempt, round, on_notes)
            try:
                async for piece in source:
                    held.append(piece)
                    if any(True for _ in head.feed(piece)) or head.ended:
                        break
                else:
                    if not any(True for _ in head.finish()):
                        raise StreamError("it ended before it began")
                for piece in held:
                    yield piece
                async for piece in source:
                    yield piece
                return
            except APIError as error:
                if head.seen:
                    raise
                error.endpoint = error.endpoint or self.place
                error.hide(self.secrets)
                body = await self._again(error, body, attempt, on_retry)
            finally:
                await cast(Any, source).aclose()
            attempt += 1

    async def answer(
        self,
        body: dict[str, Any],
        *,
        on_retry: OnRetry | None = None,
        on_notes: OnNotes | None = None,
        round: int = 0,
    ) -> ChatCompletionResponse:
        """One whole answer, not streamed. Runs where it is called."""
        attempt = 1
        while True:
            try:
                response = await self._send("POST", _CHAT, body, attempt, round)
                if on_notes is not None:
                    on_notes(response.notes)
                raw = await self._read(response, _CHAT)
                return parse_response(raw, response.status, response.headers, endpoint=self.place, secrets=self.secrets)
            except APIError as error:
                error.hide(self.secrets)
                body = await self._again(error, body, attempt, on_retry)
            attempt += 1

    async def _models(self) -> ModelsResponse:
        attempt = 1
        while True:
            try:
                response = await self._send("GET", _MODELS, None, attempt)
                raw = await self._read(response, _MODELS)
                return ModelsResponse.read(raw)
            except APIError as error:
                error.hide(self.secrets)
                await self._again(error, {}, attempt, None)
            except ValueError:
                where = hide_url(self._address(_MODELS))
                raise APIError("the reply is no list of models", status=response.status, endpoint=where) from None
            attempt += 1

    async def _again(
        self, error: APIError, body: dict[str, Any], attempt: int, on_retry: OnRetry | None
    ) -> dict[str, Any]:
        """Wait for the next attempt and give its body; raises `error` when there is none."""
        if "stream_options" in body and error.status in (400, 404, 422) and "stream_options" in error.message:
            self._refused.add("stream_options")  # asked for by us, so it is ours to drop; once and for all (J04)
            return {name: value for name, value in body.items() if name != "stream_options"}
        if attempt > self.retries or not is_retryable(error, self.profile):
            raise error
        seconds = wait_before_retry(error, attempt)
        if seconds is None:
            raise error
        if on_retry is not None:
            on_retry(attempt, seconds, in_few_words(error))
        await asyncio.sleep(seconds)
        return body

    async def _bytes(
        self, body: dict[str, Any], attempt: int, round: int, on_notes: OnNotes | None
    ) -> AsyncIterator[bytes]:
        response = await self._send("POST", _CHAT, body, attempt, round)
        try:
            if on_notes is not None:
                on_notes(response.notes)
            await self._refuse_errors(response, _CHAT)
            async for chunk in response:
                yield chunk
        finally:
            await response.aclose()

    async def _read(self, response: TransportResponse, path: str) -> bytes:
        """The whole body; raises the error it holds."""
        try:
            await self._refuse_errors(response, path)
            return b"".join([chunk async for chunk in response])
        finally:
            await response.aclose()

    async def _send(
        self, method: str, path: str, body: dict[str, Any] | None, attempt: int, round: int = 0
    ) -> TransportResponse:
        stream = bool(body and body.get("stream"))
        request = TransportRequest(
            method=method,
            url=self._address(path),
            headers=self._headers_for(stream),
            body=encode(body) if body is not None else b"",
            stream=stream,
            timeout=self.timeout,
        )
        return await Tap(self.transport, self.secrets).send(request, body or {}, attempt=attempt, round=round)

    async def _refuse_errors(self, response: TransportResponse, path: str) -> None:
        if response.status < 300:
            return
        if response.status < 400 and (target := response.headers.get("location")):
            # Not followed: a key goes only where a person sent it.
            raise APIError(
                f"it redirects to {hide_url(target)}: if you trust that place, give its address as base_url",
                status=response.status,
                headers=response.headers,
                endpoint=self.base_url,
            )
        raw = b"".join([chunk async for chunk in response])
        raise api_error(
            response.status,
            response.headers,
            raw,
            secrets=self.secrets,
            endpoint=hide_url(self._address(path)) if response.status == 404 else self.base_url,
        )

    def _headers_for(self, stream: bool) -> Headers:
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream" if stream else "application/json",
            "user-agent": "toolnexus-nb",
        }
        if self._key:
            headers[self.profile.key_header] = self.profile.key_prefix + self._key.reveal()
        given = {name.lower(): value for name, value in self._headers.items()}
        return Headers({**headers, **given})

    def _address(self, path: str) -> str:
        parts = urlsplit(self._url)
        return urlunsplit((parts.scheme, parts.netloc, parts.path + path, parts.query, ""))


def tidy_base_url(url: str) -> str:
    """`host:port/v1/chat/completions/` and its relatives as the base they mean: scheme, host, path without a tail."""
    url = url.strip()
    if "://" not in url:
        url = f"http://{url}"
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        shown = url.rpartition("@")[2].partition("?")[0]
        raise SetupError(f"{shown} is not an address: {error}") from None
    path = parts.path.rstrip("/").removesuffix(_CHAT).rstrip("/")
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def messages_of(messages: Iterable[Any] | str) -> list[Message]:
    """Messages in any form; a string is one user message."""
    return [Message.user(messages)] if isinstance(messages, str) else [Message.from_any(item) for item in messages]


def definitions_of(tools: Any) -> list[dict[str, Any]]:
    """Tool definitions for a request body from a toolkit, tools, functions or plain definitions."""
    if tools is None:
        return []
    if isinstance(tools, list) and all(isinstance(tool, dict) and "type" in tool for tool in tools):
        return tools
    from ..tools.adapters import to_openai

    return list(to_openai(tools))


def _key_for(profile: Profile, environment: bool) -> str:
    """The key of the endpoint's own variable, or OPENAI_API_KEY where the address is the environment's."""
    names = (*profile.key_variables, *(("OPENAI_API_KEY",) if environment else ()))
    return next((value for name in names if (value := os.environ.get(name))), "")


async def _hopping(source: AsyncIterator[T]) -> AsyncIterator[T]:
    """Walk through an iterator that lives on the background loop from any other."""
    end = object()

    async def step() -> Any:
        return await anext(source, end)

    try:
        while (item := await hop(step)) is not end:
            yield item
    finally:
        close: Callable[[], Awaitable[None]] | None = getattr(source, "aclose", None)
        if close is not None:
            await hop(close)
