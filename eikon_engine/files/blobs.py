"""Content-addressed storage of bodies, DOM snapshots and downloads.

A blob is the file `<sha256 of its content>.zst`: one zstd frame that states its content size.
"""

from __future__ import annotations

import hashlib
import os
import threading
from typing import TYPE_CHECKING, Final

import zstandard
from pydantic import Field

from eikon_engine.errors import OutputError, TraceError
from eikon_engine.files.limits import (
    BLOB_EXEMPT_BYTES,
    BLOBS_EXEMPT_BYTES,
    MAX_BLOB_BYTES,
    decompress,
    open_file,
    read_file,
    require_ratio,
    require_size,
)
from eikon_engine.files.models import FileModel
from eikon_engine.files.writing import make_folders, open_new_file, write_advice

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

COMPRESSION_LEVEL: Final = 3
_FRAME_HEADER_BYTES: Final = 18
"""Maximum size of the header of a frame (RFC 8878, 3.1.1.1)."""


class BlobRef(FileModel):
    """A reference to a blob by the digest of its content."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    """Digest of the uncompressed content, lower-case hex."""
    size: int = Field(ge=0)
    """Length of the uncompressed content in bytes."""


def blob_ref(data: bytes) -> BlobRef:
    """Return the reference of a content."""
    return BlobRef(sha256=hashlib.sha256(data).hexdigest(), size=len(data))


class BlobStore:
    """Store blobs in one folder, each under its digest."""

    def __init__(self, folder: Path) -> None:
        """Use `folder`; it is created with the first blob. Blobs are only read inside the folder that has it."""
        self.folder = folder

    def path(self, ref: BlobRef) -> Path:
        """Return the path of a blob."""
        return self.folder / f"{ref.sha256}.zst"

    def ref_of_file(self, path: Path) -> BlobRef:
        """Return the reference of a blob file in this folder.

        Raises:
            TraceError: the file is not a blob, or its name does not match its content.
        """
        try:
            with open_file(path, root=self.folder.parent) as file:
                size = zstandard.get_frame_parameters(file.read(_FRAME_HEADER_BYTES)).content_size
            ref = BlobRef(sha256=path.name.removesuffix(".zst"), size=size)
        except (OSError, ValueError, zstandard.ZstdError) as error:
            message = (
                f"{path}: expected a blob, got {str(error).splitlines()[0]}; restore the bundle or record it again"
            )
            raise TraceError(message, code="attachment-corrupt") from error
        return ref

    def has(self, ref: BlobRef) -> bool:
        """Return whether a blob exists, without reading it."""
        return self.path(ref).is_file()

    def put(self, data: bytes) -> BlobRef:
        """Store a content atomically, unless it is stored already.

        Raises:
            OutputError: the folder cannot be written.
            TooLargeError: the content is larger than what can be read again.
        """
        require_size(len(data), MAX_BLOB_BYTES, str(self.folder))
        ref = blob_ref(data)
        if not self.has(ref):
            packed = zstandard.ZstdCompressor(level=COMPRESSION_LEVEL, write_content_size=True).compress(data)
            try:
                _write_atomically(self.path(ref), packed)
            except OSError as error:
                message = f"{self.path(ref)}: cannot write the blob ({error.strerror}); {write_advice(error)}"
                raise OutputError(message) from error
        return ref

    def get(self, ref: BlobRef) -> bytes:
        """Read a blob and verify its digest.

        Raises:
            TraceError: the file is missing; the content does not match `ref`.
            TooLargeError: the content is larger than any recorded one.
        """
        require_size(ref.size, MAX_BLOB_BYTES, str(self.path(ref)))
        packed = self._read(ref)
        require_ratio(ref.size, len(packed), BLOB_EXEMPT_BYTES, str(self.path(ref)))
        data = decompress(packed, ref.size)
        if data is None:
            raise TraceError(
                self._corrupt(ref, f"it is not a zstd frame of {ref.size} bytes"), code="attachment-corrupt"
            )
        found = hashlib.sha256(data).hexdigest()
        if found != ref.sha256:
            raise TraceError(self._corrupt(ref, f"its content has the SHA-256 {found}"), code="attachment-corrupt")
        return data

    def require_ratio(self, refs: Collection[BlobRef]) -> None:
        """Check that all of these blobs together are not larger than recorded ones can be; each is in the store.

        Raises:
            TooLargeError: they are.
        """
        size = sum(ref.size for ref in refs)
        if size > BLOBS_EXEMPT_BYTES:
            packed_size = sum(self.path(ref).stat().st_size for ref in refs)
            require_ratio(size, packed_size, BLOBS_EXEMPT_BYTES, str(self.folder))

    def verify(self, ref: BlobRef) -> None:
        """Read a blob and verify its digest, without returning it.

        Raises:
            TraceError: the file is missing; the content does not match `ref`.
        """
        self.get(ref)

    def _read(self, ref: BlobRef) -> bytes:
        try:
            return read_file(self.path(ref), root=self.folder.parent, limit=MAX_BLOB_BYTES)
        except OSError as error:
            if not self.has(ref):
                message = f"{self.path(ref)}: the blob is missing; restore the bundle or record it again"
                raise TraceError(message, code="attachment-missing") from error
            raise TraceError(
                self._corrupt(ref, f"it cannot be read ({error.strerror})"), code="attachment-corrupt"
            ) from error

    def _corrupt(self, ref: BlobRef, found: str) -> str:
        return f"{self.path(ref)}: the blob is corrupt: {found}; restore the bundle or record it again"


def _write_atomically(path: Path, data: bytes) -> None:
    make_folders(path.parent)
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        with open_new_file(temporary) as file:
            file.write(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
