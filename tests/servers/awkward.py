"""A server on the SDK (mcp 2), for what only the SDK's own servers do: progress, questions, newer change notices.

python awkward.py                 stdio
python awkward.py http PORT       Streamable HTTP at 127.0.0.1:PORT/mcp
python awkward.py sse PORT        the older HTTP with events at 127.0.0.1:PORT/sse
"""

import asyncio
import os
import sys
from typing import Annotated

from mcp import MCPError
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Elicit, ElicitationResult, Resolve
from pydantic import BaseModel

server = MCPServer("awkward", version="1.0", instructions="Tools that exercise a client.")
seen: list[str] = []


class Node(BaseModel):
    name: str
    children: list["Node"] = []


class Confirm(BaseModel):
    ok: bool = True


class Login(BaseModel):
    user: str = "me"
    password: str = "x"


async def ask(path: str) -> Elicit[Confirm]:
    return Elicit(f"Delete {path}?", Confirm)


async def ask_password() -> Elicit[Login]:
    return Elicit("Who are you?", Login)


@server.tool()
def add(a: int, b: int) -> int:
    "Add two integers."
    return a + b


@server.tool()
def tree(root: Node) -> int:
    "A recursive argument."
    return 1 + sum(tree(child) for child in root.children)


@server.tool()
async def slow(ctx: Context, n: int = 3, delay: float = 0.05) -> str:
    "Reports progress n times; can be cancelled."
    try:
        for step in range(n):
            await asyncio.sleep(delay)
            await ctx.report_progress(step + 1, n, f"step {step + 1}")
    except asyncio.CancelledError:
        seen.append("cancelled")
        raise
    return "done"


@server.tool()
def refuse() -> str:
    "Answers with a JSON-RPC error instead of a result."
    raise MCPError(-32602, "request refused", {"why": "demo"})


@server.tool()
def delete(path: str, answer: Annotated[ElicitationResult[Confirm], Resolve(ask)]) -> str:
    "Asks first."
    return f"{answer.action}:{getattr(getattr(answer, 'data', None), 'ok', None)}"


@server.tool()
def log_in(answer: Annotated[ElicitationResult[Login], Resolve(ask_password)]) -> str:
    "Asks for what no form should ask."
    return str(answer.action)


@server.tool()
async def grow(ctx: Context) -> str:
    "Brings a tool more, and says so."

    def late(x: int) -> int:
        "Came later."
        return x

    server.add_tool(late)
    await ctx.notify_tools_changed()
    return "grown"


@server.tool()
def crash() -> str:
    "Ends the process."
    os._exit(3)


@server.resource("notes://today")
def today() -> str:
    "What happened."
    return "rain"


@server.resource("notes://{day}")
def note(day: str) -> str:
    return f"note of {day}"


@server.prompt()
def greet(name: str) -> str:
    "Greet someone."
    return f"Say hello to {name}."


if __name__ == "__main__":
    kind = sys.argv[1] if len(sys.argv) > 1 else "stdio"
    if kind == "stdio":
        server.run()
    else:
        server.run({"http": "streamable-http", "sse": "sse"}[kind], host="127.0.0.1", port=int(sys.argv[2]))
