"""A sealed replay in one browser context that pauses between its steps."""

from __future__ import annotations

from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING

from eikon_engine.browser import inspection
from eikon_engine.browser.inspection import report_gone_browser
from eikon_engine.browser.stabilizer import KnownTimeout
from eikon_engine.debug.context_browser import ContextBrowser
from eikon_engine.debug.history import Evaluation, History, have_same_effect, responses_sha256
from eikon_engine.debug.state_digest import PERSISTENT_LAYERS, ObservedStates, is_timeout
from eikon_engine.errors import UsageError
from eikon_engine.outcome.events import ActionPerformed, SkillRun, verdict_of
from eikon_engine.replay.context import open_replay_context
from eikon_engine.replay.event_stream import replay_step, subgoal_end, subgoal_start
from eikon_engine.replay.plan import plan_replay
from eikon_engine.replay.step import StepRunner
from eikon_engine.secrets.detection import MIN_SECRET_LENGTH

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from eikon_engine.browser.launch import LaunchedBrowser
    from eikon_engine.browser.session import Session
    from eikon_engine.browser.traffic.sealed import OnDemandDeliveries
    from eikon_engine.browser.worker import Worker
    from eikon_engine.debug.state_digest import StateDigest
    from eikon_engine.outcome.events import Event
    from eikon_engine.outcome.outcomes import Verdict
    from eikon_engine.replay.options import ReplayOptions
    from eikon_engine.replay.plan import Plan, PlannedStep, PlannedSubgoal
    from eikon_engine.trace.bundle import Bundle


def subgoals_around(plan: Plan, step: PlannedStep) -> tuple[list[Event], tuple[PlannedSubgoal, ...]]:
    """Return the events that precede a step, and the subgoals that end with it (its own, and trailing empty ones).

    Empty subgoals are reported before the next subgoal that has steps.
    """
    indexes = [index for index, subgoal in enumerate(plan.subgoals) if subgoal.steps]
    own = next(index for index in indexes if step in plan.subgoals[index].steps)
    subgoal = plan.subgoals[own]
    before: list[Event] = []
    if step is subgoal.steps[0]:
        earlier = max((index + 1 for index in indexes if index < own), default=0)
        for empty in plan.subgoals[earlier:own]:
            before += [subgoal_start(empty), subgoal_end(empty, ())]
        before.append(subgoal_start(subgoal))
    if step is not subgoal.steps[-1]:
        return before, ()
    return before, plan.subgoals[own:] if own == indexes[-1] else (subgoal,)


class ReplayContext:
    """Run the steps of a mission one by one in a browser context."""

    def __init__(self, bundle: Bundle, plan: Plan, options: ReplayOptions, browser: ContextBrowser) -> None:
        """Start before the first step of a plan made from `bundle` with `options`."""
        self.bundle = bundle
        self.plan = plan
        self.iteration = 0
        """Number of steps done."""
        self.browser = browser
        self.runner = StepRunner(plan, browser.worker, options, browser.opened.environment)
        self.outcomes: tuple[ActionPerformed | SkillRun, ...] = ()
        """Outcomes of the done steps, one each."""
        self.evaluations: tuple[Evaluation, ...] = ()
        self.on_request_serving: OnDemandDeliveries | None = None
        """What was served on request since the context left its recording; None while it follows it."""
        self.verified = 0
        """Number of layer digests that matched while it was brought to its position."""
        self.observed = ObservedStates(browser.worker, (*plan.trace.masks, *options.masks))
        """What the start and each done step showed; digests are taken before manual JavaScript at that point."""
        self._responses_digest = responses_sha256(bundle)
        self._options = options
        self._steps = _all_steps(plan)

    @property
    def step_count(self) -> int:
        """Return the number of steps of the mission."""
        return len(self._steps)

    @property
    def next_step(self) -> PlannedStep | None:
        """Return the next step; None at the end."""
        return self._steps[self.iteration] if self.iteration < len(self._steps) else None

    @property
    def steps(self) -> tuple[PlannedStep, ...]:
        """Return all steps in order."""
        return self._steps

    def step_before(self, iteration: int) -> PlannedStep | None:
        """Return the step that leads to an iteration; None for the start."""
        return self._steps[iteration - 1] if iteration else None

    @property
    def worker(self) -> Worker:
        """Return the worker that performs the actions."""
        return self.browser.worker

    @property
    def session(self) -> Session:
        """Return the browser session of the context."""
        return self.browser.session

    @property
    def is_modified(self) -> bool:
        """Return whether JavaScript was run manually; the recording may not lead to this state."""
        return bool(self.evaluations)

    @property
    def is_usable(self) -> bool:
        """Return whether the context can continue."""
        return self.browser.is_usable

    @property
    def history_key(self) -> str:
        """Return the key of the history that led here, see `History.key`."""
        return self.history.key(self.iteration, self._responses_digest)

    @property
    def history(self) -> History:
        """Return the history that leads here."""
        return History(bundle=self.bundle, evaluations=self.evaluations, digests=dict(self.observed.digests))

    async def advance(self, expected: StateDigest | None = None) -> AsyncGenerator[Event]:
        """Run the next step, and yield its replay events.

        `expected` is the digest an earlier run had after the step: pages that differ may be late and are observed again
        for a while; a known timeout is polled less often. By default, the recording is expected.
        The context is unusable if the caller does not read to the end.

        Raises:
            UsageError: all steps are done.
            BrowserDiedError: the browser crashed or does not respond.
        """
        planned = self.next_step
        if planned is None:
            message = f"no steps left, all {self.step_count} of the mission are done; rewind, or insert one"
            raise UsageError(message)
        before, after = subgoals_around(self.plan, planned)
        agrees = None if expected is None else self.observed.matches(expected)
        session, is_known_timeout = self.session, expected is not None and is_timeout(expected)
        session.stabilizer.known_timeout = (
            KnownTimeout(session.tracker, session.environment.tick_ms) if is_known_timeout else None
        )
        with self.browser.interruptible(f"step {planned.position}"):
            for event in before:
                yield event
            async with aclosing(replay_step(planned, self.runner, agrees)) as events:
                async for event in events:
                    if isinstance(event, ActionPerformed | SkillRun):
                        self.outcomes = (*self.outcomes, event)
                    yield event
            self.iteration += 1
            self.observed.record_step(self.iteration, self.outcomes[-1], self.runner.last_performed)
            if after:
                yield subgoal_end(after[0], self._verdicts(after[0]))
            for empty in after[1:]:
                yield subgoal_start(empty)
                yield subgoal_end(empty, ())

    async def is_unchanged(self) -> bool:
        """Return whether the pages still show what was last observed."""
        now = self.observed.digest_again(await self.browser.observe())
        return PERSISTENT_LAYERS.isdisjoint(now.differences(self.observed.last_digest))

    async def read(self, expression: str, page: int = 0, frame: str = "") -> inspection.Evaluation | None:
        """Run JavaScript that has no effect; None, and nothing has happened, if it may have one.

        Raises:
            PageMissingError: the page or frame is not open.
            BrowserDiedError: the browser went away.
        """
        self.browser.require_usable()
        found = inspection.require_frame(self.session, page, frame)
        with self.browser.interruptible("reading with JavaScript"):
            return await inspection.read_in_frame(self.session, found, expression)

    async def evaluate(self, expression: str, page: int = 0, frame: str = "") -> Evaluation:
        """Run JavaScript in a page; the context counts as modified from then on.

        Raises:
            PageMissingError: the page or frame is not open; nothing was run.
            BrowserDiedError: the browser went away.
        """
        self.browser.require_usable()
        found = inspection.require_frame(self.session, page, frame)
        with self.browser.interruptible("manual JavaScript"):
            evaluated = await inspection.evaluate_in_frame(self.session, found, expression)
            state = self.observed.record_observation(await inspection.observe_idle(self.session))
        evaluation = Evaluation(
            iteration=self.iteration,
            page=page,
            frame=frame,
            expression=self.session.redactor.redact_text(expression),
            result=evaluated.result,
            error=evaluated.error,
            overdue=evaluated.timed_out,
            state=state,
        )
        self.evaluations = (*self.evaluations, evaluation)
        return evaluation

    async def leave_recording(self) -> OnDemandDeliveries:
        """Serve responses on request from now on; the next step is not in the recording.

        Raises:
            BrowserDiedError: the browser went away.
        """
        with self.browser.interruptible("leaving the recording"):
            self.on_request_serving = await self.browser.traffic.deliver_on_demand()
        return self.on_request_serving

    def replan(self, bundle: Bundle) -> None:
        """Continue with another bundle whose first steps match the done ones.

        Raises:
            UsageError: its steps before the current position differ.
            EikonError: it cannot be replayed, see `plan_replay`; the context is unchanged.
        """
        plan = plan_replay(bundle, self._options)
        steps = _all_steps(plan)
        done = self._steps[: self.iteration]
        same = len(steps) >= len(done) and all(
            have_same_effect(one.step, other.step) for one, other in zip(done, steps, strict=False)
        )
        if not same:
            message = f"{bundle.root} differs in the {len(done)} steps already done; rewind before them"
            raise UsageError(message)
        self.bundle, self.plan, self._steps = bundle, plan, steps
        self.runner.switch_plan(plan)
        self.observed.masks = (*plan.trace.masks, *self._options.masks)
        self.session.uploads = plan.bundle.files

    async def close(self) -> None:
        """Close the context; idempotent."""
        await self.browser.close()

    async def observe_start(self) -> None:
        """Observe the pages before the first step."""
        self.observed.digests[0] = self.observed.record_observation(await self.browser.observe())

    def _verdicts(self, subgoal: PlannedSubgoal) -> list[Verdict]:
        indexes = [each.position - 1 for each in subgoal.steps]
        return [verdict_of(self.outcomes[index]) for index in indexes if index < len(self.outcomes)]


async def open_context(launched: LaunchedBrowser, bundle: Bundle, options: ReplayOptions) -> ReplayContext:
    """Open a context in a running browser, positioned before the first step.

    Raises:
        EikonError: the bundle cannot be replayed, see `plan_replay` and `open_replay_context`.
        BrowserDiedError: the browser went away.
    """
    plan = plan_replay(bundle, options)
    async with AsyncExitStack() as opening:
        with report_gone_browser(launched.browser):
            opened = await opening.enter_async_context(
                open_replay_context(launched, plan, options, _preset_secrets(plan, options))
            )
            context = ReplayContext(bundle, plan, options, ContextBrowser(launched, opened))
            await context.observe_start()
        context.browser.exit_stack = opening.pop_all()
    return context


def _preset_secrets(plan: Plan, options: ReplayOptions) -> frozenset[str]:
    """Return the names of secrets to redact from the start, before any page has received them.

    Short values occur in documents by chance. Values typed in the recording are redacted from that step on.
    """
    typed = {each.name for each in plan.trace.redaction.typed}
    return frozenset(
        name for name, value in options.secrets.items() if len(value) >= MIN_SECRET_LENGTH and name not in typed
    )


def _all_steps(plan: Plan) -> tuple[PlannedStep, ...]:
    return tuple(step for subgoal in plan.subgoals for step in subgoal.steps)
