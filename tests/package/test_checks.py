"""Exercise checks: what passes, what is said when something differs, and hints in steps."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

import toolnexus_nb as tn
from toolnexus_nb import checks
from toolnexus_nb.checks import CheckFailed, expect, expect_calls, expect_no_findings


@tn.tool
def get_weather(city: str) -> str:
    """Current weather for a city."""
    return f"sunny in {city}"


@tn.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.fixture(scope="module")
def run() -> tn.RunResult:
    chat = tn.Chat(tn.connect("rehearsal"), tn.Toolkit([get_weather, add]))
    return chat.ask_sync("What is 17 plus 25, and what is the weather in Oslo?")


@pytest.fixture(autouse=True)
def no_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_failures", {})


def test_a_run_that_did_what_was_asked_passes(run) -> None:
    passed = expect_calls(
        ["get_weather", ("add", {"a": 17, "b": lambda b: b > 20})],
        run,
        text=["42", "sunny"],
        rounds=2,
        counts={"add": 1},
        max_tokens=10_000,
    )
    assert str(passed) == '✓ add(a=17, b=25), get_weather(city="Oslo"); 2 rounds'


@pytest.mark.parametrize(
    ("expectation", "said"),
    [
        (
            {"expected": [("add", {"a": 17, "b": 26}), "get_weather"]},
            "Expected add(a=17, b=26), but the model called add",
        ),
        ({"expected": ["add"]}, 'The model also called get_weather(city="Oslo"), which was not asked for.'),
        ({"expected": ["get_weather", "add"], "order": "given"}, "Expected a call of add"),
        (
            {"expected": ["add", "get_weather", "get_weather"]},
            "Expected a call of get_weather, but the model made no further",
        ),
        ({"expected": ["multiply"]}, "Expected a call of multiply, but the model called add"),
        ({"counts": {"add": 2}}, "Expected 2 calls of add, but there were 1."),
        ({"expected": ["add"], "others": True, "text": "43"}, "The answer should contain '43'"),
        ({"expected": ["add"], "others": True, "text": re.compile("^no")}, "The answer should match '^no'"),
        ({"expected": ["add"], "others": True, "rounds": 1}, "Expected 1 round, but it took 2."),
        ({"expected": ["add"], "others": True, "max_tokens": 1}, "At most 1 tokens"),
        ({"expected": [("add", {"a": True})], "others": True}, "Expected add(a=true)"),
    ],
)
def test_a_run_that_did_not_is_told_what_happened_instead(run, expectation: dict, said: str) -> None:
    with pytest.raises(CheckFailed) as failed:
        expect_calls(result=run, **expectation)
    assert said in str(failed.value)


def test_each_failure_earns_one_more_hint(run) -> None:
    def told() -> str:
        with pytest.raises(CheckFailed) as failed:
            expect_calls(["multiply"], run, hints=["first", "second"])
        return str(failed.value)

    first, second, third = told(), told(), told()
    assert "Hint 1: first" in first and "second" not in first and "another hint" in first
    assert "Hint 2: second" in second and "another hint" not in second
    assert second == third


def test_another_mistake_begins_with_the_first_hint(run) -> None:
    def told(tool: str) -> str:
        with pytest.raises(CheckFailed) as failed:
            expect_calls([tool], run, hints=["first", "second"])
        return str(failed.value)

    told("multiply"), told("multiply")
    assert "second" not in told("divide")


def test_a_condition_of_ones_own(run) -> None:
    assert str(expect(run.rounds == 2, "it took more")) == "✓ right"
    with pytest.raises(CheckFailed, match="it took 2 rounds\nHint 1: ask for less"):
        expect(run.rounds == 1, "it took 2 rounds", hints=["ask for less"])


def test_a_tool_with_nothing_to_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    @tn.tool
    def tip(bill: float, percent=10):
        """Compute a tip.

        Args:
            bill: The amount.
        """

    session = SimpleNamespace(toolkit=tn.Toolkit([get_weather, tip]))
    monkeypatch.setattr("toolnexus_nb.notebook.session.session", lambda: session)
    with pytest.raises(CheckFailed, match="percent"):
        expect_no_findings("tip")
    with pytest.raises(CheckFailed, match="There is no tool tipp yet"):
        expect_no_findings("tipp")


@pytest.mark.parametrize("wrong", [{"expected": [3]}, {"expected": [("add", 3)]}, {"order": "reverse"}])
def test_an_expectation_that_makes_no_sense_is_a_value_error(run, wrong: dict) -> None:
    with pytest.raises(ValueError):
        expect_calls(result=run, **wrong)


def test_a_failed_check_is_shown_in_a_few_lines(run) -> None:
    with pytest.raises(AssertionError) as failed:
        expect_calls(["multiply"], run)
    assert failed.value._render_traceback_()[0] == "Not yet."
