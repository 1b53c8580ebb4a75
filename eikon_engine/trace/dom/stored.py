"""Snapshots in the blob store of a bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.trace.dom.digest import snapshot_from_json, snapshot_json

if TYPE_CHECKING:
    from eikon_engine.trace.blobs import BlobRef, BlobStore
    from eikon_engine.trace.dom.tree import PageSnapshot


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
