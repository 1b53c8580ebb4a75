"""Re-record the repaired mission on the live site, in the environment of the old recording."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eikon_engine.record.like_recorded import with_recorded_environment
from eikon_engine.record.options import RecordOptions
from eikon_engine.record.rerecord import rerecord
from eikon_engine.trace.relocated import map_action_urls
from eikon_engine.trace.url_map import build_url_map

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.fix.missions.options import RepairOptions
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import ExecutionTrace, SubgoalTrace
    from eikon_engine.trace.url_map import BaseUrlMap


async def rerecord_live(bundle: Bundle, trace: ExecutionTrace, folder: Path, options: RepairOptions) -> None:
    """Perform `trace` once, live, and record it into `folder`, with the same masks and rules.

    Raises:
        ActionError: an action failed.
        EikonError: the mission cannot be recorded, see `rerecord`.
    """
    chosen = RecordOptions(
        browser_path=options.browser_path,
        secrets=options.secrets,
        variables=options.variables,
        storage_state=options.storage_state,
        completion_client=options.client,
        now=options.now,
    )
    moved = _relocated(trace, build_url_map(options.base_urls))
    await rerecord(replace(bundle, trace=moved), folder, with_recorded_environment(bundle, chosen))


def _relocated(trace: ExecutionTrace, urls: BaseUrlMap) -> ExecutionTrace:
    if not urls:
        return trace
    return trace.model_copy(
        update={"subgoal_traces": tuple(_relocated_attempt(each, urls) for each in trace.subgoal_traces)}
    )


def _relocated_attempt(attempt: SubgoalTrace, urls: BaseUrlMap) -> SubgoalTrace:
    actions = tuple(
        each.model_copy(update={"action": map_action_urls(each.action, urls)}) for each in attempt.actions_taken
    )
    return attempt.model_copy(update={"actions_taken": actions})
