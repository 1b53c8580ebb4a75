"""Pictures of the recorded and the observed page of a step that diverged, with the elements that differ outlined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from eikon_engine.browser.picture import StoredResource, draw_document
from eikon_engine.divergence.dependents import find_by_identity
from eikon_engine.divergence.dom_diff import diff_snapshots
from eikon_engine.divergence.snapshot_elements import locate_elements
from eikon_engine.dom import render_html

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eikon_engine.browser.session import Session
    from eikon_engine.divergence.dom_diff import DomChange
    from eikon_engine.dom import PageSnapshot
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.trace.target import Identity

Place: TypeAlias = "tuple[str, str]"
"""Frame path, and path of an element in its document."""
_DRAWN_TYPES: Final = frozenset({"font", "image", "stylesheet"})
_MAX_OUTLINED: Final = 20
"""More outlines show nothing."""
_TEXT_STEP: Final = " > text()"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlinedPage:
    """A stored page and the places to outline."""

    page: PageSnapshot
    places: frozenset[Place]


def outline_changes(recorded: PageSnapshot, observed: PageSnapshot) -> tuple[OutlinedPage, OutlinedPage]:
    """Return both pages with what differs: changed, removed and added elements."""
    return (
        OutlinedPage(page=recorded, places=_places(diff_snapshots(recorded, observed))),
        OutlinedPage(page=observed, places=_places(diff_snapshots(observed, recorded))),
    )


def outline_target(
    target: Identity, first: Divergence, recorded: PageSnapshot, observed: PageSnapshot
) -> tuple[OutlinedPage, OutlinedPage]:
    """Return the page before a step with its recorded target, and the page now with the element most like it."""
    found = find_by_identity(recorded, target)
    candidate = next(iter(first.candidates or ()), None)
    return (
        OutlinedPage(page=recorded, places=frozenset() if found is None else frozenset({(found.frame, found.path)})),
        OutlinedPage(
            page=observed, places=frozenset() if candidate is None else frozenset({(candidate.frame, candidate.path)})
        ),
    )


def _places(changes: Iterable[DomChange]) -> frozenset[Place]:
    """Return the places of changes in the first of two pages; what was added is in the second one only."""
    places = [(each.frame, each.path.partition(_TEXT_STEP)[0]) for each in changes if each.kind != "added"]
    return frozenset(places[:_MAX_OUTLINED])


async def draw_page(
    session: Session, outlined: OutlinedPage, size: tuple[int, int], resources: Mapping[str, StoredResource]
) -> bytes:
    """Return a PNG of a stored page, with the style sheets, pictures and fonts at some URLs.

    `size` is width and height of the viewport in CSS pixels.

    Raises:
        BrowserError: the browser could not draw it.
    """
    page = outlined.page
    nodes = frozenset(
        id(each.node)
        for frame in page.frames
        for each in locate_elements(frame)
        if (frame.path, each.path) in outlined.places
    )
    html = render_html(page.main, frames=page.frames, base_url=page.main.url, outlined=nodes)
    return await draw_document(session, html, page.main.url, size, resources.get)


def recorded_resources(recording: NetworkRecording) -> dict[str, StoredResource]:
    """Return the recorded style sheets, pictures and fonts by URL.

    Raises:
        TraceError: one of them is missing or corrupt.
    """
    found: dict[str, StoredResource] = {}
    for each in recording.exchanges:
        response = each.response
        if each.request.resource_type in _DRAWN_TYPES and response is not None and response.body is not None:
            content_type = next((value for name, value in response.headers if name.lower() == "content-type"), "")
            found[each.request.url] = StoredResource(content_type=content_type, body=recording.body(response.body))
    return found
