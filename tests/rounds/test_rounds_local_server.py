"""A real llama.cpp server with a real small model, both from packages: a streamed answer, rounds with a tool."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import toolnexus_nb as tn
from toolnexus_nb.rounds import events as ev
from toolnexus_nb.rounds.chat import Chat
from toolnexus_nb.rounds.client import Client

pytestmark = pytest.mark.local

SERVER = textwrap.dedent("""
    import sys, time, xllamacpp
    params = xllamacpp.CommonParams()
    params.model.path = sys.argv[1]
    params.model_alias = {"smollm2"}
    params.n_ctx, params.port, params.n_parallel, params.offline, params.use_jinja = 2048, 0, 1, True, True
    params.cpuparams.n_threads = 1
    server = xllamacpp.Server(params)
    print("READY", server.listening_address + "/v1", flush=True)
    sys.stdin.read()
    import os; os._exit(0)
""")


@pytest.fixture(scope="module")
def server(require: Callable[[str], object]) -> Iterator[str]:
    weights = require("local")
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(weights)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    line = next((line for line in process.stdout if line.startswith("READY")), "")
    assert line, "the server did not start"
    yield line.split()[1]
    process.kill()
    process.wait()


def test_a_streamed_answer(server: str) -> None:
    seen: list[Any] = []

    class Listener:
        def on_event(self, event: Any) -> None:
            seen.append(event)

    chat = Chat(Client(server, "smollm2"), handler=Listener(), temperature=0, max_tokens=24)
    result = chat.ask_sync("Say hello.")
    assert result.status in ("done", "incomplete") and result.text.strip()
    assert sum(isinstance(event, ev.TextDelta) for event in seen) > 2
    assert result.usage.completion_tokens > 0 and not result.usage.estimated
    assert "".join(event.text for event in seen if isinstance(event, ev.TextDelta)) == result.text


def test_models_are_listed(server: str) -> None:
    assert [model.id for model in Client(server).models_sync().data]


def test_a_round_with_a_tool_offered(server: str) -> None:
    @tn.tool
    def add(a: int, b: int) -> int:
        "Add two numbers."
        return a + b

    result = Chat(Client(server, "smollm2"), [add], temperature=0, max_tokens=48, max_rounds=2).ask_sync(
        "What is 2 + 3?"
    )
    assert result.status in ("done", "incomplete")
    assert result.wire()[0].request.body["tools"][0]["function"]["name"] == "add"


def test_an_answer_of_a_wanted_shape(server: str) -> None:
    result = Chat(Client(server, "smollm2"), temperature=0, max_tokens=64).ask_sync("Name a number.", returns=int)
    assert isinstance(result.value, int)


def test_stop_frees_the_server(server: str) -> None:
    chat = Chat(Client(server, "smollm2"), temperature=0, max_tokens=1500)

    async def stop() -> float:
        task = asyncio.create_task(chat.ask("Tell a very long story."))
        await asyncio.sleep(1)
        pressed = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - pressed

    assert asyncio.run(stop()) < 0.6
    assert chat.ask_sync("Say hi.", max_tokens=8).text.strip()
