"""The position of a session in its timeline: page time, phases of actions, and how far a replay lags behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.network.exchange import PHASES_PER_ACTION, PHASES_PER_ACTION_WITH_LOOKUP, Moment

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.browser.page_clock import PageClock


class PageTimeline:
    """Count the phases of actions, and issue moments.

    An action has a phase before it acts and one after it; a phase of its own while it locates its target, if
    `has_acting_phase` is set; and the time until the next action is a phase, too.
    """

    def __init__(self, clock: PageClock) -> None:
        """Begin before the first action."""
        self._clock = clock
        self.phase = 0
        self.lag_ms = 0.0
        """Page time by which a replay lags behind its recording because its actions took longer."""
        self.has_acting_phase = False
        """Whether locating a target is a phase of its own, as in recordings with the natural clock."""
        self.begun_ms = 0.0
        """Page time at which the action began."""
        self.acted_ms: float | None = None
        """Page time at which the action acted on its target, if that is a phase of its own and was reached."""
        self.is_timer_driven = False
        """Whether timers, and not the last action, cause what pages do now: the clock moved since it acted, and pages
        received nothing since then that was requested because of it."""
        self.clock_moves = 0
        """How often the clock was moved."""
        self.causes = 0
        """How many actions have acted that may cause something: all but those that only read."""
        self._caused_ms = 0.0
        """Page time at which the last of them acted."""
        self.steps_begun = 0
        """How many steps have begun."""
        self.moments_issued = 0
        """How many moments were issued."""
        self.phase_listeners: list[Callable[[], None]] = []
        """Called when a phase begins."""
        self._are_phases_over = True
        """Whether the phases of the last action have ended."""

    @property
    def now_ms(self) -> float:
        """Return the page time since the session began."""
        return self._clock.now_ms

    @property
    def observed_phase(self) -> int:
        """Return the last phase whose deliveries the pages show when the action is observed."""
        return self.phase - 1 if self._are_phases_over else self.phase

    @property
    def recorded_ms(self) -> float:
        """Return the page time in the timeline of the recording, which a replay may lag behind."""
        return self._clock.now_ms - self.lag_ms

    @property
    def used_ms(self) -> float:
        """Return the page time since the action began."""
        return self._clock.now_ms - self.begun_ms

    @property
    def since_cause_ms(self) -> float:
        """Return the page time since an action acted that may cause something."""
        return self._clock.now_ms - self._caused_ms

    @property
    def is_natural(self) -> bool:
        """Whether page time passes by itself."""
        return self._clock.is_natural

    @property
    def unix_ms(self) -> float:
        """Return the Unix time that pages see, in milliseconds."""
        return self._clock.start_ms + self._clock.now_ms

    def page_ms(self, unix_ms: float) -> float:
        """Return the page time at which pages see a Unix time, in milliseconds."""
        return unix_ms - self._clock.start_ms

    def moment(self) -> Moment:
        """Issue the next position in the timeline of a recording."""
        self.moments_issued += 1
        return Moment(order=self.moments_issued - 1, at_ms=round(self._clock.now_ms), phase=self.phase)

    def phase_after(self, actions: int) -> int:
        """Return the phase in which exactly this many actions have ended."""
        return (PHASES_PER_ACTION_WITH_LOOKUP if self.has_acting_phase else PHASES_PER_ACTION) * actions

    def move_to_action(self, actions: int) -> None:
        """Move to the phase after this many recorded actions, where a replay omits or inserts some."""
        if self.phase != self.phase_after(actions):
            self.phase = self.phase_after(actions) - 1
            self._advance_phase()

    def mark_begin(self) -> None:
        """Mark the beginning of an action."""
        self._advance_phase()
        self._are_phases_over = False
        self.steps_begun += 1
        self.begun_ms = self._clock.now_ms
        self.acted_ms = None

    def mark_clock_move(self) -> None:
        """Mark that the clock moves now, and timers fire."""
        self.is_timer_driven = True
        self.clock_moves += 1

    def mark_acting(self, *, only_reads: bool = False) -> None:
        """Mark that the action acts on its target now; deliveries while locating the target precede it."""
        self.is_timer_driven = False
        if not only_reads:
            self.causes += 1
            self._caused_ms = self._clock.now_ms
        self.begin_acting_phase()

    def begin_acting_phase(self) -> None:
        """Begin the phase in which an action acts, or has what it waited for; see `mark_acting` for effects."""
        if self.has_acting_phase and self.acted_ms is None:
            self.acted_ms = self._clock.now_ms
            self._advance_phase()

    def correct_acting(self, acted_ms: float) -> None:
        """Set the page time at which the action acted, as its page reports it.

        The recorder may have assumed it earlier: when it ends, it corrects the phase of what was delivered meanwhile.
        It may also learn it late: the phase of what was delivered until then stays.
        """
        self.mark_acting()
        self.acted_ms = acted_ms

    def end_action(self) -> None:
        """End the action; an action that did not act has the same number of phases."""
        if self._are_phases_over:
            return
        self.begin_acting_phase()
        self._advance_phase()
        self._are_phases_over = True

    def _advance_phase(self) -> None:
        self.phase += 1
        for notify in self.phase_listeners:
            notify()
