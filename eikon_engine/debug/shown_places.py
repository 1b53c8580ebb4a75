"""Answer queries from the files of a session: timeline, checkpoints and branches, as text and JSON."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING, Literal

from eikon_engine.debug.asked import Told
from eikon_engine.debug.branches.branch import open_branch, trace_sha256
from eikon_engine.debug.branches.diff import diff_ways
from eikon_engine.debug.branches.diff_text import render_branch_diff
from eikon_engine.debug.checkpoint import checkpoint_file, read_checkpoint, screenshot_file
from eikon_engine.debug.doubts import doubts_of
from eikon_engine.debug.passing import holder
from eikon_engine.debug.place_in_timeline import demand_branch, find_checkpoint
from eikon_engine.debug.session_folder import bundle_path
from eikon_engine.debug.timeline_svg import draw_timeline
from eikon_engine.debug.timeline_text import render_timeline
from eikon_engine.errors import SessionError
from eikon_engine.outcome.debug_events import MAIN_BRANCH
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.whole_file import write_whole

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.debug.timeline import Branch, Timeline
    from eikon_engine.trace.bundle import Bundle


def told_timeline(folder: SessionFolder, form: Literal["text", "json", "svg"], output: Path | None) -> Told:
    """Render the timeline; if it is written to a file, report only that.

    Raises:
        SessionError: it cannot be read.
        OutputError: the file cannot be written.
    """
    timeline = folder.read_timeline()
    text = _drawn(timeline, form, is_shown=output is None)
    if output is not None:
        write_whole(output, text.encode())
        text = f"{output}: the timeline of session {folder.name}\n"
    return Told(text, timeline.model_dump(mode="json"))


def told_checkpoints(folder: SessionFolder) -> Told:
    """List the checkpoints of all branches.

    Raises:
        SessionError: the timeline cannot be read.
    """
    every = tuple(folder.read_timeline().checkpoints())
    rows: list[JsonValue] = [{"branch": branch.name, **entry.model_dump(mode="json")} for branch, entry in every]
    lines = [
        f"{entry.id}  {branch.name} at {entry.iteration}, {entry.reason}"
        + (f"  {entry.label!r}" if entry.label else "")
        + "".join(f"  {doubt}" for doubt in doubts_of(entry.evaluations, ()))
        for branch, entry in every
    ]
    return Told("".join(f"{line}\n" for line in lines) or "no checkpoints\n", rows)


def told_checkpoint(folder: SessionFolder, name: str) -> Told:
    """Show one checkpoint after verifying it.

    Raises:
        CheckpointMissingError: no such checkpoint.
        CheckpointError: it was modified, or belongs to another trace.
    """
    timeline = folder.read_timeline()
    branch, entry = find_checkpoint(timeline, name, "checkpoint show")
    bundle = _bundle(folder, holder(timeline, branch, entry))
    saved = read_checkpoint(checkpoint_file(folder.checkpoints, entry.id), bundle.trace)
    picture = screenshot_file(folder.checkpoints, entry.id)
    lines = [
        f"{saved.id}: {branch.name} at {saved.iteration}, {saved.reason}, at {saved.timestamp:%Y-%m-%d %H:%M:%S %Z}",
        *([f"label: {saved.label}"] if saved.label else []),
        f"page: {saved.state.url or 'none'}",
        f"steps: {saved.trace_sha256}",
        *(f"{layer}: {digest}" for layer, digest in saved.state.digests.model_dump().items()),
        *(f"run manually at {each.iteration}: {each.expression}" for each in saved.evaluations),
        *([f"screenshot: {picture}"] if picture.exists() else []),
    ]
    return Told("".join(f"{line}\n" for line in lines), saved.model_dump(mode="json"))


def told_branches(folder: SessionFolder) -> Told:
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
    return Told("".join(f"{line}\n" for line in lines), rows)


def told_diff(folder: SessionFolder, one: str, other: str) -> Told:
    """Compare two branches.

    Raises:
        BranchError: no such branch.
        SessionError: a bundle was modified outside the session.
        TraceError: a bundle cannot be read.
    """
    timeline = folder.read_timeline()
    first, second = (demand_branch(timeline, name, "diff") for name in (one, other))
    ways = diff_ways((one, _bundle(folder, first)), (other, _bundle(folder, second)))
    found = ways.model_copy(
        update={
            "first": ways.first.model_copy(update={"diverged": _seen_otherwise(timeline, first)}),
            "second": ways.second.model_copy(update={"diverged": _seen_otherwise(timeline, second)}),
        }
    )
    return Told(render_branch_diff(found), found.model_dump(mode="json"))


def _seen_otherwise(timeline: Timeline, branch: Branch) -> tuple[int, ...]:
    """Return the steps of a branch that differed from the recording in this session."""
    parent = None if branch.parent_branch is None else timeline.branch(branch.parent_branch)
    before = () if parent is None else _seen_otherwise(timeline, parent)
    own = (each.iteration for each in branch.steps if each.verdict == "diverged" and not each.is_new)
    return (*(each for each in before if each <= branch.fork_iteration), *own)


def _drawn(timeline: Timeline, form: Literal["text", "json", "svg"], *, is_shown: bool) -> str:
    match form:
        case "text":
            on_terminal = is_shown and sys.stdout.isatty()
            width = shutil.get_terminal_size().columns if on_terminal else None
            return render_timeline(timeline, width=width, colour=False)
        case "json":
            return json.dumps(timeline.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n"
        case "svg":
            return draw_timeline(timeline)


def _branch_line(branch: Branch, *, is_active: bool) -> str:
    begun = "" if branch.parent_branch is None else f", from {branch.parent_branch} at {branch.fork_point}"
    live = ", live" if branch.is_live else ""
    verdict = f", {branch.verdict}" if branch.verdict else ""
    doubts = f" ({'; '.join(branch.doubts)})" if branch.doubts else ""
    done = f"{branch.iteration} of {branch.step_count}{verdict}{doubts}"
    return f"{'*' if is_active else ' '} {branch.name}: {done}{begun}{live}"


def _bundle(folder: SessionFolder, branch: Branch) -> Bundle:
    """Open the bundle of a branch.

    Raises:
        SessionError: its trace changed since the session started.
        TraceError: it cannot be read.
    """
    path = bundle_path(folder, branch)
    if branch.name != MAIN_BRANCH:
        return open_branch(path).bundle
    bundle = open_bundle(path)
    if branch.trace_sha256 not in {None, trace_sha256(bundle.trace)}:
        message = f"{path}: the trace was modified since session {folder.name} started"
        raise SessionError(f"{message}; restore it")
    return bundle
