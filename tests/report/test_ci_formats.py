"""Formats for continuous integration are well-formed whatever a page shows."""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st
from xmlschema import XMLSchema10

from eikon_engine.report.ci_formats import render_github, render_gitlab, render_junit, render_markdown
from tests.report.outcomes import make_outcome

if TYPE_CHECKING:
    from eikon_engine.outcome.outcomes import ReplayOutcome


def parse(text: str) -> ET.Element:
    """Parse XML."""
    return ET.fromstring(text.encode())  # noqa: S314 - our own


@cache
def junit_schema() -> XMLSchema10:
    """Return the schema that Jenkins publishes; scripts/test gets it."""
    return XMLSchema10(Path(sys.prefix) / "share" / "junit-10.xsd")


def test_junit_has_a_case_for_each_recorded_step() -> None:
    """A step that diverged is a failure, one that could not be compared an error, one that was not replayed skipped."""
    suites = parse(render_junit(make_outcome()))

    (suite,) = suites
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped", "time")} == {
        "tests": "4",
        "failures": "1",
        "errors": "1",
        "skipped": "1",
        "time": "0.600",
    }
    assert suite.get("timestamp") == "2026-01-02T03:04:05"
    assert [[child.tag for child in case] for case in suite] == [[], ["failure"], ["error"], ["skipped"]]
    failure = suite[1][0]
    assert failure.get("type") == "target-missing"
    assert failure.get("message") == "The button 'Save' is missing."
    assert "observed no button 'Save'" in (failure.text or "")


def test_junit_is_red_if_only_the_run_failed() -> None:
    """No step diverged, but the run is not whole."""
    outcome = make_outcome()
    incomplete = outcome.model_copy(
        update={"verdict": "unverifiable", "reasons": ("interrupted",), "subgoals": (), "explanation": None}
    )

    junit_schema().validate(render_junit(incomplete))
    (suite,) = parse(render_junit(incomplete))

    assert suite.get("errors") == "1"
    assert suite[0][0].get("message") == "interrupted"


@given(st.text(max_size=60))
def test_all_formats_are_well_formed(text: str) -> None:
    """XML has no forbidden character, a table has its cells, a command is one line, and JSON is JSON."""
    outcome = make_outcome(text)

    coded = with_code(outcome, text)
    junit_schema().validate(render_junit(coded))
    assert all(char not in render_gitlab(coded) for char in "\u202e\u2066")
    junit_schema().validate(render_junit(outcome))
    rows = [line for line in render_markdown(outcome).splitlines() if line.startswith("|")]
    assert [len(row.replace("\\\\", "").replace("\\|", "").split("|")) for row in rows] == [6] * 4
    commands = render_github(outcome).split("\n")
    assert [line.partition(" ")[0] for line in commands] == ["::error", "::warning", ""]
    assert len(json.loads(render_gitlab(outcome))) == 1


def with_code(outcome: ReplayOutcome, code: str) -> ReplayOutcome:
    """Return an outcome whose difference has another code, as an edited file may have."""
    step = outcome.subgoals[0].steps[1]
    other = step.model_copy(update={"divergences": (step.divergences[0].model_copy(update={"code": code}),)})
    changed = outcome.subgoals[0].model_copy(update={"steps": (outcome.subgoals[0].steps[0], other)})
    return outcome.model_copy(update={"subgoals": (changed,), "trace_path": code})


def test_a_fingerprint_stays_while_the_observed_value_changes() -> None:
    """So that the issue is the same one in the next run."""
    outcome = make_outcome()
    step = outcome.subgoals[0].steps[1]
    other = step.model_copy(update={"divergences": (step.divergences[0].model_copy(update={"observed": "another"}),)})
    steps = (outcome.subgoals[0].steps[0], other)
    changed = outcome.model_copy(update={"subgoals": (outcome.subgoals[0].model_copy(update={"steps": steps}),)})

    first, second = (json.loads(render_gitlab(each))[0]["fingerprint"] for each in (outcome, changed))

    assert first == second
