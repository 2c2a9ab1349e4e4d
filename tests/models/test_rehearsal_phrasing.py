"""Answers read like sentences whatever the tool is, and hold every result word for word."""

from __future__ import annotations

from typing import Any

import pytest

from toolnexus_nb.models.rehearsal.conversation import Call
from toolnexus_nb.models.rehearsal.offers import Offer, read_parameter
from toolnexus_nb.models.rehearsal.phrasing import told


def _told(name: str, arguments: dict[str, Any], result: str, description: str = "") -> str:
    kinds = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array"}
    parameters = tuple(
        read_parameter(key, {"type": kinds[type(value)]}, required=True, root={}) for key, value in arguments.items()
    )
    return told(Call(name, arguments, "1", result), Offer(name, description, parameters))


@pytest.mark.parametrize(
    ("name", "arguments", "result", "sentence"),
    [
        ("get_weather", {"city": "Oslo"}, "4 °C, snow", "The weather in Oslo: 4 °C, snow"),
        ("getWeather", {"city": "Oslo"}, "sunny", "The weather in Oslo is sunny."),
        ("add", {"a": 17, "b": 25}, "42", "17 plus 25 is 42."),
        ("subtract_numbers", {"a": 9, "b": 2.5}, "6.5", "9 minus 2.5 is 6.5."),
        ("double", {"number": 21}, "42", "Doubling 21 gives 42."),
        ("capital_of", {"country": "Peru"}, "Lima", "The capital of Peru is Lima."),
        ("distance_between", {"start": "Rome", "end": "Oslo"}, "2000", "The distance between Rome and Oslo is 2000."),
        ("mean", {"numbers": [1, 2, 6]}, "3.0", "The mean of 1, 2 and 6 is 3."),
        ("rectangle_area", {"width": 4, "height": 6}, "24", "The rectangle area (width 4, height 6) is 24."),
        ("is_prime", {"n": 97}, "true", "Is 97 prime? Yes (true)."),
        (
            "convert_length",
            {"value": 6, "from_unit": "ft", "to_unit": "cm"},
            "182.88",
            "Converting 6 from ft to cm gives 182.88.",
        ),
        (
            "find_hotels",
            {"city": "Kyoto", "nights": 4},
            '["A", "B"]',
            "The hotels in Kyoto (4 nights), 2 items: A, B",
        ),
        ("list_events", {"day": "2027-03-03"}, '["stand-up"]', "The events on 2027-03-03, 1 item: stand-up"),
        ("to_upper", {"text": "hi"}, "HI", 'to_upper("hi"): HI'),
        ("flip_coin", {}, "heads", "Flipping coin: heads"),
        ("read_file", {"path": "a.txt"}, "hello world", "The file a.txt: hello world"),
        ("library_find_author", {"title": "Emma"}, "Jane Austen", 'The author of "Emma" is Jane Austen.'),
        ("send_email", {"to": "a@b.org", "subject": "Hi"}, "sent", 'Sending email to a@b.org (subject "Hi"): sent'),
        ("search_books", {"query": "art"}, "[]", 'Searching books for "art": nothing, an empty list.'),
        ("x", {}, "", "x was called and gave nothing back."),
    ],
)
def test_a_call_and_its_result_are_one_sentence(name: str, arguments: Any, result: str, sentence: str) -> None:
    assert _told(name, arguments, result) == sentence


def test_the_description_tells_a_verb_from_a_thing() -> None:
    assert _told("knit", {"item": "sock"}, "1", "Knit a sock.").startswith("Knitting")
    assert _told("yarn", {"item": "sock"}, "1", "Yarn for a sock.").startswith("The yarn")


def test_an_error_is_told_as_one_with_the_call_as_it_was() -> None:
    said = _told("get_weather", {"city": "Atlantis"}, "Error: no such\n city")
    assert said == 'get_weather("Atlantis") failed: Error: no such city'


@pytest.mark.parametrize("result", ["line one\nline two", "¡olé!", "x" * 500, "a. b! c?", "-0.001", "1e-12"])
def test_results_are_told_word_for_word(result: str) -> None:
    assert result in _told("fetch_page", {"url": "https://example.org"}, result)


@pytest.mark.parametrize("name", ["", "_", "7", "math.factorial", "get", "数える", "of", "is", "do_it_now", "is_"])
def test_odd_names_are_no_trouble(name: str) -> None:
    assert "42" in _told(name, {"a_": 1, "": "b", "of": True}, "42")
    assert "42" in told(Call(name, {"a": {"b": [1]}}, "1", "42"))
