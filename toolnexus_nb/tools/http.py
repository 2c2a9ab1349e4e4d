"""A tool that is one HTTP endpoint: placeholders in its address, the rest as query or body, `${ENV}` in its headers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal
from urllib.parse import quote, urlencode

from .context import ToolContext
from .definition import Tool
from .rendering import as_json, bounded
from .results import ResultPart, ToolResult
from .schema import JSONSchema

BodyForm = Literal["json", "form", "raw"]
ResultMode = Literal["text", "json", "status+text"]

_PLACEHOLDER = re.compile(r"(?<!\$)\{([A-Za-z_][A-Za-z0-9_]*)\}")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_WITHOUT_BODY = frozenset({"GET", "HEAD"})
_SHOWN_ERROR = 2_000


def http_tool(
    *,
    name: str,
    description: str = "",
    url: str,
    method: str = "GET",
    input_schema: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    query: Collection[str] = (),
    body: BodyForm = "json",
    result_mode: ResultMode = "text",
    timeout: float = 30.0,
    max_bytes: int = 1_000_000,
    transport: Any = None,
    **options: Any,
) -> Tool:
    """Make an endpoint a tool.

    url          may hold `{placeholders}`: each is an argument, percent-encoded; a missing one is an error; `${NAME}`
                 as in headers
    input_schema of all arguments; None: one required string for every placeholder
    query        for methods with a body, the arguments that go into the query string; GET and HEAD send all others
    there
    body         "json", "form", or "raw" (the argument `body` alone, as text)
    headers      `${NAME}` is read from the environment when the tool runs; an unset one is an error, not an empty text
    result_mode  "text", "json" (compact JSON), or "status+text"
    timeout      seconds for the whole exchange; max_bytes: more of an answer is not read
    transport    an httpx transport, for tests
    options      what Tool takes: needs_approval, strict, title, annotations

    In queries null is left out, a list repeats its key, booleans are true and false. Raises ValueError for a method, a
    placeholder or a header that cannot work.
    """
    method = method.upper()
    if method not in _METHODS:
        raise ValueError(f"{name}: method {method!r} is unknown; use one of {', '.join(sorted(_METHODS))}")
    if body not in ("json", "form", "raw"):
        raise ValueError(f'{name}: body is "json", "form" or "raw", got {body!r}')
    if result_mode not in ("text", "json", "status+text"):
        raise ValueError(f'{name}: result_mode is "text", "json" or "status+text", got {result_mode!r}')
    if not re.match(r"https?://", url):
        raise ValueError(f"{name}: the url must begin with http:// or https://, got {url!r}")
    placeholders = list(dict.fromkeys(_PLACEHOLDER.findall(url)))
    schema = _schema(placeholders, input_schema)
    if unknown := [one for one in placeholders if one not in schema.get("properties", {})]:
        raise ValueError(f"{name}: the url has {{{unknown[0]}}}, but input_schema has no such property")
    request = _Request(name, method, url, placeholders, dict(headers or {}), frozenset(query), body)

    async def invoke(arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        return await _exchange(request.build(arguments), name, timeout, max_bytes, result_mode, transport)

    return Tool(name=name, description=description, input_schema=schema, invoke=invoke, source="http", **options)


def _schema(placeholders: list[str], given: Mapping[str, Any] | None) -> JSONSchema:
    if given is not None:
        return dict(given)
    schema: JSONSchema = {"type": "object", "properties": {one: {"type": "string"} for one in placeholders}}
    if placeholders:
        schema["required"] = placeholders
    return {**schema, "additionalProperties": False}


class RequestError(ValueError):
    """The request cannot be made from these arguments or this environment."""


class _Request:
    """How arguments become a request."""

    def __init__(
        self,
        name: str,
        method: str,
        url: str,
        placeholders: list[str],
        headers: dict[str, str],
        query: frozenset[str],
        body: BodyForm,
    ) -> None:
        self._name = name
        self._method = method
        self._url = url
        self._placeholders = placeholders
        self._headers = headers
        self._query = query
        self._body = body

    def build(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Keyword arguments for httpx's `stream`. Raises RequestError."""
        missing = [one for one in self._placeholders if arguments.get(one) in (None, "")]
        if missing:
            raise RequestError(f"{', '.join(missing)} is missing: the address {self._url} needs it")
        for one in self._placeholders:
            if _text(arguments[one]).strip() in (".", ".."):  # a step in the path, which no encoding hides
                raise RequestError(f"{one} must not be {_text(arguments[one])}: it would change the address")
        url = _PLACEHOLDER.sub(lambda found: quote(_text(arguments[found[1]]), safe=""), self._url)
        url = self._expanded("the address", url)
        rest = {key: value for key, value in arguments.items() if key not in self._placeholders}
        in_query = (
            dict(rest)
            if self._method in _WITHOUT_BODY
            else {key: value for key, value in rest.items() if key in self._query}
        )
        if pairs := _pairs(in_query):
            url += ("&" if "?" in url else "?") + urlencode(pairs)
        headers = {key: self._expanded(f"the header {key}", value) for key, value in self._headers.items()}
        request: dict[str, Any] = {"method": self._method, "url": url, "headers": headers}
        in_body = {key: value for key, value in rest.items() if key not in in_query}
        if in_body:
            request["content"], kind = self._content(in_body)
            if not any(key.lower() == "content-type" for key in headers):
                headers["Content-Type"] = kind
        return request

    def _content(self, values: dict[str, Any]) -> tuple[bytes, str]:
        if self._body == "form":
            return urlencode(_pairs(values)).encode(), "application/x-www-form-urlencoded"
        if self._body == "raw":
            return _text(values.get("body", "")).encode(), "text/plain; charset=utf-8"
        return json.dumps(values, ensure_ascii=False).encode(), "application/json"

    def _expanded(self, what: str, text: str) -> str:
        """The text with the environment's values. They are not named in errors: they may be keys."""

        def read(found: re.Match[str]) -> str:
            value = os.environ.get(found[1])
            if value is None:
                raise RequestError(f"{what} needs the environment variable {found[1]}, which is not set")
            if not value.strip().isprintable():
                raise RequestError(f"the environment variable {found[1]} holds line breaks, which {what} can't carry")
            return value.strip()

        return _VARIABLE.sub(read, text)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else as_json(value)


def _pairs(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for key, value in values.items():
        if isinstance(value, list | tuple):
            pairs.extend((key, _text(one)) for one in value if one is not None)
        elif value is not None:
            pairs.append((key, _text(value)))
    return pairs


async def _exchange(
    request: dict[str, Any], name: str, timeout: float, max_bytes: int, mode: ResultMode, transport: Any
) -> ToolResult:
    import httpx

    try:
        async with asyncio.timeout(timeout), httpx.AsyncClient(timeout=timeout, transport=transport) as client:
            response = await _answer(client, client.build_request(**request), request["headers"])
            try:
                data, whole = await _read(response.aiter_bytes, max_bytes)
            finally:
                await response.aclose()
    except (TimeoutError, httpx.TimeoutException):
        return ToolResult.error(f"{name}: no answer within {timeout:g} seconds from {_host(request)}")
    except httpx.TooManyRedirects:
        return ToolResult.error(f"{name}: {_host(request)} redirects in a circle")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return ToolResult.error(f"{name}: {_host(request)} could not be reached: {error or type(error).__name__}")
    return _result(response, data, whole, mode)


_REDIRECTS = 10
_TOLD_ANYONE = frozenset({"accept", "accept-language", "content-type", "user-agent"})


async def _answer(client: Any, request: Any, headers: Mapping[str, str]) -> Any:
    """The response where redirects end. The tool's own headers, which may hold keys, go to no other host, and not from
    https to http (httpx keeps back `Authorization` alone)."""
    import httpx

    for _ in range(_REDIRECTS):
        response = await client.send(request, stream=True)
        following = response.next_request
        if following is None:
            return response
        await response.aclose()
        here, there = request.url, following.url
        if here.host != there.host or (here.scheme, there.scheme) == ("https", "http"):
            for name in headers:
                if name.lower() not in _TOLD_ANYONE:
                    following.headers.pop(name, None)
        request = following
    raise httpx.TooManyRedirects("", request=request)


async def _read(chunks: Callable[[], Any], max_bytes: int) -> tuple[bytes, bool]:
    """(the first bytes of an answer, whether that is all of it)."""
    data = bytearray()
    async for chunk in chunks():
        data += chunk
        if len(data) > max_bytes:
            return bytes(data[:max_bytes]), False
    return bytes(data), True


def _host(request: dict[str, Any]) -> str:
    """Scheme, host and path: a query may carry a key."""
    return str(request["url"]).partition("?")[0]


def _result(response: Any, data: bytes, whole: bool, mode: ResultMode) -> ToolResult:
    status, kind = response.status_code, response.headers.get("content-type", "").partition(";")[0].strip()
    metadata = {"status": status, "content_type": kind}
    if kind.startswith(("image/", "audio/")) and whole and response.is_success:
        part = ResultPart("image" if kind.startswith("image/") else "audio", kind, data)
        return ToolResult(f"{kind}, {len(data)} bytes", metadata=metadata, parts=[part], value=data)
    try:
        text = data.decode(response.charset_encoding or "utf-8", "replace")
    except LookupError:  # the server names an encoding nobody knows
        text = data.decode("utf-8", "replace")
    if not whole:
        text += f"\n… (cut after {len(data)} bytes)"
    if not response.is_success:
        return ToolResult.error(f"HTTP {status}: {bounded(text, _SHOWN_ERROR)}", metadata=metadata)
    value: Any = text
    if mode == "json" or kind.endswith("json"):
        with contextlib.suppress(ValueError):  # it said JSON and is none: the text is passed on as it is
            value = json.loads(text)
    if mode == "json":
        text = as_json(value) if not isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    elif mode == "status+text":
        text = f"{status}\n{text}"
    return ToolResult(bounded(text), metadata=metadata, value=value)
