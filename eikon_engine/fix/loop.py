"""The flow of `debug:loop`: test; while tests fail: analyze, find context, generate a fix, apply it, test again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import FixError, FixTaskFailedError
from eikon_engine.files.text import pluralize
from eikon_engine.fix.change_policy import missing_modules, require_allowed_changes, scan_project
from eikon_engine.fix.models import (
    AnalysisInput,
    ApplyFixInput,
    ContextQuery,
    FixRequest,
    NoFix,
    RolledBackFix,
    RunScriptInput,
    Verification,
    step_failure,
)
from eikon_engine.fix.session import cycle_folder
from eikon_engine.fix.tasks import ANALYZE, APPLY_FIX, GENERATE_FIX, GET_CONTEXT, RUN_SCRIPT
from eikon_engine.fix.verification import (
    evaluate_fix,
    join_names,
    one_line,
    original_files_used,
    original_files_warning,
    require_output,
    require_provable,
    require_target_files,
    require_usable_command,
)
from eikon_engine.fix.work_copy import ABSENT
from eikon_engine.fix.write_back import require_regular_files

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.fix.change_policy import ChangePolicy, OriginalProject
    from eikon_engine.fix.models import Analysis, AppliedFix, LoopOutcome, StepFailure, TestRun, TextFix
    from eikon_engine.fix.options import LoopOptions
    from eikon_engine.fix.session import CycleLog
    from eikon_engine.fix.tasks import TaskRegistry
    from eikon_engine.fix.user_tree import UserTree
    from eikon_engine.fix.work_copy import WorkCopy


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopInputs:
    """The inputs of a loop: trees, session, target files."""

    tree: UserTree
    copy: WorkCopy
    session: Path
    targets: tuple[str, ...]
    """Relative to the tree."""
    policy: ChangePolicy
    """What a fix may change if there are no targets."""
    needs_edits: bool
    """See `Applier.needs_edits`."""
    warnings: tuple[str, ...] = ()
    """Known limitations of the result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopResult:
    """Result of a loop, before anything is written to the user's tree."""

    outcome: LoopOutcome
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
class _PendingFix:
    """A fix that is applied but not yet tested."""

    cycle: int
    state: str
    diff: str


class DebugLoop:
    """One loop; it works in the copy and never touches the user's tree."""

    def __init__(self, inputs: LoopInputs, tasks: TaskRegistry, log: CycleLog, options: LoopOptions) -> None:
        """Start with the copy as it is."""
        self._inputs = inputs
        self._tasks = tasks
        self._log = log
        self._options = options
        self._base = self._kept = inputs.copy.store_state()
        self._analysis: Analysis | None = None
        self._ever_failed: frozenset[str] = frozenset()
        self._project: OriginalProject | None = None
        self._pending: _PendingFix | None = None
        self._attempts: list[RolledBackFix] = []
        self._warnings = list(inputs.warnings)
        self._has_warned_about_original = False
        self._closing: tuple[TestRun, Analysis] | None = None

    def run(self) -> LoopResult:
        """Run cycles until the tests pass, the cycle limit is reached, or a step fails."""
        try:
            return self._loop_result(self._run_cycles())
        except FixTaskFailedError as failed:
            failure = step_failure(failed.step, self._log.cycle, failed.cause)
            return self._loop_result("error", failure)

    def _run_cycles(self) -> LoopOutcome:
        for _ in range(self._options.max_cycles):
            self._log.start_cycle()
            if self._pending is not None or self._analysis is None:
                run, analysis = self._test(cycle_folder(self._log.cycle))
                self._log.update(self._log.cycle, test=run, analysis=analysis)
                if self._keep_or_roll_back(run, analysis):
                    return "success"
            self._try_fix()
        run, analysis = self._closing = self._test(f"{cycle_folder(self._log.cycle)}/closing")
        return "success" if self._keep_or_roll_back(run, analysis) else "max_cycles"

    def _test(self, folder: str) -> tuple[TestRun, Analysis]:
        """Run the tests with the pending fix, if any, and analyze the output."""
        inputs, options = self._inputs, self._options
        with self._log.step(RUN_SCRIPT.name):
            inputs.copy.restore(self._kept if self._pending is None else self._pending.state)
            order = RunScriptInput(
                command=options.test_cmd,
                tree=inputs.copy.root,
                original=inputs.tree.root,
                cwd=inputs.tree.cwd,
                session=inputs.session,
                folder=folder,
                timeout_seconds=options.timeout_seconds,
            )
            run = self._tasks.run(RUN_SCRIPT, order)
            self._log.report(f"{RUN_SCRIPT.name}: {_describe_end(run)}")
            require_output(run, inputs.session)
            if self._pending is None:
                require_usable_command(run, inputs.session, options)
                if not inputs.targets and not inputs.policy.allow:
                    require_provable(run)
            self._warn_about_original_files(run)
        with self._log.step(ANALYZE.name):
            output = AnalysisInput(
                run=run, session=inputs.session, tree=inputs.copy.root, failed_before=self._ever_failed
            )
            analysis = self._tasks.run(ANALYZE, output)
            self._log.report(f"{ANALYZE.name}: {analysis.summary}")
        return run, analysis

    def _warn_about_original_files(self, run: TestRun) -> None:
        """Warn once if tests read the user's tree instead of the copy."""
        inputs = self._inputs
        named = original_files_used(run, inputs.session, inputs.tree.root, inputs.copy.root)
        if named and not self._has_warned_about_original:
            self._has_warned_about_original = True
            self._warn(original_files_warning(named, inputs.tree.root))

    def _warn(self, warning: str) -> None:
        """Record and report a warning once."""
        if warning not in self._warnings:
            self._warnings.append(warning)
            self._log.report(f"warning: {warning}")

    def _keep_or_roll_back(self, run: TestRun, analysis: Analysis) -> bool:
        """Keep the pending fix if it helped, otherwise roll it back; return whether the tests passed."""
        pending, self._pending = self._pending, None
        if pending is None or self._analysis is None:
            self._store_analysis(analysis)
            return run.passed
        judgement = evaluate_fix(self._analysis, analysis, run)
        is_kept = judgement in {"passed", "helped"}
        self._log.update(pending.cycle, verification=Verification(judgement=judgement, rolled_back=not is_kept))
        if is_kept:
            self._warn_about_missing_closing_lines(self._analysis, analysis)
            self._kept = pending.state
            self._store_analysis(analysis)
        else:
            self._attempts.append(
                RolledBackFix(cycle=pending.cycle, diff=pending.diff, outcome=_failure_line(analysis))
            )
            self._log.report(f"the fix of cycle {pending.cycle} is rolled back: {_ROLLBACK_REASONS[judgement]}")
        if judgement == "unclear":
            self._warn(_STOPPED_EARLY_WARNING)
        return judgement == "passed"

    def _store_analysis(self, analysis: Analysis) -> None:
        """Store the analysis of the kept state; every test that ever failed must pass at the end."""
        self._analysis = analysis
        self._ever_failed |= analysis.failing

    def _warn_about_missing_closing_lines(self, before: Analysis, after: Analysis) -> None:
        """Warn if a runner printed its closing line before the fix but not with it."""
        lost = [each for each in before.closed_by if each not in after.closed_by]
        if lost:
            self._warn(
                "with the fix, the output no longer has the closing line of "
                f"{join_names(tuple(lost))}: the fix may have "
                "stopped the tests. Review the diff and the output."
            )

    def _try_fix(self) -> None:
        """Generate a fix for the first failure and apply it to the copy.

        A fix that does not apply, or changes files that it must not, is reported to the model in the next cycle; in the
        last one it ends the loop.
        """
        inputs, analysis = self._inputs, self._analysis
        if analysis is None:  # pragma: no cover - the first test run sets it
            return
        with self._log.step(GET_CONTEXT.name):
            self._restore_kept()
            query = ContextQuery(
                analysis=analysis,
                targets=inputs.targets,
                tree=inputs.copy.root,
                history=inputs.tree.root if inputs.tree.is_git else None,
                token_budget=self._options.token_budget,
            )
            context = self._tasks.run(GET_CONTEXT, query)
            self._log.update(self._log.cycle, context=context)
            self._log.report(
                f"{GET_CONTEXT.name}: {pluralize(len(context.pieces), 'piece')} of {join_names(context.files)}"
            )
        with self._log.step(GENERATE_FIX.name):
            question = FixRequest(
                analysis=analysis,
                context=context,
                targets=inputs.targets,
                rolled_back=tuple(self._attempts),
                command=self._options.test_cmd,
                needs_edits=inputs.needs_edits,
                allow=inputs.policy.allow,
                protect=inputs.policy.protect,
            )
            proposal = self._tasks.run(GENERATE_FIX, question)
            self._log.update(self._log.cycle, proposal=proposal)
            if isinstance(proposal, NoFix):
                message = f"the model found no fix: {one_line(proposal.reason)}. Fix it manually."
                raise FixError(message, code="no-fix")
        try:
            with self._log.step(APPLY_FIX.name):
                self._apply(proposal)
        except FixTaskFailedError as failed:
            if failed.cause.code != "patch-rejected" or self._log.cycle == self._options.max_cycles:
                raise
            self._refuse(proposal, failed.cause.message)

    def _refuse(self, fix: TextFix, reason: str) -> None:
        """Record a fix that was not applied, for the prompt of the next cycle."""
        refusal = one_line(reason.replace(str(self._inputs.copy.root), "."))
        self._attempts.append(RolledBackFix(cycle=self._log.cycle, diff=fix.text, outcome=f"refused: {refusal}"))
        self._log.update(self._log.cycle, refusal=refusal)
        self._log.report(f"the fix of cycle {self._log.cycle} is refused: {refusal}")

    def _restore_kept(self) -> None:
        """Restore the last kept state; the initial state is the reference for checking fixes."""
        inputs, options = self._inputs, self._options
        inputs.copy.restore(self._kept)
        if self._project is None and not inputs.targets:
            self._project = scan_project(inputs.copy.root, options.test_cmd, inputs.tree.cwd)

    def _apply(self, fix: TextFix) -> None:
        """Apply a fix to the copy; the changed files are computed from the copy, not taken from the applier."""
        inputs = self._inputs
        order = ApplyFixInput(fix=fix, tree=inputs.copy.root, targets=inputs.targets)
        applied = self._tasks.run(APPLY_FIX, order)
        state = inputs.copy.store_state()
        changes = inputs.copy.changes(self._kept, state)
        files = tuple(sorted(change.path for change in changes))
        require_target_files(files, inputs.targets)
        if self._project is not None:
            made = {change.path for change in changes if change.mode_before == ABSENT}
            require_allowed_changes(
                files,
                made,
                self._project,
                inputs.policy,
                missing=missing_modules(self._analysis),
                failing=self._ever_failed,
            )
        require_regular_files(changes)
        diff = inputs.copy.diff(self._kept, state)
        application: AppliedFix = applied.model_copy(update={"files": files, "diff": diff})
        self._log.update(self._log.cycle, application=application)
        self._log.report(f"{APPLY_FIX.name}: changed {join_names(files)}")
        self._pending = _PendingFix(cycle=self._log.cycle, state=state, diff=diff)

    def _loop_result(self, outcome: LoopOutcome, failure: StepFailure | None = None) -> LoopResult:
        test, analysis = self._closing or (None, None)
        return LoopResult(
            outcome=outcome,
            base=self._base,
            kept=self._kept,
            analysis=self._analysis,
            failure=failure,
            closing_test=test,
            closing_analysis=analysis,
            warnings=tuple(self._warnings),
        )


_ROLLBACK_REASONS: Final = {
    "passed": "",
    "helped": "",
    "no_help": "it did not help",
    "broke_more": "other tests fail with it",
    "unproved": "tests that failed before did not run and pass",
    "unclear": "pytest stopped early without reporting which tests ran, so it is unknown whether it helped",
}
_STOPPED_EARLY_WARNING: Final = (
    "pytest stops early, and neither a JUnit report nor -v shows which tests ran, so a fix of the first failure alone "
    "is rolled back. Run pytest without -x, or add -v."
)


def _describe_end(run: TestRun) -> str:
    how = {
        "exited": f"exit status {run.exit_status}",
        "killed": f"killed by signal {run.signal}",
        "timed_out": "timed out",
        "not_started": "could not start",
    }[run.ended]
    return f"{how} after {run.duration_ms / 1000:.1f} s"


def _failure_line(analysis: Analysis) -> str:
    first = analysis.first
    return analysis.summary if first is None else f"{first.id}: {one_line(first.message)}"
