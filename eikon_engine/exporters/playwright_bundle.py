"""Export a bundle as a pytest-playwright test, for the recorded deployment or another one."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from eikon_engine.errors import TraceFieldError
from eikon_engine.exporters.playwright_files import Companions
from eikon_engine.exporters.playwright_test import Attachments, playwright_test
from eikon_engine.trace.bundle_path import inside
from eikon_engine.trace.dom import masked_text
from eikon_engine.trace.dom.stored import load_page
from eikon_engine.trace.observation import Observation
from eikon_engine.trace.relocated import relocated_action, relocated_state
from eikon_engine.trace.start_state import kept_alive, parse_storage_state
from eikon_engine.trace.variables import resolved_trace

if TYPE_CHECKING:
    from eikon_engine.exporters.playwright_test import ExportedTest
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.dom.tree import PageSnapshot
    from eikon_engine.trace.execution import ActionTrace, ExecutionTrace
    from eikon_engine.trace.observation import PageObservation
    from eikon_engine.trace.url_map import UrlMap


def bundle_as_test(bundle: Bundle, urls: UrlMap, *, files_folder: str) -> ExportedTest:
    """Export a bundle as a test; `urls` maps recorded base URLs to other ones.

    Raises:
        TraceError: a snapshot, an upload or the storage state cannot be read.
    """

    def load(page: PageObservation) -> PageSnapshot | None:
        recorded = load_page(bundle.dom, page)
        return masked_text(recorded, urls.to_new.text) if recorded is not None and urls else recorded

    companions = Companions(get=bundle.files.get, storage_state=_storage_state(bundle, urls))
    attachments = Attachments(load=load, companions=companions)
    trace = _relocated(_settled(resolved_trace(bundle.trace)), urls)
    return playwright_test(trace, attachments, files_folder=files_folder)


def _settled(trace: ExecutionTrace) -> ExecutionTrace:
    """Drop page contents from observations that are not settled, and keep their events."""
    subgoals = (
        each.model_copy(update={"actions_taken": tuple(map(_happened, each.actions_taken))})
        for each in trace.subgoal_traces
    )
    return trace.model_copy(update={"subgoal_traces": tuple(subgoals)})


def _happened(step: ActionTrace) -> ActionTrace:
    seen = step.observation
    if seen is None or seen.settled:
        return step
    kept = Observation(
        pages=(), opened=seen.opened, closed=seen.closed, dialogs=seen.dialogs, downloads=seen.downloads, settled=False
    )
    return step.model_copy(update={"observation": kept})


def _storage_state(bundle: Bundle, urls: UrlMap) -> str | None:
    """Read the storage state with all cookies as session cookies, so that none has expired in the test."""
    place = bundle.trace.start.storage_state
    if place is None:
        return None
    path = inside(bundle.root, place, "start.storage_state")
    try:
        state = relocated_state(kept_alive(parse_storage_state(path.read_bytes()), math.inf), urls)
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        found = " ".join(str(error).split())
        message = f"{path}: expected a Playwright storage state, got {found}. Restore the file or record again."
        raise TraceFieldError(message) from error
    return f"{json.dumps(state, indent=1)}\n" if any(state.values()) else None


def _relocated(trace: ExecutionTrace, urls: UrlMap) -> ExecutionTrace:
    """Map the base URLs in actions and observations of a trace."""
    if not urls:
        return trace
    subgoals = (
        each.model_copy(update={"actions_taken": tuple(_moved(step, urls) for step in each.actions_taken)})
        for each in trace.subgoal_traces
    )
    start = trace.start.model_copy(update={"url": urls.to_new.text(trace.start.url) if trace.start.url else None})
    masks = tuple(each.model_copy(update={"url": urls.to_new.text(each.url)}) for each in trace.masks)
    return trace.model_copy(update={"subgoal_traces": tuple(subgoals), "start": start, "masks": masks})


def _moved(step: ActionTrace, urls: UrlMap) -> ActionTrace:
    seen = None if step.observation is None else _seen(step.observation, urls)
    return step.model_copy(update={"action": relocated_action(step.action, urls), "observation": seen})


def _seen(seen: Observation, urls: UrlMap) -> Observation:
    text = urls.to_new.text
    pages = (each.model_copy(update={"url": text(each.url), "title": text(each.title)}) for each in seen.pages)
    dialogs = (each.model_copy(update={"message": text(each.message)}) for each in seen.dialogs)
    state = seen.target
    if state is not None and state.value is not None:
        state = state.model_copy(update={"value": text(state.value)})
    return seen.model_copy(update={"pages": tuple(pages), "dialogs": tuple(dialogs), "target": state})
