"""The replay contexts of a session: one browser, and the contexts parked at checkpoints.

Rewinding to a parked context runs no steps. An idle page with a paused clock does nothing, so a parked context costs
memory but no processor time.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from eikon_engine.debug.replay_context import open_context
from eikon_engine.debug.state_digest import PERSISTENT_LAYERS, STATE_LAYERS
from eikon_engine.errors import EikonError, ReplayError, UsageError
from eikon_engine.files.json_text import canonical_json
from eikon_engine.files.text import shorten, shorten_pair
from eikon_engine.replay.context import launch_replay_browser
from eikon_engine.replay.engine import verify_bundle_files
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.replay.plan import plan_replay
from eikon_engine.trace.labels import step_label

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence

    from eikon_engine.browser.launch import LaunchedBrowser
    from eikon_engine.debug.history import Evaluation, History
    from eikon_engine.debug.replay_context import ReplayContext
    from eikon_engine.debug.state_digest import StateDigest
    from eikon_engine.outcome.debug_events import RewindMode
    from eikon_engine.trace.bundle import Bundle

PARK_DELAY_S: Final = 0.2
"""Wall time a session must be paused before contexts are parked, so that fast stepping is not slowed down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSlot:
    """A position at which to park a context."""

    history: History
    iteration: int

    @property
    def key(self) -> tuple[object, ...]:
        """Return what identifies the slot: its position, the history to it and the state there."""
        evaluations = tuple(each.identity for each in self.history.evaluations if each.iteration <= self.iteration)
        return self.iteration, self.history.key(self.iteration), evaluations, self.history.digests.get(self.iteration)

    @property
    def has_overdue_evaluation(self) -> bool:
        """Return whether JavaScript that timed out must be repeated to get there."""
        return any(each.overdue for each in self.history.evaluations if each.iteration <= self.iteration)


class ParkedContexts:
    """Parked contexts, created while the session is paused."""

    def __init__(self, restore: Callable[[PoolSlot], Awaitable[ReplayContext]], capacity: int) -> None:
        """Park at most `capacity` contexts; `restore` brings a new context to a slot."""
        self._restore = restore
        self._capacity = capacity
        self._contexts: list[ReplayContext] = []
        """Least recently used first."""
        self.on_change: Callable[[], None] = lambda: None
        """Called when the set of parked contexts may have changed."""
        self._fill_task: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._requested: tuple[PoolSlot, ...] = ()
        self._failed_slots: set[tuple[object, ...]] = set()
        self._close_errors: list[BaseException] = []
        """Errors from closing contexts in the background; raised at the end."""

    @property
    def contexts(self) -> tuple[ReplayContext, ...]:
        """Return the parked contexts, least recently used first."""
        return tuple(self._contexts)

    def start(self, slots: Sequence[PoolSlot]) -> None:
        """Park contexts at the first of these slots in the background, up to the capacity.

        Slots behind JavaScript that timed out are skipped; repeating it would block the browser.
        """
        self._discard_unusable()
        self._requested = tuple(each for each in slots if not each.has_overdue_evaluation)[: self._capacity]
        if self._fill_task is not None and self._fill_task.done():
            self._fill_task.result()
            self._fill_task = None
        if self._fill_task is None and self._requested:
            self._fill_task = asyncio.ensure_future(self._fill())

    async def wait(self) -> None:
        """Wait until no context is being created: for measurements, and for tests; a session never waits."""
        if self._fill_task is not None:
            await asyncio.wait({self._fill_task})

    async def stop(self) -> None:
        """Stop creating contexts; an unfinished one is closed."""
        fill_task, self._fill_task = self._fill_task, None
        if fill_task is not None:
            fill_task.cancel()
            await asyncio.wait({fill_task})
            if not fill_task.cancelled():
                fill_task.result()

    def take(self, history: History, iteration: int) -> ReplayContext | None:
        """Remove and return the parked context nearest before a position; None if there is none."""
        self._discard_unusable()
        fitting = [context for context in self._contexts if is_on_history(context, history, iteration)]
        nearest = max(fitting, key=lambda context: context.iteration, default=None)
        if nearest is not None:
            self._contexts.remove(nearest)
            self.on_change()
        return nearest

    def add(self, context: ReplayContext) -> None:
        """Park a context; close the least recently used one if there are too many.

        A context that left its recording is closed: its next steps may be known by the time it is needed.
        """
        if context.on_request_serving is not None:
            self.discard(context)
            return
        self._contexts.append(context)
        while len(self._contexts) > self._capacity:
            self.discard(self._contexts.pop(0))
        self.on_change()

    def discard(self, context: ReplayContext) -> None:
        """Close a context in the background."""
        self._close_in_background(context.close())

    def discard_when_open(self, opening: asyncio.Task[ReplayContext]) -> None:
        """Close a context in the background as soon as it is open."""
        self._close_in_background(_close_when_open(opening))

    def _close_in_background(self, closing: Coroutine[object, object, None]) -> None:
        task = asyncio.ensure_future(closing)
        self._closing.add(task)
        task.add_done_callback(self._on_closed)

    async def close(self) -> None:
        """Close all parked contexts."""
        await self.stop()
        while self._contexts:
            self.discard(self._contexts.pop())
        self.on_change()
        await asyncio.gather(*self._closing, return_exceptions=True)
        errors, self._close_errors = self._close_errors, []
        if errors:
            raise errors[0]

    def _on_closed(self, task: asyncio.Task[None]) -> None:
        self._closing.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._close_errors.append(error)

    async def _fill(self) -> None:
        """Create the missing contexts in order of priority."""
        await asyncio.sleep(PARK_DELAY_S)
        tried: set[tuple[object, ...]] = set()
        while (slot := self._next_slot(tried)) is not None:
            tried.add(slot.key)
            try:
                self.add(await self._restore(slot))
            except EikonError as error:
                self._failed_slots.add(slot.key)  # a rewind to it reports the same error
                _logger.info("no context is parked at iteration %d: %s", slot.iteration, error)
        self.on_change()

    def _next_slot(self, tried: set[tuple[object, ...]]) -> PoolSlot | None:
        """Return the first slot without a context; contexts at wanted slots count as used."""
        skipped = self._failed_slots | tried
        missing = [slot for slot in self._requested if not self._mark_used(slot) and slot.key not in skipped]
        return missing[0] if missing else None

    def _mark_used(self, slot: PoolSlot) -> bool:
        """Mark a context parked at a slot as recently used; return whether there is one."""
        found = next(
            (
                each
                for each in self._contexts
                if each.iteration == slot.iteration and is_on_history(each, slot.history, slot.iteration)
            ),
            None,
        )
        if found is not None:
            self._contexts.remove(found)
            self._contexts.append(found)
        return found is not None

    def _discard_unusable(self) -> None:
        dead = [each for each in self._contexts if not each.is_usable]
        for context in dead:
            self._contexts.remove(context)
            self.discard(context)
        if dead:
            self.on_change()


async def _close_when_open(opening: asyncio.Task[ReplayContext]) -> None:
    try:
        context = await opening
    except EikonError:
        return  # nothing to close
    await context.close()


def is_on_history(context: ReplayContext, history: History, iteration: int) -> bool:
    """Return whether a context is on a history, not past an iteration, with all its manual JavaScript done."""
    position = context.iteration
    if position > iteration or not context.is_usable or context.history_key != history.key(position):
        return False
    done = [each.identity for each in context.evaluations]
    requested = [each.identity for each in history.evaluations if each.iteration <= iteration]
    return requested[: len(done)] == done and all(each[0] >= position for each in requested[len(done) :])


_logger = logging.getLogger(__name__)

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
        self._contexts = [context for context in self._contexts if not context.browser.is_closed]
        opening = asyncio.ensure_future(open_context(self.launched, bundle, self._options))
        try:
            context = await asyncio.shield(opening)
        except asyncio.CancelledError:
            self.parking.discard_when_open(opening)  # the browser opens the context even if the wait is cancelled
            raise
        self._contexts.append(context)
        return context

    async def restore(self, history: History, iteration: int) -> RestoredContext:
        """Bring a context to a position: the nearest parked one on this history, else a new one.

        Every step is compared with its earlier observation. Other contexts are not affected, whatever happens.

        Raises:
            UsageError: the history has no such iteration.
            ReplayError: a step showed a different state than before.
            BrowserDiedError: the browser went away.
        """
        started = time.perf_counter()
        await self.parking.stop()
        steps = plan_replay(history.bundle, self._options).step_count
        if not 0 <= iteration <= steps:
            message = f"expected an iteration from 0 to {steps}, got {iteration}"
            raise UsageError(message)
        context = await self._take_parked(history, iteration)
        method: RewindMode = "reexecuted" if context is None else "parked"
        context = context or await self.open(history.bundle)
        done, rechecked = context.iteration, 0 if method == "reexecuted" else len(PERSISTENT_LAYERS)
        await self._advance_to(context, history, iteration)
        return RestoredContext(
            context=context,
            method=method,
            reexecuted=iteration - done,
            verified=context.verified + rechecked,
            duration_ms=(time.perf_counter() - started) * 1000,
        )

    async def close(self) -> None:
        """Close all contexts, even if one of them fails to close."""
        async with AsyncExitStack() as closing:
            for line in self._contexts:
                closing.push_async_callback(line.close)
            closing.push_async_callback(self.parking.close)

    async def _take_parked(self, history: History, iteration: int) -> ReplayContext | None:
        """Take a context parked on the history; one whose pages changed is closed."""
        while (context := self.parking.take(history, iteration)) is not None:
            if await context.is_unchanged():
                context.replan(history.bundle)
                return context
            self.parking.discard(context)
        return None

    async def _restore_new(self, slot: PoolSlot) -> ReplayContext:
        context = await self.open(slot.history.bundle)
        await self._advance_to(context, slot.history, slot.iteration)
        return context

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
    async with launch_replay_browser(plan, replay, outlives_signals=True) as launched:
        pool = ContextPool(launched, options)
        try:
            yield pool
        finally:
            await pool.close()


async def _repeat_evaluations(context: ReplayContext, history: History) -> int:
    """Repeat the manual JavaScript of this position; return the number of verified digests."""
    verified = 0
    while (expected := _next_evaluation(context, history)) is not None:
        evaluation = await context.evaluate(expected.expression, expected.page, expected.frame)
        if (evaluation.result, evaluation.error) != (expected.result, expected.error):
            raise ReplayError(_different_result_message(expected, evaluation), code="rewind-not-faithful")
        verified += _require_equal(context, evaluation.state, expected.state)
    return verified


def _different_result_message(before: Evaluation, now: Evaluation) -> str:
    results = (each.error or canonical_json(each.result) for each in (before, now))
    requested, found = shorten_pair(next(results), next(results), _MAX_SHOWN)
    what = f"{shorten(before.expression, _MAX_SHOWN)!r} (run manually at {before.iteration})"
    return f"{what}: expected its earlier result {requested}, got {found}; rewind to before it was run"


def _next_evaluation(context: ReplayContext, history: History) -> Evaluation | None:
    remaining = history.evaluations[len(context.evaluations) :]
    return remaining[0] if remaining and remaining[0].iteration == context.iteration else None


def _verify_digest(context: ReplayContext, expected: StateDigest | None) -> int:
    return 0 if expected is None else _require_equal(context, context.observed.last_digest, expected)


def _require_equal(context: ReplayContext, found: StateDigest, requested: StateDigest) -> int:
    """Return the number of layers; all must be equal.

    Raises:
        ReplayError: a layer differs.
    """
    differing = found.differences(requested)
    if differing:
        planned = context.step_before(context.iteration)
        what = "the start" if planned is None else f"step {context.iteration} ({step_label(planned.step)})"
        message = (
            f"{what}: expected the same state as before, got differences in {', '.join(differing)}; "
            "`eikon certify` reports why a bundle does not replay deterministically"
        )
        raise ReplayError(message, code="rewind-not-faithful")
    return len(STATE_LAYERS)
