"""Accept the new outputs of a rerun into the bundle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from eikon_engine.errors import UsageError
from eikon_engine.trace.certificate import CERTIFICATE_FILE
from eikon_engine.trace.patch import apply_patch
from eikon_engine.trace.serializer import TRACE_FILE, find_trace_file, read_trace, write_trace

if TYPE_CHECKING:
    from eikon_engine.rerun.report import BundleRerun


def accept_outputs(rerun: BundleRerun) -> BundleRerun:
    """Apply the patch of a rerun and rewrite the trace, as `eikon certify --accept` does.

    Raises:
        UsageError: the recording was interrupted and has no `trace.json`.
        TraceError: the trace changed since the rerun.
        OutputError: the trace cannot be written.
    """
    if not rerun.patch.operations:
        return rerun
    path = find_trace_file(Path(rerun.path))
    if path.name != TRACE_FILE:
        message = f"{path.parent}: the recording was interrupted and cannot be changed. Record the mission again."
        raise UsageError(message)
    write_trace(apply_patch(read_trace(path), rerun.patch), path)
    outdated = (path.parent / CERTIFICATE_FILE).is_file()
    return rerun.model_copy(update={"accepted": True, "certificate_outdated": outdated})
