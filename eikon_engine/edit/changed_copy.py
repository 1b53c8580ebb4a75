"""Write a copy of a bundle with a changed trace; the original is never modified."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from eikon_engine.errors import OutputError, TraceError, UsageError
from eikon_engine.trace.bundle import require_attachments
from eikon_engine.trace.bundle_path import resolve_inside
from eikon_engine.trace.certificate import CERTIFICATE_FILE
from eikon_engine.trace.journal import JOURNAL_FILE
from eikon_engine.trace.serializer import TRACE_FILE, find_trace_file, write_trace
from eikon_engine.trace.whole_file import write_error_message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.trace.execution import ExecutionTrace

NOT_COPIED: Final = frozenset({CERTIFICATE_FILE, JOURNAL_FILE, TRACE_FILE})
"""Files that are not copied: the trace is rewritten, and the certificate does not apply to it."""


def copy_bundle(source: Path, trace: ExecutionTrace, output: Path, *, exclude: frozenset[str] = frozenset()) -> None:
    """Copy the bundle at `source` (its folder, or its trace.json) to `output`, with `trace` and without certificate.

    The trace is written last, so an interrupted copy is not a bundle. Files named in `leave_out` are not copied.

    Raises:
        UsageError: the recording is unfinished, or the copy would be inside the bundle.
        OutputError: `output` is not empty or cannot be written.
        BundlePathError: a link points outside the bundle.
        AttachmentMissingError: a file that the trace refers to is missing.
        TraceError: a file of the bundle cannot be read.
    """
    original = find_trace_file(source)
    root = original.parent
    if original.name == JOURNAL_FILE:
        message = f"{root}: the recording is unfinished and cannot be changed; record the mission again"
        raise UsageError(message)
    require_attachments(root, trace)
    _require_free(root, output)
    for relative in _bundle_files(root):
        if relative != Path(original.name) and str(relative) not in exclude:
            _copy_file(resolve_inside(root, relative.as_posix(), "bundle"), output / relative)
    write_trace(trace, output / TRACE_FILE)


def _require_free(root: Path, output: Path) -> None:
    try:
        within = output.resolve().is_relative_to(root.resolve())
        taken = output.is_symlink() or (output.exists() and (not output.is_dir() or any(output.iterdir())))
    except (OSError, RuntimeError, ValueError) as error:
        message = f"expected a folder for the copy at {output}, got {error}; choose another one"
        raise OutputError(message) from error
    if within:
        message = f"expected a folder for the copy outside the bundle {root}, got {output}; choose another one"
        raise UsageError(message)
    if taken:
        message = f"{output}: expected a new or empty folder for the copy, got existing files; choose another one"
        raise OutputError(message)


def _bundle_files(root: Path) -> Iterator[Path]:
    """Yield the files of a bundle in a fixed order, without following links to folders."""
    for folder, folders, names in os.walk(root, onerror=_raise_unreadable):
        folders.sort()
        here = Path(folder).relative_to(root)
        linked = [name for name in folders if (Path(folder) / name).is_symlink()]
        for name in sorted((*names, *linked)):
            if here != Path() or name not in NOT_COPIED:
                yield here / name


def _raise_unreadable(error: OSError) -> NoReturn:
    message = f"{error.filename}: cannot read the folder of the bundle ({error.strerror}); restore the bundle"
    raise TraceError(message) from error


def _copy_file(path: Path, target: Path) -> None:
    try:
        mode = path.stat().st_mode
        source = path.open("rb") if stat.S_ISREG(mode) else None
    except OSError as error:
        message = f"{path}: cannot read the file of the bundle ({error.strerror}); restore the bundle"
        raise TraceError(message) from error
    if source is None:
        message = f"{path}: expected a regular file in the bundle, got something else; remove it"
        raise TraceError(message)
    with source:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                shutil.copyfileobj(source, file)
        except OSError as error:
            raise OutputError(write_error_message(target, error)) from error
