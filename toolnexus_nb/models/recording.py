"""The file of a recording: JSON lines a person can read and a diff can show. No key is ever written.

    {"recording": 1, "made": "2026-11-30T15:00:00+00:00", "by": "toolnexus_nb 0.1.0"}
    {"request": 1, "round": 1, "prompt": "Weather in Oslo?", "model": "…", "endpoint": "…", "after": 0, "messages":
    [...], "tools": [...], "parameters": {...}}
    {"at": 0.31, "event": {"choices": [...]}}             one server-sent event; `at` is seconds since the request
    {"at": 0.9, "text": "data: [DONE]\\n\\n"}              bytes that are no JSON event
    {"end": 1, "status": 200, "seconds": 0.91, "usage": {...}, "error": null}

A request's `messages` are those that are new: the first `after` are those of the request before it. `tools` is
"same" when they did not change.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..openai.errors import ToolnexusError, redact, redact_value
from ..openai.sse import SSEReader
from ..rounds.profiles import PRESETS
from ..rounds.secrets import HIDDEN, looks_secret
from ..rounds.tap import Exchange, on_exchange

VERSION = 1
_NOT_PARAMETERS = ("messages", "tools", "model", "stream", "stream_options")


class RecordingError(ToolnexusError):
    """A recording that can't be read: missing, of another version, cut off or edited. The message says which line."""


@dataclass
class Recorded:
    """One request of a recording and the answer to it. `events` are (seconds, bytes)."""

    number: int
    round: int
    model: str
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    parameters: dict[str, Any]
    status: int = 200
    content_type: str = "text/event-stream"
    events: list[tuple[float, bytes]] = field(default_factory=list)
    seconds: float = 0.0
    error: str | None = None

    @property
    def prompt(self) -> str:
        """The last user message."""
        return prompt_of(self.messages)


def prompt_of(messages: Iterable[Mapping[str, Any]]) -> str:
    """The text of the last user message."""
    text = ""
    for message in messages:
        if message.get("role") == "user":
            content = message.get("content")
            text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return text


# --- writing


class Recorder:
    """Writes every exchange that ends while it is on. A context manager; `stop()` may be called again and again."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.requests = 0
        self._messages: list[Any] = []
        self._tools: Any = None
        self._lock = threading.Lock()
        self._secrets = tuple(_environment_secrets())
        try:
            self._file = self.path.open("w", encoding="utf-8", errors="replace")
        except OSError as error:
            raise RecordingError(f"cannot write the recording {self.path}: {error.strerror or error}") from None
        from .. import __version__

        made = datetime.now(UTC).isoformat(timespec="seconds")
        self._write([{"recording": VERSION, "made": made, "by": f"toolnexus_nb {__version__}"}])
        self._undo = on_exchange(self._keep)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "stopped" if self._file.closed else "on"
        return f"<Recorder {state}: {self.requests} request{'s' * (self.requests != 1)} in {self.path}>"

    @property
    def on(self) -> bool:
        """Whether it still records."""
        return not self._file.closed

    def stop(self) -> None:
        """Record no more; the file is complete."""
        self._undo()
        with self._lock:
            self._file.close()

    def _keep(self, exchange: Exchange) -> None:
        if exchange.request.method != "POST" or not exchange.request.body.get("messages"):
            return
        with self._lock:
            if not self._file.closed:
                self.requests += 1
                self._write(self._lines(exchange))

    def _lines(self, exchange: Exchange) -> Iterator[dict[str, Any]]:
        body = clean(dict(exchange.request.body), self._secrets)
        messages, tools = body.get("messages") or [], body.get("tools") or []
        after = _shared(self._messages, messages)
        yield {
            "request": self.requests,
            "round": exchange.round,
            "attempt": exchange.attempt,
            "prompt": prompt_of(messages),
            "model": body.get("model"),
            "endpoint": redact(exchange.request.url, self._secrets),
            "after": after,
            "messages": messages[after:],
            "tools": "same" if tools == self._tools else tools,
            "parameters": {key: value for key, value in body.items() if key not in _NOT_PARAMETERS},
        }
        self._messages, self._tools = messages, tools
        yield from _event_lines(exchange, self._secrets)
        yield {
            "end": self.requests,
            "status": exchange.status,
            "content_type": exchange.headers.get("content-type", ""),
            "seconds": round(exchange.ended or 0.0, 3),
            "error": redact(exchange.error, self._secrets) if exchange.error else None,
        }

    def _write(self, lines: Iterable[dict[str, Any]]) -> None:
        self._file.write("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
        self._file.flush()


def _event_lines(exchange: Exchange, secrets: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """One line for each event, with the time of its last byte; a body that is no stream is one line of text."""
    if "event-stream" not in exchange.headers.get("content-type", "") and not exchange.body.lstrip().startswith(
        (b"data:", b":", b"event:")
    ):
        text = redact(exchange.body.decode("utf-8", "replace"), secrets)
        if text:
            yield {"at": round(exchange.chunks[-1][0], 3), "text": text}
        return
    reader = SSEReader()
    last = 0.0
    for at, piece in exchange.chunks:
        last = at
        for event in reader.feed(piece):
            yield _event_line(at, event.name, event.data, secrets)
    for event in reader.finish():
        yield _event_line(last, event.name, event.data, secrets)


def _event_line(at: float, name: str, data: bytes, secrets: tuple[str, ...]) -> dict[str, Any]:
    text = data.decode("utf-8", "replace")
    if name in ("", "message"):
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        if isinstance(value, dict):
            return {"at": round(at, 3), "event": redact_value(value, secrets)}
    prefix = ": " if name == ":" else f"event: {name}\ndata: " if name else "data: "
    return {"at": round(at, 3), "text": redact(prefix + text, secrets) + "\n\n"}


def clean(value: Any, secrets: tuple[str, ...]) -> Any:
    """A request body without keys: whatever looks like one, and every text under a name that speaks of one."""
    if isinstance(value, dict):
        cleaned = {}
        for key, inner in value.items():
            secret = isinstance(inner, str) and looks_secret(str(key)) and len(inner) >= 8
            cleaned[key] = HIDDEN if secret else clean(inner, secrets)
        return cleaned
    if isinstance(value, list):
        return [clean(inner, secrets) for inner in value]
    return redact(value, secrets) if isinstance(value, str) else value


def _environment_secrets() -> Iterator[str]:
    """The keys this process knows of, so that none is written even where it looks like no key."""
    names = {"OPENAI_API_KEY", *(name for profile in PRESETS.values() for name in profile.key_variables)}
    yield from (value for name in sorted(names) if (value := os.environ.get(name)))


def _shared(before: list[Any], now: list[Any]) -> int:
    count = 0
    for one, other in zip(before, now, strict=False):
        if one != other:
            break
        count += 1
    return count


# --- reading


def read_recording(path: str | os.PathLike[str]) -> list[Recorded]:
    """The requests of a recording, in order.

    Raises RecordingError in one sentence when the file is missing, of another version, cut off, or edited out of shape.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise RecordingError(f"there is no recording {path}; %toolnexus record {path} makes one") from None
    except (OSError, UnicodeDecodeError) as error:
        raise RecordingError(f"{path} can't be read as a recording: {error}") from None
    found: list[Recorded] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except ValueError:
            where = (
                "ends in the middle of a line: it was cut off"
                if number == len(lines)
                else "is no JSON: the file was edited or damaged"
            )
            raise RecordingError(f"{path}, line {number}, {where}; record it again") from None
        if not isinstance(entry, dict):
            raise RecordingError(f"{path}, line {number}, is no JSON object; record it again")
        if number == 1:
            _check_version(path, entry)
            continue
        try:
            _take(entry, found)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise RecordingError(
                f"{path}, line {number}, is not as it was written ({type(error).__name__}: {error}); record it again"
            ) from None
    if not lines:
        raise RecordingError(f"{path} is empty; record it again")
    if found and found[-1].seconds < 0:
        raise RecordingError(
            f"{path} ends in the middle of request {found[-1].number}: it was cut off; record it again"
        )
    return found


def _check_version(path: str | os.PathLike[str], entry: dict[str, Any]) -> None:
    version = entry.get("recording")
    if version is None:
        raise RecordingError(f'{path} is no recording: its first line lacks "recording"')
    if version != VERSION:
        raise RecordingError(
            f"{path} is a recording of version {version}, and this toolnexus_nb reads version {VERSION}; "
            f"record it again"
        )


def _take(entry: dict[str, Any], found: list[Recorded]) -> None:
    """Add one line to what was read so far."""
    if "request" in entry:
        before = found[-1] if found else None
        after = int(entry.get("after", 0))
        if after and (before is None or len(before.messages) < after):
            raise ValueError(f"it goes on after message {after} of a request that is not there")
        messages = [*(before.messages[:after] if before is not None else ()), *entry["messages"]]
        tools = entry.get("tools") or []
        if tools == "same":
            tools = before.tools if before is not None else []
        found.append(
            Recorded(
                number=int(entry["request"]),
                round=int(entry.get("round", 0)),
                model=str(entry.get("model") or ""),
                messages=messages,
                tools=list(tools),
                parameters=dict(entry.get("parameters") or {}),
                seconds=-1.0,
            )
        )
    elif "end" in entry:
        last = found[-1]
        last.status = int(entry.get("status") or 0)
        last.content_type = str(entry.get("content_type") or last.content_type)
        last.seconds = float(entry.get("seconds") or 0.0)
        last.error = entry.get("error")
    elif "event" in entry:
        found[-1].events.append(
            (
                float(entry["at"]),
                b"data: " + json.dumps(entry["event"], ensure_ascii=False).encode("utf-8", "replace") + b"\n\n",
            )
        )
    elif "text" in entry:
        found[-1].events.append((float(entry["at"]), str(entry["text"]).encode("utf-8", "replace")))
    else:
        raise KeyError("request, event, text or end")
