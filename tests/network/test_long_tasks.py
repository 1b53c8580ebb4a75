"""Long tasks that follow each other become one; scripts that leave a page time do not."""

from __future__ import annotations

import pytest

from eikon_engine.network.long_tasks import LongTask, merge_long_tasks


def tasks(*times: tuple[int, int]) -> tuple[LongTask, ...]:
    """Make long tasks."""
    return tuple(LongTask(begun_ms=begun, ended_ms=ended) for begun, ended in times)


@pytest.mark.parametrize(
    ("recorded", "merged"),
    [
        pytest.param(((0, 100), (115, 175)), ((0, 175),), id="long tasks"),
        pytest.param(((0, 100), (130, 190)), ((0, 100), (130, 190)), id="long tasks with a pause"),
        pytest.param(((0, 7), (7, 12), (13, 45)), ((0, 45),), id="scripts of a frame"),
        pytest.param(tuple((at, at + 36) for at in range(0, 550, 55)), (), id="an animation that is painted slowly"),
        pytest.param(tuple((at, at + 5) for at in range(0, 240, 24)), (), id="short scripts"),
        pytest.param(((50, 150), (0, 100)), ((0, 150),), id="of two frames"),
    ],
)
def test_a_page_that_continues_has_one_task(
    recorded: tuple[tuple[int, int], ...], merged: tuple[tuple[int, int], ...]
) -> None:
    """What happens between two of them is part of them, unless the page waited there."""
    assert merge_long_tasks(tasks(*recorded)) == tasks(*merged)
