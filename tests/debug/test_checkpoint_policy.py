"""Which checkpoints are dropped."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.debug.checkpoint_policy import RetentionPolicy, select_surplus
from eikon_engine.debug.timeline import CheckpointEntry
from tests.debug.timelines import branch, checkpoint, step

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eikon_engine.debug.timeline import Branch, StepEntry
    from eikon_engine.outcome.debug_events import CheckpointReason

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


@st.composite
def entries(draw: st.DrawFn) -> list[CheckpointEntry]:
    """Draw checkpoints in any order."""
    minutes = draw(st.lists(st.integers(0, 50), unique=True, max_size=12))
    return [
        CheckpointEntry(
            id=f"cp_{minute}",
            label="",
            iteration=minute,
            reason=draw(st.sampled_from(["manual", "automatic", "divergence"])),
            timestamp=BEGIN + timedelta(minutes=minute),
            steps_sha256="0" * 64,
        )
        for minute in minutes
    ]


def on_main(
    checkpoints: Sequence[CheckpointEntry], forked: Iterable[str] = (), steps: Sequence[StepEntry] = ()
) -> tuple[Branch, ...]:
    """Return a timeline with these checkpoints on `main`, and branches forked at some."""
    forks = (branch(f"b{number}", parent="main", at=each) for number, each in enumerate(forked))
    return branch("main", checkpoints=tuple(checkpoints), steps=tuple(steps)), *forks


@given(entries(), st.integers(0, 5), st.sets(st.integers(0, 50)))
def test_the_newest_automatic_checkpoints_and_all_referenced_ones_are_kept(
    checkpoints: list[CheckpointEntry], limit: int, forks: set[int]
) -> None:
    """Manual checkpoints and forks are never dropped; of the others, the oldest are."""
    stay = {f"cp_{number}" for number in forks}
    before = [each for each in checkpoints if each.reason == "divergence"]

    dropped = select_surplus(on_main(checkpoints, stay), RetentionPolicy(automatic=limit))

    stay |= {each.id for each in sorted(before, key=lambda each: each.iteration)[:1]}
    own = [each for each in checkpoints if each.reason != "manual"]
    rest = [each for each in own if each not in dropped and each.id not in stay]
    assert all(each.reason != "manual" and each.id not in stay for each in dropped)
    assert len(rest) <= limit
    assert len(dropped) <= max(0, len(own) - limit)
    assert all(old.timestamp < remaining.timestamp for old in dropped for remaining in rest)


def automatic(number: int, reason: CheckpointReason = "automatic") -> CheckpointEntry:
    """Return an automatic checkpoint."""
    checkpoints = checkpoint(f"cp_{number}", number, reason=reason)
    return checkpoints.model_copy(update={"timestamp": BEGIN + timedelta(minutes=number)})


def test_twenty_checkpoints_are_kept_by_default() -> None:
    """One more drops the oldest."""
    assert [each.id for each in select_surplus(on_main([automatic(number) for number in range(21)]))] == ["cp_0"]


def test_the_checkpoint_before_the_first_divergence_is_kept() -> None:
    """Later divergences only drop each other's checkpoints, the oldest first."""
    checkpoints = [automatic(5), *(automatic(number, "divergence") for number in range(8, 40))]
    steps = tuple(step(number, "click", "diverged" if number > 8 else "faithful") for number in range(1, 41))

    dropped = [each.iteration for each in select_surplus(on_main(checkpoints, steps=steps))]

    assert dropped == list(range(9, 22))
