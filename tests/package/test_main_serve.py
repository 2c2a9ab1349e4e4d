"""`python -m toolnexus_nb serve` and `mcp`: from a module on disk to a server that others can use."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from toolnexus_nb.__main__ import main

MODULE = '''
import os
import threading
print("a module that prints")
os.system("echo and a child that prints")

import toolnexus_nb as tn


def add(a: int, b: int) -> int:
    """Add two numbers."""
    print("a tool that prints")
    os.system("echo and its child")
    return a + b


def _hidden() -> str:
    return ""


@tn.tool(needs_approval=True)
def delete(name: str) -> str:
    """Delete something."""
    return f"deleted {name}"


@tn.tool(main_thread=True)
def thread() -> str:
    """Where it runs."""
    return threading.current_thread().name


toolkit = tn.Toolkit([add, delete, thread])
only_add = [add]
nothing: list = []
number = 7
'''

NAMES = ["add", "delete", "thread"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mytools.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "mytools", raising=False)
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL", "TOOLNEXUS_SERVE_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def start(folder: Path, *args: str, **options: Any) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    return subprocess.Popen(
        [sys.executable, "-m", "toolnexus_nb", *args],
        cwd=folder, env={**environment, "PYTHONUNBUFFERED": "1"}, text=True, encoding="utf-8",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options,
    )  # fmt: skip


@pytest.fixture
def served(folder: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    process = start(folder, "serve", "mytools:toolkit", "--connect", "rehearsal", "--port", "0")
    said = ""
    assert process.stdout is not None
    while "Ctrl-C" not in said:
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        said += line
    found = re.search(r"page\s+(http://127\.0\.0\.1:\d+)/\n", said)
    assert found is not None, said
    yield found[1], process
    process.kill()
    process.communicate()


def test_a_module_is_served_with_page_endpoint_and_mcp(served: tuple[str, subprocess.Popen[str]]) -> None:
    url, process = served
    assert httpx.get(url + "/").status_code == 200
    assert [tool["name"] for tool in httpx.get(url + "/v1/models").json()["data"][0]["tools"]] == NAMES
    question = {"messages": [{"role": "user", "content": "What is 17 plus 25?"}]}
    answer = httpx.post(url + "/v1/chat/completions", json=question, timeout=20).json()
    assert "42" in answer["choices"][0]["message"]["content"]

    async def over_mcp() -> list[str]:
        from mcp import Client

        async with Client(url + "/mcp") as client:
            results = [await client.call_tool("add", {"a": 1, "b": 2}), await client.call_tool("thread", {})]
            return [result.content[0].text for result in results]

    assert asyncio.run(over_mcp()) == ["3", "MainThread"]
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 0


def test_stdio_serves_the_module_and_its_prints_stay_out_of_the_protocol(folder: Path) -> None:
    from mcp import Client, StdioServerParameters

    async def go() -> list[Any]:
        parameters = StdioServerParameters(
            command=sys.executable, args=["-m", "toolnexus_nb", "mcp", "mytools:toolkit", "--name", "mine"], cwd=folder
        )
        async with asyncio.timeout(30), Client(parameters) as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            result = await client.call_tool("add", {"a": 20, "b": 22})
            refused = await client.call_tool("delete", {"name": "x"})
            where = await client.call_tool("thread", {})
            return [client.server_info.name, listed, result.content[0].text, refused.is_error, where.content[0].text]

    assert asyncio.run(go()) == ["mine", NAMES, "42", True, "MainThread"]


def test_stdio_says_nothing_but_the_protocol(folder: Path) -> None:
    hello = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }  # fmt: skip
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1, "b": 2}}}
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    process = start(folder, "mcp", "mytools.py:toolkit", stdin=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    lines = []
    for message, answered in ((hello, True), (ready, False), (call, True)):
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
        if answered:
            lines.append(json.loads(process.stdout.readline()))
    out, err = process.communicate(timeout=15)
    assert [line["id"] for line in lines] == [1, 2]
    assert lines[1]["result"]["content"][0]["text"] == "3"
    assert out == ""
    for said in ("a module that prints", "and a child that prints", "a tool that prints", "and its child"):
        assert said in err
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("nomodule:x", "no module 'nomodule'"),
        ("nofile.py:x", "no file nofile.py"),
        ("mytools:nobody", "no 'nobody'"),
        ("mytools:nothing", "no tools"),
        ("mytools:number", "a int"),
    ],
)
def test_a_target_that_is_none_is_said_in_one_line(
    folder: Path, capfd: pytest.CaptureFixture[str], target: str, words: str
) -> None:
    for command in ("serve", "mcp"):
        assert main([command, target]) == 2
        said = capfd.readouterr()
        last = said.err.strip().splitlines()[-1]
        assert last.startswith("toolnexus-nb: ") and words in last
        assert "Traceback" not in said.err


def test_what_a_module_lacks_is_its_own_error(folder: Path) -> None:
    (folder / "needy.py").write_text("import not_there_at_all\n", encoding="utf-8")
    with pytest.raises(ModuleNotFoundError, match="not_there_at_all"):
        main(["serve", "needy:toolkit"])


def test_targets_of_every_kind(folder: Path) -> None:
    from toolnexus_nb.serve.target import load_toolkit

    assert load_toolkit("mytools:toolkit").names == NAMES
    assert load_toolkit("mytools").names == NAMES
    assert load_toolkit("mytools.py:only_add").names == ["add"]
    assert load_toolkit("mytools:add").names == ["add"]
    assert load_toolkit("mytools:delete").names == ["delete"]
    (folder / "bare.py").write_text("def one() -> int:\n    'One.'\n    return 1\n\ndef _no() -> int:\n    return 0\n")
    assert load_toolkit("bare").names == ["one"]


def test_a_filter_by_name(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "mytools:toolkit", "--only", "nobody"]) == 2
    assert "there are add, delete, thread" in capfd.readouterr().err


def test_other_machines_need_a_key(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "mytools:toolkit", "--host", "0.0.0.0"]) == 2
    assert "--key" in capfd.readouterr().err


def test_a_taken_port_is_said_in_one_line(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "mytools:toolkit", "--connect", "rehearsal", "--port", str(port)]) == 1
    assert f"cannot listen on 127.0.0.1:{port}" in capfd.readouterr().err


@pytest.mark.parametrize("words", [["--port", "99999"], ["--port", "-1"], ["--max-rounds", "0"]])
def test_a_number_that_cannot_be_meant_is_refused(folder: Path, words: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["serve", f"{folder / 'shop.py'}", *words])
    assert caught.value.code == 2


def test_an_unknown_model_is_said_in_one_line(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "mytools:toolkit", "--connect", "rehearsl"]) == 2
    assert "rehearsal" in capfd.readouterr().err


def test_without_a_command_it_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    said = capsys.readouterr().out
    assert all(word in said for word in ("demo", "serve", "mcp"))


def test_it_is_up_and_gone_quickly(folder: Path) -> None:
    began = time.perf_counter()
    process = start(folder, "mcp", "mytools:toolkit", stdin=subprocess.PIPE)
    process.communicate(timeout=20)
    assert process.returncode == 0
    assert time.perf_counter() - began < 15
