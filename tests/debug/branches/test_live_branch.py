"""The workflow that branches are for: run to a failure, go back, go another way, pass."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from eikon_engine.debug.branches.branch import insert_step, skip_step
from eikon_engine.debug.branches.branch_runner import BranchRunner
from eikon_engine.debug.branches.deviations import find_failed_steps
from eikon_engine.debug.branches.diff import compare_bundles
from eikon_engine.debug.branches.diff_text import render_branch_diff
from eikon_engine.debug.branches.lifecycle import save_as_patch
from eikon_engine.debug.context_pool import ContextOptions, open_context_pool
from eikon_engine.debug.history import History
from eikon_engine.errors import ActionError, BranchError
from eikon_engine.outcome.events import ActionPerformed, Note, verdict_of
from eikon_engine.outcome.outcomes import ActionOutcome
from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.trace.actions import AnswerDialog, Assert, AssertText, Navigate
from eikon_engine.trace.bundle import Bundle, open_bundle
from eikon_engine.trace.target import Target
from tests.debug.branches.conftest import click, forked
from tests.replay.shared_browsers import SHARED
from tests.sites.shop import serve_shop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from eikon_engine.debug.branches.branch import BranchBundle
    from eikon_engine.debug.replay_context import ReplayContext
    from eikon_engine.outcome.events import Event
    from eikon_engine.outcome.outcomes import Verdict

VOUCHER = 4
"""The step that fails."""


@dataclass(frozen=True, kw_only=True)
class Workflow:
    """What the workflow left."""

    parent: Bundle
    failed: ActionOutcome
    blocked: tuple[ActionOutcome, ...]
    """What the other way came to without the live site."""
    sealed: BranchBundle
    """The branch that was gone so."""
    notes: tuple[str, ...]
    """What was told of it beside its steps."""
    kept: tuple[Verdict, ...]
    """What the line of that way says of its steps."""
    passed: tuple[ActionOutcome, ...]
    branch: BranchBundle
    asked: tuple[str, ...]
    """What the shop was asked for while the branch was gone."""


async def record(folder: Path, url: str) -> Bundle:
    """Record a mission that fails at its last step: the cart has no button for vouchers."""
    options = RecordOptions(redact=False)  # the shop has to know the cart again
    async with open_recorder(folder, mission_text="Pay less", mission_id="voucher", options=options) as mission:
        with suppress(ActionError):
            async with mission.subgoal("Redeem a voucher", subgoal_id="redeem"):
                await mission.run(Navigate(url=f"{url}/product/1"))
                await mission.run(click("#add-to-cart"))
                await mission.run(click("#cart-link"))
                await mission.run(click("#redeem-voucher").model_copy(update={"timeout_ms": 500}))
    return open_bundle(folder)


def with_coupon(branch: BranchBundle) -> BranchBundle:
    """Enter a coupon instead."""
    branch = skip_step(branch, VOUCHER, "there is no such button") if len(branch.steps) == VOUCHER else branch
    for action in (
        click("#tab-coupon"),
        AnswerDialog(accept=True, text="SAVE10"),
        click("#enter-coupon"),
        Assert(expectation=AssertText(target=Target(selector="#cart-message"), text="Coupon SAVE10: 10 % off.")),
    ):
        branch = insert_step(branch, len(branch.steps) + 1, action, "a coupon is no voucher")
    return branch


async def walked(walk: BranchRunner) -> tuple[tuple[ActionOutcome, ...], tuple[str, ...]]:
    """Go to the end; return what the actions came to, and what was told beside them."""
    events = [event async for event in steps(walk)]
    walk.finish()
    taken = (event.outcome for event in events if isinstance(event, ActionPerformed))
    notes = tuple(event.text for event in events if isinstance(event, Note))
    return tuple(each for each in taken if isinstance(each, ActionOutcome)), notes


async def steps(walk: BranchRunner | ReplayContext) -> AsyncIterator[Event]:
    """Do all steps to come."""
    line = walk.context if isinstance(walk, BranchRunner) else walk
    while line.next_step is not None:
        async for event in walk.advance():
            yield event


async def work(folder: Path) -> Workflow:
    """Run to the failure, go back, and go another way: sealed, then live."""
    with serve_shop() as shop:
        parent = await record(folder / "voucher", shop.url)
        async with open_context_pool(parent, ContextOptions(parked=0)) as lines:
            line = await lines.open(parent)
            taken = [event.outcome async for event in steps(line) if isinstance(event, ActionPerformed)]
            way = History(bundle=parent, digests=line.digests)
            other = with_coupon(start(parent, folder, "sealed", is_live=False))
            other = insert_step(other, len(other.steps) + 1, Navigate(url=f"{shop.url}/prices"), "compare")
            sealed = BranchRunner((await lines.restore(way, VOUCHER - 1)).context, other)
            sealed.replan(sealed.branch)
            asked = len(shop.requests)
            blocked, notes = await walked(sealed)
            assert len(shop.requests) == asked
            branch = with_coupon(start(parent, folder, "coupon", is_live=True))
            walk = BranchRunner((await lines.restore(way, VOUCHER - 1)).context, branch)
            walk.replan(branch)
            passed, _ = await walked(walk)
            return Workflow(
                parent=parent,
                failed=next(each for each in reversed(taken) if isinstance(each, ActionOutcome)),
                blocked=blocked,
                sealed=sealed.branch,
                notes=notes,
                kept=tuple(map(verdict_of, sealed.context.outcomes)),
                passed=passed,
                branch=walk.branch,
                asked=tuple(map(str, shop.requests[asked:])),
            )


def ended(action: ActionOutcome) -> str | None:
    """Say how an action ended."""
    return None if action.result is None else action.result.kind


def start(parent: Bundle, folder: Path, name: str, *, is_live: bool) -> BranchBundle:
    """Begin a branch in front of the step that fails."""
    return forked(parent, folder / "branches", name=name, iteration=VOUCHER - 1, is_live=is_live)


@pytest.fixture(scope="module")
def workflow(tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    """Go through it once."""
    return asyncio.run(work(tmp_path_factory.mktemp("workflow")))


def test_another_way_passes_where_the_mission_failed(workflow: Workflow) -> None:
    """The recorded failure comes again; the branch asks the live shop, and does what the mission wanted."""
    assert (workflow.failed.verdict, ended(workflow.failed)) == ("faithful", "failed")
    assert [ended(each) for each in workflow.passed] == ["ok"] * 4
    assert len(workflow.asked) == 1
    assert "coupon" in workflow.asked[0]


def test_without_permission_nothing_leaves_and_the_step_says_so(workflow: Workflow) -> None:
    """The request is blocked; that is no finding about the mission, but it cannot be verified."""
    entered = workflow.blocked[2]

    assert (entered.verdict, entered.divergences) == ("unverifiable", ())
    assert any("/api/coupon" in note and "--live" in note for note in entered.unverifiable)
    assert workflow.kept[-3:] == ("unverifiable", "diverged", "unverifiable")
    assert (workflow.blocked[3].verdict, ended(workflow.blocked[3])) == ("diverged", "failed")
    assert "it has no recorded result" in workflow.blocked[3].divergences[0].message


def test_a_document_that_was_blocked_is_no_failure_of_the_mission(workflow: Workflow) -> None:
    """The step fails as the document is blocked; what would have come is not known, then or later."""
    compared = workflow.blocked[4]

    assert (compared.verdict, compared.divergences, ended(compared)) == ("unverifiable", (), "failed")
    assert any("/prices" in note and "--live" in note for note in compared.unverifiable)
    assert ["/api/coupon" in workflow.notes[0], *(note in compared.unverifiable for note in workflow.notes[1:])] == [
        True,
        True,
    ]
    assert find_failed_steps(workflow.sealed) == {workflow.sealed.steps[-2].id}


def test_a_replay_knows_as_little_of_blocked_requests_as_the_walk(workflow: Workflow, tmp_path: Path) -> None:
    """It blocks them again, and says of each that nobody knows what it leads to: that is no pass, and no finding."""
    run = SHARED.replay(workflow.sealed.bundle, ReplayOptions(artifacts_dir=tmp_path, reports=()))
    steps = [step for subgoal in run.outcome.subgoals for step in subgoal.steps]

    assert (run.outcome.verdict, [step.verdict for step in steps]) == (
        "unverifiable",
        [*["faithful"] * 5, "unverifiable", "faithful", "unverifiable"],
    )
    notes = [note for step in steps for note in step.unverifiable]
    assert ["/api/coupon" in note or "/prices" in note for note in notes] == [True, True]
    assert not any("after the last action" in reason for reason in run.outcome.reasons)


def test_a_live_branch_replays_without_the_site(workflow: Workflow, tmp_path: Path) -> None:
    """The shop is gone; its answers lie in the branch, each at its moment."""
    bundle = open_bundle(workflow.branch.bundle.root)
    runs = [
        SHARED.replay(bundle, ReplayOptions(artifacts_dir=tmp_path / str(number), reports=())) for number in range(2)
    ]

    assert [run.outcome.verdict for run in runs] == ["faithful"] * 2
    assert all(run.outcome.network.unused == () for run in runs)


def test_a_live_branch_is_no_patch(workflow: Workflow, tmp_path: Path) -> None:
    """The recording has no answer to what it asks for."""
    with pytest.raises(BranchError, match="it has 1 live responses"):
        save_as_patch(workflow.branch, tmp_path / "patch.json")
    assert not (tmp_path / "patch.json").exists()


def test_the_difference_shows_where_the_ways_part(workflow: Workflow) -> None:
    """The step that failed, those in its place, what they asked for, how both end."""
    text = render_branch_diff(compare_bundles(("main", workflow.parent), ("coupon", workflow.branch.bundle)))

    assert "-   4 click #redeem-voucher  [target-missing]" in text
    assert "+   4 click #tab-coupon ('Coupon')" in text
    assert "0 | 1  POST " in text
    assert "main: 4 steps; 1 step failed, first 4 click #redeem-voucher [target-missing]" in text
    assert "coupon: 7 steps; no step failed" in text
