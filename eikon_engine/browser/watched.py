"""A worker in a sealed browser, with a sink that lists traffic past the routes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eikon_engine.browser.session import Session
    from eikon_engine.browser.sink import Sink
    from eikon_engine.browser.worker import Agrees, Performed, Worker
    from eikon_engine.outcome.outcomes import NetworkOutcome
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.execution import Timing
    from eikon_engine.trace.observation import Observation


class WatchedWorker:
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
        agrees: Agrees | None = None,
        timing: Timing | None = None,
    ) -> Performed:
        """Perform exactly one action, see `Worker.execute`."""
        return await self._worker.execute(action, recorded, agrees, timing)

    async def picture(self, page: int) -> bytes | None:
        """Take a PNG of a page; None if it is not open."""
        return await self._worker.picture(page)

    def network(self) -> NetworkOutcome:
        """Summarize how requests were answered so far, with those that reached the sink."""
        redact = self.session.redactor.text
        violations = tuple(each.model_copy(update={"target": redact(each.target)}) for each in self._sink.violations())
        return self._worker.network().model_copy(update={"violations": violations})
