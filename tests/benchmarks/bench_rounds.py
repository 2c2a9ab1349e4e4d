"""What a run costs: two streamed requests and one tool, against raw httpx, the openai SDK by hand and pydantic-ai.

    python tests/benchmarks/bench_rounds.py [runs]

Prints milliseconds per run (median and best), each with its ratio to raw httpx; then the time of 64 async calls
of 50 ms in one round, and the memory of a run of 1,000 rounds. The endpoint is a process of its own that answers
from ready bytes.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

WORDS = 40


def event(delta: dict[str, Any], finish: str | None = None, **extra: Any) -> bytes:
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **extra}
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def usage() -> bytes:
    numbers = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], "usage": numbers}
    return b"data: " + json.dumps(body).encode() + b"\n\ndata: [DONE]\n\n"


def call_events(names: list[str], arguments: str) -> list[bytes]:
    calls = [
        {"index": i, "id": f"call_{i}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for i, name in enumerate(names)
    ]
    return [
        event({"role": "assistant", "content": None}),
        event({"tool_calls": calls}),
        event({}, "tool_calls"),
        usage(),
    ]


TEXT = [
    event({"role": "assistant", "content": ""}),
    *[event({"content": f"word{i} "}) for i in range(WORDS)],
    event({}, "stop"),
    usage(),
]
ONE_CALL = call_events(["weather"], '{"city": "Oslo"}')
MANY_CALLS = call_events(["nap"] * 64, "{}")


def serve(port: Any) -> None:
    """Answers the first request of a conversation with a call, the second with text; "loop" calls for ever."""

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                body = await reader.readexactly(length)
                loops = b'"loop"' in body
                pieces = (
                    TEXT if b'"tool_call_id"' in body and not loops else MANY_CALLS if b'"many"' in body else ONE_CALL
                )
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
                )
                for piece in pieces:
                    writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                writer.write(b"0\r\n\r\n")
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(connection, "127.0.0.1", 0, limit=1 << 26)
        port.value = server.sockets[0].getsockname()[1]
        await server.serve_forever()

    asyncio.run(run())


def weather(city: str) -> str:
    "Weather of a city."
    return f"sunny in {city}"


SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [
    {"type": "function", "function": {"name": "weather", "description": "Weather of a city.", "parameters": SCHEMA}}
]


async def raw(url: str) -> Callable[[], Awaitable[str]]:
    import httpx

    client = httpx.AsyncClient(timeout=60)

    async def one() -> str:
        messages: list[dict[str, Any]] = [{"role": "user", "content": "weather?"}]
        while True:
            body = {"model": "m", "messages": messages, "tools": TOOLS, "stream": True}
            text, calls = "", {}
            async with client.stream("POST", f"{url}/chat/completions", json=body) as response:
                async for line in response.aiter_lines():
                    if not line.startswith("data: ") or line == "data: [DONE]":
                        continue
                    chunk = json.loads(line[6:])
                    for choice in chunk["choices"]:
                        text += choice["delta"].get("content") or ""
                        for call in choice["delta"].get("tool_calls") or ():
                            calls[call["index"]] = call
            if not calls:
                return text
            messages.append({"role": "assistant", "content": None, "tool_calls": list(calls.values())})
            for call in calls.values():
                result = await asyncio.to_thread(weather, **json.loads(call["function"]["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})

    return one


async def ours(url: str) -> Callable[[], Awaitable[str]]:
    import toolnexus_nb as tn

    client, toolkit = tn.Client(url, "m"), tn.Toolkit([weather])

    async def one() -> str:
        return (await tn.Chat(client, toolkit).ask("weather?")).text

    return one


async def ours_with_handler(url: str) -> Callable[[], Awaitable[str]]:
    import toolnexus_nb as tn

    client, toolkit = tn.Client(url, "m"), tn.Toolkit([weather])

    class Handler:
        def on_event(self, event: Any) -> None: ...

    async def one() -> str:
        return (await tn.Chat(client, toolkit, handler=Handler()).ask("weather?")).text

    return one


async def sdk(url: str) -> Callable[[], Awaitable[str]]:
    import openai

    client = openai.AsyncOpenAI(base_url=url, api_key="none")

    async def one() -> str:
        messages: list[Any] = [{"role": "user", "content": "weather?"}]
        while True:
            async with client.chat.completions.stream(model="m", messages=messages, tools=TOOLS) as stream:  # type: ignore[arg-type]
                async for _ in stream:
                    pass
                message = (await stream.get_final_completion()).choices[0].message
            if not message.tool_calls:
                return message.content or ""
            messages.append(message)
            for call in message.tool_calls:
                result = await asyncio.to_thread(weather, **json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})

    return one


async def pydantic_ai(url: str) -> Callable[[], Awaitable[str]]:
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    agent = Agent(OpenAIChatModel("m", provider=OpenAIProvider(base_url=url, api_key="none")), tools=[weather])

    async def one() -> str:
        async with agent.run_stream("weather?") as result:
            texts = [text async for text in result.stream_text()]
            return texts[-1]

    return one


async def compare(url: str, runs: int) -> dict[str, float]:
    """Median milliseconds of each contender, run in turns so that all see the same machine."""
    contenders: dict[str, Callable[[], Awaitable[str]]] = {}
    for name, make in (
        ("raw httpx", raw),
        ("toolnexus_nb", ours),
        ("toolnexus_nb, one handler", ours_with_handler),
        ("openai SDK by hand", sdk),
        ("pydantic-ai", pydantic_ai),
    ):
        try:
            contenders[name] = await make(url)
        except ImportError:
            continue
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(runs + 3):
        for name, one in contenders.items():
            began = time.perf_counter()
            text = await one()
            if turn >= 3:
                times[name].append((time.perf_counter() - began) * 1000)
            assert text.strip().endswith(f"word{WORDS - 1}"), (name, text)
    base = statistics.median(times["raw httpx"])
    for name, taken in times.items():
        middle = statistics.median(taken)
        print(f"{name:28} {middle:7.2f} ms median  {min(taken):7.2f} ms best   {middle / base:5.2f} x raw")
    return {name: statistics.median(taken) for name, taken in times.items()}


async def many_calls(url: str) -> float:
    """Milliseconds of the best run in which one round makes 64 async calls of 50 ms."""
    import toolnexus_nb as tn

    @tn.tool
    async def nap() -> str:
        "Sleep a little."
        await asyncio.sleep(0.05)
        return "rested"

    client = tn.Client(url, "m")
    best = 1e9
    for _ in range(7):
        stamps: list[float] = []

        class Clock:
            def on_event(self, event: Any, stamps: list[float] = stamps) -> None:
                if type(event).__name__ in ("ToolStarted", "ToolFinished"):
                    stamps.append(time.perf_counter())

        result = await tn.Chat(client, [nap], handler=Clock()).ask("many")
        assert len(result.calls) == 64
        best = min(best, (stamps[-1] - stamps[0]) * 1000)
    print(f"64 async calls of 50 ms in one round: {best:.0f} ms")
    return best


async def long_run(url: str, rounds: int = 1000) -> tuple[float, float]:
    """Resident MB at a tenth and at the end of a run; the conversation itself takes about 6 KB a round."""
    import gc

    import psutil

    import toolnexus_nb as tn

    process = psutil.Process()

    counter = iter(range(10**9))

    @tn.tool
    async def weather(city: str) -> str:
        "Weather of a city."
        return f"sunny in {city}, reading {next(counter)}"

    chat = tn.Chat(tn.Client(url, "m"), [weather], max_rounds=rounds)
    held: list[float] = []
    began = time.perf_counter()
    async for event in chat.events("loop"):
        if type(event).__name__ == "RoundFinished" and event.round in (rounds // 10, rounds // 2, rounds):
            gc.collect()
            held.append(process.memory_info().rss / 1e6)
    taken = time.perf_counter() - began
    print(f"{rounds} rounds in {taken:.1f} s; resident {' / '.join(f'{mb:.1f}' for mb in held)} MB at 10/50/100 %")
    return held[0], held[-1]


async def measure(url: str, runs: int) -> None:
    await compare(url, runs)
    await many_calls(url)
    await long_run(url)


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    context = multiprocessing.get_context("spawn")
    port = context.Value("i", 0)
    server = context.Process(target=serve, args=(port,), daemon=True)
    server.start()
    try:
        while not port.value:
            time.sleep(0.05)
        url = f"http://127.0.0.1:{port.value}/v1"
        asyncio.run(measure(url, runs))
    finally:
        server.terminate()


if __name__ == "__main__":
    main()
