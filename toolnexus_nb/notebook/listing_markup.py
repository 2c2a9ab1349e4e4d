"""Short lists: the tools there are, the tokens of a run, a conversation."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .markup import (
    code,
    counted,
    duration,
    esc,
    fold,
    head,
    hint,
    join,
    long_text,
    printable,
    section,
    table,
    tag,
    tokens,
)
from .schema_facts import ToolFacts
from .schema_markup import NO_TOOLS, diff_html, schema_diff

if TYPE_CHECKING:
    from ..openai.types import Message
    from ..rounds.result import RunResult
    from ..tools.changes import ToolChange


def tools_html(tools: Sequence[ToolFacts]) -> str:
    """One line for each tool: name, what it does, marks, findings, tokens."""
    if not tools:
        return section("Tools", head("no tools"), tag("p", esc(NO_TOOLS), cls="tnx-pad"))
    total = sum(facts.token_count for facts in tools)
    rows = [
        (
            code(facts.tool.name),
            _first_line(facts.tool.description) or hint("no description"),
            esc(join(facts.tags, ", ")),
            esc(counted(len(facts.findings), "finding")) if facts.findings else "",
            f"{facts.token_count:,}",
        )
        for facts in tools
    ]
    top = head(counted(len(tools), "tool"), status=esc(tokens(total, True)) + " a request")
    listed = table(("tool", "what the model reads first", "marks", "findings", "tokens"), rows, cls="tnx-params")
    return section("Tools", top, listed)


def tools_text(tools: Sequence[ToolFacts]) -> str:
    if not tools:
        return NO_TOOLS
    width = max(len(facts.tool.name) for facts in tools)
    lines = []
    for facts in tools:
        marks = join([*facts.tags, counted(len(facts.findings), "finding") if facts.findings else ""], ", ")
        said = (facts.tool.description or "no description").strip().splitlines()[0]
        lines.append(f"{facts.tool.name:<{width}}  {said}" + (f"  ({marks})" if marks else ""))
    return printable("\n".join(lines))


def _first_line(text: str | None) -> str:
    stripped = (text or "").strip()
    return esc(stripped.splitlines()[0]) if stripped else ""


def _usage_rows(result: RunResult) -> list[tuple[str, float, float, bool]]:
    return [
        (f"round {at}", one.prompt_tokens, one.completion_tokens, one.estimated)
        for at, one in enumerate(result.usages, 1)
    ]


def usage_html(result: RunResult, conversation: Any, schema_tokens: int) -> str:
    """Tokens of the last run by round, of the whole conversation, and what the tools cost each request."""
    rows = [
        (esc(name), f"{sent:,}", f"{written:,}", esc("estimated") if estimated else "")
        for name, sent, written, estimated in _usage_rows(result)
    ]
    for name, usage in (("this run", result.usage), ("conversation", conversation)):
        rows.append(
            (
                tag("b", name),
                f"{usage.prompt_tokens:,}",
                f"{usage.completion_tokens:,}",
                "estimated" if usage.estimated else "",
            )
        )
    top = head("tokens", esc(result.model), status=esc(duration(result.seconds)))
    cost = tag("p", esc(f"The tools' schemas cost {tokens(schema_tokens, True)} of each request."), cls="tnx-note")
    return section(
        "Tokens", top, table(("", "sent", "written", ""), rows, cls="tnx-numbers"), cost if schema_tokens else ""
    )


def usage_text(result: RunResult, conversation: Any, schema_tokens: int) -> str:
    lines = [
        f"{name}: {sent:,} sent, {written:,} written" + (", estimated" if estimated else "")
        for name, sent, written, estimated in _usage_rows(result)
    ]
    lines += [f"this run: {result.usage}", f"conversation: {conversation}"]
    if schema_tokens:
        lines.append(f"the tools' schemas cost {tokens(schema_tokens, True)} of each request")
    return "\n".join(lines)


def conversation_html(messages: Sequence[Message]) -> str:
    """The messages that the next request will begin with."""
    if not messages:
        return section("Conversation", head("no conversation yet"))
    shown = [tag("div", tag("b", esc(_role(one)), cls="tnx-role"), _said(one), cls="tnx-message") for one in messages]
    return section(
        "Conversation", head("conversation", counted(len(messages), "message")), tag("div", *shown, cls="tnx-pad")
    )


def _role(message: Message) -> str:
    return f"{message.role or '?'}" + (f" for {message.tool_call_id}" if message.tool_call_id else "")


def _calls(message: Message) -> list[str]:
    return [f"{call.name}({call.arguments_text})" for call in message.tool_calls or ()]


def _said(message: Message) -> str:
    text = message.get_content_as_string()
    return (long_text(text) if text else "") + "".join(tag("div", code(call)) for call in _calls(message))


def conversation_text(messages: Sequence[Message]) -> str:
    if not messages:
        return "no conversation yet"
    return printable(
        "\n".join(f"{_role(one)}: {join([one.get_content_as_string(), *_calls(one)], ' ')}" for one in messages)
    )


def registrations_html(name: str, changes: Sequence[ToolChange]) -> str:
    """Every registration of a tool, the newest first, each with what it changed."""
    shown = [
        tag("div", esc(f"{_when(change)} · {change.diff()}"), _lines(change), cls="tnx-note")
        for change in reversed(changes)
    ]
    return section(f"Registrations of {name}", head(code(name), counted(len(changes), "registration")), *shown)


def _lines(change: ToolChange) -> str:
    lines = schema_diff(change)
    return fold("line by line", diff_html(lines)) if lines else ""


def registrations_text(name: str, changes: Sequence[ToolChange]) -> str:
    return printable("\n".join(f"{name} · {_when(change)} · {change.diff()}" for change in changes))


def _when(change: ToolChange) -> str:
    return time.strftime("%H:%M:%S", time.localtime(change.when))
