"""What happened to a tool when its cell was run again: the old one, the new one, the difference in words."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .definition import Tool


@dataclass(frozen=True)
class ToolChange:
    """One registration, replacement or removal. `when` is in seconds since the epoch."""

    name: str
    before: Tool | None
    after: Tool | None
    when: float = field(default_factory=time.time)

    @property
    def kind(self) -> str:
        """ "registered", "removed", "changed" or "unchanged" (run again, nothing a model sees is different)."""
        if self.before is None:
            return "registered"
        if self.after is None:
            return "removed"
        return "changed" if self.differences else "unchanged"

    @property
    def differences(self) -> list[str]:
        """Short phrases: `+units`, `-days`, `days: default 3 → 5`."""
        if self.before is None or self.after is None:
            return []
        return list(_differences(self.before, self.after))

    def diff(self) -> str:
        """One readable line: `changed: +units, days: default 3 → 5`."""
        return f"{self.kind}: {', '.join(found)}" if (found := self.differences) else self.kind

    def __str__(self) -> str:
        return f"{self.name} {self.diff()}"


def _differences(before: Tool, after: Tool) -> Iterator[str]:
    if before.description != after.description:
        yield "description"
    old, new = before.input_schema, after.input_schema
    was, now = old.get("properties", {}), new.get("properties", {})
    yield from (f"+{key}" for key in now if key not in was)
    yield from (f"-{key}" for key in was if key not in now)
    for key in now:
        if key in was:
            yield from _property(key, was[key], now[key])
            before_required, after_required = key in old.get("required", ()), key in new.get("required", ())
            if before_required != after_required:
                yield f"{key}: {'now' if after_required else 'no longer'} required"
    if old.get("additionalProperties") != new.get("additionalProperties"):
        yield "further keys"
    if old.get("$defs") != new.get("$defs"):
        yield "definitions"
    for name in ("strict", "timeout", "main_thread"):
        if getattr(before, name) != getattr(after, name):
            yield f"{name} {getattr(before, name)} → {getattr(after, name)}"


def _property(key: str, was: Any, now: Any) -> Iterator[str]:
    if not isinstance(was, dict) or not isinstance(now, dict):
        if was != now:
            yield f"{key}: {_short(was)} → {_short(now)}"
        return
    for part in dict.fromkeys([*was, *now]):
        if was.get(part) == now.get(part) and (part in was) == (part in now):
            continue
        if part not in was:
            yield f"{key}: +{part}" if part == "description" else f"{key}: +{part} {_short(now[part])}"
        elif part not in now:
            yield f"{key}: -{part}"
        elif part == "description":
            yield f"{key}: {part}"
        else:
            yield f"{key}: {part} {_short(was[part])} → {_short(now[part])}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 40 else text[:39] + "…"
