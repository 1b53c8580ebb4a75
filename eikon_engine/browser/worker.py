"""Perform one action strictly: one match, one try, then an observation."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol

from eikon_engine.browser.actions import perform
from eikon_engine.browser.actions.effect import ActionEffect, require_page
from eikon_engine.browser.actions.secret_origins import require_page_origins
from eikon_engine.browser.observation import CapturedObservation, capture_page, observe, repeat_observation
from eikon_engine.browser.page_calls import page_deadline
from eikon_engine.browser.picture import take_picture
from eikon_engine.browser.redaction import redact_snapshot
from eikon_engine.browser.session import SessionOptions, open_session
from eikon_engine.browser.stabilizer import wait_until_quiet
from eikon_engine.errors import ActionError, BrowserDiedError, InternalError
from eikon_engine.trace.actions import AnswerDialog, Assert, Drag, Expect, ExtractDom, Note, Read, Screenshot
from eikon_engine.trace.execution import Failed, RecordedTiming, Result, Succeeded
from eikon_engine.trace.observation import Observation

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from playwright.async_api import Browser

    from eikon_engine.browser.session import Session
    from eikon_engine.browser.traffic.live import Traffic
    from eikon_engine.browser.traffic.sink import Sink
    from eikon_engine.dom import PageSnapshot
    from eikon_engine.outcome.outcomes import NetworkOutcome
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.target import Identity

HANG_TIMEOUT_S: Final = 300.0
"""Wall time after which an action counts as hung: a last resort behind the deadlines in page time."""
PASSIVE_ACTIONS: Final = (AnswerDialog, Assert, Expect, ExtractDom, Note, Read, Screenshot)
"""Actions without effect on a page: no page time passes after them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PerformedAction:
    """The outcome of one action and the observation after it."""

    result: Result
    observation: Observation | None
    """None if nothing can be observed: snapshot playback has no effects."""
    error: ActionError | None = None
    """The error behind a failed result."""
    identity: Identity | None = None
    """The element that was hit."""
    identity_second: Identity | None = None
    """The element that a drag ended on."""
    screenshot: bytes | None = field(default=None, repr=False)
    """PNG of a screenshot action."""
    captured: CapturedObservation | None = field(default=None, repr=False)
    """Snapshots and downloads behind the observation."""
    long_text: str | None = field(default=None, repr=False)
    """The JSON text of a long value that was read."""
    inline_scripts: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Texts, by digest, of the inline scripts in which live documents differ from the recorded ones so far."""
    waited_ms: float | None = None
    """Page time after which the condition of a wait held; None if it did not, and for other actions."""


class Worker(Protocol):
    """Performs actions one at a time."""

    session: Session
    """The session it works in."""

    async def perform(
        self, action: Action, recorded: Observation | None = None, timing: RecordedTiming | None = None
    ) -> PerformedAction:
        """Perform exactly one action, let its page time pass, and observe; `end_action` ends it.

        `recorded` is the recorded observation after it, whose timing it follows. `timing` is its position in the
        recorded timeline, if steps before it were edited.
        """

    async def observe_again(self) -> PerformedAction:
        """Observe the pages again after the current action, which is not repeated."""

    def end_action(self) -> None:
        """End the current action."""

    async def screenshot(self, page: int) -> bytes | None:
        """Take a PNG of a page; None if it is not open."""

    def network_outcome(self) -> NetworkOutcome:
        """Summarize how requests were answered so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _UnobservedAction:
    """A performed action, before it is observed."""

    action: Action
    effect: ActionEffect
    error: ActionError | None
    armed_answers: int
    """Dialog answers that were armed when it began."""
    disarms_answers: bool
    """Whether its end disarms them: it succeeded when it was performed first, and its dialogs could use them."""
    repeats_pages: bool = False
    """Whether it has the pages of the observation before, as recorded."""

    @property
    def uses_dialog_answers(self) -> bool:
        return self.armed_answers > 0 and not isinstance(self.action, AnswerDialog)


class BrowserWorker:
    """Perform actions in a browser context, strictly."""

    def __init__(self, session: Session) -> None:
        """Work in an open session."""
        self.session = session
        self._current: tuple[_UnobservedAction, PerformedAction] | None = None
        """The action that has not ended, and its last observation."""
        self._last_captured: CapturedObservation | None = None
        """The last observation that was made of the pages."""

    async def execute(self, action: Action, recorded: Observation | None = None) -> PerformedAction:
        """Perform exactly one action, let its page time pass, observe once, and end it.

        Raises:
            BrowserDiedError: the browser is gone, or does not answer.
            RequirementError: the action types a secret that was not supplied.
        """
        performed = await self.perform(action, recorded)
        self.end_action()
        return performed

    async def perform(
        self, action: Action, recorded: Observation | None = None, timing: RecordedTiming | None = None
    ) -> PerformedAction:
        """Perform exactly one action, let its page time pass, and observe.

        An action that cannot be performed gives a `Failed` result; the pages are observed even so.

        Raises:
            BrowserDiedError: the browser is gone, or does not answer.
            RequirementError: the action types a secret that was not supplied, or is bound to another origin.
        """
        async with _hang_timeout(action):
            with page_deadline(action.timeout_ms):
                return await self._perform_and_observe(action, recorded, timing)

    async def observe_again(self) -> PerformedAction:
        """Wait until the pages are idle, and observe them again; a screenshot is taken again, nothing else is repeated.

        Raises:
            BrowserDiedError: the browser is gone, or does not answer.
        """
        async with _hang_timeout(self._require_current()[0].action):
            return await self._observe_once_more()

    def end_action(self) -> None:
        """End the current action: unused dialog answers are disarmed, and later events belong to the next action."""
        unobserved, _ = self._require_current()
        if unobserved.disarms_answers:
            self.session.tracker.dialog_answers.clear()
        self.session.timeline.end_action()
        self._current = None

    async def _perform_and_observe(
        self, action: Action, recorded: Observation | None, timing: RecordedTiming | None
    ) -> PerformedAction:
        if timing is not None:
            self.session.timeline.move_to_action(timing.actions_before)
        moment = recorded or timing
        stabilizer = self.session.stabilizer
        await stabilizer.begin_action(*self._begin_ms(moment))
        armed = len(self.session.tracker.dialog_answers)
        effect, error = await self._perform(action)
        await stabilizer.settle(self._settle_ms(action, moment))
        repeats_pages = isinstance(recorded, Observation) and recorded.repeats_pages
        if not self.session.follows_schedule and not stabilizer.timeline.is_natural and not repeats_pages:
            await wait_until_quiet(stabilizer, self.session.tracker)
        unobserved = _UnobservedAction(
            action=action,
            effect=effect,
            error=error,
            armed_answers=armed,
            disarms_answers=error is None and armed > 0 and not isinstance(action, AnswerDialog),
            repeats_pages=repeats_pages,
        )
        performed = await self._observe(unobserved)
        self._current = (unobserved, performed)
        return performed

    async def _observe_once_more(self) -> PerformedAction:
        unobserved, earlier = self._require_current()
        await self.session.stabilizer.wait_until_idle()
        if earlier.captured is not None:
            self.session.tracker.restore_events(earlier.captured.events)
        if isinstance(unobserved.action, Screenshot) and unobserved.error is None:
            effect, error = await self._perform(unobserved.action)
            unobserved = replace(unobserved, effect=effect, error=error)
        performed = await self._observe(unobserved)
        self._current = (unobserved, performed)
        return performed

    def _require_current(self) -> tuple[_UnobservedAction, PerformedAction]:
        if self._current is None:
            message = "no action is in progress; perform one first"
            raise InternalError(message)
        return self._current

    async def _observe(self, unobserved: _UnobservedAction) -> PerformedAction:
        effect, error = unobserved.effect, unobserved.error or self._missing_dialogs(unobserved)
        if unobserved.repeats_pages and self._last_captured is not None:
            captured = repeat_observation(self.session, self._last_captured)
        else:
            captured = self._last_captured = await observe(self.session, effect.bound)
        return PerformedAction(
            result=Succeeded() if error is None else self._failed_result(error),
            observation=captured.observation.model_copy(update={"value": effect.value}),
            error=error,
            identity=effect.bound.identity if effect.bound else None,
            identity_second=effect.bound_second.identity if effect.bound_second else None,
            screenshot=effect.screenshot,
            captured=captured,
            long_text=effect.long_text,
            inline_scripts=self.session.inline_scripts,
            waited_ms=effect.waited_ms,
        )

    async def snapshot(self, page: int) -> PageSnapshot:
        """Take a DOM snapshot of an open page, without secrets.

        Raises:
            PageMissingError: the page is not open.
        """
        return redact_snapshot(self.session, await capture_page(require_page(self.session, page)))

    async def screenshot(self, page: int) -> bytes | None:
        """Take a PNG of a page; None if it is not open, waits for a document that is delivered later, or hangs."""
        shown = self.session.page(page)
        if shown is None or (
            self.session.stabilizer.pending_deliveries is not None
            and self.session.tracker.requests.is_navigating(shown)
        ):
            return None
        return await take_picture(shown)

    def network_outcome(self) -> NetworkOutcome:
        """Summarize how requests were answered so far."""
        outcome = self.session.traffic.outcome()
        redact = self.session.redactor.redact_text
        notes = tuple(redact(note) for note in (*outcome.notes, *self.session.stabilizer.notes))
        failed = tuple(
            each.model_copy(update={"url": redact(each.url)}) for each in self.session.tracker.requests.failed
        )
        return outcome.model_copy(update={"notes": notes, "failed": failed})

    async def _perform(self, action: Action) -> tuple[ActionEffect, ActionError | None]:
        try:
            require_page_origins(self.session, action)
            effect = await perform(self.session, self._with_secrets(action))
        except ActionError as error:
            if self.session.tracker.is_dead:
                raise self.session.tracker.death(f" during {action.type}: {error.message}") from error
            return ActionEffect(), error
        else:
            return effect, effect.error

    def _with_secrets(self, action: Action) -> Action:
        """Insert the values of secrets into texts that contain their stand-ins."""
        data = action.model_dump(mode="json")
        restored = self.session.restore_secrets_in_json(data)
        return action if restored == data else type(action).model_validate_json(json.dumps(restored))

    def _begin_ms(self, recorded: Observation | RecordedTiming | None) -> tuple[float | None, float | None]:
        """Return when an action must begin, and act; in live runs, only natural time counts.

        What a page does in time, such as blinking, is then as far as in the recording when the page is observed. Where
        pages were not waited for, an action may act at once. In whole milliseconds, as all deliveries: a fraction would
        let each of them lag behind by one.
        """
        if recorded is None or not (self.session.follows_schedule or self.session.environment.clock == "natural"):
            return None, None
        is_free = not self.session.follows_schedule and self._should_settle(recorded)
        return _whole_ms(recorded.begun_ms), None if is_free else _whole_ms(recorded.acted_ms)

    def _settle_ms(self, action: Action, recorded: Observation | RecordedTiming | None) -> float:
        """Return the page time to let pass: as much as recorded, minus what the action has used."""
        if recorded is None or recorded.virtual_ms is None or self._should_settle(recorded):
            return 0.0 if isinstance(action, PASSIVE_ACTIONS) else self.session.environment.settle_ms
        begun_ms = recorded.begun_ms or 0.0
        passed_ms = round(begun_ms + recorded.virtual_ms) - round(begun_ms)
        return max(0.0, passed_ms - self.session.timeline.used_ms)

    def _should_settle(self, recorded: Observation | RecordedTiming) -> bool:
        """Whether pages may settle though the agent did not wait: in live runs, and while a timeline is being found."""
        unsettled = isinstance(recorded, Observation) and not recorded.settled
        return unsettled and (not self.session.follows_schedule or self.session.stabilizer.should_settle)

    def _missing_dialogs(self, unobserved: _UnobservedAction) -> ActionError | None:
        missing = len(self.session.tracker.dialog_answers) if unobserved.uses_dialog_answers else 0
        if not missing:
            return None
        message = f"{unobserved.action.type}: expected {missing} more dialog(s) for the armed answers, none opened"
        return ActionError(message, code="dialog-missing")

    def _failed_result(self, error: ActionError) -> Failed:
        return Failed(code=error.code, message=self.session.redactor.redact_text(error.message))


def _whole_ms(time_ms: float | None) -> float | None:
    return None if time_ms is None else float(round(time_ms))


@asynccontextmanager
async def _hang_timeout(action: Action) -> AsyncIterator[None]:
    timeout_s = max(HANG_TIMEOUT_S, 2 * action.timeout_ms / 1000)
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except TimeoutError as error:
        message = f"{action.type} took more than {timeout_s:.0f} s; the browser does not respond"
        raise BrowserDiedError(message) from error


@asynccontextmanager
async def open_worker(browser: Browser, options: SessionOptions, traffic: Traffic) -> AsyncIterator[BrowserWorker]:
    """Open a session in a running browser, with a worker in it."""
    async with open_session(browser, options, traffic) as session:
        yield BrowserWorker(session)


def with_identities(action: Action, performed: PerformedAction) -> Action:
    """Return the action with the identities of the elements it hit in its targets."""
    target = getattr(action, "target", None)
    if target is None or performed.identity is None:
        return action
    update = {"target": target.model_copy(update={"identity": performed.identity})}
    if isinstance(action, Drag) and performed.identity_second is not None:
        update["to"] = action.to.model_copy(update={"identity": performed.identity_second})
    return action.model_copy(update=update)


class SealedWorker:
    """Delegate to another worker, and report violations."""

    def __init__(self, worker: Worker, session: Session, sink: Sink) -> None:
        """Wrap the worker of a session whose proxy is `sink`."""
        self._worker = worker
        self.session = session
        self._sink = sink

    async def perform(
        self, action: Action, recorded: Observation | None = None, timing: RecordedTiming | None = None
    ) -> PerformedAction:
        """Perform exactly one action, see `Worker.perform`."""
        return await self._worker.perform(action, recorded, timing)

    async def observe_again(self) -> PerformedAction:
        """Observe the pages again, see `Worker.observe_again`."""
        return await self._worker.observe_again()

    def end_action(self) -> None:
        """End the current action."""
        self._worker.end_action()

    async def screenshot(self, page: int) -> bytes | None:
        """Take a PNG of a page; None if it is not open."""
        return await self._worker.screenshot(page)

    def network_outcome(self) -> NetworkOutcome:
        """Summarize how requests were answered so far, with those that reached the sink."""
        redact = self.session.redactor.redact_text
        violations = tuple(each.model_copy(update={"target": redact(each.target)}) for each in self._sink.violations())
        return self._worker.network_outcome().model_copy(update={"violations": violations})
