"""Replay a bundle several times in one browser."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import EikonError
from eikon_engine.replay.plan import plan_replay
from eikon_engine.replay.run import Run, find_browser_for, run_replay, verify_bundle_files
from eikon_engine.replay.worker_for import launch_replay_browser

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eikon_engine.replay.options import ReplayOptions
    from eikon_engine.trace.bundle import Bundle

DEFAULT_PARALLEL: Final = 4
"""Default number of concurrent replays; more than about 8 brings no speed-up."""


async def replay_many(
    bundle: Bundle,
    runs: Sequence[ReplayOptions],
    *,
    parallel: int = DEFAULT_PARALLEL,
    on_run_end: Callable[[int, Run], None] | None = None,
) -> tuple[Run, ...]:
    """Replay a bundle once for each of `runs`, at most `parallel` at once, each in its own context.

    The browser is launched with the options of the first run. `ended` is called with the index and the result of each
    finished run. An error of one run is its `error` and does not affect the others.

    Raises:
        EikonError: the bundle cannot be replayed, no browser was found, or one of `runs` could not start; the others
            have finished by then.
    """
    if not runs:
        return ()
    plan = plan_replay(bundle, runs[0])
    verify_bundle_files(bundle)
    free = asyncio.Semaphore(parallel)
    async with launch_replay_browser(plan, runs[0], find_browser_for(runs[0])) as browser:

        async def replay_one(place: int, options: ReplayOptions) -> Run | EikonError:
            async with free:
                try:
                    run = await run_replay(bundle, options, options.reports or (), browser)
                except EikonError as error:
                    return error
            if on_run_end is not None:
                on_run_end(place, run)
            return run

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(replay_one(place, options)) for place, options in enumerate(runs)]
        return tuple(map(_result_or_raise, (task.result() for task in tasks)))


def _result_or_raise(run: Run | EikonError) -> Run:
    if isinstance(run, EikonError):
        raise run
    return run
