"""The bundle, the folder of a trace and its files: open, verify and copy it, store and load snapshots."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NoReturn, TypeAlias

from eikon_engine.dom.digest import frame_digest, snapshot_from_json, snapshot_json
from eikon_engine.errors import BundlePathError, OutputError, TraceError, UsageError
from eikon_engine.files.blobs import BlobRef, BlobStore
from eikon_engine.files.limits import parse_json, read_document
from eikon_engine.files.paths import resolve_inside
from eikon_engine.files.writing import copy_file, write_error_message
from eikon_engine.trace.accepted import ACCEPTED_FILE
from eikon_engine.trace.actions import Drop, ReadValue, SetInputFiles
from eikon_engine.trace.certificate import CERTIFICATE_FILE, LAST_CERTIFICATION_FILE
from eikon_engine.trace.trace_file import JOURNAL_FILE, TRACE_FILE, find_trace_file, read_trace, write_trace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eikon_engine.dom.tree import PageSnapshot
    from eikon_engine.trace.execution import ActionTrace, Artifact, ExecutionTrace, StoredPage, SubgoalTrace
    from eikon_engine.trace.observation import PageObservation

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
    file: Path | None = None
    """File of the trace if it is not named as in a bundle, such as an older trace; None otherwise."""

    @property
    def name(self) -> str:
        """Return the path that names the bundle in messages: its folder, or the file of its trace."""
        return str(self.root if self.file is None else self.file)

    def verify(self) -> None:
        """Read every blob the trace refers to and verify its digest.

        Raises:
            TraceError: a blob is missing; the content of a blob does not match its digest.
        """
        for blob in dict.fromkeys((each.store, each.ref) for each in blob_references(self.trace)):
            store, ref = blob
            (self.dom if store == DOM_FOLDER else self.files).verify(ref)

    def has_start_storage(self) -> bool:
        """Return whether the mission started with cookies or stored items, such as those of a session."""
        start = self.trace.start
        if start.session_storage is not None:
            return True
        if start.storage_state is None:
            return False
        try:
            state = parse_json(
                read_document(resolve_inside(self.root, start.storage_state, "start.storage_state"), root=self.root)
            )
        except (OSError, ValueError):
            return True  # what it has is unknown
        return isinstance(state, dict) and bool(state.get("cookies") or state.get("origins"))


@dataclass(frozen=True, slots=True)
class PathReference:
    """A field of the trace that refers to a file or folder of the bundle."""

    field: str
    path: str
    kind: PathKind


@dataclass(frozen=True, slots=True)
class BlobReference:
    """A field of the trace that refers to a blob."""

    field: str
    store: str
    ref: BlobRef


def open_bundle(path: Path) -> Bundle:
    """Read the trace at `path` (a bundle folder or its trace.json) and check that the files it refers to exist.

    Missing artifacts of a migrated trace become warnings of the trace: they are for people, replays do not need them.

    Raises:
        TraceError: the trace cannot be read, see `read_trace`; a file the trace refers to is missing.
        BundlePathError: a path in the trace points outside the bundle.
    """
    file = find_trace_file(path)
    root = file.parent
    trace = read_trace(path)
    lost = require_attachments(root, trace)
    if lost:
        trace = trace.model_copy(update={"warnings": (*trace.warnings, *lost)})
    return Bundle(
        root=root,
        trace=trace,
        dom=BlobStore(root / DOM_FOLDER),
        files=BlobStore(root / FILES_FOLDER),
        file=None if file.name in {TRACE_FILE, JOURNAL_FILE} else file,
    )


def bundle_without_files(trace: ExecutionTrace) -> Bundle:
    """Return the bundle of a trace that is no file, such as one that a program made.

    Raises:
        UsageError: the trace refers to files, which are in its folder.
    """
    named = [each.field for each in path_references(trace)] + [each.field for each in blob_references(trace)]
    if named:
        message = f"expected a trace without files, got one with {named[0]}; pass the path of its bundle"
        raise UsageError(message)
    return Bundle(root=Path(), trace=trace, dom=BlobStore(Path(DOM_FOLDER)), files=BlobStore(Path(FILES_FOLDER)))


def require_attachments(root: Path, trace: ExecutionTrace) -> tuple[str, ...]:
    """Check that the files a trace refers to exist in its bundle; return a message for each missing optional one.

    Raises:
        BundlePathError: a path in the trace points outside the bundle.
        TraceError: a required file is missing.
    """
    lost = _check_paths(root, trace)
    _check_blobs(root, trace)
    return lost


def _check_paths(root: Path, trace: ExecutionTrace) -> tuple[str, ...]:
    lost = []
    for use in path_references(trace):
        if _exists(resolve_inside(root, use.path, use.field), use.kind):
            continue
        if use.kind != "artifact" or trace.migrated_from is None:
            raise TraceError(_missing_message(use.field, use.path), code="attachment-missing")
        lost.append(f"{use.field}: {use.path} is missing from the bundle")
    return tuple(lost)


def _exists(path: Path, kind: PathKind) -> bool:
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return kind == "artifact" or (stat.S_ISDIR(mode) if kind == "folder" else stat.S_ISREG(mode))


def _check_blobs(root: Path, trace: ExecutionTrace) -> None:
    seen: dict[tuple[str, str], int] = {}
    own = {store: _regular_files(root, store) for store in (DOM_FOLDER, FILES_FOLDER)}
    for use in blob_references(trace):
        if (use.store, use.ref.sha256) in seen:
            continue
        seen[use.store, use.ref.sha256] = use.ref.size
        name = f"{use.ref.sha256}.zst"
        if name in own[use.store]:
            continue
        relative = f"{use.store}/{name}"
        resolve_inside(root, relative, use.field)
        if not BlobStore(root / use.store).has(use.ref):
            raise TraceError(_missing_message(use.field, relative), code="attachment-missing")
    for store in (DOM_FOLDER, FILES_FOLDER):
        blobs = BlobStore(root / store)
        blobs.require_ratio(
            [BlobRef(sha256=sha256, size=size) for (place, sha256), size in seen.items() if place == store]
        )


def _regular_files(root: Path, store: str) -> frozenset[str]:
    """Return the names of the regular files in a folder of the bundle, links excluded; empty if it cannot be read."""
    try:
        with os.scandir(resolve_inside(root, store)) as entries:
            return frozenset([entry.name for entry in entries if entry.is_file(follow_symlinks=False)])
    except (BundlePathError, OSError):
        return frozenset()


def _missing_message(field: str, relative: str) -> str:
    return f"{field}: expected {relative} in the bundle, got nothing; restore the file or record the mission again"


def path_references(trace: ExecutionTrace) -> Iterator[PathReference]:
    """Yield the fields of a trace that refer to a file or folder of its bundle, other than blobs."""
    if trace.start.storage_state is not None:
        yield PathReference("start.storage_state", trace.start.storage_state, "file")
    if trace.start.session_storage is not None:
        yield PathReference("start.session_storage", trace.start.session_storage, "file")
    if trace.network is not None:
        yield PathReference("network.folder", trace.network.folder, "folder")
    yield from _artifacts(trace.artifacts, "artifacts")
    for where, action in _actions(trace):
        yield from _artifacts(action.artifacts, f"{where}.artifacts")
        yield from _stored_page(action.stored_page, where)
    for place, subgoal in _subgoals(trace):
        for number, skill in enumerate(subgoal.skills_used):
            yield from _stored_page(skill.stored_page, f"{place}.skills_used[{number}]")


def _stored_page(page: StoredPage | None, where: str) -> Iterator[PathReference]:
    if page is not None:
        yield PathReference(f"{where}.stored_page.path", page.path, "file")


def _artifacts(artifacts: Iterable[Artifact], where: str) -> Iterator[PathReference]:
    for number, artifact in enumerate(artifacts):
        yield PathReference(f"{where}[{number}].path", artifact.path, "artifact")


def blob_references(trace: ExecutionTrace) -> Iterator[BlobReference]:
    """Yield the fields of a trace that refer to a blob."""
    for where, action in _actions(trace):
        if isinstance(action.action, Drop | SetInputFiles):
            for number, file in enumerate(action.action.files):
                yield BlobReference(f"{where}.action.files[{number}].content", FILES_FOLDER, file.content)
        yield from _read_references(where, action)
        for number, page in enumerate(action.observation.pages if action.observation else ()):
            if page.snapshot is not None:
                yield BlobReference(f"{where}.observation.pages[{number}].snapshot", DOM_FOLDER, page.snapshot)
    for place, subgoal in _subgoals(trace):
        for number, skill in enumerate(subgoal.skills_used):
            if skill.source is not None:
                yield BlobReference(f"{place}.skills_used[{number}].source.snapshot", DOM_FOLDER, skill.source.snapshot)


def _read_references(where: str, action: ActionTrace) -> Iterator[BlobReference]:
    for field in ("value", "received"):
        read = getattr(action.action, field, None)
        if isinstance(read, ReadValue) and read.long is not None:
            yield BlobReference(f"{where}.action.{field}.long", FILES_FOLDER, read.long)


def _actions(trace: ExecutionTrace) -> Iterator[tuple[str, ActionTrace]]:
    for place, subgoal in _subgoals(trace):
        for number, action in enumerate(subgoal.actions_taken):
            yield f"{place}.actions_taken[{number}]", action


def _subgoals(trace: ExecutionTrace) -> Iterator[tuple[str, SubgoalTrace]]:
    for number, subgoal in enumerate(trace.subgoal_traces):
        yield f"subgoal_traces[{number}]", subgoal


def store_snapshot(store: BlobStore, snapshot: PageSnapshot) -> BlobRef:
    """Store a snapshot under the digest of its canonical JSON."""
    return store.put(snapshot_json(snapshot))


def load_snapshot(store: BlobStore, ref: BlobRef) -> PageSnapshot:
    """Load a snapshot and verify its digest.

    Raises:
        TraceError: the blob is missing; the content does not match the digest.
    """
    return snapshot_from_json(store.get(ref))


def load_page(store: BlobStore, page: PageObservation) -> PageSnapshot | None:
    """Load the snapshot of an observed page and check that it matches the observation; None if none was stored.

    Raises:
        TraceError: the blob is missing; the snapshot shows a different document.
    """
    if page.snapshot is None:
        return None
    snapshot = load_snapshot(store, page.snapshot)
    shown = [(frame.path, frame_digest(frame)) for frame in snapshot.frames]
    if shown != [(frame.path, frame.digest) for frame in page.frames]:
        message = (
            f"{store.path(page.snapshot)}: expected the DOM observed at {page.url}, got a different one; "
            "restore the bundle or record it again"
        )
        raise TraceError(message, code="attachment-corrupt")
    return snapshot


NOT_COPIED: Final = frozenset({ACCEPTED_FILE, LAST_CERTIFICATION_FILE, CERTIFICATE_FILE, JOURNAL_FILE, TRACE_FILE})
"""Files that are not copied: the trace is rewritten, and certificate and accepted baselines do not apply to it."""


def copy_bundle(source: Path, trace: ExecutionTrace, output: Path, *, exclude: frozenset[str] = frozenset()) -> None:
    """Copy the bundle at `source` (its folder, or its trace.json) to `output`, with `trace` and without certificate.

    The trace is written last, so an interrupted copy is not a bundle. Files named in `leave_out` are not copied.

    Raises:
        UsageError: the recording is unfinished, or the copy would be inside the bundle.
        OutputError: `output` is not empty or cannot be written.
        BundlePathError: a link points outside the bundle.
        TraceError: a file that the trace refers to is missing; a file of the bundle cannot be read.
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
            copy_file(source, target)
        except OSError as error:
            raise OutputError(write_error_message(target, error)) from error
