"""Screenshots are compared pixel by pixel, and differences are drawn."""

from __future__ import annotations

import sys
from io import BytesIO
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from eikon_engine.divergence.comparison import Comparison, Screenshots, StepPosition
from eikon_engine.divergence.detectors.pixels import detect_pixels
from eikon_engine.divergence.pixel_diff import MARK_COLOUR, compare_images
from eikon_engine.errors import TraceError
from eikon_engine.trace.actions import Screenshot
from eikon_engine.trace.execution import ActionTrace, Succeeded

if TYPE_CHECKING:
    from eikon_engine.outcome.divergence import Divergence

SIZE = (20, 10)


def png(*dots: tuple[int, int], size: tuple[int, int] = SIZE, level: int = 6) -> bytes:
    """Draw black dots on white."""
    picture = Image.new("RGB", size, "white")
    for dot in dots:
        picture.putpixel(dot, (0, 0, 0))
    file = BytesIO()
    picture.save(file, "PNG", compress_level=level)
    return file.getvalue()


def found(recorded: bytes, observed: bytes) -> list[Divergence]:
    """Compare two screenshots."""
    action = ActionTrace(id="a", sequence=1, action=Screenshot(), result=Succeeded())
    place = StepPosition(subgoal="s__attempt_1", subgoal_id="s", sequence=1)
    pictures = Screenshots(recorded=recorded, observed=observed)
    return list(
        detect_pixels(
            Comparison(position=place, recorded=action, result=Succeeded(), observed=None, screenshots=pictures)
        )
    )


def test_equal_pixels_are_equal_however_they_are_packed() -> None:
    """Equal pixels are equal in files with different encodings."""
    assert png((1, 1)) != png((1, 1), level=0)
    assert found(png((1, 1)), png((1, 1), level=0)) == []


def test_what_differs_is_counted_and_framed() -> None:
    """The number and the bounding box of the differing pixels are reported, for a single pixel too."""
    [one] = found(png(), png((3, 4), (7, 5)))

    assert one.code == "pixels-changed"
    assert one.observed == "2 of 200 pixels differ, between (3, 4) and (8, 6)"


def test_what_differs_is_marked() -> None:
    """Differing pixels are marked on a pale copy of the observed screenshot."""
    diff = compare_images(png((0, 0)), png((0, 0), (3, 4)))

    assert diff is not None
    picture = Image.open(BytesIO(diff.image))
    assert picture.getpixel((3, 4)) == MARK_COLOUR
    assert picture.getpixel((0, 0)) == (191, 191, 191)
    assert picture.getpixel((9, 9)) == (255, 255, 255)


def test_a_different_size_is_reported() -> None:
    """All pixels differ."""
    [one] = found(png(), png(size=(20, 12)))

    assert (one.expected, one.observed) == ("the recorded screenshot, 20 x 10 pixels", "a screenshot of 20 x 12 pixels")


def test_without_pillow_the_difference_is_reported_but_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message names the extra that draws it."""
    white, dotted = png(), png((1, 1))
    monkeypatch.setitem(sys.modules, "PIL", None)

    [one] = found(white, dotted)

    assert "Install eikon-engine[pixels]" in one.message
    assert found(white, white) == []


def test_a_picture_with_too_many_pixels_is_refused() -> None:
    """It is small to send: 20,000 x 5,000 equal pixels take kilobytes, and 300 MB when they are compared."""
    file = BytesIO()
    Image.new("1", (20_000, 5_000)).save(file, "PNG")

    with pytest.raises(TraceError, match=r"not a readable PNG .*decompression bomb"):
        compare_images(file.getvalue(), png((0, 0)))
