"""Stop and cancellation: control is back within 0.3 s, nothing goes on, and the conversation can be continued."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import toolnexus_nb as tn
from toolnexus_nb.rounds import events as ev
from toolnexus_nb.rounds.chat import Chat
from toolnexus_nb.rounds.client import Client
from toolnexus_nb.rounds.result import RunStopped

Later = Callable[[float, Callable[[], Any]], None]
PROMPT = 0.45
"""Seconds from Stop to control, on a busy machine of two cores; 0.3 on a quiet one."""


def press_stop() -> None:
    os.kill(os.getpid(), signal.SIGINT)


async def cancelled_after(seconds: float, awaitable: Any) -> tuple[BaseException, float]:
    """Cancel as the kernel does; gives what was raised and how long it took."""
    task = asyncio.ensure_future(awaitable)
    await asyncio.sleep(seconds)
    pressed = time.monotonic()
    task.cancel()
    try:
        await task
    except BaseException as error:
        return error, time.monotonic() - pressed
    raise AssertionError("it was not cancelled")


class Tools:
    """One tool of each kind that takes long, and what became of them."""

    def __init__(self) -> None:
        self.ends: dict[str, str] = {}
        self.started = threading.Event()

        @tn.tool
        async def awaits() -> str:
            "T."
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                self.ends["awaits"] = "cancelled"
                raise
            return "done"

        @tn.tool
        def looks(context: tn.ToolContext) -> str:
            "T."
            self.started.set()
            while not context.cancelled:
                time.sleep(0.01)
            self.ends["looks"] = "told"
            return "done"

        @tn.tool
        def deaf() -> str:
            "T."
            time.sleep(1.2)
            self.ends["deaf"] = "went on"
            return "done"

        self.all = [awaits, looks, deaf]
        self.calls = [("a", "awaits", {}), ("b", "looks", {}), ("c", "deaf", {})]

    def check(self, chat: Chat, left: list[str]) -> None:
        assert left == ["deaf"]
        assert self.ends.get("awaits") == "cancelled"
        deadline = time.monotonic() + 1
        while "looks" not in self.ends and time.monotonic() < deadline:
            time.sleep(0.01)
        assert self.ends["looks"] == "told"
        assert chat.last is not None and chat.last.status == "stopped"
        assert [record.state for record in chat.last.calls] == ["cancelled"] * 3
        assert [message.role for message in chat.messages] == ["user", "assistant", "tool", "tool", "tool"]


def test_stop_while_tools_run_in_a_blocking_cell(scripted: Any, wire: Any, call_soon: Later) -> None:
    tools = Tools()
    client, model = scripted(wire.sse(calls=tools.calls), wire.sse("fine"))
    chat = Chat(client, tools.all)
    pressed: list[float] = []
    call_soon(0.3, lambda: (pressed.append(time.monotonic()), press_stop()))
    with pytest.raises(RunStopped) as caught:
        chat.ask_sync("go")
    assert time.monotonic() - pressed[0] < PROMPT
    assert caught.value.result is chat.last
    assert "deaf" in str(caught.value) and len(caught.value._render_traceback_()) == 1
    tools.check(chat, caught.value.left_running)
    assert chat.ask_sync("and now?").text == "fine"
    wire.valid(model.bodies[1]["messages"])


def test_stop_while_tools_run_in_an_awaited_cell(scripted: Any, wire: Any) -> None:
    tools = Tools()
    client, model = scripted(wire.sse(calls=tools.calls), wire.sse("fine"))
    chat = Chat(client, tools.all)

    async def cell() -> None:
        error, seconds = await cancelled_after(0.3, chat.ask("go"))
        assert type(error) is asyncio.CancelledError
        assert seconds < PROMPT
        assert error.result is chat.last  # type: ignore[attr-defined]
        assert error._render_traceback_()[0].startswith("Stopped")  # type: ignore[attr-defined]
        tools.check(chat, error.left_running)  # type: ignore[attr-defined]
        assert (await chat.ask("and now?")).text == "fine"

    asyncio.run(cell())
    wire.valid(model.bodies[1]["messages"])


@pytest.mark.parametrize("form", ["blocking", "awaited"])
def test_stop_while_the_model_speaks_closes_its_connection(
    endpoint: Any, wire: Any, call_soon: Later, form: str
) -> None:
    endpoint.acts = [[wire.chunk({"content": "once upon"}), "hang"], wire.sse("fine")]
    chat = Chat(Client(endpoint.url, "m"))

    spoke = threading.Event()

    class Presser:
        def on_event(self, event: Any) -> None:
            if isinstance(event, ev.TextDelta):
                spoke.set()
                if form == "blocking":
                    call_soon(0.1, press_stop)

    async def awaited() -> tuple[BaseException, float]:
        task = asyncio.ensure_future(chat.ask("go", handler=Presser()))
        while not spoke.is_set():
            await asyncio.sleep(0.01)
        return await cancelled_after(0, task)

    if form == "blocking":
        with pytest.raises(RunStopped) as caught:
            chat.ask_sync("go", handler=Presser())
        error: Any = caught.value
    else:
        error, seconds = asyncio.run(awaited())
        assert seconds < PROMPT
    stopped = time.monotonic()
    assert error.result.text == "once upon"
    while endpoint.seen[0].closed_at is None and time.monotonic() - stopped < 1:
        time.sleep(0.01)
    assert endpoint.seen[0].closed_at is not None
    assert chat.messages == []
    assert chat.ask_sync("again").text == "fine"


@pytest.mark.parametrize("silent", [True, False])
def test_stop_before_anything_came(endpoint: Any, wire: Any, silent: bool) -> None:
    endpoint.acts = [wire.Act(["hang"], silent=silent), wire.sse("fine")]
    chat = Chat(Client(endpoint.url, "m"))
    error, seconds = asyncio.run(cancelled_after(0.2, chat.ask("go")))
    assert seconds < PROMPT
    assert isinstance(error, asyncio.CancelledError)
    assert chat.ask_sync("again").text == "fine"


def test_stop_while_waiting_to_try_again(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.error(429, "later", {"retry-after": "60"}))
    error, seconds = asyncio.run(cancelled_after(0.2, Chat(client).ask("go")))
    assert seconds < PROMPT and isinstance(error, asyncio.CancelledError)
    assert len(model.bodies) == 1


def test_text_spoken_after_tools_ran_stays_in_the_conversation(scripted: Any, wire: Any) -> None:
    @tn.tool
    def quick() -> str:
        "T."
        return "quick"

    client, model = scripted(
        wire.sse(calls=[("a", "quick", {})]), [wire.chunk({"content": "It is"}), "hang"], wire.sse("fine")
    )
    chat = Chat(client, [quick])
    asyncio.run(cancelled_after(0.3, chat.ask("go")))
    assert [message.role for message in chat.messages] == ["user", "assistant", "tool", "assistant"]
    assert chat.messages[-1].content == "It is"
    assert chat.ask_sync("go on").text == "fine"
    wire.valid(model.bodies[2]["messages"])


@pytest.mark.parametrize("form", ["blocking", "awaited"])
def test_stop_while_an_async_tool_blocks_the_loop(scripted: Any, wire: Any, call_soon: Later, form: str) -> None:
    @tn.tool
    async def blocks() -> str:
        "T."
        time.sleep(1.5)
        return "done"

    heard: list[Any] = []

    class Listener:
        def on_event(self, event: Any) -> None:
            heard.append(event)

    client, model = scripted(wire.sse(calls=[("a", "blocks", {})]), wire.sse("fine"))
    chat = Chat(client, [blocks], handler=Listener())
    if form == "blocking":
        pressed: list[float] = []
        call_soon(0.2, lambda: (pressed.append(time.monotonic()), press_stop()))
        with pytest.raises(RunStopped):
            chat.ask_sync("go")
        seconds = time.monotonic() - pressed[0]
    else:
        _, seconds = asyncio.run(cancelled_after(0.2, chat.ask("go")))
    assert seconds < 0.9  # two waits of grace, not the tool's time
    assert chat.last is not None and (chat.last.status, chat.last.left_running) == ("stopped", ["blocks"])
    assert isinstance(heard[-1], ev.RunFinished)
    assert chat.ask_sync("again").text == "fine"
    wire.valid(model.bodies[1]["messages"])


def test_an_async_tool_that_ignores_its_cancellation_is_named(scripted: Any, wire: Any) -> None:
    @tn.tool
    async def stubborn() -> str:
        "T."
        for _ in range(3):
            try:
                await asyncio.sleep(0.5)
            except asyncio.CancelledError:
                continue
        return "done"

    client, _ = scripted(wire.sse(calls=[("a", "stubborn", {})]), wire.sse("fine"))
    chat = Chat(client, [stubborn])
    error, seconds = asyncio.run(cancelled_after(0.2, chat.ask("go")))
    assert seconds < PROMPT + 0.2
    assert error.left_running == ["stubborn"]  # type: ignore[attr-defined]
    assert chat.ask_sync("again").text == "fine"


def test_no_event_is_lost_when_a_handler_is_interrupted(scripted: Any, wire: Any, call_soon: Later) -> None:
    client, _ = scripted(wire.sse("one two three four five six"))
    heard: list[str] = []

    class Slow:
        def on_event(self, event: Any) -> None:
            heard.append(type(event).__name__)
            if heard.count("TextDelta") == 1 and isinstance(event, ev.TextDelta):
                call_soon(0.1, press_stop)
                time.sleep(5)

    with pytest.raises(RunStopped):
        Chat(client, handler=Slow()).ask_sync("go")
    assert heard.count("TextDelta") == 6
    assert heard[-1] == "RunFinished"


def test_handlers_hear_of_the_end(scripted: Any, wire: Any) -> None:
    tools = Tools()
    client, _ = scripted(wire.sse(calls=tools.calls))
    heard: list[Any] = []

    class Listener:
        def on_event(self, event: Any) -> None:
            heard.append((event, threading.current_thread().name))

    asyncio.run(cancelled_after(0.3, Chat(client, tools.all, handler=Listener()).ask("go")))
    assert isinstance(heard[-1][0], ev.RunFinished) and heard[-1][0].result.status == "stopped"
    assert [event.state for event, _ in heard if isinstance(event, ev.ToolFinished)] == ["cancelled"] * 3
    assert {thread for _, thread in heard} == {"MainThread"}


def test_wait_for_and_timeout_see_a_timeout(scripted: Any, wire: Any) -> None:
    client, _ = scripted([wire.chunk({"content": "x"}), "hang"])
    chat = Chat(client)

    async def limited() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(chat.ask("go"), 0.2)
        assert chat.last is not None and chat.last.status == "stopped"
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await chat.ask("go")

    asyncio.run(limited())


def test_stop_during_a_handler_and_during_approve(scripted: Any, wire: Any, call_soon: Later) -> None:
    @tn.tool(needs_approval=True)
    def careful() -> str:
        "T."
        return "ran"

    client, model = scripted(wire.sse(calls=[("a", "careful", {})]), wire.sse("fine"))
    chat = Chat(client, [careful], approve=lambda call: time.sleep(30))
    call_soon(0.3, press_stop)
    with pytest.raises(RunStopped):
        chat.ask_sync("go")
    assert chat.ask_sync("again", approve="allow").text == "fine"
    wire.valid(model.bodies[1]["messages"])

    class Sleepy:
        def on_event(self, event: Any) -> None:
            if isinstance(event, ev.RoundStarted):
                time.sleep(30)

    call_soon(0.3, press_stop)
    with pytest.raises(RunStopped):
        chat.fork().ask_sync("go", handler=Sleepy())


def test_stop_while_an_async_approve_waits_for_a_person(scripted: Any, wire: Any) -> None:
    @tn.tool(needs_approval=True)
    def careful() -> str:
        "T."
        return "ran"

    ended: list[str] = []

    async def person(call: Any) -> str:
        try:
            await asyncio.sleep(30)
        finally:
            ended.append("asked no more")
        return "allow"

    client, _ = scripted(wire.sse(calls=[("a", "careful", {})]))

    async def cell() -> None:
        error, seconds = await cancelled_after(0.2, Chat(client, [careful], approve=person).ask("go"))
        assert seconds < PROMPT and isinstance(error, asyncio.CancelledError)
        await asyncio.sleep(0)
        assert ended == ["asked no more"]

    asyncio.run(cell())


def test_stop_in_a_loop_over_events(scripted: Any, wire: Any, call_soon: Later) -> None:
    client, model = scripted([wire.chunk({"content": "x"}), "hang"])
    chat = Chat(client)
    call_soon(0.3, press_stop)
    with pytest.raises(KeyboardInterrupt):
        for _ in chat.events("go"):
            pass
    assert chat.last is not None and chat.last.status == "stopped"
    assert model.closed == 1


def test_ctrl_c_in_a_script_leaves_no_mess(endpoint: Any, wire: Any) -> None:
    endpoint.acts = [[wire.chunk({"content": "x"}), "hang"]]
    program = textwrap.dedent(f"""
        import asyncio, os, signal, threading, toolnexus_nb as tn
        chat = tn.Chat(tn.Client({endpoint.url!r}, "m"))
        class Presser:
            def on_event(self, event):
                if hasattr(event, "text"):
                    threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            asyncio.run(chat.ask("go", handler=Presser()))
        except KeyboardInterrupt:
            print("stopped", chat.last.status, chat.last.text)
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)
    assert done.stdout.strip() == "stopped stopped x"
    assert done.stderr == ""


def test_nothing_of_a_stopped_run_is_left_on_the_loop(scripted: Any, wire: Any) -> None:
    from toolnexus_nb.tools.background import hop

    async def tasks() -> set[str]:
        await asyncio.sleep(0.05)
        return {task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("toolnexus")}

    async def cell() -> None:
        client, _ = scripted([wire.chunk({"content": "x"}), "hang"])
        await cancelled_after(0.1, Chat(client).ask("go"))
        assert await hop(tasks) == set()

    asyncio.run(cell())
