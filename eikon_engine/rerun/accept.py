"""Let a bundle hold the new outputs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from eikon_engine.errors import UsageError
from eikon_engine.trace.certificate import CERTIFICATE_FILE
from eikon_engine.trace.patch import apply_patch
from eikon_engine.trace.serializer import TRACE_FILE, read_trace, trace_file, write_trace

if TYPE_CHECKING:
    from eikon_engine.rerun.report import BundleRerun


def accept(rerun: BundleRerun) -> BundleRerun:
    """Write the trace of a bundle with the new outputs in the place of the old one, as `eikon certify --accept` does.

    Raises:
        UsageError: the recording was cut off and has no `trace.json`.
        TraceError: the trace is not any more what was rerun.
        OutputError: it cannot be written.
    """
    if not rerun.patch.operations:
        return rerun
    path = trace_file(Path(rerun.path))
    if path.name != TRACE_FILE:
        message = f"{path.parent}: the recording was cut off, and cannot be changed; record the mission again"
        raise UsageError(message)
    write_trace(apply_patch(read_trace(path), rerun.patch), path)
    outdated = (path.parent / CERTIFICATE_FILE).is_file()
    return rerun.model_copy(update={"accepted": True, "certificate_outdated": outdated})
