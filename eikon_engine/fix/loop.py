"""The flow of `debug:loop`: test; while tests fail: analyze, find context, generate a fix, apply it, test again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import NoFixError, StepFailedError
from eikon_engine.fix.deciding_files import ProjectAtFirst, demand_undecided
from eikon_engine.fix.demands import demand_output, demand_usable, demand_within, listed, one_line
from eikon_engine.fix.hand_over import demand_plain_files
from eikon_engine.fix.judging import judge
from eikon_engine.fix.own_files import own_files_named, warning_of
from eikon_engine.fix.programs import read_programs
from eikon_engine.fix.proposal import NoFix
from eikon_engine.fix.session import cycle_folder
from eikon_engine.fix.shadowed import missing_modules
from eikon_engine.fix.step_values import Attempt, ContextQuery, FixOrder, FixQuestion, ScriptRun, TestOutput
from eikon_engine.fix.task_result import Verification, failure_of
from eikon_engine.fix.tasks import ANALYZE, APPLY_FIX, GENERATE_FIX, GET_CONTEXT, RUN_SCRIPT
from eikon_engine.fix.work_copy import ABSENT
from eikon_engine.trace.wording import counted

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.fix.application import Application
    from eikon_engine.fix.cycle_log import CycleLog
    from eikon_engine.fix.failure import Analysis
    from eikon_engine.fix.loop_options import LoopOptions
    from eikon_engine.fix.proposal import Fix
    from eikon_engine.fix.task_result import Outcome, StepFailure
    from eikon_engine.fix.tasks import TaskRegistry
    from eikon_engine.fix.test_run import TestRun
    from eikon_engine.fix.user_tree import UserTree
    from eikon_engine.fix.work_copy import WorkCopy


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The inputs of a loop: trees, session, target files."""

    tree: UserTree
    copy: WorkCopy
    session: Path
    targets: tuple[str, ...]
    """Relative to the tree."""
    needs_edits: bool
    """See `Applier.needs_edits`."""
    warnings: tuple[str, ...] = ()
    """Known limitations of the result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopEnd:
    """Result of a loop, before anything is written to the user's tree."""

    outcome: Outcome
    base: str
    """State of the copy when the loop started."""
    kept: str
    """State with all kept fixes."""
    analysis: Analysis | None
    """Analysis of the tests in state `kept`; None if no test run completed."""
    failure: StepFailure | None = None
    closing_test: TestRun | None = None
    closing_analysis: Analysis | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pending:
    """A fix that is applied but not yet tested."""

    cycle: int
    state: str
    diff: str


class DebugLoop:
    """One loop; it works in the copy and never touches the user's tree."""

    def __init__(self, ground: Ground, tasks: TaskRegistry, log: CycleLog, options: LoopOptions) -> None:
        """Start with the copy as it is."""
        self._ground = ground
        self._tasks = tasks
        self._log = log
        self._options = options
        self._base = self._kept = ground.copy.take()
        self._analysis: Analysis | None = None
        self._failed: frozenset[str] = frozenset()
        self._project: ProjectAtFirst | None = None
        self._pending: _Pending | None = None
        self._attempts: list[Attempt] = []
        self._warnings = list(ground.warnings)
        self._is_own_told = False
        self._closing: tuple[TestRun, Analysis] | None = None

    def run(self) -> LoopEnd:
        """Run cycles until the tests pass, the cycle limit is reached, or a step fails."""
        try:
            return self._end(self._cycles())
        except StepFailedError as failed:
            failure = failure_of(failed.step, self._log.cycle, failed.cause)
            return self._end("error", failure)

    def _cycles(self) -> Outcome:
        for _ in range(self._options.max_cycles):
            self._log.begin()
            run, analysis = self._test(cycle_folder(self._log.cycle))
            self._log.note(self._log.cycle, test=run, analysis=analysis)
            if self._weigh(run, analysis):
                return "success"
            self._try_fix()
        run, analysis = self._closing = self._test(f"{cycle_folder(self._log.cycle)}/closing")
        return "success" if self._weigh(run, analysis) else "max_cycles"

    def _test(self, folder: str) -> tuple[TestRun, Analysis]:
        """Run the tests with the pending fix, if any, and analyze the output."""
        ground, options = self._ground, self._options
        with self._log.at(RUN_SCRIPT.name):
            ground.copy.bring_back(self._kept if self._pending is None else self._pending.state)
            order = ScriptRun(
                command=options.test_cmd,
                tree=ground.copy.root,
                original=ground.tree.root,
                cwd=ground.tree.cwd,
                session=ground.session,
                folder=folder,
                timeout_seconds=options.timeout_seconds,
            )
            run = self._tasks.perform(RUN_SCRIPT, order)
            self._log.tell(f"{RUN_SCRIPT.name}: {_ended(run)}")
            demand_output(run, ground.session)
            if self._pending is None:
                demand_usable(run, ground.session, options)
            self._look_for_own_files(run)
        with self._log.at(ANALYZE.name):
            output = TestOutput(run=run, session=ground.session, tree=ground.copy.root, failed_before=self._failed)
            analysis = self._tasks.perform(ANALYZE, output)
            self._log.tell(f"{ANALYZE.name}: {analysis.summary}")
        return run, analysis

    def _look_for_own_files(self, run: TestRun) -> None:
        """Warn once if tests read the user's tree instead of the copy."""
        ground = self._ground
        named = own_files_named(run, ground.session, ground.tree.root, ground.copy.root)
        if named and not self._is_own_told:
            self._is_own_told = True
            self._warn(warning_of(named, ground.tree.root))

    def _warn(self, warning: str) -> None:
        """Record and report a warning once."""
        if warning not in self._warnings:
            self._warnings.append(warning)
            self._log.tell(f"warning: {warning}")

    def _weigh(self, run: TestRun, analysis: Analysis) -> bool:
        """Keep the pending fix if it helped, otherwise roll it back; return whether the tests passed."""
        pending, self._pending = self._pending, None
        if pending is None or self._analysis is None:
            self._hold(analysis)
            return run.passed
        judgement = judge(self._analysis, analysis, run)
        is_kept = judgement in {"passed", "helped"}
        self._log.note(pending.cycle, verification=Verification(judgement=judgement, rolled_back=not is_kept))
        if is_kept:
            self._warn_of_lost_ends(self._analysis, analysis)
            self._kept = pending.state
            self._hold(analysis)
        else:
            self._attempts.append(Attempt(cycle=pending.cycle, diff=pending.diff, outcome=_outcome(analysis)))
            self._log.tell(f"the fix of cycle {pending.cycle} is rolled back: {_REASONS[judgement]}")
        if judgement == "unclear":
            self._warn(_UNCLEAR)
        return judgement == "passed"

    def _hold(self, analysis: Analysis) -> None:
        """Store the analysis of the kept state; every test that ever failed must pass at the end."""
        self._analysis = analysis
        self._failed |= analysis.failing

    def _warn_of_lost_ends(self, before: Analysis, after: Analysis) -> None:
        """Warn if a runner printed its closing line before the fix but not with it."""
        lost = [each for each in before.closed_by if each not in after.closed_by]
        if lost:
            self._warn(
                f"with the fix, the output no longer has the closing line of {listed(tuple(lost))}: the fix may have "
                "stopped the tests. Review the diff and the output."
            )

    def _try_fix(self) -> None:
        """Generate a fix for the first failure and apply it to the copy."""
        ground, analysis = self._ground, self._analysis
        if analysis is None:  # pragma: no cover - the first test run sets it
            return
        with self._log.at(GET_CONTEXT.name):
            self._bring_back()
            query = ContextQuery(
                analysis=analysis,
                targets=ground.targets,
                tree=ground.copy.root,
                history=ground.tree.root if ground.tree.is_git else None,
                token_budget=self._options.token_budget,
            )
            context = self._tasks.perform(GET_CONTEXT, query)
            self._log.note(self._log.cycle, context=context)
            self._log.tell(f"{GET_CONTEXT.name}: {counted(len(context.pieces), 'piece')} of {listed(context.files)}")
        with self._log.at(GENERATE_FIX.name):
            question = FixQuestion(
                analysis=analysis,
                context=context,
                targets=ground.targets,
                earlier=tuple(self._attempts),
                command=self._options.test_cmd,
                needs_edits=ground.needs_edits,
            )
            proposal = self._tasks.perform(GENERATE_FIX, question)
            self._log.note(self._log.cycle, proposal=proposal)
            if isinstance(proposal, NoFix):
                message = f"the model found no fix: {one_line(proposal.reason)}. Fix it manually."
                raise NoFixError(message)
        with self._log.at(APPLY_FIX.name):
            self._apply(proposal)

    def _bring_back(self) -> None:
        """Restore the last kept state; the initial state is the reference for checking fixes."""
        ground, options = self._ground, self._options
        ground.copy.bring_back(self._kept)
        if self._project is None and not ground.targets:
            programs = read_programs(ground.copy.root, options.test_cmd, ground.tree.cwd)
            self._project = ProjectAtFirst(command=options.test_cmd, cwd=ground.tree.cwd, programs=programs)

    def _apply(self, fix: Fix) -> None:
        """Apply a fix to the copy; the changed files are computed from the copy, not taken from the applier."""
        ground = self._ground
        order = FixOrder(fix=fix, tree=ground.copy.root, targets=ground.targets)
        told = self._tasks.perform(APPLY_FIX, order)
        state = ground.copy.take()
        changes = ground.copy.changes(self._kept, state)
        files = tuple(sorted(change.path for change in changes))
        demand_within(files, ground.targets)
        if self._project is not None:
            made = {change.path for change in changes if change.mode_before == ABSENT}
            demand_undecided(files, made, missing_modules(self._analysis), self._project)
        demand_plain_files(changes)
        diff = ground.copy.diff(self._kept, state)
        application: Application = told.model_copy(update={"files": files, "diff": diff})
        self._log.note(self._log.cycle, application=application)
        self._log.tell(f"{APPLY_FIX.name}: changed {listed(files)}")
        self._pending = _Pending(cycle=self._log.cycle, state=state, diff=diff)

    def _end(self, outcome: Outcome, failure: StepFailure | None = None) -> LoopEnd:
        test, analysis = self._closing or (None, None)
        return LoopEnd(
            outcome=outcome,
            base=self._base,
            kept=self._kept,
            analysis=self._analysis,
            failure=failure,
            closing_test=test,
            closing_analysis=analysis,
            warnings=tuple(self._warnings),
        )


_REASONS: Final = {
    "passed": "",
    "helped": "",
    "no_help": "it did not help",
    "broke_more": "other tests fail with it",
    "unproved": "tests that failed before did not run and pass",
    "unclear": "pytest stopped early without reporting which tests ran, so it is unknown whether it helped",
}
_UNCLEAR: Final = (
    "pytest stops early, and neither a JUnit report nor -v shows which tests ran, so a fix of the first failure alone "
    "is rolled back. Run pytest without -x, or add -v."
)


def _ended(run: TestRun) -> str:
    how = {
        "exited": f"exit status {run.exit_status}",
        "killed": f"killed by signal {run.signal}",
        "timed_out": "timed out",
        "not_started": "could not start",
    }[run.ended]
    return f"{how} after {run.duration_ms / 1000:.1f} s"


def _outcome(analysis: Analysis) -> str:
    first = analysis.first
    return analysis.summary if first is None else f"{first.id}: {one_line(first.message)}"
