"""A branch of the bundled shop mission, run to its end."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eikon_engine.debug.branches.branch import BranchBundle, insert_step, skip_step
from eikon_engine.debug.branches.branch_runner import BranchRunner
from eikon_engine.debug.branches.lifecycle import BranchSpec, create_branch_bundle
from eikon_engine.debug.context_pool import ContextOptions, RestoredContext, open_context_pool
from eikon_engine.debug.history import History
from eikon_engine.outcome.events import Event
from eikon_engine.trace.actions import Click, Screenshot
from eikon_engine.trace.bundle import Bundle, open_bundle
from eikon_engine.trace.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable

TRACES = Path(__file__).parents[2] / "data" / "traces"
FORK = 12
CREATED = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class RunBranch:
    """A branch that was run to its end, and its events."""

    parent: Bundle
    branch: BranchBundle
    events: tuple[Event, ...]
    rewound: RestoredContext
    """A new context in the middle of the branch."""


def forked(
    parent: Bundle, folder: Path, *, name: str = "other", iteration: int = FORK, is_live: bool = False
) -> BranchBundle:
    """Create a branch bundle."""
    wanted = BranchSpec(
        name=name, parent="main", fork_point="cp_12_x", iteration=iteration, created=CREATED, is_live=is_live
    )
    return create_branch_bundle(parent, folder, wanted)


def click(selector: str) -> Click:
    """Return a click."""
    return Click(target=Target(selector=selector))


def with_other_steps(branch: BranchBundle) -> BranchBundle:
    """Skip the review, look at another wrapping and at the shipping, and take a screenshot at the end."""
    for _ in range(3):
        branch = skip_step(branch, 14, "no review")
    branch = insert_step(branch, 14, click("#wrap-red"), "another paper")
    branch = insert_step(branch, 15, click("#wrap-green"), "the old paper")
    branch = insert_step(branch, 20, click("#tab-shipping"), "look at the shipping")
    branch = insert_step(branch, 21, click("#tab-items"), "and back")
    return insert_step(branch, len(branch.steps) + 1, Screenshot(), "to remember")


def open_cart_first(branch: BranchBundle) -> BranchBundle:
    """Open the empty cart at once; its responses were recorded later."""
    while len(branch.steps) > FORK:
        branch = skip_step(branch, FORK + 1, "not now")
    return insert_step(branch, FORK + 1, click("#cart-link"), "see what is there")


async def run_branch(
    parent: Bundle, folder: Path, change: Callable[[BranchBundle], BranchBundle], back: int
) -> RunBranch:
    """Run the first steps of a mission, then a branch to its end, and rewind to an iteration of it."""
    async with open_context_pool(parent, ContextOptions(parked=0)) as pool:
        restored = await pool.restore(History(bundle=parent), FORK)
        branch = change(forked(parent, folder))
        runner = BranchRunner(restored.context, branch)
        runner.replan(branch)
        events = []
        while runner.context.next_step is not None:
            events += [event async for event in runner.advance()]
        runner.finish()
        history = History(bundle=runner.branch.bundle, digests=runner.context.observed.digests)
        rewound = await pool.restore(history, back)
        return RunBranch(parent=parent, branch=runner.branch, events=tuple(events), rewound=rewound)


@pytest.fixture(scope="session")
def run_branch_once(tmp_path_factory: pytest.TempPathFactory) -> RunBranch:
    """Run a sealed branch of the bundled shop mission."""
    folder = tmp_path_factory.mktemp("branches")
    return asyncio.run(run_branch(open_bundle(TRACES / "shop_passing"), folder, with_other_steps, 21))
