"""What a tool prints, kept with its call: `print` in one tool never lands in another's output, nor in the wrong cell.

`sys.stdout` and `sys.stderr` are replaced once, on first use, by a router that asks a ContextVar where this task or
thread writes. Everybody who is not inside `capture_prints` writes to the stream that stood there before, as if
nothing happened.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TextIO, cast

LONGEST = 100_000
"""Characters kept of one call's printed output."""

_buffer: ContextVar[PrintBuffer | None] = ContextVar("toolnexus_prints", default=None)
_install_lock = threading.Lock()


class PrintBuffer:
    """What one call has printed so far; written by any thread that carries the call's context."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._lock = threading.Lock()

    def write(self, text: str) -> int:
        with self._lock:
            room = LONGEST - self._length
            if room > 0:
                self._pieces.append(text[:room])
            self._length += len(text)
        return len(text)

    @property
    def text(self) -> str:
        """Everything printed, with a note if it was cut."""
        with self._lock:
            text = "".join(self._pieces)
            over = self._length - LONGEST
        return f"{text}\n… ({over} more characters were printed)" if over > 0 else text


class _Router:
    """Stands in for a standard stream; everything but writing is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        buffer = _buffer.get()
        return self.stream.write(text) if buffer is None else buffer.write(str(text))

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def _install() -> None:
    with _install_lock:
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if stream is not None and type(stream) is not _Router:
                setattr(sys, name, cast(TextIO, _Router(stream)))


@contextmanager
def capture_prints() -> Iterator[PrintBuffer]:
    """Collect what this task, and the threads it starts with its context, print while entered."""
    if type(sys.stdout) is not _Router or type(sys.stderr) is not _Router:
        _install()
    buffer = PrintBuffer()
    token = _buffer.set(buffer)
    try:
        yield buffer
    finally:
        _buffer.reset(token)
