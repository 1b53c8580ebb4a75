"""Append exchanges to a recorded network as they complete. What a killed process leaves can be read."""

from __future__ import annotations

from os import SEEK_END
from typing import TYPE_CHECKING

from eikon_engine.errors import OutputError
from eikon_engine.network.places import UsedNumbers
from eikon_engine.network.store import BLOBS_NAME, INDEX_NAME, IndexWriter, read_network, unwritable_message
from eikon_engine.trace.blobs import BlobStore

if TYPE_CHECKING:
    from pathlib import Path


class NetworkAppender(IndexWriter):
    """Append to an existing recording; not safe for several threads or processes."""

    def __init__(self, folder: Path) -> None:
        """Open the index in `folder`; a truncated last line is removed first.

        Raises:
            TraceError: the recording cannot be read.
            OutputError: the recording cannot be written.
        """
        recording = read_network(folder)
        self._path = folder / INDEX_NAME
        self._blobs = BlobStore(folder / BLOBS_NAME)
        self._places = UsedNumbers()
        for exchange in recording.exchanges:
            self._places.claim_exchange(exchange, str(self._path))
        for event in recording.sockets:
            self._places.claim_event(event, str(self._path))
        try:
            self._index = self._path.open("r+b")
            *lines, rest = self._index.read().split(b"\n")
            if rest and len(recording.exchanges) > len(lines):
                self._index.write(b"\n")  # the line is complete except for its line break
            elif rest:
                self._index.seek(-len(rest), SEEK_END)
                self._index.truncate()
        except OSError as error:
            raise OutputError(unwritable_message(self._path, error)) from error
