"""A run as HTML: pure functions from the parts of a `RunState` to escaped fragments.

The live panel sends these fragments one by one, the static form puts them together; so what is seen while the run goes
and what is kept are the same. Each fragment that can change carries its part's name in `data-part` (see `run_state`).
Nothing here sets a colour or needs the stylesheet to be understood: states are words, order tells the story.
"""

from __future__ import annotations

import json
from typing import Any

from .markup import (
    LINE,
    MOST_TEXT,
    SEPARATOR,
    code,
    counted,
    definition_list,
    duration,
    esc,
    explained,
    fold,
    foot,
    head,
    heading,
    hint,
    join,
    json_text,
    long_text,
    part_name,
    pre,
    section,
    shortened,
    tag,
)
from .run_state import END, FOOT, HEAD, NOTES, CallState, RoundState, RunState
from .value_markup import markdown_html, picture_html, value_html, value_text

MOST_MARKDOWN = 100_000
"""Longer answers are shown as they are: rendering them would hold the kernel for seconds."""
MOST_ANSWER = 400_000
"""Characters of one answer that are kept; with `CALLS_BUDGET` this keeps a saved run under 2 MB."""
CALLS_BUDGET = 700_000
"""Characters that all cards of a run may take together, about; `CARD` of each is markup."""
CARD = 1_100
FEW_CALLS = 8
"""Up to so many calls every card stands open."""

STATES = {
    "receiving": "receiving",
    "received": "about to run",
    "waiting": "waiting for you",
    "running": "running",
    "done": "done",
    "failed": "failed",
    "cancelled": "cancelled",
    "denied": "denied",
}
"""The words for the states of a call."""


# --- the frame --------------------------------------------------------------------------------------------------------


def run_head(state: RunState) -> str:
    """Which model, where, and what is going on."""
    name, _, place = state.label.partition(" at ")
    return _part(HEAD, head(esc(name or "model"), esc(place), status=esc(status_line(state))))


def status_line(state: RunState) -> str:
    """`round 2 · 3 calls · 2 done, 1 waiting for you`, and at the end `done · 2 rounds · 3 calls · 2.3 s`."""
    calls = state.calls
    count = counted(len(calls), "call") if calls else ""
    if state.ended:
        word = {"error": "failed"}.get(state.status, state.status)
        return join([word, counted(len(state.rounds), "round"), count, _odd_ends(state), duration(state.seconds)])
    where = f"round {state.rounds[-1].number}" if state.rounds else "asking"
    doing = "waiting for you" if state.status == "paused" else ""
    return join([doing, where, count, _tally(calls)])


def _tally(calls: list[CallState]) -> str:
    counts: dict[str, int] = {}
    for call in calls:
        word = STATES[call.status]
        counts[word] = counts.get(word, 0) + 1
    return ", ".join(f"{number} {word}" for word, number in counts.items())


def _odd_ends(state: RunState) -> str:
    """The ends that are not `done`: nobody should have to open cards to learn of them."""
    return _tally([call for call in state.calls if call.status != "done"])


def run_prompt(state: RunState) -> str:
    """The question."""
    text = state.prompt.strip()
    body = long_text(text) if len(text) > 600 else esc(text)
    return tag("div", body, cls="tnx-ask", style="white-space:pre-wrap;padding:8px 0 0") if text else ""


def run_notes(state: RunState) -> str:
    """What concerns the run as a whole."""
    return _part(NOTES, tag("div", *(note(kind, text) for kind, text in state.notes)))


def run_end(state: RunState) -> str:
    """How the run ended, if not well."""
    ending = end_sentence(state)
    kind = "error" if state.status == "error" else "warning"
    return _part(END, tag("div", note(kind, ending) if ending else ""))


def end_sentence(state: RunState) -> str:
    """How a run ended that did not simply end, and what to do next."""
    result = state.result
    if state.status == "error":
        return state.error
    if state.status == "stopped":
        left = result.left_running if result is not None else []
        running = f" Still running in a thread, its result will be dropped: {', '.join(left)}." if left else ""
        if result is None or result.taken_back:
            return f"Stopped before a tool had run: the question is taken back, so it can be asked again.{running}"
        return f"Stopped; the question and what had come until then are kept in the conversation.{running}"
    if state.status == "paused":
        waiting = sum(call.status == "waiting" for call in state.calls)
        verb = "waits" if waiting == 1 else "wait"
        return (
            f"{counted(waiting, 'call')} {verb} for your decision: %toolnexus resume allow, or %toolnexus resume deny."
        )
    if state.status == "incomplete" and result is not None:
        return {
            "max_rounds": "The model still wanted to call tools after the last permitted round "
            "(%config Toolnexus.max_rounds, or --max-rounds).",
            "timeout": "The time for this run was up before the model had finished.",
            "length": "The answer was cut off: it reached the most tokens the model may write (--max-tokens).",
            "content_filter": "The endpoint's content filter cut the answer off.",
        }.get(str(result.limit), "The run did not come to its end.")
    return ""


def note(kind: str, text: str) -> str:
    """One line that a person should see; `kind` is note, warning or error."""
    word = "" if kind == "note" else tag("b", esc(kind)) + " · "
    return tag(
        "p", word, esc(shortened(text, 2_000)), cls=f"tnx-remark tnx-remark-{kind}", style="padding:4px 0;margin:0"
    )


def run_foot(state: RunState) -> str:
    """What it cost, and the doors to more."""
    usage = state.usage
    facts = []
    if usage is not None and usage.total_tokens:
        facts.append(_tokens_in_and_out(usage.prompt_tokens, usage.completion_tokens, usage.estimated))
        facts += [esc(f"{usage.cached_tokens:,} from the cache")] if usage.cached_tokens else []
        facts += [esc(f"{usage.reasoning_tokens:,} for thinking")] if usage.reasoning_tokens else []
    if state.schema_tokens:
        facts.append(
            explained(f"tools cost {state.schema_tokens:,} of each request", "estimated size of their definitions")
        )
    doors = join([code("%toolnexus wire"), code("%toolnexus export run.html")]) if state.ended else ""
    return _part(FOOT, foot(*facts, end=doors) or tag("footer", cls="tnx-foot"))


def _tokens_in_and_out(prompt: float, completion: float, estimated: bool) -> str:
    """`404 tokens in + 31 out`, with what that means on a second look."""
    about = "about " if estimated else ""
    meaning = "in: what was sent to the model over all rounds; out: what it wrote"
    counted_by = ", estimated: the endpoint did not count them" if estimated else ", as the endpoint counted them"
    return explained(f"{about}{prompt:,} tokens in + {completion:,} out", meaning + counted_by)


# --- a round ----------------------------------------------------------------------------------------------------------


def round_html(round_: RoundState, now: float, *cards: str, thought: str = "", said: str = "") -> str:
    """One round: heading, thinking, text, cards, notes. `thought` and `said` are HTML of the text so far."""
    return tag(
        "div",
        round_head(round_, now),
        tag("div", thought, data_part=f"{round_.part}.thought"),
        tag("div", said, cls="tnx-say", data_part=f"{round_.part}.text"),
        tag("div", *cards, cls="tnx-calls", data_part=f"{round_.part}.calls"),
        round_notes(round_),
        cls="tnx-round",
        data_part=round_.part,
        role="listitem",
        style="padding:0 0 8px",
    )


def round_head(round_: RoundState, now: float) -> str:
    """`Round 2 · 0.9 s`, and while the model answers `Round 2 · 0.9 s so far`."""
    words = esc(f"Round {round_.number}")
    if not round_.finished:
        words += " · " + since(now - round_.started) + " so far"
    elif round_.seconds is not None:
        words += " · " + esc(duration(round_.seconds))
    return _part(f"{round_.part}.head", heading(words))


def since(seconds: float) -> str:
    """A time that goes on: the live panel counts it up by itself."""
    return tag("span", esc(duration(seconds)), cls="tnx-since", data_elapsed=f"{seconds:.2f}")


def round_notes(round_: RoundState) -> str:
    """Refusal and notes of a round."""
    parts = [note("warning", f"the model refuses: {round_.refusal}")] if round_.refusal else []
    parts += [note(kind, text) for kind, text in round_.notes]
    return _part(f"{round_.part}.notes", tag("div", *parts))


def said_html(text: str) -> str:
    """A finished piece of the model's text: Markdown made harmless, or plain where it is very long."""
    if not text.strip():
        return ""
    if len(text) <= MOST_MARKDOWN:
        return markdown_html(text)
    return tag("div", esc(shortened(text, MOST_ANSWER)), cls="tnx-plain", style="white-space:pre-wrap")


def thought_start(text: str = "") -> str:
    """The fold that thinking streams into, with what has come so far."""
    return fold("thinking", tag("span", esc(text), cls="tnx-tail"), cls="tnx-thought")


def thought_html(text: str) -> str:
    """What the model thought aloud, folded."""
    if not text.strip():
        return ""
    words = counted(len(text.split()), "word")
    return fold(esc(f"thinking · {words}"), pre(text, most=2 * MOST_TEXT), cls="tnx-thought")


# --- a call -----------------------------------------------------------------------------------------------------------


def card(call: CallState, now: float, actions: str = "", most: int = MOST_TEXT, open: bool = True) -> str:
    """One tool call. `now` is the state's clock; `actions` is HTML put under the arguments; `most` bounds each text."""
    title = getattr(call.tool, "title", None)
    summary = tag(
        "summary",
        code(call.name or "…"),
        " ",
        hint(title) + " " if title and title != call.name else "",
        SEPARATOR,
        call_state(call, now),
        style="cursor:pointer",
    )
    body = [arguments(call, most), progress(call)]
    if call.status == "waiting" and call.reason:
        body.append(tag("p", hint(call.reason), cls="tnx-why", style="padding:0 0 6px;margin:0"))
    body += [actions, call_result(call, most), printed(call, most)]
    return tag(
        "details",
        summary,
        *body,
        cls=f"tnx-call tnx-{call.status}",
        data_part=call.part,
        open=open or not call.ended,
        style=f"border:{LINE};border-radius:4px;margin:0 0 8px;padding:6px 10px",
    )


def call_state(call: CallState, now: float) -> str:
    """`done in 0.31 s`, `running 2.1 s`: the word for its state, and the time."""
    word, time = STATES[call.status], ""
    if call.status == "running" and call.started is not None:
        time = " " + since(now - call.started)
    elif call.ended and call.seconds is not None and call.status != "denied":
        time = esc(f" {'in' if call.status == 'done' else 'after'} {duration(call.seconds)}")
    return tag("span", esc(word), time, cls="tnx-state")


def arguments(call: CallState, most: int = MOST_TEXT) -> str:
    """The arguments as a definition list; as text while they stream in, and where they are no JSON object."""
    if call.arguments is not None and call.status != "receiving":
        listed = definition_list(call.arguments, call.schema)
        if len(listed) > 2 * most:
            listed = pre(json_text(dict(call.arguments)), "tnx-typed", most)
        return listed if listed.startswith("<p") else part_name("arguments") + listed  # "no arguments" names itself
    text = str(call.typed)
    if not text and call.ended:
        return ""
    style = "white-space:pre-wrap;overflow-wrap:anywhere"
    return tag("div", esc(shortened(text, most)), cls="tnx-typed", style=style, data_part=f"{call.part}.typed")


def progress(call: CallState) -> str:
    """How far the tool says it is."""
    if call.progress is None or call.ended:
        return ""
    done, total, message = call.progress
    known = done is not None and total is not None and total > 0
    numbers = f"{done:g} of {total:g}" if known else f"{done:g}" if done is not None else ""
    bar = tag(
        "progress", value=f"{done:g}" if known else None, max=f"{total:g}" if known else None, aria_label="progress"
    )
    words = esc(join([message or "", numbers]))
    return tag("div", bar, " ", tag("span", words, cls="tnx-hint"), cls="tnx-progress", style="padding:0 0 8px")


def call_result(call: CallState, most: int = MOST_TEXT) -> str:
    """What came back: the value as a person sees it, and the model's text beside it where that differs."""
    result = call.result
    if result is None:
        return ""
    pieces = "".join(_piece(piece) for piece in result.parts)
    if result.is_error or result.value is None:
        body = [_bounded_text(result.output, most) if result.output.strip() or not pieces else "", pieces]
    else:
        pictures = any(piece.kind == "image" for piece in result.parts)  # what a figure's own display may not give
        body = [pieces if pictures else _value(result.value, most)]
        if not _same(result.value, result.output):
            body.append(fold("what the model reads", pre(result.output, most=most), cls="tnx-model-reads"))
    if result.traceback:
        body.append(fold("traceback", pre(result.traceback, most=most)))
    name = part_name("error" if result.is_error else "result")
    return tag("div", name, *body, cls="tnx-result", style="padding:6px 0;overflow-wrap:anywhere")


def _bounded_text(text: str, most: int) -> str:
    return long_text(shortened(text, most), "tnx-value")


def _value(value: Any, most: int) -> str:
    if isinstance(value, str):
        return _bounded_text(value, most)
    shown = value_html(value)
    # a picture may be larger than a text; a table or a nested structure may not
    room = max(most * 4, most if "<img" not in shown else 400_000 if most >= MOST_TEXT else most)
    return shown if len(shown) <= room else _bounded_text(value_text(value), most)


def _same(value: Any, output: str) -> bool:
    """Whether the model reads just what the person sees."""
    text = output.strip()
    if text in (str(value).strip(), json_text(value, None), value_text(value).strip()):
        return True
    try:
        return bool(json.loads(text) == value)
    except (ValueError, TypeError):
        return False


def _piece(piece: Any) -> str:
    """A part of a result that is more than text."""
    name = piece.name or piece.uri or piece.mime_type or piece.kind
    if piece.kind == "image" and piece.data is not None:
        return picture_html(piece.mime_type, piece.data, alt=name)
    if piece.text is not None:
        return _bounded_text(piece.text, MOST_TEXT)
    size = f", {len(piece.data):,} bytes" if piece.data is not None else ""
    return tag("p", hint(f"{piece.kind} {name}{size}"))


def printed(call: CallState, most: int = MOST_TEXT) -> str:
    """What the tool printed while it ran."""
    text = call.result.printed if call.result is not None else ""
    if not text.strip():
        return ""
    label = tag("span", "printed", cls="tnx-hint")
    return tag("div", label, pre(text.rstrip("\n"), most=most), cls="tnx-printed", style="padding:4px 0 8px")


def approval_actions(call: CallState) -> str:
    """Allow, Edit and Deny for a call that waits, with a place to edit the arguments. For the live panel only."""

    def button(act: str, words: str, cls: str = "") -> str:
        return tag("button", words, type="button", cls=cls, data_act=act)

    written = json_text(dict(call.arguments or {}))
    rows = min(16, written.count("\n") + 2)
    editor = tag(
        "div",
        tag("textarea", esc(written), rows=rows, spellcheck="false", aria_label=f"Arguments of {call.name} as JSON"),
        tag("div", button("run-edited", "Run with these", "tnx-go"), cls="tnx-act"),
        cls="tnx-edit",
        hidden=True,
    )
    buttons = [button("allow", "Allow", "tnx-go"), button("edit", "Edit…"), button("deny", "Deny")]
    return tag(
        "div",
        tag("div", *buttons, cls="tnx-act"),
        editor,
        tag("p", cls="tnx-problem tnx-hint", role="alert"),
        role="group",
        aria_label=f"May {call.name} run?",
        data_call=call.part,
        data_keep="1",
    )


# --- the whole --------------------------------------------------------------------------------------------------------


def run_html(state: RunState) -> str:
    """The run as static HTML: the same story in order, bounded, without a script or a style of its own."""
    each = CALLS_BUDGET // max(1, len(state.calls))
    share = max(150, min(MOST_TEXT, (each - CARD) // 3))  # arguments, result, printed text
    return run_frame(state, "".join(_static_round(state, round_, share) for round_ in state.told))


def run_frame(state: RunState, rounds: str) -> str:
    """Everything around the rounds."""
    return section(
        "Tool-calling run",
        run_head(state),
        run_prompt(state),
        run_notes(state),
        tag("div", rounds, cls="tnx-rounds", data_part="rounds", role="list"),
        run_end(state),
        run_foot(state),
        cls="tnx-run",
    )


def _static_round(state: RunState, round_: RoundState, share: int) -> str:
    now = state.clock()
    few = len(state.calls) <= FEW_CALLS
    cards = [card(call, now, most=share, open=few or call.status == "failed") for call in round_.calls]
    return round_html(
        round_,
        now,
        *cards,
        thought=thought_html(str(round_.reasoning)),
        said=said_html(str(round_.text)),
    )


def _part(name: str, html: str) -> str:
    """`html` with its part's name in its outermost tag."""
    end = html.index(">")
    return f'{html[:end]} data-part="{esc(name)}"{html[end:]}'
