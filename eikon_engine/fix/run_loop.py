"""`debug_loop`: run one debug loop from options to result."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import RequirementError, UsageError
from eikon_engine.fix.appliers.blocks import BlocksApplier
from eikon_engine.fix.conclude import finish_loop
from eikon_engine.fix.cycle_log import CycleLog
from eikon_engine.fix.default_tasks import default_tasks
from eikon_engine.fix.links import require_links_inside
from eikon_engine.fix.loop import DebugLoop, LoopInputs
from eikon_engine.fix.loop_options import LoopOptions, require_valid_options
from eikon_engine.fix.names import non_utf8_warnings, require_utf8
from eikon_engine.fix.session import FixSession, SessionRecord, lock_session, sessions_folder
from eikon_engine.fix.unfinished import recover_tree
from eikon_engine.fix.user_tree import (
    UserTree,
    find_tree,
    relative_paths,
    require_clean,
    require_relative_command,
    require_targets,
    tree_files,
)
from eikon_engine.fix.work_copy import WorkCopy, copy_tree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from eikon_engine.completions import CompletionClient
    from eikon_engine.fix.application import Applier
    from eikon_engine.fix.task_result import TaskResult
    from eikon_engine.fix.tasks import TaskRegistry

_ID_LENGTH: Final = 6
_PYTEST_CONFIGS: Final = (
    "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "pyproject.toml", "tox.ini", "setup.cfg",
)  # fmt: skip
"""Configuration files that pytest searches in parent folders.

Source: https://docs.pytest.org/en/stable/reference/customize.html#finding-the-rootdir
"""
_LIBRARIES: Final = ("bm25s", "defusedxml")


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
        UsageError: the options are invalid; nothing was started.
        WorkingTreeChangedError: an earlier loop was interrupted while it changed the tree, and the tree changed since.
        DirtyTreeError: the tree has uncommitted changes.
        GitMissingError: git is not installed.
        RequirementError: the extra "fix" is not installed.
        OutputError: the session folder cannot be written.
    """
    chosen = applier or BlocksApplier()
    plan = _prepare(options)
    with lock_session(plan.folder):
        copy = WorkCopy(plan.folder, plan.tree.root)
        session = FixSession(plan.folder, _initial_record(options, plan, copy, chosen))
        with _clean_up(session, copy):
            ground = LoopInputs(
                tree=plan.tree,
                copy=copy_tree(plan.tree, plan.folder, plan.also),
                session=plan.folder,
                targets=plan.targets,
                needs_edits=chosen.needs_edits,
                warnings=plan.warnings,
            )
            log = CycleLog(session, options)
            end = DebugLoop(ground, tasks or default_tasks(client, chosen), log, options).run()
            return finish_loop(session, ground, log, end, options)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PreparedLoop:
    """Resolved inputs of a loop."""

    tree: UserTree
    targets: tuple[str, ...]
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
        tree=tree, targets=targets, also=also, begun=begun, folder=folder, warnings=non_utf8_warnings(files)
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
        message = f"missing library: {missing[0]}. Run pip install 'eikon-engine[fix]'."
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
