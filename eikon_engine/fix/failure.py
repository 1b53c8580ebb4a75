"""What a test run says of what is wrong.

Nothing in here differs between two runs that failed alike: no absolute path of the tree, no time, no duration, no
address of an object. What is asked of a model is made of it, and a recorded answer is found by what was asked.
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from pydantic import Field

from eikon_engine.trace.record import Record

FailureKind: TypeAlias = Literal["pytest", "eikon", "python", "node", "output"]


class Frame(Record):
    """One place of a traceback."""

    file: str
    """Relative to the tree with forward slashes where it lies inside, else as it was told."""
    line: int = Field(ge=1)
    name: str = ""
    """Function, where it is told."""


class TestFailure(Record):
    """One thing that is wrong."""

    __test__: ClassVar = False
    """Is no class of tests for pytest."""

    id: str = Field(min_length=1)
    """What it is known by from one run to the next: the node id of a test, the step of a mission, the type and place
    of an exception."""
    kind: FailureKind
    message: str
    """The first line of it: the assertion, the exception, the cause of a divergence."""
    file: str | None = None
    """Where it shows, relative to the tree; None where that is not told, or lies outside."""
    line: int | None = Field(default=None, ge=1)
    frames: tuple[Frame, ...] = ()
    """From the outermost to where it was raised."""
    excerpt: str = ""
    """The lines that show it, as they were written."""


class Analysis(Record):
    """What a test run came to."""

    passed: bool
    """`TestRun.passed`: decided by the exit status alone."""
    first: TestFailure | None
    """None where the run passed."""
    others: tuple[TestFailure, ...] = ()
    unlisted: tuple[str, ...] = ()
    """Ids of the failures that are too many to be told here."""
    stopped_early: bool = False
    """Whether pytest said that it stopped before all its tests had run."""
    other_tests: tuple[str, ...] | None = None
    """Of a run that stopped early: the ids of the tests that ran and did not fail; None where nothing tells them. None
    for any other run."""
    unproved: tuple[str, ...] | None = None
    """Ids of failures of before that the report of pytest does not show as passed now; None where none was asked for,
    or a run that failed left none."""
    closed_by: tuple[str, ...] = ()
    """Test runners whose closing line stands in the output: they came to their end."""
    summary: str
    """One line for people."""

    @property
    def failures(self) -> tuple[TestFailure, ...]:
        """Return the failures that are listed, the first one first."""
        return () if self.first is None else (self.first, *self.others)

    @property
    def failing(self) -> frozenset[str]:
        """Return the ids of all that is wrong, listed or not."""
        return frozenset((*(failure.id for failure in self.failures), *self.unlisted))
