"""A server that speaks MCP in plain JSON lines, with no SDK: it starts at once and can misbehave as told.

python raw.py                      well-behaved, with the tools below
python raw.py --mute               reads and never answers
python raw.py --exit 3             ends at once
python raw.py --garbage            answers with lines that are no messages
python raw.py --pages / --circle   two pages of tools / a page that names itself as the next
python raw.py --deaf               ignores the end of its stdin, and SIGTERM
python raw.py --child              starts a process of its own, which it never ends
python raw.py --old                ends on any first message but `initialize`
python raw.py --slow-list          never answers tools/list
python raw.py --no-tools           knows no tools/list at all
python raw.py --hang-up            closes its stdout and lives on
python raw.py --restless           says after each tools/list that its list changed
python raw.py --flood TEXT         writes TEXT to stdout again and again
--stderr TEXT                      first writes TEXT to stderr
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time

options = argparse.ArgumentParser()
for flag in (
    "mute",
    "garbage",
    "pages",
    "circle",
    "deaf",
    "child",
    "old",
    "slow-list",
    "no-tools",
    "hang-up",
    "restless",
):
    options.add_argument(f"--{flag}", action="store_true")
options.add_argument("--exit", type=int)
options.add_argument("--stderr", default="")
options.add_argument("--flood")
args = options.parse_args()

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
NOTHING = {"type": "object", "properties": {}}
lock = threading.Lock()
stopped: dict[object, threading.Event] = {}
extra: list[dict] = []
answered = threading.Event()
answers: list[dict] = []
listed = 0


def send(**message):
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def note(text):
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def tool(name, schema=None, **more):
    return {"name": name, "description": f"Does {name}.", "inputSchema": schema or NOTHING, **more}


def text(*lines, **more):
    return {"content": [{"type": "text", "text": line} for line in lines], **more}


TOOLS = [
    tool("echo", {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}),
    tool("environment"),
    tool("where"),
    tool("slow", {"type": "object", "properties": {"seconds": {"type": "number"}}}),
    tool("die", {"type": "object", "properties": {"code": {"type": "integer"}}}),
    tool("big", {"type": "object", "properties": {"bytes": {"type": "integer"}}}),
    tool("blocks"),
    tool("structured"),
    tool("lie", outputSchema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
    tool("fail"),
    tool("fail_silently"),
    tool("wipe", annotations={"destructiveHint": True, "readOnlyHint": False}),
    tool("look", annotations={"readOnlyHint": True, "destructiveHint": True}),
    tool("change"),
    tool("say"),
    tool("ask"),
    tool("chatter"),
    tool(
        "odd",
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "properties": {
                "tree": {"$ref": "#/$defs/Node"},
                "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            },
            "$defs": {
                "Node": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}
            },
            "additionalProperties": True,
        },
    ),
    tool("dotted.name"),
    tool("dotted_name"),
]


def call(name, given, request):
    if name == "echo":
        return text(given["text"])
    if name == "environment":
        return text(json.dumps(dict(os.environ)))
    if name == "where":
        return text(json.dumps({"cwd": os.path.realpath("."), "pid": os.getpid()}))
    if name == "slow":
        if stopped[request].wait(given.get("seconds", 60)):
            note(f"cancelled {name}")
            return None
        return text("slept")
    if name == "die":
        note("I am going")
        os._exit(given.get("code", 3))
    if name == "big":
        return text("x" * given["bytes"])
    if name == "blocks":
        return {
            "content": [
                {"type": "text", "text": "see"},
                {"type": "image", "data": PNG, "mimeType": "image/png"},
                {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
                {"type": "resource_link", "uri": "file:///notes.md", "name": "notes", "mimeType": "text/markdown"},
                {"type": "resource", "resource": {"uri": "mem://1", "mimeType": "text/plain", "text": "inside"}},
                {"type": "resource", "resource": {"uri": "mem://2", "mimeType": "application/zip", "blob": "UEs="}},
            ]
        }
    if name == "structured":
        return {"content": [], "structuredContent": {"b": 1, "a": "é"}}
    if name == "lie":
        return text("lied", structuredContent={"n": "not a number"})
    if name == "fail":
        return text("bad1", "", "bad2", isError=True)
    if name == "fail_silently":
        return {"content": [], "isError": True}
    if name == "change":
        extra[:] = [tool("late")] if not extra else []
        TOOLS[:] = [one for one in TOOLS if one["name"] != "look"]
        for _ in range(5):
            send(method="notifications/tools/list_changed")
        return text("changed")
    if name == "late":
        return text("better than never")
    if name == "say":
        send(method="notifications/message", params={"level": "warning", "logger": "raw", "data": "watch out"})
        return text("said")
    if name == "chatter":
        print("debugging here", flush=True)
        note("n" * 3_000_000)
        return text("chattered")
    if name == "ask":
        wanted = {"type": "object", "properties": {"colour": {"type": "string", "default": "red"}}}
        send(id="q", method="elicitation/create", params={"message": "Which colour?", "requestedSchema": wanted})
        answered.wait(60)
        return text(json.dumps(answers))
    if name == "lists":
        return text(str(listed))
    if name in ("wipe", "look", "odd", "dotted.name", "dotted_name"):
        return text(name)
    return text(f"no tool {name}", isError=True)


def listing(params):
    global listed
    listed += 1
    if args.circle:
        return {"tools": [tool("again")], "nextCursor": "me"}
    if args.pages:
        return {"tools": [tool("omega")]} if params.get("cursor") else {"tools": [tool("alpha")], "nextCursor": "2"}
    return {"tools": TOOLS + extra}


def answer(message):
    request, method, params = message["id"], message.get("method"), message.get("params") or {}
    if method == "initialize":
        about = {"protocolVersion": params["protocolVersion"], "serverInfo": {"name": "raw", "version": "1"}}
        send(id=request, result={**about, "capabilities": {"tools": {"listChanged": True}}, "instructions": "Be kind."})
    elif method == "tools/list" and args.slow_list:
        return
    elif method == "tools/list" and not args.no_tools:
        send(id=request, result=listing(params))
        if args.restless:
            send(method="notifications/tools/list_changed")
    elif method == "tools/call" and params["name"] == "busy":
        send(id=request, error={"code": -32000, "message": "try later"})
    elif method == "tools/call":
        result = call(params["name"], params.get("arguments") or {}, request)
        if result is not None:
            send(id=request, result=result)
    else:
        send(id=request, error={"code": -32601, "message": "Method not found"})


if args.stderr:
    note(args.stderr)
if args.exit is not None:
    sys.exit(args.exit)
if args.hang_up:
    os.close(1)
while args.flood is not None:
    os.write(1, args.flood.encode() * 10_000)
if args.deaf:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if args.child:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], stdin=subprocess.DEVNULL)
first = True
for line in sys.stdin:
    message = json.loads(line)
    if args.old and first and message.get("method") != "initialize":
        note("expected initialize")
        sys.exit(1)
    first = False
    if args.mute:
        continue
    if args.garbage:
        print("Welcome to the server!", flush=True)
        continue
    if message.get("method") == "notifications/cancelled":
        event = stopped.get(message["params"]["requestId"])
        if event is not None:
            event.set()
    elif message.get("id") == "q":
        answers.append(message.get("result") or message.get("error"))
        answered.set()
    elif "id" in message and "method" in message:
        stopped[message["id"]] = threading.Event()
        threading.Thread(target=answer, args=(message,), daemon=True).start()
while args.deaf:
    time.sleep(1)
