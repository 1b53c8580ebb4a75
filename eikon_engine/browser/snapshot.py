"""Take DOM snapshots of the documents of a page."""

from __future__ import annotations

import asyncio
from secrets import token_hex
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from eikon_engine.browser.frames import frame_tree
from eikon_engine.browser.own_script import CALL_STORED_SCRIPT, STORED_SCRIPTS, load_script
from eikon_engine.errors import BrowserError
from eikon_engine.trace.dom import FrameReader, FrameSnapshot, PageSnapshot

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, Frame, Page

    from eikon_engine.trace.url_map import BaseUrlMap


async def capture_page(page: Page, urls: BaseUrlMap | None = None) -> PageSnapshot:
    """Take snapshots of all frames of a page at once, main frame first; scripts are digested with `urls` mapped.

    A frame that is removed meanwhile is omitted.

    Raises:
        BrowserError: a document was replaced, or the browser is gone.
    """
    places = frame_tree(page.main_frame)
    taken = await asyncio.gather(*(_capture_if_attached(frame, path, urls) for path, frame in places))
    return PageSnapshot(frames=tuple(frame for frame in taken if frame is not None))


async def _capture_if_attached(frame: Frame, path: str, urls: BaseUrlMap | None) -> FrameSnapshot | None:
    """Take a snapshot; None for a frame that is gone, or has no document yet because it loads lazily."""
    if path and not frame.url:
        return None
    try:
        return await _capture_frame(frame, path, urls)
    except BrowserError:
        if path and frame.is_detached():
            return None
        raise


async def _capture_frame(frame: Frame, path: str, urls: BaseUrlMap | None = None) -> FrameSnapshot:
    """Serialize a document in the page, and parse the result."""
    from playwright.async_api import Error

    owners = await asyncio.gather(*(_owner_element(child) for child in frame.child_frames))
    addresses = {"pattern": urls.to_old.pattern.pattern, "targets": urls.to_old.targets} if urls else None
    reader = _FRAME_READERS.setdefault(frame, FrameReader())
    asked = reader.prepare_request(token_hex(8))
    handed = {"frames": owners, "addresses": addresses, "since": asked.previous_token, "token": asked.token}
    try:
        text = await frame.evaluate(CALL_STORED_SCRIPT, [STORED_SCRIPTS["dom_snapshot.js"], handed])
        if text is None:
            text = await frame.evaluate(load_script("dom_snapshot.js"), handed)
    except Error as error:
        reason = error.message.splitlines()[0]
        message = f"DOM snapshot of frame {path or 'main'} ({frame.url}) failed: {reason}; wait until the page is idle"
        raise BrowserError(message) from error
    return reader.parse_response(text, asked, path=path, url=frame.url, name=frame.name)


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
