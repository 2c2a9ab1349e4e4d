"""The request of the chat-completions reference: every parameter typed, none of them sent unless set (J05)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from .message import FunctionTool, Message
from .wire_model import Number, WireModel, none_as_empty


class ToolChoice(WireModel):
    """A `tool_choice` that is an object: a function or custom tool by name, or a set of allowed tools."""

    type: str = "function"
    function: dict[str, Any] | None = None
    custom: dict[str, Any] | None = None
    allowed_tools: dict[str, Any] | None = None


class JSONSchemaFormat(WireModel):
    """The schema of a `json_schema` response format."""

    name: str = ""
    description: str | None = None
    schema_: dict[str, Any] | None = Field(None, alias="schema")
    strict: bool | None = None


class ResponseFormat(WireModel):
    """`type`: text, json_object or json_schema."""

    type: str = "text"
    json_schema: JSONSchemaFormat | None = None


class StreamOptions(WireModel):
    """What a stream should hold besides the answer."""

    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class AudioOptions(WireModel):
    """How a spoken answer should sound; needed with `modalities=["text", "audio"]`."""

    voice: str | dict[str, Any] | None = None
    format: str | None = None


class Prediction(WireModel):
    """Text that much of the answer will repeat, to speed it up."""

    type: str = "content"
    content: str | list[Any] | None = None


class WebSearchOptions(WireModel):
    """How the model may search the web; `search_context_size`: low, medium or high."""

    search_context_size: str | None = None
    user_location: dict[str, Any] | None = None


class ChatCompletionRequest(WireModel):
    """The body of `POST /chat/completions`. Unknown keys, and the entries of an `extra_body`, go to the top level.

    An entry of `extra_body` wins over a known parameter of the same name, as whoever writes it means it.
    """

    model: str = ""
    messages: Annotated[list[Message], BeforeValidator(none_as_empty)] = Field(default_factory=list)
    tools: Annotated[list[FunctionTool], BeforeValidator(none_as_empty)] = Field(default_factory=list)
    tool_choice: str | ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: Number | None = None
    top_p: Number | None = None
    frequency_penalty: Number | None = None
    presence_penalty: Number | None = None
    logit_bias: dict[str, Number] | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    stop: str | list[str] | None = None
    n: int | None = None
    seed: int | None = None
    reasoning_effort: str | None = None
    verbosity: str | None = None
    modalities: list[str] | None = None
    audio: AudioOptions | None = None
    prediction: Prediction | None = None
    web_search_options: WebSearchOptions | None = None
    metadata: dict[str, Any] | None = None
    service_tier: str | None = None
    store: bool | None = None
    user: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    functions: list[dict[str, Any]] | None = None
    function_call: str | dict[str, Any] | None = None

    @model_validator(mode="before")
    @classmethod
    def _merge_extra_body(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or not isinstance(data.get("extra_body"), Mapping):
            return data
        return {**{key: value for key, value in data.items() if key != "extra_body"}, **data["extra_body"]}
