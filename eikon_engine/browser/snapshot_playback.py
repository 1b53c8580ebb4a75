"""Play a mission on its stored DOM snapshots alone: no site, no recorded responses, no scripts.

Before each action the page shows the snapshot recorded after the previous one; the target is bound on it exactly as in
a real replay. Actions have no effect, so nothing is observed afterwards.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.actions.conditions import check_assertion, wait_for
from eikon_engine.browser.actions.effect import require_page, translated_errors
from eikon_engine.browser.actions.targets import BoundTarget, Readiness, bind, readiness_for
from eikon_engine.browser.session import open_session
from eikon_engine.browser.worker import PerformedAction
from eikon_engine.dom import render_html
from eikon_engine.errors import ActionError, InternalError, RequirementError
from eikon_engine.outcome.outcomes import NetworkOutcome, ResponseChange
from eikon_engine.trace import actions
from eikon_engine.trace.bundle import load_page
from eikon_engine.trace.execution import ActionTrace, Blocked, Failed, Succeeded
from eikon_engine.trace.steps import READ_ONLY_ACTIONS, iter_steps
from eikon_engine.trace.stored_pages import read_stored_html

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Browser, Page, Request, Route

    from eikon_engine.browser.session import Session, SessionOptions
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import RecordedTiming, StoredPage
    from eikon_engine.trace.observation import Observation, PageObservation

BLANK = "about:blank"


class SnapshotTraffic:
    """Serve each document from its snapshot, and nothing else."""

    def __init__(self) -> None:
        """Start without documents."""
        self.documents: dict[str, str] = {}
        self.served = 0

    async def start(self, session: Session) -> None:
        """Set up the routes."""
        await session.context.route("**/*", self._serve)

    async def stop(self) -> None:
        """Do nothing: there are no background tasks."""

    def is_continuation(self, request: Request) -> bool:  # noqa: ARG002 - part of the protocol
        """Return False: nothing is redirected."""
        return False

    def document_hops(self, request: Request) -> tuple[tuple[str, int], ...]:  # noqa: ARG002 - as above
        """Return nothing: nothing is redirected."""
        return ()

    def is_timer_driven(self, request: Request) -> bool:  # noqa: ARG002 - as above
        """Return False: no scripts run."""
        return False

    def is_telemetry(self, request: Request) -> bool:  # noqa: ARG002 - part of the protocol
        """Return False: there are no rules."""
        return False

    def recorded_key(self, request: Request) -> str | None:  # noqa: ARG002 - as above
        """Return None: snapshots are no recorded exchanges."""
        return None

    def later_values(self) -> frozenset[tuple[str, str]]:
        """Return nothing: there are no requests."""
        return frozenset()

    def missing_messages(self) -> tuple[ResponseChange, ...]:
        """Return nothing: snapshots have no WebSockets."""
        return ()

    def outcome(self) -> NetworkOutcome:
        """Count the documents."""
        return NetworkOutcome(served=self.served)

    async def _serve(self, route: Route) -> None:
        from playwright.async_api import Error

        document = self.documents.get(route.request.url.split("#")[0])
        try:
            if document is None or not route.request.is_navigation_request():
                await route.abort("blockedbyclient")
                return
            await route.fulfill(status=200, content_type="text/html; charset=utf-8", body=document)
            self.served += 1
        except Error:
            return  # the page or the request is gone


class OlderPages:
    """The pages that an older format stored as HTML files, in the order of the actions; only the first page has any."""

    def __init__(self, bundle: Bundle) -> None:
        """Start before the first action of a bundle."""
        steps = [step for _, step in iter_steps(bundle.trace)]
        performed = [each for each in steps if isinstance(each, ActionTrace) and not isinstance(each.result, Blocked)]
        self._stored = iter([each.stored_page for each in performed])
        self.is_used = any(each.stored_page is not None for each in performed)
        self._shown: StoredPage | None = None

    def page(self, ordinal: int) -> StoredPage | None:
        """Return a page before the current action; None if it is not known."""
        return self._shown if ordinal == 0 else None

    def advance(self, action: actions.Action) -> None:
        """End an action: what the page shows after one that may change it is only known if it was stored."""
        stored = next(self._stored, None)
        if stored is not None or not isinstance(action, (*READ_ONLY_ACTIONS, *_KEEPS_DOCUMENT)):
            self._shown = stored


_KEEPS_DOCUMENT: Final = (actions.Fill, actions.TypeText, actions.WaitFor)
"""Actions after which the page is still the one before."""


class SnapshotPlayback:
    """Bind the targets of actions on stored snapshots."""

    def __init__(self, session: Session, bundle: Bundle, traffic: SnapshotTraffic) -> None:
        """Play `bundle` in an open session."""
        self.session = session
        self._bundle = bundle
        self._traffic = traffic
        self._current_pages: dict[int, PageObservation] = {}
        self._performed: PerformedAction | None = None
        self._older = OlderPages(bundle)

    async def perform(
        self,
        action: actions.Action,
        recorded: Observation | None = None,
        timing: RecordedTiming | None = None,  # noqa: ARG002 - snapshots have no timeline
    ) -> PerformedAction:
        """Bind the action's target on the page before it, then advance to the page after it.

        Raises:
            RequirementError: the recording has no snapshot of the page that the action needs.
        """
        error: ActionError | None = None
        bound: BoundTarget | None = None
        try:
            bound = await self._check(action)
        except ActionError as caught:
            error = caught
        self._older.advance(action)
        if recorded is not None:
            self._current_pages = {page.page: page for page in recorded.pages}
        self._performed = PerformedAction(
            result=Succeeded() if error is None else Failed(code=error.code, message=error.message),
            observation=None,
            error=error,
            identity=bound.identity if bound else None,
        )
        return self._performed

    async def observe_again(self) -> PerformedAction:
        """Return the last result: snapshots do not change."""
        if self._performed is None:
            message = "no action was performed yet"
            raise InternalError(message)
        return self._performed

    def end_action(self) -> None:
        """Do nothing: snapshots have no timeline."""

    async def screenshot(self, page: int) -> bytes | None:
        """Take a PNG of a page as last recorded; None without a snapshot."""
        shown = self._current_pages.get(page)
        if (shown is None or shown.snapshot is None) and self._older.page(page) is None:
            return None
        await self._load_snapshot(page)
        async with translated_errors(f"taking a screenshot of page {page}"):
            return await self._page().screenshot(animations="allow", caret="initial")

    def network_outcome(self) -> NetworkOutcome:
        """Count the documents served."""
        return self._traffic.outcome()

    async def _check(self, action: actions.Action) -> BoundTarget | None:
        match action:
            case actions.WaitFor(condition=actions.SelectorCondition() as condition):
                # The awaited state appears over page time, which a snapshot does not have: nothing to compare.
                if condition.state in {"visible", "attached"}:
                    return None
                await self._load_snapshot(action.page)
                await wait_for(self.session, action.model_copy(update={"page": 0, "timeout_ms": 1.0}))
            case actions.Assert(expectation=actions.AssertUrl()):
                return None
            case actions.Read() | actions.Evaluate() | actions.Expect():
                return None  # what the agent saw may be later than the snapshot before it
            case actions.Assert():
                await self._load_snapshot(action.page)
                await check_assertion(self.session, action.model_copy(update={"page": 0}))
            case _:
                return await self._bind(action)
        return None

    async def _bind(self, action: actions.Action) -> BoundTarget | None:
        target = getattr(action, "target", None)
        if target is None or (self._older.is_used and self._older.page(action.page) is None):
            return None
        await self._load_snapshot(action.page)
        readiness = readiness_for(action)
        page = require_page(self.session, 0)
        bound = await bind(page, target, self.session, readiness, timeout_ms=0)
        if isinstance(action, actions.SetValue) and bound.identity.tag != "select":  # it is filled
            bound = await bind(page, target, self.session, replace(readiness, editable=True), timeout_ms=0)
        if isinstance(action, actions.Drag):
            await bind(page, action.to, self.session, Readiness(), timeout_ms=0)
        return bound

    async def _load_snapshot(self, ordinal: int) -> None:
        """Load the snapshot of a page into the one real page."""
        html, url = self._stored_document(ordinal)
        page = self._page()
        self._traffic.documents = {url.split("#")[0]: html}
        async with translated_errors(f"showing the snapshot of page {ordinal}"):
            if not url.startswith(("http:", "https:")):
                await page.set_content(html, wait_until="load")
                return
            await page.goto(BLANK)
            await page.goto(url, wait_until="load")

    def _stored_document(self, ordinal: int) -> tuple[str, str]:
        """Return the HTML and the URL of a page before the current action."""
        if (stored := self._older.page(ordinal)) is not None:
            return read_stored_html(self._bundle.root, stored.path), stored.url
        shown = self._current_pages.get(ordinal)
        snapshot = load_page(self._bundle.dom, shown) if shown is not None else None
        if shown is None or snapshot is None:
            message = f"no DOM snapshot of page {ordinal} was recorded before this action. Replay it sealed or live."
            raise RequirementError(message, code="network-part-missing")
        return render_html(snapshot.main, frames=snapshot.frames), shown.url

    def _page(self) -> Page:
        return require_page(self.session, 0)


@asynccontextmanager
async def open_snapshot_playback(
    browser: Browser, options: SessionOptions, bundle: Bundle
) -> AsyncIterator[SnapshotPlayback]:
    """Open a session without JavaScript, and play the snapshots of `bundle` in it."""
    traffic = SnapshotTraffic()
    async with open_session(browser, replace(options, javascript_enabled=False), traffic) as session:
        yield SnapshotPlayback(session, bundle, traffic)
