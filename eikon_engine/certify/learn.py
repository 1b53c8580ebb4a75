"""Replay a mission once to learn what varies in its requests.

A request that differs from a recorded one only in values that vary is answered with it, and the rule is noted. One that
no rule covers ends the run at once: with it, no replay is faithful.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from eikon_engine.certify.findings import WHOLE_RUN
from eikon_engine.certify.runs import LEARNING, concurrent_replays
from eikon_engine.divergence.masks import unmasked_misses
from eikon_engine.files.paths import resolve_inside
from eikon_engine.network.rule_learner import RuleLearner
from eikon_engine.network.rules import find_telemetry_rule
from eikon_engine.network.store import read_network
from eikon_engine.outcome.certification import CertificationFinding
from eikon_engine.outcome.events import ActionStart, DivergenceFound

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.certify.options import CertifyOptions
    from eikon_engine.certify.runs import ReplayedRun
    from eikon_engine.network.exchange import Moment
    from eikon_engine.outcome.events import EventLine
    from eikon_engine.outcome.outcomes import NetworkMiss, UnsentRequest
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import ExecutionTrace
    from eikon_engine.trace.rules import VolatileRule


REPORT_TYPES: Final = frozenset({"image", "ping"})
"""Resource types of requests whose response no script reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningRun:
    """What one replay learned."""

    rules: tuple[VolatileRule, ...]
    """Rules for the requests that differed, in the order learned."""
    run: ReplayedRun | None
    """The replay; None if it ended at a request that no rule covers."""
    finding: CertificationFinding | None
    """That request."""
    has_diverged: bool
    """Whether an action differed from the recording before that request."""

    @property
    def unsent(self) -> tuple[UnsentRequest, ...]:
        """The recorded requests that the replay did not send, and no rule explains; unknown after a divergence."""
        unsent = () if self.run is None else self.run.outcome.network.unsent
        return tuple(each for each in unsent if find_telemetry_rule(each.key, self.rules) is None)


@dataclass(slots=True)
class _Watch:
    """Follows a run until a request that no rule covers."""

    trace: ExecutionTrace
    is_over: asyncio.Event = field(default_factory=asyncio.Event)
    action: ActionStart | None = None
    """The action in progress."""
    miss: NetworkMiss | None = None
    has_diverged: bool = False

    def read(self, line: EventLine) -> None:
        """Follow the steps of the run."""
        if isinstance(line.event, ActionStart) and self.miss is None:
            self.action = line.event
        elif isinstance(line.event, DivergenceFound) and self.miss is None:
            self.has_diverged = True

    def note_miss(self, miss: NetworkMiss) -> None:
        """End the run, unless the request is masked or differs in headers only."""
        by_header = bool(miss.differences) and all(each.part == "header" for each in miss.differences)
        if self.miss is None and not by_header and unmasked_misses((miss,), self.trace.masks):
            self.miss = miss
            self.is_over.set()

    @property
    def finding(self) -> CertificationFinding | None:
        if self.miss is None:
            return None
        differences = f": {'; '.join(self.miss.describe_differences())}" if self.miss.differences else ""
        return CertificationFinding(
            kind="diverged",
            subgoal=self.action.subgoal if self.action is not None else "",
            sequence=self.action.sequence if self.action is not None else 0,
            step=self.action.label if self.action is not None else WHOLE_RUN,
            layer="network",
            code="request-not-recorded",
            runs=1,
            message=f"{self.miss.key}: {self.miss.reason}{differences}",
        )


async def replay_and_learn(
    bundle: Bundle,
    options: CertifyOptions,
    on_delivery: Callable[[int, Moment], None] | None = None,
    *,
    may_get_rules: bool = True,
) -> LearningRun:
    """Replay a bundle once and learn rules for its requests; for `on_delivery` see `ReplayOptions`.

    Unless it `may_get_rules`, the run goes on to its end.

    Raises:
        EikonError: the trace cannot be read, or the run did not complete.
    """
    watch = _Watch(bundle.trace)
    learner = RuleLearner(bundle.trace.started_at.timestamp(), watch.note_miss)
    replay = concurrent_replays(options, on_delivery, learner if may_get_rules else None, watch.read, purpose=LEARNING)
    running = asyncio.ensure_future(replay(bundle, 1))
    stopping = asyncio.ensure_future(watch.is_over.wait())
    try:
        await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            options.progress("a request is not in the recording, and no rule covers it")
    finally:
        stopping.cancel()
        running.cancel()
        await asyncio.wait({running})
    run = None if running.cancelled() or watch.miss is not None else running.result()[0]
    if run is not None and may_get_rules:
        _learn_unsent_telemetry(learner, bundle, run)
    return LearningRun(rules=tuple(learner.rules), run=run, finding=watch.finding, has_diverged=watch.has_diverged)


def _learn_unsent_telemetry(learner: RuleLearner, bundle: Bundle, run: ReplayedRun) -> None:
    """Learn rules for beacons and pixels that the pages of a replay did not send.

    Any other request may be what the mission is about: not sending it is a finding.
    """
    network = bundle.trace.network
    if network is None:
        return
    exchanges = read_network(resolve_inside(bundle.root, network.folder, "network.folder")).exchanges
    reports = {each.key for each in exchanges if each.request.resource_type in REPORT_TYPES}
    for key in dict.fromkeys(each.key for each in run.outcome.network.unsent):
        if key in reports:
            learner.learn_telemetry(key, exchanges)
