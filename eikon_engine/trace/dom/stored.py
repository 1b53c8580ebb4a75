"""Snapshots in the blob store of a bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.errors import AttachmentCorruptError
from eikon_engine.trace.dom.digest import frame_digest, snapshot_from_json, snapshot_json

if TYPE_CHECKING:
    from eikon_engine.trace.blobs import BlobRef, BlobStore
    from eikon_engine.trace.dom.tree import PageSnapshot
    from eikon_engine.trace.observation import PageObservation


def store_snapshot(store: BlobStore, snapshot: PageSnapshot) -> BlobRef:
    """Store a snapshot under the digest of its canonical JSON."""
    return store.put(snapshot_json(snapshot))


def load_snapshot(store: BlobStore, ref: BlobRef) -> PageSnapshot:
    """Load a snapshot and verify its digest.

    Raises:
        AttachmentMissingError: the blob is missing.
        AttachmentCorruptError: the content does not match the digest.
    """
    return snapshot_from_json(store.get(ref))


def load_page(store: BlobStore, page: PageObservation) -> PageSnapshot | None:
    """Load the snapshot of an observed page and check that it matches the observation; None if none was stored.

    Raises:
        AttachmentMissingError: the blob is missing.
        AttachmentCorruptError: the snapshot shows a different document.
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
        raise AttachmentCorruptError(message)
    return snapshot
