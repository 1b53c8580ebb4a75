"""Open a HAR file: JSON, bodies in files beside it or not, or both in a zip archive as Playwright writes them."""

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
from eikon_engine.trace.bundle_path import inside
from eikon_engine.trace.field_errors import field_error, syntax_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HAR_SUFFIX: Final = ".har"
ZIP_SUFFIX: Final = ".zip"
ZIP_MARK: Final = b"PK\3\4"
"""How an archive begins that has something in it."""
BROKEN: Final = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError)
"""What reading an archive raises: damaged, cut off, packed in an unknown way, encrypted."""

AttachmentReader: TypeAlias = "Callable[[str, str], bytes | None]"


@dataclass(frozen=True, slots=True, kw_only=True)
class HarFile:
    """The entries of a HAR, and its attached bodies."""

    source: str
    entries: tuple[HarNode, ...]
    read_attachment: AttachmentReader
    """Returns the content of a `_file`, None if it is not there; takes its name and where that stands."""


@contextmanager
def open_har(path: Path) -> Iterator[HarFile]:
    """Read a HAR; its attachments can be read until the end of the block.

    Raises:
        TraceMissingError: there is no file that can be read.
        TraceSyntaxError: it is no JSON, no whole archive, or an archive without a HAR.
        TraceFieldError: it is no HAR.
    """
    with _readable(path), ExitStack() as opened:
        archive = opened.enter_context(zipfile.ZipFile(path)) if zipfile.is_zipfile(path) else None
        data, source = (_plain(path), str(path)) if archive is None else _packed_har(path, archive)
        keep_open = opened.pop_all()
    with keep_open:
        yield _har(data, source, partial(_beside, path) if archive is None else partial(_packed, path, archive))


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Tell what reading a HAR or its archive runs into; for reading alone, as it takes any `RuntimeError` for that."""
    try:
        yield
    except OSError as error:
        message = (
            f"{path}: wanted a HAR file, found nothing that can be read ({error.strerror or error}); name another file"
        )
        raise TraceMissingError(message) from error
    except BROKEN as error:
        raise _no_archive(path, str(error)) from error


def _plain(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix.lower() == ZIP_SUFFIX or data.startswith(ZIP_MARK):
        raise _no_archive(path, "it has no directory of its files, so it is cut off or another kind of file")
    return data


def _packed_har(path: Path, archive: zipfile.ZipFile) -> tuple[bytes, str]:
    """Read the one HAR of an archive, and name it."""
    names = [name for name in archive.namelist() if name.endswith(HAR_SUFFIX)]
    if len(names) != 1:
        message = f"{path}: wanted an archive with one file *{HAR_SUFFIX}, found {len(names)}; pack one HAR"
        raise TraceSyntaxError(message)
    return archive.read(names[0]), f"{path}/{names[0]}"


def _no_archive(path: Path, problem: str) -> TraceSyntaxError:
    return TraceSyntaxError(f"{path}: no zip archive that can be read ({problem}); export the HAR again")


def _har(data: bytes, source: str, read_attachment: AttachmentReader) -> HarFile:
    try:
        plain = json.loads(data.decode("utf-8-sig"))
    except RecursionError as error:
        raise syntax_error("values nested too deep to read", source) from error
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


def _beside(path: Path, name: str, field: str) -> bytes | None:
    attached = inside(path.parent, name, field)
    with _readable(path):
        return attached.read_bytes() if attached.is_file() else None


def _packed(path: Path, archive: zipfile.ZipFile, name: str, _field: str) -> bytes | None:
    with _readable(path):
        return archive.read(name) if name in archive.namelist() else None
