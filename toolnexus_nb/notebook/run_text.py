"""A run as plain text and as Markdown: the same story as `run_markup`, for pages without HTML, terminals and files."""

from __future__ import annotations

from .markup import definition_text, duration, printable, shortened, tokens
from .run_markup import MOST_ANSWER, STATES, end_sentence, status_line
from .run_state import CallState, RoundState, RunState
from .value_markup import value_text

RESULT = 600
"""Characters of one result in the text form."""
MANY = 60
"""With more calls than this only a line is kept of each."""


def run_text(state: RunState) -> str:
    """The run in order: who, the question, each round with its calls and results, the answer, the end."""
    lines = [" · ".join(part for part in (state.label or "model", status_line(state), usage_words(state)) if part)]
    if state.prompt.strip():
        lines += ["> " + line for line in printable(shortened(state.prompt.strip(), 2_000)).splitlines()]
    lines += [f"{kind}: {printable(text)}" for kind, text in state.notes]
    most = RESULT if len(state.calls) <= MANY else 80
    for round_ in state.told:
        lines += ["", *round_text(round_, most)]
    ending = end_sentence(state)
    if ending:
        lines += ["", printable(shortened(ending, 2_000))]
    return "\n".join(lines)


def round_text(round_: RoundState, most: int = RESULT) -> list[str]:
    """Lines of one round."""
    lines = [f"Round {round_.number}" + (f" · {duration(round_.seconds)}" if round_.seconds is not None else "")]
    text = str(round_.text).strip()
    if text:
        lines += [f"  {line}".rstrip() for line in printable(shortened(text, MOST_ANSWER)).splitlines()]
    if round_.refusal:
        lines.append(f"  the model refuses: {printable(round_.refusal)}")
    for call in round_.calls:
        lines += call_text(call, most)
    lines += [f"  {kind}: {printable(shortened(text, 600))}" for kind, text in round_.notes]
    return lines


def call_text(call: CallState, most: int = RESULT) -> list[str]:
    """`get_weather(city="Oslo")  done in 0.31 s` and under it the result and what was printed."""
    lines = [f"  {call_line(call, most)}"]
    if call.status == "waiting" and call.reason:
        lines.append(f"    {printable(call.reason)}")
    lines += [f"    {line}".rstrip() for line in result_text(call, most).splitlines()]
    shown = call.result.printed.strip() if call.result is not None else ""
    if shown:
        lines += [f"    | {line}".rstrip() for line in printable(shortened(shown, most)).splitlines()]
    return lines


def call_line(call: CallState, most: int = RESULT) -> str:
    """The call and how it went, in one line."""
    given = definition_text(call.arguments, call.schema) if call.arguments is not None else str(call.typed)
    given = " ".join(printable(shortened(given, most)).split())
    return f"{printable(call.name) or '…'}({given})  {state_words(call)}"


def state_words(call: CallState) -> str:
    """`done in 0.31 s`, `waiting for you`."""
    word = STATES[call.status]
    if not call.ended or call.seconds is None or call.status == "denied":
        return word
    return f"{word} {'in' if call.status == 'done' else 'after'} {duration(call.seconds)}"


def result_text(call: CallState, most: int = RESULT) -> str:
    """What came back, as text."""
    result = call.result
    if result is None:
        return ""
    text = result.output if result.output.strip() or result.value is None else value_text(result.value, most)
    parts = [
        f"[{part.kind}: {part.name or part.uri or part.mime_type}]" for part in result.parts if part.kind != "text"
    ]
    return "\n".join([printable(shortened(text, most)), *map(printable, parts)]).strip()


def usage_words(state: RunState) -> str:
    """The tokens of the run in words; empty when none were reported."""
    usage = state.usage
    return tokens(usage.total_tokens, usage.estimated) if usage is not None and usage.total_tokens else ""


def run_markdown(state: RunState) -> str:
    """The run as Markdown for a file. What the model said stays its own Markdown; what tools said is fenced."""
    lines = [f"**{_inline(state.label or 'model')}** · {_inline(status_line(state))}", ""]
    if state.prompt.strip():
        lines += ["> " + line for line in state.prompt.strip().splitlines()] + [""]
    lines += [f"*{kind}: {_inline(text)}*\n" for kind, text in state.notes]
    for round_ in state.told:
        lines += [f"#### Round {round_.number}", ""]
        text = str(round_.text).strip()
        lines += [printable(text), ""] if text else []
        for call in round_.calls:
            lines += [f"- {_fenced_inline(call_line(call))}", ""]
            body = result_text(call, 4_000)
            lines += [_fenced(body), ""] if body else []
        lines += [f"*{kind}: {_inline(text)}*\n" for kind, text in round_.notes]
    ending = end_sentence(state)
    if ending:
        lines += [f"**{_inline(ending)}**", ""]
    return "\n".join(lines).rstrip() + "\n"


def _inline(text: str) -> str:
    """Text that Markdown leaves alone."""
    return "".join("\\" + letter if letter in "\\`*_{}[]<>#|~" else letter for letter in printable(text))


def _longest_run(text: str) -> int:
    longest = current = 0
    for letter in text:
        current = current + 1 if letter == "`" else 0
        longest = max(longest, current)
    return longest


def _fenced_inline(text: str) -> str:
    marks = "`" * (_longest_run(text) + 1)
    space = " " if "`" in text else ""
    return f"{marks}{space}{text}{space}{marks}"


def _fenced(text: str) -> str:
    marks = "`" * max(3, _longest_run(text) + 1)
    return f"  {marks}\n" + "\n".join(f"  {line}" for line in text.splitlines()) + f"\n  {marks}"
