"""Inputs of the steps of the loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.trace.record import FileModel

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.fix.context import Context
    from eikon_engine.fix.failure import Analysis
    from eikon_engine.fix.proposal import Fix
    from eikon_engine.fix.test_run import TestRun


class RolledBackFix(FileModel):
    """A fix that was tried and rolled back."""

    cycle: int
    diff: str
    """Its changes; empty if it could not be applied."""
    outcome: str
    """How the tests failed with it, in one line; equal for equal failures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunScriptInput:
    """Input of `system:run_script`, which returns a `TestRun`."""

    command: str
    tree: Path
    """Root of the copy in which tests run."""
    original: Path
    """Root of the tree that was copied."""
    cwd: str
    """Working directory, relative to the tree."""
    session: Path
    """Session folder; paths in the result are relative to it."""
    folder: str
    """Folder of the cycle, relative to the session folder, for the output."""
    timeout_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisInput:
    """Input of `debug:analyze_test_results`, which returns an `Analysis`."""

    __test__ = False

    run: TestRun
    session: Path
    """Folder that the paths in `run` are relative to."""
    tree: Path
    """Root of the copy in which tests ran; results never contain its absolute path."""
    failed_before: frozenset[str] = frozenset()
    """Ids of failures of earlier runs, to check whether they pass now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextQuery:
    """Input of `system:get_context`, which returns a `Context`."""

    analysis: Analysis
    targets: tuple[str, ...]
    """Relative to the tree."""
    tree: Path
    history: Path | None
    """Repository whose recent commits show what changed lately; None if there is none. Read only."""
    token_budget: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FixRequest:
    """Input of `debug:generate_fix`, which returns a `Proposal`."""

    analysis: Analysis
    context: Context
    targets: tuple[str, ...]
    rolled_back: tuple[RolledBackFix, ...]
    """Fixes that were tried in this loop and rolled back, oldest first."""
    command: str
    """The test command as given."""
    needs_edits: bool
    """Whether the answer must contain edits that can be parsed; see `Applier.needs_edits`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyFixInput:
    """Input of `fix:apply`, which returns an `AppliedFix`."""

    fix: Fix
    tree: Path
    targets: tuple[str, ...]
