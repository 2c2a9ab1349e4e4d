"""Sessions: opened, called from anywhere, stopped, killed, opened again, closed, and nothing left."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from toolnexus_nb.tools import mcp_stdio
from toolnexus_nb.tools.context import ToolContext
from toolnexus_nb.tools.mcp import McpServerError
from toolnexus_nb.tools.toolkit import Toolkit


def pid_of(server):
    return server.status().pid


def test_a_server_opened_in_one_loop_is_called_and_closed_in_others(kit, raw, running):
    async def open_it():
        return await kit.add_mcp("r", command=raw())

    async def call_it():
        return await kit.execute("r_echo", {"text": "hello"})

    server = asyncio.run(open_it())
    pid = pid_of(server)
    assert asyncio.run(call_it()).output == "hello"
    assert kit.execute_sync("r_echo", {"text": "again"}).output == "again"
    asyncio.run(kit.close())
    assert not running(pid)


def test_the_sync_forms_work_under_a_running_loop(kit, raw):
    async def cell():
        server = kit.add_mcp_sync("r", command=raw())
        return server.call_sync("echo", {"text": "hi"}).output

    assert asyncio.run(cell()) == "hi"


def test_calls_from_many_threads_and_tasks_run_side_by_side(kit, raw):
    kit.add_mcp_sync("r", command=raw())
    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda i: kit.execute_sync("r_echo", {"text": str(i)}).output, range(24)))
    assert said == [str(i) for i in range(24)]

    async def together():
        started = time.monotonic()
        await asyncio.gather(*(kit.execute("r_slow", {"seconds": 0.3}) for _ in range(5)))
        return time.monotonic() - started

    assert asyncio.run(together()) < 1.2


def test_stop_during_a_call_tells_the_server_and_keeps_the_session(kit, raw, until):
    server = kit.add_mcp_sync("r", command=raw())
    pid = pid_of(server)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            server.call_sync("slow", {"seconds": 60})
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - started < 2
    assert until(lambda: "cancelled slow" in server.stderr)
    assert server.call_sync("echo", {"text": "still here"}).output == "still here"
    assert pid_of(server) == pid


def test_cancelling_an_awaited_call_tells_the_server(kit, raw, until):
    server = kit.add_mcp_sync("r", command=raw())

    async def cell():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(kit.execute("r_slow", {"seconds": 60}), 0.3)

    asyncio.run(cell())
    assert until(lambda: "cancelled slow" in server.stderr)


def test_a_call_over_its_timeout_is_an_error_result_and_is_cancelled(kit, raw, until):
    server = kit.add_mcp_sync("r", command=raw(), timeout=0.5)
    started = time.monotonic()
    result = kit.execute_sync("r_slow", {"seconds": 60})
    assert time.monotonic() - started < 1.5
    assert result.is_error and "'r'" in result.output and "within 0.5 s" in result.output
    assert until(lambda: "cancelled slow" in server.stderr)
    assert kit.execute_sync("r_echo", {"text": "on"}).output == "on"


def test_a_deadline_of_the_caller_counts_too(kit, raw):
    server = kit.add_mcp_sync("r", command=raw())
    context = ToolContext(deadline=time.monotonic() + 0.3)
    result = asyncio.run(server.call("slow", {"seconds": 60}, context=context))
    assert result.is_error and "did not answer" in result.output


def test_a_server_that_dies_in_a_call_says_how_and_is_opened_at_the_next(kit, raw, running):
    server = kit.add_mcp_sync("r", command=raw())
    pid = pid_of(server)
    result = kit.execute_sync("r_die", {"code": 7})
    assert result.is_error
    assert "'r'" in result.output and "exit code 7" in result.output and "I am going" in result.output
    assert server.state == "lost" and not running(pid)
    assert kit.execute_sync("r_echo", {"text": "back"}).output == "back"
    assert server.state == "open" and server.status().reopened == 1 and pid_of(server) != pid


def test_a_server_killed_between_calls_is_opened_at_the_next(kit, raw, until):
    server = kit.add_mcp_sync("r", command=raw())
    os.kill(pid_of(server), signal.SIGKILL)
    assert until(lambda: server.state == "lost")
    assert kit.execute_sync("r_echo", {"text": "back"}).output == "back"


def test_concurrent_calls_to_a_lost_server_open_it_once(kit, raw, until):
    server = kit.add_mcp_sync("r", command=raw())
    os.kill(pid_of(server), signal.SIGKILL)
    assert until(lambda: server.state == "lost")
    with ThreadPoolExecutor(6) as pool:
        said = set(pool.map(lambda _: kit.execute_sync("r_where").output, range(6)))
    assert len({json.loads(one)["pid"] for one in said}) == 1 and server.status().reopened == 1


def test_calls_that_wait_for_an_opening_in_vain_fail_with_it(kit, raw, tmp_path, until):
    program = tmp_path / "server.py"
    shutil.copy(raw()[1], program)
    server = kit.add_mcp_sync("r", command=[sys.executable, str(program)], timeout=1)
    program.write_text("import time; time.sleep(60)")
    os.kill(pid_of(server), signal.SIGKILL)
    assert until(lambda: server.state == "lost")
    started = time.monotonic()
    with ThreadPoolExecutor(6) as pool:
        answers = set(pool.map(lambda _: kit.execute_sync("r_where").output, range(6)))
    assert time.monotonic() - started < 3 and len(answers) == 1 and "within 1 s" in answers.pop()


def test_reopening_stops_after_three_failures_until_asked(kit, raw, tmp_path, until):
    program = tmp_path / "server.py"
    shutil.copy(raw()[1], program)
    server = kit.add_mcp_sync("r", command=[sys.executable, str(program)])
    program.rename(tmp_path / "away.py")
    os.kill(pid_of(server), signal.SIGKILL)
    assert until(lambda: server.state == "lost")
    answers = [kit.execute_sync("r_echo", {"text": "x"}).output for _ in range(4)]
    assert all("'r'" in answer for answer in answers)
    assert "not tried any more" in answers[3] and "reconnect" in answers[3]
    started = time.monotonic()
    assert kit.execute_sync("r_echo", {"text": "x"}).output == answers[3]
    assert time.monotonic() - started < 0.5
    (tmp_path / "away.py").rename(program)
    server.reconnect_sync()
    assert kit.execute_sync("r_echo", {"text": "fine"}).output == "fine"


def test_after_close_the_tools_say_so_and_reconnect_opens_again(kit, raw):
    server = kit.add_mcp_sync("r", command=raw())
    tool = kit.get("r_echo")
    kit.close_sync()
    result = tool.execute_sync({"text": "x"})
    assert result.is_error and "closed" in result.output and "reconnect" in result.output
    server.reconnect_sync()
    assert tool.execute_sync({"text": "x"}).output == "x" and kit.servers == {"r": server}


def test_running_the_cell_again_replaces_the_server_and_its_tools_in_place(kit, raw, running):
    first = kit.add_mcp_sync("r", command=raw())
    pid, names = pid_of(first), kit.names
    second = kit.add_mcp_sync("r", command=raw())
    assert not running(pid) and kit.names == names and kit.servers == {"r": second}
    assert kit.execute_sync("r_echo", {"text": "x"}).output == "x"
    assert kit.history("r_echo")[-1].kind == "unchanged"


def test_a_toolkit_that_is_thrown_away_takes_its_servers_along(raw, running):
    kit = Toolkit()
    pid = pid_of(kit.add_mcp_sync("r", command=raw()))
    assert psutil.pid_exists(pid)
    del kit
    gc.collect()
    assert not running(pid)


def test_a_filtered_toolkit_keeps_the_server_open(raw, running):
    kit = Toolkit()
    pid = pid_of(kit.add_mcp_sync("r", command=raw()))
    few = kit.filter(lambda name: name == "r_echo")
    del kit
    gc.collect()
    assert few.execute_sync("r_echo", {"text": "alive"}).output == "alive"
    del few
    gc.collect()
    assert not running(pid)


def test_a_deaf_server_and_what_it_started_are_ended_at_close(kit, raw, running, monkeypatch):
    monkeypatch.setattr(mcp_stdio, "CLOSE_GRACE", 0.3)
    server = kit.add_mcp_sync("r", command=raw("--deaf", "--child"))
    pid = pid_of(server)
    assert kit.execute_sync("r_echo", {"text": "x"}).output == "x"
    children = [child.pid for child in psutil.Process(pid).children()]
    assert len(children) == 1
    started = time.monotonic()
    server.close_sync()
    assert time.monotonic() - started < 4
    assert not running(pid) and not running(children[0])


def test_the_interpreters_exit_leaves_no_process(raw, running):
    code = (
        "import sys, toolnexus_nb as tn\n"
        "kit = tn.Toolkit()\n"
        "a = kit.add_mcp_sync('a', command=sys.argv[1:])\n"
        "b = kit.add_mcp_sync('b', command=[*sys.argv[1:], '--deaf'])\n"
        "print(a.status().pid, b.status().pid, flush=True)\n"
    )
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code, *raw()], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    pids = [int(word) for word in done.stdout.split()]
    assert len(pids) == 2 and not any(running(pid) for pid in pids)
    assert time.monotonic() - started < 20


def test_stop_while_a_server_is_opened_leaves_nothing(kit, raw, until):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            kit.add_mcp_sync("r", command=raw("--mute"))
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - started < 3
    assert kit.servers == {} and kit.names == []
    time.sleep(1)  # the process gets a moment to go; the fixture looks


def test_an_old_server_that_ends_on_new_questions_is_opened_in_the_old_way(kit, raw):
    server = kit.add_mcp_sync("r", command=raw("--old"))
    assert kit.execute_sync("r_echo", {"text": "x"}).output == "x"
    assert server.status().protocol == "2025-11-25"


def test_list_changed_refreshes_the_toolkit_and_says_so(kit, raw, until):
    kit.add_mcp_sync("r", command=raw())
    heard = []
    kit.on_change(lambda change: heard.append((change.kind, change.name)))
    kit.execute_sync("r_change")
    assert until(lambda: "r_late" in kit.names and "r_look" not in kit.names)
    assert sorted(heard) == [("registered", "r_late"), ("removed", "r_look")]
    assert until(lambda: any("+r_late, -r_look" in note for note in kit.servers["r"].notes))
    assert kit.execute_sync("r_late").output == "better than never"


def test_a_tool_of_the_users_with_the_same_name_is_left_alone(kit, raw, until):
    kit.add_mcp_sync("r", command=raw())

    def r_look() -> str:
        "Mine."
        return "mine"

    kit.register(r_look)
    kit.execute_sync("r_change")
    assert until(lambda: "r_late" in kit.names)
    assert kit.execute_sync("r_look").output == "mine"


def test_logs_are_kept(kit, raw, until):
    server = kit.add_mcp_sync("r", command=raw())
    kit.execute_sync("r_say")
    assert until(lambda: server.logs)
    entry = server.logs[0]
    assert (entry.level, entry.logger, entry.data) == ("warning", "raw", "watch out")


def test_noise_on_both_streams_is_bounded_kept_and_harmless(kit, raw, until):
    server = kit.add_mcp_sync("r", command=raw("--stderr", "hello"))
    assert kit.execute_sync("r_chatter").output == "chattered"
    assert until(lambda: any(line.startswith("nnn") for line in server.stderr))
    assert server.stderr[0] == "hello" and "(stdout, no MCP message) debugging here" in server.stderr
    assert sum(map(len, server.stderr)) < 1_000_000
    assert kit.execute_sync("r_echo", {"text": "fine"}).output == "fine"


def test_reading_from_a_server_without_tools_gives_none(kit, raw):
    server = kit.add_mcp_sync("r", command=raw("--no-tools"))
    assert server.is_open and kit.names == [] and server.resources_sync() == [] and server.prompts_sync() == []


def test_pages_are_followed_and_circles_are_not(kit, raw):
    kit.add_mcp_sync("p", command=raw("--pages"))
    assert kit.names == ["p_alpha", "p_omega"]
    with pytest.raises(McpServerError, match="repeats a page"):
        kit.add_mcp_sync("c", command=raw("--circle"), timeout=10)
    assert kit.servers["c"].state == "failed"


def test_an_error_with_the_code_of_a_lost_connection_keeps_the_session(kit, raw):
    server = kit.add_mcp_sync("r", command=raw())
    pid = pid_of(server)
    got = server.call_sync("busy")
    assert got.is_error and "try later" in got.output
    assert pid_of(server) == pid


def test_a_call_during_which_the_server_is_closed_says_so(kit, raw):
    server = kit.add_mcp_sync("r", command=raw())

    async def close_meanwhile():
        call = asyncio.ensure_future(server.call("slow"))
        await asyncio.sleep(0.1)
        await server.close()
        return await call

    assert asyncio.run(close_meanwhile()).output == "MCP server 'r' was closed during the call of 'slow'."


def test_one_name_added_many_times_at_once_leaves_one_server(kit, raw):
    async def add():
        await asyncio.gather(*(kit.add_mcp("r", command=raw()) for _ in range(4)))

    before = len(psutil.Process().children())
    asyncio.run(add())
    assert len(psutil.Process().children()) == before + 1
    assert kit.execute_sync("r_echo", {"text": "one"}).output == "one"


def test_a_server_that_always_says_its_list_changed_is_asked_ever_less(kit, raw):
    server = kit.add_mcp_sync("r", command=raw("--restless"))
    time.sleep(0.8)
    assert int(server.call_sync("lists").output) <= 6


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_opens_its_own_session_and_leaves_its_parents_alone(raw):
    program = f"""
import os, sys, toolnexus_nb as tn
kit = tn.Toolkit()
server = kit.add_mcp_sync("r", command={raw()!r})
parents = server.status().pid
child = os.fork()
if child == 0:
    said = kit.execute_sync("r_echo", {{"text": "child"}})
    assert said.output == "child" and server.status().pid != parents, said
    sys.exit(5)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
assert kit.execute_sync("r_echo", {{"text": "parent"}}).output == "parent" and server.status().pid == parents
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=30)


@pytest.mark.parametrize("odd", ["half a \ud800", float("nan"), {1, 2}, object(), b"\xff", 10**400])
def test_an_argument_that_has_no_json_form_does_not_end_the_session(kit, raw, odd):
    server = kit.add_mcp_sync("r", command=raw(), timeout=5)
    server.call_sync("structured", {"odd": odd})
    assert server.call_sync("echo", {"text": "still here"}).output == "still here"
    assert server.status().reopened == 0
