"""Replies of real endpoints give the expected message, however their bytes are cut."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from toolnexus_nb.openai import APIError, ChatStream, Choice, parse_response

FOLDER = Path(__file__).parents[1] / "recordings"
RECORDED = json.loads((FOLDER / "index.json").read_text("utf-8"))["recordings"]
LOCAL = json.loads((FOLDER / "local" / "index.json").read_text("utf-8"))
CUTS = {"whole": 1_000_000, "odd pieces": 7, "byte by byte": 1}


def read(body: bytes, cut: int, status: int, streaming: bool) -> tuple[list[Choice], Any, APIError | None]:
    """The choices, the usage and the error of a body; a plain body in pieces is read as one where a stream was due."""
    if not streaming and (status >= 400 or cut >= len(body)):
        try:
            response = parse_response(body, status)
        except APIError as error:
            return [], None, error
        return response.choices, response.usage, None

    async def source() -> Any:
        for start in range(0, len(body), cut):
            yield body[start : start + cut]

    async def run() -> tuple[list[Choice], Any, APIError | None]:
        stream = ChatStream.from_bytes(source())
        try:
            await stream.read()
        except APIError as error:
            return stream.accumulator.choices, stream.usage, error
        return stream.accumulator.choices, stream.usage, None

    return asyncio.run(run())


def told(choice: Choice) -> dict[str, Any]:
    """A choice in the form of the index; an id we made is None."""
    message = choice.message
    return {
        "content": message.content or "",
        "reasoning": message.reasoning_text or None,
        "refusal": message.refusal,
        "finish_reason": choice.finish_reason,
        "tool_calls": [
            {
                "id": call.id,
                "name": call.name,
                "arguments_text": call.arguments_text,
                "complete": call.arguments_error is None,
                "arguments": call.arguments if call.arguments_error is None else None,
            }
            for call in message.tool_calls
        ],
    }


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("recording", RECORDED, ids=lambda recording: recording["file"])
def test_a_recorded_reply_gives_the_expected_message(recording: dict[str, Any], cut: str) -> None:
    expected = recording["expected"]
    body = (FOLDER / recording["file"]).read_bytes()
    choices, usage, error = read(body, CUTS[cut], recording["status"], recording["streaming"])

    if expected["outcome"] == "error":
        assert error is not None
        for field in ("message", "code", "type"):
            wanted = expected["error"][field]
            assert getattr(error, field) == (None if wanted is None else str(wanted))
        assert error.partial is None or not expected["tool_calls"] or error.partial.tool_calls
    else:
        assert error is None
        assert (usage.model_dump() if usage else None) == expected["usage"]

    by_index = {choice.index: told(choice) for choice in choices}
    for wanted in expected.get("choices") or [{"index": 0, **expected}]:
        if expected["outcome"] == "error" and not choices:
            assert not wanted["content"] and not wanted["tool_calls"]
            continue
        got = by_index[wanted["index"]]
        for call, wanted_call in zip(got["tool_calls"], wanted["tool_calls"], strict=True):
            assert call["id"]
            assert {**call, "id": wanted_call["id"] and call["id"]} == wanted_call
        for field in ("content", "reasoning", "refusal", "finish_reason"):
            assert got[field] == wanted[field], field


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("name", LOCAL)
def test_a_local_server_gives_the_expected_message(name: str, cut: str) -> None:
    expected = LOCAL[name]
    _, _, reply = (FOLDER / "local" / name).read_bytes().partition(b"\n\nHTTP ")
    _, _, body = reply.partition(b"\n\n")
    streaming = body.startswith(b"data:") and expected["status"] == 200
    choices, usage, error = read(body, CUTS[cut], expected["status"], streaming)

    if "error" in expected:
        assert error is not None and error.status == expected["status"]
        assert error.message.startswith(expected["error"])
        return
    assert error is None
    [choice] = choices
    got = told(choice)
    assert got["content"] == expected["content"]
    assert (got["reasoning"] or "") == expected["reasoning"]
    assert got["finish_reason"] == expected["finish_reason"]
    assert (usage.model_dump() if usage else None) == expected["usage"]
    shown = [{key: call[key] for key in ("name", "arguments_text", "id")} for call in got["tool_calls"]]
    assert shown == expected["tool_calls"]


def test_the_call_that_the_token_limit_cut_is_kept_and_marked() -> None:
    body = (FOLDER / "deepseek-length-cut-second-call.sse").read_bytes()
    choices, _, _ = read(body, 7, 200, streaming=True)
    first, second = choices[0].message.tool_calls
    assert first.arguments_error is None
    assert "cut off" in str(second.arguments_error)
    assert second.arguments_text and second.arguments == {}
