"""An in-memory overlay over a blob store, to try changes without writing them."""

from __future__ import annotations

import hashlib

from eikon_engine.trace.blobs import BlobRef, BlobStore


class OverlayBlobStore(BlobStore):
    """Store new blobs in memory, on top of those in a folder."""

    def __init__(self, below: BlobStore) -> None:
        """Read other blobs from `below`."""
        super().__init__(below.folder)
        self._new: dict[BlobRef, bytes] = {}

    @property
    def new_blobs(self) -> tuple[bytes, ...]:
        """Return the blobs that are not in the folder yet."""
        return tuple(data for ref, data in self._new.items() if not super(OverlayBlobStore, self).has(ref))

    def has(self, ref: BlobRef) -> bool:
        """Return whether a blob exists in memory or in the folder."""
        return ref in self._new or super().has(ref)

    def put(self, data: bytes) -> BlobRef:
        """Store a blob in memory."""
        ref = BlobRef(sha256=hashlib.sha256(data).hexdigest(), size=len(data))
        self._new[ref] = data
        return ref

    def get(self, ref: BlobRef) -> bytes:
        """Return the content of a blob."""
        return self._new[ref] if ref in self._new else super().get(ref)
