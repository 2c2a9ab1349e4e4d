"""What can go wrong with an endpoint, in the words of the openai package, and the one place that reads error bodies.

`str(error)` is for a person: what happened, at which endpoint, what to do next. `message`, `code`, `type`, `param` and
`body` are the provider's own. Keys never appear in any of them (`redact`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from .json_text import clean_text, clean_value, dump_json, load_json
from .redaction import redact, redact_value

if TYPE_CHECKING:
    from .types import Message

_SHOWN = 600  # characters of a provider's message that a one-sentence error shows


class ToolnexusError(Exception):
    """Base of every error of this package."""


class APIError(ToolnexusError):
    """An endpoint answered with an error, or could not be heard.

    `status`: HTTP status or the one named inside a 200 body; None if there was none. `body`: the parsed JSON body or
    its text; `raw_body`: the text as it came. `partial`: what had arrived of the assistant message before the error.
    `endpoint`: filled in by whoever knows the address. `failed_generation`: the call a provider could not read (E04).
    """

    advice = ""

    def __init__(
        self,
        message: str = "",
        *,
        status: int | None = None,
        code: str | None = None,
        type: str | None = None,
        param: str | None = None,
        body: Any = None,
        raw_body: str = "",
        headers: Mapping[str, str] | None = None,
        partial: Message | None = None,
        endpoint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.type = type
        self.param = param
        self.body = body
        self.raw_body = raw_body
        self.headers = dict(headers or {})
        self.partial = partial
        self.endpoint = endpoint

    @property
    def request_id(self) -> str | None:
        """The provider's name for this request, to be quoted when asking them about it."""
        return self.headers.get("x-request-id") or self.headers.get("request-id")

    @property
    def details(self) -> dict[str, Any]:
        """The innermost error object of the body, `{}` if there is none (E12: `details["innererror"]`)."""
        return _error_object(self.body)

    @property
    def failed_generation(self) -> str | None:
        """What the model wrote when the provider could not read a tool call in it (E04)."""
        text = self.details.get("failed_generation")
        return text if isinstance(text, str) else None

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later (K03 to K05); never says that replaying is harmless."""
        said = self.headers.get("x-should-retry", "").lower()
        if said in ("true", "false"):
            return said == "true"
        if "insufficient_quota" in (self.code, self.type):
            return False
        return self.status is not None and (self.status in (408, 409, 429) or self.status >= 500)

    def hide(self, secrets: Iterable[str]) -> None:
        """Blank `secrets`, and whatever looks like a key, in everything this error holds."""
        secrets = tuple(secrets)
        self.message = redact(self.message, secrets)
        self.args = (self.message,)
        self.body = redact_value(self.body, secrets)
        self.raw_body = redact(self.raw_body, secrets)
        self.headers = redact_value(self.headers, secrets)

    def __str__(self) -> str:
        parts = [self._what_happened(), self._what_to_do()]
        return redact(" ".join(part for part in parts if part))

    def _what_to_do(self) -> str:
        return self.advice

    def _what_happened(self) -> str:
        who = self.endpoint or "The endpoint"
        status = f" {self.status}" if self.status else " with an error"
        message = self.message or "no message"
        metadata = self.details.get("metadata")
        if isinstance(metadata, dict) and metadata.get("raw"):
            message = f"{message}: {_as_text(metadata['raw'])}"  # OpenRouter says only "Provider returned error"
        return sentence(f"{who} answered{status}: {message}")


class AuthenticationError(APIError):
    """401: the key is missing or wrong."""

    advice = "Check the API key."


class PermissionDeniedError(APIError):
    """403: the key is known but may not do this."""

    advice = "Check what this key may use."


class NotFoundError(APIError):
    """404: no such path or model."""

    advice = "Check the model's name and the base URL (most end in /v1)."


class BadRequestError(APIError):
    """400, 422 and the other 4xx: the request is at fault."""


class RateLimitError(APIError):
    """429: too many requests, or the quota is used up."""

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait as the provider asks, None if it does not say (K01)."""
        return retry_after(self.headers)

    def _what_to_do(self) -> str:
        if "insufficient_quota" in (self.code, self.type):
            return "Check the account's quota and billing."
        seconds = self.retry_after
        return f"Ask again in {seconds:g} s." if seconds is not None else "Wait a little and ask again."


class ServerError(APIError):
    """5xx: the fault is at the endpoint."""

    advice = "The fault is at the endpoint; ask again later."


class APIConnectionError(APIError):
    """The endpoint could not be reached, or the connection broke."""

    advice = "Check the address and that the server is running."

    @property
    def retryable(self) -> bool:
        """A connection may work the next time."""
        return True

    def _what_happened(self) -> str:
        reason = f": {self.message}" if self.message else ""
        return sentence(f"{self.endpoint or 'The endpoint'} could not be reached{reason}")


class APITimeoutError(APIConnectionError):
    """The endpoint did not answer in time."""

    advice = "Ask again, or allow more time."

    def _what_happened(self) -> str:
        reason = f": {self.message}" if self.message else ""
        return sentence(f"{self.endpoint or 'The endpoint'} did not answer in time{reason}")


class StreamError(APIError):
    """An answer that began and did not end well: cut off, unreadable, or an error event inside it."""

    def _what_happened(self) -> str:
        who = self.endpoint or "the endpoint"
        return sentence(f"The answer of {who} broke off: {self.message or 'no reason given'}")


def api_error(
    status: int | None,
    headers: Mapping[str, str] | None,
    body: bytes | str | dict[str, Any] | list[Any],
    *,
    secrets: Iterable[str] = (),
    partial: Message | None = None,
    endpoint: str | None = None,
) -> APIError:
    """Make the right error of an error reply, whatever shape it has (rows E01 to E14 of the quirks).

    `body` is the reply as it came or its parsed JSON. A status inside the body counts only when HTTP itself says
    nothing or 200 (E13).
    """
    secrets = tuple(secrets)
    raw = (
        body
        if isinstance(body, str)
        else body.decode("utf-8", "replace")
        if isinstance(body, bytes)
        else dump_json(body)
    )
    parsed: Any = body
    if isinstance(body, str | bytes):
        try:
            parsed = load_json(raw)
        except ValueError:
            parsed = raw
    parsed = clean_value(parsed)
    fields = _error_object(parsed)
    if status is None or status < 400:
        status = _status_inside(fields) or status
    lower = {str(name).lower(): str(value) for name, value in (headers or {}).items()}
    error = error_class(status)(
        _message_of(parsed, fields) or _reason(status),
        status=status,
        code=_first_text(fields, "code", "error_code"),
        type=_first_text(fields, "type", "error_type", "status"),
        param=_first_text(fields, "param"),
        body=parsed,
        raw_body=raw,
        headers=lower,
        partial=partial,
        endpoint=endpoint,
    )
    error.hide(secrets)
    return error


def error_class(status: int | None) -> type[APIError]:
    """The class of the tree that belongs to an HTTP status."""
    by_status: dict[int, type[APIError]] = {
        401: AuthenticationError,
        403: PermissionDeniedError,
        404: NotFoundError,
        408: APITimeoutError,
        429: RateLimitError,
    }
    if status is None or status < 400:
        return APIError
    return by_status.get(status, ServerError if status >= 500 else BadRequestError)


def body_says_error(body: Any) -> bool:
    """Whether a parsed body or stream event is an error although HTTP said 200 (E03, E09): `"error": null` is none."""
    if isinstance(body, list):
        return bool(body) and body_says_error(body[0])
    if not isinstance(body, dict):
        return False
    return bool(body.get("error")) or (body.get("object") == "error" and not body.get("choices"))


def _error_object(body: Any) -> dict[str, Any]:
    """The dict that holds message and code: unwrapped from a list (E06), from `error`, one level deeper (E13)."""
    if isinstance(body, list):
        return _error_object(body[0]) if body else {}
    if not isinstance(body, dict):
        return {}
    inner = body.get("error")
    return _error_object(inner) if isinstance(inner, dict) and inner else body


def _message_of(body: Any, fields: dict[str, Any]) -> str:
    """The provider's sentence, "" if there is none: the first of the usual keys that says something."""
    for key in ("message", "error", "detail", "error_description", "msg", "errors", "title", "type", "code"):
        if fields.get(key):
            return _as_text(fields[key])
    if isinstance(body, str):
        return _page_text(body)
    return dump_json(body)[:_SHOWN] if body else ""


def _as_text(value: Any) -> str:
    """A message as one readable text; validation details (E07, E08) become `where: what`, the rest compact JSON."""
    if isinstance(value, str):
        try:
            inner = load_json(value) if value.lstrip().startswith(("{", "[")) else None
        except ValueError:
            inner = None
        return _as_text(inner) if inner else clean_text(value.strip())
    if isinstance(value, dict):
        nested = value.get("detail") or value.get("message") or value.get("error")
        if nested:
            return _as_text(nested)
    if isinstance(value, list) and value and all(isinstance(item, dict) and "msg" in item for item in value):
        return "; ".join(f"{'.'.join(map(str, item.get('loc') or ['request']))}: {item['msg']}" for item in value)
    return dump_json(value)


def _page_text(page: str) -> str:
    """The words of an HTML error page or of plain text (E11), without tags."""
    if "<" in page:
        page = re.sub(r"(?is)<(script|style)\b.*?</\1>|<[^>]*>", " ", page)
    return " ".join(page.split())[:_SHOWN]


def _status_inside(fields: dict[str, Any]) -> int | None:
    for key in ("status_code", "status", "code"):
        value = fields.get(key)
        if isinstance(value, str) and value.isdigit() and len(value) == 3:
            value = int(value)
        if isinstance(value, int) and 400 <= value <= 599:
            return value
    return None


def _reason(status: int | None) -> str:
    try:
        return HTTPStatus(status).phrase if status and status >= 400 else "no message"
    except ValueError:
        return "no message"


def _first_text(fields: dict[str, Any], *keys: str) -> str | None:
    """The first of these fields that says something, as text; numbers that are HTTP statuses are no type."""
    for key in keys:
        value = fields.get(key)
        if value not in (None, "") and not (key == "status" and isinstance(value, int)):
            return value if isinstance(value, str) else dump_json(value)
    return None


def sentence(text: str) -> str:
    """`text` with a full stop, cut to what a person reads in one go."""
    text = " ".join(text.split())
    text = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    return text if text.endswith((".", "!", "?", "…")) else text + "."


_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds to wait by `retry-after-ms`, then `retry-after` (seconds, a duration such as `1.5s`, or an HTTP date).

    What can't be read is passed over (K01); a date in the past is 0. Header names are lower case.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = (headers.get("retry-after") or "").strip()
    seconds = _number(text)
    if seconds is not None:
        return seconds
    if text and _DURATION.sub("", text) == "":
        return sum(float(number) * _UNITS[unit] for number, unit in _DURATION.findall(text))
    try:
        when = parsedate_to_datetime(text)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - (now or datetime.now(UTC))).total_seconds())


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None
