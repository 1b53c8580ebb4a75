"""Failed steps of a branch, and how later branches report them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from eikon_engine.debug.action_input import parse_action
from eikon_engine.debug.commands import BranchCreate, BranchInsert, Rewind, Step
from tests.debug.conftest import PASSING
from tests.debug.in_process import in_process_session

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.browser


def test_a_new_step_that_failed_stays_a_divergence(tmp_path: Path) -> None:
    """It holds on later branches, and if it fails in the same way again."""

    async def work() -> list[Any]:
        async with in_process_session(tmp_path, PASSING) as session:
            click = parse_action("click", ["#nowhere", "timeout_ms=100"])
            first = await session.do(BranchInsert(action=click, perform=True, name="retry"))
            forked = await session.do(BranchCreate(name="RETRY"))
            back = await session.do(Rewind(iteration=0, force=True))
            again = await session.do(Step())
            return [each["verdict"] for each in (first, forked, back, again)]

    assert asyncio.run(work()) == ["diverged", "diverged", None, "diverged"]
