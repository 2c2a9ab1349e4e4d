"""What goes over the wire between a client and a chat-completions endpoint, except the request (`request.py`).

Fields are those of the OpenAI reference; a missing key and null mean the same and read as None, "" or an empty list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Self

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    SkipValidation,
    WrapValidator,
    model_serializer,
    model_validator,
)

from .arguments import parse_arguments, write_arguments
from .json_text import clean_text, dump_json
from .wire_model import WireModel


def _list(value: Any) -> Any:
    return [] if value is None else value


def _text(value: Any) -> Any:
    return clean_text(value) if isinstance(value, str) else value


def _content(value: Any, _: Any) -> Any:
    """Content may be any JSON value; only text that can't be encoded is mended, at once (D21)."""
    return _text(value)


Text = Annotated[str, BeforeValidator(_text)]
Content = Annotated[str | list[Any] | None, WrapValidator(_content)]
Number = int | float


# --- content ---------------------------------------------------------------------------------------------------------


class ImageURL(WireModel):
    """An image by address; `data:` addresses hold the image itself."""

    url: str = ""
    detail: str | None = None


class ContentPart(WireModel):
    """One part of a content list: text, image_url, input_audio, file, refusal, or a provider's own kind."""

    type: str = ""
    text: Text | None = None
    image_url: ImageURL | None = None
    input_audio: dict[str, Any] | None = None
    file: dict[str, Any] | None = None
    refusal: Text | None = None


def content_text(content: Any) -> str:
    """The text of message content in any form: a string, or the text parts of a list, joined without separator."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        return ""
    return "".join(part_text(part) for part in content)


def part_text(part: Any) -> str:
    """The text of one content part, "" if it is no text part."""
    get = part.get if isinstance(part, Mapping) else lambda key: getattr(part, key, None)
    text = get("text")
    return text if get("type") in ("text", "input_text", "output_text") and isinstance(text, str) else ""


# --- tool calls ------------------------------------------------------------------------------------------------------


class ToolCallFunction(WireModel):
    """Name and arguments of a call. `arguments` is a dict here and a JSON text on the wire.

    Made from either; `arguments_text` is the text as received, `arguments_error` says why it can't be used. A call
    with an error has empty `arguments`, is never run, and is written with `"{}"` (I07).
    """

    name: str = ""
    arguments: dict[str, Any] = Field(default_factory=dict)
    _received: str = PrivateAttr("")
    _error: str | None = PrivateAttr(None)

    @model_validator(mode="wrap")
    @classmethod
    def _read(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(data, Mapping):
            return handler(data)
        parsed = parse_arguments(data.get("arguments"))
        function = handler({**data, "name": _text(data.get("name") or ""), "arguments": parsed.value})
        function._received, function._error = parsed.text, parsed.error
        return function

    @property
    def arguments_text(self) -> str:
        """The JSON text of the arguments: as received, or compact if they were given or changed as a dict."""
        if (self._error and not self.arguments) or parse_arguments(self._received).value == self.arguments:
            return self._received
        return write_arguments("", self.arguments)

    @property
    def arguments_error(self) -> str | None:
        """Why the received text can't be used; None if it can, or was replaced by a dict."""
        return None if self.arguments else self._error

    def refuse(self, reason: str, text: str | None = None) -> None:
        """Mark the arguments as unusable, keeping `text` (default: what was received) for whoever looks."""
        self._received, self._error, self.arguments = self._received if text is None else text, reason, {}

    @model_serializer(mode="wrap")
    def _write(self, _: SerializerFunctionWrapHandler) -> Any:
        if not isinstance(self, ToolCallFunction):
            return self
        return {"name": self.name, "arguments": write_arguments(self._received, self.arguments), **self.extra}


class ToolCall(WireModel):
    """One call of a tool. Unknown keys (`extra_content` with a thought signature, C05) are kept and sent back.

    A call of type `custom` (A25) has its name and raw input in `function` too, marked with an error: it can't be run.
    """

    id: str = ""
    type: str = "function"
    function: ToolCallFunction = Field(default_factory=ToolCallFunction)
    custom: dict[str, Any] | None = None
    index: int | None = None

    @model_validator(mode="wrap")
    @classmethod
    def _read(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(data, Mapping):
            return handler(data)
        data = {key: value for key, value in data.items() if value not in (None, "") or key not in cls.model_fields}
        custom = data.get("custom")
        if not isinstance(custom, Mapping) or not custom.get("name"):  # zero values mean absent (A29)
            data.pop("custom", None)
            return handler(data)
        call = handler({**data, "type": data.get("type", "custom"), "function": {"name": custom["name"]}})
        call.function.refuse(
            "this is a custom tool call with free text, which can't be run", str(custom.get("input", ""))
        )
        return call

    @classmethod
    def from_any(cls, value: Any) -> ToolCall:
        """Make one of a dict, one of these, or an object of the openai package."""
        return value if isinstance(value, cls) else cls.read(as_mapping(value))

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.function.name

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments as a dict."""
        return self.function.arguments

    @property
    def arguments_text(self) -> str:
        """The arguments as received."""
        return self.function.arguments_text

    @property
    def arguments_error(self) -> str | None:
        """Why the call can't be run, or None."""
        return self.function.arguments_error

    @model_serializer(mode="wrap")
    def _write(self, _: SerializerFunctionWrapHandler) -> Any:
        if not isinstance(self, ToolCall):
            return self
        body = {"custom": self.custom} if self.custom else {"function": self.function.model_dump()}
        index = {} if self.index is None else {"index": self.index}
        return {**index, "id": self.id, "type": self.type, **body, **self.extra}


def as_mapping(value: Any) -> Mapping[str, Any]:
    """A dict of a dict-like value or of a pydantic object of whatever package. Raises TypeError for anything else."""
    if isinstance(value, Mapping):
        return value
    if hasattr(value, "model_dump"):
        dumped: Mapping[str, Any] = value.model_dump(exclude_unset=True)
        return dumped
    raise TypeError(f"a dict or an object with model_dump() was expected, not {type(value).__name__}")


def _calls(value: Any) -> Any:
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping):
        return _list(value)
    try:
        return [ToolCall.from_any(item) for item in value if item is not None]
    except TypeError as error:
        raise ValueError(str(error)) from None  # so that pydantic says where


# --- messages --------------------------------------------------------------------------------------------------------


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


def details_text(details: Any) -> str:
    """The readable text of OpenRouter's `reasoning_details` (C03), "" if it is encrypted or absent."""
    if not isinstance(details, list):
        return ""
    texts = [item.get("text") or item.get("summary") for item in details if isinstance(item, Mapping)]
    return "".join(text for text in texts if isinstance(text, str))


# --- tool definitions ------------------------------------------------------------------------------------------------


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


# --- usage -----------------------------------------------------------------------------------------------------------


def _without_nulls(data: Any) -> Any:
    """Numbers may be null until the last chunk (F02); that is as good as absent."""
    return {key: value for key, value in data.items() if value is not None} if isinstance(data, Mapping) else data


class PromptTokensDetails(WireModel):
    """Parts of `prompt_tokens`."""

    cached_tokens: Number = 0
    audio_tokens: Number = 0

    _drop_nulls = model_validator(mode="before")(_without_nulls)


class CompletionTokensDetails(WireModel):
    """Parts of `completion_tokens`."""

    reasoning_tokens: Number = 0
    audio_tokens: Number = 0
    accepted_prediction_tokens: Number = 0
    rejected_prediction_tokens: Number = 0

    _drop_nulls = model_validator(mode="before")(_without_nulls)


class Usage(WireModel):
    """Tokens of one reply, or with `+` of several. `estimated` marks numbers that no provider reported.

    Other numbers a provider adds (cost, timings) are kept as unknown keys.
    """

    prompt_tokens: Number = 0
    completion_tokens: Number = 0
    total_tokens: Number = 0
    prompt_tokens_details: PromptTokensDetails | None = None
    completion_tokens_details: CompletionTokensDetails | None = None
    estimated: bool = False

    _drop_nulls = model_validator(mode="before")(_without_nulls)

    @property
    def cached_tokens(self) -> Number:
        """Prompt tokens the provider had kept from before."""
        return self.prompt_tokens_details.cached_tokens if self.prompt_tokens_details else 0

    @property
    def reasoning_tokens(self) -> Number:
        """Completion tokens spent on thinking; never added to `completion_tokens` (F06)."""
        return self.completion_tokens_details.reasoning_tokens if self.completion_tokens_details else 0

    def __str__(self) -> str:
        """One readable line, such as `120 tokens (100 prompt + 20 completion), estimated`."""
        parts = f"{self.prompt_tokens:,} prompt + {self.completion_tokens:,} completion"
        return f"{self._total():,} tokens ({parts}){', estimated' if self.estimated else ''}"

    def __add__(self, other: Usage | None) -> Usage:
        """The sum, number by number, details and unknown numbers too; None adds nothing."""
        if other is None:
            return self.model_copy(deep=True)
        if not isinstance(other, Usage):
            return NotImplemented
        total = _sum(self.model_dump(), other.model_dump())
        total["total_tokens"] = self._total() + other._total()
        if self.estimated or other.estimated:
            total["estimated"] = True
        return Usage.read(total)

    def __radd__(self, other: Any) -> Usage:
        """So that `sum(usages)` and `None + usage` work."""
        return self.model_copy(deep=True) if not other else NotImplemented

    def _total(self) -> Number:
        return self.total_tokens or self.prompt_tokens + self.completion_tokens


def _sum(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    total = dict(one)
    for key, value in other.items():
        before = total.get(key)
        if isinstance(value, dict):
            total[key] = _sum(before if isinstance(before, dict) else {}, value)
        elif isinstance(value, int | float) and isinstance(before, int | float) and not isinstance(value, bool):
            total[key] = before + value
        else:
            total[key] = value
    return total


# --- replies ---------------------------------------------------------------------------------------------------------


class Choice(WireModel):
    """One of the `n` answers of a reply. `finish_reason` is any text (B08)."""

    index: int = 0
    message: Message = Field(default_factory=Message)
    finish_reason: str | None = None
    logprobs: dict[str, Any] | None = None


class ChatCompletionResponse(WireModel):
    """A whole reply."""

    id: str | None = None
    object: str | None = None
    created: Number | None = None
    model: str | None = None
    choices: Annotated[list[Choice], BeforeValidator(_list)] = Field(default_factory=list)
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
    tool_calls: Annotated[list[DeltaToolCall], BeforeValidator(_list)] = Field(default_factory=list)
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


def thinking_text(content: Any) -> str:
    """The thoughts inside a content list: Mistral's `thinking` parts (B15), Databricks' `reasoning` parts (B16)."""
    texts = []
    for part in content if isinstance(content, list) else ():
        if isinstance(part, Mapping) and part.get("type") in ("thinking", "reasoning"):
            inner = part.get("thinking") or part.get("summary") or part.get("text") or part.get("reasoning")
            items = inner if isinstance(inner, list) else [inner]
            texts += [
                item if isinstance(item, str) else item.get("text") for item in items if isinstance(item, str | Mapping)
            ]
    return "".join(text for text in texts if isinstance(text, str))


class ChunkChoice(WireModel):
    """What a chunk says about one choice. `message`: some servers send whole messages in a stream (B18, D15)."""

    index: int = 0
    delta: Delta = Field(default_factory=Delta)
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
    choices: list[ChunkChoice] = Field(default_factory=list)
    usage: Usage | None = None
    system_fingerprint: str | None = None
    service_tier: str | None = None
    error: Annotated[Any, SkipValidation] = None


# --- models and errors -----------------------------------------------------------------------------------------------


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
    data: Annotated[list[Model], BeforeValidator(_list)] = Field(default_factory=list)


class ErrorDetail(WireModel):
    """The inner object of an error reply."""

    message: str | None = None
    type: str | None = None
    param: str | None = None
    code: str | None = None


class ErrorResponse(WireModel):
    """The error reply of the OpenAI reference. To read what providers really send, use `errors.api_error`."""

    error: ErrorDetail = Field(default_factory=ErrorDetail)


__all__ = [
    name
    for name, value in list(globals().items())
    if isinstance(value, type) and issubclass(value, WireModel) and name != "WireModel"
]
