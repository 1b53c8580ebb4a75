"""Checkpoints: a place in the mission with everything that proves that it was reached once more.

`checkpoints/<id>.json` is the checkpoint. Beside it lie `<id>.storage.json` (Playwright's storage state), `<id>.png`
and, in `dom/`, the documents as blobs. The page itself is in no file: it is reached by doing the steps again.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import AwareDatetime, Field, ValidationError

from eikon_engine.debug.state_digest import Sha256, StateDigest
from eikon_engine.debug.way import Evaluation, Way, trace_sha256
from eikon_engine.errors import CheckpointError, TraceError
from eikon_engine.outcome.debug_events import CheckpointReason
from eikon_engine.trace.blobs import BlobRef, BlobStore
from eikon_engine.trace.dom.stored import store_snapshot
from eikon_engine.trace.field_errors import trace_error
from eikon_engine.trace.observation import Observation
from eikon_engine.trace.record import Record
from eikon_engine.trace.whole_file import write_whole

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from eikon_engine.debug.line import Line
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import ExecutionTrace

CHECKPOINT_VERSION: Literal[1] = 1
DOM_FOLDER: Final = "dom"

CheckpointId = Annotated[str, Field(pattern=r"^cp_[0-9]+_[0-9]{8}T[0-9]{12}$")]


class KeptPage(Record):
    """The document of one page."""

    page: int
    snapshot: BlobRef
    """In `dom/` beside the checkpoint."""


class CheckpointState(Record):
    """What the pages showed there."""

    digests: StateDigest
    observation: Observation
    """After the last step, or after JavaScript that was run by hand since."""
    url: str
    """Of the first page that is open; empty if none is."""
    storage_sha256: Sha256
    """Of `<id>.storage.json`."""
    pages: tuple[KeptPage, ...]
    screenshot_sha256: Sha256 | None
    """Of `<id>.png`; None where no page could be painted."""


class SavedCheckpoint(Record):
    """One checkpoint as it lies in its file."""

    checkpoint_version: Literal[1] = CHECKPOINT_VERSION
    id: CheckpointId
    label: str
    """Empty if it has none."""
    iteration: int = Field(ge=0)
    timestamp: AwareDatetime
    branch: str
    reason: CheckpointReason
    trace_id: str
    trace_sha256: Sha256
    """Of the steps up to there, see `trace_sha256`."""
    evaluations: tuple[Evaluation, ...]
    """What was run by hand on the way."""
    seen: tuple[StateDigest, ...]
    """What the pages showed at the start, and after each step up to there."""
    state: CheckpointState
    sha256: Sha256
    """Over everything else, as canonical JSON."""

    def way(self, bundle: Bundle) -> Way:
        """Return what leads there once more, on the bundle of its branch."""
        return Way(bundle=bundle, evaluations=self.evaluations, seen=dict(enumerate(self.seen)))


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointName:
    """What a checkpoint is called, and why it is made."""

    label: str = ""
    branch: str
    reason: CheckpointReason
    now: datetime


async def make_checkpoint(line: Line, folder: Path, name: CheckpointName) -> SavedCheckpoint:
    """Write down where a line stands; the line is as it was.

    Raises:
        OutputError: the folder cannot be written.
        BrowserDiedError: the browser went away.
    """
    checkpoint_id = f"cp_{line.iteration}_{name.now:%Y%m%dT%H%M%S%f}"
    checkpoint = _sealed(
        SavedCheckpoint(
            id=checkpoint_id,
            label=name.label,
            iteration=line.iteration,
            timestamp=name.now,
            branch=name.branch,
            reason=name.reason,
            trace_id=line.bundle.trace.id,
            trace_sha256=trace_sha256(line.bundle.trace, line.iteration),
            evaluations=line.evaluations,
            seen=tuple(line.seen[iteration] for iteration in range(line.iteration + 1)),
            state=await _keep_state(line, folder, checkpoint_id),
            sha256="0" * 64,
        )
    )
    write_whole(checkpoint_file(folder, checkpoint_id), checkpoint.model_dump_json(indent=1).encode() + b"\n")
    return checkpoint


async def _keep_state(line: Line, folder: Path, checkpoint_id: str) -> CheckpointState:
    """Write what lies beside a checkpoint; return what the checkpoint says of it."""
    sight = line.sight
    seen = sight.observation
    first = seen.pages[0] if seen.pages else None
    storage = _json(await line.storage_state())
    picture = None if first is None else await line.worker.picture(first.page)
    store = BlobStore(folder / DOM_FOLDER)
    pages = tuple(KeptPage(page=page, snapshot=store_snapshot(store, shown)) for page, shown in sight.snapshots.items())
    write_whole(storage_file(folder, checkpoint_id), storage)
    if picture is not None:
        write_whole(screenshot_file(folder, checkpoint_id), picture)
    return CheckpointState(
        digests=line.state(),
        observation=seen,
        url="" if first is None else first.url,
        storage_sha256=_sha256(storage),
        pages=pages,
        screenshot_sha256=None if picture is None else _sha256(picture),
    )


def read_checkpoint(path: Path, trace: ExecutionTrace | None = None) -> SavedCheckpoint:
    """Read a checkpoint and prove that nothing of it was changed, and that it is one of this trace, if one is given.

    Raises:
        CheckpointError: it is not there, was changed, or belongs to another trace.
    """
    checkpoint = _parsed(path)
    if checkpoint.id != path.stem or _sealed(checkpoint) != checkpoint:
        message = f"{path}: wanted a checkpoint as it was written, found one that was changed by hand; delete it"
        raise CheckpointError(message)
    if len(checkpoint.seen) != checkpoint.iteration + 1:
        message = f"{path}: wanted digests of {checkpoint.iteration + 1} moments, found {len(checkpoint.seen)}"
        raise CheckpointError(message)
    _demand_files(path, checkpoint)
    if trace is not None and checkpoint.trace_sha256 != trace_sha256(trace, checkpoint.iteration):
        other = "another trace" if checkpoint.trace_id != trace.id else "other steps of this trace, which was changed"
        message = f"{path}: wanted a checkpoint of trace {trace.id}, found one of {other}; make a new one"
        raise CheckpointError(message)
    return checkpoint


def delete_checkpoint(folder: Path, checkpoint_id: str) -> None:
    """Delete a checkpoint with what lies beside it; documents that others have too are kept.

    Raises:
        CheckpointError: it cannot be deleted.
    """
    try:
        checkpoint_file(folder, checkpoint_id).unlink(missing_ok=True)
        storage_file(folder, checkpoint_id).unlink(missing_ok=True)
        screenshot_file(folder, checkpoint_id).unlink(missing_ok=True)
        used = _documents_in(folder)
        for blob in (folder / DOM_FOLDER).glob("*.zst"):
            if used is not None and blob.name.removesuffix(".zst") not in used:
                blob.unlink()
    except OSError as error:
        message = f"{folder}: checkpoint {checkpoint_id} cannot be deleted ({error.strerror}); check its permissions"
        raise CheckpointError(message) from error


def checkpoint_file(folder: Path, checkpoint_id: str) -> Path:
    """Return where a checkpoint lies."""
    return folder / f"{checkpoint_id}.json"


def storage_file(folder: Path, checkpoint_id: str) -> Path:
    """Return where its storage state lies."""
    return folder / f"{checkpoint_id}.storage.json"


def screenshot_file(folder: Path, checkpoint_id: str) -> Path:
    """Return where its picture lies."""
    return folder / f"{checkpoint_id}.png"


def _parsed(path: Path) -> SavedCheckpoint:
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"{path}: wanted a checkpoint, found {error.strerror}; make a new one"
        raise CheckpointError(message) from error
    try:
        return SavedCheckpoint.model_validate_json(data)
    except ValidationError as error:
        raise CheckpointError(str(trace_error(error, data, str(path)))) from error


def _documents_in(folder: Path) -> set[str] | None:
    """Name the documents of all checkpoints by their digests; None where a checkpoint does not tell its own."""
    paths = [path for path in folder.glob("cp_*.json") if not path.name.endswith(".storage.json")]
    try:
        return {each.snapshot.sha256 for path in paths for each in _parsed(path).state.pages}
    except CheckpointError:
        return None


def _demand_files(path: Path, checkpoint: SavedCheckpoint) -> None:
    """Prove that what lies beside a checkpoint is what was written with it."""
    state, folder = checkpoint.state, path.parent
    _demand_content(storage_file(folder, checkpoint.id), state.storage_sha256)
    if state.screenshot_sha256 is not None:
        _demand_content(screenshot_file(folder, checkpoint.id), state.screenshot_sha256)
    for each in state.pages:
        try:
            BlobStore(folder / DOM_FOLDER).verify(each.snapshot)
        except TraceError as error:
            message = f"{path}: a document of the checkpoint is lost or changed, delete it: {error.message}"
            raise CheckpointError(message) from error


def _demand_content(path: Path, sha256: str) -> None:
    try:
        found = _sha256(path.read_bytes())
    except OSError as error:
        message = f"{path}: wanted a file of a checkpoint, found {error.strerror}; delete the checkpoint"
        raise CheckpointError(message) from error
    if found != sha256:
        message = f"{path}: wanted the file as it was written, found a changed one; delete its checkpoint"
        raise CheckpointError(message)


def _sealed(checkpoint: SavedCheckpoint) -> SavedCheckpoint:
    """Return a checkpoint with the digest over itself."""
    content = checkpoint.model_dump(mode="json", exclude={"sha256"})
    return checkpoint.model_copy(update={"sha256": _sha256(json.dumps(content, sort_keys=True).encode())})


def _json(value: object) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=False).encode() + b"\n"


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
