"""Evaluation of fixes: which ones help."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eikon_engine.fix.models import Analysis, CapturedStream, TestFailure, TestRun
from eikon_engine.fix.verification import evaluate_fix
from eikon_engine.process_group import ProcessEnding

NOTHING = CapturedStream(file="stdout.txt", bytes_written=0)


def analysis(*ids: str) -> Analysis:
    """Return an analysis with failures of these ids; without any, the tests passed."""
    failures = [TestFailure(id=each, kind="pytest", message="no") for each in ids]
    return Analysis(
        passed=not ids, first=failures[0] if failures else None, others=tuple(failures[1:]), summary="summary"
    )


def run(ended: ProcessEnding = "exited", exit_status: int | None = 1) -> TestRun:
    """Return a run."""
    return TestRun(
        command="pytest", exit_status=exit_status, ended=ended, duration_ms=1, stdout=NOTHING, stderr=NOTHING
    )


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (("a", "b"), (), "passed"),
        (("a", "b"), ("b",), "helped"),
        (("a",), ("a",), "no_help"),
        (("a",), ("b",), "broke_more"),
        (("a", "b"), ("b", "c"), "broke_more"),
        (("test_a.py",), ("test_a.py::test_1",), "helped"),
        (("test_a.py",), ("test_b.py::test_1",), "broke_more"),
    ],
)
def test_a_fix_helps_only_if_failures_disappear_and_none_is_new(
    before: tuple[str, ...], after: tuple[str, ...], expected: str
) -> None:
    """A fix with a new failure does not help; tests of a module that could not be imported count as failed before."""
    assert evaluate_fix(analysis(*before), analysis(*after), run()) == expected


def test_unlisted_failures_count() -> None:
    """Failures beyond the listed ones are compared too: one less helps, and a new one is found."""
    ids = [f"t{number}" for number in range(300)]

    def long(every: list[str]) -> Analysis:
        return analysis(*every[:200]).model_copy(update={"unlisted": tuple(every[200:])})

    assert evaluate_fix(long(ids), long(ids[1:]), run()) == "helped"
    assert evaluate_fix(long(ids), long([*ids[1:], "other"]), run()) == "broke_more"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((("b",), ("a",)), (("c",), ("a", "b")), "helped"),
        ((("b",), ("a",)), (("a",), ()), "broke_more"),
        ((("b",), ("a",)), (("c",), ("a",)), "no_help"),
        ((("b",), ("a",)), (("b",), ("a",)), "no_help"),
        ((("b",), ("a",)), (("c",), None), "helped"),
        ((("m.py",), ()), (("m.py::c",), ()), "helped"),
        ((("m.py",), ()), (("n.py::c",), ("m.py::b",)), "helped"),
        ((("m.py",), ()), (("n.py",), ()), "no_help"),
    ],
)
def test_a_run_that_stops_early_leaves_tests_unexecuted(
    before: tuple[tuple[str, ...], tuple[str, ...]],
    after: tuple[tuple[str, ...], tuple[str, ...] | None],
    expected: str,
) -> None:
    """A failed test is fixed only if it ran, passed tests must still pass, and unexecuted ones may fail."""
    first = analysis(*before[0]).model_copy(update={"stopped_early": True, "other_tests": before[1]})
    second = analysis(*after[0]).model_copy(update={"stopped_early": after[1] is not None, "other_tests": after[1]})

    assert evaluate_fix(first, second, run()) == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (("b", "early"), ("c", "early"), "unclear"),
        (("b", "early"), ("b", "early"), "no_help"),
        (("b", "early"), ("c", "whole"), "unclear"),
        (("ab", "whole"), ("b", "early"), "unclear"),
        (("ab", "whole"), ("c", "early"), "broke_more"),
        (("ab", "early"), ("a", "whole"), "helped"),
        (("b", "early"), ("", "whole"), "passed"),
    ],
)
def test_without_a_list_of_executed_tests_the_result_is_unclear(
    before: tuple[str, str], after: tuple[str, str], expected: str
) -> None:
    """If another test is the first failure, the effect is unclear; definite results are still reported."""
    first, second = (
        analysis(*ids).model_copy(update={"stopped_early": how == "early"}) for ids, how in (before, after)
    )

    assert evaluate_fix(first, second, run()) == expected


def test_a_killed_run_does_not_help() -> None:
    """Fewer failures count only if the run was complete."""
    assert evaluate_fix(analysis("a", "b"), analysis("b"), run("timed_out", None)) == "no_help"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from("abcd"), min_size=1, unique=True), st.lists(st.sampled_from("abcd"), unique=True))
def test_a_fix_that_helps_never_adds_a_failure(before: list[str], after: list[str]) -> None:
    """A fix that helps leaves a proper subset of the failures."""
    if evaluate_fix(analysis(*before), analysis(*after), run()) in {"helped", "passed"}:
        assert set(after) < set(before)
