"""Inputs and results of the steps of a debug loop, as stored in its session folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Protocol, TypeAlias

from pydantic import Field

from eikon_engine.files.models import FileModel
from eikon_engine.process_group import ProcessEnding

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.errors import EikonError


class AppliedFix(FileModel):
    """What applying a fix changed."""

    applier: str
    """Name of the applier: blocks or aider."""
    files: tuple[str, ...]
    """Changed files, relative to the tree, sorted."""
    diff: str
    """Unified diff; paths are relative to the tree, prefixed with `a/` and `b/`."""
    output: str = ""
    """Output of the applier, if it is an external program."""


class Applier(Protocol):
    """Apply a fix to the files of a tree, all of it or nothing."""

    @property
    def name(self) -> str:
        """Name of the applier in reports."""

    @property
    def needs_edits(self) -> bool:
        """Whether it works from `TextFix.edits`; one that does not reads the raw answer itself."""

    def apply(self, fix: TextFix, tree: Path, targets: tuple[str, ...]) -> AppliedFix:
        """Apply a fix inside `tree`, to `targets` only or to any file if `targets` is empty.

        Raises:
            FixError: the fix does not match the files or touches a file it may not; nothing is changed.
            ApplierFailedError: an external program failed.
            RequirementError: aider is not installed.
        """


class ContextPiece(FileModel):
    """A range of lines of one file, or text evidence with the path it comes from."""

    file: str = Field(min_length=1)
    """Relative to the tree, with forward slashes."""
    first_line: int = Field(ge=1)
    last_line: int = Field(ge=1)
    text: str
    score: float
    """Relevance; higher is closer to the failure."""
    why: str
    """Why it was selected, in a few words: fails here, target file, …"""


class Context(FileModel):
    """The code shown to the model."""

    pieces: tuple[ContextPiece, ...]
    """Most relevant first."""
    tokens: int = Field(ge=0)
    """Estimated number of tokens of all pieces."""
    left_out: int = Field(default=0, ge=0)
    """Number of relevant pieces that exceeded the token budget."""

    @property
    def files(self) -> tuple[str, ...]:
        """Return the distinct files, in order."""
        return tuple(dict.fromkeys(piece.file for piece in self.pieces))


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


class ReplaceText(FileModel):
    """Replace lines that occur exactly once in a file."""

    kind: Literal["replace"] = "replace"
    file: str = Field(min_length=1)
    """Relative to the tree."""
    search: str
    """Empty to create a file."""
    replace: str


class UnifiedDiff(FileModel):
    """Apply a diff as `git apply` does."""

    kind: Literal["diff"] = "diff"
    text: str = Field(min_length=1)


TextEdit: TypeAlias = Annotated[ReplaceText | UnifiedDiff, Field(discriminator="kind")]


class TextFix(FileModel):
    """A change of files, as answered by a model."""

    kind: Literal["text"] = "text"
    text: str
    """The complete answer."""
    edits: tuple[TextEdit, ...] = ()
    """Edits parsed from it; empty only if the applier reads the answer itself."""


class NoFix(FileModel):
    """No fix was found."""

    kind: Literal["none"] = "none"
    reason: str = Field(min_length=1)


Proposal: TypeAlias = Annotated[TextFix | NoFix, Field(discriminator="kind")]


class RolledBackFix(FileModel):
    """A fix that was tried and rolled back, or refused."""

    cycle: int
    diff: str
    """Its changes; the answer of the model if it was refused."""
    outcome: str
    """How the tests failed with it, or why it was refused, in one line; equal for equal failures."""


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
    """Fixes that were tried in this loop and rolled back or refused, oldest first."""
    command: str
    """The test command as given."""
    needs_edits: bool
    """Whether the answer must contain edits that can be parsed; see `Applier.needs_edits`."""
    allow: tuple[str, ...] = ()
    """Patterns of files that a fix without targets may change; empty for all source code."""
    protect: tuple[str, ...] = ()
    """Further patterns of files that a fix without targets must not change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyFixInput:
    """Input of `fix:apply`, which returns an `AppliedFix`."""

    fix: TextFix
    tree: Path
    targets: tuple[str, ...]


class CapturedStream(FileModel):
    """One output stream of a command."""

    file: str
    """Path relative to the session folder, with forward slashes."""
    bytes_written: int = Field(ge=0)
    """Bytes the command wrote."""
    bytes_left_out: int = Field(default=0, ge=0)
    """Bytes not stored in the file: the middle of a long output, replaced by one line."""


class TestRun(FileModel):
    """Result of a test command."""

    __test__: ClassVar = False
    """Not a test class for pytest."""

    command: str
    """As given; run by `sh -c`."""
    cwd: str = "."
    """Working directory, relative to the tree."""
    exit_status: int | None
    """None if it did not exit by itself."""
    ended: ProcessEnding
    signal: int | None = None
    """Signal that killed it, if `ended` is killed."""
    duration_ms: int = Field(ge=0)
    stdout: CapturedStream
    stderr: CapturedStream
    junit_xml: str | None = None
    """Path of the JUnit report relative to the session folder, if one was written."""
    report_asked: bool = False
    """Whether a report was requested; if so, a run without one was cut short."""

    @property
    def passed(self) -> bool:
        """Return whether the tests passed: exit status 0, nothing else."""
        return self.ended == "exited" and self.exit_status == 0


LoopOutcome: TypeAlias = Literal["success", "max_cycles", "error"]
FixJudgement: TypeAlias = Literal["passed", "helped", "no_help", "broke_more", "unclear", "unproved"]
"""Effect of a fix according to the next test run; only a fix that passed or helped is kept."""


class StepFailure(FileModel):
    """The step that ended the loop early."""

    step: str
    """Name of the task, e.g. `debug:generate_fix`."""
    cycle: int = Field(ge=1)
    code: str
    """Error code; see `docs/errors.md`."""
    message: str
    exit_status: int
    details: tuple[str, ...] = ()
    """Multi-line details, e.g. the nearest recorded prompt."""


def step_failure(step: str, cycle: int, error: EikonError) -> StepFailure:
    """Return the failure of a step; one before the first cycle is attributed to it."""
    return StepFailure(
        step=step,
        cycle=max(1, cycle),
        code=error.code,
        message=error.message,
        exit_status=error.exit_status,
        details=tuple(getattr(error, "__notes__", ())),
    )


class Verification(FileModel):
    """Result of the test run after a fix."""

    judgement: FixJudgement
    rolled_back: bool


class CycleRecord(FileModel):
    """One cycle: what was found, and what was tried."""

    cycle: int = Field(ge=1)
    test: TestRun | None = None
    analysis: Analysis | None = None
    context: Context | None = None
    proposal: Proposal | None = None
    application: AppliedFix | None = None
    refusal: str | None = None
    """Why the fix was refused. The next prompt contains it; the next cycle runs no tests, since nothing changed."""
    verification: Verification | None = None
    """None if no fix was applied, or the loop ended before it was tested."""
    durations_ms: dict[str, int] = Field(default_factory=dict)
    """By step, in execution order."""


class LoopNotes(FileModel):
    """Record of a finished loop."""

    outcome: LoopOutcome
    cycles_run: int = Field(ge=0)
    final_test_status: Literal["passed", "failed", "unknown"]
    """Status with all kept fixes; unknown if no test run completed."""
    modified_files: tuple[str, ...]
    """Files of the user's tree that were changed, relative to it."""
    diff: str
    """All kept fixes combined, whether or not they were written to the user's tree."""
    termination_reason: str
    failure: StepFailure | None = None
    warnings: tuple[str, ...] = ()
    """Known limitations of the result."""
    history: tuple[CycleRecord, ...] = ()
    closing_test: TestRun | None = None
    """The test run of the last fix, after the last cycle."""
    closing_analysis: Analysis | None = None
    session: str = ""
    """Path of the session folder."""

    @property
    def failed_step(self) -> str | None:
        """Return the name of the step that ended the loop early."""
        return None if self.failure is None else self.failure.step


class TaskResult(FileModel):
    """Result of a task of the `director_evaluator_loop` kind."""

    status: Literal["COMPLETE", "FAILED"]
    content: str
    """The outcome and the number of cycles, in a sentence or two."""
    notes: LoopNotes
