"""What real providers really sent, over HTTP in odd pieces, through the whole client and the rounds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import toolnexus_nb as tn
from toolnexus_nb.openai.errors import APIError
from toolnexus_nb.rounds.chat import Chat
from toolnexus_nb.rounds.client import Client

FOLDER = next(
    (folder for folder in Path(__file__).parents[1].rglob("index.json") if "recordings" in folder.parts[-2]), None
)
RECORDINGS = json.loads(FOLDER.read_text(encoding="utf-8"))["recordings"] if FOLDER else []

ECHOED = ("reasoning_details", "extra_content", "thought_signature")


@pytest.mark.parametrize("recording", RECORDINGS, ids=[recording["file"] for recording in RECORDINGS])
def test_a_recorded_answer_over_http(endpoint: Any, wire: Any, recording: dict[str, Any]) -> None:
    assert FOLDER is not None
    raw = (FOLDER.parent / recording["file"]).read_bytes()
    pieces = [raw[i : i + 97] for i in range(0, len(raw), 97)]
    endpoint.acts = [
        wire.Act(pieces, recording["status"], {"content-type": recording["content_type"]}),
        wire.sse("and that is the answer"),
    ]
    client = Client(endpoint.url, "m", retries=0)
    expected = recording["expected"]
    first = expected.get("choices", [expected])[0] if isinstance(expected.get("choices"), list) else expected
    names = {call["name"] for call in first.get("tool_calls") or ()}
    anything = {"type": "object", "additionalProperties": True}
    ran: list[tuple[str, Any]] = []
    tools = [
        tn.native_tool(name, "T.", anything, lambda arguments, name=name: ran.append((name, arguments)) or "ok")
        for name in sorted(names)
    ]
    chat = Chat(client, tools, stream=recording["streaming"])
    if expected["outcome"] == "error":
        with pytest.raises(APIError) as caught:
            chat.ask_sync("q")
        assert caught.value.message
        assert ran == [] and chat.messages == []
        return
    result = chat.ask_sync("q")
    calls = first.get("tool_calls") or []
    assert [call.name for call in result.tool_calls] == [call["name"] for call in calls]
    complete = [(call["name"], call["arguments"]) for call in calls if call["complete"]]
    assert sorted(ran, key=str) == sorted(complete, key=str)
    if calls:
        assert result.text == "and that is the answer"
        wire.valid([strip(message) for message in endpoint.bodies[1]["messages"]])
    else:
        assert result.text == (first.get("content") or "")
    assert (result.refusal or None) == (first.get("refusal") or None)


def strip(message: dict[str, Any]) -> dict[str, Any]:
    """Without what a gateway of unknown kind is given back on purpose (C03, C05)."""
    kept = {key: value for key, value in message.items() if key not in ECHOED}
    if "tool_calls" in kept:
        kept["tool_calls"] = [
            {key: value for key, value in call.items() if key not in ECHOED} for call in kept["tool_calls"]
        ]
    return kept
