"""Reports that documents of a recorded context send us, from their first script on.

The binding is Playwright's: its driver adds it to every document before any script runs, also while an agent keeps its
event loop busy. init_reports.js takes it away before the page can see it.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from weakref import WeakKeyDictionary

from eikon_engine.browser.playwright_internals import impl_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from playwright.async_api import BrowserContext, Page

    from eikon_engine.browser.playwright_internals import ClientObject

REPORT_BINDING: Final = "__eikon_observed__"

ReportListener: TypeAlias = "Callable[[Page, tuple[object, ...], dict[str, Any]], Awaitable[None] | None]"
"""Receives the page, the document (a key that no other document has), and the report; documents may wait for it."""

_listeners: Final[WeakKeyDictionary[ClientObject, list[ReportListener]]] = WeakKeyDictionary()
"""By context: a binding stays in its context, and several recordings may observe one."""


async def listen_to_reports(context: BrowserContext, *listeners: ReportListener) -> None:
    """Add listeners to the reports of a context."""
    impl = impl_of(context)
    known = _listeners.get(impl)
    if known is not None:
        known.extend(listeners)
        return
    added = _listeners[impl] = list(listeners)

    def on_report(source: dict[str, Any], text: str) -> Awaitable[object] | None:
        report = json.loads(text)
        document = (impl_of(source["frame"]), report.pop("document"))
        answers = [listen(source["page"], document, report) for listen in tuple(added)]
        awaited = [each for each in answers if each is not None]
        return asyncio.gather(*awaited) if awaited else None

    await context.expose_binding(REPORT_BINDING, on_report)


def add_report_listener(context: BrowserContext, listener: ReportListener) -> None:
    """Add a listener to the reports of a context that `listen_to_reports` has prepared."""
    _listeners[impl_of(context)].append(listener)


def stop_listening(context: BrowserContext, *listeners: ReportListener) -> None:
    """Remove listeners."""
    known = _listeners.get(impl_of(context), [])
    known[:] = [each for each in known if each not in listeners]
