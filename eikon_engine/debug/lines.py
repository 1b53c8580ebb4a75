"""All lines of a session: one browser, and the ways back to where its mission has been."""

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
"""Letters of an expression, or of what it gave, in a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineOptions:
    """How the lines of a session are made."""

    replay: ReplayOptions = field(default_factory=ReplayOptions)
    """Secrets, variables, masks, browser and the like; a line is always sealed, and goes on after divergences."""
    parked: int = 2
    """How many lines wait at checkpoints, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """A line that was brought to a place, and found equal to what was seen there."""

    line: Line
    way: RewindWay
    reexecuted: int
    """How many steps were done again."""
    verified: int
    """How many digests of layers were compared, and were equal: on the whole way here, and once more when a parked line
    was taken."""
    duration_ms: float


class Lines:
    """Open lines in one browser, and bring them to places."""

    def __init__(self, launched: LaunchedBrowser, options: LineOptions) -> None:
        """Work in a running browser."""
        self.launched = launched
        self._options = replace(options.replay, network="sealed", on_divergence="continue")
        self._open: list[Line] = []
        self.parking = Parking(self._bring_fresh, options.parked)

    @property
    def replay(self) -> ReplayOptions:
        """Return how all lines replay."""
        return self._options

    async def open(self, bundle: Bundle) -> Line:
        """Open a fresh context before the first step of a bundle.

        Raises:
            EikonError: the bundle cannot be replayed, see `open_line`.
        """
        self._open = [line for line in self._open if not line.is_closed]
        opening = asyncio.ensure_future(open_line(self.launched, bundle, self._options))
        try:
            line = await asyncio.shield(opening)
        except asyncio.CancelledError:
            self.parking.leave_opened(opening)  # a context that is asked for comes, whoever waits for it
            raise
        self._open.append(line)
        return line

    async def at(self, way: Way, iteration: int) -> Arrived:
        """Bring a line to a place: the nearest one that waits on this way, else one in a fresh context.

        Every step on the way is compared with what was seen there. Other lines are not touched, whatever happens.

        Raises:
            UsageError: the way has no such iteration.
            RewindNotFaithfulError: a step showed something else than before.
            BrowserDiedError: the browser went away.
        """
        begin = time.perf_counter()
        await self.parking.end()
        steps = plan_replay(way.bundle, self._options).step_count
        if not 0 <= iteration <= steps:
            message = f"wanted an iteration from 0 to {steps}, found {iteration}"
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
        """Let lines be made in the background: the session stands still; the first places first."""
        self.parking.begin(berths)

    async def parked(self) -> None:
        """Wait until the lines that were asked for are made."""
        await self.parking.made()

    async def go_on(self) -> None:
        """Stop making lines: the browser is needed."""
        await self.parking.end()

    async def close(self) -> None:
        """Close all lines, also where one of them cannot be closed."""
        async with AsyncExitStack() as closing:
            for line in self._open:
                closing.push_async_callback(line.close)
            closing.push_async_callback(self.parking.close)

    async def _waiting(self, way: Way, iteration: int) -> Line | None:
        """Take a line that waits on the way; one whose pages did not stay as they were is given up."""
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
        """Do what is missing, and count on the line what was compared. One that cannot be brought there is closed."""
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
    """Run one browser for all lines of a session on a bundle, and close all of them in the end.

    Raises:
        EikonError: the bundle cannot be replayed sealed, or there is no browser.
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
    """Run again what was run by hand here; return how many digests were compared."""
    verified = 0
    while (again := _due(line, way)) is not None:
        evaluation = await line.evaluate(again.expression, again.page, again.frame)
        if (evaluation.result, evaluation.error) != (again.result, again.error):
            raise RewindNotFaithfulError(_other_result(again, evaluation))
        verified += _demand_equal(line, evaluation.state, again.state)
    return verified


def _other_result(before: Evaluation, now: Evaluation) -> str:
    wanted, found = (each.error or _brief(canonical_json(each.result)) for each in (before, now))
    what = f"{_brief(before.expression)!r}, run by hand at {before.iteration},"
    return f"wanted {what} to give what it gave before, {wanted}, found {found}; rewind to before it was run"


def _brief(text: str) -> str:
    return text if len(text) <= _BRIEF else f"{text[: _BRIEF - 1]}…"


def _due(line: Line, way: Way) -> Evaluation | None:
    left = way.evaluations[len(line.evaluations) :]
    return left[0] if left and left[0].iteration == line.iteration else None


def _compared(line: Line, expected: StateDigest | None) -> int:
    return 0 if expected is None else _demand_equal(line, line.state(), expected)


def _demand_equal(line: Line, found: StateDigest, wanted: StateDigest) -> int:
    """Count the layers that are equal, which have to be all.

    Raises:
        RewindNotFaithfulError: they are not.
    """
    differing = found.differences(wanted)
    if differing:
        planned = line.plan_step(line.iteration)
        what = "the start" if planned is None else f"step {line.iteration} ({step_label(planned.step)})"
        message = (
            f"wanted {what} to show what it showed before, found another state in {', '.join(differing)}; "
            "`eikon certify` tells what keeps a bundle from repeating"
        )
        raise RewindNotFaithfulError(message)
    return len(STATE_LAYERS)
