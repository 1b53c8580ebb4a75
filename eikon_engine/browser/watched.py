"""A worker in a sealed browser, with a sink that lists traffic past the routes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eikon_engine.browser.session import Session
    from eikon_engine.browser.sink import Sink
    from eikon_engine.browser.worker import MatchesRecording, PerformedAction, Worker
    from eikon_engine.outcome.outcomes import NetworkOutcome
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.execution import RecordedTiming
    from eikon_engine.trace.observation import Observation


class SealedWorker:
    """Delegate to another worker, and report violations."""

    def __init__(self, worker: Worker, session: Session, sink: Sink) -> None:
        """Wrap the worker of a session whose proxy is `sink`."""
        self._worker = worker
        self.session = session
        self._sink = sink

    async def execute(
        self,
        action: Action,
        recorded: Observation | None = None,
        matches: MatchesRecording | None = None,
        timing: RecordedTiming | None = None,
    ) -> PerformedAction:
        """Perform exactly one action, see `Worker.execute`."""
        return await self._worker.execute(action, recorded, matches, timing)

    async def screenshot(self, page: int) -> bytes | None:
        """Take a PNG of a page; None if it is not open."""
        return await self._worker.screenshot(page)

    def network_outcome(self) -> NetworkOutcome:
        """Summarize how requests were answered so far, with those that reached the sink."""
        redact = self.session.redactor.redact_text
        violations = tuple(each.model_copy(update={"target": redact(each.target)}) for each in self._sink.violations())
        return self._worker.network_outcome().model_copy(update={"violations": violations})
