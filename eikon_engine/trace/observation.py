"""What the pages looked like after an action; recorded and replayed observations have this one type."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from eikon_engine.trace.blobs import BlobRef
from eikon_engine.trace.record import Record


class FrameObservation(Record):
    """One frame of a page."""

    path: str
    """Position in the frame tree: empty for the main frame, else `0`, `0.1` …"""
    url: str
    digest: str
    """Merkle digest of the frame's DOM, hexadecimal."""
    visibility: str | None = None
    """Digest of which of its elements are hidden; None in older recordings, and where masks took elements out."""


class PageObservation(Record):
    """One open page."""

    page: int
    """Ordinal in the order of opening."""
    url: str
    title: str
    frames: tuple[FrameObservation, ...] = ()
    snapshot: BlobRef | None = None
    """The DOM of all frames, in the `dom` folder of the bundle."""


class RedirectHop(Record):
    """One redirect answer on the way to a document."""

    url: str
    status: int


class DocumentLoad(Record):
    """One document that a main frame loaded."""

    page: int
    url: str
    status: int | None
    """HTTP status; None for a document without one (`about:blank`, `data:`)."""
    hops: tuple[RedirectHop, ...] = ()


class DialogSeen(Record):
    """One dialog and the answer it got."""

    page: int
    kind: Literal["alert", "beforeunload", "confirm", "prompt"]
    message: str
    answer: Literal["accepted", "dismissed"]


class DownloadSeen(Record):
    """One file that was downloaded."""

    page: int
    name: str
    sha256: str | None
    size: int | None
    failure: str | None = None


class TargetState(Record):
    """Form state of the target after the action."""

    value: str | None = None
    """None for an element without a value, and for a password field."""
    checked: bool | None = None


class StoredItem(Record):
    """One thing that the browser keeps for a site."""

    kind: Literal["cookie", "local", "session"]
    """A cookie, or an item of `localStorage` or `sessionStorage`."""
    place: str
    """Domain and path of a cookie, else the origin."""
    name: str
    digest: str
    """SHA-256 of its value, hexadecimal; secrets are replaced by their names before."""
    page: int | None = None
    """Ordinal of the page whose item of `sessionStorage` it is."""
    is_brief: bool = False
    """Whether it is a cookie that ends within a day: by the real clock, which no replay repeats. It is not compared."""

    @property
    def sort_key(self) -> tuple[str, str, int, str, str]:
        """Return what items are sorted by."""
        return self.kind, self.place, -1 if self.page is None else self.page, self.name, self.digest


class Observation(Record):
    """Everything compared after one action."""

    pages: tuple[PageObservation, ...]
    documents: tuple[DocumentLoad, ...] = ()
    opened: tuple[int, ...] = ()
    """Ordinals of the pages opened by the action."""
    closed: tuple[int, ...] = ()
    dialogs: tuple[DialogSeen, ...] = ()
    downloads: tuple[DownloadSeen, ...] = ()
    target: TargetState | None = None
    console_errors: tuple[str, ...] = ()
    page_errors: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()
    """Keys of the requests issued, sorted: their order differs between identical runs."""
    writes: tuple[str, ...] | None = None
    """Keys of those of them whose methods are not safe (RFC 9110, section 9.2.1), in the order in which each frame
    issued them, frames after frames; None in older recordings."""
    unanswered: tuple[str, ...] = ()
    """Keys of the requests that a debug session blocked when this was seen, as no recording knew them. What they would
    have led to is not known: a step that has any is not verified by showing the same again."""
    storage: tuple[StoredItem, ...] | None = None
    """What the browser keeps for the sites of the open pages, sorted; None in older recordings."""
    begun_ms: float = Field(default=0.0, ge=0)
    """Page time since the mission began, when the action did; not compared."""
    acted_ms: float | None = Field(default=None, ge=0)
    """Page time when it acted on its target, in recordings by the natural clock; not compared."""
    virtual_ms: float = Field(default=0.0, ge=0)
    """Page time used by the action; not compared."""
    settled: bool = True
    """Whether the pages had come to rest. They were not waited for while an agent was watched: then only the times are
    used, and certifying gives what is compared."""
