"""The same server over HTTP, over the older HTTP with events, and in this process; and what newer connections bring."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading

import pytest

from toolnexus_nb.tools.context import ToolContext


@pytest.mark.parametrize(("kind", "transport"), [("http", "http"), ("sse", "sse")])
def test_an_address_is_opened_called_stopped_killed_and_opened_again(kit, http_peer, kind, transport):
    peer = http_peer(kind)
    server = kit.add_mcp_sync("h", url=peer.url)
    assert server.status().transport == transport
    assert kit.execute_sync("h_add", {"a": 1, "b": 2}).output == "3"

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            kit.execute_sync("h_slow", {"n": 1000})
    finally:
        signal.signal(signal.SIGINT, before)
    assert kit.execute_sync("h_add", {"a": 2, "b": 2}).output == "4"

    threading.Timer(0.3, peer.kill).start()
    lost = kit.execute_sync("h_slow", {"n": 1000})
    assert lost.is_error and "went away" in lost.output and "'h'" in lost.output
    down = kit.execute_sync("h_add", {"a": 1, "b": 1})
    assert down.is_error and "could not be reached" in down.output
    peer.start()
    assert kit.execute_sync("h_add", {"a": 3, "b": 3}).output == "6"


def test_headers_are_sent(kit, web):
    heard = []

    def listen(request):
        heard.append(request.headers.get("x-team"))
        request.answer(401)

    with pytest.raises(Exception, match="401"):
        kit.add_mcp_sync("h", url=f"{web(do_POST=listen)}/mcp", headers={"X-Team": "blue"})
    assert heard[0] == "blue"


def test_a_server_of_this_process(kit, module):
    server = kit.add_mcp_sync("m", server=module.server)
    assert server.status().transport == "in process"
    assert kit.execute_sync("m_add", {"a": 1, "b": 2}).output == "3"
    assert kit.execute_sync("m_tree", {"root": {"name": "r", "children": [{"name": "c"}]}}).value == {"result": 2}

    async def stop():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(kit.execute("m_slow", {"n": 1000}), 0.3)

    asyncio.run(stop())
    assert module.seen == ["cancelled"]
    assert kit.execute_sync("m_add", {"a": 2, "b": 2}).output == "4"


def test_a_fastmcp_object_of_this_process(kit):
    fastmcp = pytest.importorskip("fastmcp")
    app = fastmcp.FastMCP("f")

    @app.tool
    def times(a: int, b: int) -> int:
        return a * b

    kit.add_mcp_sync("f", server=app)
    assert kit.execute_sync("f_times", {"a": 3, "b": 4}).output == "12"


def test_progress_reaches_the_context(kit, module):
    kit.add_mcp_sync("m", server=module.server)
    told = []
    context = ToolContext(on_progress=lambda *step: told.append(step))
    assert asyncio.run(kit.execute("m_slow", {"n": 3, "delay": 0.01}, context)).output == "done"
    assert told == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


def test_a_list_that_changes_on_a_newer_connection(kit, module, until):
    kit.add_mcp_sync("m", server=module.server)
    kit.execute_sync("m_grow")
    assert until(lambda: "m_late" in kit.names)
    assert kit.execute_sync("m_late", {"x": 5}).output == "5"


def test_resources_and_prompts(kit, module):
    server = kit.add_mcp_sync("m", server=module.server)
    assert [(r.uri, r.template) for r in server.resources_sync()] == [("notes://today", False), ("notes://{day}", True)]
    read = server.read_sync("notes://monday")
    assert read.output == "note of monday" and read.parts[0].uri == "notes://monday"
    (prompt,) = server.prompts_sync()
    assert prompt.name == "greet" and prompt.arguments == {"name": ("", True)}
    (message,) = server.prompt_sync("greet", {"name": "Ada"})
    assert message.role == "user" and message.get_content_as_string() == "Say hello to Ada."
    with pytest.raises(Exception, match="'m' refused"):
        server.prompt_sync("nothing")


# --- questions --------------------------------------------------------------------------------------------------------


def asked(kit, module, policy, tool="delete", **arguments):
    """(output, notes) of a tool that asks first."""
    server = kit.add_mcp_sync("m", server=module.server, elicitation=policy)
    return kit.execute_sync(f"m_{tool}", arguments or {"path": "x"}).output, server.notes


def test_without_a_policy_a_server_may_not_ask(kit, module):
    output, _ = asked(kit, module, None)
    assert "elicitation" in output and "'m'" in output


@pytest.mark.parametrize(
    ("policy", "output"),
    [
        ("defaults", "accept:True"),
        ("decline", "decline:None"),
        (lambda question: {"ok": False}, "accept:False"),
        (lambda question: None, "decline:None"),
        (lambda question: 1 / 0, "decline:None"),
        (lambda question: {"ok": {"no": "form value"}}, "decline:None"),
        ("form", "decline:None"),
    ],
)
def test_policies_answer(kit, module, policy, output):
    said, notes = asked(kit, module, policy)
    assert said == output and "Delete x?" in notes[0]


def test_an_async_policy_sees_the_question(kit, module):
    seen = []

    async def policy(question):
        seen.append((question.server, question.message, list(question.fields), question.url))
        return {"ok": True}

    assert asked(kit, module, policy)[0] == "accept:True"
    assert seen == [("m", "Delete x?", ["ok"], None)]


def test_a_form_for_credentials_is_declined_before_anyone_sees_it(kit, module):
    called = []
    output, notes = asked(kit, module, called.append, tool="log_in", x=1)
    assert output == "decline" and called == [] and "credential" in notes[0]


def test_the_time_a_person_takes_is_not_the_servers(kit, module):
    async def policy(question):
        await asyncio.sleep(0.8)
        return {"ok": True}

    kit.add_mcp_sync("m", server=module.server, elicitation=policy, timeout=0.5)
    assert kit.execute_sync("m_delete", {"path": "x"}).output == "accept:True"


@pytest.mark.parametrize(
    ("schema", "message", "found"),
    [
        ({"password": {}}, "", "password"),
        ({"apiKey": {}}, "", "apiKey"),
        ({"x": {"title": "Access key"}}, "", "x"),
        ({"x": {"format": "password"}}, "", "x"),
        ({"x": {"description": "Your GitHub token"}}, "", "x"),
        ({"x": {"type": "string"}}, "Please enter your password", "password"),
        ({"n": {"type": "integer", "description": "a number (do not enter your PIN)"}}, "", None),
        ({"monkey": {"type": "string"}, "max_tokens": {"type": "integer"}}, "Which animal?", None),
        ({"ok": {"type": "boolean"}}, "Reset the password?", None),
    ],
)
def test_what_looks_like_a_credential(schema, message, found):
    from toolnexus_nb.tools.mcp import Elicitation

    assert Elicitation("s", message, {"properties": schema}).credential == found


def test_a_server_that_forgot_the_session_is_asked_again_in_a_new_one(kit, web):
    """HTTP 404 to a request that names a session: it was not done, and a new one is to be started (specification)."""
    sessions, calls = set(), []

    def forgetful(request):
        message = json.loads(request.rfile.read(int(request.headers["content-length"])))
        method, session = message["method"], request.headers.get("mcp-session-id")

        def reply(result, **headers):
            body = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            request.answer(200, json.dumps(body).encode(), "application/json", **headers)

        if session is not None and session not in sessions:
            request.answer(404)
        elif method == "initialize":
            sessions.add(new := f"s{len(calls)}")
            about = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
            reply({**about, "serverInfo": {"name": "forgetful", "version": "1"}}, mcp_session_id=new)
        elif method == "tools/list":
            reply({"tools": [{"name": "hi", "inputSchema": {"type": "object"}}]})
        elif method == "tools/call":
            calls.append(session)
            reply({"content": [{"type": "text", "text": "hi"}]})
        else:
            request.answer(404 if "id" in message else 202)

    server = kit.add_mcp_sync("h", url=f"{web(do_POST=forgetful)}/mcp")
    assert kit.execute_sync("h_hi").output == "hi" and server.status().reopened == 0
    sessions.clear()
    assert kit.execute_sync("h_hi").output == "hi" and server.status().reopened == 1
    assert calls == ["s0", "s1"]
    server.close_sync()


def test_an_address_is_shown_without_user_and_password():
    from toolnexus_nb.tools.mcp_config import make_spec

    assert make_spec("s", url="https://me:secret@example.org/mcp").target == "https://example.org/mcp"
