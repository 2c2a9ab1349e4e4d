"""The toolkit as an MCP server, asked by the official client in memory (both eras) and over HTTP."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx
import mcp.types as types
import pytest
from mcp import Client, MCPError

import toolnexus_nb as tn
from toolnexus_nb.openai import tools_by_name
from toolnexus_nb.serve import Limits, create_app, create_mcp_server
from toolnexus_nb.tools.results import ResultPart

T = TypeVar("T")
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@dataclass
class Place:
    """Where."""

    city: str
    degrees: float


@tn.tool(title="Adder", annotations={"readOnlyHint": True, "idempotentHint": True})
def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: The first.
        b: The second.
    """
    return a + b


@tn.tool
def where(city: str) -> Place:
    """Where a city is."""
    return Place(city, 1.5)


@tn.tool
def table() -> dict[str, Any]:
    """A dict."""
    return {"rows": [1, 2], "name": "Zürich 那"}


@tn.tool
def fails() -> str:
    """Fails."""
    raise ValueError("no such station")


@tn.tool
def picture() -> tn.ToolResult:
    """A picture and more."""
    return tn.ToolResult(
        output="here it is",
        parts=[
            ResultPart("image", "image/png", data=PNG),
            ResultPart("audio", "audio/wav", data=b"RIFF"),
            ResultPart("resource", "text/csv", text="a,b", uri="file:///t.csv"),
            ResultPart("resource", "application/pdf", data=b"%PDF", uri="file:///t.pdf"),
            ResultPart("link", "text/html", uri="https://example.org/x", name="x"),
        ],
    )


@tn.tool
def steps(context: tn.ToolContext, count: int = 3) -> str:
    """Reports from a thread."""
    for i in range(count):
        context.report(i + 1, count, f"step {i + 1}")
    return "done"


@tn.tool
def words(context: tn.ToolContext) -> str:
    """Reports words only."""
    context.report(message="one")
    context.report(message="two")
    return "done"


TOOLS = [add, where, table, fails, picture, steps, words]


def talk(
    toolkit: tn.Toolkit,
    use: Callable[[Client], Awaitable[T]],
    mode: str = "auto",
    client: dict[str, Any] | None = None,
    **options: Any,
) -> T:
    """Connect the official client to the toolkit in this process and use it."""

    async def go() -> T:
        async with asyncio.timeout(20):
            async with Client(create_mcp_server(toolkit, **options), mode=mode, **(client or {})) as connected:
                return await use(connected)

    return asyncio.run(go())


def call(
    name: str, arguments: dict[str, Any] | None = None, mode: str = "auto", **options: Any
) -> types.CallToolResult:
    return talk(tn.Toolkit(TOOLS), lambda client: client.call_tool(name, arguments or {}), mode, **options)


ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])


@ERAS
def test_the_tools_are_listed_with_schemas_titles_and_hints(mode: str) -> None:
    listed = {tool.name: tool for tool in talk(tn.Toolkit(TOOLS), lambda client: client.list_tools(), mode).tools}
    assert list(listed) == [tool.name for tool in TOOLS]
    assert listed["add"].title == "Adder"
    assert listed["add"].description == "Add two numbers."
    assert listed["add"].input_schema["properties"]["a"]["description"] == "The first."
    assert listed["add"].input_schema["required"] == ["a", "b"]
    assert listed["add"].annotations is not None and listed["add"].annotations.read_only_hint is True
    assert "context" not in listed["steps"].input_schema["properties"]


@ERAS
def test_results_are_text_and_structure(mode: str) -> None:
    result = call("add", {"a": 2, "b": 3}, mode)
    assert not result.is_error
    assert [block.text for block in result.content] == ["5"]
    assert call("table", mode=mode).structured_content == {"rows": [1, 2], "name": "Zürich 那"}


def test_an_output_schema_is_kept_and_its_results_fit() -> None:
    typed = tn.native_tool(
        "typed",
        "T",
        {"type": "object", "properties": {"bad": {"type": "boolean"}}},
        lambda args: {"n": "x" if args.get("bad") else 1},
    )
    typed.output_schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    number = tn.native_tool("number", "N", {"type": "object", "properties": {}}, lambda args: 7)
    number.output_schema = {"type": "integer"}

    async def use(client: Client) -> list[Any]:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        return [
            listed["typed"].output_schema,
            listed["number"].output_schema,
            await client.call_tool("typed", {}),
            await client.call_tool("typed", {"bad": True}),
            await client.call_tool("number", {}),
        ]

    schema, wrapped, good, bad, seven = talk(tn.Toolkit([typed, number]), use)
    assert schema == typed.output_schema
    assert wrapped == {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}
    assert good.structured_content == {"n": 1}
    assert bad.is_error and "$.n" in bad.content[0].text
    assert seven.structured_content == {"result": 7}


@ERAS
def test_what_a_tool_did_wrong_is_a_result_and_what_does_not_exist_an_error(mode: str) -> None:
    failed = call("fails", mode=mode)
    assert failed.is_error and "no such station" in failed.content[0].text
    misfit = call("add", {"a": "x", "b": 1}, mode)
    assert misfit.is_error and "a" in misfit.content[0].text

    async def unknown(client: Client) -> MCPError:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("ad", {})
        return caught.value

    error = talk(tn.Toolkit(TOOLS), unknown, mode).error
    assert error.code == -32602 and "add" in error.message


def test_pictures_sounds_resources_and_links_are_blocks() -> None:
    text, image, audio, csv, pdf, link = call("picture").content
    assert text.text == "here it is"
    assert base64.b64decode(image.data) == PNG and image.mime_type == "image/png"
    assert base64.b64decode(audio.data) == b"RIFF"
    assert (csv.resource.text, csv.resource.mime_type) == ("a,b", "text/csv")
    assert base64.b64decode(pdf.resource.blob) == b"%PDF"
    assert (link.type, link.uri, link.name) == ("resource_link", "https://example.org/x", "x")


@ERAS
@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("steps", [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]),
        ("words", [(1, None, "one"), (2, None, "two")]),
    ],
)
def test_progress_arrives_before_the_result(mode: str, tool: str, expected: list[Any]) -> None:
    heard: list[Any] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async def use(client: Client) -> None:
        await client.call_tool(tool, {}, progress_callback=hear)
        await asyncio.sleep(0.05)  # the client runs callbacks as tasks of their own

    talk(tn.Toolkit(TOOLS), use, mode)
    assert sorted(heard) == expected


@ERAS
def test_a_cancelled_call_stops_its_tool(mode: str, waiting: Any) -> None:
    async def use(client: Client) -> Any:
        for name in ("sleeps", "blocks"):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await client.call_tool(name, {})
        assert await asyncio.to_thread(waiting.both_stopped)
        return await client.list_tools()

    assert len(talk(waiting.toolkit, use, mode).tools) == 2


def test_a_call_has_a_time() -> None:
    @tn.tool
    async def hang() -> str:
        """Never ends."""
        await asyncio.sleep(60)
        return ""

    result = talk(tn.Toolkit([hang]), lambda client: client.call_tool("hang", {}), seconds=0.1)
    assert result.is_error and "0.1 s" in result.content[0].text


def test_a_filter_hides_tools_and_refuses_their_calls() -> None:
    async def use(client: Client) -> list[str]:
        with pytest.raises(MCPError):
            await client.call_tool("fails", {})
        return [tool.name for tool in (await client.list_tools()).tools]

    assert talk(tn.Toolkit(TOOLS), use, keep=tools_by_name("add", "table")) == ["add", "table"]


def test_calls_are_told_to_whoever_watches() -> None:
    heard: list[Any] = []
    call("add", {"a": 1, "b": 2}, on_call=heard.append)
    call("fails", on_call=heard.append)
    assert [(one.tool, one.state, one.through) for one in heard] == [("add", "done", "mcp"), ("fails", "failed", "mcp")]


# --- approval ---------------------------------------------------------------------------------------------------------


def deleting() -> tuple[tn.Toolkit, list[int]]:
    deleted: list[int] = []

    @tn.tool(needs_approval=True)
    def delete(n: int) -> str:
        """Delete."""
        deleted.append(n)
        return "deleted"

    return tn.Toolkit([delete]), deleted


@ERAS
@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
def test_the_person_at_the_client_is_asked_for_approval(mode: str, action: Any) -> None:
    toolkit, deleted = deleting()
    questions: list[str] = []

    async def elicit(context: Any, params: Any) -> types.ElicitResult:
        questions.append(params.message)
        return types.ElicitResult(action=action, content={} if action == "accept" else None)

    result = talk(toolkit, lambda c: c.call_tool("delete", {"n": 4}), mode, client={"elicitation_callback": elicit})
    assert len(questions) == 1 and "delete(n=4)" in questions[0]
    assert deleted == ([4] if action == "accept" else [])
    assert result.is_error is (action != "accept")


@pytest.mark.parametrize(
    ("approve", "ran"), [("ask", False), ("deny", False), ("allow", True), (lambda n, a: True, True)]
)
def test_without_a_person_the_policy_decides(approve: Any, ran: bool) -> None:
    toolkit, deleted = deleting()
    result = talk(toolkit, lambda client: client.call_tool("delete", {"n": 4}), approve=approve)
    assert bool(deleted) is ran
    assert result.is_error is not ran


# --- a toolkit that changes -------------------------------------------------------------------------------------------


def test_a_changed_tool_is_served_and_older_clients_are_told() -> None:
    toolkit = tn.Toolkit([add])
    told = asyncio.Event()

    async def hear(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            told.set()

    async def use(client: Client) -> list[str]:
        assert client.server_capabilities.tools.list_changed is True
        await client.list_tools()
        toolkit.register(table)
        await asyncio.wait_for(told.wait(), 5)
        return [tool.name for tool in (await client.list_tools()).tools]

    assert talk(toolkit, use, "legacy", client={"message_handler": hear}) == ["add", "table"]
    assert toolkit._listeners == []


@pytest.mark.parametrize("over", ["memory", "http"])
def test_clients_of_the_newest_protocol_listen_for_changes(
    over: str, serving: Callable[..., str], scripted: Callable[..., Any]
) -> None:
    toolkit = tn.Toolkit([add])

    async def use(client: Client) -> list[str]:
        async with client.listen(tools_list_changed=True) as changes:
            toolkit.register(table)
            await anext(changes)
        return [tool.name for tool in (await client.list_tools()).tools]

    if over == "memory":
        names = talk(toolkit, use)
    else:
        names = over_http(serving(create_app(toolkit, scripted(lambda body, n: {"text": "x"}))) + "/mcp", use)
    assert names == ["add", "table"]


# --- another MCP server behind it -------------------------------------------------------------------------------------


def test_the_tools_of_other_mcp_servers_are_passed_on() -> None:
    from mcp.server import MCPServer

    inner = MCPServer("inner")

    @inner.tool()
    def twice(n: int) -> int:
        """Twice."""
        return 2 * n

    toolkit = tn.Toolkit([add])
    toolkit.add_mcp_sync("inner", server=inner)
    try:
        result = talk(toolkit, lambda client: client.call_tool("inner_twice", {"n": 21}))
        assert not result.is_error and "42" in result.content[0].text
        assert result.structured_content == {"result": 42}
    finally:
        toolkit.close_sync()


# --- over HTTP --------------------------------------------------------------------------------------------------------


@pytest.fixture
def address(serving: Callable[..., str], scripted: Callable[..., Any]) -> str:
    app = create_app(tn.Toolkit(TOOLS), scripted(lambda body, n: {"text": "x"}), limits=Limits(body_bytes=10_000))
    return serving(app) + "/mcp"


def over_http(address: str, use: Callable[[Client], Awaitable[T]], mode: str = "auto") -> T:
    async def go() -> T:
        async with asyncio.timeout(20):
            async with Client(address, mode=mode) as client:
                return await use(client)

    return asyncio.run(go())


@ERAS
def test_everything_works_over_streamable_http(address: str, mode: str) -> None:
    heard: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async def use(client: Client) -> list[Any]:
        many = await asyncio.gather(*(client.call_tool("add", {"a": i, "b": 1}) for i in range(20)))
        await client.call_tool("steps", {"count": 4}, progress_callback=hear)
        await asyncio.sleep(0.05)
        return [len((await client.list_tools()).tools), [result.content[0].text for result in many]]

    count, sums = over_http(address, use, mode)
    assert count == len(TOOLS)
    assert sums == [str(i + 1) for i in range(20)]
    assert sorted(heard) == [1, 2, 3, 4]


def test_a_foreign_page_and_a_large_body_are_refused(address: str) -> None:
    hello = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    accept = {"accept": "application/json, text/event-stream"}
    assert httpx.post(address, json=hello, headers={**accept, "origin": "https://evil.example"}).status_code == 403
    assert httpx.post(address, json=hello, headers={**accept, "host": "evil.example"}).status_code == 421
    large = {**hello, "params": {"x": "y" * 20_000}}
    assert httpx.post(address, json=large, headers=accept).status_code == 413


def test_a_browser_client_may_read_the_session_id(address: str) -> None:
    response = httpx.options(
        address, headers={"origin": "http://localhost:6274", "access-control-request-method": "POST"}
    )
    assert response.status_code == 204
    assert "mcp-session-id" in response.headers["access-control-allow-headers"]
    assert "mcp-session-id" in response.headers["access-control-expose-headers"]


def test_an_app_can_be_served_again_after_a_stop(scripted: Callable[..., Any], serving: Callable[..., str]) -> None:
    from toolnexus_nb.serve import Server

    server = Server(create_app(tn.Toolkit([add]), scripted(lambda body, n: {"text": "x"})))
    for _ in range(2):
        url = server.start()
        result = over_http(url + "/mcp", lambda client: client.call_tool("add", {"a": 1, "b": 2}))
        assert result.content[0].text == "3"
        server.stop()
        assert not server.running


def test_fastmcps_client_agrees(address: str) -> None:
    fastmcp = pytest.importorskip("fastmcp")

    async def go() -> tuple[list[str], Any]:
        async with fastmcp.Client(address) as client:
            return [tool.name for tool in await client.list_tools()], await client.call_tool("table", {})

    names, result = asyncio.run(go())
    assert names == [tool.name for tool in TOOLS]
    assert result.structured_content == {"rows": [1, 2], "name": "Zürich 那"}


NODE = """
const [folder, url] = process.argv.slice(2);
const sdk = (name) => import(`file://${folder}/@modelcontextprotocol/sdk/dist/esm/client/${name}.js`);
const { Client } = await sdk("index");
const { StreamableHTTPClientTransport } = await sdk("streamableHttp");
const client = new Client({ name: "node", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const tools = (await client.listTools()).tools.map((tool) => tool.name);
const sum = await client.callTool({ name: "add", arguments: { a: 2, b: 40 } });
const heard = [];
const onprogress = (report) => heard.push(report.progress);
await client.callTool({ name: "steps", arguments: { count: 3 } }, undefined, { onprogress });
const failed = await client.callTool({ name: "fails", arguments: {} });
const picture = await client.callTool({ name: "picture", arguments: {} });
const abort = new AbortController();
setTimeout(() => abort.abort(), 300);
const waiting = client.callTool({ name: "waits", arguments: {} }, undefined, { signal: abort.signal });
const aborted = await waiting.catch(() => "aborted");
const unknown = await client.callTool({ name: "nobody", arguments: {} }).catch((error) => error.code);
console.log(JSON.stringify({
  tools, sum: sum.content[0].text, heard, failed: failed.isError, kinds: picture.content.map((block) => block.type),
  aborted, unknown, server: client.getServerVersion().name,
}));
await client.close();
"""


def test_the_javascript_sdk_agrees(
    require: Callable[[str], Any], scripted: Callable[..., Any], serving: Callable[..., str], tmp_path: Path
) -> None:
    folder = require("node")
    stopped = threading.Event()

    @tn.tool
    async def waits() -> str:
        """Waits."""
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()
        return ""

    url = serving(create_app(tn.Toolkit([*TOOLS, waits]), scripted(lambda body, n: {"text": "x"}))) + "/mcp"
    (tmp_path / "client.mjs").write_text(NODE, encoding="utf-8")
    done = subprocess.run(
        ["node", "client.mjs", str(folder), url], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "tools": [*(tool.name for tool in TOOLS), "waits"],
        "sum": "42",
        "heard": [1, 2, 3],
        "failed": True,
        "kinds": ["text", "image", "audio", "resource", "resource", "resource_link"],
        "aborted": "aborted",
        "unknown": -32602,
        "server": "toolnexus_nb",
    }
    assert stopped.wait(2)
