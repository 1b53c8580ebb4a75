"""Which checkpoints are dropped."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.debug.checkpointing import RetentionPolicy, select_surplus
from eikon_engine.debug.timeline import CheckpointEntry
from tests.debug.timelines import branch, checkpoint, step

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eikon_engine.debug.timeline import Branch, StepEntry
    from eikon_engine.outcome.debug_events import CheckpointReason

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


def on_main(
    made: Sequence[CheckpointEntry], forked: Iterable[str] = (), steps: Sequence[StepEntry] = ()
) -> tuple[Branch, ...]:
    """Put checkpoints on `main`, and let branches begin at some."""
    forks = (branch(f"b{number}", parent="main", at=each) for number, each in enumerate(forked))
    return branch("main", checkpoints=tuple(made), steps=tuple(steps)), *forks


@given(entries(), st.integers(0, 5), st.sets(st.integers(0, 50)))
def test_the_newest_of_its_own_are_kept_and_all_that_somebody_relies_on(
    made: list[CheckpointEntry], kept: int, forks: set[int]
) -> None:
    """Nothing is dropped that was made by hand, or that a branch begins at; of the others, only the oldest."""
    stay = {f"cp_{number}" for number in forks}
    before = [each for each in made if each.reason == "divergence"]

    dropped = select_surplus(on_main(made, stay), RetentionPolicy(automatic=kept))

    stay |= {each.id for each in sorted(before, key=lambda each: each.iteration)[:1]}
    own = [each for each in made if each.reason != "manual"]
    left = [each for each in own if each not in dropped and each.id not in stay]
    assert all(each.reason != "manual" and each.id not in stay for each in dropped)
    assert len(left) <= kept
    assert len(dropped) <= max(0, len(own) - kept)
    assert all(gone.timestamp < stays.timestamp for gone in dropped for stays in left)


def automatic(number: int, reason: CheckpointReason = "automatic") -> CheckpointEntry:
    """Make the checkpoint of a minute."""
    made = checkpoint(f"cp_{number}", number, reason=reason)
    return made.model_copy(update={"timestamp": BEGIN + timedelta(minutes=number)})


def test_twenty_are_kept_unless_told_otherwise() -> None:
    """One more, and the oldest goes."""
    assert [each.id for each in select_surplus(on_main([automatic(number) for number in range(21)]))] == ["cp_0"]


def test_divergences_that_follow_do_not_push_out_where_it_began() -> None:
    """Nor what was made on the way there; of those that follow, the oldest go."""
    made = [automatic(5), *(automatic(number, "divergence") for number in range(8, 40))]
    steps = tuple(step(number, "click", "diverged" if number > 8 else "faithful") for number in range(1, 41))

    dropped = [each.iteration for each in select_surplus(on_main(made, steps=steps))]

    assert dropped == list(range(9, 22))
