"""Compare two images pixel by pixel and draw the difference. Needs Pillow, which the extra `pixels` installs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import TraceError

if TYPE_CHECKING:
    from PIL.Image import Image

MARK_COLOUR: Final = (255, 0, 80)
"""Colour of the differing pixels, drawn on a faded copy of the observed image."""
_FORMATS: Final = ("PNG",)
FADE_RATIO: Final = 0.75
"""Share of white blended into the copy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PixelDiff:
    """The difference between two images."""

    expected_size: tuple[int, int]
    """Width and height in pixels."""
    observed_size: tuple[int, int]
    changed: int
    """Number of differing pixels; the whole area if the sizes differ."""
    box: tuple[int, int, int, int]
    """Left, top, right and bottom of the bounding box of the differing pixels."""
    image: bytes = field(repr=False)
    """PNG of the faded observed image with the differing pixels marked."""


def compare_images(expected: bytes, observed: bytes) -> PixelDiff | None:
    """Compare two PNG files; None if Pillow is not installed.

    Raises:
        TraceError: the expected image is not a valid PNG.
    """
    try:
        from PIL import Image  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    too_many_pixels = Image.DecompressionBombError, Image.DecompressionBombWarning
    with warnings.catch_warnings(), Image.open(BytesIO(observed), formats=_FORMATS) as after:
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            with Image.open(BytesIO(expected), formats=_FORMATS) as before:
                return _compare(before.convert("RGB"), after.convert("RGB"))
        except (OSError, SyntaxError, ValueError, *too_many_pixels) as error:
            message = f"the recorded screenshot is not a readable PNG ({error}). Restore the bundle."
            raise TraceError(message, code="attachment-corrupt") from error


def _compare(before: Image, after: Image) -> PixelDiff:
    from PIL import Image, ImageChops  # noqa: PLC0415 - an extra

    if before.size != after.size:
        whole = (0, 0, max(before.width, after.width), max(before.height, after.height))
        return _diff(before, after, whole[2] * whole[3], whole, after)
    difference = ImageChops.difference(before, after)
    channels = difference.split()
    mask = ImageChops.lighter(ImageChops.lighter(channels[0], channels[1]), channels[2]).point(_to_mask)
    faded = Image.blend(after, Image.new("RGB", after.size, "white"), FADE_RATIO)
    faded.paste(MARK_COLOUR, (0, 0, *after.size), mask)
    return _diff(before, after, mask.histogram()[255], mask.getbbox() or (0, 0, 0, 0), faded)


def _to_mask(value: int) -> int:
    return 255 if value else 0


def _diff(before: Image, after: Image, changed: int, box: tuple[int, int, int, int], picture: Image) -> PixelDiff:
    file = BytesIO()
    picture.save(file, "PNG")
    return PixelDiff(
        expected_size=before.size, observed_size=after.size, changed=changed, box=box, image=file.getvalue()
    )
