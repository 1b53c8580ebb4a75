"""Prepare a replay of a deployment's front end against the recorded back end: what is compared, and where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.errors import UsageError
from eikon_engine.files.origins import split_url
from eikon_engine.files.paths import resolve_inside
from eikon_engine.network.front_end import FrontEndPatterns, FrontEndSource
from eikon_engine.network.store import read_network
from eikon_engine.trace.actions import Navigate
from eikon_engine.trace.base_urls import BaseUrlMap, build_url_map
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.masks import Mask, SelectorPart
from eikon_engine.trace.steps import iter_steps

if TYPE_CHECKING:
    from eikon_engine.replay.options import ReplayOptions
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import ExecutionTrace

ASSETS: Final = Mask(
    name="front-end-assets",
    reason="scripts and styles come from the deployment; a build changes their names and texts",
    part=SelectorPart(selector="script, style, link, noscript, meta"),
)
"""Elements that are not compared: nothing of them is visible."""


def find_front_end(bundle: Bundle, urls: BaseUrlMap, options: ReplayOptions) -> FrontEndSource:
    """Return where the front end comes from: the base URLs that were given, else the recorded site itself.

    Raises:
        UsageError: the mission navigates nowhere, and no base URL was given.
    """
    patterns = FrontEndPatterns(front_end=options.front_end, back_end=options.back_end)
    if urls:
        return FrontEndSource(urls=urls, patterns=patterns)
    for _, step in iter_steps(bundle.trace):
        if isinstance(step, ActionTrace) and isinstance(step.action, Navigate):
            url = split_url(step.action.url)
            origin = f"{url.scheme}://{url.netloc}"
            return FrontEndSource(urls=build_url_map({origin: origin}), patterns=patterns)
    message = f"{bundle.root}: --network recorded-api needs --base-url OLD=NEW, since the mission navigates nowhere"
    raise UsageError(message)


def without_front_end(bundle: Bundle, source: FrontEndSource) -> ExecutionTrace:
    """Return the trace of a bundle without the requests for the front end, and with a mask of its assets."""
    trace = bundle.trace
    if trace.network is None:
        return trace
    recording = read_network(resolve_inside(bundle.root, trace.network.folder, "network.folder"))
    keys = {each.key for each in recording.exchanges if source.includes(each)}

    def step(recorded: ActionTrace) -> ActionTrace:
        seen = recorded.observation
        if seen is None:
            return recorded
        kept = {
            name: tuple(key for key in getattr(seen, name) if key not in keys)
            for name in ("requests", "timer_requests")
        }
        return recorded.model_copy(update={"observation": seen.model_copy(update=kept)})

    subgoals = tuple(
        each.model_copy(update={"actions_taken": tuple(map(step, each.actions_taken))}) for each in trace.subgoal_traces
    )
    return trace.model_copy(update={"subgoal_traces": subgoals, "masks": (*trace.masks, ASSETS)})
