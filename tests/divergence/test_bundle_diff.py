"""Comparing branches: no observed difference of a step is hidden."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from eikon_engine.divergence.bundle_diff import compare_bundles
from eikon_engine.report.diff_report import render_bundle_diff
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.execution import RecordedTiming
from eikon_engine.trace.observation import ObservedDialog, ObservedDownload, StoredItem, TargetState
from tests.debug.branches.conftest import TRACES

if TYPE_CHECKING:
    from eikon_engine.trace.bundle import Bundle

PASSING = open_bundle(TRACES / "shop_passing")
STEP = 4
KEPT = StoredItem(kind="local", place="http://a", name="theme", digest="0" * 64)


def seeing(**fields: Any) -> Bundle:  # noqa: ANN401 - fields of an observation
    """Return the bundle with another observation of one step."""
    attempts = list(PASSING.trace.subgoal_traces)
    actions = list(attempts[1].actions_taken)
    assert actions[0].observation is not None
    actions[0] = actions[0].model_copy(update={"observation": actions[0].observation.model_copy(update=fields)})
    attempts[1] = attempts[1].model_copy(update={"actions_taken": tuple(actions)})
    return replace(PASSING, trace=PASSING.trace.model_copy(update={"subgoal_traces": tuple(attempts)}))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"dialogs": (ObservedDialog(page=0, kind="alert", message="Sold out", answer="dismissed"),)}, "Sold out"),
        ({"downloads": (ObservedDownload(page=0, name="a.txt", sha256="0" * 64, size=1),)}, "a.txt"),
        ({"target": TargetState(value="2")}, '"value":"2"'),
        ({"console_errors": ("cannot read x",)}, "cannot read x"),
        ({"page_errors": ("x is undefined",)}, "x is undefined"),
        ({"opened": (7,)}, "7"),
        ({"unanswered": ("GET http://a/b",)}, "GET http://a/b"),
        ({"storage": (KEPT,)}, "theme"),
    ],
)
def test_anything_observed_on_one_side_only_is_a_difference(fields: dict[str, Any], words: str) -> None:
    """Includes dialogs, downloads, values, errors, storage and blocked requests."""
    diff = compare_bundles(("one", PASSING), ("two", seeing(**fields)))
    text = render_bundle_diff(diff)

    assert not diff.is_same
    assert f"*   {STEP} navigate to" in text
    assert any(line.strip().startswith("+ ") and words in line for line in text.splitlines()), text
    assert "no differences" not in text


def test_long_values_are_shown_where_they_differ() -> None:
    """Two long messages of a dialog differ at their ends; what only one side has is cut at its end."""
    terms = "I accept the terms. " * 20
    sides = [
        (ObservedDialog(page=0, kind="alert", message=f"{terms}{end}", answer="dismissed"),) for end in ("Yes", "No")
    ]
    more = ObservedDialog(page=1, kind="alert", message=f"{terms}Perhaps", answer="dismissed")
    text = render_bundle_diff(
        compare_bundles(("one", seeing(dialogs=sides[0])), ("two", seeing(dialogs=(*sides[1], more))))
    )

    before, after, added = (line.strip() for line in text.splitlines() if "accept the terms" in line)
    assert "terms. Yes" in before
    assert "terms. No" in after
    assert added.endswith("…")


def test_short_lived_cookies_are_no_difference() -> None:
    """A cookie that expires within a day of the real clock differs in every run."""
    brief = tuple(KEPT.model_copy(update={"is_brief": True, "digest": digit * 64}) for digit in "01")

    assert compare_bundles(("one", seeing(storage=brief[:1])), ("two", seeing(storage=brief[1:]))).is_same


def test_a_diff_claims_equality_only_for_observed_steps() -> None:
    """A step that one branch did not run may differ."""
    known = render_bundle_diff(compare_bundles(("one", PASSING), ("two", PASSING)))
    undone = seeing()
    attempts = list(undone.trace.subgoal_traces)
    last = attempts[-1].actions_taken[-1]
    left = last.model_copy(update={"timing": RecordedTiming(actions_before=25), "observation": None})
    attempts[-1] = attempts[-1].model_copy(update={"actions_taken": (*attempts[-1].actions_taken[:-1], left)})
    other = replace(undone, trace=undone.trace.model_copy(update={"subgoal_traces": tuple(attempts)}))
    unknown = compare_bundles(("one", other), ("two", other))

    assert known.endswith("\nno differences\n")
    assert render_bundle_diff(unknown).endswith("\nno known differences\n")
