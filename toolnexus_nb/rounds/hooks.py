"""Hooks of a chat: functions of yours that see, and may change, what is sent, what is run and what comes back.

They run on the thread that asked, in the order they were added; plain or async. An exception in a hook ends the run:
a hook that removes private data must not be skipped silently.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Hook: TypeAlias = Callable[..., Any]


@dataclass
class Hooks:
    """Lists of hooks by moment; see `Chat.before_request`, `after_response`, `before_call`, `after_call`."""

    before_request: list[Hook] = field(default_factory=list)
    after_response: list[Hook] = field(default_factory=list)
    before_call: list[Hook] = field(default_factory=list)
    after_call: list[Hook] = field(default_factory=list)

    def copy(self) -> Hooks:
        return Hooks(
            *(list(hooks) for hooks in (self.before_request, self.after_response, self.before_call, self.after_call))
        )


def add(hooks: list[Any], hook: Any) -> Callable[[], None]:
    """Append and give the undo, which may be called more than once."""
    hooks.append(hook)

    def undo() -> None:
        if hook in hooks:
            hooks.remove(hook)

    return undo
