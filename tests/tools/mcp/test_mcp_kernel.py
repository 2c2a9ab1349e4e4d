"""Servers in a real kernel: opened in one cell, called and stopped in others, none left after reload and shutdown."""

from __future__ import annotations

import json
import queue
import sys
import time
from pathlib import Path

import psutil
import pytest

SERVERS = Path(__file__).parents[2] / "servers"
RAW = f"{sys.executable} {SERVERS / 'raw.py'}"


class Kernel:
    """A kernel whose cells are run one by one."""

    def __init__(self) -> None:
        manager = pytest.importorskip("jupyter_client.manager")
        self.manager, self.client = manager.start_new_kernel(kernel_name="python3", stderr=-3)
        self.run("%load_ext toolnexus_nb")
        self.run("import toolnexus_nb as tn; kit = tn.session().toolkit")

    def run(self, code: str, stop_after: float | None = None, click: str = "") -> str:
        """All text of a cell's outputs, errors as `Name: words`.

        With `click` the cell is run as a page would that shows widgets, and the button of that name is clicked.
        """
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}
        message = self.client.session.msg("execute_request", content, metadata={"cellId": "c"} if click else {})
        self.client.shell_channel.send(message)
        request = message["header"]["msg_id"]
        button = ""
        if stop_after is not None:
            time.sleep(stop_after)
            self.manager.interrupt_kernel()
        said: list[str] = []
        while True:
            try:
                message = self.client.get_iopub_msg(timeout=30)
            except queue.Empty:
                pytest.fail(f"no end of the cell {code!r} after {said}")
            if message["parent_header"].get("msg_id") != request:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "stream":
                said.append(content["text"])
            elif kind == "comm_open" and content["data"].get("state", {}).get("description") == click:
                button = content["comm_id"]
            elif kind in ("execute_result", "display_data", "update_display_data"):
                said.append(content["data"].get("text/plain", ""))
                if button and kind == "display_data":
                    clicked = {"comm_id": button, "data": {"method": "custom", "content": {"event": "click"}}}
                    self.client.shell_channel.send(self.client.session.msg("comm_msg", clicked))
            elif kind == "error":
                said.append(f"{content['ename']}: {content['evalue']}")
            elif kind == "status" and content["execution_state"] == "idle":
                return "\n".join(said)

    def servers(self) -> list[int]:
        """Processes of test servers below this kernel."""
        kernel = psutil.Process(self.manager.provisioner.pid)
        return [
            child.pid for child in kernel.children(recursive=True) if any("raw.py" in word for word in child.cmdline())
        ]


@pytest.fixture(scope="module")
def kernel():
    kernel = Kernel()
    yield kernel
    kernel.client.stop_channels()
    if kernel.manager.has_kernel:
        kernel.manager.shutdown_kernel(now=True)


def gone(pids: list[int]) -> bool:
    end = time.monotonic() + 5
    while any(psutil.pid_exists(pid) for pid in pids):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def test_a_server_lives_across_cells(kernel):
    card = kernel.run(f"%toolnexus mcp add r -- {RAW}")
    assert "open since" in card and "r_echo" in card and sys.executable not in card
    assert kernel.run("print((await kit.execute('r_echo', {'text': 'awaited'})).output)").strip() == "awaited"
    assert kernel.run("print(kit.execute_sync('r_echo', {'text': 'blocking'}).output)").strip() == "blocking"
    assert len(kernel.servers()) == 1


@pytest.mark.parametrize(
    ("cell", "error"),
    [
        ("await kit.execute('r_slow', {'seconds': 60})", "CancelledError"),
        ("kit.execute_sync('r_slow', {'seconds': 60})", "KeyboardInterrupt"),
    ],
)
def test_stop_ends_the_call_at_once_and_keeps_the_session(kernel, cell, error):
    before = kernel.servers()
    started = time.monotonic()
    assert error in kernel.run(cell, stop_after=0.5)
    assert time.monotonic() - started < 5
    assert kernel.run("print(kit.execute_sync('r_echo', {'text': 'on'}).output)").strip() == "on"
    assert kernel.servers() == before
    assert "cancelled slow" in kernel.run("%toolnexus mcp stderr r")


def test_a_server_that_dies_shows_it_and_comes_back(kernel):
    assert "went away (exit code 3)" in kernel.run("print((await kit.execute('r_die')).output)")
    assert "lost" in kernel.run("%toolnexus mcp show r")
    assert kernel.run("print((await kit.execute('r_echo', {'text': 'back'})).output)").strip() == "back"
    assert "opened again 1 time" in kernel.run("%toolnexus mcp show r")


def test_the_words_of_the_magic(kernel):
    listed = kernel.run("%toolnexus mcp")
    assert listed.startswith("r") and "tools" in listed and "stdio: python" in listed
    assert "r_wipe" in kernel.run("%toolnexus mcp tools r")
    assert "has no resources" in kernel.run("%toolnexus mcp resources r")
    assert "logged nothing" in kernel.run("%toolnexus mcp logs r")
    assert "did you mean tools?" in kernel.run("%toolnexus mcp tool r")
    assert "there is no MCP server 'x'" in kernel.run("%toolnexus mcp show x")
    assert "was not found" in kernel.run("%toolnexus mcp add bad -- no-such-program-here")
    assert "UsageError" in kernel.run("%toolnexus mcp add bad")
    assert "--env" in kernel.run("%toolnexus mcp help add")
    assert "open since" in kernel.run("%toolnexus mcp reconnect r")


def test_a_configuration_file(kernel, tmp_path):
    file = tmp_path / "mcp.json"
    servers = {"c": {"command": RAW, "tools": {"echo": True}}, "d": {"command": "no-such-program"}}
    file.write_text(json.dumps({"mcpServers": servers}))
    said = kernel.run(f"%toolnexus mcp load {file}")
    assert "c  open" in said and "d  failed" in said and "'no-such-program' was not found" in said
    assert "1 tool taken away" in kernel.run("%toolnexus mcp remove c")
    assert "c_echo" not in kernel.run("print(kit.names)")


def test_questions_are_answered_no_where_nobody_can_click(kernel):
    kernel.run(f"%toolnexus mcp add a --elicitation form -- {sys.executable} {SERVERS / 'awkward.py'}")
    assert "decline" in kernel.run("print((await kit.execute('a_delete', {'path': 'x'})).output)")
    assert "Say hello to Ada." in kernel.run("%toolnexus mcp prompt a greet name=Ada")
    assert "rain" in kernel.run("%toolnexus mcp resources a notes://today")


@pytest.mark.parametrize(("button", "answer"), [("Accept", "accept:True"), ("Decline", "decline:None")])
def test_a_question_is_a_form_under_the_cell_that_calls(kernel, button, answer):
    said = kernel.run("print((await kit.execute('a_delete', {'path': 'x'})).output)", click=button)
    assert answer in said and "a asks: Delete x? [waiting]" in said and f"[{button.lower()}" in said


def test_an_older_server_asks_under_the_cell_that_calls_too(kernel):
    kernel.run(f"%toolnexus mcp add o --elicitation form -- {RAW}")
    said = kernel.run("print((await kit.execute('o_ask')).output)", click="Accept")
    assert "Which colour? [accepted]" in said and '"action": "accept"' in said
    kernel.run("%toolnexus mcp remove o")


def test_a_cell_that_blocks_declines_at_once(kernel):
    assert "decline" in kernel.run("print(kit.execute_sync('a_delete', {'path': 'x'}).output)", click="Accept")


def test_closing_in_a_cell_is_clean(kernel):
    pids = kernel.servers()
    assert kernel.run("await kit.close()") == ""
    assert gone(pids)
    assert "is closed" in kernel.run("print(kit.execute_sync('r_echo', {'text': 'x'}).output)")


def test_reloading_the_extension_leaves_no_process_and_the_next_call_opens_again(kernel):
    kernel.run(f"%toolnexus mcp add r -- {RAW}")
    pids = kernel.servers()
    kernel.run("%reload_ext toolnexus_nb")
    assert len(pids) == 1 and gone(pids)
    assert kernel.run("print((await kit.execute('r_echo', {'text': 'again'})).output)").strip() == "again"


def test_restart_and_shutdown_leave_no_process(kernel):
    kernel.run(f"%toolnexus mcp add deaf -- {RAW} --deaf")
    pids = kernel.servers()
    assert len(pids) == 2
    kernel.manager.restart_kernel(now=False)
    assert gone(pids)
    kernel.client.wait_for_ready(timeout=30)
    kernel.run("%load_ext toolnexus_nb")
    kernel.run(f"%toolnexus mcp add r -- {RAW}")
    pids = kernel.servers()
    started = time.monotonic()
    kernel.manager.shutdown_kernel(now=False)
    assert len(pids) == 1 and gone(pids) and time.monotonic() - started < 5


def test_a_killed_kernel_leaves_no_server_that_listens():
    kernel = Kernel()
    kernel.run(f"%toolnexus mcp add r -- {RAW}")
    pids = kernel.servers()
    kernel.manager.shutdown_kernel(now=True)
    kernel.client.stop_channels()
    assert len(pids) == 1 and gone(pids)
