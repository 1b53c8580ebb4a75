"""Which checkpoints are dropped."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.debug.pruning import PrunePolicy, prune
from eikon_engine.debug.timeline import CheckpointEntry

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


@st.composite
def entries(draw: st.DrawFn) -> list[CheckpointEntry]:
    """Make checkpoints in any order of time."""
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


@given(entries(), st.integers(0, 5), st.sets(st.integers(0, 50)))
def test_the_newest_of_its_own_are_kept_and_all_that_somebody_relies_on(
    made: list[CheckpointEntry], kept: int, forks: set[int]
) -> None:
    """Nothing is dropped that was made by hand, or that a branch begins at; of the others, only the oldest."""
    forked = {f"cp_{number}" for number in forks}

    dropped = prune(made, forked, PrunePolicy(automatic=kept))

    own = [each for each in made if each.reason != "manual"]
    left = [each for each in own if each not in dropped and each.id not in forked]
    assert all(each.reason != "manual" and each.id not in forked for each in dropped)
    assert len(left) <= kept
    assert len(dropped) <= max(0, len(own) - kept)
    assert all(gone.timestamp < stays.timestamp for gone in dropped for stays in left)


def test_twenty_are_kept_unless_told_otherwise() -> None:
    """One more, and the oldest goes."""
    made = [
        CheckpointEntry(
            id=f"cp_{number}",
            label="",
            iteration=number,
            reason="automatic",
            timestamp=BEGIN + timedelta(minutes=number),
            steps_sha256="0" * 64,
        )
        for number in range(21)
    ]

    assert [each.id for each in prune(made, ())] == ["cp_0"]
