"""What a tool gave back: text for the model, parts for who can see them, the value for the person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

PartKind = Literal["image", "audio", "resource", "text", "link"]


@dataclass(frozen=True)
class ResultPart:
    """One piece of a result that is more than text: an image, a sound, a resource, a link."""

    kind: PartKind
    mime_type: str = ""
    data: bytes | None = field(default=None, repr=False)
    text: str | None = None
    uri: str | None = None
    name: str | None = None


@dataclass(frozen=True)
class ToolResult:
    """The outcome of one tool call.

    output     what the model reads
    is_error   True when the call failed: `output` then says what went wrong and how to mend it
    metadata   facts about the call for programs; the seed's Metadata
    parts      images, audio, resources
    value      the Python object the tool returned, for the person's rich display
    printed    what the tool printed while it ran
    traceback  the formatted traceback of a failed call, for the person; never sent to a model
    """

    output: str
    is_error: bool = False
    metadata: dict[str, Any] = field(default_factory=dict)
    parts: Sequence[ResultPart] = field(default_factory=list)
    value: Any = None
    printed: str = ""
    traceback: str = field(default="", repr=False)

    def __str__(self) -> str:
        return self.output

    @classmethod
    def error(cls, message: str, **fields: Any) -> ToolResult:
        """A failed call that tells the model `message`."""
        return cls(output=message, is_error=True, **fields)


def to_result(value: Any) -> ToolResult:
    """Whatever a tool returned as a result: a ToolResult passes through, everything else gets text and parts."""
    from .rendering import render

    if isinstance(value, ToolResult):
        return value
    text, parts = render(value)
    return ToolResult(output=text, parts=list(parts), value=value)
