"""What went wrong with an MCP server, told in a sentence: which server, what happened, its last words, what to do next.

The SDK raises JSON-RPC errors, exception groups around HTTP errors, and operating system errors. Here they become one
`McpServerError` for people and programs, and one text for a model. No configured secret is repeated in either.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..openai.errors import ToolnexusError, redact

if TYPE_CHECKING:
    from .mcp_config import ServerSpec

_LAST_LINES = 5
_LAST_CHARACTERS = 700

_INSTALL = {
    "npx": "Install Node.js, which brings npx.",
    "node": "Install Node.js.",
    "uvx": "Install uv, which brings uvx.",
    "uv": "Install uv.",
    "docker": "Install Docker, or use a server that runs without it.",
}


class McpServerError(ToolnexusError):
    """An MCP server could not be opened, or is gone. `server` is its name, `stderr` its last lines."""

    def __init__(self, message: str, *, server: str = "", stderr: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.server = server
        self.stderr = tuple(stderr)


@dataclass(frozen=True)
class Reply:
    """One HTTP answer, as far as errors need it."""

    method: str
    status: int
    content_type: str = ""


@dataclass(frozen=True)
class Circumstances:
    """What is known about a session beyond the exception: how its process ended, what it said, how HTTP answered."""

    exit_code: int | None = None
    stderr: Sequence[str] = ()
    noise: Sequence[str] = ()
    replies: Sequence[Reply] = ()
    closed_here: bool = False
    """Whether we ended it, and not the server itself."""


class SessionExpired(McpServerError):
    """The server forgot our session, so it has not done what it was asked: a new session may ask again."""


class Refused(Exception):
    """A request was answered with an error. `error` says which, `replies` how HTTP answered it."""

    def __init__(self, error: BaseException, replies: Sequence[Reply]) -> None:
        super().__init__(str(error))
        self.error = error
        self.replies = tuple(replies)


def leaves(error: BaseException) -> list[BaseException]:
    """The exceptions inside nested groups; cancellations last, since they only say that another failed."""
    import asyncio

    found = (
        [leaf for inner in error.exceptions for leaf in leaves(inner)]
        if isinstance(error, BaseExceptionGroup)
        else [error]
    )
    return sorted(found, key=lambda leaf: isinstance(leaf, asyncio.CancelledError))


def cause_of(error: BaseException) -> BaseException:
    """The one exception to talk about."""
    return leaves(error)[0]


def last_words(lines: Iterable[str]) -> str:
    """The end of what a server wrote, short enough for a message."""
    kept = [line.rstrip() for line in lines if line.strip()][-_LAST_LINES:]
    text = textwrap.dedent("\n".join(kept))
    return text if len(text) <= _LAST_CHARACTERS else "…" + text[-_LAST_CHARACTERS:]


def opening_error(spec: ServerSpec, error: BaseException, about: Circumstances) -> McpServerError:
    """Why a server could not be opened."""
    if isinstance(error, Refused):
        error = error.error
    what, advice = _why_not_opened(spec, cause_of(error), about)
    if spec.unset:
        names = ", ".join(f"${{{name}}}" for name in spec.unset)
        advice = f"Its configuration names {names}, which the environment does not set. {advice}"
    return _error(spec, f"MCP server {spec.name!r} {what}.", about, advice)


def _error(spec: ServerSpec, sentence: str, about: Circumstances, advice: str) -> McpServerError:
    words = last_words(about.stderr)
    heard = f" It last wrote to stderr:\n{textwrap.indent(words, '    ')}\n" if words else " "
    text = redact(f"{sentence}{heard}{advice}", secrets=spec.secrets)
    stderr = [redact(line, secrets=spec.secrets) for line in about.stderr]
    return McpServerError(text, server=spec.name, stderr=stderr)


def _why_not_opened(spec: ServerSpec, error: BaseException, about: Circumstances) -> tuple[str, str]:
    """(what happened, what to do)."""
    if spec.command:
        return _why_no_process(spec, error, about)
    if spec.url:
        return _why_no_answer(spec, error, about)
    if isinstance(error, TimeoutError):
        return (
            f"did not answer within {spec.open_timeout:g} s while it was being opened",
            "Look at its lifespan function.",
        )
    return f"could not be opened: {describe(error)}", "Check the server object that was passed as server=."


def _why_no_process(spec: ServerSpec, error: BaseException, about: Circumstances) -> tuple[str, str]:
    program = spec.command[0]
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        if spec.cwd is not None and not Path(spec.cwd).is_dir():
            return f"could not be started: its folder {spec.cwd} does not exist", "Check cwd=."
        advice = _INSTALL.get(Path(program).name, "Install it, check the spelling, or give its full path.")
        return f"could not be started: the command {program!r} was not found", advice
    if isinstance(error, PermissionError):
        return f"could not be started: {program!r} may not be executed", "Make it executable with chmod +x."
    if isinstance(error, OSError) and not isinstance(error, TimeoutError | ConnectionError):
        return f"could not be started: {error.strerror or error}", f"Try the command in a terminal: {spec.target}"
    noise = next((line for line in about.noise if line.strip()), "")
    heard = f", and what it prints on stdout is no MCP message: {noise[:120]!r}" if noise else ""
    if isinstance(error, TimeoutError):
        advice = "Check that this command starts an MCP server that speaks on stdio, or give it longer with timeout=."
        return f"did not answer within {spec.open_timeout:g} s while it was being opened{heard}", advice
    try_it = f"Try the command in a terminal: {spec.target}"
    if about.exit_code is not None:
        return f"ended while it was being opened ({_how_it_ended(about.exit_code)}){heard}", try_it
    return f"could not be opened: {describe(error)}{heard}", try_it


def _how_it_ended(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"killed by signal {-code}"


def _why_no_answer(spec: ServerSpec, error: BaseException, about: Circumstances) -> tuple[str, str]:
    where = spec.target
    if isinstance(error, TimeoutError):
        advice = "Check that the address is an MCP endpoint, or give it longer with timeout=."
        return f"did not answer within {spec.open_timeout:g} s at {where}", advice
    last = about.replies[-1] if about.replies else None
    if last is not None and last.status >= 300:
        return f"answered HTTP {last.status} at {where}", http_advice(last.status)
    if last is not None and last.content_type and not last.content_type.startswith(_MCP_TYPES):
        what = f"answered at {where} with {last.content_type.split(';')[0]}, which is not MCP"
        return what, "Check the address: many servers are at /mcp or /sse."
    if is_unreachable(error):
        return f"could not be reached at {where}: {describe(error)}", "Check that it runs, and the host and port."
    return f"could not be opened at {where}: {describe(error)}", "Check that the address is an MCP endpoint."


_MCP_TYPES = ("application/json", "text/event-stream")


def is_http_failure(reply: Reply) -> bool:
    """Whether HTTP itself refused. A status with a JSON body is how newer servers send their own refusals."""
    told_in_json = reply.content_type.startswith("application/json") and reply.status in (400, 404)
    return reply.status >= 400 and not told_in_json


def http_advice(status: int) -> str:
    """What a person can do about an HTTP status."""
    if status in (401, 403):
        return "Check the credentials in headers=."
    if status == 429:
        return "It is asked too much: wait a little."
    if status in (404, 405):
        return "Check the path: many servers are at /mcp or /sse."
    if status in (301, 302, 303, 307, 308):
        return "It wants to be asked elsewhere: use the address it redirects to."
    if status >= 500:
        return "The fault is the server's; its own log says more."
    return "Check the address and the headers."


def is_unreachable(error: BaseException) -> bool:
    """Whether nobody could be talked to at all. httpx2 is the SDK's HTTP client; its exceptions are not httpx's."""
    import httpx2

    return isinstance(error, ConnectionError | httpx2.NetworkError | httpx2.ConnectTimeout)


def describe(error: BaseException) -> str:
    """An exception in a few words, without a class name where its text says enough."""
    if isinstance(error, Refused):
        error = error.error
    text = " ".join(str(error).split())[:300]
    if not text:
        return type(error).__name__
    says_enough = isinstance(error, ToolnexusError) or type(error).__module__.startswith(("mcp", "httpx2"))
    return text if says_enough else f"{type(error).__name__}: {text}"


def lost_error(spec: ServerSpec, about: Circumstances, doing: str) -> McpServerError:
    """A server that was open and is gone; `doing` is what it was asked for."""
    if about.closed_here:
        return McpServerError(f"MCP server {spec.name!r} was closed during {doing}.", server=spec.name)
    how = f" ({_how_it_ended(about.exit_code)})" if about.exit_code is not None else ""
    sentence = f"MCP server {spec.name!r} went away{how} during {doing}."
    return _error(spec, sentence, about, "It is opened again at the next call.")


def refused_call(spec: ServerSpec, tool: str, refusal: Refused, offered: Sequence[str] | None) -> str:
    """The sentence for a call that was answered with an error. `offered`: its tools, if `tool` is none of them."""
    said = redact(describe(refusal.error), secrets=spec.secrets).rstrip(".")
    name = f"MCP server {spec.name!r}"
    bad = next((reply.status for reply in refusal.replies if is_http_failure(reply)), None)
    if bad is not None:
        return f"{name} answered the call of {tool!r} with HTTP {bad} ({said}). {http_advice(bad)}"
    if offered is not None:
        names = ", ".join(offered) or "none"
        return f"{name} does not offer {tool!r} (any more): {said}. Its tools now: {names}."
    data = getattr(refusal.error, "data", None)
    more = f" ({redact(str(data), secrets=spec.secrets)})" if data else ""
    return f"{name} refused the call of {tool!r}: {said}{more}."
