"""Plain values about an MCP server, for cards, listings and programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class LogEntry:
    """Something a server logged through MCP. `time` is in seconds since the epoch."""

    time: float
    level: str
    logger: str | None
    data: Any

    def __str__(self) -> str:
        return f"{self.level}: {self.data if isinstance(self.data, str) else repr(self.data)}"


@dataclass(frozen=True)
class McpStatus:
    """How a server is doing, for a card: plain values, secrets blanked.

    `state`: open, opening, closed, failed, lost (it went away; the next call opens it again) or disabled.
    `since`: seconds since the epoch when this session opened. `seconds`: the sum of the times of its calls.
    """

    name: str
    state: str
    transport: str
    target: str
    server_name: str = ""
    version: str = ""
    protocol: str = ""
    instructions: str = ""
    since: float | None = None
    pid: int | None = None
    tools: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    calls: int = 0
    failed: int = 0
    seconds: float = 0.0
    reopened: int = 0
    last_error: str = ""
    stderr: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class McpResource:
    """Something a server lets read: `await server.read(uri)`. A template has {names} in its uri to be filled in."""

    uri: str
    name: str
    description: str = ""
    mime_type: str = ""
    size: int | None = None
    template: bool = False


@dataclass(frozen=True)
class McpPrompt:
    """A prompt a server offers. `arguments` maps names to (description, required)."""

    name: str
    description: str = ""
    arguments: Mapping[str, tuple[str, bool]] = field(default_factory=dict)
