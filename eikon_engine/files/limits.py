"""Limits of what is read, and how files are read within them; `docs/limits.md` gives the reasons.

Bundles, recordings of other tools and artifacts of runs may come from anyone, so no reader opens a file in another way:
a file beyond a limit is refused before the memory for it is allocated, and a file of a folder must be inside it.
"""

from __future__ import annotations

import math
import os
import re
import stat
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from pydantic_core import from_json

from eikon_engine.errors import BundlePathError, TooLargeError
from eikon_engine.files.paths import require_inside

if TYPE_CHECKING:
    import zipfile
    from collections.abc import Sequence
    from io import BufferedReader
    from pathlib import Path

    from pydantic import JsonValue

_MIB: Final = 1024**2
MAX_DOCUMENT_BYTES: Final = 512 * _MIB
"""Maximum size of a file that is read whole, such as `trace.json`, `index.jsonl` or a HAR."""
MAX_SETTINGS_BYTES: Final = _MIB
"""Maximum size of a TOML or YAML file; these are written by people."""
MAX_URL_LENGTH: Final = 2 * _MIB
"""Maximum length of a URL in a recording to import; that of Chromium (url/url_constants.h)."""
MAX_PAGE_BYTES: Final = 64 * _MIB
"""Maximum size of a page that is stored as HTML."""
MAX_PICTURE_BYTES: Final = 256 * _MIB
"""Maximum size of a screenshot that is compared."""
MAX_LINE_BYTES: Final = 64 * _MIB
"""Maximum length of a line of JSON Lines."""
MAX_VALUES: Final = 1_000_000
"""Maximum number of values in a JSON text, or a line of JSON Lines, that becomes models."""
MAX_PLAIN_VALUES: Final = 4_000_000
"""Maximum number of values in a JSON text that stays plain, such as a HAR or a DOM snapshot."""
MAX_RECORDED_VALUES: Final = 20_000_000
"""Maximum number of values in all lines of JSON Lines."""
MAX_JSON_DEPTH: Final = 100
"""Maximum nesting of lists and objects in one value; the parser allows 200 for a whole file."""
MAX_BLOB_BYTES: Final = 1024 * _MIB
"""Maximum uncompressed size of a blob."""
MAX_RATIO: Final = 200
"""Maximum compression ratio of large contents: recordings reach about 20, bombs 1,000 and more."""
BLOB_EXEMPT_BYTES: Final = 256 * _MIB
"""Size of a blob up to which its compression ratio is not limited, such as an upload of zeros."""
BLOBS_EXEMPT_BYTES: Final = 1024 * _MIB
"""Total size of the blobs of a folder up to which their compression ratio is not limited."""
MAX_ARCHIVE_FILES: Final = 200_000
MAX_ARCHIVE_BYTES: Final = 8 * 1024 * _MIB
"""Maximum total size of the files in an archive, uncompressed."""
MAX_ARCHIVE_FILE_BYTES: Final = 256 * _MIB
"""Maximum size of a file of an archive that is read whole, uncompressed."""
FILE_EXEMPT_BYTES: Final = 16 * _MIB
"""Size of a file of an archive up to which its compression ratio is not limited."""

_CHUNK_BYTES: Final = _MIB
_SEPARATORS: Final = (b",", b"[", b"{")
_STRUCTURE: Final = b'",[{'
_TEXT: Final = bytes(each for each in range(256) if each not in _STRUCTURE)
_LARGE_NUMBER: Final = re.compile(rb"\d[eE]\+?\d{3}|\d{200}")
"""What every number has that is beyond 1.8e308, and few others have."""
_DEEP_KEY: Final = re.compile(rf"^[^=\n#]*(?:\.[^=\n.#]*){{{MAX_JSON_DEPTH}}}", re.MULTILINE)


def open_file(path: Path, *, root: Path | None = None) -> BufferedReader:
    """Open a file to read; `root` is the folder that it belongs to, None if a person named the file itself.

    Raises:
        OSError: it cannot be opened.
        BundlePathError: it is outside `root`, or is a pipe, a device or a socket in it.
    """
    if root is None:
        return path.open("rb")
    require_inside(root, path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    file = os.fdopen(descriptor, "rb")
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return file
    file.close()
    message = f"{path}: expected a regular file, got a pipe or a device; remove it"
    raise BundlePathError(message)


def read_file(path: Path, *, root: Path | None = None, limit: int = MAX_DOCUMENT_BYTES) -> bytes:
    """Read a file of at most `limit` bytes; `root` is that of `open_file`.

    Raises:
        OSError: it cannot be read.
        BundlePathError: as `open_file`.
        TooLargeError: it is larger.
    """
    with open_file(path, root=root) as file:
        size = os.fstat(file.fileno()).st_size
        require_size(size, limit, str(path))
        chunks: list[bytes] = []
        found = 0
        while chunk := file.read(min(limit + 1 - found, max(size + 1, _CHUNK_BYTES))):
            chunks.append(chunk)
            found += len(chunk)
            require_size(found, limit, str(path))
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def read_document(path: Path, *, root: Path | None = None, values: int = MAX_VALUES) -> bytes:
    """Read a file of JSON, or JSON Lines, with at most this number of values; `root` is that of `open_file`.

    Raises:
        OSError: it cannot be read.
        BundlePathError: as `open_file`.
        TooLargeError: it is larger, or has more values or longer lines.
    """
    data = read_file(path, root=root)
    require_values(data, str(path), values)
    return data


def read_lines(path: Path, *, root: Path | None = None) -> tuple[list[bytes], bytes]:
    """Read JSON Lines; return the complete lines, and the rest after the last line break.

    Raises:
        OSError: it cannot be read.
        BundlePathError: as `open_file`.
        TooLargeError: it is larger, or has more values or longer lines.
    """
    buffer = LineBuffer(str(path))
    return buffer.feed(read_document(path, root=root, values=MAX_RECORDED_VALUES)), buffer.rest()


class LineBuffer:
    """Splits chunks of JSON Lines into lines, in linear time."""

    def __init__(self, source: str) -> None:
        """Start with an empty line; `source` names the file in messages."""
        self._source = source
        self._parts: list[bytes] = []
        self._length = 0
        self._number = 0

    def rest(self) -> bytes:
        """Return what follows the last line break.

        Raises:
            TooLargeError: it has too many values.
        """
        rest = b"".join(self._parts)
        require_values(rest, self._place())
        return rest

    def feed(self, chunk: bytes) -> list[bytes]:
        """Add a chunk and return the lines that are now complete, without line breaks.

        Raises:
            TooLargeError: a line is too long or has too many values.
        """
        first, *others = chunk.split(b"\n")
        self._parts.append(first)
        self._length += len(first)
        self._require_length(self._length)
        if not others:
            return []
        *whole, rest = (b"".join(self._parts), *others)
        for line in whole:
            self._require_length(len(line))
            require_values(line, self._place())
            self._number += 1
        self._parts, self._length = [rest], len(rest)
        self._require_length(self._length)
        return whole

    def _require_length(self, length: int) -> None:
        require_size(length, MAX_LINE_BYTES, self._place())

    def _place(self) -> str:
        return f"{self._source}: line {self._number + 1}"


def require_size(size: int, limit: int, source: str) -> None:
    """Check a size in bytes; `source` names what has it in messages.

    Raises:
        TooLargeError: it is larger than the limit.
    """
    if size > limit:
        raise _too_large(source, f"{_mib(limit)}", _mib(size))


def require_values(data: bytes, source: str, limit: int = MAX_VALUES) -> None:
    """Check the number of values in a JSON text before it is parsed: each of them takes memory, however short.

    Raises:
        TooLargeError: there are more.
    """
    if sum(map(data.count, _SEPARATORS)) <= limit:
        return
    structure = data.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _TEXT)
    found = is_in_string = 0
    for start in range(0, len(structure), _CHUNK_BYTES):
        parts = structure[start : start + _CHUNK_BYTES].split(b'"')
        found += sum(map(len, parts[is_in_string::2]))
        is_in_string ^= (len(parts) - 1) % 2
        if found > limit:
            raise _too_large(source, f"{limit:,} values", "more")


def parse_json(data: bytes | str) -> JsonValue:
    """Parse a JSON text whose size and values are limited.

    Raises:
        ValueError: it is not JSON, or has NaN, infinities, half of a surrogate pair, or too many levels.
    """
    value: JsonValue = from_json(data, allow_inf_nan=False)
    if _LARGE_NUMBER.search(data if isinstance(data, bytes) else data.encode()):
        _require_finite(value)
    return value


def _require_finite(value: JsonValue) -> None:
    """Reject numbers that became infinite because they are too large, such as 1e999."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
        elif isinstance(item, float) and not math.isfinite(item):
            message = "a number that is too large"
            raise ValueError(message)


def parse_toml(data: bytes) -> dict[str, JsonValue]:
    """Parse a TOML text whose size is limited.

    Raises:
        ValueError: it is not TOML in UTF-8, or has too many levels.
    """
    import tomllib  # noqa: PLC0415 - takes longer to import than a search that finds no settings

    text = data.decode("utf-8")
    too_deep = f"expected at most {MAX_JSON_DEPTH} levels of tables and arrays, got more"
    if _DEEP_KEY.search(text):
        raise ValueError(too_deep)
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError(too_deep) from error


def decompress(packed: bytes, size: int) -> bytes | None:
    """Decompress one zstd frame of exactly `size` bytes; None if it is not one. Never allocates more than that.

    The frame must state its size.
    """
    import zstandard  # noqa: PLC0415 - most readers read no blobs

    try:
        if zstandard.get_frame_parameters(packed).content_size != size:
            return None
        return zstandard.ZstdDecompressor().decompress(packed, max_output_size=size, allow_extra_data=False)
    except zstandard.ZstdError:
        return None


def require_ratio(size: int, packed_size: int, exempt: int, source: str) -> None:
    """Check the compression ratio of a content, or of several; those of up to `exempt` bytes may have any.

    Raises:
        TooLargeError: it is higher than that of any recording.
    """
    if size > max(exempt, MAX_RATIO * packed_size):
        raise _too_large(source, f"{MAX_RATIO} times its {packed_size:,} compressed bytes", _mib(size))


def archive_sizes(entries: Sequence[zipfile.ZipInfo], source: str) -> dict[str, int]:
    """Return the uncompressed sizes of the files of an archive by their names.

    Raises:
        TooLargeError: it has too many or too large files.
    """
    if len(entries) > MAX_ARCHIVE_FILES:
        raise _too_large(source, f"{MAX_ARCHIVE_FILES:,} files in the archive", f"{len(entries):,}")
    for entry in entries:
        require_ratio(entry.file_size, entry.compress_size, FILE_EXEMPT_BYTES, f"{source}/{entry.filename}")
    sizes = {entry.filename: entry.file_size for entry in entries}
    require_size(sum(entry.file_size for entry in entries), MAX_ARCHIVE_BYTES, source)
    _require_separate(entries, source)
    return sizes


def _require_separate(entries: Sequence[zipfile.ZipInfo], source: str) -> None:
    """Refuse files that share their compressed bytes: their sizes say nothing about that of the archive."""
    places = sorted((entry.header_offset, entry.compress_size) for entry in entries)
    if any(offset + size > following for (offset, size), (following, _) in pairwise(places)):
        message = f"{source}: expected files with contents of their own in the archive, got overlapping ones"
        raise TooLargeError(message)


def _too_large(source: str, expected: str, found: str) -> TooLargeError:
    return TooLargeError(f"{source}: expected at most {expected}, got {found}; restore the file or record again")


def _mib(size: int) -> str:
    return f"{size / _MIB:,.0f} MiB" if size >= _MIB else f"{size:,} bytes"
