"""Open a HAR file: JSON with inline or attached bodies, or a zip archive as written by Playwright."""

from __future__ import annotations

import json
import lzma
import zipfile
import zlib
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from eikon_engine.errors import TraceMissingError, TraceSyntaxError
from eikon_engine.network.har_node import HarNode
from eikon_engine.trace.bundle_path import resolve_inside
from eikon_engine.trace.field_errors import field_error, syntax_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HAR_SUFFIX: Final = ".har"
ZIP_SUFFIX: Final = ".zip"
ZIP_MAGIC: Final = b"PK\3\4"
"""Magic number of a zip archive that is not empty."""
ARCHIVE_ERRORS: Final = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError)
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
        TraceMissingError: the file cannot be read.
        TraceSyntaxError: the file is not JSON, or is a damaged archive or one without a HAR.
        TraceFieldError: the JSON is not a HAR.
    """
    with _translate_errors(path), ExitStack() as opened:
        archive = opened.enter_context(zipfile.ZipFile(path)) if zipfile.is_zipfile(path) else None
        data, source = (_read_plain(path), str(path)) if archive is None else _read_packed_har(path, archive)
        keep_open = opened.pop_all()
    with keep_open:
        yield _parse_har(
            data, source, partial(_read_beside, path) if archive is None else partial(_read_packed, path, archive)
        )


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    """Translate exceptions of reading a HAR or its archive. Use it for reads only, since it catches `RuntimeError`."""
    try:
        yield
    except OSError as error:
        message = f"{path}: cannot read the HAR file: {error.strerror or error}. Check the path."
        raise TraceMissingError(message) from error
    except ARCHIVE_ERRORS as error:
        raise _archive_error(path, str(error)) from error


def _read_plain(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix.lower() == ZIP_SUFFIX or data.startswith(ZIP_MAGIC):
        raise _archive_error(path, "it has no central directory, so it is truncated or not a zip file")
    return data


def _read_packed_har(path: Path, archive: zipfile.ZipFile) -> tuple[bytes, str]:
    """Read the only HAR of an archive; return its content and its name."""
    names = [name for name in archive.namelist() if name.endswith(HAR_SUFFIX)]
    if len(names) != 1:
        message = f"{path}: expected an archive with one *{HAR_SUFFIX} file, got {len(names)}. Pack one HAR."
        raise TraceSyntaxError(message)
    return archive.read(names[0]), f"{path}/{names[0]}"


def _archive_error(path: Path, problem: str) -> TraceSyntaxError:
    return TraceSyntaxError(f"{path}: not a readable zip archive: {problem}. Export the HAR again.")


def _parse_har(data: bytes, source: str, read_attachment: AttachmentReader) -> HarFile:
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
        return attached.read_bytes() if attached.is_file() else None


def _read_packed(path: Path, archive: zipfile.ZipFile, name: str, _field: str) -> bytes | None:
    with _translate_errors(path):
        return archive.read(name) if name in archive.namelist() else None
