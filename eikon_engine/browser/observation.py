"""Observe the pages of a session after an action: documents, DOM snapshots, events, storage."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from dataclasses import dataclass, field
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final, Self
from weakref import WeakKeyDictionary

from eikon_engine.browser.actions.targets import Readiness, inspect_target
from eikon_engine.browser.browser_storage import WebStorage, stored_items
from eikon_engine.browser.frames import frame_of, frame_tree
from eikon_engine.browser.page_activity import DocumentActivity, PageActivity
from eikon_engine.browser.page_calls import call_in_frame
from eikon_engine.browser.page_scripts.loader import CALL_STORED_SCRIPT, STORED_SCRIPTS, standalone_script
from eikon_engine.browser.page_tracker import PageEvents, read_download
from eikon_engine.browser.playwright_errors import replayable_console_text
from eikon_engine.browser.redaction import redact_page_text, redact_snapshot
from eikon_engine.browser.request_keys import recorded_or_own_key
from eikon_engine.browser.traffic.live import REDIRECT_DOCUMENT_HEADER
from eikon_engine.dom import FrameReader, FrameSnapshot, PageSnapshot, frame_digest, visibility_digest
from eikon_engine.errors import ActionError, BrowserDiedError, BrowserError, PageUnreadableError
from eikon_engine.network.exchange import PASSIVE_TYPES, SAFE_METHODS
from eikon_engine.trace.base_urls import restore_page_links
from eikon_engine.trace.observation import (
    DocumentLoad,
    FrameObservation,
    Observation,
    PageObservation,
    RedirectHop,
    TargetState,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from playwright.async_api import Download, ElementHandle, Frame, Page, Request

    from eikon_engine.browser.actions.targets import BoundTarget
    from eikon_engine.browser.browser_storage import BrowserItem
    from eikon_engine.browser.session import Session
    from eikon_engine.dom.snapshot_format import SnapshotRequest
    from eikon_engine.trace.base_urls import BaseUrlMap
    from eikon_engine.trace.observation import ObservedDownload, StoredItem
    from eikon_engine.trace.target import Target


async def capture_page(page: Page, urls: BaseUrlMap | None = None) -> PageSnapshot:
    """Take snapshots of all frames of a page at once, main frame first; scripts are digested with `urls` mapped.

    A frame that is removed meanwhile is omitted.

    Raises:
        BrowserError: a document was replaced, or the browser is gone.
    """
    return (await _observe_page(page, urls, queries_activity=False)).snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class _MainDocument:
    """The first line of what observe_document.js returns."""

    activity: DocumentActivity
    title: str
    storage: WebStorage
    cookie_writes: int | None
    """How often scripts of the document and its frames have written cookies; None if a frame is out of reach."""
    target: dict[str, Any] | None
    """`state` of the target that was asked for; None without one, and if only Playwright can evaluate it."""

    @classmethod
    def parse(cls, line: str) -> Self:
        """Parse the line with the parser that takes surrogates without their pair, as texts of pages have them.

        Raises:
            BrowserError: the page has replaced what our script uses.
        """
        try:
            data = json.loads(line)
            origin, local, own = data["storage"]
            return cls(
                activity=tuple(data["activity"]),
                title=data["title"],
                storage=(origin, tuple(map(tuple, local)), tuple(map(tuple, own))),
                cookie_writes=data["cookie_writes"],
                target=data["target"],
            )
        except (ValueError, KeyError, TypeError) as error:
            message = f"expected the JSON of an observation, got {line[:MAX_SHOWN]!r}: {error}"
            raise BrowserError(message) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _ObservedPage:
    """A page at one moment."""

    main: _MainDocument
    """What its main document returned before its snapshot was taken."""
    snapshot: PageSnapshot


async def _observe_page(
    page: Page, urls: BaseUrlMap | None, target: Target | None = None, *, queries_activity: bool = True
) -> _ObservedPage:
    """Observe the main document of a page, with the form state of what `target` matches, and take snapshots.

    The main document takes those of frames in its reach; the others take a call each. To query its activity ends
    animations.

    Raises:
        BrowserError: a document was replaced, or the browser is gone.
    """
    main, *inner = (
        _FrameCapture.of(frame, path, urls) for path, frame in frame_tree(page.main_frame) if _is_shown(frame)
    )
    places = [{"path": _place(each.frame), "url": each.frame.url, **each.arguments} for each in inner]
    text = await main.call(
        "observe_document.js",
        queries=queries_activity,
        documents=len(page.frames),
        inner=places,
        target=None if target is None else {"frames": target.frames, "selector": target.selector},
    )
    head, *texts = text.split("\n=\n")
    first, *others = await asyncio.gather(*(map(_FrameCapture.parse_or_repeat, (main, *inner), texts)))
    if first is None:
        message = f"{page.url}: its main document was replaced"
        raise BrowserError(message)
    return _ObservedPage(
        main=_MainDocument.parse(head),
        snapshot=PageSnapshot(frames=(first, *(frame for frame in others if frame is not None))),
    )


def _place(frame: Frame) -> list[tuple[int, int]]:
    """Return the index of a frame among its siblings and their number, for each level below the main frame."""
    if (parent := frame.parent_frame) is None:
        return []
    siblings = parent.child_frames
    return [*_place(parent), (siblings.index(frame), len(siblings))]


def _is_shown(frame: Frame) -> bool:
    """Whether a frame has a document: one that loads lazily has none yet."""
    return frame.parent_frame is None or bool(frame.url)


@dataclass(frozen=True, slots=True, kw_only=True)
class _FrameCapture:
    """Takes the snapshot of a document."""

    frame: Frame
    path: str
    reader: FrameReader
    since: SnapshotRequest
    """Names the previous snapshot, which the document has as well."""
    arguments: dict[str, Any]
    """Those of dom_snapshot.js."""

    @classmethod
    def of(cls, frame: Frame, path: str, urls: BaseUrlMap | None) -> Self:
        reader = _FRAME_READERS.setdefault(frame, FrameReader())
        since = reader.prepare_request(token_hex(8))
        arguments = {
            "frames": len(frame.child_frames),
            "addresses": {"pattern": urls.to_old.pattern.pattern, "targets": urls.to_old.targets} if urls else None,
            "since": since.previous_token,
            "token": since.token,
        }
        return cls(frame=frame, path=path, reader=reader, since=since, arguments=arguments)

    async def call(self, script: str, **more: object) -> str:
        """Call a stored script in the document; where our init scripts did not run, evaluate it."""
        from playwright.async_api import Error

        arguments = {**self.arguments, **more}
        try:
            if isinstance(arguments["frames"], list):  # elements, which only Playwright can pass
                return str(await self.frame.evaluate(standalone_script(script), arguments))
            stored = [STORED_SCRIPTS[script], arguments]
            text = await call_in_frame(self.frame, CALL_STORED_SCRIPT, stored, timeout_s=SNAPSHOT_TIMEOUT_S)
            if text is None:
                called = standalone_script(script)
                text = await call_in_frame(self.frame, called, arguments, timeout_s=SNAPSHOT_TIMEOUT_S)
            return str(text)
        except Error as error:
            reason = error.message.splitlines()[0]
            place = f"frame {self.path or 'main'} ({self.frame.url})"
            message = f"DOM snapshot of {place} failed: {reason}; wait until the page is idle"
            raise BrowserError(message) from error

    async def parse_or_repeat(self, text: str) -> FrameSnapshot | None:
        """Parse the lines of dom_snapshot.js, called again if it could not be, or not count its frames.

        None for an inner frame that is gone.
        """
        try:
            if text == _NO_SNAPSHOT:
                text = await self.call("dom_snapshot.js")
            if text == _NO_SNAPSHOT:
                owners = await asyncio.gather(*map(_owner_element, self.frame.child_frames))
                text = await self.call("dom_snapshot.js", frames=owners)
        except BrowserError:
            if self.path and self.frame.is_detached():
                return None
            raise
        return self.reader.parse_response(text, self.since, path=self.path, url=self.frame.url, name=self.frame.name)


_FRAME_READERS: Final[WeakKeyDictionary[Frame, FrameReader]] = WeakKeyDictionary()
"""The previous snapshot of each frame."""
_FRAME_OWNERS: Final[WeakKeyDictionary[Frame, ElementHandle]] = WeakKeyDictionary()
"""Owner elements of frames: they never change, and looking one up takes several round trips."""


async def _owner_element(frame: Frame) -> ElementHandle | None:
    """Return the element that owns a frame; None if it is just being removed."""
    from playwright.async_api import Error

    known = _FRAME_OWNERS.get(frame)
    if known is not None:
        return known
    try:
        owner = await frame.frame_element()
    except Error:
        return None
    _FRAME_OWNERS[frame] = owner
    return owner


MAX_SHOWN: Final = 80
"""Characters of an unexpected text in a message."""
_NO_SNAPSHOT: Final = "null"
"""Returned for a frame out of reach, and where child frames could not be found by counting them."""
SNAPSHOT_TIMEOUT_S: Final = 120.0
"""Wall time for a document to answer with its snapshot; large ones take seconds on a loaded machine."""
FORM_TAGS: Final = frozenset({"input", "textarea", "select"})
CAPTURE_TRIES: Final = 20
"""How often a page that navigates between idle and snapshot is awaited again."""
OBSERVATION_TRIES: Final = 4
"""How often pages are observed at most, because events arrived meanwhile."""
_CORS_ERROR: Final = re.compile(r"(Access to .* from origin '.*' has been blocked by CORS policy): .*", re.DOTALL)
SOCKET_ERROR_PREFIX: Final = "WebSocket connection to "
"""Prefix of the browser's message about a failed socket; in a replay there is no connection to report."""
_NO_CONTENT_STATUSES: Final = (204, 205)
_REASON_PHRASE: Final = re.compile(r"(the server responded with a status of \d+) \([^)]*\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class _PageState:
    """The visible state of the pages at one moment."""

    target: TargetState | None
    snapshots: dict[int, PageSnapshot]
    """DOM by page ordinal, without secrets."""
    titles: dict[int, str]
    storage: tuple[StoredItem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedObservation:
    """An observation with the content that it refers to by digest."""

    observation: Observation
    snapshots: dict[int, PageSnapshot] = field(default_factory=dict, repr=False)
    """DOM by page ordinal, without secrets."""
    downloads: tuple[tuple[ObservedDownload, bytes | None, str], ...] = ()
    """Downloads with their content and URL."""
    events: PageEvents = field(default_factory=PageEvents, repr=False)
    """The page events it was made from."""
    passive_requests: frozenset[str] = frozenset()
    """Keys of the safe requests for pictures and the like, on which nothing else of a page depends."""
    error_ms: Mapping[str, float] = field(default_factory=dict)
    """Page time at which each console error and page error of the observation was first reported."""


async def observe(session: Session, bound: BoundTarget | None) -> CapturedObservation:
    """Build the observation of an idle session.

    Raises:
        BrowserDiedError: the browser is gone.
    """
    seen = await _read_page_state(session, bound)
    session.stabilizer.mark_observed()
    virtual_ms = session.timeline.used_ms
    deliveries = session.stabilizer.pending_deliveries
    happened = session.tracker.take_events()
    downloads = [await _download(page, download, session) for page, download in happened.downloads]
    observation = Observation(
        pages=tuple(
            _page_observation(session, ordinal, snapshot, seen.titles[ordinal])
            for ordinal, snapshot in seen.snapshots.items()
        ),
        documents=_documents(session, happened),
        opened=tuple(happened.opened),
        closed=tuple(happened.closed),
        dialogs=tuple(
            dialog.model_copy(update={"message": redact_page_text(session, dialog.message)})
            for dialog in happened.dialogs
        ),
        downloads=tuple(seen for seen, _, _ in downloads),
        target=seen.target,
        console_errors=_console_errors(session, happened),
        page_errors=tuple(redact_page_text(session, text) for text in happened.page_errors),
        requests=tuple(sorted(_request_keys(session, happened))),
        timer_requests=tuple(sorted(_timer_request_keys(session, happened))),
        writes=_unsafe_request_keys(session, happened),
        storage=seen.storage,
        loading_pages=() if deliveries is None else _ordinals(session, deliveries.loading_requests()),
        begun_ms=session.timeline.begun_ms,
        acted_ms=session.timeline.acted_ms,
        virtual_ms=virtual_ms,
    )
    return CapturedObservation(
        observation=observation,
        snapshots=seen.snapshots,
        downloads=tuple(downloads),
        events=happened,
        passive_requests=_passive_request_keys(session, happened),
        error_ms=_error_times(session, happened),
    )


def repeat_observation(session: Session, before: CapturedObservation) -> CapturedObservation:
    """Build the observation of an action that only read something, with the pages as observed before it.

    Events stay for the next observation.
    """
    session.stabilizer.mark_observed()
    observation = Observation(
        pages=before.observation.pages,
        storage=before.observation.storage,
        begun_ms=session.timeline.begun_ms,
        acted_ms=session.timeline.acted_ms,
        virtual_ms=session.timeline.used_ms,
        repeats_pages=True,
    )
    return CapturedObservation(observation=observation, snapshots=before.snapshots)


def observe_without_waiting(session: Session, events: PageEvents) -> Observation:
    """Build the part of an observation that needs neither queries nor waiting."""
    return Observation(
        pages=tuple(
            PageObservation(page=ordinal, url=session.redactor.redact_text(page.url), title="")
            for ordinal, page in session.tracker.open_pages()
        ),
        documents=_documents(session, events),
        opened=tuple(events.opened),
        closed=tuple(events.closed),
        dialogs=tuple(events.dialogs),
        console_errors=_console_errors(session, events),
        page_errors=tuple(redact_page_text(session, text) for text in events.page_errors),
        requests=tuple(sorted(_request_keys(session, events))),
        writes=_unsafe_request_keys(session, events),
        begun_ms=session.timeline.begun_ms,
        acted_ms=session.timeline.acted_ms,
        virtual_ms=session.timeline.used_ms,
        settled=False,
    )


def _console_errors(session: Session, happened: PageEvents) -> tuple[str, ...]:
    return tuple(
        redact_page_text(session, _normalize_console_error(text))
        for text in happened.console_errors
        if not text.startswith(SOCKET_ERROR_PREFIX)
    )


def _error_times(session: Session, happened: PageEvents) -> dict[str, float]:
    found: dict[str, float] = {}
    for text, at_ms in happened.error_times:
        normalized = text if text in happened.page_errors else _normalize_console_error(text)
        found.setdefault(redact_page_text(session, normalized), at_ms)
    return found


async def _read_page_state(session: Session, bound: BoundTarget | None) -> _PageState:
    """Observe again while live traffic arrives, so that it is certain what arrived before and after."""
    for _ in range(OBSERVATION_TRIES):
        counts = session.tracker.event_counts
        with session.stabilizer.barrier.hold():
            pages, cookies = await _observe_pages_and_cookies(session, bound)
            target = await _target_state(session, bound, pages or {})
            activity = PageActivity.total(each.main.activity for each in (pages or {}).values())
            is_idle = await session.stabilizer.confirm_idle(activity, counts)
        if is_idle and pages is not None:
            return _page_state(session, target, pages, cookies)
        await session.stabilizer.wait_until_idle()
    session.stabilizer.notes.append(
        f"events arrived during each of {OBSERVATION_TRIES} observations; the last one was used"
    )
    with session.stabilizer.barrier.hold():
        pages = await _observe_with_retries(session, bound)
        target = await _target_state(session, bound, pages)
        return _page_state(session, target, pages, await _read_cookies(session, pages))


async def _observe_pages_and_cookies(
    session: Session, bound: BoundTarget | None
) -> tuple[dict[int, _ObservedPage] | None, list[BrowserItem]]:
    """Observe the pages; cookies at the same time, unless what is observed says whether they must be read."""
    if session.stabilizer.pending_deliveries is None:
        return await asyncio.gather(_observe_pages(session, bound), session.cookies.read())
    pages = await _observe_pages(session, bound)
    return pages, await _read_cookies(session, pages or {})


async def _read_cookies(session: Session, pages: Mapping[int, _ObservedPage]) -> list[BrowserItem]:
    """Return the cookies: known ones, if only recorded responses and counted writes can have changed them."""
    writes = [page.main.cookie_writes for page in pages.values()]
    counted = [each for each in writes if each is not None]
    is_known = bool(pages) and len(counted) == len(writes) and not session.is_live_now
    return await session.cookies.read(sum(counted) if is_known else None)


def _page_state(
    session: Session,
    target: TargetState | None,
    pages: Mapping[int, _ObservedPage],
    cookies: Iterable[BrowserItem],
) -> _PageState:
    if not pages and session.tracker.is_dead:  # known once the cookies were asked for: pages close first
        raise session.tracker.death(" during an observation")
    storage = stored_items(session, cookies, {ordinal: page.main.storage for ordinal, page in pages.items()})
    return _PageState(  # after secrets were found in the storage
        target=target,
        snapshots={
            ordinal: redact_snapshot(session, restore_page_links(page.snapshot, session.urls))
            for ordinal, page in pages.items()
        },
        titles={ordinal: redact_page_text(session, page.main.title) for ordinal, page in pages.items()},
        storage=storage,
    )


async def _download(page: int, download: Download, session: Session) -> tuple[ObservedDownload, bytes | None, str]:
    seen, content = await read_download(page, download)
    if content is not None and (moved := session.redactor.redact_bytes(content)) != content:
        seen = seen.model_copy(update={"sha256": hashlib.sha256(moved).hexdigest(), "size": len(moved)})
    return seen, content, session.redactor.redact_text(download.url)


async def _observe_with_retries(session: Session, bound: BoundTarget | None) -> dict[int, _ObservedPage]:
    for _ in range(CAPTURE_TRIES):
        pages = await _observe_pages(session, bound)
        if pages is not None:
            return pages
        await session.stabilizer.wait_until_idle()
    message = f"a page kept navigating by itself; no DOM snapshot after {CAPTURE_TRIES} tries"
    raise BrowserError(message)


async def _observe_pages(session: Session, bound: BoundTarget | None) -> dict[int, _ObservedPage] | None:
    """Observe all pages; None if one of them was navigating."""
    pages = session.tracker.open_pages()
    try:
        observed = await asyncio.gather(
            *(_observe_page(page, session.urls, _target_in(page, bound)) for _, page in pages)
        )
    except (BrowserDiedError, PageUnreadableError):
        raise
    except BrowserError as error:
        if session.tracker.is_dead:
            raise session.tracker.death(" during an observation") from error
        return None
    return {ordinal: page for (ordinal, _), page in zip(pages, observed, strict=True)}


def _target_in(page: Page, bound: BoundTarget | None) -> Target | None:
    """Return the target of an action if it is in a page and has a form state."""
    is_there = bound is not None and bound.identity.tag in FORM_TAGS and bound.locator.page is page
    return bound.target if bound is not None and is_there else None


async def _target_state(
    session: Session, bound: BoundTarget | None, pages: Mapping[int, _ObservedPage]
) -> TargetState | None:
    """Return the form state of the target of an action, which its page has observed if it could."""
    if bound is None or bound.identity.tag not in FORM_TAGS:
        return None
    page = pages.get(session.tracker.ordinal(bound.locator.page))
    if page is not None and page.main.target is not None:
        seen = page.main.target["state"]
        state = None if seen is None else TargetState(value=seen["value"], checked=seen["checked"])
    else:
        try:
            state = (await inspect_target(bound.locator.page, bound.target, Readiness(visible=False))).state
        except ActionError:
            return None  # the page of the target is gone
    if state is None or state.value is None:
        return state
    return state.model_copy(update={"value": redact_page_text(session, state.value)})


def _page_observation(session: Session, ordinal: int, snapshot: PageSnapshot, title: str) -> PageObservation:
    """Describe a page by its redacted snapshot."""
    page = session.page(ordinal)
    return PageObservation(
        page=ordinal,
        url=session.redactor.redact_text(page.url) if page is not None else snapshot.main.url,
        title=title,
        frames=tuple(
            FrameObservation(
                path=frame.path,
                url=frame.url,
                digest=frame_digest(frame),
                visibility=visibility_digest(frame),
            )
            for frame in snapshot.frames
        ),
    )


def _documents(session: Session, happened: PageEvents) -> tuple[DocumentLoad, ...]:
    loads = []
    for response in happened.responses:
        request = response.request
        page = _main_page(request)
        if (
            page is None
            or request.redirected_to is not None
            or response.status in _NO_CONTENT_STATUSES
            or request.failure
        ):
            continue
        if REDIRECT_DOCUMENT_HEADER in response.headers:
            continue
        hops = session.traffic.document_hops(request) or _redirect_hops(request)
        ordinal = session.tracker.ordinal(page)
        if ordinal < 0:
            continue  # the page is about to be announced
        loads.append(
            DocumentLoad(
                page=ordinal,
                url=session.redactor.redact_text(response.url),
                status=response.status,
                hops=tuple(RedirectHop(url=session.redactor.redact_text(url), status=status) for url, status in hops),
            )
        )
    return tuple(loads)


def _redirect_hops(request: Request) -> tuple[tuple[str, int], ...]:
    hops: list[tuple[str, int]] = []
    earlier = request.redirected_from
    while earlier is not None:
        answer = earlier.existing_response
        hops.append((earlier.url, answer.status if answer is not None else 0))
        earlier = earlier.redirected_from
    return tuple(reversed(hops))


def _main_page(request: Request) -> Page | None:
    """Return the page whose main frame a document is for; None for an inner frame or a closed page."""
    from playwright.async_api import Error

    try:
        frame = request.frame
    except Error:
        return None
    return frame.page if frame.parent_frame is None else None


def _request_keys(session: Session, happened: PageEvents) -> list[str]:
    keys = (key if isinstance(key, str) else key() for key in happened.keys)
    return [
        *(recorded_or_own_key(session, request) for request in _counted_requests(session, happened)),
        *(key for key in keys if key is not None),
    ]


def _ordinals(session: Session, requests: Iterable[Request]) -> tuple[int, ...]:
    """Return the ordinals of the pages that sent requests."""
    frames = (frame_of(request) for request in requests)
    found = {session.tracker.ordinal(frame.page) for frame in frames if frame is not None}
    return tuple(sorted(ordinal for ordinal in found if ordinal >= 0))


def _timer_request_keys(session: Session, happened: PageEvents) -> Iterator[str]:
    for request in _counted_requests(session, happened):
        if session.traffic.is_timer_driven(request):
            yield recorded_or_own_key(session, request)


def _passive_request_keys(session: Session, happened: PageEvents) -> frozenset[str]:
    """Return the keys of safe requests that were sent for pictures and the like only."""
    keys: dict[bool, set[str]] = {True: set(), False: set()}
    for request in _counted_requests(session, happened):
        is_passive = request.resource_type in PASSIVE_TYPES and request.method in SAFE_METHODS
        keys[is_passive].add(recorded_or_own_key(session, request))
    return frozenset(keys[True] - keys[False])


def _unsafe_request_keys(session: Session, happened: PageEvents) -> tuple[str, ...] | None:
    """Return the keys of unsafe requests, frame by frame: frames and workers do not wait for each other.

    None if a worker may have sent some: the browser does not report the sender.
    """
    counted = set(_counted_requests(session, happened))
    sent = [each for each in happened.unsafe_requests if each.request in counted]
    if not all(each.is_from_frame for each in sent):
        return None
    sent.sort(key=lambda each: (session.tracker.ordinal(each.page), each.frame))
    return tuple(recorded_or_own_key(session, each.request) for each in sent)


def _counted_requests(session: Session, happened: PageEvents) -> Iterator[Request]:
    for request in happened.requests:
        is_continued = request.redirected_from is not None or session.traffic.is_continuation(request)
        if not is_continued and not session.traffic.is_telemetry(request):
            yield request


def _normalize_console_error(text: str) -> str:
    """Remove what no recording holds and no page sees: the reason of a CORS error, and HTTP reason phrases."""
    return replayable_console_text(_REASON_PHRASE.sub(r"\1", _CORS_ERROR.sub(r"\1", text)))
