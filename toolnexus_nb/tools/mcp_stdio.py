"""A server as a child process: start it, exchange lines of JSON, keep what it writes to stderr, end its whole group.

The SDK has a stdio transport too. This one exists because a notebook needs what that one hides: the process id and exit
code (for the card and for sentences like "it ended with exit code 1"), lines on stdout that are no messages (kept and
shown, where the SDK logs a traceback each), and a shutdown short enough for a kernel that is being restarted.

How a process ends: its stdin is closed, then after `grace` seconds its process group gets SIGTERM, then after `grace`
seconds SIGKILL. What it started itself is in that group and ends with it. Nothing cancels this halfway.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..openai.json_text import dump_json
from .mcp_mending import may_begin_message, read_message

if TYPE_CHECKING:
    from .mcp_config import ServerSpec

CLOSE_GRACE = 1.0
"""Seconds a server gets to end by itself after its stdin closed, and again after SIGTERM."""
HURRIED_GRACE = 0.3
"""The same when the interpreter ends, or when the server never got ready."""
_KEPT_LINES = 200
_KEPT_WIDTH = 2000
_CHUNK = 1 << 16
_LARGEST_MESSAGE = 256 * 1024 * 1024
"""Bytes of one line after which a server is taken for broken; its memory would be ours."""


class Tail:
    """The last lines of a stream of bytes, bounded in number and width."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._rest = b""

    def feed(self, data: bytes) -> None:
        *whole, rest = (self._rest + data).split(b"\n")
        for line in whole:
            self.add(line)
        if len(rest) > _KEPT_WIDTH:  # a line without end must not grow for ever
            self.add(rest)
            rest = b""
        self._rest = rest

    def add(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").rstrip("\r")
        self._lines.append(text if len(text) <= _KEPT_WIDTH else text[:_KEPT_WIDTH] + "…")

    @property
    def lines(self) -> list[str]:
        rest = self._rest.decode("utf-8", "replace")
        return [*self._lines, rest] if rest.strip() else list(self._lines)

    def clear(self) -> None:
        self._lines.clear()
        self._rest = b""


class ServerProcess:
    """The process of one session, as others may look at it. `hurry` shortens its end; `end_now` needs no event loop."""

    def __init__(self, stderr: Tail) -> None:
        self.stderr = stderr
        self.noise = Tail()
        """Lines on stdout that are no MCP messages."""
        self.pid: int | None = None
        self.exit_code: int | None = None
        self.hurry = False
        self.ended_by_itself = False
        """Whether it ended before we began to end it; only then does the exit code say anything."""
        self.ending = False

    @property
    def grace(self) -> float:
        return HURRIED_GRACE if self.hurry else CLOSE_GRACE

    def end_now(self) -> None:
        """Kill what is left of the process group, at once; for the very end of the interpreter."""
        if self.pid is not None and self.exit_code is None:
            _signal_group(self.pid, _KILL)


_TERM = signal.SIGTERM
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


def _signal_group(pid: int, number: int) -> bool:
    """Signal a process group; whether anybody was there. Windows has no groups of this kind: the process alone."""
    try:
        if sys.platform == "win32":
            os.kill(pid, number)
        else:
            os.killpg(pid, number)
    except OSError:
        return False
    return True


@asynccontextmanager
async def stdio_transport(
    spec: ServerSpec, process: ServerProcess, on_end: Callable[[], None]
) -> AsyncIterator[tuple[Any, Any]]:
    """Run `spec.command` and give the two streams `mcp.Client` wants. `on_end` is called when its stdout ends.

    Raises OSError when the program cannot be started.
    """
    import anyio

    environment = spec.child_environment()
    child = await asyncio.create_subprocess_exec(
        _found(spec.command[0], environment),
        *spec.command[1:],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=spec.cwd,
        start_new_session=True,  # Stop interrupts the kernel's process group; the server must not be in it
    )
    process.pid = child.pid
    # No await from here to the try: a cancellation in between would leave the process without an owner.
    received, incoming = anyio.create_memory_object_stream[Any](0)
    outgoing, to_send = anyio.create_memory_object_stream[Any](0)

    def on_stdout_end() -> None:
        process.ended_by_itself = not process.ending
        on_end()

    tasks = [
        asyncio.create_task(_read_messages(child, received, process.noise, on_stdout_end)),
        asyncio.create_task(_write_messages(child, to_send, received)),
        asyncio.create_task(_read_stderr(child, process.stderr)),
    ]
    try:
        yield incoming, outgoing
    finally:
        process.ending = True
        # A task of its own, waited for to its end: whoever cancels us must not leave the process half ended.
        ending = asyncio.create_task(_end(child, process, tasks, (incoming, outgoing, received, to_send)))
        await _wait_through(ending)


def _found(program: str, environment: dict[str, str]) -> str:
    """The program, also if it is installed beside this Python: a kernel seldom has its environment on its PATH."""
    on_path = shutil.which(program, path=environment.get("PATH"))
    if os.sep in program or on_path:
        return on_path or program if sys.platform == "win32" else program  # Windows starts no `npx`, only `npx.cmd`
    beside = Path(sys.executable).parent / program
    return str(beside) if beside.is_file() else program


async def _wait_through(task: asyncio.Task[None]) -> None:
    """Wait until the task is done, whatever happens meanwhile, and only then pass a cancellation on."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            if task.cancelled():
                raise
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled


async def _read_messages(
    child: asyncio.subprocess.Process, received: Any, noise: Tail, on_end: Callable[[], None]
) -> None:
    import anyio
    from mcp.shared.message import SessionMessage

    assert child.stdout is not None
    pieces: list[bytes] = []  # of the line that is still coming; joined once, since results may be many megabytes
    try:
        while sum(map(len, pieces)) <= _LARGEST_MESSAGE and (data := await child.stdout.read(_CHUNK)):
            *ends, rest = data.split(b"\n")
            for end in ends:
                line = b"".join((*pieces, end))
                pieces.clear()
                if not line.strip():
                    continue
                message = read_message(line)
                if message is None:
                    noise.add(line)
                else:
                    await received.send(SessionMessage(message))
            if rest and may_begin_message(pieces[0] if pieces else b""):  # of noise the beginning is enough
                pieces.append(rest)
        if pieces:
            noise.add(pieces[0])
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        # The session is gone. Reading on keeps a server that still writes from blocking before it sees its stdin close.
        while await child.stdout.read(_CHUNK):
            pass
    finally:
        received.close()
        on_end()


async def _write_messages(child: asyncio.subprocess.Process, to_send: Any, received: Any) -> None:
    assert child.stdin is not None
    try:
        async for session_message in to_send:
            # Not pydantic's own JSON: half a surrogate in an argument raises there, and ended this task.
            message = session_message.message.model_dump(mode="json", by_alias=True, exclude_unset=True)
            child.stdin.write(dump_json(message).encode() + b"\n")
            await child.stdin.drain()
    except (ConnectionError, OSError):
        received.close()  # nobody reads any more: the session must hear of it instead of waiting


async def _read_stderr(child: asyncio.subprocess.Process, tail: Tail) -> None:
    assert child.stderr is not None
    while data := await child.stderr.read(_CHUNK):
        tail.feed(data)


async def _end(
    child: asyncio.subprocess.Process, process: ServerProcess, tasks: list[asyncio.Task[None]], streams: tuple[Any, ...]
) -> None:
    incoming, outgoing, received, to_send = streams
    _, writer, _ = tasks
    incoming.close()
    outgoing.close()
    await asyncio.wait([writer], timeout=0.3)  # what was accepted is still written
    assert child.stdin is not None
    with suppress(OSError, RuntimeError):
        child.stdin.close()
    if not await _ended(child, process.grace):
        process.ended_by_itself = False  # it closed its stdout and lives on: the exit code will be our doing
        _signal_group(child.pid, _TERM)
        if not await _ended(child, process.grace):
            _signal_group(child.pid, _KILL)
            await _ended(child, 2.0)
    await _end_descendants(child.pid, process.grace)
    process.exit_code = child.returncode
    await asyncio.wait(tasks, timeout=0.3)  # the last words on stderr
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    received.close()
    to_send.close()
    # Nothing public closes pipes that a process outside the group still holds; left open, they warn when collected.
    transport = getattr(child, "_transport", None)
    if transport is not None:
        with suppress(PermissionError):
            transport.close()


async def _ended(child: asyncio.subprocess.Process, seconds: float) -> bool:
    """Whether the process ends in time. Not by `wait()`, which also waits for pipes that others may hold."""
    end = time.monotonic() + seconds
    while child.returncode is None:
        if time.monotonic() >= end:
            return False
        await asyncio.sleep(0.01)
    return True


async def _end_descendants(group: int, grace: float) -> None:
    """End what the server started and left behind in its process group."""
    if sys.platform == "win32" or not _signal_group(group, _TERM):
        return
    end = time.monotonic() + grace
    while _signal_group(group, 0):
        if time.monotonic() >= end:
            _signal_group(group, _KILL)
            return
        await asyncio.sleep(0.01)
