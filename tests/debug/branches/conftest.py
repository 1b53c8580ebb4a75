"""A branch of the bundled shop mission that was gone to its end."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eikon_engine.debug.branches.branch import Branch
from eikon_engine.debug.branches.changes import insert, skip
from eikon_engine.debug.branches.fork import Fork, fork
from eikon_engine.debug.branches.walk import Walk
from eikon_engine.debug.lines import Arrived, LineOptions, open_lines
from eikon_engine.debug.way import Way
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
    branch: Branch
    events: tuple[Event, ...]
    rewound: Arrived
    """A fresh line on the branch, in its midst."""


def forked(
    parent: Bundle, folder: Path, *, name: str = "other", iteration: int = FORK, is_live: bool = False
) -> Branch:
    """Make a branch."""
    wanted = Fork(name=name, parent="main", fork_point="cp_12_x", iteration=iteration, created=CREATED, is_live=is_live)
    return fork(parent, folder, wanted)


def click(selector: str) -> Click:
    """Click on something."""
    return Click(target=Target(selector=selector))


def without_review(branch: Branch) -> Branch:
    """Write no review, look at another wrapping and at the shipping, and take a picture at the end."""
    for _ in range(3):
        branch = skip(branch, 14, "no review")
    branch = insert(branch, 14, click("#wrap-red"), "another paper")
    branch = insert(branch, 15, click("#wrap-green"), "the old paper")
    branch = insert(branch, 20, click("#tab-shipping"), "look at the shipping")
    branch = insert(branch, 21, click("#tab-items"), "and back")
    return insert(branch, len(branch.steps) + 1, Screenshot(), "to remember")


def to_the_cart_at_once(branch: Branch) -> Branch:
    """Look into the cart before anything is put into it, and at nothing else: its answers were recorded later."""
    while len(branch.steps) > FORK:
        branch = skip(branch, FORK + 1, "not now")
    return insert(branch, FORK + 1, click("#cart-link"), "see what is there")


async def go(parent: Bundle, folder: Path, change: Callable[[Branch], Branch], back: int) -> Gone:
    """Do the first steps of a mission, go another way from there to its end, and back to an iteration of it."""
    async with open_lines(parent, LineOptions(parked=0)) as lines:
        arrived = await lines.at(Way(bundle=parent), FORK)
        branch = change(forked(parent, folder))
        walk = Walk(arrived.line, branch)
        walk.change(branch)
        events = []
        while walk.line.next is not None:
            events += [event async for event in walk.advance()]
        walk.settle()
        way = Way(bundle=walk.branch.bundle, seen=walk.line.seen)
        rewound = await lines.at(way, back)
        return Gone(parent=parent, branch=walk.branch, events=tuple(events), rewound=rewound)


@pytest.fixture(scope="session")
def gone(tmp_path_factory: pytest.TempPathFactory) -> Gone:
    """Go another way through the bundled shop, answered by its recorded network alone."""
    folder = tmp_path_factory.mktemp("branches")
    return asyncio.run(go(open_bundle(TRACES / "shop_passing"), folder, without_review, 21))
