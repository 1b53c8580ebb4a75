"""Commands answered from the files of a session, whether or not it runs."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING, Literal

from eikon_engine.debug.branches.branch import open_branch, trace_sha256
from eikon_engine.debug.checkpoint_files import checkpoint_path, delete_checkpoint, read_checkpoint, screenshot_path
from eikon_engine.debug.client import Output
from eikon_engine.debug.results import CheckpointChange
from eikon_engine.debug.session_folder import branch_bundle_path
from eikon_engine.debug.timeline import describe_doubts
from eikon_engine.debug.timeline_queries import find_branch_with_steps, find_checkpoint, require_branch, require_no_fork
from eikon_engine.debug.timeline_svg import render_timeline_svg
from eikon_engine.debug.timeline_text import render_timeline_text
from eikon_engine.divergence.bundle_diff import compare_bundles
from eikon_engine.errors import SessionError
from eikon_engine.files.locking import hold_lock
from eikon_engine.files.writing import write_atomically
from eikon_engine.outcome.debug_events import MAIN_BRANCH
from eikon_engine.report.diff_report import render_bundle_diff
from eikon_engine.trace.bundle import open_bundle

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.debug.timeline import Branch, Timeline
    from eikon_engine.trace.bundle import Bundle


def delete_checkpoint_offline(folder: SessionFolder, name: str) -> Output:
    """Remove a checkpoint from the timeline of a session, then its files.

    Raises:
        RequirementError: there is none.
        UsageError: a branch begins at it.
        SessionError: the timeline cannot be read.
        CheckpointError: its files cannot be deleted.
        OutputError: the timeline cannot be written.
    """
    with hold_lock(folder.lock_path):
        timeline = folder.read_timeline()
        branch, entry = find_checkpoint(timeline, name, "checkpoint delete")
        require_no_fork(timeline, entry)
        remaining = tuple(each for each in branch.checkpoints if each.id != entry.id)
        folder.write_timeline(timeline.with_branch(branch.model_copy(update={"checkpoints": remaining})))
        delete_checkpoint(folder.checkpoints, entry.id)
    deleted = CheckpointChange(change="deleted", branch=branch.name, checkpoint=entry)
    return Output(f"{deleted}\n", deleted.model_dump(mode="json"))


def show_timeline(folder: SessionFolder, form: Literal["text", "json", "svg"], output: Path | None) -> Output:
    """Render the timeline; if it is written to a file, report only that.

    Raises:
        SessionError: it cannot be read.
        OutputError: the file cannot be written.
    """
    timeline = folder.read_timeline()
    text = _render_timeline_as(timeline, form, is_shown=output is None)
    if output is not None:
        write_atomically(output, text.encode())
        text = f"{output}: the timeline of session {folder.name}\n"
    return Output(text, timeline.model_dump(mode="json"))


def list_checkpoints(folder: SessionFolder) -> Output:
    """List the checkpoints of all branches.

    Raises:
        SessionError: the timeline cannot be read.
    """
    every = tuple(folder.read_timeline().checkpoints())
    rows: list[JsonValue] = [{"branch": branch.name, **entry.model_dump(mode="json")} for branch, entry in every]
    lines = [
        f"{entry.id}  {branch.name} at {entry.iteration}, {entry.reason}"
        + (f"  {entry.label!r}" if entry.label else "")
        + "".join(f"  {doubt}" for doubt in describe_doubts(entry.evaluations, ()))
        for branch, entry in every
    ]
    return Output("".join(f"{line}\n" for line in lines) or "no checkpoints\n", rows)


def show_checkpoint(folder: SessionFolder, name: str) -> Output:
    """Show one checkpoint after verifying it.

    Raises:
        RequirementError: no such checkpoint.
        CheckpointError: it was modified, or belongs to another trace.
    """
    timeline = folder.read_timeline()
    branch, entry = find_checkpoint(timeline, name, "checkpoint show")
    bundle = _open_branch_bundle(folder, find_branch_with_steps(timeline, branch, entry))
    saved = read_checkpoint(checkpoint_path(folder.checkpoints, entry.id), bundle.trace)
    picture = screenshot_path(folder.checkpoints, entry.id)
    lines = [
        f"{saved.id}: {branch.name} at {saved.iteration}, {saved.reason}, at {saved.timestamp:%Y-%m-%d %H:%M:%S %Z}",
        *([f"label: {saved.label}"] if saved.label else []),
        f"page: {saved.state.url or 'none'}",
        f"steps: {saved.trace_sha256}",
        *(f"{layer}: {digest}" for layer, digest in saved.state.digests.model_dump().items()),
        *(f"run manually at {each.iteration}: {each.expression}" for each in saved.evaluations),
        *([f"screenshot: {picture}"] if picture.exists() else []),
    ]
    return Output("".join(f"{line}\n" for line in lines), saved.model_dump(mode="json"))


def list_branches(folder: SessionFolder) -> Output:
    """List the branches; a star marks the active one.

    Raises:
        SessionError: the timeline cannot be read.
    """
    timeline = folder.read_timeline()
    lines = [_branch_line(branch, is_active=branch.name == timeline.active_branch) for branch in timeline.branches]
    rows: list[JsonValue] = [
        {**branch.model_dump(mode="json"), "current": branch.name == timeline.active_branch}
        for branch in timeline.branches
    ]
    return Output("".join(f"{line}\n" for line in lines), rows)


def diff_branches(folder: SessionFolder, one: str, other: str) -> Output:
    """Compare two branches.

    Raises:
        UsageError: no such branch.
        SessionError: a bundle was modified outside the session.
        TraceError: a bundle cannot be read.
    """
    timeline = folder.read_timeline()
    first, second = (require_branch(timeline, name, "diff") for name in (one, other))
    compared = compare_bundles((one, _open_branch_bundle(folder, first)), (other, _open_branch_bundle(folder, second)))
    found = compared.model_copy(
        update={
            "first": compared.first.model_copy(update={"diverged": _diverged_steps(timeline, first)}),
            "second": compared.second.model_copy(update={"diverged": _diverged_steps(timeline, second)}),
        }
    )
    return Output(render_bundle_diff(found), found.model_dump(mode="json"))


def _diverged_steps(timeline: Timeline, branch: Branch) -> tuple[int, ...]:
    """Return the steps of a branch that differed from the recording in this session."""
    parent = None if branch.parent_branch is None else timeline.find_branch(branch.parent_branch)
    before = () if parent is None else _diverged_steps(timeline, parent)
    own = (each.iteration for each in branch.steps if each.verdict == "diverged" and not each.is_new)
    return (*(each for each in before if each <= branch.fork_iteration), *own)


def _render_timeline_as(timeline: Timeline, form: Literal["text", "json", "svg"], *, is_shown: bool) -> str:
    match form:
        case "text":
            on_terminal = is_shown and sys.stdout.isatty()
            width = shutil.get_terminal_size().columns if on_terminal else None
            return render_timeline_text(timeline, width=width, colour=False)
        case "json":
            return json.dumps(timeline.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n"
        case "svg":
            return render_timeline_svg(timeline)


def _branch_line(branch: Branch, *, is_active: bool) -> str:
    begun = "" if branch.parent_branch is None else f", from {branch.parent_branch} at {branch.fork_point}"
    live = ", live" if branch.is_live else ""
    verdict = f", {branch.verdict}" if branch.verdict else ""
    doubts = f" ({'; '.join(branch.doubts)})" if branch.doubts else ""
    done = f"{branch.iteration} of {branch.step_count}{verdict}{doubts}"
    return f"{'*' if is_active else ' '} {branch.name}: {done}{begun}{live}"


def _open_branch_bundle(folder: SessionFolder, branch: Branch) -> Bundle:
    """Open the bundle of a branch.

    Raises:
        SessionError: its trace changed since the session started.
        TraceError: it cannot be read.
    """
    path = branch_bundle_path(folder, branch)
    if branch.name != MAIN_BRANCH:
        return open_branch(path).bundle
    bundle = open_bundle(path)
    if branch.trace_sha256 not in {None, trace_sha256(bundle.trace)}:
        message = f"{path}: the trace was modified since session {folder.name} started"
        raise SessionError(f"{message}; restore it")
    return bundle
