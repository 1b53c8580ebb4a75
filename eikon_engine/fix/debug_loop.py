"""`debug_loop`: run one debug loop from options to result."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import EikonError, RequirementError, UsageError
from eikon_engine.files.extras import install_command
from eikon_engine.fix.appliers.blocks import BlocksApplier
from eikon_engine.fix.change_policy import read_policy
from eikon_engine.fix.loop import DebugLoop, LoopInputs
from eikon_engine.fix.models import LoopNotes, TaskResult, step_failure
from eikon_engine.fix.options import LoopOptions, require_valid_options
from eikon_engine.fix.session import CycleLog, FixSession, SessionRecord, lock_session, sessions_folder
from eikon_engine.fix.summary import end_reason, render_summary, result_sentence
from eikon_engine.fix.tasks import default_tasks
from eikon_engine.fix.user_tree import (
    UserTree,
    find_tree,
    non_utf8_warnings,
    relative_paths,
    require_clean,
    require_links_inside,
    require_relative_command,
    require_targets,
    require_utf8,
    tree_files,
)
from eikon_engine.fix.work_copy import WorkCopy, copy_tree
from eikon_engine.fix.write_back import delete_journal, recover_tree, write_back

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from eikon_engine.fix.change_policy import ChangePolicy
    from eikon_engine.fix.loop import LoopResult
    from eikon_engine.fix.models import Applier
    from eikon_engine.fix.tasks import TaskRegistry
    from eikon_engine.llm import CompletionClient

WRITE_BACK: Final = "fix:write_back"
"""Name of the last step, which writes to the user's tree."""


def finish_loop(
    session: FixSession, inputs: LoopInputs, log: CycleLog, end: LoopResult, options: LoopOptions
) -> TaskResult:
    """Write kept fixes to the user's tree if wanted, store and return the result."""
    copy = inputs.copy
    diff = copy.diff(end.base, end.kept)
    session.write_diff(diff)
    outcome, failure = end.outcome, end.failure
    modified: tuple[str, ...] = ()
    warnings = end.warnings
    if diff and (outcome == "success" or options.keep):
        session.update_progress(state="writing", step=WRITE_BACK)
        try:
            modified = write_back(inputs.tree.root, copy, copy.changes(end.base, end.kept))
        except EikonError as error:
            second = step_failure(WRITE_BACK, log.cycle, error)
            if failure is None:
                outcome, failure = "error", second
            else:
                warnings = (*warnings, f"{WRITE_BACK}: {second.message}")
    notes = LoopNotes(
        outcome=outcome,
        cycles_run=log.cycle,
        final_test_status="unknown" if end.analysis is None else "passed" if end.analysis.passed else "failed",
        modified_files=modified,
        diff=diff,
        termination_reason=end_reason(outcome, log.cycle, failure),
        failure=failure,
        history=log.records,
        closing_test=end.closing_test,
        closing_analysis=end.closing_analysis,
        warnings=warnings,
        session=str(session.folder),
    )
    result = TaskResult(
        status="COMPLETE" if outcome == "success" else "FAILED", content=result_sentence(notes), notes=notes
    )
    session.finish(result, render_summary(result))
    delete_journal(session.folder)
    return result


_ID_LENGTH: Final = 6
_PYTEST_CONFIGS: Final = (
    "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "pyproject.toml", "tox.ini", "setup.cfg",
)  # fmt: skip
"""Configuration files that pytest searches in parent folders.

Source: https://docs.pytest.org/en/stable/reference/customize.html#finding-the-rootdir
"""
_LIBRARIES: Final = ("bm25s", "defusedxml", "pathspec")


def debug_loop(
    options: LoopOptions,
    *,
    client: CompletionClient,
    applier: Applier | None = None,
    tasks: TaskRegistry | None = None,
) -> TaskResult:
    """Run tests and fix failures until they pass or the cycle limit is reached.

    `client` generates fixes and `applier` applies them, by default search/replace blocks and diffs; `tasks` overrides
    the steps, which then generate and apply by themselves. Tests run in a copy of the tree; the tree itself is changed
    at the end, on success or with `options.keep`.

    Raises:
        UsageError: the options are invalid; nothing was started; the tree has uncommitted changes.
        WorkingTreeChangedError: an earlier loop was interrupted while it changed the tree, and the tree changed since.
        RequirementError: git is not installed; the extra "fix" is not installed.
        OutputError: the session folder cannot be written.
    """
    chosen = applier or BlocksApplier()
    plan = _prepare(options)
    with lock_session(plan.folder):
        copy = WorkCopy(plan.folder, plan.tree.root)
        session = FixSession(plan.folder, _initial_record(options, plan, copy, chosen))
        with _clean_up(session, copy):
            inputs = LoopInputs(
                tree=plan.tree,
                copy=copy_tree(plan.tree, plan.folder, plan.also),
                session=plan.folder,
                targets=plan.targets,
                policy=plan.policy,
                needs_edits=chosen.needs_edits,
                warnings=plan.warnings,
            )
            log = CycleLog(session, options)
            end = DebugLoop(inputs, tasks or default_tasks(client, chosen), log, options).run()
            return finish_loop(session, inputs, log, end, options)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PreparedLoop:
    """Resolved inputs of a loop."""

    tree: UserTree
    targets: tuple[str, ...]
    policy: ChangePolicy
    also: tuple[str, ...]
    begun: datetime
    folder: Path
    """Session folder, not created yet."""
    warnings: tuple[str, ...]


def _prepare(options: LoopOptions) -> _PreparedLoop:
    """Check everything that can be checked before writing a file; roll back interrupted changes first."""
    require_valid_options(options)
    _require_libraries()
    home = (options.sessions_dir or sessions_folder(Path.home(), os.environ)).resolve()
    tree = find_tree(options.cwd, options.excluded_folders)
    require_utf8("project folder", str(tree.root / tree.cwd))
    require_utf8("--sessions-dir", str(home))
    _require_outside(home, tree)
    require_relative_command(tree, options.test_cmd)
    targets = require_targets(tree, options.target_files)
    policy = read_policy(tree.root, options)
    also = relative_paths(tree, options.extra_files, "--also")
    for line in recover_tree(home, tree.root):
        options.on_progress(line)
    if not options.allow_dirty:
        require_clean(tree)
    files = tree_files(tree, also)
    require_links_inside(tree.root, files)
    begun = options.now()
    folder = home / f"{begun:%Y%m%dT%H%M%S}-{options.new_id()[:_ID_LENGTH]}"
    return _PreparedLoop(
        tree=tree,
        targets=targets,
        policy=policy,
        also=also,
        begun=begun,
        folder=folder,
        warnings=non_utf8_warnings(files),
    )


def _require_outside(sessions: Path, tree: UserTree) -> None:
    """Check that the session folder is outside the tree and not below a pytest configuration.

    Raises:
        UsageError: it is not.
    """
    if sessions.is_relative_to(tree.root):
        message = f"--sessions-dir: expected a folder outside {tree.root}, got {sessions}. Choose another."
        raise UsageError(message)
    above = (each / name for each in (sessions, *sessions.parents) for name in _PYTEST_CONFIGS)
    settings = next((each for each in above if each.exists()), None)
    if settings is not None:
        message = (
            f"--sessions-dir: expected a folder without a pytest configuration in it or its parents, got {settings}: "
            "tests in the copy would use it. Choose another folder."
        )
        raise UsageError(message)


def _initial_record(options: LoopOptions, plan: _PreparedLoop, copy: WorkCopy, applier: Applier) -> SessionRecord:
    return SessionRecord(
        id=plan.folder.name,
        state="running",
        begun_at=plan.begun,
        tree=str(plan.tree.root),
        copy_root=str(copy.root),
        command=options.test_cmd,
        target_files=plan.targets,
        max_cycles=options.max_cycles,
        timeout_seconds=options.timeout_seconds,
        applier=applier.name,
        keep=options.keep,
        process=os.getpid(),
    )


def _require_libraries() -> None:
    """Check that the extra "fix" is installed.

    Raises:
        RequirementError: it is not.
    """
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if missing:
        message = f"missing library: {missing[0]}. Run {install_command('fix')}."
        raise RequirementError(message)


@contextmanager
def _clean_up(session: FixSession, copy: WorkCopy) -> Iterator[None]:
    """Mark the session as interrupted if the block fails, and always remove the copy."""
    try:
        yield
    except BaseException:
        session.update_progress(state="interrupted", step=session.record.step)
        raise
    finally:
        copy.remove()
