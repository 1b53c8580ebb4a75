"""Add exchanges to a recorded network as they end; a process killed at any moment leaves a part that reads back."""

from __future__ import annotations

from os import SEEK_END
from typing import TYPE_CHECKING, Self

from eikon_engine.errors import OutputError
from eikon_engine.network.places import Places
from eikon_engine.network.store import BLOBS_NAME, INDEX_NAME, demand_blobs, read_network, unwritable
from eikon_engine.trace.blobs import BlobRef, BlobStore

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from eikon_engine.network.exchange import Exchange


class NetworkAppender:
    """Write behind what a recording has; mutable, for one thread and one process."""

    def __init__(self, folder: Path) -> None:
        """Open the index in `folder`; a last line that breaks off is taken away first.

        Raises:
            TraceError: the recording cannot be read.
            OutputError: it cannot be written.
        """
        recording = read_network(folder)
        self._path = folder / INDEX_NAME
        self._blobs = BlobStore(folder / BLOBS_NAME)
        self._places = Places()
        for exchange in recording.exchanges:
            self._places.claim_exchange(exchange, str(self._path))
        for event in recording.sockets:
            self._places.claim_event(event, str(self._path))
        try:
            self._index = self._path.open("r+b")
            *lines, rest = self._index.read().split(b"\n")
            if rest and len(recording.exchanges) > len(lines):
                self._index.write(b"\n")  # whole, but for its end
            elif rest:
                self._index.seek(-len(rest), SEEK_END)
                self._index.truncate()
        except OSError as error:
            raise OutputError(unwritable(self._path, error)) from error

    def write_blob(self, data: bytes) -> BlobRef:
        """Store a body, before the exchange that names it.

        Raises:
            OutputError: the folder cannot be written.
        """
        return self._blobs.put(data)

    def append(self, exchange: Exchange) -> None:
        """Write one exchange and flush it.

        Raises:
            AttachmentMissingError: a body was not written before.
            TraceFieldError: the place of the exchange is taken.
            OutputError: the index cannot be written.
        """
        demand_blobs(exchange, self._blobs, str(self._path))
        self._places.claim_exchange(exchange, str(self._path))
        try:
            self._index.write(exchange.model_dump_json().encode() + b"\n")
            self._index.flush()
        except OSError as error:
            raise OutputError(unwritable(self._path, error)) from error

    def close(self) -> None:
        """End the index; a second call does nothing."""
        self._index.close()

    def __enter__(self) -> Self:
        """Return the appender itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the index."""
        self.close()
