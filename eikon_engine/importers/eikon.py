"""Import an Eikon trace of an older format version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ForeignFormatError
from eikon_engine.trace.execution import TRACE_VERSION
from eikon_engine.trace.trace_file import TRACE_FILE, find_trace_file, read_trace

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.importers.foreign_file import ForeignFile
    from eikon_engine.trace.execution import ExecutionTrace

_VERSION_FIELD: Final = "trace_version"


@dataclass(frozen=True, slots=True, kw_only=True)
class MigratedTrace:
    """A trace migrated to the current format."""

    trace: ExecutionTrace
    folder: Path
    """Folder of its files."""


def is_eikon_trace(file: ForeignFile) -> bool:
    """Whether a file is an Eikon trace, or the folder of one."""
    if file.archive is None and file.data is None:
        return (file.path / TRACE_FILE).is_file()
    return isinstance(file.data, dict) and _VERSION_FIELD in file.data


def import_eikon(file: ForeignFile) -> MigratedTrace:
    """Read and migrate a trace.

    Raises:
        ForeignFormatError: the file is an archive, or already has the current version.
        TraceError: the trace cannot be read, see `read_trace`.
    """
    if file.archive is not None:
        raise ForeignFormatError(f"{file.path}: expected a folder or its {TRACE_FILE}, got an archive. Unpack it.")
    trace = read_trace(file.path)
    if trace.migrated_from is None:
        message = f"{file.path}: the trace already has the current version {TRACE_VERSION}. Use it directly."
        raise ForeignFormatError(message)
    return MigratedTrace(trace=trace, folder=find_trace_file(file.path).parent)
