"""Estimates of token counts, for when a provider reports none: for display and teaching, not for limits or bills.

The rule of the seed page ("words"): a word counts one, every punctuation mark in or beside it one more; a conversation
costs 4, a message 3. The newer rule of the same package ("bytes"): four bytes of UTF-8 a token. What is estimated is
marked, and never replaces what a provider reported.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal

from .arguments import write_arguments
from .json_text import clean_text, dump_json
from .types import ChatCompletionResponse, Delta, Message, Usage, as_mapping, part_text

Method = Literal["words", "bytes"]

_CONVERSATION = 4
_MESSAGE = 3
_IMAGE = 85


@lru_cache(maxsize=4096)
def _is_mark(character: str) -> bool:
    """Whether Unicode calls it punctuation (category P); symbols such as `$` and `+` are not."""
    return unicodedata.category(character)[0] == "P"


class _Words:
    """Counts a text that may come in pieces, by the words rule; a word cut between two pieces is one word."""

    def __init__(self) -> None:
        self.count = 0
        self._in_word = False  # the last word is open and has been counted

    def add(self, text: str) -> None:
        words = text.split()
        if not words:
            self._in_word = self._in_word and not text
            return
        for position, word in enumerate(words):
            marks = sum(map(_is_mark, word))
            plain = marks < len(word)
            goes_on = position == 0 and self._in_word and not text[0].isspace()
            self.count += marks + (plain and not goes_on)
            self._in_word = plain or goes_on
        self._in_word = self._in_word and not text[-1].isspace()


class _Bytes:
    """Counts a text that may come in pieces, by the bytes rule, rounded once."""

    def __init__(self) -> None:
        self._bytes = 0

    def add(self, text: str) -> None:
        self._bytes += len(clean_text(text).encode())

    @property
    def count(self) -> int:
        return -(-self._bytes // 4)


def _counter(method: Method) -> _Words | _Bytes:
    if method == "words":
        return _Words()
    if method == "bytes":
        return _Bytes()
    raise ValueError(f'the method is "words" or "bytes", not {method!r}')


def estimate_tokens(text: str | None, method: Method = "words") -> int:
    """Estimate the tokens of a text; None has none. Raises ValueError for an unknown method."""
    counter = _counter(method)
    counter.add(text or "")
    return counter.count


def estimate_tool_tokens(tool: Any, method: Method = "words") -> int:
    """Estimate what one tool definition costs each request; `tool`: an entry of a request's `tools`."""
    definition = as_mapping(tool)
    body = definition.get("function") or definition.get("custom") or definition
    return _MESSAGE + estimate_tokens(dump_json(body), method)


class TokenCounter:
    """Counts what goes to a model and what comes from it; `get_usage()` gives the estimate so far.

    The 4 tokens of a conversation are counted once, with the first messages. Text that comes in deltas counts as
    if it had come whole. Takes Messages, dicts and the openai package's objects.
    """

    def __init__(self, method: Method = "words") -> None:
        self.method = method
        self.reset()

    def reset(self) -> None:
        """Start again."""
        self._prompt = 0
        self._completion = 0
        self._in_conversation = False
        self._streams: dict[Any, _Words | _Bytes] = {}
        _counter(self.method)

    def add_prompt_tokens_from_messages(self, messages: Iterable[Any]) -> None:
        """Count messages that are sent: overhead, role, content, calls. An image counts 85."""
        if not self._in_conversation:
            self._in_conversation = True
            self._prompt += _CONVERSATION
        for message in map(Message.from_any, messages):
            self._prompt += _MESSAGE + self._estimate(message.role or "") + self._of_message(message)

    def add_prompt_tokens_from_tools(self, tools: Iterable[Any]) -> None:
        """Count tool definitions, which are sent with every request."""
        self._prompt += sum(estimate_tool_tokens(tool, self.method) for tool in tools)

    def add_prompt_tokens_from_text(self, text: str) -> None:
        """Count text that is sent."""
        self._prompt += self._estimate(text)

    def add_completion_tokens_from_text(self, text: str) -> None:
        """Count text that came."""
        self._completion += self._estimate(text)

    def add_completion_tokens_from_message(self, message: Any) -> None:
        """Count a message that came: content, thoughts, refusal, calls. None counts nothing."""
        message = Message.from_any(message or {})
        said = self._estimate(message.reasoning_text) + self._estimate(message.refusal or "")
        self._completion += said + self._of_message(message)

    def add_completion_tokens_from_delta(self, delta: Any) -> None:
        """Count a delta of a stream: content, thoughts, refusal, pieces of calls."""
        if not isinstance(delta, Delta):
            delta = Delta.read(as_mapping(delta))
        for kind, text in (
            ("text", delta.content_text),
            ("reasoning", delta.reasoning_text),
            ("refusal", delta.refusal),
        ):
            if text:
                self._stream(kind).add(text)
        for position, call in enumerate(delta.tool_calls):
            key = position if call.index is None else call.index
            name, arguments = (call.function.name, call.function.arguments) if call.function else (None, None)
            if name:
                self._stream(("name", key)).add(name)
            if arguments:
                self._stream(("arguments", key)).add(arguments if isinstance(arguments, str) else dump_json(arguments))

    def add_completion_tokens_from_response(self, response: Any) -> None:
        """Count all choices of a whole response."""
        if not isinstance(response, ChatCompletionResponse):
            response = ChatCompletionResponse.read(as_mapping(response))
        for choice in response.choices:
            self.add_completion_tokens_from_message(choice.message)

    def get_usage(self) -> Usage:
        """The estimate so far, marked as one."""
        completion = self._completion + sum(stream.count for stream in self._streams.values())
        total = self._prompt + completion
        return Usage(prompt_tokens=self._prompt, completion_tokens=completion, total_tokens=total, estimated=True)

    def inject_usage_if_missing(self, response: Any) -> None:
        """Give a response or chunk without a report the estimate; of a report, fill only a number that is 0 (and mark
        it).

        A report of a total alone is kept as it is, as is any report with both numbers. A dict gets a dict.
        """
        told = response.get("usage") if isinstance(response, dict) else response.usage
        reported, estimate = Usage.read(as_mapping(told or {})), self.get_usage()
        if bool(reported.prompt_tokens) == bool(reported.completion_tokens):
            if reported.prompt_tokens or reported.total_tokens:
                return
            filled = estimate
        else:
            filled = reported.model_copy(deep=True)
            filled.prompt_tokens = reported.prompt_tokens or estimate.prompt_tokens
            filled.completion_tokens = reported.completion_tokens or estimate.completion_tokens
            if (filled.prompt_tokens, filled.completion_tokens) == (reported.prompt_tokens, reported.completion_tokens):
                return
            filled.total_tokens = filled.prompt_tokens + filled.completion_tokens
            filled.estimated = True
        if isinstance(response, dict):
            response["usage"] = filled.model_dump()
        else:
            response.usage = filled

    def _estimate(self, text: str) -> int:
        return estimate_tokens(text, self.method) if text else 0

    def _stream(self, key: Any) -> _Words | _Bytes:
        if key not in self._streams:
            self._streams[key] = _counter(self.method)
        return self._streams[key]

    def _of_message(self, message: Message) -> int:
        """Content and calls, without overhead."""
        content = message.content
        parts = content if isinstance(content, list) else []
        count = self._estimate(content if isinstance(content, str) else "".join(map(part_text, parts)))
        count += _IMAGE * sum(_kind(part) == "image_url" for part in parts)
        for call in message.tool_calls:
            count += self._estimate(call.name)
            # the same for `{"a": 1}` as received and for the dict; text that does not parse counts as it is
            written = call.arguments_text if call.arguments_error else write_arguments("", call.arguments)
            count += self._estimate(written)
        return count


def _kind(part: Any) -> Any:
    return part.get("type") if isinstance(part, Mapping) else getattr(part, "type", None)
