"""What goes wrong on the served side, said in the OpenAI shape: `{"error": {message, type, param, code}}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.types import Receive, Scope, Send

from .asgi import send_json
from .chat_wire import dump

BUG = "internal_error"
"""Code of a problem that nobody foresaw; the log has its traceback."""

_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}


class Problem(Exception):
    """A request that is answered with an error: the status, and the words for the caller.

    `param` names the field of the request that is wrong; `code` is a word a program can compare.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        type: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param
        self.code = code
        self.type = type or _TYPES.get(status) or ("invalid_request_error" if status < 500 else "server_error")
        self.headers = dict(headers or {})

    def body(self) -> dict[str, Any]:
        return {"error": {"message": self.message, "type": self.type, "param": self.param, "code": self.code}}

    def event(self) -> bytes:
        """The last event of a stream that has begun: the openai package raises APIError when it reads it."""
        return b"data: " + dump(self.body()) + b"\n\n"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request with it."""
        await send_json(send, self.body(), self.status, self.headers)


def upstream_problem(error: Exception) -> Problem:
    """What the caller hears when the endpoint behind this server fails.

    A refusal of the request itself (400, 404, 413, 422) and a rate limit keep their status. A refused key is this
    server's and not the caller's, so 401 and 403 become 502, like a failing or unreachable endpoint; a late one is 504.
    """
    from ..openai.errors import APIConnectionError, APIError, APITimeoutError, RateLimitError, ToolnexusError, redact

    if isinstance(error, APITimeoutError):
        return Problem(504, str(error), code="upstream_timeout")
    if isinstance(error, APIConnectionError):
        return Problem(502, str(error), code="upstream_unreachable")
    if isinstance(error, ToolnexusError) and not isinstance(error, APIError):
        return Problem(500, redact(str(error)), code="not_set_up")
    if not isinstance(error, APIError):
        return Problem(500, "the server failed while it answered this request; its log says more", code=BUG)
    said = redact(error.message) or "no message"
    if isinstance(error, RateLimitError):
        wait = error.retry_after
        headers = {} if wait is None else {"retry-after": f"{max(0.0, wait):.0f}"}
        return Problem(429, said, code=error.code or "rate_limit_exceeded", type=error.type, headers=headers)
    if error.status in (400, 404, 413, 422):
        return Problem(error.status, said, param=error.param, code=error.code, type=error.type)
    answered = f" ({error.status})" if error.status else ""
    return Problem(
        502, f"the endpoint behind this server failed{answered}: {said}", code=error.code or "upstream_error"
    )
