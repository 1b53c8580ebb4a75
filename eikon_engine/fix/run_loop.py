"""`debug_loop`: one debug loop from its options to its result."""

from __future__ import annotations

import os
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import EikonError, RequirementError, UsageError
from eikon_engine.fix.appliers.blocks import BlocksApplier
from eikon_engine.fix.cycle_log import CycleLog
from eikon_engine.fix.default_tasks import default_tasks
from eikon_engine.fix.hand_over import hand_over
from eikon_engine.fix.loop import DebugLoop, Ground, LoopEnd
from eikon_engine.fix.loop_options import LoopOptions, demand_sensible
from eikon_engine.fix.session import Session, SessionNote, hold_session, sessions_folder
from eikon_engine.fix.summary import content_of, reason_of, render_summary
from eikon_engine.fix.task_result import LoopNotes, StepFailure, TaskResult
from eikon_engine.fix.user_tree import UserTree, demand_clean, demand_targets, find_tree, relative_paths
from eikon_engine.fix.work_copy import WorkCopy, copy_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.completions import CompletionClient
    from eikon_engine.fix.application import Applier
    from eikon_engine.fix.tasks import TaskRegistry

HAND_OVER: Final = "fix:hand_over"
"""What the last step is called, which changes the user's tree."""
_ID_LETTERS: Final = 6
_LIBRARIES: Final = ("bm25s", "defusedxml")


def debug_loop(
    options: LoopOptions,
    *,
    client: CompletionClient,
    applier: Applier | None = None,
    tasks: TaskRegistry | None = None,
) -> TaskResult:
    """Run tests, and mend what fails, until they pass or the cycles are used up.

    `client` is asked for fixes, `applier` makes the changes, blocks and differences if left out; `tasks` are other
    steps than the usual ones, which then ask and apply by themselves. Tests run in a copy of the tree; the tree itself
    is changed at the end, on success or with `options.keep`.

    Raises:
        UsageError: the options cannot be used; nothing was begun.
        DirtyTreeError: the tree has changes that are not committed.
        GitMissingError: there is no git.
        RequirementError: the extra "fix" is not installed.
        OutputError: the session folder cannot be written.
    """
    demand_sensible(options)
    _demand_libraries()
    chosen = applier or BlocksApplier()
    home = (options.sessions or sessions_folder(Path.home(), os.environ)).resolve()
    tree = find_tree(options.cwd, (*options.apart, home))
    _demand_relative(tree, options.test_cmd)
    targets = demand_targets(tree, options.target_files)
    also = relative_paths(tree, options.also, "--also")
    if not options.allow_dirty:
        demand_clean(tree)
    begun = options.now()
    name = f"{begun:%Y%m%dT%H%M%S}-{options.new_id()[:_ID_LETTERS]}"
    folder = home / name
    with hold_session(folder):
        copy = WorkCopy(folder, tree.root)
        note = SessionNote(
            id=name,
            state="running",
            begun_at=begun,
            tree=str(tree.root),
            copy_root=str(copy.root),
            command=options.test_cmd,
            target_files=targets,
            max_cycles=options.max_cycles,
            timeout_seconds=options.timeout_seconds,
            applier=chosen.name,
            keep=options.keep,
            process=os.getpid(),
        )
        session = Session(folder, note)
        with _ended_somehow(session, copy):
            ground = Ground(
                tree=tree,
                copy=copy_tree(tree, folder, also),
                session=folder,
                targets=targets,
                needs_edits=chosen.needs_edits,
            )
            log = CycleLog(session, options)
            end = DebugLoop(ground, tasks or default_tasks(client, chosen), log, options).run()
            return _conclude(session, ground, log, end, options)


def _demand_libraries() -> None:
    """Make sure that the extra "fix" is installed.

    Raises:
        RequirementError: it is not.
    """
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if missing:
        message = f"the debug loop wants the library {missing[0]}, found none; pip install 'eikon-engine[fix]'"
        raise RequirementError(message)


def _demand_relative(tree: UserTree, command: str) -> None:
    """Make sure that a command tests the copy.

    Raises:
        UsageError: it names the user's own tree.
    """
    if f"{tree.root}{os.sep}" in f"{command}{os.sep}" and tree.root != Path(tree.root.anchor):
        message = (
            f"--test-cmd: wanted paths relative to {tree.root}, since tests run in a copy of it, found that path in "
            "the command; write it relatively"
        )
        raise UsageError(message)


@contextmanager
def _ended_somehow(session: Session, copy: WorkCopy) -> Iterator[None]:
    """Say in the session that a loop was cut off, and take its copy away whatever happens."""
    try:
        yield
    except BaseException:
        session.stand(state="interrupted", step=session.note.step)
        raise
    finally:
        copy.remove()


def _conclude(session: Session, ground: Ground, log: CycleLog, end: LoopEnd, options: LoopOptions) -> TaskResult:
    """Change the user's tree if that is wanted, and write the result."""
    copy = ground.copy
    diff = copy.diff(end.base, end.kept)
    session.keep_diff(diff)
    outcome, failure = end.outcome, end.failure
    modified: tuple[str, ...] = ()
    if diff and (outcome == "success" or options.keep):
        session.stand(state="writing", step=HAND_OVER)
        try:
            modified = hand_over(ground.tree.root, copy, copy.changes(end.base, end.kept))
        except EikonError as error:
            outcome = "error"
            failure = StepFailure(
                step=HAND_OVER,
                cycle=max(1, log.cycle),
                code=error.code,
                message=error.message,
                exit_status=error.exit_status,
            )
    notes = LoopNotes(
        outcome=outcome,
        cycles_run=log.cycle,
        final_test_status="unknown" if end.analysis is None else "passed" if end.analysis.passed else "failed",
        modified_files=modified,
        diff=diff,
        termination_reason=reason_of(outcome, log.cycle, failure),
        failure=failure,
        history=log.records,
        closing_test=end.closing_test,
        closing_analysis=end.closing_analysis,
        warnings=end.warnings,
        session=str(session.folder),
    )
    result = TaskResult(status="COMPLETE" if outcome == "success" else "FAILED", content=content_of(notes), notes=notes)
    session.conclude(result, render_summary(result))
    return result
