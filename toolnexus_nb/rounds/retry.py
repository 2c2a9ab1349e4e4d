"""When a request is sent again, and after how long (K rows of the quirks)."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from ..openai.errors import APIConnectionError, APIError, APITimeoutError, StreamError, ToolnexusError, retry_after
from ..openai.redaction import redact

if TYPE_CHECKING:
    from .profiles import Profile

LONGEST_WAIT = 120.0
"""Seconds. An endpoint that asks for more is not waited for: a notebook must not freeze for an hour (K02)."""
_FAILURES: dict[type[APIError], str] = {
    APITimeoutError: "no answer in time",
    APIConnectionError: "no connection",
    StreamError: "the answer broke off",
}
_FEW_WORDS = 100
_FIRST_BACKOFF = 0.5
_LONGEST_BACKOFF = 8.0
_NOT_IMPLEMENTED = frozenset({501, 505})
_UNITS = {"ms": 0.001, "milliseconds": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_ASKED = re.compile(r"(?:try again|retry)\s+(?:in|after)\s+(\d+(?:\.\d+)?)\s*(milliseconds|ms|s|m|h)", re.IGNORECASE)


def is_retryable(error: ToolnexusError, profile: Profile) -> bool:
    """Whether the same request may succeed a moment later; asked only while none of its answer has been used.

    Connection errors, 408, 409, 429, 5xx (529 too; 501 and 505 not), a stream that broke before its first event, and
    what the profile says is the model's fault (`retry_codes`). A used-up quota is no rate; `x-should-retry` decides.
    """
    if not isinstance(error, APIError):
        return False
    if error.code in profile.retry_codes:
        return True
    if isinstance(error, APIConnectionError):
        return True
    if isinstance(error, StreamError) and error.status is None:
        return error.body is None
    return error.retryable and error.status not in _NOT_IMPLEMENTED


def in_few_words(error: APIError) -> str:
    """Why an attempt failed, for a line that is followed by the next attempt: no address and no advice yet."""
    if error.status is None:
        for kind, words in _FAILURES.items():
            if isinstance(error, kind):
                return words
    words = redact(" ".join(error.message.split()))
    words = words if len(words) <= _FEW_WORDS else words[: _FEW_WORDS - 1] + "…"
    return f"{error.status or ''} {words}".strip()


def wait_before_retry(error: APIError, attempt: int) -> float | None:
    """Seconds to wait after the failed `attempt` (from 1), or None when the endpoint asks for more than `LONGEST_WAIT`.

    The headers decide, then the words of the message (Azure: "Please retry after 26 seconds"), else exponential backoff
    with jitter (K01, K03).
    """
    asked = retry_after(error.headers)
    if asked is None and (found := _ASKED.search(error.message)):
        asked = float(found.group(1)) * _UNITS[found.group(2).lower()]
    if asked is None:
        return min(_FIRST_BACKOFF * 2 ** (attempt - 1), _LONGEST_BACKOFF) * (0.75 + random.random() / 2)
    return None if asked > LONGEST_WAIT else asked
