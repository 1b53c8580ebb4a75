"""Checkpoints: a position in a mission, with the digests that prove it was reached again.

`checkpoints/<id>.json` is the checkpoint. Beside it lie `<id>.storage.json` (Playwright's storage state), `<id>.png`
and, in `dom/`, the documents as blobs. The page itself is not saved: it is restored by replaying the steps.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from pydantic import AwareDatetime, Field, ValidationError

from eikon_engine.debug.history import Evaluation, History, steps_sha256
from eikon_engine.debug.state_digest import Sha256, StateDigest
from eikon_engine.debug.timeline import CheckpointId
from eikon_engine.errors import CheckpointError, TraceError
from eikon_engine.files.blobs import BlobRef, BlobStore
from eikon_engine.files.limits import read_document, read_file
from eikon_engine.files.models import FileModel, validation_error
from eikon_engine.files.writing import write_atomically
from eikon_engine.outcome.debug_events import CheckpointReason
from eikon_engine.trace.bundle import store_snapshot
from eikon_engine.trace.observation import Observation

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from eikon_engine.debug.replay_context import ReplayContext
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import ExecutionTrace

CHECKPOINT_VERSION: Literal[1] = 1
DOM_FOLDER: Final = "dom"


class CheckpointPage(FileModel):
    """The document of one page."""

    page: int
    snapshot: BlobRef
    """Blob in `dom/` beside the checkpoint."""


class CheckpointState(FileModel):
    """What the pages showed at a checkpoint."""

    digests: StateDigest
    observation: Observation
    """After the last step, or after later manual JavaScript."""
    url: str
    """URL of the first open page; empty if no page is open."""
    storage_sha256: Sha256
    """Digest of `<id>.storage.json`."""
    pages: tuple[CheckpointPage, ...]
    screenshot_sha256: Sha256 | None
    """Digest of `<id>.png`; None if no page could be captured."""


class CheckpointFile(FileModel):
    """A checkpoint as stored in its file."""

    checkpoint_version: Literal[1] = CHECKPOINT_VERSION
    id: CheckpointId
    label: str
    """Empty if it has no label."""
    iteration: int = Field(ge=0)
    timestamp: AwareDatetime
    branch: str
    reason: CheckpointReason
    trace_id: str
    trace_sha256: Sha256
    """Digest of the steps before it, see `steps_sha256`."""
    evaluations: tuple[Evaluation, ...]
    """JavaScript that the user ran before it."""
    seen: tuple[StateDigest, ...]
    """Digests at the start and after each step before it."""
    state: CheckpointState
    sha256: Sha256
    """Digest over all other fields, as canonical JSON."""

    def history(self, bundle: Bundle) -> History:
        """Return the history that leads to it, on the bundle of its branch."""
        return History(bundle=bundle, evaluations=self.evaluations, digests=dict(enumerate(self.seen)))


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointInfo:
    """Label, branch, reason and time of a new checkpoint."""

    label: str = ""
    branch: str
    reason: CheckpointReason
    now: datetime


async def save_checkpoint(context: ReplayContext, folder: Path, info: CheckpointInfo) -> CheckpointFile:
    """Save the current state of a context as a checkpoint; the context is unchanged.

    Raises:
        OutputError: the folder cannot be written.
        BrowserDiedError: the browser crashed or was closed.
    """
    checkpoint_id = f"cp_{context.iteration}_{info.now:%Y%m%dT%H%M%S%f}"
    checkpoint = _with_digest(
        CheckpointFile(
            id=checkpoint_id,
            label=info.label,
            iteration=context.iteration,
            timestamp=info.now,
            branch=info.branch,
            reason=info.reason,
            trace_id=context.bundle.trace.id,
            trace_sha256=steps_sha256(context.bundle.trace, context.iteration),
            evaluations=context.evaluations,
            seen=tuple(context.observed.digests[iteration] for iteration in range(context.iteration + 1)),
            state=await _save_state(context, folder, checkpoint_id),
            sha256="0" * 64,
        )
    )
    write_atomically(checkpoint_path(folder, checkpoint_id), checkpoint.model_dump_json(indent=1).encode() + b"\n")
    return checkpoint


async def _save_state(context: ReplayContext, folder: Path, checkpoint_id: str) -> CheckpointState:
    """Write the files beside a checkpoint; return the state that refers to them."""
    captured = context.observed.last_observed
    observation = captured.observation
    first = observation.pages[0] if observation.pages else None
    storage = _to_json(await context.browser.storage_state())
    picture = None if first is None else await context.worker.screenshot(first.page)
    store = BlobStore(folder / DOM_FOLDER)
    pages = tuple(
        CheckpointPage(page=page, snapshot=store_snapshot(store, shown)) for page, shown in captured.snapshots.items()
    )
    write_atomically(storage_path(folder, checkpoint_id), storage)
    if picture is not None:
        write_atomically(screenshot_path(folder, checkpoint_id), picture)
    return CheckpointState(
        digests=context.observed.last_digest,
        observation=observation,
        url="" if first is None else first.url,
        storage_sha256=_sha256(storage),
        pages=pages,
        screenshot_sha256=None if picture is None else _sha256(picture),
    )


def read_checkpoint(path: Path, trace: ExecutionTrace | None = None) -> CheckpointFile:
    """Read a checkpoint and verify its integrity and, if a trace is given, that it belongs to that trace.

    Raises:
        CheckpointError: it is missing, was modified, or belongs to another trace.
    """
    checkpoint = _parse(path)
    if checkpoint.id != path.stem or _with_digest(checkpoint) != checkpoint:
        message = f"{path}: the checkpoint was modified after it was written; delete it"
        raise CheckpointError(message)
    if len(checkpoint.seen) != checkpoint.iteration + 1:
        message = f"{path}: expected {checkpoint.iteration + 1} state digests, got {len(checkpoint.seen)}; delete it"
        raise CheckpointError(message)
    _verify_files(path, checkpoint)
    if trace is not None and checkpoint.trace_sha256 != steps_sha256(trace, checkpoint.iteration):
        other = "another trace" if checkpoint.trace_id != trace.id else "different steps of it"
        message = f"{path}: expected a checkpoint of trace {trace.id}, got one of {other}; create a new checkpoint"
        raise CheckpointError(message)
    return checkpoint


def delete_checkpoint(folder: Path, checkpoint_id: str) -> None:
    """Delete a checkpoint and its files; documents that other checkpoints use are kept.

    Raises:
        CheckpointError: it cannot be deleted.
    """
    try:
        checkpoint_path(folder, checkpoint_id).unlink(missing_ok=True)
        storage_path(folder, checkpoint_id).unlink(missing_ok=True)
        screenshot_path(folder, checkpoint_id).unlink(missing_ok=True)
        used = _referenced_documents(folder)
        for blob in (folder / DOM_FOLDER).glob("*.zst"):
            if used is not None and blob.name.removesuffix(".zst") not in used:
                blob.unlink()
    except OSError as error:
        message = f"{folder}: checkpoint {checkpoint_id} cannot be deleted ({error.strerror}); check its permissions"
        raise CheckpointError(message) from error


def checkpoint_path(folder: Path, checkpoint_id: str) -> Path:
    """Return the path of a checkpoint."""
    return folder / f"{checkpoint_id}.json"


def storage_path(folder: Path, checkpoint_id: str) -> Path:
    """Return the path of its storage state."""
    return folder / f"{checkpoint_id}.storage.json"


def screenshot_path(folder: Path, checkpoint_id: str) -> Path:
    """Return the path of its screenshot."""
    return folder / f"{checkpoint_id}.png"


def _parse(path: Path) -> CheckpointFile:
    try:
        data = read_document(path, root=path.parent)
    except OSError as error:
        message = f"{path}: the checkpoint cannot be read ({error.strerror}); create a new one"
        raise CheckpointError(message) from error
    try:
        return CheckpointFile.model_validate_json(data)
    except ValidationError as error:
        raise CheckpointError(str(validation_error(error, data, str(path)))) from error


def _referenced_documents(folder: Path) -> set[str] | None:
    """Return the digests of all documents that checkpoints use; None if a checkpoint cannot be read."""
    paths = [path for path in folder.glob("cp_*.json") if not path.name.endswith(".storage.json")]
    try:
        return {each.snapshot.sha256 for path in paths for each in _parse(path).state.pages}
    except CheckpointError:
        return None


def _verify_files(path: Path, checkpoint: CheckpointFile) -> None:
    """Check that the files beside a checkpoint are unchanged."""
    state, folder = checkpoint.state, path.parent
    _verify_content(storage_path(folder, checkpoint.id), state.storage_sha256)
    if state.screenshot_sha256 is not None:
        _verify_content(screenshot_path(folder, checkpoint.id), state.screenshot_sha256)
    for each in state.pages:
        try:
            BlobStore(folder / DOM_FOLDER).verify(each.snapshot)
        except TraceError as error:
            message = f"{path}: a document is missing or modified, delete the checkpoint: {error.message}"
            raise CheckpointError(message) from error


def _verify_content(path: Path, sha256: str) -> None:
    try:
        found = _sha256(read_file(path, root=path.parent))
    except OSError as error:
        message = f"{path}: a file of the checkpoint cannot be read ({error.strerror}); delete the checkpoint"
        raise CheckpointError(message) from error
    if found != sha256:
        message = f"{path}: the file was modified after it was written; delete its checkpoint"
        raise CheckpointError(message)


def _with_digest(checkpoint: CheckpointFile) -> CheckpointFile:
    """Return a checkpoint with the digest over its content."""
    content = checkpoint.model_dump(mode="json", exclude={"sha256"})
    return checkpoint.model_copy(update={"sha256": _sha256(json.dumps(content, sort_keys=True).encode())})


def _to_json(value: object) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=False).encode() + b"\n"


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
