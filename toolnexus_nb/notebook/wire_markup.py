"""The parts of the wire view: a timeline of the run, and for each request what went out, what came back, when."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from typing import Any

from .markup import (
    SEPARATOR,
    code,
    counted,
    duration,
    esc,
    fold,
    head,
    heading,
    hint,
    join,
    json_block,
    json_text,
    long_text,
    pre,
    printable,
    section,
    shortened,
    size,
    table,
    tag,
)
from .schema_markup import tabs
from .wire_forms import NO_ADDRESS, as_curl, as_python, has_address
from .wire_story import Step, body_without_messages, sent_to

#: Chunks that are listed for one exchange; the ones between the first and the last of them are counted.
MOST_CHUNKS = 200
#: Characters of one body that are kept in a notebook.
MOST_BODY = 40_000


def wire_html(steps: Sequence[Step], label: str = "") -> str:
    """The whole view: the timeline, then every request, the last one spread out."""
    if not steps:
        return section("Wire", head("wire"), tag("p", hint(NOTHING), cls="tnx-pad"), cls="tnx-wire")
    total = run_seconds(steps)
    received = sum(len(data) for step in steps for _, data in step.exchange.chunks)
    top = head("wire", esc(label), status=esc(join([counted(len(steps), "request"), size(received), duration(total)])))
    alone = len(steps) == 1
    listed = [step_html(step, open=alone or step is steps[-1]) for step in steps]
    return section("Wire", top, timeline(steps, total), *listed, cls="tnx-wire")


NOTHING = "Nothing has passed yet: ask something first."


def run_seconds(steps: Sequence[Step]) -> float:
    """From the first request sent to the last byte."""
    return max((step.offset + step.seconds for step in steps), default=0.0)


def timeline(steps: Sequence[Step], total: float) -> str:
    """One bar for each request on a common scale, with the same in words."""
    rows = [
        (
            esc(step_name(step)),
            bar(step, total),
            join(segment_words(name, seconds) for name, seconds in step.segments),
        )
        for step in steps
    ]
    return table(("request", "when", "in words"), rows, cls="tnx-timeline")


def bar(step: Step, total: float) -> str:
    """A bar of segments; widths are shares of `total` seconds. It says nothing that the words beside it do not say."""
    scale = 100 / total if total > 0 else 0
    parts = [f'<i class="tnx-gap" style="width:{step.offset * scale:.2f}%"></i>']
    for name, seconds in step.segments:
        parts.append(
            f'<i class="tnx-seg tnx-seg-{name.split()[0]}" style="width:{max(seconds * scale, 0.4):.2f}%"></i>'
        )
    return tag("div", *parts, cls="tnx-bar", aria_hidden="true")


def segment_words(name: str, seconds: float) -> str:
    """`streaming 0.38 s` behind a patch of the bar's pattern."""
    patch = f'<i class="tnx-seg tnx-seg-{name.split()[0]} tnx-patch"></i>'
    return tag("span", patch, esc(f"{name} {duration(seconds)}"), cls="tnx-segwords")


def step_name(step: Step) -> str:
    name = f"round {step.exchange.round}" if step.exchange.round else f"request {step.number}"
    return f"{name}, attempt {step.exchange.attempt}" if step.exchange.attempt > 1 else name


def step_html(step: Step, open: bool = False) -> str:
    """One request and its reply, folded under a line that says how it went."""
    exchange = step.exchange
    line = SEPARATOR.join(
        (
            tag("b", esc(step_name(step)), cls="tnx-title"),
            code(sent_to(exchange)),
            tag("span", esc(outcome(step)), cls="tnx-end tnx-state" + (" tnx-bad" if failed(step) else "")),
        )
    )
    notes = "".join(tag("p", esc(note), cls="tnx-note") for note in exchange.notes)
    body = tag("div", sent_html(step), received_html(step), cls="tnx-columns")
    return tag(
        "details",
        tag("summary", line),
        notes,
        body,
        tabs(step_panels(step), "the whole request and reply, as it was sent and as code"),
        cls="tnx-tool tnx-step",
        open=open,
    )


def failed(step: Step) -> bool:
    return (step.exchange.error is not None and not step.exchange.stopped) or (step.exchange.status or 0) >= 400


def outcome(step: Step) -> str:
    """`200 · stop · 1.4 s`, or how it failed."""
    exchange = step.exchange
    status = "failed" if exchange.status is None and exchange.error else str(exchange.status or "no reply yet")
    if exchange.stopped:
        status = join([str(exchange.status or ""), exchange.stopped])
    return join([status, step.reply.finish_reason or "", duration(exchange.ended)])


# --- what went out ----------------------------------------------------------------------------------------------------


def sent_html(step: Step) -> str:
    """The messages of the request; those that were not in the one before are marked new."""
    messages = step.messages
    old, new = messages[: step.kept_messages], messages[step.kept_messages :]
    parts = [heading(esc(f"sent · {counted(len(messages), 'message')}"))]
    if old:
        before = "".join(message_html(message) for message in old)
        parts.append(fold(esc(f"{counted(len(old), 'message')} as in the request before"), before))
    mark = tag("mark", "new") + " " if step.number > 1 else ""
    parts += [message_html(message, mark) for message in new]
    parameters = body_without_messages(step.exchange.request.body)
    if parameters:
        parts.append(tag("div", _parameters(parameters, step.changed), cls="tnx-message"))
    return tag("div", *parts, cls="tnx-sees")


def _parameters(parameters: Mapping[str, Any], changed: Sequence[str]) -> str:
    marks = {key.removeprefix("+ "): ("new" if key.startswith("+") else "changed") for key in changed}
    shown = [
        tag("dt", esc(key)) + tag("dd", (tag("mark", marks[key]) + " " if key in marks else "") + _short_json(value))
        for key, value in parameters.items()
    ]
    gone = [key.removeprefix("- ") for key in changed if key.startswith("- ")]
    shown += [tag("dt", esc(key)) + tag("dd", tag("mark", "left out now")) for key in gone]
    return tag("dl", *shown, cls="tnx-args")


def _short_json(value: Any) -> str:
    return esc(shortened(json_text(value, None), 400))


def message_html(message: Any, mark: str = "") -> str:
    """One message of a request: role, text, calls."""
    if not isinstance(message, Mapping):
        return tag("div", mark, json_block(message), cls="tnx-message")
    role = esc(message.get("role") or "?")
    about = hint(f"for {message['tool_call_id']}") if message.get("tool_call_id") else ""
    body = _content_html(message.get("content"))
    calls = "".join(_call_html(call) for call in message.get("tool_calls") or () if isinstance(call, Mapping))
    return tag("div", mark, tag("b", role, cls="tnx-role"), " ", about, body, calls, cls="tnx-message")


def _content_html(content: Any) -> str:
    if content in (None, "", []):
        return ""
    return long_text(content) if isinstance(content, str) else json_block(content, 4_000)


def _call_html(call: Mapping[str, Any]) -> str:
    return pre(_call_text(call), "tnx-call-line") + (hint(call["id"]) if call.get("id") else "")


def _call_text(call: Mapping[str, Any]) -> str:
    function = call.get("function")
    function = function if isinstance(function, Mapping) else {}
    return f"{function.get('name', '?')}({shortened(str(function.get('arguments', '')), 2_000)})"


# --- what came back ---------------------------------------------------------------------------------------------------


def received_html(step: Step) -> str:
    """The reply, put together from its chunks."""
    reply, exchange = step.reply, step.exchange
    parts = [heading(esc(f"received · {counted(len(exchange.chunks), 'chunk')}"))]
    if exchange.stopped:
        parts.append(tag("div", hint(reply.problem), cls="tnx-message"))
    elif reply.problem:
        parts.append(tag("div", tag("b", "error", cls="tnx-role tnx-bad"), pre(reply.problem), cls="tnx-message"))
    if reply.message is not None:
        parts.append(_reply_html(reply.message))
    facts = {"finish_reason": reply.finish_reason, "usage": str(reply.usage) if reply.usage else None}
    shown = [tag("dt", esc(key)) + tag("dd", esc(value)) for key, value in facts.items() if value]
    if shown:
        parts.append(tag("div", tag("dl", *shown, cls="tnx-args"), cls="tnx-message"))
    return tag("div", *parts, cls="tnx-sees")


def _reply_html(message: Any) -> str:
    thought = message.reasoning_content or message.reasoning
    parts = [tag("b", esc(message.role or "assistant"), cls="tnx-role")]
    if thought:
        parts.append(fold(esc(f"reasoning, {len(thought):,} characters"), pre(thought)))
    parts.append(_content_html(message.content))
    if message.refusal:
        parts.append(tag("p", tag("b", "refusal"), " ", esc(message.refusal)))
    for call in message.tool_calls or ():
        parts.append(pre(f"{call.name}({call.arguments_text})", "tnx-call-line") + hint(call.id))
        if call.arguments_error:
            parts.append(tag("p", esc(call.arguments_error), cls="tnx-bad"))
    return tag("div", *parts, cls="tnx-message")


# --- the tabs ---------------------------------------------------------------------------------------------------------


def step_panels(step: Step) -> dict[str, str]:
    """The exact forms: request body, chunks with their times, headers, and the request as programs."""
    request = step.exchange.request
    panels = {
        "request body": json_block(request.body, MOST_BODY, copy="the request body"),
        "chunks": chunks_html(step.exchange.chunks),
        "headers": headers_html(step),
    }
    if has_address(request.url):
        parts = (request.method, request.url, request.headers, request.body)
        panels["curl"] = pre(as_curl(*parts), "tnx-code", MOST_BODY, copy="the curl command")
        panels["Python"] = pre(as_python(*parts), "tnx-code", MOST_BODY, copy="the Python program")
    else:
        panels["curl"] = panels["Python"] = tag("p", hint(NO_ADDRESS))
    return panels


def headers_html(step: Step) -> str:
    """Headers both ways, as they are kept: without keys."""
    exchange = step.exchange
    parts = []
    for title, headers in (("sent", exchange.request.headers), ("received", exchange.headers)):
        rows = [tag("dt", esc(name)) + tag("dd", esc(value)) for name, value in headers.items()]
        parts.append(heading(title) + (tag("dl", *rows, cls="tnx-args") if rows else tag("p", hint("none"))))
    return "".join(parts)


def chunks_html(chunks: Sequence[tuple[float, bytes]]) -> str:
    """The bytes as they came, with their times. A character cut between two chunks is shown with the second."""
    if not chunks:
        return tag("p", hint("no bytes came back"))
    first, last = chunks, chunks[:0]
    if len(chunks) > MOST_CHUNKS:
        first, last = chunks[: MOST_CHUNKS // 2], chunks[-MOST_CHUNKS // 2 :]
    room = max(200, MOST_BODY // (len(first) + len(last)))
    rows = _chunk_rows(first, room)
    if last:
        missing = counted(len(chunks) - len(first) - len(last), "chunk")
        rows += [("…", "", hint(f"{missing} left out here")), *_chunk_rows(last, room)]
    return table(("after", "size", "bytes as text"), rows, cls="tnx-chunks")


def _chunk_rows(chunks: Sequence[tuple[float, bytes]], room: int) -> list[tuple[str, str, str]]:
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    return [
        (esc(duration(at)), esc(size(len(data))), pre(decode(data).rstrip("\n") or "(line break)", most=room))
        for at, data in chunks
    ]


# --- text -------------------------------------------------------------------------------------------------------------


def wire_text(steps: Sequence[Step]) -> str:
    """The view as plain text: a line for each request, its new messages, its reply, its times."""
    if not steps:
        return NOTHING
    return printable("\n".join(line for step in steps for line in _step_lines(step)))


def _step_lines(step: Step) -> list[str]:
    lines = [f"{step_name(step)}: {sent_to(step.exchange)} -> {outcome(step)}"]
    if step.kept_messages:
        lines.append(f"  sent: {counted(step.kept_messages, 'message')} as before, and")
    for message in step.messages[step.kept_messages :]:
        if isinstance(message, Mapping):
            calls = [_call_text(call) for call in message.get("tool_calls") or () if isinstance(call, Mapping)]
            if message.get("content") or not calls:
                lines.append(f"  > {message.get('role', '?')}: {_one_line(message.get('content') or '')}")
            lines += [f"  > calls {_one_line(call)}" for call in calls]
    if step.reply.problem:
        lines.append(f"  < {'' if step.exchange.stopped else 'error: '}{_one_line(step.reply.problem)}")
    if (message := step.reply.message) is not None:
        if message.content:
            lines.append(f"  < {message.role or 'assistant'}: {_one_line(message.content)}")
        lines += [f"  < calls {call.name}({_one_line(call.arguments_text)})" for call in message.tool_calls or ()]
    times = join([f"{name} {duration(seconds)}" for name, seconds in step.segments], ", ")
    lines.append(f"  {counted(len(step.exchange.chunks), 'chunk')}; {times}")
    return lines


def _one_line(value: Any) -> str:
    text = value if isinstance(value, str) else json_text(value, None)
    return shortened(" ".join(text.split()), 300).replace("\n", " ")
