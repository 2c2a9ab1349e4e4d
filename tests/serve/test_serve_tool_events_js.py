"""The page's reader of tool events gives the same items however the network cuts the stream."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

READER = files("toolnexus_nb.serve").joinpath("page", "tool-events.js")

START = {
    "tool_call_id": "call_1",
    "tool_name": "get_weather",
    "status": "running",
    "arguments": {"city": "Zürich 那 🌦"},
}
PROGRESS = {"tool_call_id": "call_1", "tool_name": "get_weather", "status": "running", "progress": 1, "total": 3}
END = {"tool_call_id": "call_1", "tool_name": "get_weather", "status": "complete", "result": "sonnig ☀ 那\n2. Zeile"}
CHUNK = {
    "id": "c",
    "choices": [{"index": 0, "delta": {"content": 'see ":tool_start:{}" 日本 🎉'}, "finish_reason": None}],
}
LINES = [
    ":tool_start:" + json.dumps(START, ensure_ascii=False),
    "data: " + json.dumps(CHUNK, ensure_ascii=False),
    ": ping",
    ":",
    ":tool_progress:" + json.dumps(PROGRESS),
    ":tool_end:" + json.dumps(END, ensure_ascii=False),
    ":tool_end:{broken",
    "event: message",
    "data: not json",
    "data: [DONE]",
]
EXPECTED = [
    {"kind": "tool", "type": "tool_start", "event": START},
    {"kind": "chunk", "chunk": CHUNK},
    {"kind": "tool", "type": "tool_progress", "event": PROGRESS},
    {"kind": "tool", "type": "tool_end", "event": END},
    {"kind": "done"},
]

SCRIPT = """
import { readToolEvents } from "./tool-events.mjs";
import { readFileSync } from "node:fs";
const text = readFileSync(0, "utf-8");
const answers = [];
for (const pieces of JSON.parse(text)) {
  const items = [];
  const bytes = pieces.map((piece) => Uint8Array.from(Buffer.from(piece, "base64")));
  const stream = new ReadableStream({ start(c) { for (const piece of bytes) c.enqueue(piece); c.close(); } });
  for await (const item of readToolEvents(stream)) items.push(item);
  answers.push(items);
}
console.log(JSON.stringify(answers));
"""


def pieces(raw: bytes, size: int) -> list[bytes]:
    return [raw[i : i + size] for i in range(0, len(raw), size)]


def stream(line_end: str) -> bytes:
    return "".join(line + line_end + line_end for line in LINES).encode()


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory, require: Any) -> Any:
    node = shutil.which("node")
    if node is None:
        require("node")
    folder = tmp_path_factory.mktemp("js")
    (folder / "tool-events.mjs").write_text(READER.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "run.mjs").write_text(SCRIPT, encoding="utf-8")

    def run(streams: list[list[bytes]]) -> list[list[dict[str, Any]]]:
        given = json.dumps([[base64.b64encode(piece).decode() for piece in stream] for stream in streams])
        done = subprocess.run(
            [str(node), "run.mjs"], cwd=folder, input=given, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return list(json.loads(done.stdout))

    return run


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
def test_every_size_of_piece_gives_the_same_items(read: Any, line_end: str) -> None:
    raw = stream(line_end)
    for items in read([pieces(raw, size) for size in (*range(1, 12), 64, 1000, len(raw))]):
        assert items == EXPECTED


def test_every_single_cut_gives_the_same_items(read: Any) -> None:
    raw = stream("\r\n")
    for items in read([[raw[:cut], raw[cut:]] for cut in range(1, len(raw))]):
        assert items == EXPECTED


def test_a_last_line_without_its_end_is_read(read: Any) -> None:
    assert read([[b":tool_end:" + json.dumps(END).encode()]]) == [[EXPECTED[3]]]
    assert read([[b"data: [DONE]"]]) == [[{"kind": "done"}]]


def test_an_error_event_is_told_apart_from_a_chunk(read: Any) -> None:
    (items,) = read([[b'data: {"error":{"message":"boom","code":"x"}}\n\n', b'data: {"error":"plain"}\n\n']])
    assert items == [
        {"kind": "error", "error": {"message": "boom", "code": "x"}},
        {"kind": "error", "error": {"message": "plain"}},
    ]


def test_a_data_field_over_several_lines_is_one_value(read: Any) -> None:
    assert read([[b'data: {"id":\ndata: "c"}\n\n']]) == [[{"kind": "chunk", "chunk": {"id": "c"}}]]


def test_a_byte_order_mark_and_empty_input_give_nothing(read: Any) -> None:
    assert read([[], [b""], [b"\xef\xbb\xbf: ping\n\n"]]) == [[], [], []]


def test_the_reader_in_python_agrees(read: Any) -> None:
    from toolnexus_nb.openai import parse_tool_events

    known = [line for line in LINES if "tool_progress" not in line and "not json" not in line]
    raw = "".join(line + "\n\n" for line in known).encode()
    (items,) = read([pieces(raw, 7)])
    ours = [
        {"kind": "chunk", "id": item.id}
        if hasattr(item, "choices")
        else {"kind": "tool", "id": item.tool_call_id, "status": item.status}
        for item in parse_tool_events(pieces(raw, 7))
    ]
    theirs = [
        {"kind": "chunk", "id": item["chunk"]["id"]}
        if item["kind"] == "chunk"
        else {"kind": "tool", "id": item["event"]["tool_call_id"], "status": item["event"]["status"]}
        for item in items
        if item["kind"] != "done"
    ]
    assert ours == theirs


def test_it_is_a_module_without_imports() -> None:
    text = Path(str(READER)).read_text(encoding="utf-8")
    assert "import " not in text.replace("//   import ", "") and "http" not in text
