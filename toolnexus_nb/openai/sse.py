"""Bytes of an event stream, in any cut, to events: the WHATWG rules plus what endpoints do beside them.

Rows D01 to D19 of the quirks. The reader knows nothing of chunks; it hands on what looks like data.
"""

from __future__ import annotations

from typing import NamedTuple

_BOM = b"\xef\xbb\xbf"
_KEPT = 8_000_000  # bytes of unrecognised lines that are kept, since they may be a whole JSON body


class SSEEvent(NamedTuple):
    """One event. `name`: the `event:` field, "error" for an `error:` line (D18), ":" for a comment, else ""."""

    name: str
    data: bytes


class SSEReader:
    """Feed it bytes, get the events that are complete; `finish()` gives what the end of the bytes completes.

    Lines end with LF, CRLF or CR wherever the bytes are cut (D04). Events are parted by empty lines, and where a
    server forgets those, by two data lines of which each is an object of its own (D08). A line of bare JSON is an
    event too (D16, D19), and so is a whole body of JSON over many lines (D15).
    """

    def __init__(self) -> None:
        self._open: list[bytes] = []  # pieces of the line that has not ended
        self._data: list[bytes] = []  # data lines of the event that has not ended
        self._name = ""
        self._after_cr = False
        self._first_line = True
        self._strange: list[bytes] = []
        self._strange_size = 0

    @property
    def unrecognised(self) -> bytes:
        """The lines that are no part of any event."""
        return b"\n".join(self._strange)

    def feed(self, piece: bytes) -> list[SSEEvent]:
        """Take the next bytes and give the events they complete."""
        if self._after_cr and piece:
            self._after_cr = False
            if piece[:1] == b"\n":  # the second half of a CRLF that was cut
                piece = piece[1:]
        if not piece:
            return []
        lines = piece.splitlines()
        last = piece[-1:]
        ends_open = last not in b"\r\n"
        self._after_cr = last == b"\r"
        rest = lines.pop() if ends_open else b""
        if lines and self._open:
            lines[0] = b"".join([*self._open, lines[0]])
            self._open = []
        if ends_open:
            self._open.append(rest)
        return self._read(lines)

    def finish(self) -> list[SSEEvent]:
        """Take the end of the bytes as the end of the last line and of the last event (D14)."""
        lines = [b"".join(self._open)] if self._open else []
        self._open = []
        events = self._read([*lines, b""])
        whole = self.unrecognised.strip()
        if whole[:1] in (b"{", b"["):
            events.append(SSEEvent("", whole))
            self._strange = []
        return events

    def _read(self, lines: list[bytes]) -> list[SSEEvent]:
        events: list[SSEEvent] = []
        if lines and self._first_line:
            self._first_line = False
            lines[0] = lines[0].removeprefix(_BOM)
        for line in lines:
            if line.startswith(b"data:"):
                value = line[6:] if line[5:6] == b" " else line[5:]
                if self._data and _begins_anew(self._data[-1], value):
                    self._dispatch(events)
                self._data.append(value)
            elif line:
                self._read_other(line, events)
            else:
                self._dispatch(events)
        return events

    def _dispatch(self, events: list[SSEEvent]) -> None:
        if self._data:
            data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
            if data.strip() and data[:1] != b":":  # D02, D09
                events.append(SSEEvent(self._name, data))
            self._data = []
        self._name = ""

    def _read_other(self, line: bytes, events: list[SSEEvent]) -> None:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"":
            events.append(SSEEvent(":", value))
        elif field == b"event":
            self._name = value.decode("utf-8", "replace").strip()
        elif field == b"data":
            self._data.append(b"")
        elif field == b"error" and value.lstrip()[:1] == b"{":
            events.append(SSEEvent("error", value))
        elif field in (b"id", b"retry"):
            pass  # positions for reconnecting, which no endpoint of this kind offers
        elif not self._strange and _is_bare_json(line):
            events.append(SSEEvent("", line))
        elif self._strange_size < _KEPT:
            self._strange.append(line)
            self._strange_size += len(line)


def _begins_anew(before: bytes, after: bytes) -> bool:
    """Whether a data line starts an event of its own: no JSON text has `}` and on its next line `{` or `[DONE]`."""
    return before.rstrip()[-1:] == b"}" and (after.lstrip()[:1] == b"{" or after.strip() == b"[DONE]")


def _is_bare_json(line: bytes) -> bool:
    line = line.strip()
    return (line[:1], line[-1:]) in ((b"{", b"}"), (b"[", b"]"))
