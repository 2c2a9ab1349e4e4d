"""Any Python function as the model: `tn.connect(generate)`.

    def generate(messages, tools):                     as many of these as it takes, by position or by name;
        return "Hello"                                 also `body`, the whole request; plain or async

It returns, or yields piece by piece (then the answer streams):

    "text"                                             text
    ("get_weather", {"city": "Oslo"})                  a call; a list of such pairs is several
    {"content": …, "tool_calls": [...], "reasoning": …, "usage": {...}}      any of these, in OpenAI's form
"""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any

from ..openai.errors import redact
from ..rounds.client import Client
from ..rounds.setup_error import SetupError
from ..rounds.transport import BytesResponse, TransportRequest
from ..tools.background import in_thread
from .speaking import (
    DONE,
    JSON_HEADERS,
    SSE_HEADERS,
    Spoken,
    SpokenCall,
    Voice,
    argument_pieces,
    call_id,
    completion,
    error_body,
    event,
    model_list,
)
from .usage import estimated_usage

Generate = Callable[..., Any]
_GIVEN = ("messages", "tools", "body")


class InProcessTransport:
    """Asks a Python function and speaks what it gives as server-sent events."""

    def __init__(self, generate: Generate, name: str) -> None:
        self.generate = generate
        self.name = name

    async def send(self, request: TransportRequest) -> BytesResponse:
        """Call the function. What it raises is a 500 that names it; a value it may not give, too."""
        if request.method == "GET":
            return BytesResponse(200, JSON_HEADERS, [model_list([self.name])])
        body = request.json()
        try:
            answer = await self._call(body)
        except Exception as error:
            return self._failed(error)
        if not body.get("stream"):
            try:
                spoken = _spoken([piece async for piece in _pieces(answer)], body)
            except Exception as error:
                return self._failed(error)
            text = json.dumps(completion(spoken, self._voice(body)), ensure_ascii=False)
            return BytesResponse(200, JSON_HEADERS, [text.encode("utf-8", "replace")])
        return BytesResponse(200, SSE_HEADERS, self._speak(answer, body))

    async def aclose(self) -> None:
        """Nothing is held."""

    async def _call(self, body: dict[str, Any]) -> Any:
        given = arguments_for(self.generate, body)
        if (
            inspect.iscoroutinefunction(self.generate)
            or inspect.isasyncgenfunction(self.generate)
            or inspect.isgeneratorfunction(self.generate)
        ):
            result = self.generate(**given) if isinstance(given, dict) else self.generate(*given)
        else:
            result = await in_thread(
                lambda: self.generate(**given) if isinstance(given, dict) else self.generate(*given), label=self.name
            )
        return await result if inspect.isawaitable(result) else result

    async def _speak(self, answer: Any, body: dict[str, Any]) -> AsyncIterator[bytes]:
        """Chunks as the function gives its pieces; what it raises on the way is an error event."""
        voice = self._voice(body)
        said: list[Any] = []
        yield event(voice.chunk({"role": "assistant", "content": ""}))
        calls = 0
        try:
            async for piece in _pieces(answer):
                said.append(piece)
                one = _spoken([piece], body, first_call=calls, part=True)
                calls += len(one.calls)
                for delta in _deltas(one, calls - len(one.calls)):
                    yield event(voice.chunk(delta))
        except Exception as error:
            yield event(json.loads(self._problem(error)))
            return
        whole = _spoken(said, body)
        yield event(voice.chunk({}, whole.finish))
        if whole.usage is not None:
            yield event({**voice.chunk({}), "choices": [], "usage": dict(whole.usage)})
        yield DONE

    def _voice(self, body: Mapping[str, Any]) -> Voice:
        return Voice(str(body.get("model") or self.name), id="chatcmpl-in-process", created=int(time.time()))

    def _failed(self, error: Exception) -> BytesResponse:
        return BytesResponse(500, {**JSON_HEADERS, "x-should-retry": "false"}, [self._problem(error)])

    def _problem(self, error: Exception) -> bytes:
        text = redact(f"the function {self.name} raised {type(error).__name__}: {error}".rstrip(": "))
        return error_body(text, kind="server_error", code="in_process_error")


def arguments_for(generate: Generate, body: Mapping[str, Any]) -> dict[str, Any] | list[Any]:
    """What the function is called with: `messages`, `tools`, `body` by name, else messages and tools by position.

    Raises SetupError when it takes neither.
    """
    values = {"messages": list(body.get("messages") or ()), "tools": list(body.get("tools") or ()), "body": dict(body)}
    try:
        parameters = list(inspect.signature(generate).parameters.values())
    except (TypeError, ValueError):  # a builtin: it gets the messages
        return [values["messages"]]
    named = [p for p in parameters if p.name in _GIVEN and p.kind is not p.VAR_POSITIONAL]
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return {
            **{k: v for k, v in body.items() if k not in ("messages", "tools", "stream", "stream_options")},
            **values,
        }
    needed = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if named and all(p in named for p in needed) and all(p.kind is not p.POSITIONAL_ONLY for p in named):
        return {p.name: values[p.name] for p in named}
    if len(needed) > 2:
        raise SetupError(
            f"{_name_of(generate)} must take messages, or messages and tools; it wants "
            f"{', '.join(p.name for p in needed)}"
        )
    return [values["messages"], values["tools"]][: max(1, len(needed))]


async def _pieces(answer: Any) -> AsyncIterator[Any]:
    """What a function gave, piece by piece. A plain generator runs in a thread, so that it may block."""
    if hasattr(answer, "__aiter__"):
        async for piece in answer:
            yield piece
    elif inspect.isgenerator(answer):
        end = object()
        while (piece := await in_thread(next, answer, end)) is not end:
            yield piece
    else:
        yield answer


def _spoken(pieces: Iterable[Any], body: Mapping[str, Any], *, first_call: int = 0, part: bool = False) -> Spoken:
    """All pieces as one message. Raises TypeError for a piece of a kind it does not know.

    part   these are not all of them: no tokens are estimated, since that reads the whole conversation
    """
    text: list[str] = []
    reasoning: list[str] = []
    calls: list[SpokenCall] = []
    usage: Mapping[str, Any] | None = None
    seed = len(body.get("messages") or ())
    for piece in pieces:
        for one in piece if isinstance(piece, list) else [piece]:
            if one is None:
                continue
            if isinstance(one, str):
                text.append(one)
            elif isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str):
                calls.append(_call(one[0], one[1], None, first_call + len(calls), seed))
            else:
                message = _as_mapping(one)
                text.append(str(message.get("content") or message.get("text") or ""))
                reasoning.append(str(message.get("reasoning") or message.get("reasoning_content") or ""))
                if message.get("usage") is not None:
                    usage = _as_mapping(message["usage"])
                for entry in message.get("tool_calls") or ([message] if "name" in message else ()):
                    name, arguments, given = _entry(entry)
                    calls.append(_call(name, arguments, given, first_call + len(calls), seed))
    said = " ".join([*text, *reasoning, *(f"{call.name} {call.arguments}" for call in calls)])
    if usage is None and not part:
        usage = estimated_usage(body, said)
    return Spoken("".join(text), "".join(reasoning), tuple(calls), usage)


def _entry(entry: Any) -> tuple[str, Any, str | None]:
    if isinstance(entry, tuple):
        return str(entry[0]), entry[1], None
    call = _as_mapping(entry)
    function = _as_mapping(call.get("function") or call)
    return str(function.get("name") or ""), function.get("arguments"), call.get("id")


def _call(name: str, arguments: Any, given: str | None, position: int, seed: int) -> SpokenCall:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False, default=str)
    return SpokenCall(name, text, given or call_id(position, seed, name, text))


def _as_mapping(value: Any) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        if value.get("choices"):
            return {**_as_mapping(value["choices"][0].get("message") or {}), "usage": value.get("usage")}
        return value
    for dump in ("model_dump_wire", "model_dump"):
        if hasattr(value, dump):
            return _as_mapping(getattr(value, dump)())
    raise TypeError(
        f"it gave a {type(value).__name__}; it may give text, a (name, arguments) pair, a list of pairs, or a "
        f"message as a dict"
    )


def _deltas(spoken: Spoken, first: int) -> Iterable[dict[str, Any]]:
    if spoken.reasoning:
        yield {"reasoning_content": spoken.reasoning}
    if spoken.text:
        yield {"content": spoken.text}
    for index, call in enumerate(spoken.calls, start=first):
        yield {
            "tool_calls": [
                {"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
            ]
        }
        for piece in argument_pieces(call.arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _name_of(generate: Generate) -> str:
    return getattr(generate, "__name__", type(generate).__name__)


def connect(model: str | None = None, argument: Generate | str | None = None, **options: Any) -> Client:
    """A client whose model is the function `argument`. `model`: the name it goes by, its own name by default."""
    if not callable(argument):
        raise SetupError(
            "in_process needs a function: tn.connect(generate), where generate(messages, tools) gives text or calls"
        )
    name = model or _name_of(argument)
    return Client(
        base_url="http://in-process.invalid/v1",
        model=name,
        api_key="",
        transport=InProcessTransport(argument, name),
        label=f"{name}, a function in this process",
        keyless=True,
        **options,
    )
