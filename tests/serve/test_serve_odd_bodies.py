"""Requests that nobody meant: each is answered or refused with a 4xx; none is a failure of the server."""

from __future__ import annotations

import asyncio
import copy
import json
import random
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import toolnexus_nb as tn
from toolnexus_nb.serve import create_app

REQUEST: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "s"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "mine", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "a", "content": "r"},
    ],
    "tools": [{"type": "function", "function": {"name": "mine", "parameters": {"type": "object"}}}],
    "tool_choice": "auto",
    "temperature": 1,
    "stream": True,
}
ODD = [
    None, True, 0, -1, 1e400, "", "x", "\ud800", [], {}, [None], [[]], {"a": 1}, "none", 10**30,
    {"type": "function"}, {"type": "function", "function": None}, {"type": "custom", "custom": {"name": "z"}},
]  # fmt: skip
KEYS = [
    "model",
    "tools",
    "tool_choice",
    "stream",
    "stream_options",
    "n",
    "functions",
    "extra_body",
    "role",
    "id",
    "name",
]


def changed(value: Any, dice: random.Random) -> Any:
    """The value with some of its parts replaced by odd ones, and odd keys added."""
    if dice.random() < 0.04:
        return dice.choice(ODD)
    if isinstance(value, dict):
        value = {key: changed(part, dice) for key, part in value.items()}
        if dice.random() < 0.1:
            value[dice.choice(KEYS)] = dice.choice(ODD)
    elif isinstance(value, list):
        value = [changed(part, dice) for part in value]
    return value


@pytest.mark.parametrize("with_tools", [True, False])
def test_no_request_makes_the_server_fail(scripted: Callable[..., Any], with_tools: bool) -> None:
    @tn.tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    def answer(body: dict[str, Any], number: int) -> dict[str, Any]:
        return {"text": "ok"} if number % 2 else {"calls": [("c", "add", '{"a":1,"b":2}')]}

    app = create_app(tn.Toolkit([add] if with_tools else []), scripted(answer))
    dice = random.Random(7)

    async def go() -> dict[int, int]:
        seen: dict[int, int] = {}
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            for _ in range(400):
                body = json.dumps(changed(copy.deepcopy(REQUEST), dice)).encode()
                response = await client.post("/v1/chat/completions", content=body)
                assert response.status_code < 500, body
                assert response.status_code != 200 or '"error":{' not in response.text, body
                if response.status_code >= 400:
                    assert response.json()["error"]["message"], body
                seen[response.status_code] = seen.get(response.status_code, 0) + 1
        return seen

    seen = asyncio.run(go())
    assert seen[200] > 50 and seen[400] > 50
    assert app.state.activity.running == 0
