"""Replay a bundle several times, and collect what each run showed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from eikon_engine.divergence.detectors.result import failed_by_closing_its_page
from eikon_engine.files.temporary import temporary_folder
from eikon_engine.outcome.events import ActionPerformed, ActionStart, RunEnd
from eikon_engine.replay.engine import plan_verified_replay, replay_many
from eikon_engine.replay.options import Halt, Proceed, ReplayOptions
from eikon_engine.replay.reset_command import run_reset_command
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.labels import action_label

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from eikon_engine.browser.worker import PerformedAction
    from eikon_engine.certify.options import CertifyOptions
    from eikon_engine.dom import PageSnapshot
    from eikon_engine.network.exchange import Moment
    from eikon_engine.network.rule_learner import RuleLearner
    from eikon_engine.outcome.events import EventLine
    from eikon_engine.outcome.outcomes import ReplayOutcome
    from eikon_engine.replay.engine import Run
    from eikon_engine.replay.options import Decision
    from eikon_engine.replay.plan import PlannedStep
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.observation import PageObservation
    from eikon_engine.trace.target import Identity

LEARNING: Final = "first run, to learn what varies"
"""Name of a run that proves nothing: what differs in it is what the certification is to find."""
LONG_WAIT_S: Final = 5.0
"""Wall time after which progress names the action that a run waits for."""
ActionKey: TypeAlias = tuple[str, int]
"""Id of the subgoal attempt, and sequence within it."""
PageKey: TypeAlias = tuple[tuple[str, str], ...]
"""Path and digest of each frame; identical pages share one key."""
Snapshots: TypeAlias = Mapping[PageKey, "PageSnapshot"]
"""Snapshots of observed pages by key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HitElements:
    """The elements that an action hit."""

    first: Identity | None = None
    second: Identity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedRun:
    """One completed replay."""

    outcome: ReplayOutcome
    hits: Mapping[ActionKey, HitElements] = field(default_factory=dict)
    snapshots: Snapshots = field(default_factory=dict)
    inline_scripts: Mapping[str, str] = field(default_factory=dict)
    """Texts of inline scripts that differ from the recorded ones, by the digests that snapshots have of them."""


class RunMany(Protocol):
    """Replay a bundle several times, each in a fresh session."""

    async def __call__(self, bundle: Bundle, runs: int) -> tuple[ReplayedRun, ...]:
        """Return the result of each run; a divergence is not an error."""


def page_key(page: PageObservation) -> PageKey:
    """Return the key of an observed page."""
    return tuple((frame.path, frame.digest) for frame in page.frames)


class RunCapture:
    """Collect what outcomes do not hold: the snapshots, and the elements that were hit."""

    def __init__(self, page_snapshots: dict[PageKey, PageSnapshot]) -> None:
        """Store snapshots in `page_snapshots`, identical ones once."""
        self.page_snapshots = page_snapshots
        self.hits: dict[ActionKey, HitElements] = {}
        self.inline_scripts: dict[str, str] = {}
        self._failed = ""
        """Label of the first action that failed or succeeded unlike in the recording."""

    async def decide(self, step: PlannedStep) -> Decision:  # noqa: ARG002 - of every step
        """End the run after an action that did not end as recorded: what follows is its consequence."""
        return Halt(reason=f"{self._failed} did not end as recorded") if self._failed else Proceed()

    def capture(self, step: PlannedStep, performed: PerformedAction) -> None:
        """Collect from one performed action."""
        key = (step.subgoal.id, step.step.sequence)
        self.hits[key] = HitElements(first=performed.identity, second=performed.identity_second)
        if (
            isinstance(step.step, ActionTrace)
            and step.step.result.kind != performed.result.kind
            and not failed_by_closing_its_page(step.step, performed.observation)
        ):
            self._failed = self._failed or action_label(step.step.action)
        self.inline_scripts |= performed.inline_scripts
        if performed.captured is None:
            return
        for page in performed.captured.observation.pages:
            snapshot = performed.captured.snapshots.get(page.page)
            if snapshot is not None:
                self.page_snapshots.setdefault(page_key(page), snapshot)


def concurrent_replays(
    options: CertifyOptions,
    on_delivery: Callable[[int, Moment], None] | None = None,
    rule_learner: RuleLearner | None = None,
    reader: Callable[[EventLine], None] | None = None,
    *,
    purpose: str = "",
) -> RunMany:
    """Return a function that replays a bundle several times: sealed concurrently in one browser, live in turn.

    With `on_delivery`, all runs wait for their pages, and the first one reports each delivery to it. `rule_learner`
    and `reader` are those of the first run. Progress names each run by its `purpose`, else by its number.
    """

    async def replay(bundle: Bundle, runs: int) -> tuple[ReplayedRun, ...]:
        page_snapshots: dict[PageKey, PageSnapshot] = {}
        run_captures = [RunCapture(page_snapshots) for _ in range(runs)]
        over = 0
        watches = [LongWaits(purpose or f"run {number} of {runs}", options.progress) for number in range(1, runs + 1)]

        def report_run(_place: int, run: Run) -> None:
            nonlocal over
            over += 1
            seconds = (run.outcome.ended_at - run.outcome.started_at).total_seconds()
            options.progress(f"{purpose or f'run {over} of {runs}'}: {run.outcome.verdict}, {seconds:.1f} s")

        with temporary_folder("certify") as folder:
            chosen = [
                replace(
                    _replay_options(options, run_capture, folder / str(number)),
                    on_delivery=None if on_delivery is None else on_delivery if number == 0 else _ignore_delivery,
                    rule_learner=rule_learner if number == 0 else None,
                    readers=(watches[number].read, *((reader,) if reader is not None and number == 0 else ())),
                )
                for number, run_capture in enumerate(run_captures)
            ]
            if options.network == "live":
                done = await _replay_in_turn(bundle, chosen, options, report_run)
            else:
                done = await replay_many(bundle, chosen, parallel=options.parallel, on_run_end=report_run)
        for run in done:
            if run.error is not None:
                raise run.error
        return tuple(
            ReplayedRun(
                outcome=run.outcome,
                hits=run_capture.hits,
                snapshots=page_snapshots,
                inline_scripts=run_capture.inline_scripts,
            )
            for run, run_capture in zip(done, run_captures, strict=True)
        )

    return replay


class LongWaits:
    """Reports the action that a run waits for, once for each that takes long; mutable."""

    def __init__(self, name: str, progress: Callable[[str], None]) -> None:
        """Report under the name of the run."""
        self._name = name
        self._progress = progress
        self._due: asyncio.TimerHandle | None = None

    def read(self, line: EventLine) -> None:
        """Follow the actions of the run."""
        if not isinstance(line.event, ActionStart | ActionPerformed | RunEnd):
            return
        if self._due is not None:
            self._due.cancel()
            self._due = None
        if isinstance(line.event, ActionStart):
            text = (
                f"{self._name}: still waiting after {LONG_WAIT_S:.0f} s for step {line.event.sequence} "
                f"to be as recorded: {line.event.label}"
            )
            self._due = asyncio.get_running_loop().call_later(LONG_WAIT_S, self._progress, text)


async def _replay_in_turn(
    bundle: Bundle, runs: Sequence[ReplayOptions], options: CertifyOptions, on_run_end: Callable[[int, Run], None]
) -> tuple[Run, ...]:
    """Replay live, one run after the other, with the site reset before each if there is a command for it.

    A bundle that cannot be replayed resets nothing.
    """
    done: list[Run] = []
    await asyncio.to_thread(plan_verified_replay, bundle, runs[0])
    for each in runs:
        await asyncio.to_thread(run_reset_command, options.reset_command, options.secrets, options.progress)
        done += await replay_many(bundle, [each], parallel=1, on_run_end=on_run_end)
    return tuple(done)


def _ignore_delivery(_was: int, _moment: Moment) -> None:
    """Discard a delivery."""


def _replay_options(options: CertifyOptions, run_capture: RunCapture, folder: Path) -> ReplayOptions:
    return ReplayOptions(
        headless=options.headless,
        browser_path=options.browser_path,
        artifacts_dir=folder,
        network=options.network,
        allow_schemes=options.allow_schemes,
        policy=options.policy,
        storage_state=options.storage_state,
        on_divergence="continue",
        secrets=options.secrets,
        secret_origins=options.secret_origins,
        reports=(),
        controller=run_capture,
        action_observers=(run_capture.capture,),
        now=options.now,
    )
