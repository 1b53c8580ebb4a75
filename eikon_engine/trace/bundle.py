"""The bundle: the folder of a trace and of the files it refers to."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from eikon_engine.errors import AttachmentMissingError, BundlePathError
from eikon_engine.trace.actions import SetInputFiles
from eikon_engine.trace.blobs import BlobRef, BlobStore
from eikon_engine.trace.bundle_path import resolve_inside
from eikon_engine.trace.serializer import find_trace_file, read_trace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from eikon_engine.trace.execution import ActionTrace, Artifact, ExecutionTrace, SubgoalTrace

DOM_FOLDER: Final = "dom"
FILES_FOLDER: Final = "files"

PathKind: TypeAlias = Literal["file", "folder", "artifact"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A trace and its attachments."""

    root: Path
    trace: ExecutionTrace
    dom: BlobStore
    """DOM snapshots."""
    files: BlobStore
    """Files for upload fields."""

    def verify(self) -> None:
        """Read every blob the trace refers to and verify its digest.

        Raises:
            AttachmentMissingError: a blob is missing.
            AttachmentCorruptError: the content of a blob does not match its digest.
        """
        for blob in dict.fromkeys((each.store, each.ref) for each in _blob_references(self.trace)):
            store, ref = blob
            (self.dom if store == DOM_FOLDER else self.files).verify(ref)


@dataclass(frozen=True, slots=True)
class _PathReference:
    """A field of the trace that refers to a file or folder of the bundle."""

    field: str
    path: str
    kind: PathKind


@dataclass(frozen=True, slots=True)
class _BlobReference:
    """A field of the trace that refers to a blob."""

    field: str
    store: str
    ref: BlobRef


def open_bundle(path: Path) -> Bundle:
    """Read the trace at `path` (a bundle folder or its trace.json) and check that the files it refers to exist.

    Missing artifacts of a migrated trace become warnings of the trace: they are for people, replays do not need them.

    Raises:
        TraceError: the trace cannot be read, see `read_trace`.
        BundlePathError: a path in the trace points outside the bundle.
        AttachmentMissingError: a file the trace refers to is missing.
    """
    root = find_trace_file(path).parent
    trace = read_trace(path)
    lost = require_attachments(root, trace)
    if lost:
        trace = trace.model_copy(update={"warnings": (*trace.warnings, *lost)})
    return Bundle(root=root, trace=trace, dom=BlobStore(root / DOM_FOLDER), files=BlobStore(root / FILES_FOLDER))


def require_attachments(root: Path, trace: ExecutionTrace) -> tuple[str, ...]:
    """Check that the files a trace refers to exist in its bundle; return a message for each missing optional one.

    Raises:
        BundlePathError: a path in the trace points outside the bundle.
        AttachmentMissingError: a required file is missing.
    """
    lost = _check_paths(root, trace)
    _check_blobs(root, trace)
    return lost


def _check_paths(root: Path, trace: ExecutionTrace) -> tuple[str, ...]:
    lost = []
    for use in _path_references(trace):
        if _exists(resolve_inside(root, use.path, use.field), use.kind):
            continue
        if use.kind != "artifact" or trace.migrated_from is None:
            raise AttachmentMissingError(_missing_message(use.field, use.path))
        lost.append(f"{use.field}: {use.path} is missing from the bundle")
    return tuple(lost)


def _exists(path: Path, kind: PathKind) -> bool:
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return kind == "artifact" or (stat.S_ISDIR(mode) if kind == "folder" else stat.S_ISREG(mode))


def _check_blobs(root: Path, trace: ExecutionTrace) -> None:
    seen: set[tuple[str, str]] = set()
    own = {store: _regular_files(root, store) for store in (DOM_FOLDER, FILES_FOLDER)}
    for use in _blob_references(trace):
        if (use.store, use.ref.sha256) in seen:
            continue
        seen.add((use.store, use.ref.sha256))
        name = f"{use.ref.sha256}.zst"
        if name in own[use.store]:
            continue
        relative = f"{use.store}/{name}"
        resolve_inside(root, relative, use.field)
        if not BlobStore(root / use.store).has(use.ref):
            raise AttachmentMissingError(_missing_message(use.field, relative))


def _regular_files(root: Path, store: str) -> frozenset[str]:
    """Return the names of the regular files in a folder of the bundle, links excluded; empty if it cannot be read."""
    try:
        with os.scandir(resolve_inside(root, store)) as entries:
            return frozenset([entry.name for entry in entries if entry.is_file(follow_symlinks=False)])
    except (BundlePathError, OSError):
        return frozenset()


def _missing_message(field: str, relative: str) -> str:
    return f"{field}: expected {relative} in the bundle, got nothing; restore the file or record the mission again"


def _path_references(trace: ExecutionTrace) -> Iterator[_PathReference]:
    if trace.start.storage_state is not None:
        yield _PathReference("start.storage_state", trace.start.storage_state, "file")
    if trace.start.session_storage is not None:
        yield _PathReference("start.session_storage", trace.start.session_storage, "file")
    if trace.network is not None:
        yield _PathReference("network.folder", trace.network.folder, "folder")
    yield from _artifacts(trace.artifacts, "artifacts")
    for where, action in _actions(trace):
        yield from _artifacts(action.artifacts, f"{where}.artifacts")


def _artifacts(artifacts: Iterable[Artifact], where: str) -> Iterator[_PathReference]:
    for number, artifact in enumerate(artifacts):
        yield _PathReference(f"{where}[{number}].path", artifact.path, "artifact")


def _blob_references(trace: ExecutionTrace) -> Iterator[_BlobReference]:
    for where, action in _actions(trace):
        if isinstance(action.action, SetInputFiles):
            for number, file in enumerate(action.action.files):
                yield _BlobReference(f"{where}.action.files[{number}].content", FILES_FOLDER, file.content)
        for number, page in enumerate(action.observation.pages if action.observation else ()):
            if page.snapshot is not None:
                yield _BlobReference(f"{where}.observation.pages[{number}].snapshot", DOM_FOLDER, page.snapshot)
    for place, subgoal in _subgoals(trace):
        for number, skill in enumerate(subgoal.skills_used):
            if skill.source is not None:
                yield _BlobReference(
                    f"{place}.skills_used[{number}].source.snapshot", DOM_FOLDER, skill.source.snapshot
                )


def _actions(trace: ExecutionTrace) -> Iterator[tuple[str, ActionTrace]]:
    for place, subgoal in _subgoals(trace):
        for number, action in enumerate(subgoal.actions_taken):
            yield f"{place}.actions_taken[{number}]", action


def _subgoals(trace: ExecutionTrace) -> Iterator[tuple[str, SubgoalTrace]]:
    for number, subgoal in enumerate(trace.subgoal_traces):
        yield f"subgoal_traces[{number}]", subgoal
