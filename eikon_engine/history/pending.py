"""Runs on their way to the database: a small file each, so that no database delays a verdict or loses a run.

The files are read when the history is opened next, by any process.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from eikon_engine.errors import TraceError
from eikon_engine.files.limits import read_document
from eikon_engine.files.state_folder import state_folder
from eikon_engine.files.writing import write_atomically
from eikon_engine.history.runs import HistoryRun

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HISTORY_VARIABLE: Final = "EIKON_HISTORY"
HISTORY_OFF: Final = "off"
DATABASE_FILE: Final = "runs.sqlite3"
_SUFFIX: Final = ".json"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPlace:
    """Where a history is."""

    url: str
    """URL of the database, as SQLAlchemy reads it; may contain a password."""
    file: Path | None
    """The file of an SQLite database; None for any other."""
    pending: Path
    """Folder of the runs that are not in it yet."""
    is_shared: bool
    """Whether it was chosen: then it is filled at the end of each replay, as others may read it."""


def find_history(home: Path, environ: Mapping[str, str]) -> HistoryPlace | None:
    """Return the place that EIKON_HISTORY names, a path or a URL, else one in the state folder; None if it is `off`."""
    chosen = environ.get(HISTORY_VARIABLE, "")
    if chosen == HISTORY_OFF:
        return None
    folder = state_folder(home, environ) / "history"
    if "://" in chosen:
        return HistoryPlace(url=chosen, file=None, pending=_pending_folder(folder, chosen), is_shared=True)
    file = Path(chosen).absolute() if chosen else folder / DATABASE_FILE
    url = f"sqlite:///{file}"
    return HistoryPlace(url=url, file=file, pending=_pending_folder(folder, url), is_shared=bool(chosen))


def _pending_folder(folder: Path, url: str) -> Path:
    """Return the folder of the runs for a database; its name contains no password."""
    return folder / f"pending-{hashlib.sha256(url.encode()).hexdigest()[:12]}"


def add_pending(place: HistoryPlace, run: HistoryRun) -> None:
    """Write a run that is stored later.

    Raises:
        OutputError: the folder cannot be written.
    """
    write_atomically(place.pending / f"{run.id}{_SUFFIX}", run.model_dump_json().encode())


def read_pending(place: HistoryPlace) -> Iterator[tuple[Path, HistoryRun | None]]:
    """Yield the files that wait, oldest name first, each with its run; None if it cannot be read."""
    for file in sorted(place.pending.glob(f"*{_SUFFIX}")):
        try:
            yield file, HistoryRun.model_validate_json(read_document(file, root=file.parent))
        except FileNotFoundError:
            continue  # another process has stored it
        except (OSError, TraceError, ValidationError):
            yield file, None
