"""Take DOM snapshots in an attached context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.browser.attached.view import internal_calls
from eikon_engine.browser.clean import redact_snapshot
from eikon_engine.browser.perform.deed import require_page
from eikon_engine.browser.snapshot import capture_page

if TYPE_CHECKING:
    from eikon_engine.browser.session import Session
    from eikon_engine.trace.dom import PageSnapshot


async def take_snapshot(session: Session, page: int) -> PageSnapshot:
    """Take a redacted DOM snapshot of an open page.

    Raises:
        PageMissingError: the page is not open.
    """
    with internal_calls():
        return redact_snapshot(session, await capture_page(require_page(session, page)))
