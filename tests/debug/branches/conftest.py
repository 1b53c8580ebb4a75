"""A branch of the bundled shop mission that was gone to its end."""

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
class Gone:
    """A branch that was gone to its end, and what was told meanwhile."""

    parent: Bundle
    branch: BranchBundle
    events: tuple[Event, ...]
    rewound: RestoredContext
    """A fresh line on the branch, in its midst."""


def forked(
    parent: Bundle, folder: Path, *, name: str = "other", iteration: int = FORK, is_live: bool = False
) -> BranchBundle:
    """Make a branch."""
    wanted = BranchSpec(
        name=name, parent="main", fork_point="cp_12_x", iteration=iteration, created=CREATED, is_live=is_live
    )
    return create_branch_bundle(parent, folder, wanted)


def click(selector: str) -> Click:
    """Click on something."""
    return Click(target=Target(selector=selector))


def without_review(branch: BranchBundle) -> BranchBundle:
    """Write no review, look at another wrapping and at the shipping, and take a picture at the end."""
    for _ in range(3):
        branch = skip_step(branch, 14, "no review")
    branch = insert_step(branch, 14, click("#wrap-red"), "another paper")
    branch = insert_step(branch, 15, click("#wrap-green"), "the old paper")
    branch = insert_step(branch, 20, click("#tab-shipping"), "look at the shipping")
    branch = insert_step(branch, 21, click("#tab-items"), "and back")
    return insert_step(branch, len(branch.steps) + 1, Screenshot(), "to remember")


def to_the_cart_at_once(branch: BranchBundle) -> BranchBundle:
    """Look into the cart before anything is put into it, and at nothing else: its answers were recorded later."""
    while len(branch.steps) > FORK:
        branch = skip_step(branch, FORK + 1, "not now")
    return insert_step(branch, FORK + 1, click("#cart-link"), "see what is there")


async def go(parent: Bundle, folder: Path, change: Callable[[BranchBundle], BranchBundle], back: int) -> Gone:
    """Do the first steps of a mission, go another way from there to its end, and back to an iteration of it."""
    async with open_context_pool(parent, ContextOptions(parked=0)) as lines:
        arrived = await lines.restore(History(bundle=parent), FORK)
        branch = change(forked(parent, folder))
        walk = BranchRunner(arrived.context, branch)
        walk.replan(branch)
        events = []
        while walk.context.next_step is not None:
            events += [event async for event in walk.advance()]
        walk.finish()
        way = History(bundle=walk.branch.bundle, digests=walk.context.digests)
        rewound = await lines.restore(way, back)
        return Gone(parent=parent, branch=walk.branch, events=tuple(events), rewound=rewound)


@pytest.fixture(scope="session")
def gone(tmp_path_factory: pytest.TempPathFactory) -> Gone:
    """Go another way through the bundled shop, answered by its recorded network alone."""
    folder = tmp_path_factory.mktemp("branches")
    return asyncio.run(go(open_bundle(TRACES / "shop_passing"), folder, without_review, 21))
