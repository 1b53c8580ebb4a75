"""Open a HAR file: JSON with inline or attached bodies, or a zip archive as written by Playwright."""

from __future__ import annotations

import json
import lzma
import struct
import sys
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from eikon_engine.errors import TraceError, TraceSyntaxError
from eikon_engine.files.limits import (
    MAX_ARCHIVE_FILE_BYTES,
    MAX_DOCUMENT_BYTES,
    MAX_PLAIN_VALUES,
    archive_sizes,
    read_file,
    require_size,
    require_values,
)
from eikon_engine.files.models import field_error, syntax_error
from eikon_engine.files.paths import resolve_inside
from eikon_engine.files.text import is_utf8

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class HarNode:
    """One JSON object with its path in the file."""

    value: Mapping[str, object]
    path: str
    source: str

    def node(self, name: str) -> HarNode:
        """Return a required object."""
        return self._node(self.value.get(name), self._path(name))

    def optional_node(self, name: str) -> HarNode | None:
        """Return an optional object; None if it is absent or null."""
        return self.node(name) if self.value.get(name) is not None else None

    def nodes(self, name: str) -> tuple[HarNode, ...]:
        """Return a list of objects; empty if it is absent or null."""
        value = self.value.get(name)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise field_error(self.source, self._path(name), "a list", value)
        return tuple(self._node(item, f"{self._path(name)}[{place}]") for place, item in enumerate(value))

    def text(self, name: str) -> str:
        """Return a required string, without lone surrogates."""
        value = self.raw_text(name)
        if not is_utf8(value):
            raise field_error(self.source, self._path(name), "text without halves of characters", ascii(value))
        return value

    def raw_text(self, name: str) -> str:
        """Return a required string; in that of a body, a script may have cut a character in half."""
        value = self.value.get(name)
        if not isinstance(value, str):
            raise field_error(self.source, self._path(name), "a string", value)
        return value

    def optional_text(self, name: str) -> str | None:
        """Return an optional string; None if it is absent or null."""
        return self.text(name) if self.value.get(name) is not None else None

    def number(self, name: str) -> float:
        """Return a required finite number."""
        value = self.value.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
            raise field_error(self.source, self._path(name), "a finite number", value)
        return float(value)

    def optional_number(self, name: str) -> float | None:
        """Return an optional finite number; None if it is absent or null."""
        return self.number(name) if self.value.get(name) is not None else None

    def pairs(self, name: str) -> tuple[tuple[str, str], ...]:
        """Return a list of objects with `name` and `value` as pairs, without HTTP/2 pseudo-headers."""
        pairs = ((each.text("name"), each.text("value")) for each in self.nodes(name))
        return tuple(pair for pair in pairs if not pair[0].startswith(":"))

    def _path(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def _node(self, value: object, path: str) -> HarNode:
        if not isinstance(value, Mapping):
            raise field_error(self.source, path, "an object", value)
        return HarNode(value=value, path=path, source=self.source)


HAR_SUFFIX: Final = ".har"
ZIP_SUFFIX: Final = ".zip"
ZIP_MAGIC: Final = b"PK\3\4"
"""Magic number of a zip archive that is not empty."""
ARCHIVE_ERRORS: Final = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)
"""Exceptions for archives that are damaged, truncated, encrypted or compressed with an unknown method."""

AttachmentReader: TypeAlias = "Callable[[str, str], bytes | None]"


@dataclass(frozen=True, slots=True, kw_only=True)
class HarFile:
    """The entries of a HAR and its attached bodies."""

    source: str
    entries: tuple[HarNode, ...]
    read_attachment: AttachmentReader
    """Return the content of an attached file, None if it is missing; takes its name and the path of the field."""


@contextmanager
def open_har(path: Path) -> Iterator[HarFile]:
    """Open a HAR; attached files can be read inside the `with` block.

    Raises:
        TraceError: the file cannot be read.
        TraceSyntaxError: the file is not JSON, or is a damaged archive or one without a HAR.
        TraceFieldError: the JSON is not a HAR.
        TooLargeError: the file exceeds a limit.
    """
    with _translate_errors(path), ExitStack() as opened:
        archive = opened.enter_context(zipfile.ZipFile(path)) if zipfile.is_zipfile(path) else None
        sizes = {} if archive is None else archive_sizes(archive.infolist(), str(path))
        data, source = (_read_plain(path), str(path)) if archive is None else _read_packed_har(path, archive, sizes)
        keep_open = opened.pop_all()
    with keep_open:
        yield _parse_har(
            data,
            source,
            partial(_read_beside, path) if archive is None else partial(_read_packed, path, archive, sizes),
        )


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    """Translate exceptions of reading a HAR or its archive. Use it for reads only, since it catches `RuntimeError`."""
    try:
        yield
    except OSError as error:
        message = f"{path}: cannot read the HAR file: {error.strerror or error}. Check the path."
        raise TraceError(message, code="trace-missing") from error
    except ARCHIVE_ERRORS as error:
        raise _archive_error(path, str(error)) from error


def _read_plain(path: Path) -> bytes:
    data = read_file(path)
    if path.suffix.lower() == ZIP_SUFFIX or data.startswith(ZIP_MAGIC):
        raise _archive_error(path, "it has no central directory, so it is truncated or not a zip file")
    return data


def _read_packed_har(path: Path, archive: zipfile.ZipFile, sizes: Mapping[str, int]) -> tuple[bytes, str]:
    """Read the only HAR of an archive; return its content and its name."""
    names = [name for name in sizes if name.endswith(HAR_SUFFIX)]
    if len(names) != 1:
        message = f"{path}: expected an archive with one *{HAR_SUFFIX} file, got {len(names)}. Pack one HAR."
        raise TraceSyntaxError(message)
    source = f"{path}/{names[0]}"
    require_size(sizes[names[0]], MAX_DOCUMENT_BYTES, source)
    return archive.read(names[0]), source


def _archive_error(path: Path, problem: str) -> TraceSyntaxError:
    return TraceSyntaxError(f"{path}: not a readable zip archive: {problem}. Export the HAR again.")


def _parse_har(data: bytes, source: str, read_attachment: AttachmentReader) -> HarFile:
    require_values(data, source, MAX_PLAIN_VALUES)
    try:
        plain = json.loads(data.decode("utf-8-sig"))
    except RecursionError as error:
        raise syntax_error("values are nested too deeply", source) from error
    except ValueError as error:
        raise syntax_error(str(error), source) from error
    if not isinstance(plain, dict) or not isinstance(plain.get("log"), dict):
        raise field_error(
            source, "log", "an object, as every HAR has", plain.get("log") if isinstance(plain, dict) else plain
        )
    log = HarNode(value=plain, path="", source=source).node("log")
    if "entries" not in log.value:
        raise field_error(source, "log.entries", "a list", None)
    return HarFile(source=source, entries=log.nodes("entries"), read_attachment=read_attachment)


def _read_beside(path: Path, name: str, field: str) -> bytes | None:
    attached = resolve_inside(path.parent, name, field)
    with _translate_errors(path):
        return read_file(attached, root=path.parent) if attached.is_file() else None


def _read_packed(
    path: Path, archive: zipfile.ZipFile, sizes: Mapping[str, int], name: str, _field: str
) -> bytes | None:
    if name not in sizes:
        return None
    require_size(sizes[name], MAX_ARCHIVE_FILE_BYTES, f"{path}/{name}")
    with _translate_errors(path):
        return archive.read(name)
