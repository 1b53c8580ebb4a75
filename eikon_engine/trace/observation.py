"""What the pages look like after an action; recording and replay use the same type."""

from typing import Literal

from pydantic import Field

from eikon_engine.files.blobs import BlobRef
from eikon_engine.files.models import FileModel
from eikon_engine.trace.actions import ReadValue


class FrameObservation(FileModel):
    """One frame of a page."""

    path: str
    """Position in the frame tree: empty for the main frame, else `0`, `0.1` …"""
    url: str
    digest: str
    """Merkle digest of the frame's DOM, hexadecimal."""
    visibility: str | None = None
    """Digest of the set of hidden elements; None in older recordings, and if masks removed elements."""


class PageObservation(FileModel):
    """One open page."""

    page: int
    """Ordinal in the order of opening."""
    url: str
    title: str
    frames: tuple[FrameObservation, ...] = ()
    snapshot: BlobRef | None = None
    """The DOM of all frames, in the `dom` folder of the bundle."""


class RedirectHop(FileModel):
    """One redirect response before a document."""

    url: str
    status: int


class DocumentLoad(FileModel):
    """One document loaded by a main frame."""

    page: int
    url: str
    status: int | None
    """HTTP status; None for a document without one (`about:blank`, `data:`)."""
    hops: tuple[RedirectHop, ...] = ()


class ObservedDialog(FileModel):
    """A dialog and how it was answered."""

    page: int
    kind: Literal["alert", "beforeunload", "confirm", "prompt"]
    message: str
    answer: Literal["accepted", "dismissed"]


class ObservedDownload(FileModel):
    """A downloaded file."""

    page: int
    name: str
    sha256: str | None
    size: int | None
    failure: str | None = None


class TargetState(FileModel):
    """Form state of the target after the action."""

    value: str | None = None
    """None for an element without a value, and for a password field."""
    checked: bool | None = None


class StoredItem(FileModel):
    """A cookie or storage item of a site."""

    kind: Literal["cookie", "local", "session"]
    """A cookie, or an item of `localStorage` or `sessionStorage`."""
    place: str
    """Domain and path of a cookie; otherwise the origin."""
    name: str
    digest: str
    """SHA-256 of its value, hexadecimal; secrets are replaced by placeholders first."""
    page: int | None = None
    """Ordinal of the page, for `sessionStorage`."""
    is_brief: bool = False
    """Whether it is a cookie that expires within a day of wall time; such cookies are not compared."""

    @property
    def sort_key(self) -> tuple[str, str, int, str, str]:
        """Key to sort items by."""
        return self.kind, self.place, -1 if self.page is None else self.page, self.name, self.digest


class Observation(FileModel):
    """Everything that is compared after an action."""

    pages: tuple[PageObservation, ...]
    documents: tuple[DocumentLoad, ...] = ()
    opened: tuple[int, ...] = ()
    """Ordinals of the pages opened by the action."""
    closed: tuple[int, ...] = ()
    dialogs: tuple[ObservedDialog, ...] = ()
    downloads: tuple[ObservedDownload, ...] = ()
    target: TargetState | None = None
    console_errors: tuple[str, ...] = ()
    page_errors: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()
    """Keys of the requests, sorted, since their order varies between equal runs."""
    timer_requests: tuple[str, ...] = ()
    """Those of the requests that timers of the pages caused, and not the action; live replays, in which timers run
    differently, do not compare how often they were sent."""
    writes: tuple[str, ...] | None = None
    """Keys of the requests with unsafe methods (RFC 9110, section 9.2.1), in the order each frame sent them, frame by
    frame; None in older recordings."""
    unanswered: tuple[str, ...] = ()
    """Keys of unrecorded requests that a debug session blocked. Their effect is unknown, so a step with any cannot be
    verified by comparing observations."""
    storage: tuple[StoredItem, ...] | None = None
    """Storage of the sites of the open pages, sorted; None in older recordings."""
    value: ReadValue | None = None
    """What a `read`, `evaluate` or failed `expect` action got from the page in a replay; the recorded one is in the
    action."""
    loading_pages: tuple[int, ...] = ()
    """Ordinals of pages that still waited for responses that the recording delivers later: the agent did not wait for
    them. Live replays do, so that they do not compare the content of these pages."""
    repeats_pages: bool = False
    """Whether `pages` and `storage` are those of the observation before, because the action only read something and the
    next one followed immediately. Events are then part of the next observation."""
    begun_ms: float = Field(default=0.0, ge=0)
    """Page time at the start of the action; not compared."""
    acted_ms: float | None = Field(default=None, ge=0)
    """Page time when the action acted on its target, in recordings with the natural clock; a replay looks for it then.
    Not compared."""
    virtual_ms: float = Field(default=0.0, ge=0)
    """Page time used by the action; not compared."""
    settled: bool = True
    """Whether the pages were idle. The recorder of an agent does not wait for them: then only the times are used, and
    `eikon certify` adds what is compared."""
