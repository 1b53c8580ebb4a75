"""How long a live page is waited for, and which of its observations counts, without a browser."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from eikon_engine.browser.worker import PerformedAction
from eikon_engine.replay.step import LATE_LIVE_STEP_MS, Differences, LateWait, perform_until_expected
from eikon_engine.trace.actions import Reload
from eikon_engine.trace.execution import Succeeded

if TYPE_CHECKING:
    from eikon_engine.browser.worker import Worker

EQUAL, LATE, BANNER = Differences(frozenset(), frozenset()), {"dom-changed"}, {"title-changed"}


class _Page:
    """Stands for a worker whose page differs in something else at each look, until it is idle."""

    def __init__(self, *looks: Differences) -> None:
        self.looks = looks
        self.seen: list[PerformedAction] = []
        self.passed_ms = 0.0
        stabilizer = SimpleNamespace(may_change=self._may_change, begin_late_wait=lambda: self)
        self.session = SimpleNamespace(stabilizer=stabilizer, follows_schedule=False)

    async def perform(self, *_arguments: object) -> PerformedAction:
        return await self.observe_again()

    async def observe_again(self) -> PerformedAction:
        self.seen.append(PerformedAction(result=Succeeded(), observation=None))
        return self.seen[-1]

    def end_action(self) -> None:
        pass

    async def _may_change(self) -> bool:
        return len(self.seen) < len(self.looks)

    async def pass_time(self, duration_ms: float) -> None:
        self.passed_ms += duration_ms


def chosen_look(*looks: Differences, timeout_ms: float = 30_000.0) -> tuple[int, float]:
    """Return which observation of a page is used, counted from 0, and how late it was, in steps."""
    page = _Page(*looks)

    def differences(performed: PerformedAction) -> Differences:
        return looks[next(place for place, each in enumerate(page.seen) if each is performed)]

    performed, late_ms = asyncio.run(
        perform_until_expected(
            cast("Worker", page),
            Reload(),
            lambda _performed: True,
            late=LateWait(differences=differences, timeout_ms=timeout_ms),
        )
    )
    return next(place for place, each in enumerate(page.seen) if each is performed), late_ms / LATE_LIVE_STEP_MS


def differs(*divergences: str, findings: frozenset[str] | set[str] = frozenset()) -> Differences:
    """Return differences with some codes."""
    return Differences(frozenset(divergences), frozenset(findings))


def test_a_page_that_is_as_recorded_is_not_waited_for() -> None:
    """It is not late."""
    assert chosen_look(EQUAL) == (0, 0)


def test_a_late_page_is_waited_for() -> None:
    """How late it was is returned."""
    assert chosen_look(differs(*LATE), differs(*LATE), EQUAL) == (2, 2)


def test_a_page_that_stays_different_is_compared_as_it_was_first() -> None:
    """What else changed meanwhile is no difference."""
    assert chosen_look(differs(*LATE), differs("url-changed", *LATE)) == (0, 0)


def test_a_difference_that_no_time_removes_ends_the_waiting() -> None:
    """The page has not come to its recorded state, so it is not late."""
    assert chosen_look(differs(*LATE), differs("page-error-changed"), EQUAL) == (1, 0)


def test_a_finding_that_stays_does_not_hide_that_the_page_came_to_its_state() -> None:
    """The first observation without divergences counts, not the first one."""
    assert chosen_look(differs(*LATE), differs(findings=BANNER), differs(findings=BANNER)) == (1, 1)


def test_a_finding_may_pass() -> None:
    """A page that only shows something before it is complete has no finding."""
    assert chosen_look(differs(findings=LATE), EQUAL) == (1, 1)
    assert chosen_look(differs(findings=LATE), differs(findings=LATE)) == (0, 0)
    assert chosen_look(differs(findings={"request-unexpected"}), EQUAL) == (0, 0)


def test_a_page_has_the_timeout_of_the_next_action() -> None:
    """What it comes to after that is too late."""
    looks = [differs(*LATE)] * 5

    assert chosen_look(*looks, EQUAL, timeout_ms=500) == (5, 5)
    assert chosen_look(*looks, EQUAL, timeout_ms=400) == (0, 0)


def test_findings_alone_are_not_waited_for_as_long() -> None:
    """A banner that stays would delay every step otherwise."""
    looks = [differs(findings=LATE)] * 100

    assert chosen_look(*looks, EQUAL, timeout_ms=60_000) == (0, 0)
