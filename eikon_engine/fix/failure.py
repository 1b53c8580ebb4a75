"""Failures extracted from a test run.

All values are stable: two runs with the same failure give the same values, without absolute paths, times, durations or
object addresses. Prompts are built from them, and recorded responses are looked up by prompt.
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from pydantic import Field

from eikon_engine.trace.record import FileModel

FailureKind: TypeAlias = Literal["pytest", "eikon", "python", "node", "output"]


class Frame(FileModel):
    """One frame of a traceback."""

    file: str
    """Relative to the tree with forward slashes if inside it, otherwise as printed."""
    line: int = Field(ge=1)
    name: str = ""
    """Function name, if known."""


class TestFailure(FileModel):
    """One failure."""

    __test__: ClassVar = False
    """Not a test class for pytest."""

    id: str = Field(min_length=1)
    """Stable identifier across runs: the node id of a test, the step of a mission, the type and location of an
    exception."""
    kind: FailureKind
    message: str
    """First line of the message: the assertion, the exception, the cause of a divergence."""
    file: str | None = None
    """Relative to the tree; None if unknown or outside the tree."""
    line: int | None = Field(default=None, ge=1)
    frames: tuple[Frame, ...] = ()
    """Outermost first."""
    excerpt: str = ""
    """Output lines that show the failure, unmodified."""


class Analysis(FileModel):
    """Result of a test run."""

    passed: bool
    """Same as `TestRun.passed`: decided by the exit status alone."""
    first: TestFailure | None
    """None if the run passed."""
    others: tuple[TestFailure, ...] = ()
    unlisted: tuple[str, ...] = ()
    """Ids of failures beyond the number stored in `others`."""
    stopped_early: bool = False
    """Whether pytest reported that it stopped before running all tests."""
    other_tests: tuple[str, ...] | None = None
    """If the run stopped early: ids of the tests that ran and did not fail, or None if unknown. None for other runs."""
    unproved: tuple[str, ...] | None = None
    """Ids of earlier failures that the JUnit report does not list as passed now; None if no report was requested, or a
    failed run left none."""
    closed_by: tuple[str, ...] = ()
    """Test runners whose closing summary line is in the output, i.e. that ran to completion."""
    summary: str
    """One line for people."""

    @property
    def failures(self) -> tuple[TestFailure, ...]:
        """Return the stored failures, first one first."""
        return () if self.first is None else (self.first, *self.others)

    @property
    def failing(self) -> frozenset[str]:
        """Return the ids of all failures, stored or not."""
        return frozenset((*(failure.id for failure in self.failures), *self.unlisted))
