"""Outcomes read back from `outcome.json`."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from eikon_engine.outcome.events import RunStart
from eikon_engine.outcome.outcomes import NetworkMiss, NetworkOutcome, RequestDifference, ResumePoint, SkillOutcome

MISS = NetworkMiss(
    key="GET http://shop/help?page=2",
    reason="request-not-recorded",
    nearest="GET http://shop/prices?page=1",
    differences=(
        RequestDifference(part="path", recorded="/prices", sent="/help"),
        RequestDifference(part="query", name="page", recorded="1", sent="2"),
    ),
    more_differences=1,
)


def test_a_miss_reads_back_with_its_differences() -> None:
    """What is written is what is read."""
    assert NetworkMiss.model_validate_json(MISS.model_dump_json()) == MISS


def test_differences_of_earlier_outcomes_are_dropped() -> None:
    """They were sentences; the rest of the miss is kept."""
    earlier = {**MISS.model_dump(mode="json"), "differences": ["path: /prices became /help"]}

    assert NetworkMiss.model_validate_json(json.dumps(earlier)) == MISS.model_copy(update={"differences": ()})


def test_earlier_names_of_fields_are_read() -> None:
    """`second_part` and `strays` of earlier files are read, and written under their present names."""
    point = ResumePoint(step=4, subgoal="s__attempt_1", sequence=1, network="live")
    start = RunStart(kind="bundle_replay", mission_id="m", mission_text="", resume_point=point)
    network = NetworkOutcome(unmapped_requests=("GET http://shop.test/",))

    for value, name, earlier in ((start, "resume_point", "second_part"), (network, "unmapped_requests", "strays")):
        data = value.model_dump(mode="json")
        data[earlier] = data.pop(name)
        assert type(value).model_validate_json(json.dumps(data)) == value


def test_a_step_that_diverged_says_how() -> None:
    """Reports show its first divergence."""
    with pytest.raises(ValidationError, match="the verdict of s is diverged: expected divergences, got none"):
        SkillOutcome(id="s", sequence=1, skill="extract_table", verdict="diverged")
