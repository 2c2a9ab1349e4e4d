"""The magics in a real kernel, spoken to as a front end speaks: what is displayed while a cell runs, Stop, clicks."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

SETUP = """%load_ext toolnexus_nb
import asyncio, time, threading, toolnexus_nb as tn

async def model(messages, tools):
    last = messages[-1]
    if last["role"] == "tool":
        return f"It says: {last['content']}"
    if "silent" in last["content"]:
        await asyncio.sleep(30)
    names = [tool["function"]["name"] for tool in tools or []]
    return [(name, {}) for name in names if name in last["content"]] or "no tool"

tn.session().connect(tn.connect(model))
None"""

TOOLS = """%%toolnexus
def plain() -> str:
    "A plain function that takes long."
    print("PLAIN-START"); time.sleep(PLAIN_SECONDS); print("PLAIN-END")
    return "plain result"

async def later() -> str:
    "An async function that takes long."
    print("LATER-START"); await asyncio.sleep(LATER_SECONDS); print("LATER-END")
    return "later result"

@tn.tool(main_thread=True)
def here() -> str:
    "Runs on the kernel's own thread."
    return threading.current_thread().name

@tn.tool(needs_approval=True)
def send() -> str:
    "Sends a mail."
    return "sent"
"""


@dataclass
class Told:
    """What one cell sent: (seconds since it was started, message type, content)."""

    messages: list[tuple[float, str, dict[str, Any]]] = field(default_factory=list)
    stop_took: float | None = None

    def of(self, *kinds: str) -> list[dict[str, Any]]:
        return [content for _, kind, content in self.messages if kind in kinds]

    @property
    def stream(self) -> str:
        return "".join(content["text"] for content in self.of("stream") if content["name"] == "stdout")

    @property
    def stderr(self) -> str:
        return "".join(content["text"] for content in self.of("stream") if content["name"] == "stderr")

    @property
    def errors(self) -> list[str]:
        return ["\n".join(content["traceback"]) for content in self.of("error")]

    def displays(self) -> list[tuple[float, str, dict[str, Any]]]:
        return [(at, kind, c) for at, kind, c in self.messages if kind in ("display_data", "update_display_data")]

    def last(self, mime: str = "text/plain") -> str:
        return str(self.displays()[-1][2]["data"].get(mime, ""))


class Kernel:
    """One kernel; runs cells as a front end with or without widgets would."""

    def __init__(self) -> None:
        from jupyter_client.manager import start_new_kernel

        self.manager, self.client = start_new_kernel(kernel_name="python3")

    def run(
        self,
        code: str,
        *,
        stop_when: str | None = None,
        cell_id: str | None = None,
        answer: Callable[[str, dict[str, Any]], dict[str, Any] | None] | None = None,
        seconds: float = 30,
    ) -> Told:
        """Run a cell to its end. `stop_when`: interrupt half a second after a message holds that text.

        `answer(kind, content)` may give the data of a comm message to send back, as a page with widgets would.
        """
        message = self.client.session.msg(
            "execute_request",
            {"code": code, "silent": False, "store_history": True, "allow_stdin": False, "user_expressions": {}},
        )
        if cell_id is not None:
            message["metadata"] = {"cellId": cell_id}
        self.client.shell_channel.send(message)
        told, began, stop_at, stopped = Told(), time.monotonic(), None, None
        while time.monotonic() - began < seconds:
            if stop_at is not None and stopped is None and time.monotonic() >= stop_at:
                self.manager.interrupt_kernel()
                stopped = time.monotonic()
            try:
                got = self.client.get_iopub_msg(timeout=0.02)
            except Exception:  # queue.Empty, of whatever class
                continue
            kind, content = got["msg_type"], got["content"]
            if stop_when is not None and stop_at is None and stop_when in json.dumps(content):
                stop_at = time.monotonic() + 0.5
            own = got["parent_header"].get("msg_id") == message["header"]["msg_id"]
            if own or kind.startswith("comm"):
                told.messages.append((time.monotonic() - began, kind, content))
            if answer is not None and (data := answer(kind, content)) is not None:
                comm = self.client.session.msg("comm_msg", {"comm_id": content["comm_id"], "data": data})
                self.client.shell_channel.send(comm)
            if own and kind == "status" and content["execution_state"] == "idle":
                told.stop_took = time.monotonic() - stopped if stopped is not None else None
                return told
        raise AssertionError(f"not finished in {seconds} s: {code}")

    def listen(
        self, answer: Callable[[str, dict[str, Any]], dict[str, Any] | None], until: str, seconds: float = 15
    ) -> str:
        """Go on answering after a cell has ended, until an update holds that text; gives it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                got = self.client.get_iopub_msg(timeout=0.05)
            except Exception:  # queue.Empty, of whatever class
                continue
            kind, content = got["msg_type"], got["content"]
            if (data := answer(kind, content)) is not None:
                comm = self.client.session.msg("comm_msg", {"comm_id": content["comm_id"], "data": data})
                self.client.shell_channel.send(comm)
            if kind == "update_display_data" and until in content["data"].get("text/plain", ""):
                return str(content["data"]["text/html"])
        raise AssertionError(f"{until!r} did not come in {seconds} s")

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    made = Kernel()
    made.run(SETUP)
    yield made
    made.close()


@pytest.fixture
def cell(kernel: Kernel) -> Callable[..., Told]:
    """Runs cells in a notebook whose tools take `plain` and `later` seconds and whose conversation is empty."""

    def run(code: str, plain: float = 0.6, later: float = 0.6, **options: Any) -> Told:
        kernel.run(
            f"PLAIN_SECONDS, LATER_SECONDS = {plain}, {later}\n"
            "%toolnexus reset --all\n%config Toolnexus.approve = 'ask'"
        )
        kernel.run(TOOLS)
        return kernel.run(code, **options)

    return run


def test_where_no_page_draws_widgets_plain_html_moves(cell: Callable[..., Told]) -> None:
    told = cell("%%toolnexus ask\nUse plain", plain=1.5)
    displays = told.displays()
    assert displays[0][1] == "display_data"
    ids = {content["transient"]["display_id"] for _, _, content in displays}
    assert len(ids) == 1
    running = [at for at, _, content in displays if "running" in content["data"]["text/html"]]
    assert running
    assert displays[-1][0] - running[0] > 1.0
    assert all("application/vnd.jupyter.widget-view+json" not in content["data"] for _, _, content in displays)
    assert "plain result" in told.last("text/html")
    assert told.stderr == ""
    assert not told.of("comm_open")


def test_the_text_form_tells_the_whole_run(cell: Callable[..., Told]) -> None:
    told = cell("%%toolnexus ask\nUse plain")
    text = told.last()
    for words in (
        "done · 2 rounds · 1 call",
        "> Use plain",
        "plain()",
        "plain result",
        "PLAIN-END",
        "It says: plain result",
    ):
        assert words in text, words
    assert not re.search(r"<\w|0x[0-9a-f]{6}", text)


def test_what_a_tool_prints_is_with_its_call_and_nowhere_else(cell: Callable[..., Told], kernel: Kernel) -> None:
    told = cell("%%toolnexus ask\nUse plain and later")
    assert "PLAIN" not in told.stream
    assert "LATER" not in told.stream
    for words in ("PLAIN-START", "PLAIN-END", "LATER-START", "LATER-END"):
        assert words in told.last("text/html")
    assert kernel.run("print('NEXT')").stream == "NEXT\n"


@pytest.mark.parametrize(
    ("what", "code", "when"),
    [
        ("a silent model", "%%toolnexus ask\nsilent", "text/html"),
        ("an async tool", "%%toolnexus ask\nUse later", "running"),
        ("a plain function", "%%toolnexus ask\nUse plain", "running"),
        ("a blocking cell", "%%time\n%%toolnexus ask\nUse plain", "running"),
        ("a line", "%toolnexus ask Use later", "running"),
    ],
)
def test_stop_acts_at_once(cell: Callable[..., Told], kernel: Kernel, what: str, code: str, when: str) -> None:
    told = cell(code, plain=8, later=8, stop_when=when)
    assert told.stop_took is not None
    assert told.stop_took < 0.8, (what, told.stop_took)  # 0.3 s on a quiet machine; this one may be busy
    (error,) = told.errors
    assert error.startswith("Stopped: the run was cancelled")
    assert len(error.splitlines()) == 1
    if "plain" in code:
        assert "plain" in error.split("Still running")[1]
    assert "stopped" in told.last()
    assert kernel.run("print('NEXT', tn.session().last.status)").stream == "NEXT stopped\n"


@pytest.mark.parametrize("above", ["", "%%time\n"])
def test_a_stopped_question_leaves_what_had_come_of_it_in_its_variable(
    cell: Callable[..., Told], kernel: Kernel, above: str
) -> None:
    kernel.run("answer = 'old'")
    told = cell(f"{above}%%toolnexus ask --into answer\nsilent", stop_when="text/html")
    assert "the question is taken back" in told.last()
    assert kernel.run("print(answer.status, tn.session().chat.turns)").stream == "stopped []\n"
    assert "stopped by you" in kernel.run("%toolnexus wire").last()


def test_stop_interrupts_a_persons_own_code_in_a_cell_with_our_magics(cell: Callable[..., Told]) -> None:
    told = cell("%toolnexus status\nprint('now')\ntime.sleep(20)", stop_when="now")
    assert told.stop_took is not None
    assert told.stop_took < 0.8
    assert "KeyboardInterrupt" in told.errors[0]


@pytest.mark.parametrize("above", ["", "%%time\n"], ids=["awaited", "blocking"])
def test_a_tool_of_the_main_thread_runs_there(cell: Callable[..., Told], above: str) -> None:
    assert "It says: MainThread" in cell(above + "%%toolnexus ask\nUse here").last()


def test_without_clicks_a_run_pauses_and_goes_on_in_a_later_cell(cell: Callable[..., Told], kernel: Kernel) -> None:
    told = cell("%%toolnexus ask\nUse send")
    assert "%toolnexus resume allow" in told.last()
    assert "<button" not in told.last("text/html")
    assert "It says: sent" in kernel.run("%toolnexus resume allow").last()


class Page:
    """Answers as a page with widgets would: says ready, collects operations, clicks."""

    def __init__(self, click: dict[str, Any] | None = None) -> None:
        self.click = click
        self.comm = ""
        self.messages: list[tuple[float, dict[str, Any]]] = []
        self.closed = False

    def __call__(self, kind: str, content: dict[str, Any]) -> dict[str, Any] | None:
        if kind == "comm_open" and "The live event panel" in content["data"].get("state", {}).get("_esm", ""):
            self.comm, self.closed = content["comm_id"], False
            return self._custom({"type": "ready"})
        if content.get("comm_id") != self.comm:
            return None
        if kind == "comm_close":
            self.closed = True
        data = content.get("data", {})
        if kind == "comm_msg" and data.get("method") == "custom":
            self.messages.append((time.monotonic(), data["content"]))
            if self.click is not None and "data-act" in json.dumps(data["content"]):
                click, self.click = self.click, None
                return self._custom({"type": "decide", "part": "r1.c0", **click})
        return None

    @staticmethod
    def _custom(content: dict[str, Any]) -> dict[str, Any]:
        return {"method": "custom", "content": content}

    @property
    def operations(self) -> list[list[str]]:
        return [operation for _, message in self.messages for operation in message.get("ops", [])]


def test_a_page_with_widgets_gets_operations_and_at_the_end_static_html(cell: Callable[..., Told]) -> None:
    page = Page()
    told = cell("%%toolnexus ask\nUse plain and later", cell_id="c1", answer=page)
    names = {operation[0] for operation in page.operations}
    assert {"html", "add"} <= names
    assert any("running" in operation[-1] for operation in page.operations)
    first, last = told.displays()[0][2]["data"], told.displays()[-1][2]["data"]
    assert "application/vnd.jupyter.widget-view+json" in first
    assert sorted(last) == ["text/html", "text/plain"]
    assert page.closed


@pytest.mark.parametrize(
    ("click", "says"),
    [
        ({"decision": "allow"}, "It says: sent"),
        ({"decision": "deny"}, "denied"),
        ({"decision": "edit", "arguments": {"wrong": 1}}, "failed"),
    ],
)
def test_a_click_decides_while_the_cell_is_awaited(cell: Callable[..., Told], click: dict[str, Any], says: str) -> None:
    page = Page(click)
    told = cell("%%toolnexus ask\nUse send", cell_id="c1", answer=page)
    assert says in told.last()
    assert "<button" not in told.last("text/html")


def test_stop_while_a_call_waits_for_a_click(cell: Callable[..., Told], kernel: Kernel) -> None:
    page = Page()
    told = cell("%%toolnexus ask\nUse send", cell_id="c1", answer=page, stop_when="data-act")
    assert told.stop_took is not None
    assert told.stop_took < 0.8
    assert told.errors[0].startswith("Stopped")
    assert "<button" not in told.last("text/html")
    assert "no tool" in kernel.run("%%toolnexus ask --tools none\nAgain").last()


def test_after_a_blocking_cell_the_buttons_resume_the_run_in_its_own_place(
    cell: Callable[..., Told], kernel: Kernel
) -> None:
    page = Page({"decision": "allow"})
    told = cell("%%time\n%%toolnexus ask\nUse send", cell_id="c1", answer=page)
    assert "%toolnexus resume allow" in told.last()  # the text form says how without buttons
    html = kernel.listen(page, "It says: sent")
    assert "<button" not in html
    assert kernel.run("print(tn.session().last.status)", answer=page).stream == "done\n"
    assert page.closed


def test_buttons_that_nobody_clicked_are_gone_when_the_next_cell_runs(
    cell: Callable[..., Told], kernel: Kernel
) -> None:
    page = Page()
    cell("%%time\n%%toolnexus ask\nUse send", cell_id="c1", answer=page)
    told = kernel.run("1 + 1", answer=page)
    (frozen,) = told.of("update_display_data")
    assert sorted(frozen["data"]) == ["text/html", "text/plain"]
    assert page.closed


def test_a_page_that_never_answers_gets_plain_html(cell: Callable[..., Told]) -> None:
    told = cell("%%toolnexus ask\nUse plain", plain=2.5, cell_id="c1", answer=lambda kind, content: None)
    plain = [c for _, _, c in told.displays() if "application/vnd.jupyter.widget-view+json" not in c["data"]]
    assert any("running" in content["data"]["text/html"] for content in plain)
    assert "plain result" in told.last("text/html")


def test_a_conversation_that_is_busy_says_so_in_one_line(cell: Callable[..., Told], kernel: Kernel) -> None:
    cell("busy = asyncio.ensure_future(tn.session().chat.ask('silent'))\nawait asyncio.sleep(0.2)")
    told = kernel.run("%toolnexus ask --tools none Another")
    assert "in the middle of another question" in told.stderr
    assert "no tool" in kernel.run("%toolnexus ask --new --tools none Another").last()
    kernel.run("busy.cancel()")


def test_running_a_cell_again_replaces_its_turn_by_the_cells_id(cell: Callable[..., Told], kernel: Kernel) -> None:
    cell("%%toolnexus ask --tools none\nfirst", cell_id="a")
    told = kernel.run("%%toolnexus ask --tools none\nsecond", cell_id="a")
    assert "replaces" in told.last()
    assert kernel.run("print(len(tn.session().chat.turns))").stream == "1\n"


def test_a_result_shows_itself_and_has_a_text_form(cell: Callable[..., Told], kernel: Kernel) -> None:
    cell("%%toolnexus ask --into a\nUse plain")
    (shown,) = kernel.run("a").of("execute_result")
    assert "plain result" in shown["data"]["text/html"]
    assert "plain() -> plain result" in shown["data"]["text/plain"]


def test_a_panel_of_ones_own_shows_runs_of_plain_python(cell: Callable[..., Told], kernel: Kernel) -> None:
    cell("chat = tn.Chat(tn.session().client, tn.session().toolkit, handler=tn.EventPanel())")
    for ask in ("await chat.ask('Use plain')", "chat.ask_sync('Use plain')"):
        told = kernel.run(ask)
        assert len({c["transient"]["display_id"] for c in told.of("display_data")}) == 1
        assert "> Use plain" in told.last()
        assert "It says: plain result" in told.last()
