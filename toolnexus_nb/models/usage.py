"""Usage of models that count no tokens: by the estimator, and marked as such."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..openai.tokens import estimate_tokens, estimate_tool_tokens


def estimated_usage(body: Mapping[str, Any], said: str) -> dict[str, Any]:
    """Tokens of a request and of what was said to it, marked `"estimated": true`."""
    prompt = sum(
        estimate_tokens(_words_of(message)) for message in body.get("messages") or () if isinstance(message, Mapping)
    )
    prompt += sum(estimate_tool_tokens(dict(tool)) for tool in body.get("tools") or () if isinstance(tool, Mapping))
    reply = estimate_tokens(said)
    return {"prompt_tokens": prompt, "completion_tokens": reply, "total_tokens": prompt + reply, "estimated": True}


def _words_of(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False) if content else ""
    calls = message.get("tool_calls")
    return f"{text} {json.dumps(calls, ensure_ascii=False)}" if calls else text
