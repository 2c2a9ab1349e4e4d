"""Bad input: each a sentence that names the server, gives its last words, and says what to do; never a hang."""

from __future__ import annotations

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from toolnexus_nb.openai.errors import ToolnexusError
from toolnexus_nb.tools import mcp_stdio
from toolnexus_nb.tools.mcp import McpServerError


def refused(kit, **options) -> str:
    """The error of an opening that must fail and leave no tools; what is kept only tells about it."""
    with pytest.raises(McpServerError) as caught:
        kit.add_mcp_sync("bad", **options)
    assert caught.value.server == "bad" and kit.names == []
    assert kit.servers["bad"].state == "failed" and kit.servers["bad"].last_error == str(caught.value)
    said = str(caught.value)
    assert "'bad'" in said
    return said


def test_a_command_that_does_not_exist(kit):
    said = refused(kit, command=["no-such-program-here"])
    assert "'no-such-program-here' was not found" in said and "spelling" in said


def test_a_failed_server_can_be_looked_at_and_tried_again(kit, raw, tmp_path):
    program = tmp_path / "server.py"
    command = [raw()[0], str(program)]
    refused(kit, command=command)
    assert any("server.py" in line for line in kit.servers["bad"].stderr)
    program.write_text(Path(raw()[1]).read_text())
    kit.servers["bad"].reconnect_sync()
    assert kit.execute_sync("bad_echo", {"text": "now"}).output == "now"


def test_a_folder_that_does_not_exist(kit, raw, tmp_path):
    assert "does not exist" in refused(kit, command=raw(), cwd=tmp_path / "nowhere")


def test_a_file_that_may_not_be_run(kit, tmp_path):
    program = tmp_path / "server"
    program.write_text("#!/bin/sh\n")
    assert "chmod +x" in refused(kit, command=[str(program)])


def test_a_server_that_ends_at_once(kit, raw):
    said = refused(kit, command=raw("--exit", "3", "--stderr", "error: no such package"))
    assert "exit code 3" in said and "error: no such package" in said


@pytest.mark.parametrize("how", ["--mute", "--slow-list"])
def test_a_server_that_never_answers(kit, raw, how):
    started = time.monotonic()
    said = refused(kit, command=raw(how, "--stderr", "thinking hard"), timeout=1)
    assert time.monotonic() - started < 3
    assert "within 1 s" in said and "thinking hard" in said and "timeout=" in said


def test_a_server_that_speaks_garbage(kit, raw):
    said = refused(kit, command=raw("--garbage"), timeout=1)
    assert "no MCP message" in said and "Welcome to the server!" in said


@pytest.mark.parametrize("line", ["noise\n", "endless"])
def test_a_server_that_floods_its_stdout_blocks_nobody(kit, raw, line):
    kit.add_mcp_sync("good", command=raw())
    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(kit.add_mcp_sync, "bad", command=raw("--flood", line), timeout=1)
        slowest = 0.0
        while not opening.done():
            began = time.monotonic()
            assert kit.execute_sync("good_echo", {"text": "here"}).output == "here"
            slowest = max(slowest, time.monotonic() - began)
    assert "no MCP message" in str(opening.exception()) and slowest < 1


def test_a_message_without_end_ends_the_session(kit, raw, monkeypatch):
    monkeypatch.setattr(mcp_stdio, "_LARGEST_MESSAGE", 1_000_000)
    assert "could not be opened" in refused(kit, command=raw("--flood", '{"jsonrpc"'), timeout=5)


def test_an_exit_code_that_is_our_doing_is_not_told(kit, raw, monkeypatch):
    monkeypatch.setattr(mcp_stdio, "CLOSE_GRACE", 0.2)
    assert "signal" not in refused(kit, command=raw("--hang-up"), timeout=5)


def test_what_is_configured_as_secret_is_in_no_message(kit, raw):
    key = "zebraCrossing9911"
    said = refused(kit, command=raw("--exit", "1", "--stderr", f"bad key {key}"), env={"API_KEY": key})
    assert key not in said and "bad key" in said


@pytest.fixture
def no_endpoint(web):
    """The address of a server that answers with the status in the path, and no MCP."""

    def page(request):
        request.answer(int(request.path.strip("/")), b"<html>hello</html>", "text/html")

    return web(do_POST=page, do_GET=page)


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (401, "credentials"),
        (403, "credentials"),
        (404, "path"),
        (405, "path"),
        (429, "wait"),
        (500, "log"),
        (503, "log"),
    ],
)
def test_http_refusals(kit, no_endpoint, status, advice, capfd):
    said = refused(kit, url=f"{no_endpoint}/{status}", timeout=5)
    assert f"HTTP {status}" in said and advice in said
    assert capfd.readouterr().err == ""


def test_a_page_that_is_no_endpoint(kit, no_endpoint):
    assert "text/html, which is not MCP" in refused(kit, url=f"{no_endpoint}/200", timeout=5)


def test_nobody_listens(kit):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert "could not be reached" in refused(kit, url=f"http://127.0.0.1:{port}/mcp", timeout=5)


def test_an_address_that_accepts_and_keeps_silent(kit):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        started = time.monotonic()
        said = refused(kit, url=f"http://127.0.0.1:{silent.getsockname()[1]}/mcp", timeout=1)
        assert time.monotonic() - started < 3 and "within 1 s" in said


def test_something_else_as_server(kit):
    assert "MCPServer" in refused(kit, server=object())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "exactly one of"),
        ({"command": ["x"], "url": "http://x/"}, "command and url"),
        ({"url": "ftp://example.org"}, "no http"),
        ({"command": ["x"], "timeout": -1}, "timeout"),
        ({"command": "  "}, "empty"),
        ({"url": "http://x/", "transport": "pigeon"}, "pigeon"),
    ],
)
def test_arguments_that_say_nothing_clear(kit, options, words):
    with pytest.raises(ToolnexusError, match=words):
        kit.add_mcp_sync("bad", **options)


def test_an_elicitation_policy_that_is_unknown(kit, raw):
    with pytest.raises(ValueError, match="decline"):
        kit.add_mcp_sync("bad", command=raw(), elicitation="always")


def test_a_tool_that_was_removed_meanwhile(kit, module):
    server = kit.add_mcp_sync("a", server=module.server)
    got = server.call_sync("gone")
    assert got.is_error and "gone" in got.output


def test_an_error_of_the_protocol_is_a_result(kit, module):
    kit.add_mcp_sync("a", server=module.server)
    got = kit.execute_sync("a_refuse")
    assert got.is_error and "request refused" in got.output and "demo" in got.output
