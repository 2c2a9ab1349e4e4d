"""How an MCP server looks: a card of one, a table of all. Pure functions from `McpStatus` to HTML, with text twins."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .display import static_bundle
from .markup import code, counted, duration, esc, fold, head, hint, join, pre, printable, section, table, tag

if TYPE_CHECKING:
    from ..tools.mcp_status import McpStatus

_LOOKS = {"open": "done", "failed": "failed", "lost": "stopped", "closed": "stopped", "disabled": "stopped"}
_MEANS = {
    "lost": "lost; the next call opens it again",
    "failed": "could not be opened",
    "disabled": "disabled in its configuration",
}
_SHOWN_TOOLS = 40


class McpCard:
    """One server as it was when asked about."""

    def __init__(self, status: McpStatus) -> None:
        self.status = status

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return static_bundle(card_html(self.status), card_text(self.status))

    def __str__(self) -> str:
        return card_text(self.status)


class McpList:
    """All servers of a toolkit as they were when asked about, and what is wrong."""

    def __init__(self, statuses: Sequence[McpStatus], findings: Sequence[str] = ()) -> None:
        self.statuses = list(statuses)
        self.findings = list(findings)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return static_bundle(list_html(self.statuses, self.findings), str(self))

    def __str__(self) -> str:
        return list_text(self.statuses, self.findings)


def card_html(status: McpStatus) -> str:
    """Connected since, protocol, tools, calls, last error, the end of stderr."""
    facts = "".join(tag("dt", esc(name)) + tag("dd", value) for name, value in _facts(status) if value)
    parts = [tag("dl", facts, cls="tnx-args", style="margin:0 0 6px")]
    if status.notes:
        parts.append(fold(esc(counted(len(status.notes), "note")), _items(status.notes), open=True))
    if status.last_error:
        parts.append(fold("last error", pre(status.last_error), open=status.state != "open"))
    if any(line.strip() for line in status.stderr):
        parts.append(
            fold("last lines on stderr", pre("\n".join(status.stderr)), open=status.state in ("failed", "lost"))
        )
    if status.instructions:
        parts.append(fold("what the server says about itself", pre(status.instructions)))
    top = head("MCP server", code(status.name), status=state_html(status.state))
    body = tag("div", *parts, style="padding:8px 14px")
    return section(f"MCP server {status.name}", top, body, cls="tnx-mcp")


def state_html(state: str) -> str:
    """The state in words and a shape, not by colour alone."""
    return tag("span", tag("span", esc(state), cls="tnx-state"), cls=f"tnx-is-{_LOOKS.get(state, 'stopped')}")


def _facts(status: McpStatus) -> list[tuple[str, str]]:
    named = f"{status.server_name} {status.version}".strip()
    protocol = f"MCP {status.protocol}" if status.protocol else ""
    process = f"process {status.pid}" if status.pid else ""
    return [
        ("server", join([esc(named), esc(protocol), esc(process)])),
        ("reached by", f"{esc(status.transport)}: {code(status.target)}"),
        ("state", esc(_state_words(status))),
        ("tools", _tools_html(status)),
        ("calls", esc(_calls_words(status))),
    ]


def _state_words(status: McpStatus) -> str:
    if status.state == "open" and status.since is not None:
        again = f", opened again {counted(status.reopened, 'time')}" if status.reopened else ""
        return f"open since {time.strftime('%H:%M:%S', time.localtime(status.since))}{again}"
    return _MEANS.get(status.state, status.state)


def _calls_words(status: McpStatus) -> str:
    if not status.calls:
        return "none yet"
    failed = f", {status.failed} failed" if status.failed else ""
    return f"{status.calls}{failed}, {duration(status.seconds / status.calls)} on average"


def _tools_html(status: McpStatus) -> str:
    shown = " ".join(code(name) for name in status.tools[:_SHOWN_TOOLS])
    more = f" and {len(status.tools) - _SHOWN_TOOLS} more" if len(status.tools) > _SHOWN_TOOLS else ""
    hidden = f"{len(status.hidden)} left out by the filter" if status.hidden else ""
    return join([shown + esc(more) if status.tools else "none", hint(hidden) if hidden else ""])


def _items(lines: Sequence[str]) -> str:
    return tag("ul", *(tag("li", esc(line)) for line in lines))


def card_text(status: McpStatus) -> str:
    named = f"{status.server_name} {status.version}".strip()
    lines = [
        f"MCP server {status.name}: {_state_words(status)}",
        f"  server:     {join([named, f'MCP {status.protocol}' if status.protocol else ''])}",
        f"  reached by: {status.transport}: {status.target}",
        f"  tools:      {', '.join(status.tools) or 'none'}",
        f"  calls:      {_calls_words(status)}",
        *(f"  note:       {note}" for note in status.notes),
    ]
    if status.last_error:
        lines.append(f"  last error: {status.last_error}")
    if any(line.strip() for line in status.stderr):
        lines += ["  stderr:", *(f"    {line}" for line in status.stderr)]
    return printable("\n".join(lines))


def list_html(statuses: Sequence[McpStatus], findings: Sequence[str] = ()) -> str:
    """A table of the servers, and what is wrong."""
    rows = [
        (
            tag("code", esc(status.name), style="white-space:nowrap"),
            state_html(status.state),
            esc(str(len(status.tools))),
            esc(_calls_words(status)),
            f"{esc(status.transport)}: {code(status.target)}",
        )
        for status in statuses
    ]
    parts = [head("MCP servers", esc(counted(len(rows), "server")))]
    if rows:
        parts.append(table(["server", "state", "tools", "calls", "reached by"], rows))
    if findings:
        parts.append(_items(findings))
    return section("MCP servers", *parts, cls="tnx-mcp")


def list_text(statuses: Sequence[McpStatus], findings: Sequence[str] = ()) -> str:
    width = max((len(status.name) for status in statuses), default=0)
    lines = [
        f"{status.name:<{width}}  {status.state:<8}  {counted(len(status.tools), 'tool')}  "
        f"{status.transport}: {status.target}"
        for status in statuses
    ]
    return printable("\n".join([*lines, *(f"! {finding}" for finding in findings)]))
