"""A debug session: its branches, their histories, and its position."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from eikon_engine.debug.branches.branch import open_branch
from eikon_engine.debug.branches.branch import trace_sha256 as whole_trace_sha256
from eikon_engine.debug.branches.departure import left_out
from eikon_engine.debug.branches.failed import failed_steps
from eikon_engine.debug.branches.walk import Walk
from eikon_engine.debug.breakpoints import BreakpointTable
from eikon_engine.debug.checkpoint import checkpoint_file, delete_checkpoint, read_checkpoint
from eikon_engine.debug.doubts import doubts_of
from eikon_engine.debug.parked import parked_checkpoints
from eikon_engine.debug.passing import holder
from eikon_engine.debug.results import Stand
from eikon_engine.debug.selector_watch import look_for
from eikon_engine.debug.session_folder import bundle_path
from eikon_engine.debug.timeline import Branch, LeftOutEntry, StepEntry, Timeline
from eikon_engine.debug.way import steps_of, trace_sha256
from eikon_engine.errors import SessionError
from eikon_engine.outcome.debug_events import MAIN_BRANCH, Paused
from eikon_engine.outcome.events import verdict_of
from eikon_engine.outcome.verdict import worst
from eikon_engine.replay.label import step_label
from eikon_engine.trace.patch import SetObservation

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping
    from datetime import datetime

    from eikon_engine.debug.branches.by_hand import HandTaking
    from eikon_engine.debug.checkpoint import SavedCheckpoint
    from eikon_engine.debug.line import Line
    from eikon_engine.debug.lines import Lines
    from eikon_engine.debug.place_in_timeline import Place
    from eikon_engine.debug.selector_watch import Sighting
    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.debug.timeline import CheckpointEntry
    from eikon_engine.debug.way import Way
    from eikon_engine.outcome.debug_events import PauseReason
    from eikon_engine.outcome.event_log import EventLog
    from eikon_engine.outcome.events import Event
    from eikon_engine.outcome.outcomes import Verdict


class Journey:
    """The state of a running session.

    Every change of the timeline is written at once: the files of a killed process are valid as of its last step.
    """

    def __init__(self, folder: SessionFolder, lines: Lines, line: Line, now: Callable[[], datetime]) -> None:
        """Start with `line` before the first step of the recording."""
        self.walk: Walk | None = None
        """Runs the active branch and records its new steps; None on the recording itself."""
        self.hand: HandTaking | None = None
        """Records the user's actions in the pages; None if no interactive recording is active."""
        self.folder = folder
        self.lines = lines
        self.line = line
        self.now = now
        self.table = BreakpointTable()
        self.sightings: Mapping[str, Sighting] = {}
        """What the selectors of breakpoints match at the current position."""
        self.ways: dict[str, Way] = {MAIN_BRANCH: line.way}
        trace = line.bundle.trace
        self.timeline = Timeline(
            session_id=folder.name,
            mission_id=trace.mission_id,
            branches=(
                Branch(
                    name=MAIN_BRANCH,
                    created=now(),
                    bundle=str(line.bundle.root.absolute()),
                    trace_sha256=whole_trace_sha256(trace),
                    step_count=line.step_count,
                ),
            ),
        )
        self.put_in = 0
        """Number of the last manually inserted upcoming step; the next insertion goes after it."""
        self.stopped_before: frozenset[tuple[str, str]] = frozenset()
        """Ids of the next step and of the breakpoints on it that already stopped the session here."""
        self.reason: PauseReason = "start"
        self.detail = ""
        self._log: EventLog | None = None
        self._parked: frozenset[str] = frozenset()
        lines.parking.changed = self.note_parked

    def begin(self, log: EventLog) -> None:
        """Record events in this log from now on."""
        self._log = log
        self.keep(self.timeline)

    def tell(self, event: Event) -> None:
        """Record an event.

        Raises:
            OutputError: it cannot be written.
        """
        if self._log is None:
            message = "a session recorded an event before it started"
            raise SessionError(message)
        self._log.take(event)

    @property
    def active(self) -> Branch:
        """Return the active branch."""
        return self.timeline.active

    @property
    def way(self) -> Way:
        """Return the history that led to the current position."""
        return self.ways[self.timeline.active_branch]

    @property
    def next(self) -> str | None:
        """Return the label of the next step; None at the end."""
        planned = self.line.next
        return None if planned is None else step_label(planned.step)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Return why the current position is not faithful, whatever its steps showed."""
        own, done = self._own_steps(), self.line.steps[: self.line.iteration]
        instead = {place for place, planned in enumerate(done) if planned.step.id in own}
        gone = [each for each in self._left_out() if each.iteration <= len(done) and each.iteration not in instead]
        return doubts_of([each.entry for each in self.line.evaluations], gone)

    @property
    def verdict(self) -> Verdict | None:
        """Return the verdict of the branch so far; None before the first step."""
        doubted: tuple[Verdict, ...] = ("unverifiable",) if self.doubts else ()
        verdicts = (*self._verdicts(), *doubted)
        return worst(verdicts) if verdicts else None

    @property
    def stand(self) -> Stand:
        """Return the current position."""
        return Stand(
            branch=self.active.name,
            iteration=self.line.iteration,
            step_count=self.line.step_count,
            next=self.next,
            reason=self.reason,
            detail=self.detail,
            verdict=self.verdict,
            doubts=self.doubts,
        )

    def keep(self, timeline: Timeline) -> None:
        """Replace the timeline, and write it.

        Raises:
            OutputError: it cannot be written.
        """
        self.timeline = timeline.with_parked(self._parked)
        self.folder.write_timeline(self.timeline)

    def note_parked(self) -> None:
        """Record in the timeline at which checkpoints contexts are parked.

        Raises:
            OutputError: it cannot be written.
        """
        self._parked = parked_checkpoints(self)
        if self.timeline.with_parked(self._parked) is not self.timeline:
            self.keep(self.timeline)

    def pause(self, reason: PauseReason, detail: str = "") -> Stand:
        """Pause, and record it."""
        self.reason, self.detail = reason, detail
        stand = self.stand
        self.tell(Paused(reason=reason, branch=stand.branch, iteration=stand.iteration, next=stand.next, detail=detail))
        return stand

    async def advance(self) -> AsyncIterator[Event]:
        """Run the next step of the active branch, and yield its events.

        Raises:
            UsageError: all steps are done.
            BrowserDiedError: the browser crashed or does not respond.
        """
        async with aclosing(self.walk.advance() if self.walk else self.line.advance()) as events:
            async for event in events:
                yield event
        self.note_way()

    def note_way(self) -> None:
        """Update the active branch and its history in the timeline."""
        bundle = self.walk.branch.bundle if self.walk is not None else self.line.bundle
        self.ways[self.active.name] = replace(self.line.way, bundle=bundle)
        self.keep(self.timeline.with_branch(self._here()))

    def settle(self) -> None:
        """Write everything that arrived to the active branch; call it before another context takes over.

        Raises:
            OutputError: the branch cannot be written.
        """
        if self.walk is not None:
            self.walk.settle()
            self.note_way()

    def stand_at(self, line: Line, name: str) -> None:
        """Continue with another context on the named branch; the branch ends at the context's position."""
        if line.iteration != self.line.iteration:
            self.stopped_before = frozenset()
        self.line = line
        self.put_in = 0
        self.timeline = self.timeline.model_copy(update={"active_branch": name})
        self.walk = None if name == MAIN_BRANCH else Walk(line, open_branch(bundle_path(self.folder, self.active)))
        self.note_way()

    def way_to(self, place: Place) -> Way:
        """Return the history to a position of the active branch: that of its checkpoint, if it has one.

        Raises:
            CheckpointError: the checkpoint is missing or was modified.
        """
        if place.checkpoint is None:
            return self.way.until(place.iteration)
        return self.saved_checkpoint(self.active, place.checkpoint).way(self.way.bundle)

    def saved_checkpoint(self, branch: Branch, entry: CheckpointEntry) -> SavedCheckpoint:
        """Read a checkpoint in the history of a branch, and verify it.

        Raises:
            CheckpointError: it is missing or was modified.
        """
        path = checkpoint_file(self.folder.checkpoints, entry.id)
        return read_checkpoint(path, self.ways[branch.name].bundle.trace)

    def drop_branch(self, name: str) -> None:
        """Remove a branch and its checkpoints."""
        gone = self.timeline.branch(name)
        left = tuple(branch for branch in self.timeline.branches if branch.name != name)
        self.ways.pop(name, None)
        self.keep(self.timeline.model_copy(update={"branches": left}))
        for entry in gone.checkpoints if gone is not None else ():
            delete_checkpoint(self.folder.checkpoints, entry.id)

    async def look_for_selectors(self) -> None:
        """Record what the selectors of breakpoints match at the current position."""
        self.sightings = await look_for(self.line.session, self.table.selectors)

    def _here(self) -> Branch:
        """Return the active branch with its current state."""
        line, fork = self.line, self.active.fork_iteration
        return self.active.model_copy(
            update={
                "iteration": line.iteration,
                "step_count": line.step_count,
                "steps": tuple(self._entries(fork)),
                "evaluations": tuple(each.entry for each in line.evaluations),
                "left_out": self._left_out(),
                "doubts": self.doubts,
                "checkpoints": tuple(self._parted(each) for each in self.active.checkpoints),
                "verdict": self.verdict if line.next is None else None,
            }
        )

    def _left_out(self) -> tuple[LeftOutEntry, ...]:
        branch = None if self.walk is None else self.walk.branch
        gone = () if branch is None else left_out(branch.origin, branch.trace)
        return tuple(LeftOutEntry(iteration=each.iteration, id=each.id, label=each.label) for each in gone)

    def _parted(self, entry: CheckpointEntry) -> CheckpointEntry:
        """Record in a checkpoint ahead of the position whether the steps to it were changed."""
        trace = self.way.bundle.trace
        if self.walk is None or entry.iteration <= self.line.iteration:
            return entry
        parted = None
        if entry.steps_sha256 != trace_sha256(trace, entry.iteration):
            kept = self.ways[holder(self.timeline, self.active, entry, is_parted=True).name].bundle.trace
            pairs = zip(steps_of(trace), steps_of(kept), strict=False)
            parted = next((done for done, (mine, its) in enumerate(pairs) if mine != its), self.line.iteration)
        return entry.model_copy(update={"parted_after": parted})

    def _own_steps(self) -> frozenset[str]:
        """Return the ids of the steps that differ from the recording."""
        if self.walk is None:
            return frozenset()
        operations = self.walk.branch.file.patch.operations
        return self.walk.elsewhere | {each.action for each in operations if isinstance(each, SetObservation)}

    def _entries(self, fork: int) -> Iterator[StepEntry]:
        """Yield the steps done after the fork; the context ran them all, also after a rewind."""
        new = self._own_steps()
        done = zip(self.line.steps, self._verdicts(), strict=False)
        for planned, verdict in islice(done, fork, None):
            yield StepEntry(
                iteration=planned.position,
                id=planned.step.id,
                label=step_label(planned.step),
                verdict=verdict,
                is_new=planned.step.id in new,
            )

    def _verdicts(self) -> tuple[Verdict, ...]:
        """Return the verdicts of the done steps; a step that failed when it was new stays failed."""
        failed = frozenset[str]() if self.walk is None else failed_steps(self.walk.branch)
        done = zip(self.line.steps, self.line.outcomes, strict=False)
        return tuple("diverged" if planned.step.id in failed else verdict_of(event) for planned, event in done)
