"""Write a copy of a bundle with another trace; the bundle itself is never touched."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from eikon_engine.errors import OutputError, TraceError, UsageError
from eikon_engine.trace.bundle import demand_attachments
from eikon_engine.trace.bundle_path import inside
from eikon_engine.trace.certificate import CERTIFICATE_FILE
from eikon_engine.trace.journal import JOURNAL_FILE
from eikon_engine.trace.serializer import TRACE_FILE, trace_file, write_trace
from eikon_engine.trace.whole_file import cannot_write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.trace.execution import ExecutionTrace

LEFT_OUT: Final = frozenset({CERTIFICATE_FILE, JOURNAL_FILE, TRACE_FILE})
"""What is not copied: the certificate is one of other steps, and the trace is written anew."""


def write_changed_copy(
    source: Path, trace: ExecutionTrace, output: Path, *, leave_out: frozenset[str] = frozenset()
) -> None:
    """Copy the bundle at `source` (its folder, or its trace.json) to `output`, with `trace` and without certificate.

    The trace is written last: a copy that broke off is no bundle. Files with a name of `leave_out` are not copied.

    Raises:
        UsageError: the recording was cut off, or the copy would lie inside the bundle.
        OutputError: something is at `output` already, or it cannot be written.
        BundlePathError: a link leads out of the bundle.
        AttachmentMissingError: the trace refers to what the bundle does not have.
        TraceError: a file of the bundle cannot be read.
    """
    original = trace_file(source)
    root = original.parent
    if original.name == JOURNAL_FILE:
        message = f"{root}: the recording was cut off, and cannot be changed; record the mission again"
        raise UsageError(message)
    demand_attachments(root, trace)
    _demand_free(root, output)
    for relative in _files(root):
        if relative != Path(original.name) and str(relative) not in leave_out:
            _copy(inside(root, relative.as_posix(), "bundle"), output / relative)
    write_trace(trace, output / TRACE_FILE)


def _demand_free(root: Path, output: Path) -> None:
    try:
        within = output.resolve().is_relative_to(root.resolve())
        taken = output.is_symlink() or (output.exists() and (not output.is_dir() or any(output.iterdir())))
    except (OSError, RuntimeError, ValueError) as error:
        message = f"wanted a folder for the copy at {output}, found {error}; choose another one"
        raise OutputError(message) from error
    if within:
        message = f"wanted a folder for the copy outside of the bundle {root}, found {output}; choose another one"
        raise UsageError(message)
    if taken:
        message = f"{output}: wanted a new or empty folder for the copy, found something; choose another one"
        raise OutputError(message)


def _files(root: Path) -> Iterator[Path]:
    """Yield the files of a bundle in a fixed order, without following links to folders."""
    for folder, folders, names in os.walk(root, onerror=_refuse):
        folders.sort()
        here = Path(folder).relative_to(root)
        linked = [name for name in folders if (Path(folder) / name).is_symlink()]
        for name in sorted((*names, *linked)):
            if here != Path() or name not in LEFT_OUT:
                yield here / name


def _refuse(error: OSError) -> NoReturn:
    message = f"{error.filename}: the folder of the bundle cannot be read ({error.strerror}); restore the bundle"
    raise TraceError(message) from error


def _copy(path: Path, target: Path) -> None:
    try:
        mode = path.stat().st_mode
        source = path.open("rb") if stat.S_ISREG(mode) else None
    except OSError as error:
        message = f"{path}: the file of the bundle cannot be read ({error.strerror}); restore the bundle"
        raise TraceError(message) from error
    if source is None:
        message = f"{path}: wanted a file in the bundle, found something else, which cannot be copied; remove it"
        raise TraceError(message)
    with source:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                shutil.copyfileobj(source, file)
        except OSError as error:
            raise OutputError(cannot_write(target, error)) from error
