"""What a chunk costs, on the same bytes: ours from bytes to accumulated message, `json.loads` alone, the openai SDK.

    python tests/benchmarks/bench_wire_stream.py [chunks]

Prints µs per chunk (best of several runs), chunks yielded, the ratio to the SDK's accumulating `.stream()`, and how the
cost per chunk changes when the stream is ten times longer.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from typing import Any

HEAD = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "system_fingerprint": "fp"}


def events(count: int) -> list[bytes]:
    """A stream of `count` events: text, then a call whose arguments come in pieces, finish reason, usage, [DONE]."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": f" word{number % 97}"} for number in range(count * 2 // 3)]
    begin = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "write", "arguments": ""}}
    pieces = ['{"text":"', *[f" word{number % 97}" for number in range(count - len(deltas) - 5)], '"}']
    deltas += [{"tool_calls": [begin]}]
    deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces]
    chunks = [
        {**HEAD, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}]} for delta in deltas
    ]
    chunks.append({**HEAD, "choices": [{"index": 0, "delta": {}, "logprobs": None, "finish_reason": "tool_calls"}]})
    usage = {"prompt_tokens": 9, "completion_tokens": count, "total_tokens": 9 + count}
    chunks.append({**HEAD, "choices": [], "usage": usage})
    return [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks] + [b"data: [DONE]\n\n"]


def json_alone(pieces: list[bytes]) -> tuple[int, Any]:
    """Parse each event's JSON and nothing else."""
    parsed = [json.loads(piece[6:]) for piece in pieces[:-1]]
    return len(parsed), None


def ours_async(pieces: list[bytes]) -> tuple[int, Any]:
    """Bytes to typed chunks to message, with `async for`."""
    from toolnexus_nb.openai import ChatStream

    async def source() -> Any:
        for piece in pieces:
            yield piece

    async def run() -> tuple[int, Any]:
        stream = ChatStream.from_bytes(source())
        seen = 0
        async for _ in stream:
            seen += 1
        message = stream.message
        return seen, (message.content, message.tool_calls[0].arguments)

    return asyncio.run(run())


def ours_sync(pieces: list[bytes]) -> tuple[int, Any]:
    """The same with plain `for`."""
    from toolnexus_nb.openai import ChatStream

    stream = ChatStream.from_bytes(pieces)
    seen = sum(1 for _ in stream)
    return seen, (stream.message.content, stream.message.tool_calls[0].arguments)


def sdk_stream(pieces: list[bytes]) -> tuple[int, Any]:
    """The official package's accumulating `.stream()`, fed the same bytes in the same pieces."""
    import httpx
    import openai

    class Body(httpx.AsyncByteStream):
        async def __aiter__(self) -> Any:
            for piece in pieces:
                yield piece

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Body())

    async def run() -> tuple[int, Any]:
        http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
        async with openai.AsyncOpenAI(api_key="none", base_url="http://test/v1", http_client=http) as client:
            seen = 0
            async with client.chat.completions.stream(model="m", messages=[{"role": "user", "content": "x"}]) as stream:
                async for event in stream:
                    seen += event.type == "chunk"
                message = (await stream.get_final_completion()).choices[0].message
        return seen, (message.content, json.loads(message.tool_calls[0].function.arguments))

    return asyncio.run(run())


def measure(run: Callable[[list[bytes]], tuple[int, Any]], pieces: list[bytes], repeats: int) -> tuple[float, int, Any]:
    """Best µs per chunk, chunks yielded, and the result of the last run."""
    best = float("inf")
    for _ in range(repeats):
        started = time.perf_counter()
        seen, result = run(pieces)
        best = min(best, time.perf_counter() - started)
    return best / seen * 1e6, seen, result


def main(count: int = 2000) -> dict[str, float]:
    """Run all, print a table, and give the µs per chunk by name."""
    pieces = events(count)
    costs: dict[str, float] = {}
    results = []
    ours = {"ours, async for": ours_async, "ours, for": ours_sync}
    rows = {"json.loads": json_alone, **ours, "openai .stream()": sdk_stream}
    for name, run in rows.items():
        costs[name], seen, result = measure(run, pieces, 2 if run is sdk_stream else 7)
        results += [result] if result else []
        print(f"{name:18} {costs[name]:8.2f} µs per chunk   {seen} chunks")
    assert all(result == results[0] for result in results), "the messages differ"
    longer, _, _ = measure(ours_async, events(count * 10), 3)
    costs["ours, ten times longer"] = longer
    print(f"ratio to the SDK   {costs['openai .stream()'] / costs['ours, async for']:8.1f}")
    print(f"ten times longer   {longer:8.2f} µs per chunk   ({longer / costs['ours, async for']:.2f} times)")
    return costs


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
