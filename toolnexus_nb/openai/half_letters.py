"""Letters that a server cut in two: half a surrogate pair at the end of one event, the other half in the next (D21).

Servers that cut UTF-16 text do this to emoji. Each half alone can't be encoded, so it waits here for the other.
"""

from __future__ import annotations

from typing import Any

_Path = tuple[str | int, ...]


class HalfLetters:
    """Holds first halves between events; true while it holds any."""

    def __init__(self) -> None:
        self._held: dict[_Path, str] = {}

    def __bool__(self) -> bool:
        return bool(self._held)

    def mend(self, event: Any) -> Any:
        """Put the held halves before the same texts of this event, and take the halves its texts end with."""
        held, self._held = self._held, {}
        for path, half in held.items():
            self._put_before(event, path, half)
        self._take(event, ())
        return event

    def _put_before(self, event: Any, path: _Path, half: str) -> None:
        *way, key = path
        try:
            for step in way:
                event = event[step]
            text = event.get(key) if isinstance(event, dict) else event[key]
            event[key] = half + text if isinstance(text, str) else "\ufffd"  # no text here: the other half is lost
        except (LookupError, TypeError):
            self._held[path] = half  # the event is about something else

    def _take(self, value: Any, path: _Path) -> None:
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, item in list(items):
            if isinstance(item, str) and "\ud800" <= item[-1:] <= "\udbff":
                self._held[*path, key] = item[-1]
                value[key] = item[:-1]
            else:
                self._take(item, (*path, key))
