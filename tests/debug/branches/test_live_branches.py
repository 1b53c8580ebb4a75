"""The workflow of branches: run to a failure, rewind, change the steps, pass."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from eikon_engine.debug.branches.branch import insert_step, skip_step
from eikon_engine.debug.branches.branch_runner import BranchRunner
from eikon_engine.debug.branches.deviations import find_failed_steps
from eikon_engine.debug.branches.lifecycle import save_as_patch
from eikon_engine.debug.context_pool import ContextOptions, open_context_pool
from eikon_engine.debug.history import History
from eikon_engine.divergence.bundle_diff import compare_bundles
from eikon_engine.errors import ActionError, UsageError
from eikon_engine.outcome.events import ActionPerformed, Note, verdict_of
from eikon_engine.outcome.outcomes import ActionOutcome
from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.report.diff_report import render_bundle_diff
from eikon_engine.trace.actions import AnswerDialog, Assert, AssertText, Navigate
from eikon_engine.trace.bundle import Bundle, open_bundle
from eikon_engine.trace.target import Target
from tests.debug.branches.conftest import click, forked
from tests.error_codes import has_code
from tests.replay.shared_browsers import SHARED
from tests.sites.shop import serve_shop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from eikon_engine.debug.branches.branch import BranchBundle
    from eikon_engine.debug.replay_context import ReplayContext
    from eikon_engine.outcome.events import Event
    from eikon_engine.outcome.outcomes import Verdict

pytestmark = pytest.mark.browser

VOUCHER = 4
"""The step that fails."""


@dataclass(frozen=True, kw_only=True)
class Workflow:
    """The results of the workflow."""

    parent: Bundle
    failed: ActionOutcome
    blocked: tuple[ActionOutcome, ...]
    """Outcomes of the branch without the live site."""
    sealed: BranchBundle
    """That branch."""
    notes: tuple[str, ...]
    """Its notes."""
    kept: tuple[Verdict, ...]
    """The verdicts of its steps in its context."""
    passed: tuple[ActionOutcome, ...]
    branch: BranchBundle
    asked: tuple[str, ...]
    """The requests that the shop received while the branch ran."""


async def record(folder: Path, url: str) -> Bundle:
    """Record a mission that fails at its last step: the cart has no voucher button."""
    options = RecordOptions(redact=False)  # the shop has to know the cart again
    async with open_recorder(folder, mission_text="Pay less", mission_id="voucher", options=options) as mission:
        with suppress(ActionError):
            async with mission.subgoal("Redeem a voucher", subgoal_id="redeem"):
                await mission.perform(Navigate(url=f"{url}/product/1"))
                await mission.perform(click("#add-to-cart"))
                await mission.perform(click("#cart-link"))
                await mission.perform(click("#redeem-voucher").model_copy(update={"timeout_ms": 500}))
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


async def walked(runner: BranchRunner) -> tuple[tuple[ActionOutcome, ...], tuple[str, ...]]:
    """Run to the end; return the action outcomes and the notes."""
    events = [event async for event in steps(runner)]
    runner.finish()
    taken = (event.outcome for event in events if isinstance(event, ActionPerformed))
    notes = tuple(event.text for event in events if isinstance(event, Note))
    return tuple(each for each in taken if isinstance(each, ActionOutcome)), notes


async def steps(runner: BranchRunner | ReplayContext) -> AsyncIterator[Event]:
    """Run all remaining steps."""
    context = runner.context if isinstance(runner, BranchRunner) else runner
    while context.next_step is not None:
        async for event in runner.advance():
            yield event


async def work(folder: Path) -> Workflow:
    """Run to the failure, rewind, and run a sealed and then a live branch."""
    with serve_shop() as shop:
        parent = await record(folder / "voucher", shop.url)
        async with open_context_pool(parent, ContextOptions(parked=0)) as pool:
            context = await pool.open(parent)
            taken = [event.outcome async for event in steps(context) if isinstance(event, ActionPerformed)]
            history = History(bundle=parent, digests=context.observed.digests)
            other = with_coupon(start(parent, folder, "sealed", is_live=False))
            other = insert_step(other, len(other.steps) + 1, Navigate(url=f"{shop.url}/prices"), "compare")
            sealed = BranchRunner((await pool.restore(history, VOUCHER - 1)).context, other)
            sealed.replan(sealed.branch)
            asked = len(shop.requests)
            blocked, notes = await walked(sealed)
            assert len(shop.requests) == asked
            branch = with_coupon(start(parent, folder, "coupon", is_live=True))
            runner = BranchRunner((await pool.restore(history, VOUCHER - 1)).context, branch)
            runner.replan(branch)
            passed, _ = await walked(runner)
            return Workflow(
                parent=parent,
                failed=next(each for each in reversed(taken) if isinstance(each, ActionOutcome)),
                blocked=blocked,
                sealed=sealed.branch,
                notes=notes,
                kept=tuple(map(verdict_of, sealed.context.outcomes)),
                passed=passed,
                branch=runner.branch,
                asked=tuple(map(str, shop.requests[asked:])),
            )


def ended(action: ActionOutcome) -> str | None:
    """Return how an action ended."""
    return None if action.result is None else action.result.kind


def start(parent: Bundle, folder: Path, name: str, *, is_live: bool) -> BranchBundle:
    """Create a branch before the failing step."""
    return forked(parent, folder / "branches", name=name, iteration=VOUCHER - 1, is_live=is_live)


@pytest.fixture(scope="module")
def workflow(tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    """Run it once."""
    return asyncio.run(work(tmp_path_factory.mktemp("workflow")))


def test_a_live_branch_passes_where_the_mission_failed(workflow: Workflow) -> None:
    """The recorded failure repeats; the branch requests the live shop and reaches the goal."""
    assert (workflow.failed.verdict, ended(workflow.failed)) == ("faithful", "failed")
    assert [ended(each) for each in workflow.passed] == ["ok"] * 4
    assert len(workflow.asked) == 1
    assert "coupon" in workflow.asked[0]


def test_a_sealed_branch_blocks_and_reports_unrecorded_requests(workflow: Workflow) -> None:
    """The request is blocked; the step is unverifiable, not diverged."""
    entered = workflow.blocked[2]

    assert (entered.verdict, entered.divergences) == ("unverifiable", ())
    assert any("/api/coupon" in note and "--live" in note for note in entered.unverifiable)
    assert workflow.kept[-3:] == ("unverifiable", "diverged", "unverifiable")
    assert (workflow.blocked[3].verdict, ended(workflow.blocked[3])) == ("diverged", "failed")
    assert "it has no recorded result" in workflow.blocked[3].divergences[0].message


def test_a_blocked_document_is_no_failure_of_the_mission(workflow: Workflow) -> None:
    """The step fails because the document was blocked; its result stays unknown."""
    compared = workflow.blocked[4]

    assert (compared.verdict, compared.divergences, ended(compared)) == ("unverifiable", (), "failed")
    assert any("/prices" in note and "--live" in note for note in compared.unverifiable)
    assert ["/api/coupon" in workflow.notes[0], *(note in compared.unverifiable for note in workflow.notes[1:])] == [
        True,
        True,
    ]
    assert find_failed_steps(workflow.sealed) == {workflow.sealed.steps[-2].id}


def test_replays_of_a_branch_report_blocked_requests_as_unverifiable(workflow: Workflow, tmp_path: Path) -> None:
    """A replay blocks them again, and neither passes nor diverges because of them."""
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
    """The shop is gone; its responses are in the branch, each at its moment."""
    bundle = open_bundle(workflow.branch.bundle.root)
    runs = [
        SHARED.replay(bundle, ReplayOptions(artifacts_dir=tmp_path / str(number), reports=())) for number in range(2)
    ]

    assert [run.outcome.verdict for run in runs] == ["faithful"] * 2
    assert all(run.outcome.network.unused == () for run in runs)


def test_a_live_branch_cannot_be_saved_as_a_patch(workflow: Workflow, tmp_path: Path) -> None:
    """The recording has no responses to its requests."""
    with pytest.raises(UsageError, match="it has 1 live responses", check=has_code("branch")):
        save_as_patch(workflow.branch, tmp_path / "patch.json")
    assert not (tmp_path / "patch.json").exists()


def test_the_diff_shows_where_the_branches_diverge(workflow: Workflow) -> None:
    """It lists the failed step, its replacements, their requests and both ends."""
    text = render_bundle_diff(compare_bundles(("main", workflow.parent), ("coupon", workflow.branch.bundle)))

    assert "-   4 click #redeem-voucher  [target-missing]" in text
    assert "+   4 click #tab-coupon ('Coupon')" in text
    assert "0 | 1  POST " in text
    assert "main: 4 steps; 1 step failed, first 4 click #redeem-voucher [target-missing]" in text
    assert "coupon: 7 steps; no step failed" in text
