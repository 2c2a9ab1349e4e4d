"""From chunks to the reply they are pieces of: the seed's CompletionAccumulator.

Rules 2 and 7 to 9 of the quirks, rows B, C and F. Adding a chunk costs the same however long the answer already is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .tool_call_accumulator import CallPiece, StreamingToolCallAccumulator
from .types import (
    ChatCompletionChunk,
    ChatCompletionResponse,
    Choice,
    ChunkChoice,
    Delta,
    Message,
    ToolCall,
    Usage,
    as_mapping,
    part_text,
    thinking_text,
)

_PADDING = frozenset({"token_id", "padding", "p", "obfuscation", "channel"})  # per chunk, no part of the message
_CUT_REASONS = ("length", "content_filter")


class CompletionAccumulator:
    """Feed it chunks (or whole responses); it holds the reply so far.

    `tool_names`: the declared tools (see StreamingToolCallAccumulator). What belongs to one choice is read for choice
    0 by the properties, for any by `message(choice)` and `choices`.
    """

    def __init__(self, tool_names: Iterable[str] = ()) -> None:
        self.tool_names = frozenset(tool_names)
        self.reset()

    def reset(self) -> None:
        """Forget everything but the declared names."""
        self._states: dict[int, _ChoiceState] = {}
        self._head: dict[str, Any] = {}
        self._usage: Usage | None = None
        self._groq_usage: Usage | None = None
        self.closed = False  # the stream ended as it should, also if no finish_reason was given (B07)
        self.cut = False  # the stream broke off

    def add_chunk(self, chunk: ChatCompletionChunk | ChatCompletionResponse | Mapping[str, Any]) -> None:
        """Add one chunk, or a whole response as if it were one."""
        if type(chunk) is not ChatCompletionChunk:
            chunk = ChatCompletionChunk.read(as_mapping(chunk))
        usage = chunk.usage
        for choice in chunk.choices:
            state = self._states.get(choice.index)
            if state is None:
                state = self._new_state(choice.index)
            state.add(choice)
            usage = usage or choice.usage
        if usage is not None and usage.model_fields_set:
            self._usage = usage
        self._add_head(chunk)

    def _new_state(self, index: int) -> _ChoiceState:
        index = max(index, 0)
        return self._states.setdefault(index, _ChoiceState(self.tool_names))

    def _add_head(self, chunk: ChatCompletionChunk) -> None:
        """Keep what a chunk says beside the choices: the first id and time, the last model, unknown keys."""
        head = self._head
        if chunk.model:
            head["model"] = chunk.model
        if chunk.id and "id" not in head:
            head["id"] = chunk.id
            if chunk.created is not None:
                head["created"] = chunk.created
        if chunk.system_fingerprint:
            head["system_fingerprint"] = chunk.system_fingerprint
        if chunk.service_tier:
            head["service_tier"] = chunk.service_tier
        for key, value in (chunk.__pydantic_extra__ or {}).items():
            if key == "x_groq" and isinstance(value, dict) and isinstance(value.get("usage"), dict):
                self._groq_usage = Usage.read(value["usage"])
            if value is not None and key not in _PADDING:
                head[key] = value

    def message(self, choice: int = 0) -> Message:
        """The message of a choice as far as it has come. A call whose arguments do not parse says so itself."""
        state = self._state(choice)
        return state.message(self.cut) if state else Message(role="assistant", content=None)

    @property
    def choices(self) -> list[Choice]:
        """All choices so far, by index."""
        return [state.choice(index, self.cut) for index, state in sorted(self._states.items())]

    def response(self) -> ChatCompletionResponse:
        """The reply so far in the form of a reply that was not streamed."""
        body = {**self._head, "object": "chat.completion", "choices": self.choices}
        return ChatCompletionResponse.read(body if self.usage is None else {**body, "usage": self.usage})

    @property
    def content(self) -> str:
        """The text so far."""
        state = self._state(0)
        return "".join(state.content) if state else ""

    @property
    def reasoning(self) -> str:
        """The thoughts so far, each once although providers send copies (C02)."""
        state = self._state(0)
        return "".join(state.reasoning) if state else ""

    @property
    def refusal(self) -> str:
        """The refusal so far, apart from the text (B12)."""
        state = self._state(0)
        return "".join(state.refusal) if state else ""

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The calls so far."""
        state = self._state(0)
        return state.tool_calls(self.cut) if state else []

    @property
    def touched(self) -> list[CallPiece]:
        """What the last chunk added to the calls, in order."""
        state = self._state(0)
        return state.calls.pieces or state.legacy.pieces if state else []

    @property
    def usage(self) -> Usage | None:
        """The last usage reported, None if there was none; never a sum (F02)."""
        return self._usage or self._groq_usage

    @property
    def finish_reason(self) -> str | None:
        """Why the answer ended, in the provider's word; None while it has not, or if the provider does not say."""
        state = self._state(0)
        return state.finish_reason if state else None

    @property
    def has_finish_reason(self) -> bool:
        """Whether any choice has ended by its own word (B22: a proxy may say it of one only)."""
        return any(state.finish_reason for state in self._states.values())

    @property
    def is_complete(self) -> bool:
        """Whether the answer has ended as it should."""
        return bool(self.finish_reason) or self.closed

    def finished_content(self) -> str | None:
        """The text of an ended answer, whatever ended it; None before that, and if the answer is calls alone."""
        if not self.is_complete or (not self.content and self.tool_calls):
            return None
        return self.content

    def finished_tool_calls(self) -> list[ToolCall] | None:
        """The calls of an ended answer; None before that, and if there are none. The finish reason may be any (B04)."""
        return (self.tool_calls or None) if self.is_complete else None

    def finished_tool_call(self) -> ToolCall | None:
        """The first of `finished_tool_calls()`, or None."""
        calls = self.finished_tool_calls()
        return calls[0] if calls else None

    def finished_refusal(self) -> str | None:
        """The refusal, or None if the model does not refuse."""
        return self.refusal or None

    def _state(self, choice: int) -> _ChoiceState | None:
        """The state of a choice; a server that labels its only choice otherwise is understood."""
        if choice == 0 and 0 not in self._states and len(self._states) == 1:
            return next(iter(self._states.values()))
        return self._states.get(choice)


class _ChoiceState:
    """One choice under way."""

    def __init__(self, tool_names: frozenset[str]) -> None:
        self.role = ""
        self.content: list[str] = []
        self.refusal: list[str] = []
        self.reasoning: list[str] = []
        self.carriers: dict[str, list[str]] = {}  # the thoughts under the provider's own keys, for sending back (C04)
        self.details: list[Any] = []
        self.parts: list[Any] = []
        self.audio: _Growing | None = None
        self.calls = StreamingToolCallAccumulator(tool_names)
        self.legacy = StreamingToolCallAccumulator(tool_names)  # function_call (A26), used if no tool_calls came
        self.finish_reason: str | None = None
        self.logprobs: dict[str, Any] = {}
        self.extra: dict[str, Any] = {}
        self.choice_extra: dict[str, Any] = {}

    def add(self, choice: ChunkChoice) -> None:
        """Add what one chunk says: content, reasoning, refusal and calls before the finish reason (rule 2)."""
        if choice.message is not None:
            choice = with_delta(choice)
        delta = choice.delta
        content = delta.content
        if content:
            if type(content) is str:
                self.content.append(content)
            else:
                self._add_parts(content)
        if delta.tool_calls or self.calls.pieces:
            self.calls.process_delta(delta)
        if delta.reasoning_content or delta.reasoning or delta.reasoning_details or type(content) is list:
            self._add_reasoning(delta)
        if delta.role and not self.role:
            self.role = delta.role
        if delta.refusal:
            self.refusal.append(delta.refusal)
        if delta.function_call or self.legacy.pieces:
            self._add_legacy(delta.function_call)
        if delta.audio and any(delta.audio.values()):
            self.audio = self.audio or _Growing("data", "transcript")
            self.audio.add(delta.audio)
        if delta.__pydantic_extra__:
            _add_extra(self.extra, delta.__pydantic_extra__)
        reason = choice.finish_reason
        if reason and (not self.finish_reason or (choice.message is not None and reason == "tool_calls")):
            self.finish_reason = reason  # the first one counts (B06), but of choices that are one (A23) the calls'
        if choice.logprobs:
            _add_extra(self.logprobs, choice.logprobs)
        if choice.__pydantic_extra__:
            _add_extra(self.choice_extra, choice.__pydantic_extra__)

    def _add_parts(self, content: Any) -> None:
        for part in content if isinstance(content, list) else [content]:
            text = part if isinstance(part, str) else part_text(part)
            if text:
                self.content.append(text)
            elif not thinking_text([part]):
                self.parts.append(part)

    def _add_reasoning(self, delta: Delta) -> None:
        text = delta.reasoning_text
        if text:
            self.reasoning.append(text)
        for key in ("reasoning_content", "reasoning"):
            piece = getattr(delta, key)
            if piece:
                self.carriers.setdefault(key, []).append(piece)
        for item in delta.reasoning_details or ():
            _add_detail(self.details, item)

    def _add_legacy(self, call: Any) -> None:
        said = isinstance(call, Mapping) and (call.get("name") or call.get("arguments"))
        self.legacy.process_delta({"tool_calls": [{"index": 0, "function": call}] if said else []})

    def tool_calls(self, broken: bool) -> list[ToolCall]:
        cut = broken or self.finish_reason in _CUT_REASONS
        return self.calls.finalize(cut=cut) or self.legacy.finalize(cut=cut)

    def message(self, broken: bool) -> Message:
        extra = {key: value for key, value in self.extra.items() if key not in _PADDING}
        body: dict[str, Any] = {"role": self.role or "assistant", "content": "".join(self.content) or None, **extra}
        body |= {key: "".join(pieces) for key, pieces in self.carriers.items()}
        if self.reasoning and not self.carriers and not self.details:
            body["reasoning"] = "".join(self.reasoning)  # thoughts that came as content parts (B15)
        if self.details:
            body["reasoning_details"] = [item.joined() if isinstance(item, _Growing) else item for item in self.details]
        if self.audio:
            body["audio"] = self.audio.joined()
        if self.refusal:
            body["refusal"] = "".join(self.refusal)
        calls = self.tool_calls(broken)
        if calls:
            body["tool_calls"] = calls
        message = Message.read(body)
        message.other_parts.extend(self.parts)
        return message

    def choice(self, index: int, broken: bool) -> Choice:
        body = {
            **self.choice_extra,
            "index": index,
            "message": self.message(broken),
            "finish_reason": self.finish_reason,
        }
        return Choice.read({**body, "logprobs": self.logprobs} if self.logprobs else body)


def with_delta(choice: ChunkChoice) -> ChunkChoice:
    """A choice with a whole message as if that had been streamed (D15); a delta beside it counts alone (B18)."""
    if choice.message is None or "delta" in choice.model_fields_set:
        return choice
    message = dict(choice.message)
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        calls = [call for call in calls if isinstance(call, Mapping)]
        message["tool_calls"] = [{**call, "index": position} for position, call in enumerate(calls)]
    return choice.model_copy(update={"delta": Delta.read(message)})


def _add_extra(held: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Add unknown keys: lists grow (B25), of everything else the last value that says something is kept."""
    for key, value in more.items():
        if isinstance(value, list) and isinstance(held.get(key), list):
            held[key].extend(value)
        elif value not in (None, ""):
            held[key] = list(value) if isinstance(value, list) else value


class _Growing:
    """A dict of which some texts come in pieces; they are joined when read, so adding costs the same at any length."""

    def __init__(self, *growing: str) -> None:
        self.fields: dict[str, Any] = {}
        self.pieces: dict[str, list[str]] = {key: [] for key in growing}

    def add(self, more: Mapping[str, Any]) -> None:
        for key, value in more.items():
            if key in self.pieces and isinstance(value, str):
                self.pieces[key].append(value)
            elif value is not None:
                self.fields[key] = value

    def joined(self) -> dict[str, Any]:
        return self.fields | {key: "".join(pieces) for key, pieces in self.pieces.items() if pieces}


def _add_detail(details: list[Any], item: Any) -> None:
    """Add an entry of `reasoning_details`: those of one index and type are one, whose texts grow (C03)."""
    if not isinstance(item, Mapping):
        details.append(item)
        return
    last = details[-1] if details else None
    if (
        not isinstance(last, _Growing)
        or item.get("index") is None
        or any(last.fields.get(key) != item.get(key) for key in ("index", "type"))
    ):
        last = _Growing("text", "summary")
        details.append(last)
    last.add(item)
