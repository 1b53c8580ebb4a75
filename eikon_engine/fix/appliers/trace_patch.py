"""Apply patches to the trace of one recorded mission."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from eikon_engine.errors import PatchRejectedError, TraceError
from eikon_engine.fix.allowed_files import AllowedFiles
from eikon_engine.fix.appliers.file_changes import read_bytes, unified_diff, write_files
from eikon_engine.fix.models import AppliedFix, PatchFix
from eikon_engine.trace.certificate import CERTIFICATE_FILE
from eikon_engine.trace.patch import apply_patch
from eikon_engine.trace.serializer import TRACE_FILE, read_trace, serialize_trace

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.fix.models import Fix


@dataclass(frozen=True, slots=True)
class TracePatchApplier:
    """Change the trace of the bundle that is the only target; a certificate that no longer holds is removed."""

    name: ClassVar[str] = "trace_patch"
    needs_edits: ClassVar[bool] = False

    def apply(self, fix: Fix, tree: Path, targets: tuple[str, ...]) -> AppliedFix:
        """Apply a patch.

        Raises:
            PatchRejectedError: the targets are not one bundle, or the patch does not fit or changes nothing.
            ApplierFailedError: git failed.
            GitMissingError: git is not installed.
            OutputError: the trace cannot be written.
        """
        if not isinstance(fix, PatchFix):
            message = "fix: expected a patch of a trace, got a change to files. Use another applier."
            raise PatchRejectedError(message)
        if len(targets) != 1:
            message = f"fix: expected one bundle as target, got {len(targets)} targets. Name the folder of the bundle."
            raise PatchRejectedError(message)
        bounds = AllowedFiles(tree=tree, targets=targets)
        folder = targets[0].rstrip("/")
        trace_name = bounds.require(f"{folder}/{TRACE_FILE}")
        try:
            trace = read_trace(tree / trace_name)
            changed = apply_patch(trace, fix.patch)
        except TraceError as error:
            raise PatchRejectedError(f"fix: the patch does not fit {folder}: {error.message}") from error
        if changed == trace:
            message = f"{folder}: expected a change, but the trace already matches. Nothing was changed."
            raise PatchRejectedError(message)
        certificate = bounds.require(f"{folder}/{CERTIFICATE_FILE}")
        before = {name: read_bytes(tree, name) for name in (trace_name, certificate)}
        after = {trace_name: serialize_trace(changed), certificate: None}
        diff = unified_diff(before, after)
        write_files(tree, before, after)
        files = tuple(sorted(name for name in after if after[name] != before[name]))
        return AppliedFix(applier=self.name, files=files, diff=diff)
