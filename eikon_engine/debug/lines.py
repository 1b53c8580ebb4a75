"""The replay contexts of a session: one browser, and ways back to earlier positions."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from eikon_engine.debug.line import open_context
from eikon_engine.debug.parking import ParkedContexts, PoolSlot
from eikon_engine.debug.state_digest import PERSISTENT_LAYERS, STATE_LAYERS
from eikon_engine.errors import RewindDivergedError, UsageError
from eikon_engine.replay.label import step_label
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.replay.plan import plan_replay
from eikon_engine.replay.run import find_browser_for, verify_bundle_files
from eikon_engine.replay.worker_for import launch_replay_browser
from eikon_engine.trace.json_value import canonical_json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from eikon_engine.browser.launch import LaunchedBrowser
    from eikon_engine.debug.line import ReplayContext
    from eikon_engine.debug.state_digest import StateDigest
    from eikon_engine.debug.way import Evaluation, History
    from eikon_engine.outcome.debug_events import RewindMode
    from eikon_engine.trace.bundle import Bundle


_MAX_SHOWN: Final = 80
"""Characters of an expression or result in a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextOptions:
    """How the contexts of a session are created."""

    replay: ReplayOptions = field(default_factory=ReplayOptions)
    """Secrets, variables, masks, browser etc.; contexts are always sealed and continue after divergences."""
    parked: int = 2
    """Maximum number of contexts parked at checkpoints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredContext:
    """A context brought to a position and verified there."""

    context: ReplayContext
    method: RewindMode
    reexecuted: int
    """Number of steps run again."""
    verified: int
    """Number of matching layer digests, on the whole history and once more when a parked context was taken."""
    duration_ms: float


class ContextPool:
    """Open contexts in one browser, and bring them to positions."""

    def __init__(self, launched: LaunchedBrowser, options: ContextOptions) -> None:
        """Use a running browser."""
        self.launched = launched
        self._options = replace(options.replay, network="sealed", on_divergence="continue")
        self._contexts: list[ReplayContext] = []
        self.parking = ParkedContexts(self._restore_new, options.parked)

    @property
    def replay_options(self) -> ReplayOptions:
        """Return the replay options of all contexts."""
        return self._options

    async def open(self, bundle: Bundle) -> ReplayContext:
        """Open a new context before the first step of a bundle.

        Raises:
            EikonError: the bundle cannot be replayed, see `open_context`.
        """
        self._contexts = [line for line in self._contexts if not line.is_closed]
        opening = asyncio.ensure_future(open_context(self.launched, bundle, self._options))
        try:
            line = await asyncio.shield(opening)
        except asyncio.CancelledError:
            self.parking.discard_when_open(opening)  # the browser opens the context even if the wait is cancelled
            raise
        self._contexts.append(line)
        return line

    async def restore(self, history: History, iteration: int) -> RestoredContext:
        """Bring a context to a position: the nearest parked one on this history, else a new one.

        Every step is compared with its earlier observation. Other contexts are not affected, whatever happens.

        Raises:
            UsageError: the history has no such iteration.
            RewindDivergedError: a step showed a different state than before.
            BrowserDiedError: the browser went away.
        """
        begin = time.perf_counter()
        await self.parking.stop()
        steps = plan_replay(history.bundle, self._options).step_count
        if not 0 <= iteration <= steps:
            message = f"expected an iteration from 0 to {steps}, got {iteration}"
            raise UsageError(message)
        line = await self._take_parked(history, iteration)
        how: RewindMode = "reexecuted" if line is None else "parked"
        line = line or await self.open(history.bundle)
        done, looked = line.iteration, 0 if how == "reexecuted" else len(PERSISTENT_LAYERS)
        await self._advance_to(line, history, iteration)
        return RestoredContext(
            context=line,
            method=how,
            reexecuted=iteration - done,
            verified=line.verified + looked,
            duration_ms=(time.perf_counter() - begin) * 1000,
        )

    def start_parking(self, slots: Sequence[PoolSlot]) -> None:
        """Park contexts in the background while the session is paused, in order of priority."""
        self.parking.start(slots)

    async def wait_until_parked(self) -> None:
        """Wait until the requested contexts are parked."""
        await self.parking.wait()

    async def stop_parking(self) -> None:
        """Stop parking contexts; the browser is needed."""
        await self.parking.stop()

    async def close(self) -> None:
        """Close all contexts, even if one of them fails to close."""
        async with AsyncExitStack() as closing:
            for line in self._contexts:
                closing.push_async_callback(line.close)
            closing.push_async_callback(self.parking.close)

    async def _take_parked(self, history: History, iteration: int) -> ReplayContext | None:
        """Take a context parked on the history; one whose pages changed is closed."""
        while (line := self.parking.take(history, iteration)) is not None:
            if await line.is_unchanged():
                line.replan(history.bundle)
                return line
            self.parking.discard(line)
        return None

    async def _restore_new(self, slot: PoolSlot) -> ReplayContext:
        line = await self.open(slot.history.bundle)
        await self._advance_to(line, slot.history, slot.iteration)
        return line

    async def _advance_to(self, context: ReplayContext, history: History, iteration: int) -> None:
        """Run the missing steps, counting verified digests. A context that cannot get there is closed."""
        try:
            if context.iteration == 0 and not context.verified and not context.is_modified:
                context.verified = _verify_digest(context, history.digests.get(0))
            context.verified += await _repeat_evaluations(context, history)
            while context.iteration < iteration:
                expected = history.digests.get(context.iteration + 1)
                async for _ in context.advance(expected):
                    pass
                context.verified += _verify_digest(context, expected) + await _repeat_evaluations(context, history)
        except BaseException:
            self.parking.discard(context)
            raise


@asynccontextmanager
async def open_context_pool(bundle: Bundle, options: ContextOptions) -> AsyncIterator[ContextPool]:
    """Launch one browser for all contexts of a session, and close them at the end.

    Raises:
        EikonError: the bundle cannot be replayed sealed, or no browser is available.
    """
    replay = replace(options.replay, network="sealed")
    plan = plan_replay(bundle, replay)
    verify_bundle_files(bundle)
    async with launch_replay_browser(plan, replay, find_browser_for(replay), outlives_signals=True) as launched:
        lines = ContextPool(launched, options)
        try:
            yield lines
        finally:
            await lines.close()


async def _repeat_evaluations(context: ReplayContext, history: History) -> int:
    """Repeat the manual JavaScript of this position; return the number of verified digests."""
    verified = 0
    while (again := _next_evaluation(context, history)) is not None:
        evaluation = await context.evaluate(again.expression, again.page, again.frame)
        if (evaluation.result, evaluation.error) != (again.result, again.error):
            raise RewindDivergedError(_different_result_message(again, evaluation))
        verified += _require_equal(context, evaluation.state, again.state)
    return verified


def _different_result_message(before: Evaluation, now: Evaluation) -> str:
    wanted, found = (each.error or _shorten(canonical_json(each.result)) for each in (before, now))
    what = f"{_shorten(before.expression)!r} (run manually at {before.iteration})"
    return f"{what}: expected its earlier result {wanted}, got {found}; rewind to before it was run"


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1]}…"


def _next_evaluation(context: ReplayContext, history: History) -> Evaluation | None:
    left = history.evaluations[len(context.evaluations) :]
    return left[0] if left and left[0].iteration == context.iteration else None


def _verify_digest(context: ReplayContext, expected: StateDigest | None) -> int:
    return 0 if expected is None else _require_equal(context, context.state_digest(), expected)


def _require_equal(context: ReplayContext, found: StateDigest, wanted: StateDigest) -> int:
    """Return the number of layers; all must be equal.

    Raises:
        RewindDivergedError: a layer differs.
    """
    differing = found.differences(wanted)
    if differing:
        planned = context.step_before(context.iteration)
        what = "the start" if planned is None else f"step {context.iteration} ({step_label(planned.step)})"
        message = (
            f"{what}: expected the same state as before, got differences in {', '.join(differing)}; "
            "`eikon certify` reports why a bundle does not replay deterministically"
        )
        raise RewindDivergedError(message)
    return len(STATE_LAYERS)
