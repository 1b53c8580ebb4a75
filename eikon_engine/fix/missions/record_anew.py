"""Record the mended mission on the site of today, in the surroundings of the old recording."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from eikon_engine.record.options import RecordOptions
from eikon_engine.record.rerecord import rerecord
from eikon_engine.trace.bundle_path import inside
from eikon_engine.trace.redaction import Redactor
from eikon_engine.trace.relocated import relocated_action
from eikon_engine.trace.serializer import TRACE_FILE, read_trace, write_trace
from eikon_engine.trace.url_map import url_map

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.fix.missions.options import RepairOptions
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.environment import Environment
    from eikon_engine.trace.execution import ExecutionTrace, SubgoalTrace
    from eikon_engine.trace.url_map import UrlMap


async def record_anew(bundle: Bundle, trace: ExecutionTrace, folder: Path, options: RepairOptions) -> None:
    """Do what `trace` says once, live, and record it into `folder`; its masks and rules hold for it, too.

    Raises:
        ActionError: an action failed.
        EikonError: the mission cannot be recorded, see `rerecord`.
    """
    moved = _moved(trace, url_map(options.base_urls))
    await rerecord(replace(bundle, trace=moved), folder, _options(bundle, options))
    recorded = read_trace(folder)
    network = recorded.network
    if network is not None and trace.network is not None:
        network = network.model_copy(update={"rules": trace.network.rules})
    kept = recorded.model_copy(update={"masks": trace.masks, "network": network})
    write_trace(kept, folder / TRACE_FILE)


def _options(bundle: Bundle, options: RepairOptions) -> RecordOptions:
    start = bundle.trace.start
    stored = options.storage_state
    if stored is None and start.storage_state is not None:
        stored = inside(bundle.root, start.storage_state, "start.storage_state")
    session = start.session_storage
    chosen = RecordOptions(
        browser_path=options.browser_path,
        secrets=options.secrets,
        variables=options.variables,
        storage_state=stored,
        session_storage=None if session is None else inside(bundle.root, session, "start.session_storage"),
        now=options.now,
    )
    environment = bundle.trace.environment
    return chosen if environment is None else _as_in(chosen, environment)


def _as_in(options: RecordOptions, environment: Environment) -> RecordOptions:
    """Set up the browser as it was, clock and chance included: then what differs comes from the site."""
    return replace(
        options,
        viewport=environment.viewport,
        device_scale_factor=environment.device_scale_factor,
        locale=environment.locale,
        timezone=environment.timezone,
        color_scheme=environment.color_scheme,
        user_agent=environment.user_agent or None,
        reduced_motion=environment.reduced_motion,
        forced_colors=environment.forced_colors,
        has_touch=environment.has_touch,
        is_mobile=environment.is_mobile,
        permissions=environment.permissions,
        geolocation=environment.geolocation,
        extra_http_headers=_headers(environment, options),
        clock_start=datetime.fromtimestamp(environment.clock_start_ms / 1000, UTC),
        clock=environment.clock,
        random_seed=environment.random_seed,
        settle_ms=environment.settle_ms,
    )


def _headers(environment: Environment, options: RecordOptions) -> dict[str, str]:
    redactor = Redactor(options.secrets)
    return {name: redactor.restore(value.encode()).decode() for name, value in environment.extra_http_headers.items()}


def _moved(trace: ExecutionTrace, urls: UrlMap) -> ExecutionTrace:
    if not urls:
        return trace
    return trace.model_copy(
        update={"subgoal_traces": tuple(_moved_attempt(each, urls) for each in trace.subgoal_traces)}
    )


def _moved_attempt(attempt: SubgoalTrace, urls: UrlMap) -> SubgoalTrace:
    actions = tuple(
        each.model_copy(update={"action": relocated_action(each.action, urls)}) for each in attempt.actions_taken
    )
    return attempt.model_copy(update={"actions_taken": actions})
