"""Long tasks of recorded pages (https://w3c.github.io/longtasks)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.files.models import FileModel

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_GAP_MS: Final = 20
"""Long tasks with a smaller gap between them are one: the page continues its work."""


class LongTask(FileModel):
    """A time in which a page computed without a pause, in ms of page time."""

    begun_ms: int
    ended_ms: int


def merge_long_tasks(tasks: Iterable[LongTask]) -> tuple[LongTask, ...]:
    """Return long tasks in their order; those that overlap, or nearly follow each other, become one."""
    merged: list[LongTask] = []
    for task in sorted(tasks, key=lambda each: each.begun_ms):
        if merged and task.begun_ms - merged[-1].ended_ms < MAX_GAP_MS:
            last = merged.pop()
            task = LongTask(begun_ms=last.begun_ms, ended_ms=max(last.ended_ms, task.ended_ms))  # noqa: PLW2901
        merged.append(task)
    return tuple(merged)
