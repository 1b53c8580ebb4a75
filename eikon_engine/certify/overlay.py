"""Try changes to a bundle without writing into it."""

from __future__ import annotations

import hashlib

from eikon_engine.trace.blobs import BlobRef, BlobStore


class BlobsOnTop(BlobStore):
    """Keep new blobs in memory, on top of those of a folder."""

    def __init__(self, below: BlobStore) -> None:
        """Read what is not new from `below`."""
        super().__init__(below.folder)
        self._new: dict[BlobRef, bytes] = {}

    @property
    def new(self) -> tuple[bytes, ...]:
        """Return what is not in the folder yet."""
        return tuple(data for ref, data in self._new.items() if not super(BlobsOnTop, self).has(ref))

    def has(self, ref: BlobRef) -> bool:
        """Say whether a blob is here."""
        return ref in self._new or super().has(ref)

    def put(self, data: bytes) -> BlobRef:
        """Keep a content."""
        ref = BlobRef(sha256=hashlib.sha256(data).hexdigest(), size=len(data))
        self._new[ref] = data
        return ref

    def get(self, ref: BlobRef) -> bytes:
        """Return a content."""
        return self._new[ref] if ref in self._new else super().get(ref)
