"""Follow an `events.jsonl` while another process writes it."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import EventsError
from eikon_engine.outcome.read_events import EventsReader

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eikon_engine.outcome.read_events import ReadLine

POLL_S: Final = 0.1
"""How long nothing is asked where nothing new was found."""
_CHUNK: Final = 1 << 20


def follow_events(path: Path) -> Iterator[ReadLine]:
    """Yield the lines of a run as they are written, until its end; wait for a file that is not there yet.

    Raises:
        EventsError: a line is wrong, the file cannot be read, or another run took its place.
        EventsVersionError: the events are of a version that is not known.
    """
    nothing = threading.Event()
    while not path.exists():
        nothing.wait(POLL_S)
    reader = EventsReader(str(path))
    try:
        with path.open("rb", buffering=0) as file:
            while not reader.has_ended:
                data = file.read(_CHUNK)
                if data:
                    yield from reader.feed(data)
                    continue
                _demand_same(path, file.fileno(), file.tell())
                nothing.wait(POLL_S)
    except OSError as error:
        raise EventsError(f"{path}: the events cannot be read ({error.strerror}); check the path") from error


def _demand_same(path: Path, handle: int, read: int) -> None:
    """Refuse to wait for a file that nobody writes any more: a new run has put another one in its place."""
    mine = os.fstat(handle)
    try:
        there = path.stat()
    except FileNotFoundError:
        there = None
    if there is None or (there.st_ino, there.st_dev) != (mine.st_ino, mine.st_dev) or mine.st_size < read:
        raise EventsError(f"{path}: wanted more of the run that was followed, found that its file is gone; follow anew")
