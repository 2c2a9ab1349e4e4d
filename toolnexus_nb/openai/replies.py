"""What an endpoint answers: whole replies, the chunks of a streamed one, its models, its errors."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, SkipValidation

from .content import content_text, details_text, thinking_text
from .message import Message
from .usage import Usage
from .wire_model import Number, WireModel, none_as_empty, none_as_object


class Choice(WireModel):
    """One of the `n` answers of a reply. `finish_reason` is any text (B08)."""

    index: int = 0
    message: Annotated[Message, BeforeValidator(none_as_object)] = Field(default_factory=Message)
    finish_reason: str | None = None
    logprobs: dict[str, Any] | None = None


class ChatCompletionResponse(WireModel):
    """A whole reply."""

    id: str | None = None
    object: str | None = None
    created: Number | None = None
    model: str | None = None
    choices: Annotated[list[Choice], BeforeValidator(none_as_empty)] = Field(default_factory=list)
    usage: Usage | None = None
    system_fingerprint: str | None = None
    service_tier: str | None = None

    @property
    def message(self) -> Message:
        """The message of the first choice, an empty one if there is no choice."""
        return self.choices[0].message if self.choices else Message()


class DeltaFunction(WireModel):
    """A piece of a call: a text to append to the arguments, or (A19) all of them as an object."""

    name: str | None = None
    arguments: Annotated[str | dict[str, Any] | None, SkipValidation] = None


class DeltaToolCall(WireModel):
    """A piece of a tool call. `index` is a label, not a position, and may be missing (A01, A28)."""

    index: int | None = None
    id: str | None = None
    type: str | None = None
    function: DeltaFunction | None = None
    custom: dict[str, Any] | None = None


class Delta(WireModel):
    """What a chunk adds to the message of its choice."""

    role: str | None = None
    content: Annotated[str | list[Any] | None, SkipValidation] = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[Any] | None = None
    tool_calls: Annotated[list[DeltaToolCall], BeforeValidator(none_as_empty)] = Field(default_factory=list)
    function_call: dict[str, Any] | None = None
    audio: dict[str, Any] | None = None

    @property
    def content_text(self) -> str:
        """The text this delta adds, "" if none; parts of a content list count (B15)."""
        return content_text(self.content)

    @property
    def reasoning_text(self) -> str:
        """The thought this delta adds: the first carrier that has any, as the others are copies (C02)."""
        return (
            self.reasoning_content
            or self.reasoning
            or (thinking_text(self.content) if type(self.content) is list else "")
            or (details_text(self.reasoning_details) if self.reasoning_details else "")
        )


class ChunkChoice(WireModel):
    """What a chunk says about one choice. `message`: some servers send whole messages in a stream (B18, D15)."""

    index: int = 0
    delta: Annotated[Delta, BeforeValidator(none_as_object)] = Field(default_factory=Delta)
    finish_reason: str | None = None
    logprobs: dict[str, Any] | None = None
    usage: Usage | None = None
    message: dict[str, Any] | None = None


class ChatCompletionChunk(WireModel):
    """One event of a streamed reply. `error` holds what went wrong when a server says so inside a 200 (E01, E02)."""

    id: str | None = None
    object: str | None = None
    created: Number | None = None
    model: str | None = None
    choices: Annotated[list[ChunkChoice], BeforeValidator(none_as_empty)] = Field(default_factory=list)
    usage: Usage | None = None
    system_fingerprint: str | None = None
    service_tier: str | None = None
    error: Annotated[Any, SkipValidation] = None


class Model(WireModel):
    """One model an endpoint offers."""

    id: str = ""
    object: str | None = None
    created: Number | None = None
    owned_by: str | None = None
    context_window: int | None = None


class ModelsResponse(WireModel):
    """The answer of `/models`."""

    object: str | None = None
    data: Annotated[list[Model], BeforeValidator(none_as_empty)] = Field(default_factory=list)


class ErrorDetail(WireModel):
    """The inner object of an error reply."""

    message: str | None = None
    type: str | None = None
    param: str | None = None
    code: str | None = None


class ErrorResponse(WireModel):
    """The error reply of the OpenAI reference. To read what providers really send, use `errors.api_error`."""

    error: ErrorDetail = Field(default_factory=ErrorDetail)
