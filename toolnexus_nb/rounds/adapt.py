"""A request as one endpoint wants it: what goes back, under which ids, with which tools; `profiles.py` says so."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..openai.json_text import dump_json
from ..openai.types import Message
from .profiles import Profile
from .setup_error import SetupError

_MESSAGE_KEYS = frozenset({"role", "content", "name", "tool_calls", "tool_call_id"})
_CALL_KEYS = frozenset({"id", "type", "function", "custom"})
_NINE = re.compile(r"[a-zA-Z0-9]{9}")
_BETWEEN = "(The tools had answered; the conversation went on from there.)"


class Writer:
    """Writes messages for one endpoint: nothing it would refuse, everything it needs back (I and C rows).

    Each message is written once and then shared by all requests of a run, so that a long run costs neither the time nor
    the memory of writing its whole conversation again and again.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._written: dict[tuple[int, bool], tuple[Message, dict[str, Any]]] = {}

    def write(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """The conversation as it is sent."""
        last_question = max((i for i, message in enumerate(messages) if message.role == "user"), default=-1)
        written: list[dict[str, Any]] = []
        for i, message in enumerate(messages):
            if (
                message.role == "user"
                and self._profile.answer_before_user
                and written
                and written[-1]["role"] == "tool"
            ):
                written.append({"role": "assistant", "content": _BETWEEN})
            key = (id(message), i > last_question)
            if key not in self._written:  # the message is kept too, so that its id stays its own
                self._written[key] = (message, self._one(message, in_rounds=i > last_question))
            written.append(self._written[key][1])
        return written

    def _one(self, message: Message, *, in_rounds: bool) -> dict[str, Any]:
        wire = message.model_dump_wire()
        if message.role == "assistant":
            return _assistant(wire, self._profile, in_rounds=in_rounds)
        adapted = {key: value for key, value in wire.items() if key in _MESSAGE_KEYS and value is not None}
        if message.role == "tool" and self._profile.call_ids == "nine":
            adapted["tool_call_id"] = nine(message.tool_call_id or "")
        return adapted


def adapt(body: Mapping[str, Any], profile: Profile) -> dict[str, Any]:
    """A request's tools, changed to what `profile` describes; the given body stays as it is.

    Raises SetupError for what would be refused and cannot be mended: too many tools (H03).
    """
    adapted = dict(body)
    tools = body.get("tools")
    if not tools:  # an empty list is a 400, and so is any of the others without tools (H04, J01)
        for name in ("tools", "tool_choice", "parallel_tool_calls"):
            adapted.pop(name, None)
        return adapted
    if profile.max_tools is not None and len(tools) > profile.max_tools:
        raise SetupError(
            f"{len(tools)} tools are offered and {profile.name} takes {profile.max_tools}: "
            "offer fewer with toolkit.filter(...)"
        )
    adapted["tools"] = [adapt_tool(tool, profile) for tool in tools]
    choice = body.get("tool_choice")
    if profile.tool_choice_text_only and isinstance(choice, Mapping):
        only = (choice.get("function") or {}).get("name")
        adapted["tools"] = [tool for tool in adapted["tools"] if definition_name(tool) == only] or adapted["tools"]
        adapted["tool_choice"] = "required"
    return adapted


def _assistant(message: Mapping[str, Any], profile: Profile, *, in_rounds: bool) -> dict[str, Any]:
    keep = _MESSAGE_KEYS | profile.echo_message
    if profile.reasoning == "always" or (profile.reasoning == "rounds" and in_rounds):
        keep |= {"reasoning_content"}
    adapted = {key: value for key, value in message.items() if key in keep and value is not None}
    calls = adapted.pop("tool_calls", None)
    if calls:
        adapted["tool_calls"] = [_call(call, profile) for call in calls]
    if not adapted.get("content"):
        adapted["content"] = None if calls and profile.no_text == "null" else ""
    return adapted


def _call(call: Mapping[str, Any], profile: Profile) -> dict[str, Any]:
    keep = _CALL_KEYS | profile.echo_call
    adapted = {key: value for key, value in call.items() if key in keep and value is not None}
    if profile.call_ids == "nine":
        adapted["id"] = nine(str(call.get("id", "")))
    return adapted


def nine(call_id: str) -> str:
    """A call id as nine letters and digits, the same for the same id (I08)."""
    return call_id if _NINE.fullmatch(call_id) else hashlib.sha256(call_id.encode()).hexdigest()[:9]


def definition_name(definition: Mapping[str, Any]) -> str:
    """The name in a tool definition, of a function or a custom tool; "" if it has none."""
    inner = definition.get("function") or definition.get("custom") or {}
    return str(inner.get("name") or "")


def adapt_tool(tool: Mapping[str, Any], profile: Profile) -> dict[str, Any]:
    """One tool definition without what the endpoint refuses (H02, H05)."""
    adapted = dict(tool)
    if not isinstance(tool.get("function"), Mapping):
        return adapted  # a custom tool, which is the model's own business
    function = dict(tool["function"])
    description = function.get("description")
    if profile.max_description is not None and isinstance(description, str):
        function["description"] = description[: profile.max_description]
    if profile.drop_schema_words and "parameters" in function:
        function["parameters"] = _without(function["parameters"], profile.drop_schema_words)
    adapted["function"] = function
    return adapted


def _without(schema: Any, words: frozenset[str]) -> Any:
    """A schema without some keywords; properties that happen to be named like one stay."""
    if isinstance(schema, list):
        return [_without(item, words) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    cleaned: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("properties", "$defs", "definitions") and isinstance(value, Mapping):
            cleaned[key] = {name: _without(item, words) for name, item in value.items()}
        elif key in ("enum", "default", "examples", "required"):
            cleaned[key] = value
        elif key not in words:
            cleaned[key] = _without(value, words)
    return cleaned


def encode(body: Mapping[str, Any]) -> bytes:
    """Compact JSON as UTF-8. What no endpoint reads is mended: half a surrogate pair becomes U+FFFD (D21), NaN null."""
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except (ValueError, TypeError):  # UnicodeEncodeError is a ValueError
        return dump_json(body).encode()
