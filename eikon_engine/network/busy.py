"""When pages computed while they were recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.files.models import FileModel

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_GAP_MS: Final = 20
"""Spans with a smaller gap between them are one: a page continues in a task of its own."""


class BusySpan(FileModel):
    """A span in which a page computed without a pause, in ms of page time."""

    begun_ms: int
    ended_ms: int


def merge_spans(spans: Iterable[BusySpan]) -> tuple[BusySpan, ...]:
    """Return spans in their order; those that overlap, or nearly follow each other, become one."""
    merged: list[BusySpan] = []
    for span in sorted(spans, key=lambda each: each.begun_ms):
        if merged and span.begun_ms - merged[-1].ended_ms < MAX_GAP_MS:
            last = merged.pop()
            span = BusySpan(begun_ms=last.begun_ms, ended_ms=max(last.ended_ms, span.ended_ms))  # noqa: PLW2901
        merged.append(span)
    return tuple(merged)
