"""Read the files of a folder, blobs decompressed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import zstandard

from eikon_engine.errors import AttachmentCorruptError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_UNPACKED_BYTES: Final = 1 << 30
"""Maximum decompressed size of a file, in bytes."""


def unpacked_files(root: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield each file below a folder with its decompressed content, sorted by path; symbolic links are skipped.

    Raises:
        AttachmentCorruptError: a file cannot be read, or decompresses to more than 1 GiB.
    """
    for path in sorted(root.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        try:
            content = path.read_bytes()
            if path.suffix == ".zst":
                content = _decompress(content)
        except (OSError, ValueError, zstandard.ZstdError) as error:
            reason = (str(error).splitlines() or ["unknown reason"])[0]
            message = f"{path}: cannot read the file: {reason}; restore it"
            raise AttachmentCorruptError(message) from error
        yield path, content


def find_in_files(root: Path, needles: set[bytes]) -> set[bytes]:
    """Return the needles that occur in a file below a folder, blobs decompressed."""
    left, present = {each for each in needles if each}, set()
    for _, content in unpacked_files(root):
        found = {each for each in left if each in content}
        present |= found
        left -= found
    return present


def _decompress(content: bytes) -> bytes:
    size = zstandard.frame_content_size(content)
    if size > MAX_UNPACKED_BYTES:
        message = f"blob of {size} bytes exceeds the limit of {MAX_UNPACKED_BYTES}"
        raise ValueError(message)
    return zstandard.ZstdDecompressor().decompress(content, max_output_size=MAX_UNPACKED_BYTES)
