"""Perform one action strictly: one match, one try, then an observation."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from eikon_engine.browser.clean import clean_snapshot
from eikon_engine.browser.observe import Sight, observe
from eikon_engine.browser.perform import perform
from eikon_engine.browser.perform.deed import Deed, require_page
from eikon_engine.browser.quiet import stay_quiet
from eikon_engine.browser.session import SessionOptions, open_session
from eikon_engine.browser.snapshot import capture_page
from eikon_engine.errors import ActionError, BrowserDiedError, DialogMissingError
from eikon_engine.trace.actions import AnswerDialog, Assert, Drag, ExtractDom, Note, Screenshot
from eikon_engine.trace.execution import Failed, Result, Succeeded, Timing
from eikon_engine.trace.observation import Observation

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from playwright.async_api import Browser

    from eikon_engine.browser.session import Session
    from eikon_engine.browser.traffic import Traffic
    from eikon_engine.outcome.outcomes import NetworkOutcome
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.dom import PageSnapshot
    from eikon_engine.trace.target import Identity


SILENCE_S: Final = 300.0
"""Wall time after which an action counts as hung: a last resort behind the deadlines in page time."""
AGREE_S: Final = 1.0
"""Wall time within which a sealed page must reach its recorded state while its clock is stopped: a busy browser may
report a request, or run a loaded script, after the page has reported that it is idle."""
AGREE_EVERY_S: Final = 0.02
LOOKING: Final = (AnswerDialog, Assert, ExtractDom, Note, Screenshot)
"""Actions without effect on a page: no page time passes after them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Performed:
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
    picture: bytes | None = field(default=None, repr=False)
    """PNG of a screenshot action."""
    sight: Sight | None = field(default=None, repr=False)
    """Snapshots and downloads behind the observation."""


Agrees: TypeAlias = "Callable[[Performed], bool]"
"""Returns whether an observation matches the recorded one."""


class Worker(Protocol):
    """Performs actions one at a time."""

    session: Session
    """The session it works in."""

    async def execute(
        self,
        action: Action,
        recorded: Observation | None = None,
        agrees: Agrees | None = None,
        timing: Timing | None = None,
    ) -> Performed:
        """Perform exactly one action; `recorded` is the recorded observation after it, `agrees` compares with it.

        `timing` is its position in the recorded timeline, if steps before it were edited.
        """

    async def picture(self, page: int) -> bytes | None:
        """Take a PNG of a page; None if it is not open."""

    def network(self) -> NetworkOutcome:
        """Summarize how requests were answered so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A performed action, before it is observed."""

    action: Action
    deed: Deed
    error: ActionError | None
    armed: int
    """Dialog answers that were armed when it began."""

    @property
    def uses_answers(self) -> bool:
        return self.armed > 0 and not isinstance(self.action, AnswerDialog)


class BrowserWorker:
    """Perform actions in a browser context, strictly."""

    def __init__(self, session: Session) -> None:
        """Work in an open session."""
        self.session = session

    async def execute(
        self,
        action: Action,
        recorded: Observation | None = None,
        agrees: Agrees | None = None,
        timing: Timing | None = None,
    ) -> Performed:
        """Perform exactly one action, let its page time pass, and observe.

        An action that cannot be performed gives a `Failed` result; the pages are observed even so. In a sealed session,
        pages that do not satisfy `agrees` are observed again for a short while.

        Raises:
            BrowserDiedError: the browser is gone, or does not answer.
            SecretMissingError: the action types a secret that was not supplied.
        """
        patience = max(SILENCE_S, 2 * action.timeout_ms / 1000)
        try:
            async with asyncio.timeout(patience):
                return await self._execute(action, recorded or timing, agrees, timing)
        except TimeoutError as error:
            message = f"{action.type} took more than {patience:.0f} s; the browser does not respond"
            raise BrowserDiedError(message) from error

    async def _execute(
        self, action: Action, recorded: Observation | Timing | None, agrees: Agrees | None, timing: Timing | None
    ) -> Performed:
        if timing is not None:
            self.session.rest.stand_after(timing.actions_before)
        await self.session.rest.begin(*self._begin_ms(recorded))
        armed = len(self.session.ledger.answers)
        deed, error = await self._perform(action)
        rest = self.session.rest
        await rest.settle(self._settle_ms(action, recorded))
        if not self.session.follows and not rest.natural:
            await stay_quiet(rest, self.session.ledger)
        asked = _Asked(action=action, deed=deed, error=error, armed=armed)
        performed = await self._observed(asked)
        if agrees is not None and self.session.follows:
            performed = await self._agreed(performed, agrees, asked)
        if asked.error is None and asked.uses_answers:
            self.session.ledger.answers.clear()
        rest.end()
        return performed

    async def _observed(self, asked: _Asked) -> Performed:
        deed, error = asked.deed, asked.error or self._unasked_answers(asked)
        sight = await observe(self.session, deed.bound)
        return Performed(
            result=Succeeded() if error is None else self._failed(error),
            observation=sight.observation,
            error=error,
            identity=deed.bound.identity if deed.bound else None,
            identity_second=deed.bound_second.identity if deed.bound_second else None,
            picture=deed.picture,
            sight=sight,
        )

    async def _agreed(self, performed: Performed, agrees: Agrees, asked: _Asked) -> Performed:
        """Observe again while pages may still be settling; no action is repeated on them."""
        if agrees(performed):
            return performed
        deadline = time.monotonic() + AGREE_S
        while True:
            await asyncio.sleep(AGREE_EVERY_S)
            await self.session.rest.quiesce()
            if performed.sight is not None:
                self.session.ledger.put_back(performed.sight.happened)
            if isinstance(asked.action, Screenshot) and asked.error is None:
                deed, error = await self._perform(asked.action)
                asked = replace(asked, deed=deed, error=error)
            performed = await self._observed(asked)
            if agrees(performed) or time.monotonic() > deadline:
                return performed

    async def snapshot(self, page: int) -> PageSnapshot:
        """Take a DOM snapshot of an open page, without secrets.

        Raises:
            PageMissingError: the page is not open.
        """
        return clean_snapshot(self.session, await capture_page(require_page(self.session, page)))

    async def picture(self, page: int) -> bytes | None:
        """Take a PNG of a page; None if it is not open, or waits for a document that is delivered later."""
        from playwright.async_api import Error

        shown = self.session.page(page)
        if shown is None or (self.session.rest.agenda is not None and self.session.ledger.is_leaving(shown)):
            return None
        try:
            return await shown.screenshot(animations="allow", caret="initial", timeout=10_000)
        except Error:
            return None  # evidence only: a page that closes or hangs has no screenshot

    def network(self) -> NetworkOutcome:
        """Summarize how requests were answered so far."""
        outcome = self.session.traffic.outcome()
        redact = self.session.redactor.text
        notes = tuple(redact(note) for note in (*outcome.notes, *self.session.rest.notes))
        failed = tuple(each.model_copy(update={"url": redact(each.url)}) for each in self.session.ledger.failed)
        return outcome.model_copy(update={"notes": notes, "failed": failed})

    async def _perform(self, action: Action) -> tuple[Deed, ActionError | None]:
        try:
            return await perform(self.session, self._in_clear(action)), None
        except ActionError as error:
            if self.session.ledger.crashed:
                message = f"the browser is gone; it closed during {action.type}: {error.message}"
                raise BrowserDiedError(message) from error
            return Deed(), error

    def _in_clear(self, action: Action) -> Action:
        """Insert the values of secrets into texts that contain their stand-ins."""
        data = action.model_dump(mode="json")
        restored = self.session.put_back_texts(data)
        return action if restored == data else type(action).model_validate_json(json.dumps(restored))

    def _begin_ms(self, recorded: Observation | Timing | None) -> tuple[float | None, float | None]:
        """Return when an action must begin, and act: in live runs, only the pauses of natural time count."""
        if recorded is None:
            return None, None
        if self.session.follows:
            return recorded.begun_ms, recorded.acted_ms
        return recorded.begun_ms if self.session.environment.clock == "natural" else None, None

    def _settle_ms(self, action: Action, recorded: Observation | Timing | None) -> float:
        """Return the page time to let pass: as much as recorded, minus what the action has used."""
        if recorded is None or recorded.virtual_ms is None or self._lets_settle(recorded):
            return 0.0 if isinstance(action, LOOKING) else self.session.environment.settle_ms
        return max(0.0, recorded.virtual_ms - self.session.rest.used_ms)

    def _lets_settle(self, recorded: Observation | Timing) -> bool:
        """Whether pages may settle though the agent did not wait: in live runs, and while a timeline is being found."""
        unsettled = isinstance(recorded, Observation) and not recorded.settled
        return unsettled and (not self.session.follows or self.session.rest.settles)

    def _unasked_answers(self, asked: _Asked) -> ActionError | None:
        missing = len(self.session.ledger.answers) if asked.uses_answers else 0
        if not missing:
            return None
        message = f"{asked.action.type}: expected {missing} more dialog(s) for the armed answers, none opened"
        return DialogMissingError(message)

    def _failed(self, error: ActionError) -> Failed:
        return Failed(code=error.code, message=self.session.redactor.text(error.message))


@asynccontextmanager
async def open_worker(browser: Browser, options: SessionOptions, traffic: Traffic) -> AsyncIterator[BrowserWorker]:
    """Open a session in a running browser, with a worker in it."""
    async with open_session(browser, options, traffic) as session:
        yield BrowserWorker(session)


def with_identities(action: Action, performed: Performed) -> Action:
    """Return the action with the identities of the elements it hit in its targets."""
    target = getattr(action, "target", None)
    if target is None or performed.identity is None:
        return action
    update = {"target": target.model_copy(update={"identity": performed.identity})}
    if isinstance(action, Drag) and performed.identity_second is not None:
        update["to"] = action.to.model_copy(update={"identity": performed.identity_second})
    return action.model_copy(update=update)
