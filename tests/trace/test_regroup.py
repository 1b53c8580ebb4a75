"""Splitting and merging attempts preserves their content and its order, and renumbers it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.trace.actions import Reload
from eikon_engine.trace.edits import (
    SEQUENCED_FIELDS,
    DeleteStep,
    MergeAttempts,
    SplitAttempt,
    delete_step,
    merge_attempts,
    split_attempt,
)
from eikon_engine.trace.execution import (
    ActionTrace,
    CompletionUsage,
    ExecutionTrace,
    SkillUsage,
    SubgoalTrace,
    Succeeded,
    ToolUsage,
)
from eikon_engine.trace.trace_file import parse_trace, serialize_trace
from tests.trace.edited import BASE

if TYPE_CHECKING:
    from eikon_engine.trace.edits import SequencedStep

OK: Final = Succeeded()
KINDS: Final = ("action", "skill", "tool", "completion")
MIXED: Final = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(1, 3)), max_size=8)
"""Recorded items, each with the difference of its number to that of the previous one."""


def made(name: str, number: int) -> SequencedStep:
    """Make a recorded item of the kind that its name begins with."""
    match name.split("-")[1]:
        case "action":
            return ActionTrace(id=name, sequence=number, action=Reload(), result=OK)
        case "skill":
            return SkillUsage(id=name, sequence=number, skill="find_forms", result=OK)
        case "tool":
            return ToolUsage(id=name, sequence=number, tool="search", result=OK)
        case _:
            return CompletionUsage(id=name, sequence=number, prompt="what now?", result=OK)


def attempt(name: str, mixed: list[tuple[str, int]]) -> SubgoalTrace:
    """Make an attempt with these items."""
    done: list[SequencedStep] = []
    number = 0
    for place, (kind, more) in enumerate(mixed):
        number += more
        done.append(made(f"{name}-{kind}-{place}", number))
    return SubgoalTrace(
        id=name,
        subgoal_id=f"goal_{name}",
        description="do it",
        status="complete",
        actions_taken=tuple(each for each in done if isinstance(each, ActionTrace)),
        skills_used=tuple(each for each in done if isinstance(each, SkillUsage)),
        tools_used=tuple(each for each in done if isinstance(each, ToolUsage)),
        completions=tuple(each for each in done if isinstance(each, CompletionUsage)),
    )


def trace_of(*attempts: SubgoalTrace) -> ExecutionTrace:
    """Make a trace with these attempts."""
    return BASE.model_copy(update={"subgoal_traces": attempts, "failures": ()})


def in_order(of: SubgoalTrace) -> list[str]:
    """Return the names of an attempt's items by their numbers, which must be unique."""
    done = sorted((each for name in SEQUENCED_FIELDS for each in getattr(of, name)), key=lambda each: each.sequence)
    assert all(one.sequence < other.sequence for one, other in pairwise(done))
    assert not done or done[0].sequence >= 1
    return [each.id for each in done]


@given(MIXED, MIXED)
def test_merged_attempts_contain_the_steps_of_both_in_order(
    first: list[tuple[str, int]], second: list[tuple[str, int]]
) -> None:
    """Tool calls and model responses are merged like steps; the result can be written and read."""
    before = (attempt("a", first), attempt("b", second))

    after = merge_attempts(trace_of(*before), MergeAttempts(first="a", second="b", reason="one"))

    assert [in_order(each) for each in after.subgoal_traces] == [[*in_order(before[0]), *in_order(before[1])]]
    assert parse_trace(serialize_trace(after), "trace") == after


@given(MIXED, st.data())
def test_a_split_attempt_has_each_thing_once_and_merges_back(mixed: list[tuple[str, int]], data: st.DataObject) -> None:
    """Items before the split are in the first part, the others in the second."""
    whole = attempt("a", [("action", 1), *mixed, ("action", 1)])
    border = data.draw(st.sampled_from(whole.steps[1:])).id
    names = in_order(whole)
    place = names.index(border)

    split = split_attempt(trace_of(whole), SplitAttempt(attempt="a", before=border, description="b", reason="two"))
    one, other = split.subgoal_traces
    back = merge_attempts(split, MergeAttempts(first=one.id, second=other.id, reason="one"))

    assert (in_order(one), in_order(other)) == (names[:place], names[place:])
    assert [in_order(each) for each in back.subgoal_traces] == [names]
    assert parse_trace(serialize_trace(split), "trace") == split


def test_deleting_a_step_keeps_tool_calls() -> None:
    """Recorded tool calls between steps are kept."""
    whole = attempt("a", [("action", 1), ("tool", 1), ("completion", 1), ("action", 1)])

    left = delete_step(trace_of(whole), DeleteStep(step="a-action-3", reason="not needed")).subgoal_traces

    assert [in_order(each) for each in left] == [["a-action-0", "a-tool-1", "a-completion-2"]]
