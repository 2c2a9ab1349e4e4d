"""Answers of a wanted shape: `chat.ask(..., returns=City)`.

The shape is asked for by a response_format, or by a forced tool where an endpoint has none; what comes is validated; an
answer that does not fit is complained about once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import PydanticUserError, TypeAdapter, ValidationError

from ..tools.annotations import NoJsonForm, expressible

if TYPE_CHECKING:
    from ..openai.errors import APIError
    from ..openai.types import ToolCall
    from .profiles import Profile
    from .result import RunResult

ANSWER_TOOL = "final_answer"
_FENCE = re.compile(r"^\s*```[\w-]*\s*\n(.*?)\n?\s*```\s*$", re.DOTALL)


class Wanted:
    """What `returns=` asks for: any type pydantic knows. `value` is the validated answer once `answered`."""

    def __init__(self, returns: Any) -> None:
        try:
            expressible(returns)  # makes pydantic take typing's TypedDict before Python 3.12
            self._adapter: TypeAdapter[Any] = TypeAdapter(returns)
            schema = self._adapter.json_schema()
        except (PydanticUserError, NoJsonForm) as error:
            raise TypeError(f"returns= takes a type that has a JSON form, not {returns!r}: {error}") from None
        # Endpoints take objects only; everything else travels in an object with one key.
        self._boxed = schema.get("type") != "object" and "$ref" not in schema
        if self._boxed:
            definitions = schema.pop("$defs", None)
            schema = {"type": "object", "properties": {"value": schema}, "required": ["value"]}
            if definitions:
                schema["$defs"] = definitions
        self.schema: dict[str, Any] = schema
        self.name = re.sub(r"[^a-zA-Z0-9_-]", "_", str(schema.get("title") or getattr(returns, "__name__", "answer")))[
            :64
        ]
        self.way: Literal["response_format", "tool"] | None = None
        self.value: Any = None
        self.answered = False
        self.complaints = 0

    @property
    def settled(self) -> bool:
        """Whether nothing more is asked: it was answered, or it did not fit twice."""
        return self.answered or self.complaints > 1

    def ask_for(self, params: dict[str, Any], tools: list[dict[str, Any]], profile: Profile) -> list[dict[str, Any]]:
        """Put the shape into the request: changes `params`, gives the tools."""
        self.way = self.way or profile.structured
        if self.way == "response_format":
            params["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": self.name, "schema": self.schema},
            }
            return tools
        definition = {
            "name": ANSWER_TOOL,
            "description": "Give the final answer. Call this exactly once, when you know everything it needs.",
            "parameters": self.schema,
        }
        last = params.get("tool_choice") == "none"
        only = {"type": "function", "function": {"name": ANSWER_TOOL}}
        params["tool_choice"] = "required" if tools and not last else only
        return [*tools, {"type": "function", "function": definition}]

    def refused_by(self, error: APIError) -> bool:
        """Whether the endpoint refused the response_format; from then on a forced tool is used."""
        if self.way != "response_format" or error.status not in (400, 404, 422):
            return False
        if not any(word in error.message for word in ("response_format", "json_schema", "structured")):
            return False
        self.way = "tool"
        return True

    def is_answer(self, calls: Sequence[ToolCall]) -> bool:
        """Whether one of these calls is the forced tool."""
        return self.way == "tool" and any(call.name == ANSWER_TOOL for call in calls)

    def read_text(self, result: RunResult) -> str | None:
        """Take the value from the answer's text; gives the problem, None if there is none."""
        found = _FENCE.match(result.text)
        problem = self._read(found.group(1) if found else result.text)
        self.complaints += problem is not None
        result.value = self.value
        return problem

    def read_call(self, call: ToolCall, result: RunResult) -> str:
        """Take the value from the forced tool's call; gives what the call is answered."""
        problem = call.arguments_error or self._read(call.arguments_text)
        if problem is None:
            result.text = call.arguments_text
            result.value = self.value
            return "Accepted."
        self.complaints += 1
        return self.complaint(problem)

    def _read(self, text: str) -> str | None:
        import json

        try:
            if self._boxed:
                data = json.loads(text)
                if isinstance(data, dict) and "value" in data:  # a model may forget the box
                    text = json.dumps(data["value"])
            self.value = self._adapter.validate_json(text)
        except ValidationError as error:
            return "; ".join(
                f"{'.'.join(str(part) for part in item['loc']) or 'the answer'}: {item['msg']}"
                for item in error.errors()[:5]
            )
        except ValueError as error:
            return f"it is not the JSON that was asked for ({error})"
        self.answered = True
        return None

    @staticmethod
    def complaint(problem: str) -> str:
        """What the model is told about an answer that does not fit."""
        return (
            f"This answer does not fit: {problem}. "
            "Give it again, complete, as JSON of the asked shape and nothing else."
        )
