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
    """Keep a snapshot under the digest of its canonical JSON."""
    return store.put(snapshot_json(snapshot))


def load_snapshot(store: BlobStore, ref: BlobRef) -> PageSnapshot:
    """Read a snapshot back, and prove that it is the one that was stored.

    Raises:
        AttachmentMissingError: it is not there.
        AttachmentCorruptError: its content is another one.
    """
    return snapshot_from_json(store.get(ref))


def load_page(store: BlobStore, page: PageObservation) -> PageSnapshot | None:
    """Read the snapshot of an observed page, and prove that it shows what was observed; None if none was kept.

    Raises:
        AttachmentMissingError: it is not there.
        AttachmentCorruptError: it is the snapshot of something else.
    """
    if page.snapshot is None:
        return None
    snapshot = load_snapshot(store, page.snapshot)
    shown = [(frame.path, frame_digest(frame)) for frame in snapshot.frames]
    if shown != [(frame.path, frame.digest) for frame in page.frames]:
        message = (
            f"{store.path(page.snapshot)}: wanted the DOM that was observed at {page.url}, found another one; "
            "restore the bundle or record it again"
        )
        raise AttachmentCorruptError(message)
    return snapshot
