"""What the rehearsal model sees in a prompt."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from toolnexus_nb.models.rehearsal.dates import in_format
from toolnexus_nb.models.rehearsal.reading import read
from toolnexus_nb.models.rehearsal.words import kinship, split_name, stem

TODAY = date(2026, 11, 30)  # a Monday


def found(text: str, *kinds: str) -> list[Any]:
    return [token.value for token in read(text, TODAY).of(*kinds)]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("17 plus 25", [17, 25]),
        ("17+25", [17, 25]),
        ("3.5 times -2", [3.5, -2]),
        ("5-3", [5, 3]),
        ("1,250.50 and 2 million", [1250.5, 2_000_000]),
        ("$1.2M and 5k", [1_200_000, 5000]),
        ("twenty-five, three hundred and five, a dozen", [25, 305, 12]),
        ("two point 4x4 B2B", [2]),
        ("this one and that one", []),
        ("minus 4 degrees", [-4]),
    ],
)
def test_numbers(text: str, numbers: list[float]) -> None:
    assert found(text, "number") == numbers


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-12-04", "2026-12-04"),
        ("on 3 January 2027", "2027-01-03"),
        ("January 3rd, 2027", "2027-01-03"),
        ("12/25/2026", "2026-12-25"),
        ("25.12.2026", "2026-12-25"),
        ("tomorrow", "2026-12-01"),
        ("the day after tomorrow", "2026-12-02"),
        ("next Friday", "2026-12-04"),
        ("in three days", "2026-12-03"),
        ("two weeks ago", "2026-11-16"),
        ("March 5", "2027-03-05"),
    ],
)
def test_days_are_given_as_iso(text: str, day: str) -> None:
    assert found(f"a table {text} please", "date") == [day]


def test_a_day_that_does_not_exist_is_no_day() -> None:
    assert found("on 2026-02-31", "date") == []


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("at 14:30", "14:30"),
        ("at 3pm", "15:00"),
        ("at 9:15 am", "09:15"),
        ("at noon", "12:00"),
        ("half past nine", "09:30"),
    ],
)
def test_times(text: str, time: str) -> None:
    assert found(text, "time") == [time]


def test_a_description_may_ask_for_another_form_of_day() -> None:
    assert in_format("2026-12-04", "The day as MM/DD/YYYY") == "12/04/2026"
    assert in_format("2026-12-04", "The day") == "2026-12-04"


def test_names_quotes_and_addresses() -> None:
    text = "Ask Ana Silva in New York about 'the big one' at ana@example.org, https://example.org/a and /tmp/a.txt"
    assert found(text, "name") == ["Ana Silva", "New York"]
    assert found(text, "quote") == ["the big one"]
    assert found(text, "email", "url", "path") == ["ana@example.org", "https://example.org/a", "/tmp/a.txt"]


def test_known_places_need_no_capital() -> None:
    assert found("weather in oslo", "name") == ["oslo"]


def test_the_first_word_of_a_sentence_is_no_name() -> None:
    assert found("Translate this. Heat the flat. Book a room", "name") == []


def test_an_apostrophe_opens_no_quote() -> None:
    assert found("What's it like at Anna's?", "quote") == []


def test_units_stand_with_their_numbers() -> None:
    assert [(t.value, t.unit) for t in read("5 km at 20% for 3 nights and $30", TODAY).of("number")] == [
        (5, "kilometer"),
        (20, "percent"),
        (3, "night"),
        (30, "dollar"),
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [("calculating", "calculation"), ("cities", "city"), ("flights", "flight"), ("capitals", "capital")],
)
def test_forms_of_a_word_share_a_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


def test_near_words_are_kin() -> None:
    assert kinship(stem("rain"), stem("weather")) > 0.5
    assert kinship(stem("rain"), stem("multiply")) == 0


def test_identifiers_fall_into_words() -> None:
    assert split_name("getWeather_by-cityName2") == ["get", "weather", "by", "city", "name", "2"]


@pytest.mark.parametrize(
    "text",
    ["", "   ", "?!", "\ud800", "{}[]()", "'", '"' * 7, "a" * 20_000, "1" * 400, "[[[[[" * 50, "2026-99-99 25:99"],
)
def test_any_text_can_be_read(text: str) -> None:
    read(text, TODAY)


def test_a_house_number_belongs_to_its_street() -> None:
    assert found("12 Main Street, Springfield 90210", "name") == ["12 Main Street", "Springfield"]


def test_owner_and_name_are_one_word_and_two_choices_are_not() -> None:
    assert found("stars of octo/hello and this and/or that", "path") == ["octo/hello"]
