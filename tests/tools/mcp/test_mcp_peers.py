"""Real servers from the registries: opened, listed, called, killed, opened again, closed, and nothing left.

The node servers come from npm, the Python ones from the package index (extra `test`).
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from toolnexus_nb.tools.context import ToolContext

NPM = {
    "everything": "mcp-server-everything",
    "filesystem": "mcp-server-filesystem",
    "memory": "mcp-server-memory",
    "sequential": "mcp-server-sequential-thinking",
}


@pytest.fixture
def npm(require):
    """`npm("everything", ...)`: the command of a node server."""
    modules = require("node")
    return lambda name, *args: ["node", str(modules / ".bin" / NPM[name]), *args]


@pytest.fixture
def script():
    """`script("mcp-server-time")`: the command of an installed Python server."""

    def find(name: str, *args: str) -> list[str]:
        found = shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        if found is None:
            pytest.skip(f"{name} is missing; install it with: pip install {name}")
        return [found, *args]

    return find


def kill_and_reopen(kit, server, tool, arguments, until):
    """The server is killed; the next call opens it again and is answered."""
    os.kill(server.status().pid, signal.SIGKILL)
    assert until(lambda: server.state == "lost")
    result = kit.execute_sync(tool, arguments)
    assert server.state == "open" and server.status().reopened == 1
    return result


def test_everything(kit, npm, until):
    server = kit.add_mcp_sync("e", command=npm("everything"))
    assert server.status().protocol == "2025-11-25" and len(kit.names) == 13
    assert kit.execute_sync("e_echo", {"message": "hi"}).output == "Echo: hi"
    assert kit.execute_sync("e_get-tiny-image").parts[0].mime_type == "image/png"
    structured = kit.execute_sync("e_get-structured-content", {"location": "Chicago"})
    assert set(structured.value) == {"temperature", "conditions", "humidity"} and json.loads(structured.output)
    links = kit.execute_sync("e_get-resource-links", {"count": 2})
    assert [part.kind for part in links.parts] == ["link", "link"] and "demo://" in links.output
    wrong = kit.execute_sync("e_echo", {"message": 5})
    assert wrong.is_error and "message" in wrong.output

    told = []
    context = ToolContext(on_progress=lambda *step: told.append(step))
    asyncio.run(kit.execute("e_trigger-long-running-operation", {"duration": 0.3, "steps": 3}, context))
    assert [step[:2] for step in told] == [(1, 3), (2, 3), (3, 3)]

    async def stop():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(kit.execute("e_trigger-long-running-operation", {"duration": 60, "steps": 2}), 0.3)

    pid = server.status().pid
    asyncio.run(stop())
    assert kit.execute_sync("e_get-sum", {"a": 2, "b": 3}).output == "The sum of 2 and 3 is 5."
    assert server.status().pid == pid
    assert any(r.template for r in server.resources_sync()) and len(server.prompts_sync()) > 2
    assert "5" in kill_and_reopen(kit, server, "e_get-sum", {"a": 2, "b": 3}, until).output


def test_everything_offers_more_when_it_may_ask(kit, npm):
    kit.add_mcp_sync("e", command=npm("everything"), elicitation="decline")
    assert "e_trigger-elicitation-request" in kit.names
    assert "declined" in kit.execute_sync("e_trigger-elicitation-request").output


@pytest.mark.parametrize("kind", ["streamableHttp", "sse"])
def test_everything_over_http(kit, npm, kind, until):
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [*npm("everything"), kind]
    process = subprocess.Popen(
        command, env={**os.environ, "PORT": str(port)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        assert until(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0, 15)
        path = "mcp" if kind == "streamableHttp" else "sse"
        server = kit.add_mcp_sync("e", url=f"http://127.0.0.1:{port}/{path}")
        assert server.status().transport == ("http" if kind == "streamableHttp" else "sse")
        assert kit.execute_sync("e_echo", {"message": "hi"}).output == "Echo: hi"
        server.close_sync()
    finally:
        process.kill()
        process.wait()


def test_filesystem(kit, npm, tmp_path, until):
    (tmp_path / "a.txt").write_text("hello\n")
    server = kit.add_mcp_sync("fs", command=npm("filesystem", str(tmp_path)))
    assert kit.execute_sync("fs_read_text_file", {"path": str(tmp_path / "a.txt")}).output == "hello\n"
    outside = kit.execute_sync("fs_read_text_file", {"path": "/etc/hostname"})
    assert outside.is_error and "Access denied" in outside.output
    assert "destructive" in kit.get("fs_write_file").approval_needed({})
    assert kit.get("fs_read_text_file").approval_needed({}) is None
    again = kill_and_reopen(kit, server, "fs_list_allowed_directories", {}, until)
    assert str(tmp_path) in again.output


def test_memory(kit, npm, tmp_path, until):
    file = tmp_path / "memory.json"
    server = kit.add_mcp_sync("m", command=npm("memory"), env={"MEMORY_FILE_PATH": str(file)})
    ada = {"name": "Ada", "entityType": "person", "observations": ["wrote programs"]}
    assert not kit.execute_sync("m_create_entities", {"entities": [ada]}).is_error
    assert "Ada" in file.read_text()
    graph = kill_and_reopen(kit, server, "m_read_graph", {}, until)
    assert graph.value["entities"][0]["name"] == "Ada" and graph.output.count("wrote programs") == 1


def test_sequential_thinking(kit, npm, until):
    server = kit.add_mcp_sync("s", command=npm("sequential"))
    thought = {"thought": "first", "nextThoughtNeeded": True, "thoughtNumber": 1, "totalThoughts": 2}
    assert kit.execute_sync("s_sequentialthinking", thought).value["thoughtNumber"] == 1
    assert until(lambda: any("first" in line for line in server.stderr))
    assert not kill_and_reopen(kit, server, "s_sequentialthinking", thought, until).is_error


def test_time(kit, script, until, monkeypatch):
    script("mcp-server-time")
    monkeypatch.setenv("PATH", "/usr/bin")  # as in a kernel whose environment is not on its PATH
    server = kit.add_mcp_sync("t", command=["mcp-server-time"])
    noon = {"source_timezone": "Europe/Oslo", "time": "12:30", "target_timezone": "Asia/Tokyo"}
    assert "20:30" in kit.execute_sync("t_convert_time", noon).output
    wrong = kit.execute_sync("t_get_current_time", {"timezone": "Mars/Base"})
    assert wrong.is_error and "Mars/Base" in wrong.output
    gone = server.call_sync("no_such")
    assert gone.is_error and "t_convert_time" in gone.output
    assert "20:30" in kill_and_reopen(kit, server, "t_convert_time", noon, until).output


def test_git(kit, script, tmp_path):
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run([*git, "init", "-q"], check=True, env=environment)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first words"], check=True, env=environment)
    kit.add_mcp_sync("g", command=script("mcp-server-git"), cwd=tmp_path)
    assert "first words" in kit.execute_sync("g_git_log", {"repo_path": str(tmp_path), "max_count": 1}).output
    assert kit.execute_sync("g_git_status", {"repo_path": "/nowhere"}).is_error


def test_fetch(kit, script, web):
    address = web(do_GET=lambda request: request.answer(200, b"plain words"))
    # A PATH without node: with node there, its first fetch installs packages from a registry.
    command = script("mcp-server-fetch", "--ignore-robots-txt", "--allow-private-ips")
    kit.add_mcp_sync("f", command=command, env={"PATH": str(Path(sys.executable).parent)})
    assert "plain words" in kit.execute_sync("f_fetch", {"url": f"{address}/", "raw": True}).output


def test_fastmcp(kit, until):
    pytest.importorskip("fastmcp")
    code = (
        "import fastmcp\n"
        "app = fastmcp.FastMCP('f')\n"
        "@app.tool\n"
        "def times(a: int, b: int) -> int:\n"
        "    return a * b\n"
        "app.run(show_banner=False)\n"
    )
    server = kit.add_mcp_sync("f", command=[sys.executable, "-c", code])
    assert kit.execute_sync("f_times", {"a": 3, "b": 4}).output == "12"
    assert kit.execute_sync("f_times", {"a": "x", "b": 4}).is_error
    assert kill_and_reopen(kit, server, "f_times", {"a": 2, "b": 2}, until).output == "4"
