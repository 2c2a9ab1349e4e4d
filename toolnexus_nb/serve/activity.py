"""What the server is doing, for the card in the notebook and for the log: how many requests, which calls."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..openai.json_text import clean_text

if TYPE_CHECKING:
    from ..tools.results import ToolResult

log = logging.getLogger("toolnexus_nb.serve")

_KEPT = 50


@dataclass(frozen=True, slots=True)
class ServedCall:
    """One tool call that somebody else asked for. `seconds` is the tool's own time; `at` a Unix time."""

    tool: str
    seconds: float
    state: str
    """done, failed, cancelled or denied"""
    through: str
    """chat (the completions endpoint) or mcp"""
    at: float = field(default_factory=time.time)


def log_output(tool: str, result: ToolResult) -> None:
    """What a tool printed and where it failed: neither goes to the caller, and the person who serves it wants both."""
    if result.printed:
        log.info("%s printed: %s", tool, clean_text(result.printed.rstrip("\n")))
    if result.traceback:
        log.warning("%s failed: %s", tool, clean_text(result.traceback.rstrip("\n")))


@dataclass
class Activity:
    """Counters and the last calls. Written on the server's loop, read from anywhere."""

    requests: int = 0
    running: int = 0
    failed: int = 0
    problem: str = ""
    """What went wrong with the last request that failed."""
    calls: deque[ServedCall] = field(default_factory=lambda: deque(maxlen=_KEPT))
    watchers: list[Callable[[], None]] = field(default_factory=list)
    """Called after each change, on the server's loop; must be quick and must not raise."""

    def began(self) -> None:
        self.requests += 1
        self.running += 1
        self._tell()

    def ended(self, problem: str = "") -> None:
        """A request is over; `problem` says what went wrong with it."""
        self.running -= 1
        if problem:
            self.failed += 1
            self.problem = problem
        self._tell()

    def called_directly(self, call: ServedCall) -> None:
        """An MCP client called a tool: a request of its own."""
        self.requests += 1
        self.called(call)

    def called(self, call: ServedCall) -> None:
        self.calls.append(call)
        log.info("%s: %s %s in %.2f s", call.through, call.tool, call.state, call.seconds)
        self._tell()

    def _tell(self) -> None:
        for watcher in list(self.watchers):
            watcher()
