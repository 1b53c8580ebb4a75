"""Long tasks of recorded pages (https://w3c.github.io/longtasks), and the scripts of their long animation frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.files.models import FileModel

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_GAP_MS: Final = 20
"""Long tasks with a smaller gap between them are one if both are much longer than it: the page continues its work."""
MIN_GAP_RATIO: Final = 4
"""How much longer."""
MIN_TASK_MS: Final = 40
"""Length of the shortest task that matters, once tasks are joined."""


class LongTask(FileModel):
    """A time in which a page computed, in ms of page time."""

    begun_ms: int
    ended_ms: int


def merge_long_tasks(tasks: Iterable[LongTask]) -> tuple[LongTask, ...]:
    """Return long tasks in their order; those that overlap, or nearly follow each other, become one.

    Scripts that are short even then are omitted: timers hardly wait for them.
    """
    merged: list[LongTask] = []
    for task in sorted(tasks, key=lambda each: each.begun_ms):
        if merged and _continues(merged[-1], task):
            last = merged.pop()
            task = LongTask(begun_ms=last.begun_ms, ended_ms=max(last.ended_ms, task.ended_ms))  # noqa: PLW2901
        merged.append(task)
    return tuple(each for each in merged if each.ended_ms - each.begun_ms >= MIN_TASK_MS)


def _continues(last: LongTask, task: LongTask) -> bool:
    """Return whether a page continued its work of one task in the next one."""
    gap_ms = task.begun_ms - last.ended_ms
    shorter_ms = min(last.ended_ms - last.begun_ms, task.ended_ms - task.begun_ms)
    return gap_ms <= 1 or (gap_ms < MAX_GAP_MS and gap_ms * MIN_GAP_RATIO <= shorter_ms)
