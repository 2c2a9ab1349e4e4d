"""MCP tools in a conversation: progress becomes events, destructive tools wait for a person, Stop keeps the session."""

from __future__ import annotations

import asyncio

import toolnexus_nb as tn


def model(*calls):
    """A model that calls these tools, then says done."""

    def generate(messages):
        return list(calls) if messages[-1]["role"] == "user" else "done"

    return tn.connect(generate)


def test_progress_of_a_server_is_an_event(kit, module):
    kit.add_mcp_sync("a", server=module.server)

    async def run():
        chat = tn.Chat(model(("a_slow", {"n": 3, "delay": 0.01})), kit)
        return [event async for event in chat.events("go")]

    told = [e for e in asyncio.run(run()) if type(e).__name__ == "ToolProgress"]
    assert [(e.progress, e.total, e.message) for e in told][-1] == (3, 3, "step 3")


def test_a_destructive_tool_pauses_and_is_run_when_allowed(kit, raw):
    kit.add_mcp_sync("r", command=raw())
    paused = tn.Chat(model(("r_wipe", {}), ("r_echo", {"text": "x"})), kit).ask_sync("go")
    assert paused.status == "paused" and [p.call.name for p in paused.pending] == ["r_wipe"]
    assert "destructive" in paused.pending[0].reason
    done = paused.resume_sync({paused.pending[0].call.id: "allow"})
    assert done.status == "done" and done.text == "done"


def test_an_interrupted_run_keeps_the_session(kit, raw, until):
    server = kit.add_mcp_sync("r", command=raw())
    pid = server.status().pid

    async def run():
        chat = tn.Chat(model(("r_slow", {"seconds": 60})), kit)
        try:
            await asyncio.wait_for(chat.ask("go"), 0.5)
        except TimeoutError:
            return chat.last
        return None

    assert asyncio.run(run()).status == "stopped"
    assert until(lambda: "cancelled slow" in server.stderr)
    assert kit.execute_sync("r_echo", {"text": "on"}).output == "on" and server.status().pid == pid
