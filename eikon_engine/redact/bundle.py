"""Rewrite the files of a bundle without the known secrets."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eikon_engine.completions.folder import RESPONSES_FOLDER
from eikon_engine.completions.rewrite import redact_responses
from eikon_engine.redact.network import rewrite_network
from eikon_engine.trace.blobs import BlobRef, BlobStore
from eikon_engine.trace.bundle import DOM_FOLDER, FILES_FOLDER
from eikon_engine.trace.bundle_path import resolve_inside
from eikon_engine.trace.dom import frame_digest, map_strings
from eikon_engine.trace.dom.stored import load_snapshot, store_snapshot
from eikon_engine.trace.execution import ExecutionTrace
from eikon_engine.trace.journal import JOURNAL_FILE
from eikon_engine.trace.serializer import TRACE_FILE, read_trace, write_trace
from eikon_engine.trace.whole_file import write_atomically

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.redact.found import SecretDetector
    from eikon_engine.trace.observation import Observation
    from eikon_engine.trace.redaction import Redactor


@dataclass(slots=True)
class Renames:
    """New names of what changed: blobs, digests of documents and storage, request keys."""

    texts: dict[str, str] = field(default_factory=dict)
    blobs: dict[BlobRef, BlobRef] = field(default_factory=dict)
    detector: SecretDetector | None = None
    """Replaces values in headers and cookies in place; None if that is done already."""

    def add_blob(self, old: BlobRef, new: BlobRef) -> None:
        """Store the new content address of a blob."""
        self.blobs[old] = new
        self.texts[old.sha256] = new.sha256

    def current_ref(self, ref: BlobRef | None) -> BlobRef | None:
        """Return the current reference of a blob."""
        return None if ref is None else self.blobs.get(ref, ref)


def redact_bundle(
    root: Path, redactor: Redactor, digests: Mapping[str, str], detector: SecretDetector | None = None
) -> bool:
    """Rewrite everything that contains a known secret; return whether anything changed.

    `found` also replaces values in headers and cookies in place, which recordings do themselves. `changed_digests` maps written
    digests and keys to their new values. Files are written atomically, and blobs before the files that refer to them;
    unreferenced blobs are removed last.

    Raises:
        TraceError: the bundle cannot be read.
        ResponseFolderError: recorded responses cannot be read.
        OutputError: a file cannot be written.
    """
    trace = read_trace(root)
    renaming = Renames(texts=dict(digests), detector=detector)
    rewrite_blobs(BlobStore(root / FILES_FOLDER), redactor, renaming)
    is_changed = False
    if trace.network is not None:
        is_changed = rewrite_network(resolve_inside(root, trace.network.folder, "network.folder"), redactor, renaming)
    _rewrite_documents(BlobStore(root / DOM_FOLDER), redactor, renaming)
    is_changed = _rewrite_start_state(root, trace, redactor, detector) or is_changed
    clean = redact_trace(trace, redactor, renaming)
    if clean != trace or not (root / TRACE_FILE).exists():
        write_trace(clean, root / TRACE_FILE)
        (root / JOURNAL_FILE).unlink(missing_ok=True)
        is_changed = True
    _remove_replaced_blobs(root, trace, renaming)
    is_changed = (
        redact_responses(resolve_inside(root, RESPONSES_FOLDER, RESPONSES_FOLDER), redactor.redact_text) or is_changed
    )
    return is_changed or bool(renaming.blobs)


def rewrite_blobs(store: BlobStore, redactor: Redactor, renaming: Renames) -> None:
    """Store a redacted copy of each blob that contains a secret; the original stays until it is unreferenced."""
    for ref in _blob_refs(store):
        data = store.get(ref)
        clean = redactor.redact_bytes(data)
        if clean != data:
            renaming.add_blob(ref, store.put(clean))


def redact_trace(trace: ExecutionTrace, redactor: Redactor, renaming: Renames) -> ExecutionTrace:
    """Return the trace without known secrets and with current names."""
    plain = trace.model_dump(mode="json", exclude={"redaction"})
    clean = _rewrite_value(plain, redactor, renaming)
    if clean == plain:
        return trace
    found = ExecutionTrace.model_validate_json(json.dumps(clean))
    subgoals = tuple(
        subgoal.model_copy(
            update={
                "actions_taken": tuple(
                    action.model_copy(update={"observation": _sort_observation(action.observation)})
                    for action in subgoal.actions_taken
                )
            }
        )
        for subgoal in found.subgoal_traces
    )
    return found.model_copy(update={"subgoal_traces": subgoals, "redaction": trace.redaction})


def _rewrite_documents(store: BlobStore, redactor: Redactor, renaming: Renames) -> None:
    for ref in _blob_refs(store):
        snapshot = load_snapshot(store, ref)
        clean = map_strings(snapshot, lambda text: renaming.texts.get(text) or redactor.redact_text(text))
        if clean is snapshot:
            continue
        renaming.add_blob(ref, store_snapshot(store, clean))
        for old, new in zip(snapshot.frames, clean.frames, strict=True):
            renaming.texts[frame_digest(old)] = frame_digest(new)


def _rewrite_start_state(root: Path, trace: ExecutionTrace, redactor: Redactor, found: SecretDetector | None) -> bool:
    """Rewrite the stored start state."""
    is_changed = False
    for name, relative in (
        ("start.storage_state", trace.start.storage_state),
        ("start.session_storage", trace.start.session_storage),
    ):
        if relative is None:
            continue
        path = resolve_inside(root, relative, name)
        plain: JsonValue = json.loads(path.read_bytes())
        clean = redactor.redact_json(plain if found is None else _redact_cookies(plain, redactor, found))
        if clean != plain:
            write_atomically(path, json.dumps(clean, indent=1, ensure_ascii=False).encode())
            is_changed = True
    return is_changed


def _redact_cookies(state: JsonValue, redactor: Redactor, found: SecretDetector) -> JsonValue:
    """Replace httpOnly cookies of a storage state."""
    cookies = state.get("cookies") if isinstance(state, dict) else None
    if not isinstance(state, dict) or not isinstance(cookies, list):
        return state
    return {**state, "cookies": [_redact_cookie(each, redactor, found) for each in cookies]}


def _redact_cookie(cookie: JsonValue, redactor: Redactor, found: SecretDetector) -> JsonValue:
    if not isinstance(cookie, dict) or not isinstance(cookie.get("value"), str):
        return cookie
    name, value, is_hidden = str(cookie.get("name")), str(cookie["value"]), bool(cookie.get("httpOnly"))
    return {**cookie, "value": found.redact_cookie(name, value, redactor.redact_text, is_http_only=is_hidden)}


def _remove_replaced_blobs(root: Path, trace: ExecutionTrace, renaming: Renames) -> None:
    """Delete replaced blobs, unless another blob was rewritten to the same content."""
    stores = [BlobStore(root / DOM_FOLDER), BlobStore(root / FILES_FOLDER)]
    if trace.network is not None:
        stores.append(BlobStore(resolve_inside(root, trace.network.folder, "network.folder") / "blobs"))
    current = set(renaming.blobs.values())
    for store in stores:
        for ref in renaming.blobs.keys() - current:
            store.path(ref).unlink(missing_ok=True)


def _blob_refs(store: BlobStore) -> tuple[BlobRef, ...]:
    """Return the references of all blobs of a store."""
    return (
        tuple(store.ref_of_file(path) for path in sorted(store.folder.glob("*.zst"))) if store.folder.is_dir() else ()
    )


def _rewrite_value(value: JsonValue, redactor: Redactor, renaming: Renames) -> JsonValue:
    match value:
        case str():
            return renaming.texts.get(value) or redactor.redact_text(value)
        case list():
            return [_rewrite_value(each, redactor, renaming) for each in value]
        case {"sha256": str(sha256), "size": int(size), **rest} if not rest:
            ref = BlobRef(sha256=sha256, size=size)
            return renaming.blobs.get(ref, ref).model_dump(mode="json")
        case dict():
            return {redactor.redact_text(key): _rewrite_value(each, redactor, renaming) for key, each in value.items()}
        case _:
            return value


def _sort_observation(observation: Observation | None) -> Observation | None:
    """Restore the order of lists that are sorted by renamed values."""
    if observation is None:
        return None
    storage = observation.storage
    return observation.model_copy(
        update={
            "requests": tuple(sorted(observation.requests)),
            "storage": None if storage is None else tuple(sorted(storage, key=lambda each: each.sort_key)),
        }
    )
