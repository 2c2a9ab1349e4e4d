"""One call of a tool, as a whole: an object in Python, with its arguments as text on the wire."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

from pydantic import (
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from .arguments import parse_arguments, write_arguments
from .json_text import clean_text, dump_json
from .wire_model import WireModel, as_mapping


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
        function = handler({**data, "name": clean_text(str(data.get("name") or "")), "arguments": parsed.value})
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

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        yield from super().__repr_args__()
        if self.arguments_error:
            yield "arguments_text", self.arguments_text
            yield "arguments_error", self.arguments_error

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

    def __str__(self) -> str:
        """The call as one would write it: `add(a=1, b=2)`; arguments that could not be read are shown as received."""
        if self.arguments_error:
            return f"{self.name}({self.arguments_text})"
        return f"{self.name}({', '.join(f'{key}={dump_json(value)}' for key, value in self.arguments.items())})"

    @classmethod
    def from_any(cls, value: Any) -> ToolCall:
        """Make one of a dict (also a flat one with `name` and `arguments`), one of these, or an object of openai's."""
        if isinstance(value, cls):
            return value
        given = as_mapping(value)
        if "name" in given and not given.get("function"):
            own = {key: given[key] for key in ("name", "arguments") if key in given}
            given = {**{key: item for key, item in given.items() if key not in own}, "function": own}
        return cls.read(given)

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
