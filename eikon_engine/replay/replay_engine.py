"""The public door: replay a trace, strictly."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from anyio.from_thread import start_blocking_portal

from eikon_engine.errors import InterruptedRunError, ReplayDivergenceError
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.replay.run import Run, run_replay
from eikon_engine.report import standard_reports
from eikon_engine.trace.bundle import Bundle, open_bundle

if TYPE_CHECKING:
    from eikon_engine.outcome.outcomes import ReplayOutcome


class ReplayEngine:
    """Re-execute recorded missions without planner, model, retry or selector repair."""

    def __init__(self, options: ReplayOptions | None = None) -> None:
        """Replay with these options, the standard ones if left out."""
        self.options = options or ReplayOptions()
        self.last_run: Run | None = None
        """The run before, with the folder of its artifacts; None before the first one."""

    def replay(self, trace: Bundle | Path | str) -> ReplayOutcome:
        """Replay a trace and return what was found; works inside a running event loop too.

        Args:
            trace: a bundle, or the path of a bundle folder or of its trace.json.

        Raises:
            ReplayDivergenceError: the run left its recording; everything is written by then.
            TraceError: the trace cannot be read.
            BrowserError: there is no browser, or it went away.
            RequirementError: the trace asks for a skill, a secret or a recording that is not here.
            InterruptedRunError: the user or a signal stopped the run; its artifacts are written.
        """
        try:
            with start_blocking_portal() as portal:
                return portal.call(self.replay_async, trace)
        except (KeyboardInterrupt, asyncio.CancelledError) as error:
            stopper = InterruptedRunError.stopper(error)
            message = f"the replay was stopped by {stopper}; what was done so far is in its artifacts"
            raise InterruptedRunError(message) from error

    async def replay_async(self, trace: Bundle | Path | str) -> ReplayOutcome:
        """Do as `replay`, in the running event loop."""
        bundle = trace if isinstance(trace, Bundle) else open_bundle(Path(trace))
        reports = self.options.reports if self.options.reports is not None else standard_reports()
        self.last_run = run = await run_replay(bundle, self.options, reports)
        if run.error is not None:
            raise run.error
        if run.outcome.divergences:
            first = run.outcome.divergences[0]
            raise ReplayDivergenceError(
                first.subgoal_id,
                first.sequence,
                first.expected,
                first.observed,
                layer=first.layer,
                divergence_code=first.code,
                summary_path=run.folder / "replay_summary.txt",
            )
        return run.outcome
