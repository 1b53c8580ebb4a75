"""A debug session: its branches, their histories, and its position."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

from eikon_engine.debug.branches.branch import open_branch
from eikon_engine.debug.branches.branch import trace_sha256 as whole_trace_sha256
from eikon_engine.debug.branches.branch_runner import BranchRunner
from eikon_engine.debug.branches.progress import BranchProgress
from eikon_engine.debug.breakpoints import BreakpointTable
from eikon_engine.debug.checkpoint_files import checkpoint_path, delete_checkpoint, read_checkpoint
from eikon_engine.debug.context_pool import is_on_history
from eikon_engine.debug.history import iter_steps, steps_sha256
from eikon_engine.debug.results import Position
from eikon_engine.debug.selector_watch import read_selectors
from eikon_engine.debug.session_folder import branch_bundle_path
from eikon_engine.debug.timeline import Branch, Timeline
from eikon_engine.debug.timeline_queries import checkpoints_in_history, find_branch_with_steps
from eikon_engine.errors import CheckpointError, SessionError
from eikon_engine.outcome.debug_events import MAIN_BRANCH, Paused
from eikon_engine.trace.labels import step_label

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from datetime import datetime

    from eikon_engine.debug.branches.interactive import InteractiveRecorder
    from eikon_engine.debug.checkpoint_files import CheckpointFile
    from eikon_engine.debug.context_pool import ContextPool
    from eikon_engine.debug.history import History
    from eikon_engine.debug.replay_context import ReplayContext
    from eikon_engine.debug.selector_watch import SelectorState
    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.debug.timeline import CheckpointEntry
    from eikon_engine.debug.timeline_queries import RewindTarget
    from eikon_engine.outcome.debug_events import PauseReason
    from eikon_engine.outcome.event_log import EventLog
    from eikon_engine.outcome.events import Event


def parked_checkpoints(session: DebugSession) -> frozenset[str]:
    """Return the ids of the checkpoints at which a context is parked."""
    timeline = session.timeline
    passed = {entry.id for _, entry in checkpoints_in_history(timeline, timeline.active, session.history)}
    return frozenset(
        entry.id
        for owner, entry in timeline.checkpoints()
        if _is_parked(session, timeline.active if entry.id in passed else owner, entry)
    )


def _is_parked(session: DebugSession, branch: Branch, entry: CheckpointEntry) -> bool:
    """Return whether a context is parked at a checkpoint, on the history of a branch."""
    contexts = [each for each in session.pool.parking.contexts if each.iteration == entry.iteration]
    if not contexts:
        return False
    try:
        history = session.read_checkpoint(branch, entry).history(session.histories[branch.name].bundle)
    except CheckpointError:
        return False  # reported when the user rewinds there
    return any(is_on_history(each, history, entry.iteration) for each in contexts)


class DebugSession:
    """The state of a running session.

    Every change of the timeline is written at once: the files of a killed process are valid as of its last step.
    """

    def __init__(
        self, folder: SessionFolder, pool: ContextPool, context: ReplayContext, now: Callable[[], datetime]
    ) -> None:
        """Start with `context` before the first step of the recording."""
        self.branch_runner: BranchRunner | None = None
        """Runs the active branch and records its new steps; None on the recording itself."""
        self.interactive_recording: InteractiveRecorder | None = None
        """Records the user's actions in the pages; None if no interactive recording is active."""
        self.folder = folder
        self.pool = pool
        self.context = context
        self.now = now
        self.breakpoints = BreakpointTable()
        self.selector_matches: Mapping[str, SelectorState] = {}
        """What the selectors of breakpoints match at the current position."""
        self.histories: dict[str, History] = {MAIN_BRANCH: context.history}
        trace = context.bundle.trace
        self.timeline = Timeline(
            session_id=folder.name,
            mission_id=trace.mission_id,
            branches=(
                Branch(
                    name=MAIN_BRANCH,
                    created=now(),
                    bundle=str(context.bundle.root.absolute()),
                    trace_sha256=whole_trace_sha256(trace),
                    step_count=context.step_count,
                ),
            ),
        )
        self.last_inserted = 0
        """Number of the last manually inserted upcoming step; the next insertion goes after it."""
        self.reported_hits: frozenset[tuple[str, str]] = frozenset()
        """Ids of the next step and of the breakpoints on it that already stopped the session here."""
        self.reason: PauseReason = "start"
        self.detail = ""
        self._event_log: EventLog | None = None
        self._parked: frozenset[str] = frozenset()
        pool.parking.on_change = self.update_parked

    def begin(self, log: EventLog) -> None:
        """Record events in this log from now on."""
        self._event_log = log
        self.save_timeline(self.timeline)

    def record(self, event: Event) -> None:
        """Record an event.

        Raises:
            OutputError: it cannot be written.
        """
        if self._event_log is None:
            message = "a session recorded an event before it started"
            raise SessionError(message)
        self._event_log.append(event)

    @property
    def active_branch(self) -> Branch:
        """Return the active branch."""
        return self.timeline.active

    @property
    def history(self) -> History:
        """Return the history that led to the current position."""
        return self.histories[self.timeline.active_branch]

    @property
    def progress(self) -> BranchProgress:
        """Return what the steps of the active branch showed so far."""
        return BranchProgress(context=self.context, runner=self.branch_runner)

    @property
    def position(self) -> Position:
        """Return the current position."""
        planned, progress = self.context.next_step, self.progress
        return Position(
            branch=self.active_branch.name,
            iteration=self.context.iteration,
            step_count=self.context.step_count,
            next=None if planned is None else step_label(planned.step),
            reason=self.reason,
            detail=self.detail,
            verdict=progress.verdict,
            doubts=progress.doubts,
        )

    def save_timeline(self, timeline: Timeline) -> None:
        """Replace the timeline, and write it.

        Raises:
            OutputError: it cannot be written.
        """
        self.timeline = timeline.with_parked(self._parked)
        self.folder.write_timeline(self.timeline)

    def update_parked(self) -> None:
        """Record in the timeline at which checkpoints contexts are parked.

        Raises:
            OutputError: it cannot be written.
        """
        self._parked = parked_checkpoints(self)
        if self.timeline.with_parked(self._parked) is not self.timeline:
            self.save_timeline(self.timeline)

    def pause(self, reason: PauseReason, detail: str = "") -> Position:
        """Pause, and record it."""
        self.reason, self.detail = reason, detail
        position = self.position
        self.record(
            Paused(
                reason=reason,
                branch=position.branch,
                iteration=position.iteration,
                next=position.next,
                detail=detail,
            )
        )
        return position

    async def advance(self) -> AsyncIterator[Event]:
        """Run the next step of the active branch, and yield its events.

        Raises:
            UsageError: all steps are done.
            BrowserDiedError: the browser crashed or does not respond.
        """
        async with aclosing(self.branch_runner.advance() if self.branch_runner else self.context.advance()) as events:
            async for event in events:
                yield event
        self.update_branch()

    def update_branch(self) -> None:
        """Update the active branch and its history in the timeline."""
        bundle = self.branch_runner.branch.bundle if self.branch_runner is not None else self.context.bundle
        self.histories[self.active_branch.name] = replace(self.context.history, bundle=bundle)
        self.save_timeline(self.timeline.with_branch(self._current_branch()))

    def finish_branch_step(self) -> None:
        """Write everything that arrived to the active branch; call it before another context takes over.

        Raises:
            OutputError: the branch cannot be written.
        """
        if self.branch_runner is not None:
            self.branch_runner.finish()
            self.update_branch()

    def move_to(self, context: ReplayContext, branch_name: str) -> None:
        """Continue with another context on the named branch; the branch ends at the context's position."""
        if context.iteration != self.context.iteration:
            self.reported_hits = frozenset()
        self.context = context
        self.last_inserted = 0
        self.timeline = self.timeline.model_copy(update={"active_branch": branch_name})
        self.branch_runner = (
            None
            if branch_name == MAIN_BRANCH
            else BranchRunner(context, open_branch(branch_bundle_path(self.folder, self.active_branch)))
        )
        self.update_branch()

    def history_to(self, target: RewindTarget) -> History:
        """Return the history to a position of the active branch: that of its checkpoint, if it has one.

        Raises:
            CheckpointError: the checkpoint is missing or was modified.
        """
        if target.checkpoint is None:
            return self.history.until(target.iteration)
        return self.read_checkpoint(self.active_branch, target.checkpoint).history(self.history.bundle)

    def read_checkpoint(self, branch: Branch, entry: CheckpointEntry) -> CheckpointFile:
        """Read a checkpoint in the history of a branch, and verify it.

        Raises:
            CheckpointError: it is missing or was modified.
        """
        path = checkpoint_path(self.folder.checkpoints, entry.id)
        return read_checkpoint(path, self.histories[branch.name].bundle.trace)

    def drop_branch(self, name: str) -> None:
        """Remove a branch and its checkpoints."""
        dropped = self.timeline.find_branch(name)
        remaining = tuple(branch for branch in self.timeline.branches if branch.name != name)
        self.histories.pop(name, None)
        self.save_timeline(self.timeline.model_copy(update={"branches": remaining}))
        for entry in dropped.checkpoints if dropped is not None else ():
            delete_checkpoint(self.folder.checkpoints, entry.id)

    async def update_selector_matches(self) -> None:
        """Record what the selectors of breakpoints match at the current position."""
        self.selector_matches = await read_selectors(self.context.session, self.breakpoints.selectors)

    def _current_branch(self) -> Branch:
        """Return the active branch with its current state."""
        active, context, progress = self.active_branch, self.context, self.progress
        return active.model_copy(
            update={
                "iteration": context.iteration,
                "step_count": context.step_count,
                "steps": tuple(progress.step_entries(active.fork_iteration)),
                "evaluations": tuple(each.timeline_entry for each in context.evaluations),
                "left_out": progress.skipped_steps,
                "doubts": progress.doubts,
                "checkpoints": tuple(self._with_divergence_point(each) for each in active.checkpoints),
                "verdict": progress.verdict if context.next_step is None else None,
            }
        )

    def _with_divergence_point(self, entry: CheckpointEntry) -> CheckpointEntry:
        """Record in a checkpoint ahead of the position whether the steps to it were changed."""
        trace = self.history.bundle.trace
        if self.branch_runner is None or entry.iteration <= self.context.iteration:
            return entry
        parted_after = None
        if entry.steps_sha256 != steps_sha256(trace, entry.iteration):
            owner = find_branch_with_steps(self.timeline, self.active_branch, entry, has_diverged=True)
            pairs = zip(iter_steps(trace), iter_steps(self.histories[owner.name].bundle.trace), strict=False)
            parted_after = next(
                (done for done, (own, original) in enumerate(pairs) if own != original), self.context.iteration
            )
        return entry.model_copy(update={"parted_after": parted_after})
