"""Stop in a real kernel: the cell is idle at once, in every form of asking, and shows one line."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

manager = pytest.importorskip("jupyter_client.manager")
pytest.importorskip("ipykernel")

SETUP = r"""
import time, toolnexus_nb as tn
from toolnexus_nb.rounds import BytesResponse
CALL = b'{"index":0,"id":"a","type":"function","function":{"name":"slow","arguments":"{}"}}'
class Model:
    async def send(self, request):
        delta = b'{"index":0,"delta":{"tool_calls":[' + CALL + b']},"finish_reason":"tool_calls"}'
        return BytesResponse(200, {}, [b'data: {"choices":[' + delta + b"]}\n\ndata: [DONE]\n\n"])
    async def aclose(self): ...
@tn.tool
def slow(context: tn.ToolContext) -> str:
    "Takes long."
    print("running", flush=True)
    while not context.cancelled:
        time.sleep(0.01)
    return "told"
class Shout:
    def on_event(self, event):
        if type(event).__name__ == "ToolStarted":
            print("STARTED", flush=True)
chat = tn.Chat(tn.Client(model="m", transport=Model()), [slow], handler=Shout())
"""


class Kernel:
    """One kernel; `run` gives what a cell said and, if it was stopped, how long after that it was idle."""

    def __init__(self) -> None:
        self.manager, self.client = manager.start_new_kernel(kernel_name="python3")

    def run(self, code: str, *, stop_at: str | None = None) -> tuple[str, list[str], float]:
        cell = self.client.execute(code)
        said, errors, pressed = "", [], 0.0
        while True:
            message = self.client.get_iopub_msg(timeout=30)
            content: dict[str, Any] = message["content"]
            if message["parent_header"].get("msg_id") != cell:
                continue
            if message["msg_type"] == "stream":
                said += content["text"]
            if message["msg_type"] == "execute_result":
                said += content["data"]["text/plain"]
            if message["msg_type"] == "error":
                errors += re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(content["traceback"])).splitlines()
            if stop_at and stop_at in said and not pressed:
                time.sleep(0.1)
                self.manager.interrupt_kernel()
                pressed = time.monotonic()
            if message["msg_type"] == "status" and content["execution_state"] == "idle":
                return said, errors, time.monotonic() - pressed


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    kernel = Kernel()
    kernel.run(SETUP)
    yield kernel
    kernel.client.stop_channels()
    kernel.manager.shutdown_kernel(now=True)


@pytest.mark.parametrize(
    "code",
    [
        "await chat.ask('go')",
        "chat.ask_sync('go')",
        "async for event in chat.events('go'): pass",
        "for event in chat.events('go'): pass",
    ],
)
def test_stop_ends_the_cell_at_once(kernel: Kernel, code: str) -> None:
    _, errors, seconds = kernel.run(code, stop_at="STARTED")
    assert seconds < 0.5
    assert len(errors) == 1 and errors[0].startswith("Stopped:")
    said, _, _ = kernel.run("chat.last.status, chat.last.left_running, [m.role for m in chat.messages][-3:]")
    assert said == "('stopped', [], ['user', 'assistant', 'tool'])"
