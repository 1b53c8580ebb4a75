"""Read a trace of an older version of our own format, to be written in the current one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ForeignFormatError
from eikon_engine.trace.execution import TRACE_VERSION
from eikon_engine.trace.serializer import TRACE_FILE, read_trace, trace_file

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.importers.foreign_file import ForeignFile
    from eikon_engine.trace.execution import ExecutionTrace

_VERSION: Final = "trace_version"


@dataclass(frozen=True, slots=True, kw_only=True)
class OlderTrace:
    """A trace that was brought up to date."""

    trace: ExecutionTrace
    folder: Path
    """Where its files lie."""


def looks_like_eikon(file: ForeignFile) -> bool:
    """Recognize a trace of ours, or the folder around it."""
    if file.archive is None and file.data is None:
        return (file.path / TRACE_FILE).is_file()
    return isinstance(file.data, dict) and _VERSION in file.data


def read_eikon(file: ForeignFile) -> OlderTrace:
    """Read a trace by its migrations.

    Raises:
        ForeignFormatError: it is an archive, or of the current version already.
        TraceError: it cannot be read, see `read_trace`.
    """
    if file.archive is not None:
        raise ForeignFormatError(f"{file.path}: wanted a folder or its {TRACE_FILE}, found an archive; unpack it")
    trace = read_trace(file.path)
    if trace.migrated_from is None:
        message = (
            f"{file.path}: wanted an older version of a trace, found the current one, {TRACE_VERSION}; use it as it is"
        )
        raise ForeignFormatError(message)
    return OlderTrace(trace=trace, folder=trace_file(file.path).parent)
