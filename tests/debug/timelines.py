"""Timelines to draw."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from eikon_engine.debug.timeline import Branch, CheckpointEntry, StepEntry, Timeline

if TYPE_CHECKING:
    from eikon_engine.outcome.debug_events import CheckpointReason
    from eikon_engine.outcome.outcomes import Verdict

THEN = datetime(2026, 1, 2, tzinfo=UTC)


def step(iteration: int, label: str, verdict: Verdict = "faithful", *, is_new: bool = False) -> StepEntry:
    """Return a done step."""
    return StepEntry(iteration=iteration, id=f"a{iteration}", label=label, verdict=verdict, is_new=is_new)


def checkpoint(
    name: str, iteration: int, label: str = "", reason: CheckpointReason = "automatic", *, is_parked: bool = False
) -> CheckpointEntry:
    """Return a checkpoint."""
    return CheckpointEntry(
        id=name,
        label=label,
        iteration=iteration,
        reason=reason,
        timestamp=THEN,
        steps_sha256="0" * 64,
        is_parked=is_parked,
    )


def branch(name: str, *, parent: str | None = None, at: str | None = None, fork: int = 0, **more: object) -> Branch:
    """Create a branch bundle."""
    fields: dict[str, object] = {"created": THEN, "bundle": f"branches/{name}", "step_count": 9} | more
    return Branch.model_validate(
        {"name": name, "parent_branch": parent, "fork_point": at, "fork_iteration": fork} | fields
    )


def shop_timeline() -> Timeline:
    """Return a failed run, an unfinished branch, and a passed branch of it."""
    main = branch(
        "main",
        iteration=5,
        step_count=6,
        verdict="diverged",
        steps=(
            step(1, "navigate to http://shop.test/"),
            step(2, "type #search with 'banana'"),
            step(3, "click #buy"),
            step(4, "assert 1 of .card", "unverifiable"),
            step(5, "click #redeem", "diverged"),
        ),
        checkpoints=(
            checkpoint("cp_0_100", 0),
            checkpoint("cp_3_160", 3, "before pay", "manual", is_parked=True),
            checkpoint("cp_4_170", 4, reason="divergence"),
        ),
    )
    other = branch(
        "with <coupon> & more",
        parent="main",
        at="cp_3_160",
        fork=3,
        iteration=5,
        step_count=7,
        steps=(step(4, "click #tab", is_new=True), step(5, "fill #coupon with 'FRUIT'", is_new=True)),
        checkpoints=(checkpoint("cp_4_200", 4),),
    )
    third = branch(
        "third",
        parent=other.name,
        at="cp_4_200",
        fork=4,
        is_live=True,
        iteration=5,
        step_count=5,
        verdict="faithful",
        steps=(step(5, "press Enter", is_new=True),),
    )
    return Timeline(session_id="s1", mission_id="buy_a_banana", branches=(main, other, third), active_branch=other.name)
