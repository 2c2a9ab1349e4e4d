"""Odd tools, results and reports over MCP: none may cost a client its list or its connection."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp import Client

import toolnexus_nb as tn
from toolnexus_nb.serve import Server, create_app


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_what_has_no_form_in_json_costs_neither_the_list_nor_the_connection(
    mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    half = "half \ud83d of one"

    def odd(arguments: dict[str, Any], context: tn.ToolContext) -> Any:
        context.report(float("nan"), float("inf"), half)
        if arguments.get("fail"):
            raise ValueError(half)
        return {half: half}

    tools = [
        tn.native_tool("odd", half, {"properties": {"fail": {"type": "boolean"}}}, odd),
        tn.native_tool("bare", "no schema at all", {}, lambda arguments: half),
    ]
    tools[1].annotations["readOnlyHint"] = "perhaps"

    async def go() -> None:
        server = Server(create_app(tn.Toolkit(tools), tn.connect("rehearsal")))
        try:
            async with Client(server.start() + "/mcp", mode=mode) as client:
                listed = {tool.name: tool for tool in (await client.list_tools()).tools}
                assert listed["odd"].description == "half \ufffd of one"
                assert all(tool.input_schema["type"] == "object" for tool in listed.values())
                for name, arguments in [("odd", {}), ("odd", {"fail": True}), ("bare", {})]:
                    result = await client.call_tool(name, arguments, read_timeout_seconds=5)
                    assert "half \ufffd of one" in result.content[0].text
        finally:
            server.stop()

    asyncio.run(go())
    assert "half \ufffd of one" in caplog.text and caplog.text.encode()  # a log that is UTF-8 can be written
