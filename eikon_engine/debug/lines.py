"""The replay contexts of a session: one browser, and ways back to earlier positions."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from eikon_engine.debug.line import open_line
from eikon_engine.debug.parking import Berth, Parking
from eikon_engine.debug.state_digest import STANDING_LAYERS, STATE_LAYERS
from eikon_engine.errors import RewindNotFaithfulError, UsageError
from eikon_engine.replay.label import step_label
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.replay.plan import plan_replay
from eikon_engine.replay.run import find_for, verify_bundle
from eikon_engine.replay.worker_for import browser_for
from eikon_engine.trace.json_value import canonical_json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from eikon_engine.browser.launch import LaunchedBrowser
    from eikon_engine.debug.line import Line
    from eikon_engine.debug.state_digest import StateDigest
    from eikon_engine.debug.way import Evaluation, Way
    from eikon_engine.outcome.debug_events import RewindWay
    from eikon_engine.trace.bundle import Bundle


_BRIEF: Final = 80
"""Characters of an expression or result in a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineOptions:
    """How the contexts of a session are created."""

    replay: ReplayOptions = field(default_factory=ReplayOptions)
    """Secrets, variables, masks, browser etc.; contexts are always sealed and continue after divergences."""
    parked: int = 2
    """Maximum number of contexts parked at checkpoints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """A context brought to a position and verified there."""

    line: Line
    way: RewindWay
    reexecuted: int
    """Number of steps run again."""
    verified: int
    """Number of matching layer digests, on the whole history and once more when a parked context was taken."""
    duration_ms: float


class Lines:
    """Open contexts in one browser, and bring them to positions."""

    def __init__(self, launched: LaunchedBrowser, options: LineOptions) -> None:
        """Use a running browser."""
        self.launched = launched
        self._options = replace(options.replay, network="sealed", on_divergence="continue")
        self._open: list[Line] = []
        self.parking = Parking(self._bring_fresh, options.parked)

    @property
    def replay(self) -> ReplayOptions:
        """Return the replay options of all contexts."""
        return self._options

    async def open(self, bundle: Bundle) -> Line:
        """Open a new context before the first step of a bundle.

        Raises:
            EikonError: the bundle cannot be replayed, see `open_line`.
        """
        self._open = [line for line in self._open if not line.is_closed]
        opening = asyncio.ensure_future(open_line(self.launched, bundle, self._options))
        try:
            line = await asyncio.shield(opening)
        except asyncio.CancelledError:
            self.parking.leave_opened(opening)  # the browser opens the context even if the wait is cancelled
            raise
        self._open.append(line)
        return line

    async def at(self, way: Way, iteration: int) -> Arrived:
        """Bring a context to a position: the nearest parked one on this history, else a new one.

        Every step is compared with its earlier observation. Other contexts are not affected, whatever happens.

        Raises:
            UsageError: the history has no such iteration.
            RewindNotFaithfulError: a step showed a different state than before.
            BrowserDiedError: the browser went away.
        """
        begin = time.perf_counter()
        await self.parking.end()
        steps = plan_replay(way.bundle, self._options).step_count
        if not 0 <= iteration <= steps:
            message = f"expected an iteration from 0 to {steps}, got {iteration}"
            raise UsageError(message)
        line = await self._waiting(way, iteration)
        how: RewindWay = "reexecuted" if line is None else "parked"
        line = line or await self.open(way.bundle)
        done, looked = line.iteration, 0 if how == "reexecuted" else len(STANDING_LAYERS)
        await self._bring(line, way, iteration)
        return Arrived(
            line=line,
            way=how,
            reexecuted=iteration - done,
            verified=line.verified + looked,
            duration_ms=(time.perf_counter() - begin) * 1000,
        )

    def stand(self, berths: Sequence[Berth]) -> None:
        """Park contexts in the background while the session is paused, in order of priority."""
        self.parking.begin(berths)

    async def parked(self) -> None:
        """Wait until the requested contexts are parked."""
        await self.parking.made()

    async def go_on(self) -> None:
        """Stop parking contexts; the browser is needed."""
        await self.parking.end()

    async def close(self) -> None:
        """Close all contexts, even if one of them fails to close."""
        async with AsyncExitStack() as closing:
            for line in self._open:
                closing.push_async_callback(line.close)
            closing.push_async_callback(self.parking.close)

    async def _waiting(self, way: Way, iteration: int) -> Line | None:
        """Take a context parked on the history; one whose pages changed is closed."""
        while (line := self.parking.take(way, iteration)) is not None:
            if await line.is_undisturbed():
                line.replan(way.bundle)
                return line
            self.parking.leave(line)
        return None

    async def _bring_fresh(self, berth: Berth) -> Line:
        line = await self.open(berth.way.bundle)
        await self._bring(line, berth.way, berth.iteration)
        return line

    async def _bring(self, line: Line, way: Way, iteration: int) -> None:
        """Run the missing steps, counting verified digests. A context that cannot get there is closed."""
        try:
            if line.iteration == 0 and not line.verified and not line.touched:
                line.verified = _compared(line, way.seen.get(0))
            line.verified += await _repeat(line, way)
            while line.iteration < iteration:
                expected = way.seen.get(line.iteration + 1)
                async for _ in line.advance(expected):
                    pass
                line.verified += _compared(line, expected) + await _repeat(line, way)
        except BaseException:
            self.parking.leave(line)
            raise


@asynccontextmanager
async def open_lines(bundle: Bundle, options: LineOptions) -> AsyncIterator[Lines]:
    """Launch one browser for all contexts of a session, and close them at the end.

    Raises:
        EikonError: the bundle cannot be replayed sealed, or no browser is available.
    """
    replay = replace(options.replay, network="sealed")
    plan = plan_replay(bundle, replay)
    verify_bundle(bundle)
    async with browser_for(plan, replay, find_for(replay), outlives_signals=True) as launched:
        lines = Lines(launched, options)
        try:
            yield lines
        finally:
            await lines.close()


async def _repeat(line: Line, way: Way) -> int:
    """Repeat the manual JavaScript of this position; return the number of verified digests."""
    verified = 0
    while (again := _due(line, way)) is not None:
        evaluation = await line.evaluate(again.expression, again.page, again.frame)
        if (evaluation.result, evaluation.error) != (again.result, again.error):
            raise RewindNotFaithfulError(_other_result(again, evaluation))
        verified += _demand_equal(line, evaluation.state, again.state)
    return verified


def _other_result(before: Evaluation, now: Evaluation) -> str:
    wanted, found = (each.error or _brief(canonical_json(each.result)) for each in (before, now))
    what = f"{_brief(before.expression)!r} (run manually at {before.iteration})"
    return f"{what}: expected its earlier result {wanted}, got {found}; rewind to before it was run"


def _brief(text: str) -> str:
    return text if len(text) <= _BRIEF else f"{text[: _BRIEF - 1]}…"


def _due(line: Line, way: Way) -> Evaluation | None:
    left = way.evaluations[len(line.evaluations) :]
    return left[0] if left and left[0].iteration == line.iteration else None


def _compared(line: Line, expected: StateDigest | None) -> int:
    return 0 if expected is None else _demand_equal(line, line.state(), expected)


def _demand_equal(line: Line, found: StateDigest, wanted: StateDigest) -> int:
    """Return the number of layers; all must be equal.

    Raises:
        RewindNotFaithfulError: a layer differs.
    """
    differing = found.differences(wanted)
    if differing:
        planned = line.plan_step(line.iteration)
        what = "the start" if planned is None else f"step {line.iteration} ({step_label(planned.step)})"
        message = (
            f"{what}: expected the same state as before, got differences in {', '.join(differing)}; "
            "`eikon certify` reports why a bundle does not replay deterministically"
        )
        raise RewindNotFaithfulError(message)
    return len(STATE_LAYERS)
