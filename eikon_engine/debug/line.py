"""A sealed replay in one browser context that pauses between its steps."""

from __future__ import annotations

from contextlib import AsyncExitStack, aclosing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.browser import standing
from eikon_engine.browser.sealed import SealedTraffic
from eikon_engine.browser.standing import living
from eikon_engine.browser.stride import InVain
from eikon_engine.debug.around_steps import around
from eikon_engine.debug.sighted import Sighted
from eikon_engine.debug.state_digest import STANDING_LAYERS, waited_in_vain
from eikon_engine.debug.way import Evaluation, Way, answers_of, is_same_deed
from eikon_engine.errors import BrowserDiedError, InternalError, UsageError
from eikon_engine.outcome.events import ActionTaken, SkillUsed, verdict_of
from eikon_engine.replay.plan import plan_replay
from eikon_engine.replay.step import StepRunner
from eikon_engine.replay.steps import replay_step, subgoal_end, subgoal_start
from eikon_engine.replay.worker_for import worker_in
from eikon_engine.trace.secret_names import SHORTEST

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping

    from eikon_engine.browser.given import GivenAsAsked
    from eikon_engine.browser.launch import LaunchedBrowser
    from eikon_engine.browser.observe import Sight
    from eikon_engine.browser.session import Session
    from eikon_engine.browser.worker import Worker
    from eikon_engine.debug.state_digest import StateDigest
    from eikon_engine.outcome.events import Event
    from eikon_engine.outcome.outcomes import Verdict
    from eikon_engine.replay.options import ReplayOptions
    from eikon_engine.replay.plan import Plan, PlannedStep, PlannedSubgoal
    from eikon_engine.replay.worker_for import OpenedWorker
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.start_state import StorageState


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The browser and the worker of a context."""

    launched: LaunchedBrowser
    opened: OpenedWorker


class Line:
    """Run the steps of a mission one by one in a browser context."""

    def __init__(self, bundle: Bundle, plan: Plan, options: ReplayOptions, place: Place) -> None:
        """Start before the first step of a plan made from `bundle` with `options`."""
        self.bundle = bundle
        self.plan = plan
        self.iteration = 0
        """Number of steps done."""
        self.runner = StepRunner(plan, place.opened.worker, options, place.opened.environment)
        self.outcomes: tuple[ActionTaken | SkillUsed, ...] = ()
        """Outcomes of the done steps, one each."""
        self.evaluations: tuple[Evaluation, ...] = ()
        self.given: GivenAsAsked | None = None
        """What was served on request since the context left its recording; None while it follows it."""
        self.verified = 0
        """Number of layer digests that matched while it was brought to its position."""
        self.closing = AsyncExitStack()
        """Resources that are closed with the context."""
        self._answers = answers_of(bundle)
        self._options = options
        self._place = place
        self._steps = _steps(plan)
        self._sighted = Sighted(place.opened.worker, (*plan.trace.masks, *options.masks))
        self._torn: str | None = None
        """What is running or was interrupted."""
        self.is_closed = False

    @property
    def step_count(self) -> int:
        """Return the number of steps of the mission."""
        return len(self._steps)

    @property
    def next(self) -> PlannedStep | None:
        """Return the next step; None at the end."""
        return self._steps[self.iteration] if self.iteration < len(self._steps) else None

    @property
    def steps(self) -> tuple[PlannedStep, ...]:
        """Return all steps in order."""
        return self._steps

    def plan_step(self, iteration: int) -> PlannedStep | None:
        """Return the step that leads to an iteration; None for the start."""
        return self._steps[iteration - 1] if iteration else None

    @property
    def worker(self) -> Worker:
        """Return the worker that performs the actions."""
        return self._place.opened.worker

    @property
    def session(self) -> Session:
        """Return the browser session of the context."""
        return self._place.opened.session

    @property
    def launched(self) -> LaunchedBrowser:
        """Return the browser, which other contexts share."""
        return self._place.launched

    @property
    def opened(self) -> OpenedWorker:
        """Return the worker with its browser name and environment."""
        return self._place.opened

    @property
    def traffic(self) -> SealedTraffic:
        """Return the traffic that serves the pages."""
        traffic = self.session.traffic
        if not isinstance(traffic, SealedTraffic):
            message = f"expected a sealed session, got {type(traffic).__name__}"
            raise InternalError(message)
        return traffic

    @property
    def touched(self) -> bool:
        """Return whether JavaScript was run manually; the recording may not lead to this state."""
        return bool(self.evaluations)

    @property
    def is_torn(self) -> bool:
        """Return whether a step was interrupted, so that the state of the pages is unknown."""
        return self._torn is not None

    @property
    def is_whole(self) -> bool:
        """Return whether the context can continue."""
        return not self.is_closed and self._torn is None and self._place.launched.browser.is_connected()

    @property
    def seen(self) -> Mapping[int, StateDigest]:
        """Return the state digest at the start and after each step, before manual JavaScript at that point."""
        return self._sighted.moments

    @property
    def key(self) -> str:
        """Return the key of the history that led here, see `History.key`."""
        return self.way.key(self.iteration, self._answers)

    @property
    def way(self) -> Way:
        """Return the history that leads here."""
        return Way(bundle=self.bundle, evaluations=self.evaluations, seen=dict(self.seen))

    @property
    def sight(self) -> Sight:
        """Return the last observation, after a step or after manual JavaScript."""
        return self._sighted.sight

    def state(self) -> StateDigest:
        """Return the digest of the last observation."""
        return self._sighted.state

    async def advance(self, expected: StateDigest | None = None) -> AsyncGenerator[Event]:
        """Run the next step, and yield its replay events.

        `expected` is the digest an earlier run had after the step: pages that differ may be late and are observed again
        for a while; a known timeout is polled less often. By default, the recording is expected.
        The context is unusable if the caller does not read to the end.

        Raises:
            UsageError: all steps are done.
            BrowserDiedError: the browser crashed or does not respond.
        """
        planned = self.next
        if planned is None:
            message = f"no steps left, all {self.step_count} of the mission are done; rewind, or insert one"
            raise UsageError(message)
        before, after = around(self.plan, planned)
        agrees = None if expected is None else self._sighted.shows(expected)
        session, is_in_vain = self.session, expected is not None and waited_in_vain(expected)
        session.rest.in_vain = InVain(session.ledger, session.environment.tick_ms) if is_in_vain else None
        with self._under_way(f"step {planned.position}"):
            for event in before:
                yield event
            async with aclosing(replay_step(planned, self.runner, agrees)) as events:
                async for event in events:
                    if isinstance(event, ActionTaken | SkillUsed):
                        self.outcomes = (*self.outcomes, event)
                    yield event
            self.iteration += 1
            self._sighted.step(self.iteration, self.outcomes[-1], self.runner.last)
            if after:
                yield subgoal_end(after[0], self._verdicts(after[0]))
            for empty in after[1:]:
                yield subgoal_start(empty)
                yield subgoal_end(empty, ())

    async def look(self) -> Sight:
        """Observe the pages again without affecting the next step.

        Raises:
            BrowserDiedError: the browser went away.
        """
        self._demand_whole()
        with living(self._place.launched.browser):
            return await standing.look(self.session)

    async def storage_state(self) -> StorageState:
        """Return the storage state of the browser, see `paused.storage_state`.

        Raises:
            BrowserDiedError: the browser went away.
        """
        self._demand_whole()
        with living(self._place.launched.browser):
            return await standing.storage_state(self.session)

    async def is_undisturbed(self) -> bool:
        """Return whether the pages still show what was last observed."""
        now = self._sighted.digest_now(await self.look())
        return STANDING_LAYERS.isdisjoint(now.differences(self.state()))

    async def evaluate(self, expression: str, page: int = 0, frame: str = "") -> Evaluation:
        """Run JavaScript in a page; the context counts as modified from then on.

        Raises:
            PageMissingError: the page or frame is not open; nothing was run.
            BrowserDiedError: the browser went away.
        """
        self._demand_whole()
        shown = standing.frame_in(self.session, page, frame)
        with self._under_way("manual JavaScript"):
            evaluated = await standing.evaluate(self.session, shown, expression)
            state = self._sighted.look(await standing.look(self.session))
        evaluation = Evaluation(
            iteration=self.iteration,
            page=page,
            frame=frame,
            expression=self.session.redactor.text(expression),
            result=evaluated.result,
            error=evaluated.error,
            overdue=evaluated.overdue,
            state=state,
        )
        self.evaluations = (*self.evaluations, evaluation)
        return evaluation

    async def leave_recording(self) -> GivenAsAsked:
        """Serve responses on request from now on; the next step is not in the recording.

        Raises:
            BrowserDiedError: the browser went away.
        """
        with self._under_way("leaving the recording"):
            self.given = await self.traffic.give_as_asked()
        return self.given

    def replan(self, bundle: Bundle) -> None:
        """Continue with another bundle whose first steps match the done ones.

        Raises:
            UsageError: its steps before the current position differ.
            EikonError: it cannot be replayed, see `plan_replay`; the context is unchanged.
        """
        plan = plan_replay(bundle, self._options)
        steps = _steps(plan)
        done = self._steps[: self.iteration]
        same = len(steps) >= len(done) and all(
            is_same_deed(one.step, other.step) for one, other in zip(done, steps, strict=False)
        )
        if not same:
            message = f"{bundle.root} differs in the {len(done)} steps already done; rewind before them"
            raise UsageError(message)
        self.bundle, self.plan, self._steps = bundle, plan, steps
        self.runner.follow(plan)
        self._sighted.masks = (*plan.trace.masks, *self._options.masks)
        self.session.uploads = plan.bundle.files

    async def close(self) -> None:
        """Close the context; idempotent."""
        if self.is_closed:
            return
        self.is_closed = True
        await self.closing.aclose()

    async def first_look(self) -> None:
        """Observe the pages before the first step."""
        self._sighted.moments[0] = self._sighted.look(await self.look())

    def _verdicts(self, subgoal: PlannedSubgoal) -> list[Verdict]:
        places = [each.position - 1 for each in subgoal.steps]
        return [verdict_of(self.outcomes[place]) for place in places if place < len(self.outcomes)]

    @contextmanager
    def _under_way(self, what: str) -> Iterator[None]:
        """Mark the context as interrupted until the block completes."""
        self._demand_whole()
        self._torn = what
        with living(self._place.launched.browser):
            yield
        self._torn = None

    def _demand_whole(self) -> None:
        if not self._place.launched.browser.is_connected():
            message = "the browser crashed or was closed; all its pages are gone"
            raise BrowserDiedError(message)
        if self._torn is not None or self.is_closed:
            what = "it is closed" if self._torn is None else f"{self._torn} was interrupted"
            message = f"the mission cannot continue, {what}; rewind to an earlier position"
            raise UsageError(message)


async def open_line(launched: LaunchedBrowser, bundle: Bundle, options: ReplayOptions) -> Line:
    """Open a context in a running browser, positioned before the first step.

    Raises:
        EikonError: the bundle cannot be replayed, see `plan_replay` and `worker_in`.
        BrowserDiedError: the browser went away.
    """
    plan = plan_replay(bundle, options)
    async with AsyncExitStack() as opening:
        with living(launched.browser):
            opened = await opening.enter_async_context(worker_in(launched, plan, options, _known(plan, options)))
            line = Line(bundle, plan, options, Place(launched=launched, opened=opened))
            await line.first_look()
        line.closing = opening.pop_all()
    return line


def _known(plan: Plan, options: ReplayOptions) -> frozenset[str]:
    """Return the names of secrets to redact from the start, before any page has received them.

    Short values occur in documents by chance. Values typed in the recording are redacted from that step on.
    """
    typed = {each.name for each in plan.trace.redaction.typed}
    return frozenset(name for name, value in options.secrets.items() if len(value) >= SHORTEST and name not in typed)


def _steps(plan: Plan) -> tuple[PlannedStep, ...]:
    return tuple(step for subgoal in plan.subgoals for step in subgoal.steps)
