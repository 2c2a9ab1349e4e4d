"""The exam in prompts/exam, written by somebody who had not read the planner; odd conversations are held out."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import toolnexus_nb as tn

EXAM = Path(__file__).parent / "prompts" / "exam" / "exam.py"


@pytest.fixture(scope="module")
def exam() -> ModuleType:
    spec = importlib.util.spec_from_file_location("rehearsal_exam", EXAM)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["rehearsal_exam"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def sets(exam: ModuleType) -> dict[str, list[Any]]:
    return exam.tool_sets()


@pytest.fixture(scope="module")
def marks(exam: ModuleType, sets: dict[str, list[Any]]) -> list[Any]:
    return [exam.examine(conversation, sets) for conversation in exam.conversations()]


@pytest.mark.parametrize(("half", "right", "wrong_calls"), [(0, 0.95, 0), (1, 0.9, 3)], ids=["even", "held out"])
def test_the_exam_is_passed(exam: ModuleType, marks: list[Any], half: int, right: float, wrong_calls: int) -> None:
    scores = exam.scores([mark for mark in marks if mark.conversation.number % 2 == half])
    assert scores["right"] >= right * scores["conversations"], scores
    assert scores["wrong calls"] <= wrong_calls, scores


@pytest.fixture
def ask(sets: dict[str, list[Any]]) -> Any:
    def asked(tools: str, *prompts: str) -> list[tuple[str, dict[str, Any]]]:
        chat = tn.Chat(tn.connect("rehearsal"), tn.Toolkit(sets[tools]))
        result = [chat.ask_sync(prompt) for prompt in prompts][-1]
        return [(record.call.function.name, dict(record.call.arguments)) for record in result.calls]

    return asked


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("2 plus 3 plus 4", "5 plus 4 is 9."),
        ("(2+3)*10", "5 times 10 is 50."),
        ("What is 2 + 3 * 10?", "2 plus 30 is 32."),
        ("10 - 3 - 2", "7 minus 2 is 5."),
        ("2 * (3 + 4) / 7", "14 divided by 7 is 2."),
        ("8 divided by 2 plus 3", "4 plus 3 is 7."),
        ("Add 1, 2 and 3", "3 plus 3 is 6."),
        ("What is the sum of 4, 5, 6 and 7?", "15 plus 7 is 22."),
        ("add 2 and 3, then add 10 to the result", "10 plus 5 is 15."),
        ("take 10, add 5, then multiply by 3", "15 times 3 is 45."),
        ("divide 100 by 4, then by 5", "25 divided by 5 is 5."),
    ],
)
def test_a_sum_is_reckoned_step_by_step(sets: dict[str, list[Any]], prompt: str, answer: str) -> None:
    result = tn.Chat(tn.connect("rehearsal"), tn.Toolkit(sets["calculator"])).ask_sync(prompt)
    assert (result.text or "").splitlines()[-1].endswith(answer), result.text


def test_a_sum_goes_on_in_the_next_question(ask: Any) -> None:
    assert ask("calculator", "add 3 and 4", "multiply it by 2", "and subtract 1") == [("subtract", {"a": 14, "b": 1})]


def test_things_keep_their_numbers(ask: Any) -> None:
    assert ask("shop", "order 2 apples and 3 pears") == [
        ("order", {"item": "apples", "quantity": 2}),
        ("order", {"item": "pears", "quantity": 3}),
    ]


def test_a_row_of_short_texts_is_a_call_for_each(ask: Any) -> None:
    made = ask("todo", "add milk, eggs and bread to my todo list")
    assert [(name, arguments["text"]) for name, arguments in made] == [
        ("add_task", "milk"),
        ("add_task", "eggs"),
        ("add_task", "bread"),
    ]


def test_each_of_several_inner_calls_has_its_outer_one(ask: Any) -> None:
    made = ask("lesson", "What's the weather like in the capitals of France and Spain?")
    assert [name for name, _ in made] == ["capital_of", "capital_of", "get_weather", "get_weather"]


def test_a_text_after_a_colon_is_taken_whole(ask: Any) -> None:
    text = "the sun is shining, and it is warm."
    assert ask("lesson", f"How many words are in the sentence: {text}") == [("count_words", {"text": text})]


def test_no_part_of_a_sum_is_reckoned_when_a_tool_is_missing(ask: Any) -> None:
    assert ask("lesson", "What is 8 divided by 2 plus 3?") == []


def test_what_is_listed_before_the_next_request_belongs_to_the_first(ask: Any) -> None:
    made = ask("lesson", "Weather in Oslo and Rome, and 2 plus 2")
    assert [name for name, _ in made] == ["get_weather", "get_weather", "add"]
    assert [arguments.get("city") for _, arguments in made[:2]] == ["Oslo", "Rome"]


@pytest.mark.parametrize("word", ["wether", "weathr", "waether", "wheather"])
def test_a_small_slip_is_read_as_it_was_meant(ask: Any, word: str) -> None:
    assert ask("lesson", f"What is the {word} in Oslo?") == [("get_weather", {"city": "Oslo"})]


@pytest.mark.parametrize("prompt", ["Tell me whether Oslo is nice", "How is leather made in Oslo?"])
def test_another_word_is_no_slip(ask: Any, prompt: str) -> None:
    assert ask("lesson", prompt) == []


@pytest.mark.parametrize(
    ("tools", "prompt"),
    [
        ("shop", "List the books in alphabetical order"),
        ("shop", "My order has arrived"),
        ("calendar", "When was the meeting of the popes?"),
        ("calculator", "5 squared"),
        ("music", "What does pause mean?"),
        ("geometry", "What is the perimeter of a circle with radius 3?"),
        ("toys", "What is a coin worth?"),
        ("home", "Who knocked on the front door?"),
        ("one", "He fell twice on 21 May"),
        ("files", "Delete notes.txt"),
    ],
)
def test_what_only_sounds_like_a_tool_gets_no_call(ask: Any, tools: str, prompt: str) -> None:
    assert ask(tools, prompt) == []
