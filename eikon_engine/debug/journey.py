"""A mission under way in a session: its branches, the ways that led there, and where it stands."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eikon_engine.debug.breakpoints import BreakpointTable
from eikon_engine.debug.results import Stand
from eikon_engine.debug.selector_watch import look_for
from eikon_engine.debug.timeline import Branch, StepEntry, Timeline
from eikon_engine.errors import SessionError
from eikon_engine.outcome.debug_events import MAIN_BRANCH, Paused
from eikon_engine.outcome.events import verdict_of
from eikon_engine.outcome.verdict import worst
from eikon_engine.replay.label import step_label

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from eikon_engine.debug.line import Line
    from eikon_engine.debug.lines import Lines
    from eikon_engine.debug.selector_watch import Sighting
    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.debug.way import Way
    from eikon_engine.outcome.debug_events import PauseReason
    from eikon_engine.outcome.event_log import EventLog
    from eikon_engine.outcome.events import ActionTaken, Event, SkillUsed
    from eikon_engine.outcome.outcomes import Verdict


class Journey:
    """Hold what a session has in hand; mutable, because it is under way.

    Whatever changes the timeline writes it: what a killed process leaves is what was true at its last step.
    """

    def __init__(self, folder: SessionFolder, lines: Lines, line: Line, now: Callable[[], datetime]) -> None:
        """Stand with `line` before the first step of the recording."""
        self.folder = folder
        self.lines = lines
        self.line = line
        self.now = now
        self.table = BreakpointTable()
        self.sightings: Mapping[str, Sighting] = {}
        """What the selectors of breakpoints match here."""
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
                    step_count=line.step_count,
                ),
            ),
        )
        self.reason: PauseReason = "start"
        self.detail = ""
        self._log: EventLog | None = None

    def begin(self, log: EventLog) -> None:
        """Tell of everything from here on in this log."""
        self._log = log
        self.keep(self.timeline)

    def tell(self, event: Event) -> None:
        """Write an event.

        Raises:
            OutputError: it cannot be written.
        """
        if self._log is None:
            message = "a session tells of something before it has begun"
            raise SessionError(message)
        self._log.take(event)

    @property
    def active(self) -> Branch:
        """Return the branch on which the session is."""
        return self.timeline.active

    @property
    def way(self) -> Way:
        """Return the way that led here."""
        return self.ways[self.timeline.active_branch]

    @property
    def next(self) -> str | None:
        """Say what the next step does; None at the end."""
        planned = self.line.next
        return None if planned is None else step_label(planned.step)

    @property
    def verdict(self) -> Verdict | None:
        """Return what the branch has come to so far; None before the first step."""
        return worst(map(verdict_of, self.line.outcomes)) if self.line.outcomes else None

    @property
    def stand(self) -> Stand:
        """Say where the session stands."""
        return Stand(
            branch=self.active.name,
            iteration=self.line.iteration,
            step_count=self.line.step_count,
            next=self.next,
            reason=self.reason,
            detail=self.detail,
            verdict=self.verdict,
        )

    def keep(self, timeline: Timeline) -> None:
        """Take over a changed timeline, and write it.

        Raises:
            OutputError: it cannot be written.
        """
        self.timeline = timeline
        self.folder.write_timeline(timeline)

    def pause(self, reason: PauseReason, detail: str = "") -> Stand:
        """Stand still, and tell of it."""
        self.reason, self.detail = reason, detail
        stand = self.stand
        self.tell(
            Paused(reason=reason, branch=stand.branch, iteration=stand.iteration, next=stand.next, detail=detail)
        )
        return stand

    def note_step(self, event: ActionTaken | SkillUsed, *, is_new: bool = False) -> None:
        """Take down that the next step of the active branch was done."""
        planned = self.line.plan_step(self.line.iteration)
        assert planned is not None  # noqa: S101 - it was done just now
        self.ways[self.active.name] = self.line.way
        entry = StepEntry(
            iteration=self.line.iteration,
            id=planned.step.id,
            label=step_label(planned.step),
            verdict=verdict_of(event),
            is_new=is_new,
        )
        self.keep(self.timeline.with_branch(self._here((*self.active.steps, entry))))

    def stand_at(self, line: Line, way: Way) -> None:
        """Go on from another line of the active branch; what it did after that place is not its any more."""
        self.line = line
        self.ways[self.active.name] = replace(way, bundle=line.bundle)
        steps = tuple(each for each in self.active.steps if each.iteration <= line.iteration)
        self.keep(self.timeline.with_branch(self._here(steps)))

    async def look_for_selectors(self) -> None:
        """See what the selectors of breakpoints match here."""
        self.sightings = await look_for(self.line.session, self.table.selectors)

    def _here(self, steps: tuple[StepEntry, ...]) -> Branch:
        """Return the active branch as it is now."""
        line, fork = self.line, self.active.fork_iteration
        return self.active.model_copy(
            update={
                "iteration": line.iteration,
                "step_count": line.step_count,
                "steps": tuple(each for each in steps if each.iteration > fork),
                "verdict": self.verdict if line.next is None else None,
            }
        )
