"""Messages of a conversation and the definitions of tools that go with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, PrivateAttr

from .content import Content, ContentPart, Text, content_text, details_text
from .json_text import clean_text, dump_json
from .tool_call import ToolCall
from .wire_model import WireModel, as_mapping, none_as_empty


def _calls(value: Any) -> Any:
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping):
        return none_as_empty(value)
    try:
        return [ToolCall.from_any(item) for item in value if item is not None]
    except TypeError as error:
        raise ValueError(str(error)) from None  # so that pydantic says where


class Message(WireModel):
    """One message of a conversation, sent or received."""

    model_config = ConfigDict(validate_assignment=True)

    role: str | None = None
    content: Content = None
    name: str | None = None
    tool_calls: Annotated[list[ToolCall], BeforeValidator(_calls)] = Field(default_factory=list)
    tool_call_id: str | None = None
    refusal: Text | None = None
    reasoning_content: Text | None = None
    reasoning: Text | None = None
    reasoning_details: list[Any] | None = None
    annotations: list[Any] | None = None
    audio: dict[str, Any] | None = None
    function_call: dict[str, Any] | None = None
    _other_parts: list[Any] = PrivateAttr(default_factory=list)

    @property
    def other_parts(self) -> list[Any]:
        """Parts of a received content that are neither text nor thoughts, as they came; not sent back (B16)."""
        return self._other_parts

    @classmethod
    def from_any(cls, value: Any) -> Message:
        """Make one of a dict, one of these, or an object of the openai package."""
        return value if isinstance(value, cls) else cls.read(as_mapping(value))

    @classmethod
    def system(cls, content: Any) -> Message:
        """Instructions for the model."""
        return cls(role="system", content=content)

    @classmethod
    def user(cls, content: Any) -> Message:
        """What a person says: text, or a list of content parts."""
        return cls(role="user", content=content)

    @classmethod
    def assistant(cls, content: Any = None, tool_calls: Iterable[Any] | None = None) -> Message:
        """What the model says; with calls and no text, content is null."""
        message = cls(role="assistant", content=content)
        if tool_calls:
            message.tool_calls = _calls(tool_calls)
        return message

    @classmethod
    def tool(cls, tool_call_id: str, content: Any) -> Message:
        """The result of one call. Content that is no text becomes JSON text, since servers refuse the rest (I05)."""
        return cls(role="tool", tool_call_id=tool_call_id, content=_result_text(content))

    def get_content_as_string(self) -> str:
        """The text of the content, "" if there is none."""
        return content_text(self.content)

    def set_content_as_string(self, text: str) -> None:
        """Replace the content by a text."""
        self.content = clean_text(text)

    def get_content_as_parts(self) -> list[ContentPart]:
        """The content as a list of parts; a text is one text part, no content is `[]`."""
        if isinstance(self.content, str):
            return [ContentPart(type="text", text=self.content)]
        if not isinstance(self.content, list):
            return []
        return [
            part if isinstance(part, ContentPart) else ContentPart.read(as_mapping(part))
            for part in self.content
            if _is_part(part)
        ]

    @property
    def reasoning_text(self) -> str:
        """What the model thought, under whichever key the provider says it, "" if it says nothing (C01, C02)."""
        return self.reasoning_content or self.reasoning or details_text(self.reasoning_details)

    def __str__(self) -> str:
        """One line for a person: who says what, and which calls it asks for."""
        wants = f"calls {', '.join(map(str, self.tool_calls))}" if self.tool_calls else ""
        return f"{self.role or 'nobody'}: {'; '.join(part for part in (self.get_content_as_string(), wants) if part)}"

    def for_request(self) -> dict[str, Any]:
        """The message as strict servers take it back (I03, I04, I10): no empty lists, no nulls but the content's.

        Content is null beside tool calls and "" where there is nothing at all; keys a request does not have
        (`annotations`, a call's `index`) are left out; unknown keys stay, the same provider may need them (C03 to C05).
        """
        written = self.model_dump_wire()
        written.pop("annotations", None)
        for key in [key for key, value in written.items() if value in (None, [], {}) and key != "content"]:
            del written[key]
        for call in written.get("tool_calls", ()):
            call.pop("index", None)
        if self.role == "assistant" and not written.get("content"):
            written["content"] = None if "tool_calls" in written else ""
        return written


def _result_text(content: Any) -> str:
    if content is None:
        return ""
    return clean_text(content) if isinstance(content, str) else dump_json(content)


def _is_part(part: Any) -> bool:
    return isinstance(part, Mapping) or hasattr(part, "model_dump")


class FunctionDefinition(WireModel):
    """What a model is told about a function; `parameters` is a JSON schema of type object."""

    name: str = ""
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class FunctionTool(WireModel):
    """One entry of a request's `tools`; for type `custom`, `custom` holds name, description and format."""

    type: str = "function"
    function: FunctionDefinition | None = None
    custom: dict[str, Any] | None = None
