"""Detect different pixels in screenshots taken in comparable environments."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.divergence.pixel_diff import PixelDiff
    from eikon_engine.outcome.divergence import Divergence


def detect_pixels(comparison: Comparison) -> Iterator[Divergence]:
    """Compare screenshots exactly: the same browser renders the same page identically."""
    pictures = comparison.screenshots
    if pictures is None or pictures.recorded == pictures.observed:
        return
    from eikon_engine.divergence.pixel_diff import compare_images  # noqa: PLC0415 - a faithful replay has no diff

    diff = compare_images(pictures.recorded, pictures.observed)
    if diff is not None and diff.changed == 0:
        return
    yield comparison.make_divergence(
        "pixels",
        "pixels-changed",
        expected="the recorded screenshot" if diff is None else f"the recorded screenshot, {_size(diff.expected_size)}",
        observed="a different screenshot" if diff is None else _observed(diff),
        message="The screenshot differs from the recorded one."
        + (" Install eikon-engine[pixels] to see where." if diff is None else ""),
    )


def _observed(diff: PixelDiff) -> str:
    if diff.expected_size != diff.observed_size:
        return f"a screenshot of {_size(diff.observed_size)}"
    left, top, right, bottom = diff.box
    total = diff.expected_size[0] * diff.expected_size[1]
    return f"{diff.changed} of {total} pixels differ, between ({left}, {top}) and ({right}, {bottom})"


def _size(size: tuple[int, int]) -> str:
    return f"{size[0]} x {size[1]} pixels"
