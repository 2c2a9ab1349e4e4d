"""Who may talk to the server: Host and Origin checks, CORS, and the bearer key.

The server runs tools on a person's machine, so a page on the web must not reach it:

* **Host** (DNS rebinding): a page of `evil.example` can point its own name at 127.0.0.1, but its requests then carry
  that name. Answered are loopback names, IP addresses and names without a dot, none of which a stranger can own in the
  public DNS, and the names in `hosts`. Behind a proxy that keeps the outer name (Binder, jupyter-server-proxy) that
  name goes into `hosts`: `"hub.example.org"`, `"*.mybinder.org"` or `"*"`.
* **Origin**: browsers send POSTs without asking first if they look like a form, so leaving CORS headers out is not
  enough: a foreign origin is refused. Welcome are loopback origins (a page on any local port), the server's own, and
  `origins`.
* **Key**: `Authorization: Bearer KEY`, compared in constant time, for all but the page's own files and `/health`.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .asgi import header, raw_headers
from .problems import Problem

log = logging.getLogger("toolnexus_nb.serve")

_METHODS = "GET, POST, DELETE, OPTIONS"
_READABLE = "mcp-session-id, mcp-protocol-version, retry-after, www-authenticate"
_DEFAULT_HEADERS = "authorization, content-type, accept, mcp-session-id, mcp-protocol-version, last-event-id"


@dataclass(frozen=True)
class Access:
    """The rules. `hosts` and `origins` are added to the local ones; `"*"` stands for every one of them."""

    key: str | None = None
    hosts: Sequence[str] = ()
    origins: Sequence[str] = ()
    open_paths: frozenset[str] = frozenset()
    """Paths that need no key."""

    def host_allowed(self, host: str | None) -> bool:
        """Whether a Host header (name, address, with or without a port) is one of ours."""
        name = _host_name(host)
        return name is not None and (
            _is_local_name(name) or any(_matches(name, pattern.lower()) for pattern in self.hosts)
        )

    def origin_allowed(self, origin: str, host: str | None) -> bool:
        """Whether a page of `origin` may use the server that it addressed as `host`."""
        if any(pattern == "*" or pattern.rstrip("/").lower() == origin for pattern in self.origins):
            return True
        try:
            parts = urlsplit(origin)
            name = parts.hostname
        except ValueError:
            return False
        if parts.scheme not in ("http", "https") or not name:
            return False
        return is_loopback(name) or parts.netloc.lower() == (host or "").lower()

    def key_fits(self, authorization: str | None) -> bool:
        """Whether an Authorization header carries the key. Digests are compared, so not even its length leaks."""
        if self.key is None:
            return True
        scheme, _, given = (authorization or "").partition(" ")
        fits = hmac.compare_digest(_digest(given.strip()), _digest(self.key))
        return fits and scheme.lower() == "bearer"


class AccessMiddleware:
    """Applies `Access` to every HTTP request, and answers preflights."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app = app
        self.access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        host, origin = header(scope, "host"), header(scope, "origin")
        problem = self._refusal(host, origin)
        if problem is not None:
            log.warning("refused %s %s: %s", scope["method"], scope["path"], problem.message)
            await problem(scope, receive, send)
            return
        if origin is not None:
            send = _with_headers(send, {"access-control-allow-origin": origin, "vary": "origin"}, expose=_READABLE)
        if scope["method"] == "OPTIONS":
            await _answer_preflight(scope, send)
            return
        path = scope["path"].removeprefix(scope.get("root_path", ""))  # an app that is mounted below a path
        if path not in self.access.open_paths and not self.access.key_fits(header(scope, "authorization")):
            log.warning("refused %s %s: wrong or missing key", scope["method"], scope["path"])
            await _WRONG_KEY(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _refusal(self, host: str | None, origin: str | None) -> Problem | None:
        if not self.access.host_allowed(host):
            return Problem(
                421,
                f"this server does not answer to the host name {host!r}; if a proxy in front of it uses that name, "
                "start it with allowed_hosts=[...]",
                code="host_not_allowed",
            )
        if origin is not None and not self.access.origin_allowed(origin, host):
            return Problem(
                403,
                f"pages of {origin} may not use this server; start it with allowed_origins=[...] to let them",
                code="origin_not_allowed",
            )
        return None


_WRONG_KEY = Problem(
    401,
    "wrong or missing API key: send it as `Authorization: Bearer KEY`",
    code="invalid_api_key",
    headers={"www-authenticate": "Bearer"},
)


def is_loopback(name: str) -> bool:
    """Whether a host name or address always means this machine."""
    name = name.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    address = _address(name)
    return address is not None and address.is_loopback


def _is_local_name(name: str) -> bool:
    return is_loopback(name) or "." not in name or _address(name) is not None


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _host_name(host: str | None) -> str | None:
    """The name in a Host header, lower case and without port or brackets; None where it is not one."""
    if not host or any(mark in host for mark in "/@?#\\ "):
        return None
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port  # raises ValueError when it is no number
    except ValueError:
        return None
    return (parts.hostname or "").rstrip(".") or None


def _matches(name: str, pattern: str) -> bool:
    if pattern == "*":
        return True
    if pattern.startswith("*."):
        return name.endswith(pattern[1:])
    return name == (_host_name(pattern) or pattern)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


def _with_headers(send: Send, headers: dict[str, str], *, expose: str) -> Send:
    extra = raw_headers({**headers, "access-control-expose-headers": expose})

    async def send_with(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *extra]}
        await send(message)

    return send_with


async def _answer_preflight(scope: Scope, send: Send) -> None:
    headers = {
        "allow": _METHODS,
        "access-control-allow-methods": _METHODS,
        "access-control-allow-headers": header(scope, "access-control-request-headers") or _DEFAULT_HEADERS,
        "access-control-max-age": "600",
    }
    if header(scope, "access-control-request-private-network") == "true":
        headers["access-control-allow-private-network"] = "true"
    await send({"type": "http.response.start", "status": 204, "headers": raw_headers(headers)})
    await send({"type": "http.response.body", "body": b""})
