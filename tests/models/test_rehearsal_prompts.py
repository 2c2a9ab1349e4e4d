"""How often the rehearsal model is right, as floors that may only rise (`measuring.py -v` shows the misses)."""

from __future__ import annotations

from types import ModuleType

import pytest


@pytest.mark.parametrize(("file", "floor"), [("held_out", 0.8), ("tuned", 0.95)])
def test_prompts_over_twelve_tool_sets(measuring: ModuleType, file: str, floor: float) -> None:
    cases = measuring.own_cases(file)
    whole, _, misses = measuring.score(cases)
    assert whole >= floor, [case.prompt for case, _ in misses]


def test_there_are_enough_prompts_and_a_third_is_held_out(measuring: ModuleType) -> None:
    held_out, tuned = measuring.own_cases("held_out"), measuring.own_cases("tuned")
    assert len(held_out) + len(tuned) >= 120
    assert len(held_out) >= (len(held_out) + len(tuned)) / 3


@pytest.mark.parametrize("file", ["held_out", "tuned"])
def test_a_prompt_no_tool_fits_gets_no_call(measuring: ModuleType, file: str) -> None:
    idle = [case for case in measuring.own_cases(file) if not case.right]
    called = [case.prompt for case in idle if measuring.calls_for(case)]
    assert len(called) <= 0.1 * len(idle), called


@pytest.mark.parametrize(
    ("category", "floor"), [("simple_python", 0.53), ("multiple", 0.46), ("parallel", 0.3), ("irrelevance", 0.9)]
)
def test_public_questions_with_odd_ids(measuring: ModuleType, category: str, floor: float) -> None:
    if measuring.bfcl_folder() is None:
        pytest.skip(f"bfcl_eval is missing; install it with: {measuring.INSTALL}")
    whole, tools, _ = measuring.score(measuring.bfcl_cases(category, "odd"))
    assert whole >= floor, f"{category}: wholly right {whole:.1%}, right tools {tools:.1%}"
