"""The text of a skill divergence for an absent value."""

from __future__ import annotations

import pytest

from eikon_engine.divergence.comparison import StepPosition
from eikon_engine.divergence.detectors.skill import detect_skill
from eikon_engine.files.json_text import JsonValue
from eikon_engine.trace.execution import SkillUsage, Succeeded


@pytest.mark.parametrize(
    ("recorded", "output", "expected", "observed"),
    [
        ({"a": 1}, {}, "$.a 1", "$.a (absent)"),
        ({}, {"a": None}, "$.a (absent)", "$.a null"),
        ({"a": None}, {"a": "x y"}, "$.a null", "$.a x y"),
    ],
)
def test_absent_and_null_are_distinguished(
    recorded: JsonValue, output: JsonValue, expected: str, observed: str
) -> None:
    """An absent value is `(absent)`, a null is `null`, never `None`."""
    usage = SkillUsage(id="u", sequence=1, skill="s", result=Succeeded(), output=recorded)

    (found,) = detect_skill(StepPosition(subgoal="s", subgoal_id="s", sequence=1), usage, Succeeded(), output)

    assert (found.expected, found.observed) == (expected, observed)
