"""Read all files of a folder as they are inside: blobs unpacked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import zstandard

from eikon_engine.errors import AttachmentCorruptError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LARGEST: Final = 1 << 30
"""Bytes that a file may unpack to."""


def unpacked_files(root: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield each file below a folder with its content, in order of their paths; links are not followed.

    Raises:
        AttachmentCorruptError: a file cannot be read or unpacked, or to more than 1 GiB.
    """
    for path in sorted(root.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        try:
            content = path.read_bytes()
            if path.suffix == ".zst":
                content = _unpacked(content)
        except (OSError, ValueError, zstandard.ZstdError) as error:
            reason = (str(error).splitlines() or ["no reason was told"])[0]
            message = f"{path}: wanted a file that can be read whole, found {reason}; restore it"
            raise AttachmentCorruptError(message) from error
        yield path, content


def held(root: Path, needles: set[bytes]) -> set[bytes]:
    """Return those of some texts that stand in a file below a folder, blobs unpacked."""
    left, present = {each for each in needles if each}, set()
    for _, content in unpacked_files(root):
        found = {each for each in left if each in content}
        present |= found
        left -= found
    return present


def _unpacked(content: bytes) -> bytes:
    size = zstandard.frame_content_size(content)
    if size > LARGEST:
        message = f"{size} bytes in a blob, where {LARGEST} are the limit"
        raise ValueError(message)
    return zstandard.ZstdDecompressor().decompress(content, max_output_size=LARGEST)
