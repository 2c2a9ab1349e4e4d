"""A conversation: it goes on, forks, goes back, is saved, and tells its story to whoever listens."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import datetime
import enum
import gc
import json
import os
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path
from typing import Any, TypedDict

import pydantic
import pytest

import toolnexus_nb as tn
from toolnexus_nb.openai.errors import BadRequestError
from toolnexus_nb.openai.types import ImageURL
from toolnexus_nb.rounds import events as ev
from toolnexus_nb.rounds.chat import Chat
from toolnexus_nb.rounds.client import Client

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class Place(TypedDict):
    city: str


class Dated(pydantic.BaseModel, strict=True):
    day: datetime.date


@tn.tool
def echo(n: int = 0) -> str:
    "Say it again."
    return f"n={n}"


def roles(body: dict[str, Any]) -> list[str]:
    return [message["role"] for message in body["messages"]]


# --- the conversation -------------------------------------------------------------------------------------------------


def test_the_second_question_carries_the_first(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse("a1"), wire.sse("a2"))
    chat = Chat(client, system="Be brief.")
    chat.ask_sync("q1")
    answer = chat.ask_sync("q2")
    assert [m["content"] for m in model.bodies[1]["messages"]] == ["Be brief.", "q1", "a1", "q2"]
    assert [m.content for m in answer.messages] == ["q2", "a2"]
    assert chat.usage.total_tokens == 30
    assert str(answer) == "a2"


def test_undo_takes_a_whole_turn_back(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse("a1"), wire.sse(calls=[("a", "echo", {"n": 1})]), wire.sse("a2"), wire.sse("a3"))
    chat = Chat(client, [echo])
    chat.ask_sync("q1")
    chat.ask_sync("q2")
    assert [message.role for message in chat.undo()] == ["user", "assistant", "tool", "assistant"]
    chat.ask_sync("q3")
    assert [m["content"] for m in model.bodies[3]["messages"]] == ["q1", "a1", "q3"]
    chat.reset()
    assert (chat.messages, chat.turns, chat.undo(), chat.usage.total_tokens, chat.last) == ([], [], [], 0, None)


def test_a_fork_goes_its_own_way(scripted: Any, wire: Any) -> None:
    client, _ = scripted(wire.sse("a"))
    chat = Chat(client, temperature=0)
    chat.ask_sync("q1")
    fork = chat.fork()
    fork.ask_sync("q2")
    assert (len(chat.messages), len(fork.messages)) == (2, 4)
    fork.messages[0].content = "changed"
    assert chat.messages[0].content == "q1"
    assert fork.params == {"temperature": 0}


def test_options_and_parameters_can_be_changed_for_one_question(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse("a"))
    chat = Chat(client, temperature=0, max_rounds=3)
    chat.ask_sync("q", temperature=1, max_rounds=1, model="other")
    chat.ask_sync("q")
    assert [(body["model"], body["temperature"]) for body in model.bodies] == [("other", 1), ("m", 0)]


def test_a_chat_without_a_client_rehearses(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Chat().client.label == "rehearsal"


def test_reprs_say_what_matters(scripted: Any, wire: Any) -> None:
    client, _ = scripted(wire.sse(calls=[("a", "echo", {"n": 1})]), wire.sse("done now"))
    chat = Chat(client, [echo])
    assert "1 tool" in repr(chat) and "0 messages" in repr(chat)
    told = chat.ask_sync("q").summary()
    assert "echo(n=1) -> n=1" in told and "done now" in told and "2 rounds" in told


# --- saving -----------------------------------------------------------------------------------------------------------


def test_saved_and_loaded_it_goes_on(scripted: Any, wire: Any, tmp_path: Path) -> None:
    client, model = scripted(wire.sse(calls=[("a", "echo", {"n": 1})]), wire.sse("a1 — naïve"), wire.sse("a2"))
    chat = Chat(client, [echo], system="Be brief.", temperature=0, max_rounds=4, handler=object.__new__(Silent))
    chat.ask_sync("q1")
    path = chat.save(tmp_path / "chat.json")
    data = json.loads(path.read_text(encoding="utf-8"))
    assert (data["format"], data["version"]) == ("toolnexus_nb chat", 1)
    assert "naïve" in path.read_text(encoding="utf-8")
    other = Chat.load(path, client, [echo])
    assert (other.system, other.params, other.options["max_rounds"]) == ("Be brief.", {"temperature": 0}, 4)
    assert other.usage.total_tokens == chat.usage.total_tokens
    assert other.last is not None and (other.last.text, other.last.status) == ("a1 — naïve", "done")
    other.ask_sync("q2")
    assert roles(model.bodies[2]) == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert [message.role for message in other.undo()] == ["user", "assistant"]


class Silent:
    def on_event(self, event: Any) -> None: ...


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"format": "toolnexus_nb chat", "version": 99}'])
def test_what_is_no_saved_chat_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"other\.json"):
        Chat.load(path)


def test_no_file_and_no_script_holds_the_key(endpoint: Any, wire: Any, tmp_path: Path) -> None:
    key = "sk-proj-Q7w8Zr0TnY2UxI4PkD"
    endpoint.acts = [wire.sse("ok")]
    chat = Chat(Client(f"{endpoint.url}?key={key}", "m", key, headers={"x-api-key": key}), extra_body={"k": key})
    chat.ask_sync("q")
    for text in (chat.save(tmp_path / "c.json").read_text(), chat.to_script(), repr(chat.last), repr(chat.last.wire())):
        assert not any(key[i : i + 6] in text for i in range(8, len(key) - 5)), text


# --- the script -------------------------------------------------------------------------------------------------------

RATE = 2
CURRENCIES = {"NOK": 10.0}


def _convert(amount: float) -> float:
    return round(amount * RATE * CURRENCIES["NOK"], 2)


@tn.tool
def price(amount: float) -> float:
    "A price in another currency."
    assert os.sep
    return _convert(amount)


def test_the_script_runs_the_same_rounds(endpoint: Any, wire: Any, tmp_path: Path) -> None:
    @tn.tool
    async def shout(text: str) -> str:
        "Shout."
        return text.upper()

    calls = [("a", "price", {"amount": 3}), ("b", "shout", {"text": "hey"}), ("c", "remote", {"x": 1})]
    remote = tn.native_tool("remote", "Elsewhere.", {"type": "object", "properties": {}}, lambda arguments: "there")
    endpoint.acts = [wire.sse(calls=calls), wire.sse("first"), wire.sse("second")]
    chat = Chat(Client(endpoint.url, "m"), [price, shout, remote], system="Be brief.", temperature=0)
    chat.ask_sync("one")
    chat.ask_sync("two")
    asked = list(endpoint.bodies)
    endpoint.seen.clear()
    endpoint.acts = [
        wire.Act([wire.whole(None, calls)]),
        wire.Act([wire.whole("first")]),
        wire.Act([wire.whole("second")]),
    ]
    script = tmp_path / "rounds.py"
    script.write_text(chat.to_script(), encoding="utf-8")
    assert "toolnexus" not in chat.to_script().split('"""')[2]
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "> one" and done.stdout.splitlines()[-1] == "second"
    assert len(endpoint.bodies) == 3
    for ours, theirs in zip(asked, endpoint.bodies, strict=True):
        assert ours["tools"] == theirs["tools"] and ours["temperature"] == theirs["temperature"]
        assert [m["role"] for m in ours["messages"]] == [m["role"] for m in theirs["messages"]]
    told = [m["content"] for m in endpoint.bodies[1]["messages"] if m["role"] == "tool"]
    assert told[:2] == ["60.0", "HEY"]


class Unit(enum.Enum):
    METRE = "m"


@dataclasses.dataclass
class Box:
    width: int
    height: int = 2


@tn.tool
def area(box: Box, unit: Unit = Unit.METRE) -> str:
    "Area of a box."
    return f"{box.width * box.height} square {unit.value}"


@tn.tool
def slowly(text: str, context: tn.ToolContext) -> str:
    "Say it slowly."
    context.report(1, 2, "half")
    return text


def lookup(arguments: dict[str, Any], context: Any) -> str:
    return f"{arguments['key']} {context.cancelled}"


def test_the_script_gives_tools_what_their_signatures_promise(endpoint: Any, wire: Any, tmp_path: Path) -> None:
    """A dataclass and an enum, a default by name, a context, and one dict of arguments for a native tool."""
    schema = {"type": "object", "properties": {"key": {"type": "string"}}}
    find = tn.native_tool("find", "Find it.", schema, lookup)
    calls = [("a", "area", {"box": {"width": 3}}), ("b", "slowly", {"text": "hi"}), ("c", "find", {"key": "k"})]
    endpoint.acts = [wire.sse(calls=calls), wire.sse("ok"), wire.Act([wire.whole(None, calls)]), [wire.whole("ok")]]
    chat = Chat(Client(endpoint.url, "m"), [area, slowly, find])
    here = [record.result.output for record in chat.ask_sync("one").calls]
    script = tmp_path / "rounds.py"
    script.write_text(chat.to_script(), encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert [m["content"] for m in endpoint.bodies[-1]["messages"] if m["role"] == "tool"] == here
    assert here == ["6 square m", "hi", "k False"]


# --- who listens ------------------------------------------------------------------------------------------------------


class Notebook:
    """Writes down what it is told, and where."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name, self.log = name, log

    def on_tool_call(self, tool_call: Any) -> None:
        self.log.append(f"{self.name} call {tool_call.name} {threading.current_thread().name}")

    def on_tool_result(self, tool_call_id: str, tool_name: str, result: str) -> None:
        self.log.append(f"{self.name} result {result}")


class Async(Notebook):
    async def on_tool_call(self, tool_call: Any) -> None:
        await asyncio.sleep(0.01)
        self.log.append(f"{self.name} call {tool_call.name}")


@pytest.mark.parametrize("form", ["blocking", "awaited", "worker"])
def test_handlers_are_told_in_order_on_the_thread_that_asked(scripted: Any, wire: Any, form: str) -> None:
    client, _ = scripted(wire.sse(calls=[("a", "echo", {"n": 1})]), wire.sse("ok"))
    log: list[str] = []
    chat = Chat(client, [echo], handler=Notebook("chat", log))
    undo = chat.add_handler(Notebook("added", log))
    with tn.with_tool_handler(Notebook("context", log)):
        if form == "awaited":
            asyncio.run(chat.ask("q", handler=Notebook("extra", log)))
        elif form == "blocking":
            chat.ask_sync("q", handler=Notebook("extra", log))
        else:
            context = __import__("contextvars").copy_context()
            ask = lambda: context.run(chat.ask_sync, "q", handler=Notebook("extra", log))
            thread = threading.Thread(target=ask, name="MyThread")
            thread.start()
            thread.join()
    thread_name = "MyThread" if form == "worker" else "MainThread"
    names = ["context", "chat", "added", "extra"]
    assert log == [f"{n} call echo {thread_name}" for n in names] + [f"{n} result n=1" for n in names]
    undo()
    undo()
    log.clear()
    chat.ask_sync("q")
    assert log == []


@pytest.mark.parametrize("form", ["blocking", "awaited"])
def test_an_async_handler_is_awaited_before_the_tool_runs(scripted: Any, wire: Any, form: str) -> None:
    log: list[str] = []

    @tn.tool
    def work() -> str:
        "T."
        log.append("runs")
        return "done"

    client, _ = scripted(wire.sse(calls=[("a", "work", {})]), wire.sse("ok"))
    chat = Chat(client, [work], handler=Async("h", log))
    chat.ask_sync("q") if form == "blocking" else asyncio.run(chat.ask("q"))
    assert log == ["h call work", "runs", "h result done"]


def test_a_handler_that_raises_is_noted_once_and_breaks_nothing(scripted: Any, wire: Any) -> None:
    heard: list[Any] = []

    class Broken:
        def on_event(self, event: Any) -> None:
            raise ZeroDivisionError("broken panel")

    class Whole:
        def on_event(self, event: Any) -> None:
            heard.append(event)

    client, _ = scripted(wire.sse(calls=[("a", "echo", {"n": 1})]), wire.sse("ok"))
    result = Chat(client, [echo], handler=Broken()).ask_sync("q", handler=Whole())
    assert result.text == "ok"
    assert [note for note in result.notes if "broken panel" in note and "Broken" in note] == result.notes
    assert sum(isinstance(event, ev.Note) for event in heard) == 1
    assert isinstance(heard[-1], ev.RunFinished)


def test_failures_go_to_on_tool_error_if_there_is_one(scripted: Any, wire: Any) -> None:
    log: list[str] = []

    class Errors(Notebook):
        def on_tool_error(self, tool_call_id: str, tool_name: str, error: str) -> None:
            self.log.append(f"error {tool_name}")

    client, _ = scripted(wire.sse(calls=[("a", "ghost", {})]), wire.sse("ok"))
    Chat(client, [echo], handler=Errors("h", log)).ask_sync("q", handler=Notebook("plain", log))
    assert log[2] == "error ghost" and log[3].startswith("plain result Unknown tool")


# --- hooks ------------------------------------------------------------------------------------------------------------


def test_hooks_see_and_change_and_go_away_again(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse(calls=[("a", "echo", {"n": 1})]), wire.sse("ok"))
    chat = Chat(client, [echo])
    log: list[str] = []

    async def before_call(call: Any) -> dict[str, Any]:
        log.append(threading.current_thread().name)
        return {"n": call.arguments["n"] + 10}

    undos = [
        chat.before_request(lambda body: {**body, "user": "hook"}),
        chat.after_response(lambda message: log.append(message.role)),
        chat.before_call(before_call),
        chat.after_call(lambda call, result: result.output + "!"),
    ]
    asyncio.run(chat.ask("q"))
    assert log == ["assistant", "MainThread", "assistant"]
    assert model.bodies[0]["user"] == "hook"
    assert model.bodies[1]["messages"][-1]["content"] == "n=11!"
    for undo in undos:
        undo()
    model.bodies.clear()
    chat.ask_sync("q")
    assert "user" not in model.bodies[0] and model.bodies[1]["messages"][-1]["content"] == "n=1"


def test_a_hook_may_answer_instead_of_the_tool(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse(calls=[("a", "echo", {"n": 1})]), wire.sse("ok"))
    chat = Chat(client, [echo])
    after: list[Any] = []
    chat.before_call(lambda call: "from the cache")
    chat.after_call(lambda call, result: after.append(call))
    chat.ask_sync("q")
    assert model.bodies[1]["messages"][-1]["content"] == "from the cache"
    assert after == []


def test_a_hook_that_raises_ends_the_run_in_order(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse(calls=[("a", "echo", {"n": 1}), ("b", "echo", {"n": 2})]), wire.sse("ok"))
    chat = Chat(client, [echo])
    undo = chat.after_call(lambda call, result: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        chat.ask_sync("q")
    undo()
    assert chat.last is not None and chat.last.status == "error"
    chat.ask_sync("again")
    wire.valid(model.bodies[1]["messages"])


def test_calls_that_were_never_begun_are_answered_all_the_same(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse(calls=[("a", "echo", {"n": 1}), ("b", "echo", {"n": 2})]), wire.sse("ok"))
    chat = Chat(client, [echo])
    undo = chat.after_response(lambda message: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        chat.ask_sync("q")
    undo()
    assert [message.role for message in chat.messages] == ["user", "assistant", "tool", "tool"]
    chat.ask_sync("again")
    wire.valid(model.bodies[1]["messages"])


# --- answers of a wanted shape ----------------------------------------------------------------------------------------


class City(pydantic.BaseModel):
    name: str
    people: int


def test_a_model_comes_back_validated(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse('{"name": "Oslo", "people": 700000}'))
    result = Chat(client).ask_sync("largest?", returns=City)
    assert result.value == City(name="Oslo", people=700000)
    asked = model.bodies[0]["response_format"]
    assert asked["type"] == "json_schema" and asked["json_schema"]["name"] == "City"
    assert set(asked["json_schema"]["schema"]["properties"]) == {"name", "people"}


@pytest.mark.parametrize(
    ("returns", "text", "value"),
    [
        (int, '{"value": 4}', 4),
        (list[str], '{"value": ["a", "b"]}', ["a", "b"]),
        (list[City], '```json\n{"value": [{"name": "Bergen", "people": 1}]}\n```', [City(name="Bergen", people=1)]),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        (bool | None, '{"value": null}', None),
    ],
)
def test_any_type_comes_back_validated(scripted: Any, wire: Any, returns: Any, text: str, value: Any) -> None:
    client, model = scripted(wire.sse(text))
    result = Chat(client).ask_sync("q", returns=returns)
    assert result.value == value and result.status == "done"
    assert model.bodies[0]["response_format"]["json_schema"]["schema"]["type"] == "object"


def test_one_answer_that_does_not_fit_is_complained_about(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse('{"name": "Oslo"}'), wire.sse('{"name": "Oslo", "people": 7}'))
    result = Chat(client).ask_sync("q", returns=City)
    assert result.value == City(name="Oslo", people=7)
    assert "people" in model.bodies[1]["messages"][-1]["content"]
    wire.valid(model.bodies[1]["messages"])


def test_two_answers_that_do_not_fit_are_incomplete(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse("I do not know"))
    result = Chat(client).ask_sync("q", returns=City)
    assert (result.status, result.limit, result.value, len(model.bodies)) == ("incomplete", "returns", None, 2)


def test_a_wanted_shape_and_tools_go_together(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse(calls=[("a", "echo", {"n": 1})]), wire.sse('{"value": 1}'))
    assert Chat(client, [echo]).ask_sync("q", returns=int).value == 1
    assert model.bodies[1]["messages"][-1]["content"] == "n=1"


def test_an_endpoint_without_response_format_is_given_a_forced_tool(scripted: Any, wire: Any) -> None:
    client, model = scripted(
        wire.error(400, "response_format is not supported"),
        wire.sse(calls=[("a", "final_answer", {"name": "Oslo"})]),
        wire.sse(calls=[("b", "final_answer", {"name": "Oslo", "people": 7})]),
        wire.sse("and on"),
    )
    chat = Chat(client)
    result = chat.ask_sync("q", returns=City)
    assert (result.status, result.value, result.rounds) == ("done", City(name="Oslo", people=7), 2)
    assert json.loads(result.text) == {"name": "Oslo", "people": 7}
    assert model.bodies[1]["tool_choice"]["function"]["name"] == "final_answer"
    assert chat.ask_sync("go on").text == "and on"
    wire.valid(model.bodies[3]["messages"])


def test_a_forced_tool_that_does_not_fit_twice_is_incomplete(scripted: Any, wire: Any) -> None:
    client, model = scripted(
        wire.error(400, "response_format is not supported"), wire.sse(calls=[("a", "final_answer", {"name": "Oslo"})])
    )
    chat = Chat(client)
    result = chat.ask_sync("q", returns=City)
    assert (result.status, result.limit, result.value, len(model.bodies)) == ("incomplete", "returns", None, 3)
    wire.valid([*(message.for_request() for message in chat.messages), {"role": "user", "content": "next"}])


# --- what a prompt may be ---------------------------------------------------------------------------------------------


def test_images_travel_inside_the_prompt(scripted: Any, wire: Any, tmp_path: Path) -> None:
    client, model = scripted(wire.sse("a dot"))
    path = tmp_path / "dot.png"
    path.write_bytes(PNG)
    (tmp_path / "notes.txt").write_text("some notes")

    class Drawn:
        def _repr_png_(self) -> bytes:
            return PNG

    Chat(client).ask_sync(
        ["What is this?", path, PNG, Drawn(), tmp_path / "notes.txt", {"type": "text", "text": "raw"}]
    )
    parts = model.bodies[0]["messages"][0]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url", "image_url", "image_url", "text", "text"]
    url = "data:image/png;base64," + base64.b64encode(PNG).decode()
    assert [part["image_url"]["url"] for part in parts[1:4]] == [url] * 3
    assert "some notes" in parts[4]["text"]


def test_a_pil_image_and_a_figure_are_images(scripted: Any, wire: Any) -> None:
    image = pytest.importorskip("PIL.Image").new("RGB", (2, 2))
    client, model = scripted(wire.sse("ok"))
    Chat(client).ask_sync(image)
    assert model.bodies[0]["messages"][0]["content"][0]["image_url"]["url"].startswith("data:image/png;base64,")


@pytest.mark.parametrize("prompt", [[], [object()], b"no image", {"role": "assistant", "content": "x"}])
def test_other_prompts_are_refused_before_anything_is_sent(scripted: Any, wire: Any, prompt: Any) -> None:
    client, model = scripted(wire.sse("ok"))
    with pytest.raises((TypeError, ValueError)):
        Chat(client).ask_sync(prompt)
    assert model.bodies == []


# --- guards -----------------------------------------------------------------------------------------------------------


def test_a_tool_that_says_too_much_is_cut_and_says_so(scripted: Any, wire: Any) -> None:
    @tn.tool
    def much() -> str:
        "T."
        return "start " + "x" * 100_000 + " end"

    client, model = scripted(wire.sse(calls=[("a", "much", {})]), wire.sse("ok"))
    Chat(client, [much], output_limit=1000).ask_sync("q")
    told = model.bodies[1]["messages"][-1]["content"]
    assert len(told) < 1200 and told.startswith("start") and told.endswith("end") and "characters left out" in told


def test_the_same_call_a_third_time_is_answered_with_a_hint(scripted: Any, wire: Any) -> None:
    ran: list[int] = []

    @tn.tool
    def same(n: int) -> str:
        "T."
        ran.append(n)
        return "always this"

    client, model = scripted(*[wire.sse(calls=[(f"c{i}", "same", {"n": 1})]) for i in range(3)], wire.sse("ok"))
    Chat(client, [same]).ask_sync("q")
    assert ran == [1, 1]
    assert "not run again" in model.bodies[3]["messages"][-1]["content"]


def test_dice_and_polling_are_no_loops(scripted: Any, wire: Any) -> None:
    state = iter(range(100))

    @tn.tool
    def poll() -> str:
        "T."
        return f"state {next(state)}"

    rounds = [wire.sse(calls=[(f"c{i}{k}", "poll", {}) for k in range(3)]) for i in range(4)]
    client, _ = scripted(*rounds, wire.sse("ok"))
    result = Chat(client, [poll]).ask_sync("q")
    assert [record.state for record in result.calls] == ["done"] * 12


# --- what went over the wire ------------------------------------------------------------------------------------------


def test_the_wire_is_kept_request_by_request(scripted: Any, wire: Any) -> None:
    client, _ = scripted(
        wire.error(429, "later", {"retry-after": "0"}), wire.sse(calls=[("a", "echo", {"n": 1})]), wire.sse("ok")
    )
    result = Chat(client, [echo]).ask_sync("q")
    exchanges = result.wire()
    assert [(e.status, e.attempt, e.round) for e in exchanges] == [(429, 1, 1), (200, 2, 1), (200, 1, 2)]
    assert exchanges[1].request.body["messages"][0]["content"] == "q"
    assert exchanges[1].body.endswith(wire.DONE)
    times = [at for at, _ in exchanges[1].chunks]
    assert times == sorted(times) and exchanges[1].first_byte == times[0]
    assert all(e.ended is not None for e in exchanges)


def test_many_questions_leave_nothing_behind(scripted: Any, wire: Any) -> None:
    def answer(body: dict[str, Any]) -> Any:
        return wire.sse("ok") if body["messages"][-1]["role"] == "tool" else wire.sse(calls=[("a", "echo", {"n": 1})])

    client, model = scripted(answer)
    chat = Chat(client, [echo])

    async def questions(count: int) -> int:
        for _ in range(count):
            await chat.ask("q")
            chat.undo()
            model.bodies.clear()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    before = asyncio.run(questions(30))
    after = asyncio.run(questions(120))
    tracemalloc.stop()
    assert after - before < 200_000


def test_a_failed_request_is_kept_with_its_error(scripted: Any, wire: Any) -> None:
    client, _ = scripted(wire.error(400, "nope"))
    chat = Chat(client)
    with pytest.raises(BadRequestError):
        chat.ask_sync("q")
    assert chat.last is not None
    [exchange] = chat.last.wire()
    assert exchange.status == 400 and b"nope" in exchange.body


@pytest.mark.asyncio
async def test_a_question_may_follow_directly_on_events_that_were_left(scripted: Any, wire: Any) -> None:
    client, model = scripted([*wire.sse("first")[:2], "hang"], wire.sse("second"))
    chat = Chat(client)
    events = chat.events("one")
    async for event in events:
        if isinstance(event, ev.TextDelta):
            break
    assert not chat.busy
    assert (await chat.ask("two")).text == "second"
    assert model.closed == 2
    assert [message.content for message in chat.messages] == ["two", "second"]


@pytest.mark.asyncio
async def test_events_that_were_left_can_be_undone(scripted: Any, wire: Any) -> None:
    client, _ = scripted(wire.sse("first"), [*wire.sse("second")[:2], "hang"])
    chat = Chat(client)
    await chat.ask("one")
    async for _ in chat.events("two"):
        break
    chat.undo()
    assert chat.messages == []


def test_a_fork_of_a_paused_chat_is_resumed_on_its_own(scripted: Any, wire: Any) -> None:
    @tn.tool(needs_approval=True)
    def remove(path: str) -> str:
        "Remove a file."
        return f"removed {path}"

    client, _ = scripted(wire.sse(calls=[("c1", "remove", {"path": "x"})]), wire.sse("done"))
    chat = Chat(client, [remove])
    assert chat.ask_sync("go").status == "paused"
    fork = chat.fork()
    assert fork.last is not None
    fork.last.resume_sync("allow")
    assert fork.messages[-1].content == "done"
    assert chat.last is not None and chat.last.status == "paused"
    fork = chat.fork()
    fork.ask_sync("something else")
    assert chat.resume_sync("allow").status == "done"


@pytest.mark.asyncio
async def test_a_resumption_that_is_stopped_at_once_leaves_the_pause_or_a_valid_end(scripted: Any, wire: Any) -> None:
    @tn.tool(needs_approval=True)
    def remove() -> str:
        "Remove all."
        return "removed"

    client, _ = scripted(wire.sse(calls=[("c1", "remove", {})]), wire.sse("done"))
    chat = Chat(client, [remove])
    await chat.ask("go")
    task = asyncio.create_task(chat.resume("allow"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    if chat.last.pending:  # stopped before the run had begun on its own thread
        assert (await chat.resume("allow")).text == "done"
    else:  # it had begun: its call is answered, and the conversation goes on
        assert chat.last.status == "stopped"
        assert [message.role for message in chat.messages][:3] == ["user", "assistant", "tool"]
        assert (await chat.ask("again")).text == "done"


@pytest.mark.parametrize("key", ["messages", "turns", "params", "options", "usage", "last"])
@pytest.mark.parametrize("damage", ["missing", "a number"])
def test_a_damaged_file_is_named(scripted: Any, wire: Any, tmp_path: Path, key: str, damage: str) -> None:
    client, _ = scripted(wire.sse("hi"))
    chat = Chat(client)
    chat.ask_sync("one")
    path = chat.save(tmp_path / "chat.json")
    data = json.loads(path.read_text())
    if damage == "missing":
        del data[key]
    else:
        data[key] = 5
    path.write_text(json.dumps(data))
    with pytest.raises(ValueError, match=r"chat\.json is a damaged chat"):
        Chat.load(path, client)


@pytest.mark.parametrize(
    ("wanted", "text", "value"),
    [
        (list[Dated], '{"value": [{"day": "2026-01-02"}]}', [Dated(day=datetime.date(2026, 1, 2))]),
        (Dated | None, '{"day": "2026-01-02"}', Dated(day=datetime.date(2026, 1, 2))),
        (Dated | None, '{"value": null}', None),
        (Place, '{"city": "Oslo"}', {"city": "Oslo"}),
    ],
)
def test_a_wanted_value_is_read_with_and_without_its_box(
    scripted: Any, wire: Any, wanted: Any, text: str, value: Any
) -> None:
    client, model = scripted(wire.sse(text))
    result = Chat(client).ask_sync("when?", returns=wanted)
    assert (result.status, result.value, len(model.bodies)) == ("done", value, 1)


def test_returns_that_is_no_type_is_refused_before_anything_is_asked(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse("5"))
    with pytest.raises(TypeError, match="returns= takes a type"):
        Chat(client).ask_sync("how many?", returns=5)
    assert model.bodies == []


def test_an_image_is_known_by_its_bytes_or_its_address(scripted: Any, wire: Any, tmp_path: Path) -> None:
    (tmp_path / "picture").write_bytes(b"\x89PNG\r\n\x1a\n")
    address = "https://example.org/cat.png"
    client, model = scripted(wire.sse("a cat"))
    Chat(client).ask_sync(["look", tmp_path / "picture", address, ImageURL(url=address)])
    text, *images = model.bodies[0]["messages"][0]["content"]
    assert text["type"] == "text"
    assert [image["image_url"]["url"][:22] for image in images] == ["data:image/png;base64,", *[address[:22]] * 2]


@pytest.mark.parametrize("prompt", ["", "  \n", []])
def test_an_empty_prompt_is_refused(scripted: Any, wire: Any, prompt: Any) -> None:
    client, model = scripted(wire.sse("?"))
    with pytest.raises(ValueError, match="the prompt is empty"):
        Chat(client).ask_sync(prompt)
    assert model.bodies == []


def test_messages_may_be_put_there_as_dicts(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse("Bob"))
    chat = Chat(client)
    chat.messages += [{"role": "user", "content": "I am Bob."}, {"role": "assistant", "content": "Hello."}]  # type: ignore[list-item]
    chat.ask_sync("Who am I?")
    assert roles(model.bodies[0]) == ["user", "assistant", "user"]
