"""What the steps of the loop are given; what they return are the nouns beside this module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.trace.record import Record

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.fix.context import Context
    from eikon_engine.fix.failure import Analysis
    from eikon_engine.fix.proposal import Fix
    from eikon_engine.fix.test_run import TestRun


class Attempt(Record):
    """A fix that was tried, and taken back."""

    cycle: int
    diff: str
    """What it changed; empty where it could not be applied."""
    outcome: str
    """How the tests failed with it, in one line; the same for runs that failed alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptRun:
    """For `system:run_script`, which returns a `TestRun`."""

    command: str
    tree: Path
    """Root of the copy in which tests run."""
    original: Path
    """Root of the tree that it is a copy of."""
    cwd: str
    """Folder to run in, relative to the tree."""
    session: Path
    """Session folder, which paths in the result are relative to."""
    folder: str
    """Folder of the cycle inside the session folder, where output goes."""
    timeout_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TestOutput:
    """For `debug:analyze_test_results`, which returns an `Analysis`."""

    __test__ = False

    run: TestRun
    session: Path
    """Folder that the paths in `run` are relative to."""
    tree: Path
    """Root of the copy in which tests ran; its absolute path stands in no result."""
    failed_before: frozenset[str] = frozenset()
    """Ids of the failures of earlier runs, of which is asked whether they are mended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextQuery:
    """For `system:get_context`, which returns a `Context`."""

    analysis: Analysis
    targets: tuple[str, ...]
    """Relative to the tree."""
    tree: Path
    history: Path | None
    """Repository whose recent commits tell what changed lately; None where there is none. It is only read."""
    token_budget: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FixQuestion:
    """For `debug:generate_fix`, which returns a `Proposal`."""

    analysis: Analysis
    context: Context
    targets: tuple[str, ...]
    earlier: tuple[Attempt, ...]
    """What was tried before in this loop and taken back, oldest first."""
    command: str
    """The test command as it was given."""
    needs_edits: bool
    """Whether the answer has to hold edits that can be read; see `Applier.needs_edits`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FixOrder:
    """For `fix:apply`, which returns an `Application`."""

    fix: Fix
    tree: Path
    targets: tuple[str, ...]
