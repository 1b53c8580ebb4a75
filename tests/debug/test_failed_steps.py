"""Steps of a branch that failed: what the branch has come to tells of them from then on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from eikon_engine.debug.action_input import parse_action
from eikon_engine.debug.commands import BranchCreate, BranchInsert, Rewind, Step
from tests.debug.conftest import PASSING
from tests.debug.in_process import driven

if TYPE_CHECKING:
    from pathlib import Path


def test_a_step_that_failed_when_it_was_new_stays_a_divergence(tmp_path: Path) -> None:
    """On a branch that begins behind it, and where it fails in the same way once more."""

    async def work() -> list[Any]:
        async with driven(tmp_path, PASSING) as session:
            click = parse_action("click", ["#nowhere", "timeout_ms=100"])
            first = await session.do(BranchInsert(action=click, perform=True, name="retry"))
            forked = await session.do(BranchCreate(name="RETRY"))
            back = await session.do(Rewind(iteration=0, force=True))
            again = await session.do(Step())
            return [each["verdict"] for each in (first, forked, back, again)]

    assert asyncio.run(work()) == ["diverged", "diverged", None, "diverged"]
