"""Re-record the repaired mission on the live site, in the environment of the old recording."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eikon_engine.record.like_recorded import like_recorded
from eikon_engine.record.options import RecordOptions
from eikon_engine.record.rerecord import rerecord
from eikon_engine.trace.relocated import relocated_action
from eikon_engine.trace.url_map import url_map

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.fix.missions.options import RepairOptions
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import ExecutionTrace, SubgoalTrace
    from eikon_engine.trace.url_map import UrlMap


async def record_anew(bundle: Bundle, trace: ExecutionTrace, folder: Path, options: RepairOptions) -> None:
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
        ask=options.client,
        now=options.now,
    )
    moved = _moved(trace, url_map(options.base_urls))
    await rerecord(replace(bundle, trace=moved), folder, like_recorded(bundle, chosen))


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
