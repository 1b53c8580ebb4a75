"""Export a bundle as a pytest-playwright test, for the recorded deployment or another one."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from eikon_engine.errors import TraceFieldError
from eikon_engine.exporters.playwright_files import CompanionFiles
from eikon_engine.exporters.playwright_test import BundleFiles, write_test
from eikon_engine.trace.bundle_path import resolve_inside
from eikon_engine.trace.dom import map_strings
from eikon_engine.trace.dom.stored import load_page
from eikon_engine.trace.observation import Observation
from eikon_engine.trace.relocated import map_action_urls, map_storage_state
from eikon_engine.trace.start_state import parse_storage_state, revive_expired_cookies
from eikon_engine.trace.variables import resolve_trace

if TYPE_CHECKING:
    from eikon_engine.exporters.playwright_test import ExportedTest
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.dom.tree import PageSnapshot
    from eikon_engine.trace.execution import ActionTrace, ExecutionTrace
    from eikon_engine.trace.observation import PageObservation
    from eikon_engine.trace.url_map import BaseUrlMap


def export_bundle(bundle: Bundle, urls: BaseUrlMap, *, files_folder: str) -> ExportedTest:
    """Export a bundle as a test; `urls` maps recorded base URLs to other ones.

    Raises:
        TraceError: a snapshot, an upload or the storage state cannot be read.
    """

    def load(page: PageObservation) -> PageSnapshot | None:
        recorded = load_page(bundle.dom, page)
        return map_strings(recorded, urls.to_new.replace_text) if recorded is not None and urls else recorded

    companions = CompanionFiles(read_file=bundle.files.get, storage_state=_storage_state(bundle, urls))
    attachments = BundleFiles(load_snapshot=load, companions=companions)
    trace = _relocate_trace(_drop_unsettled_pages(resolve_trace(bundle.trace)), urls)
    return write_test(trace, attachments, files_folder=files_folder)


def _drop_unsettled_pages(trace: ExecutionTrace) -> ExecutionTrace:
    """Drop page contents from observations that are not settled, and keep their events."""
    subgoals = (
        each.model_copy(update={"actions_taken": tuple(map(_without_unsettled_pages, each.actions_taken))})
        for each in trace.subgoal_traces
    )
    return trace.model_copy(update={"subgoal_traces": tuple(subgoals)})


def _without_unsettled_pages(step: ActionTrace) -> ActionTrace:
    seen = step.observation
    if seen is None or seen.settled:
        return step
    kept = Observation(
        pages=(), opened=seen.opened, closed=seen.closed, dialogs=seen.dialogs, downloads=seen.downloads, settled=False
    )
    return step.model_copy(update={"observation": kept})


def _storage_state(bundle: Bundle, urls: BaseUrlMap) -> str | None:
    """Read the storage state with all cookies as session cookies, so that none has expired in the test."""
    place = bundle.trace.start.storage_state
    if place is None:
        return None
    path = resolve_inside(bundle.root, place, "start.storage_state")
    try:
        state = map_storage_state(revive_expired_cookies(parse_storage_state(path.read_bytes()), math.inf), urls)
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        found = " ".join(str(error).split())
        message = f"{path}: expected a Playwright storage state, got {found}. Restore the file or record again."
        raise TraceFieldError(message) from error
    return f"{json.dumps(state, indent=1)}\n" if any(state.values()) else None


def _relocate_trace(trace: ExecutionTrace, urls: BaseUrlMap) -> ExecutionTrace:
    """Map the base URLs in actions and observations of a trace."""
    if not urls:
        return trace
    subgoals = (
        each.model_copy(update={"actions_taken": tuple(_relocate_action(step, urls) for step in each.actions_taken)})
        for each in trace.subgoal_traces
    )
    start = trace.start.model_copy(
        update={"url": urls.to_new.replace_text(trace.start.url) if trace.start.url else None}
    )
    masks = tuple(each.model_copy(update={"url": urls.to_new.replace_text(each.url)}) for each in trace.masks)
    return trace.model_copy(update={"subgoal_traces": tuple(subgoals), "start": start, "masks": masks})


def _relocate_action(step: ActionTrace, urls: BaseUrlMap) -> ActionTrace:
    seen = None if step.observation is None else _relocate_observation(step.observation, urls)
    return step.model_copy(update={"action": map_action_urls(step.action, urls), "observation": seen})


def _relocate_observation(seen: Observation, urls: BaseUrlMap) -> Observation:
    text = urls.to_new.replace_text
    pages = (each.model_copy(update={"url": text(each.url), "title": text(each.title)}) for each in seen.pages)
    dialogs = (each.model_copy(update={"message": text(each.message)}) for each in seen.dialogs)
    state = seen.target
    if state is not None and state.value is not None:
        state = state.model_copy(update={"value": text(state.value)})
    return seen.model_copy(update={"pages": tuple(pages), "dialogs": tuple(dialogs), "target": state})
