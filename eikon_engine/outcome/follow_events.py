"""Follow an `events.jsonl` while another process appends to it."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import EventsError
from eikon_engine.outcome.read_events import EventsParser

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eikon_engine.outcome.read_events import ParsedLine

POLL_INTERVAL_S: Final = 0.1
"""Seconds between two reads when there is no new data."""
_CHUNK_SIZE: Final = 1 << 20


def follow_events(path: Path) -> Iterator[ParsedLine]:
    """Yield the lines of a run as they are written, until its end; wait for a file that does not exist yet.

    Raises:
        EventsError: a line is invalid, the file cannot be read, or it was replaced.
        EventsVersionError: the version of the events is not supported.
    """
    nothing = threading.Event()
    while not path.exists():
        nothing.wait(POLL_INTERVAL_S)
    reader = EventsParser(str(path))
    try:
        with path.open("rb", buffering=0) as file:
            while not reader.has_ended:
                data = file.read(_CHUNK_SIZE)
                if data:
                    yield from reader.feed(data)
                    continue
                _require_same_file(path, file.fileno(), file.tell())
                nothing.wait(POLL_INTERVAL_S)
    except OSError as error:
        raise EventsError(f"{path}: cannot read events: {error.strerror}. Check the path.") from error


def _require_same_file(path: Path, handle: int, read: int) -> None:
    """Raise if the open file was removed, truncated or replaced by a new run, since nothing will be appended to it."""
    mine = os.fstat(handle)
    try:
        there = path.stat()
    except FileNotFoundError:
        there = None
    if there is None or (there.st_ino, there.st_dev) != (mine.st_ino, mine.st_dev) or mine.st_size < read:
        raise EventsError(f"{path}: the file was removed or replaced while following it. Start again.")
