"""A chat as a JSON file, version 1, to be continued in another process.

    {"format": "toolnexus_nb chat", "version": 1, "model": str, "endpoint": str, "system": str | null,
     "messages": [wire form], "turns": [index of each question], "params": {…}, "options": {…}, "usage": {…},
     "last": {"status", "rounds", "limit", "finish_reason", "notes", "usages", "pending": [{"id", "reason"}]} | null}

Never in it: keys, headers, the tools themselves.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..openai.json_text import clean_text
from ..openai.types import Message, Usage
from .result import Pending, RunResult
from .secrets import blank

if TYPE_CHECKING:
    from .chat import Chat

FORMAT = "toolnexus_nb chat"
VERSION = 1
_PLAIN_OPTIONS = ("max_rounds", "stream", "timeout", "call_timeout", "output_limit")

C = TypeVar("C", bound="Chat")


def write_chat(chat: Chat, path: Path) -> Path:
    """Write the file; parameters that are no JSON are left out."""
    options = {name: chat.options[name] for name in _PLAIN_OPTIONS}
    if isinstance(chat.options["approve"], str):
        options["approve"] = chat.options["approve"]
    data = {
        "format": FORMAT,
        "version": VERSION,
        "model": chat.client.model,
        "endpoint": chat.client.base_url,
        "system": chat.system,
        "messages": [message.model_dump_wire() for message in chat.messages],
        "turns": chat.turns,
        "params": {name: value for name, value in chat.params.items() if _is_json(value)},
        "options": options,
        "usage": chat.usage.model_dump_wire(),
        "last": None if chat.last is None else _last(chat.last),
    }
    text = blank(json.dumps(data, ensure_ascii=False, indent=1), chat.client.secrets)
    path.write_text(clean_text(text), encoding="utf-8")
    return path


def read_chat(cls: type[C], path: Path, client: Any, toolkit: Any, options: dict[str, Any]) -> C:
    """Read the file. `options` replace what it says. Raises ValueError, naming the file, for anything else."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no saved chat: {error}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError(f"{path} is no saved chat of toolnexus_nb")
    if data.get("version") != VERSION:
        raise ValueError(
            f"{path} is a chat of version {data.get('version')}; this toolnexus_nb reads version {VERSION}"
        )
    try:
        own = {name: value for name, value in data["options"].items() if name in (*_PLAIN_OPTIONS, "approve")}
        settings = {"system": data["system"], **own, **data["params"], **options}
        messages = [Message.from_any(message) for message in data["messages"]]
        turns = [int(turn) for turn in data["turns"] if 0 <= int(turn) < len(messages)]
        usage = Usage.model_validate(data["usage"])
        last = data["last"] and dict(data["last"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{path} is a damaged chat: {type(error).__name__}: {error}") from None
    chat = cls(client, toolkit, **settings)
    chat.messages, chat.turns, chat.usage = messages, turns, usage
    if last is not None:
        chat.last = _result(chat, last)
    return chat


def _last(result: RunResult) -> dict[str, Any]:
    return {
        "status": result.status,
        "rounds": result.rounds,
        "limit": result.limit,
        "finish_reason": result.finish_reason,
        "notes": result.notes,
        "usages": [usage.model_dump_wire() for usage in result.usages],
        "pending": [{"id": pending.call.id, "reason": pending.reason} for pending in result.pending],
    }


def _result(chat: Chat, data: dict[str, Any]) -> RunResult:
    """The last run as far as the file knows it: enough to read it and to resume it."""
    messages = chat.messages[chat.turns[-1] :] if chat.turns else []
    calls = {call.id: call for message in messages for call in message.tool_calls}
    usages = [Usage.model_validate(usage) for usage in data["usages"]]
    total = Usage()
    for usage in usages:
        total = total + usage
    answers = [message for message in messages if message.role == "assistant"]
    return RunResult(
        text=answers[-1].get_content_as_string() if answers else "",
        messages=messages,
        usage=total,
        usages=usages,
        rounds=data["rounds"],
        status=data["status"],
        limit=data["limit"],
        finish_reason=data["finish_reason"],
        notes=list(data["notes"]),
        pending=[Pending(calls[item["id"]], item["reason"]) for item in data["pending"] if item["id"] in calls],
        model=chat.client.model,
        chat=chat,
    )


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True
