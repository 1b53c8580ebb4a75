"""Pixels: what a screenshot shows, against the recorded one, where both were taken in one environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.divergence.pixel_diff import PixelDiff, compare_pictures

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.outcome.divergence import Divergence


def detect_pixels(comparison: Comparison) -> Iterator[Divergence]:
    """Compare every pixel; the browser draws a page the same way twice, or something of the page is another one."""
    pictures = comparison.pictures
    if pictures is None or pictures.recorded == pictures.observed:
        return
    diff = compare_pictures(pictures.recorded, pictures.observed)
    if diff is not None and diff.changed == 0:
        return
    yield comparison.diverged(
        "pixels",
        "pixels-changed",
        expected="the recorded picture" if diff is None else f"the recorded picture, {_size(diff.expected_size)}",
        observed="another picture" if diff is None else _observed(diff),
        message="The screenshot shows something else than the recorded one."
        + (" Install eikon-engine[pixels] to see where." if diff is None else ""),
    )


def _observed(diff: PixelDiff) -> str:
    if diff.expected_size != diff.observed_size:
        return f"a picture of {_size(diff.observed_size)}"
    left, top, right, bottom = diff.box
    where = f"between {left}, {top} and {right}, {bottom}"
    return f"{diff.changed} of {diff.expected_size[0] * diff.expected_size[1]} pixels differ, {where}"


def _size(size: tuple[int, int]) -> str:
    return f"{size[0]} x {size[1]} pixels"
