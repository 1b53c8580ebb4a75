"""`branch record`: actions of the user in the session window become steps of a branch.

The session runs in this process without a window; the test acts in its pages with Playwright, as a user would.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from eikon_engine.debug.commands import BranchRecord, BranchSkip, Inspect, Rewind, RunTo, Step
from eikon_engine.errors import UsageError
from eikon_engine.replay import ReplayEngine, ReplayOptions
from tests.debug.conftest import PASSING
from tests.debug.in_process import in_process_session
from tests.error_codes import has_code
from tests.record.interactive.person import READY

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.async_api import Page

    from eikon_engine.debug.timeline import Branch, Timeline
    from eikon_engine.trace.bundle import Bundle

pytestmark = pytest.mark.browser

HERE = 12
"""The product page: what a person does next is written there."""


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """The results of interactive recordings."""

    begun: Any
    discarded: Any
    nothing: Any
    taken: Any
    refused: tuple[str, ...]
    seen: tuple[str, ...]
    """What the pages showed: after `discard`, after an `end` of nothing, and after `end`."""
    changes: tuple[str, ...]
    warnings: tuple[str, ...]
    ended: tuple[str, ...]
    """How the actions of the person ended."""
    again: Any
    rewound: Any
    timeline: Timeline
    bundle: Bundle

    @property
    def branch(self) -> Branch:
        """Return the branch of the recording."""
        return self.timeline.active


async def act(page: Page) -> None:
    """Choose another wrapping and another quantity with mouse and keyboard."""
    await page.wait_for_function(READY)
    await page.locator("#wrap-red").click()
    await page.locator("#quantity").click()
    await page.keyboard.press("Control+a")
    await page.keyboard.type("4")
    await page.locator("#gift").click()
    await asyncio.sleep(0.2)  # the last report may still be in transit


async def shown(page: Page) -> str:
    """Return the values of the product form."""
    text = "() => [document.querySelector('#quantity').value, document.querySelector('#gift').checked].join()"
    return str(await page.evaluate(text))


async def record(parent: Path) -> Recorded:
    """Record and discard, record nothing, record and end; then rewind, and run the steps again."""
    refused: list[str] = []
    async with in_process_session(parent, PASSING) as session:
        for change in ("end", "discard"):
            with pytest.raises(UsageError, check=has_code("branch")) as none:
                await session.do(BranchRecord(change=change))
            refused.append(none.value.message)
        await session.do(RunTo(iteration=HERE))
        begun = await session.do(BranchRecord(change="begin", name="by-hand"))
        with pytest.raises(UsageError, check=has_code("branch")) as twice:
            await session.do(BranchRecord(change="begin"))
        with pytest.raises(UsageError, check=has_code("session-busy")) as busy:
            await session.do(Inspect())
        refused += [twice.value.message, busy.value.message]
        await act(session.page)
        discarded = await session.do(BranchRecord(change="discard"))
        seen = [await shown(session.page)]
        await session.do(BranchRecord(change="begin"))
        nothing = await session.do(BranchRecord(change="end"))
        seen.append(await shown(session.page))
        await session.do(BranchRecord(change="begin"))
        await act(session.page)
        taken = await session.do(BranchRecord(change="end"))
        seen.append(await shown(session.page))
        await session.do(Rewind(iteration=HERE, force=True))
        again = await session.do(Step(count=3))
        while session.debug_session.position.next is not None:
            await session.do(BranchSkip(reason="the cart is another one"))
        return Recorded(
            begun=begun,
            discarded=discarded,
            nothing=nothing,
            taken=taken,
            refused=tuple(refused),
            seen=tuple(seen),
            warnings=tuple(each.text for each in session.events("note")),
            ended=tuple(each.outcome.result.kind for each in session.events("action")[-3:]),
            changes=tuple(each.change for each in session.events("branch_changed")),
            again=again,
            rewound=session.events("rewind")[-1],
            timeline=session.debug_session.timeline,
            bundle=session.debug_session.history.bundle,
        )


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Record once."""
    return asyncio.run(record(tmp_path_factory.mktemp("sessions")))


def test_an_interactive_recording_creates_a_branch(recorded: Recorded) -> None:
    """The recording itself never changes; the branch starts at the current position."""
    assert (recorded.begun["branch"], recorded.begun["iteration"]) == ("by-hand", HERE)
    assert [each.name for each in recorded.timeline.branches] == ["main", "by-hand"]


def test_a_discarded_recording_leaves_nothing(recorded: Recorded) -> None:
    """Pages and upcoming steps are as before, also after a recording without actions."""
    assert recorded.seen[0] == recorded.seen[1] == "3,true"
    assert (recorded.discarded["iteration"], recorded.discarded["step_count"]) == (HERE, recorded.begun["step_count"])
    assert recorded.nothing == recorded.discarded


def test_recorded_actions_run_as_steps(recorded: Recorded) -> None:
    """Each is reported, run after the rewind, and leads to the page that the user saw."""
    assert recorded.seen[2] == "4,false"
    assert (recorded.taken["iteration"], recorded.taken["step_count"]) == (HERE + 3, recorded.begun["step_count"] + 3)
    by_hand = [change.removeprefix("recorded interactively: ") for change in recorded.changes[:3]]
    assert [change.split(" ")[0] for change in by_hand] == ["check", "fill", "uncheck"]
    assert (recorded.warnings, recorded.ended) == ((), ("ok",) * 3)
    assert [(step.id, step.is_new) for step in recorded.branch.steps] == [
        (f"add_to_cart__attempt_1_inserted_{number:03d}", True) for number in (1, 2, 3)
    ]


def test_recorded_actions_are_verified_by_a_rewind(recorded: Recorded) -> None:
    """Each step is compared with its first run."""
    assert recorded.rewound.verified == (HERE + 1) * 10
    assert (recorded.taken["verdict"], recorded.again["verdict"]) == ("unverifiable", "faithful")


def test_recorded_actions_replay_faithfully(recorded: Recorded, tmp_path: Path) -> None:
    """The branch bundle knows recorded actions as well as those of the mission."""
    outcome = ReplayEngine(ReplayOptions(artifacts_dir=tmp_path / "run")).replay(recorded.bundle.root)

    assert outcome.verdict == "faithful"
    assert sum(len(subgoal.steps) for subgoal in recorded.bundle.trace.subgoal_traces) == HERE + 3


def test_invalid_recording_commands_are_rejected(recorded: Recorded) -> None:
    """Ending without a recording, starting twice and inspecting meanwhile are errors that name the next step."""
    none, again, twice, busy = recorded.refused

    assert none == again == "branch record: no recording is active; begin one"
    assert "end or discard it" in twice
    assert "run branch record end or branch record discard" in busy
