"""Replay a bundle several times in one browser."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import EikonError
from eikon_engine.replay.plan import plan_replay
from eikon_engine.replay.run import Run, find_for, run_replay, verify_bundle
from eikon_engine.replay.worker_for import browser_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eikon_engine.replay.options import ReplayOptions
    from eikon_engine.trace.bundle import Bundle

PARALLEL: Final = 4
"""How many replays run at once unless told otherwise; more than about 8 only wait for each other."""


async def replay_many(
    bundle: Bundle,
    runs: Sequence[ReplayOptions],
    *,
    parallel: int = PARALLEL,
    ended: Callable[[int, Run], None] | None = None,
) -> tuple[Run, ...]:
    """Replay a bundle once for each of `runs`, at most `parallel` at once, each in a context of its own.

    The browser is launched as the first of `runs` asks for. `ended` hears of each run that is over, with its place.
    What cuts one run off stands in its `error`; no other run is touched by it.

    Raises:
        EikonError: the bundle cannot be replayed at all, there is no browser, or one of `runs` could not begin; the
            others are over then.
    """
    if not runs:
        return ()
    plan = plan_replay(bundle, runs[0])
    verify_bundle(bundle)
    free = asyncio.Semaphore(parallel)
    async with browser_for(plan, runs[0], find_for(runs[0])) as browser:

        async def replay_one(place: int, options: ReplayOptions) -> Run | EikonError:
            async with free:
                try:
                    run = await run_replay(bundle, options, options.reports or (), browser)
                except EikonError as error:
                    return error
            if ended is not None:
                ended(place, run)
            return run

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(replay_one(place, options)) for place, options in enumerate(runs)]
        return tuple(map(_begun, (task.result() for task in tasks)))


def _begun(run: Run | EikonError) -> Run:
    if isinstance(run, EikonError):
        raise run
    return run
