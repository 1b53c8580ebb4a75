"""Public entry point: replay a trace strictly."""

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
        """Use the given options, or the defaults."""
        self.options = options or ReplayOptions()
        self.last_run: Run | None = None
        """The latest run, with its artifacts folder; None before the first one."""

    def replay(self, trace: Bundle | Path | str) -> ReplayOutcome:
        """Replay a trace and return its outcome; also works inside a running event loop.

        Args:
            trace: a bundle, or the path of a bundle folder or its trace.json.

        Raises:
            ReplayDivergenceError: the run diverged from the recording; all artifacts are already written.
            TraceError: the trace cannot be read.
            BrowserError: no browser was found, or it crashed.
            RequirementError: a skill, secret or recording that the trace needs is missing.
            InterruptedRunError: the user or a signal stopped the run; its artifacts are already written.
        """
        try:
            with start_blocking_portal() as portal:
                return portal.call(self.replay_async, trace)
        except (KeyboardInterrupt, asyncio.CancelledError) as error:
            stopper = InterruptedRunError.stop_cause(error)
            message = f"the replay was stopped by {stopper}; its artifacts cover the steps completed so far"
            raise InterruptedRunError(message) from error

    async def replay_async(self, trace: Bundle | Path | str) -> ReplayOutcome:
        """Replay like `replay`, in the running event loop."""
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
