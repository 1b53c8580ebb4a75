"""Patches: changes to a trace as data."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eikon_engine.errors import TraceFieldError
from eikon_engine.trace.actions import Read, ReadValue
from eikon_engine.trace.execution import NetworkPart
from eikon_engine.trace.masks import Mask, TitlePart
from eikon_engine.trace.observation import Observation
from eikon_engine.trace.patch import (
    AddMask,
    AddRule,
    SetObservation,
    SetPageTime,
    TracePatch,
    apply_patch,
    describe_operation,
    operation_reason,
    render_patch,
)
from eikon_engine.trace.rules import QueryKeyRule
from eikon_engine.trace.target import Identity
from eikon_engine.trace.trace_file import parse_trace, serialize_trace
from tests.trace.trace_values import action, subgoal, trace, values_of

BASE = trace(
    subgoal_traces=(subgoal(actions_taken=(action(1), action(2, observation=Observation(pages=())))),),
    network=NetworkPart(),
)
MASK = AddMask(mask=Mask(name="clock", reason="it ticks", part=TitlePart()))
RULE = AddRule(rule=QueryKeyRule(name="_", reason="a cache-buster"))
SETTLE = SetPageTime(action="a2", virtual_ms=1000, reason="too slow")
BASELINE = SetObservation(
    action="a1", observation=Observation(pages=(), virtual_ms=7), identity=Identity(tag="a"), reason="none recorded"
)


def test_each_operation_changes_what_it_names() -> None:
    """Masks, rules, page time and baselines are set; everything else stays."""
    changed = apply_patch(BASE, TracePatch(operations=(MASK, RULE, SETTLE, BASELINE)))

    first, second = changed.subgoal_traces[0].actions_taken
    assert changed.masks == (MASK.mask,)
    assert changed.network is not None
    assert changed.network.rules == (RULE.rule,)
    assert second.observation == Observation(pages=(), virtual_ms=1000)
    assert (first.observation, first.result) == (BASELINE.observation, BASE.subgoal_traces[0].actions_taken[0].result)
    assert getattr(first.action, "target").identity == Identity(tag="a")  # noqa: B009 - the union of all actions has none
    assert parse_trace(serialize_trace(changed), "patched") == changed


@pytest.mark.parametrize(("recorded", "kept"), [(None, "seen"), (ReadValue(value="known"), "known")])
def test_a_baseline_gives_a_read_its_value_if_that_is_unknown(recorded: ReadValue | None, kept: str) -> None:
    """Recordings of other tools do not contain what their commands read; a recorded value stays."""
    read = action(1, action=Read(what="title", value=recorded))
    seen = BASELINE.model_copy(update={"observation": Observation(pages=(), value=ReadValue(value="seen"))})
    before = trace(subgoal_traces=(subgoal(actions_taken=(read,)),))

    (step,) = apply_patch(before, TracePatch(operations=(seen,))).subgoal_traces[0].actions_taken

    assert isinstance(step.action, Read)
    assert step.action.value == ReadValue(value=kept)


def test_a_patch_is_shown_as_a_difference_of_the_file() -> None:
    """The diff has only the changed lines; that of an empty patch is empty."""
    diff = render_patch(BASE, TracePatch(operations=(SETTLE,)))

    changed = [line for line in diff.splitlines() if line[0] in "+-"]
    assert changed == [
        "--- a/trace.json",
        "+++ b/trace.json",
        '-      "virtual_ms": 0.0,',
        '+      "virtual_ms": 1000.0,',
    ]
    assert render_patch(BASE, TracePatch()) == ""


def test_an_operation_that_matches_nothing_is_refused() -> None:
    """An unknown action, one without an observation, and rules without a network part are errors."""
    for operation, words in (
        (SETTLE.model_copy(update={"action": "a9"}), "got 0"),
        (SETTLE.model_copy(update={"action": "a1"}), "observation of a1"),
    ):
        with pytest.raises(TraceFieldError, match=words):
            apply_patch(BASE, TracePatch(operations=(operation,)))
    with pytest.raises(TraceFieldError, match="recorded network"):
        apply_patch(BASE.model_copy(update={"network": None}), TracePatch(operations=(RULE,)))


def test_an_operation_describes_its_change_and_reason() -> None:
    """Each operation has a readable description."""
    described = [(describe_operation(each), operation_reason(each)) for each in (MASK, RULE, SETTLE, BASELINE)]

    assert described == [
        ("mask clock: the title", "it ticks"),
        ("do not compare query _", "a cache-buster"),
        ("let 1000 ms of page time pass in a2", "too slow"),
        ("set a new baseline of a1", "none recorded"),
    ]


@settings(max_examples=30, deadline=None)
@given(values_of(TracePatch))
def test_a_patch_reads_back_as_it_was_written(patch: TracePatch) -> None:
    """A patch survives a JSON round trip."""
    assert TracePatch.model_validate_json(patch.model_dump_json()) == patch


@given(st.lists(st.sampled_from([MASK, RULE, SETTLE, BASELINE]), max_size=4))
def test_a_patch_is_its_operations_one_after_the_other(operations: list[AddMask | AddRule | SetPageTime]) -> None:
    """Applying operations one by one or at once gives the same trace, and does not change the input."""
    before = serialize_trace(BASE)
    one_by_one = BASE
    for operation in operations:
        one_by_one = apply_patch(one_by_one, TracePatch(operations=(operation,)))

    assert apply_patch(BASE, TracePatch(operations=tuple(operations))) == one_by_one
    assert serialize_trace(BASE) == before
