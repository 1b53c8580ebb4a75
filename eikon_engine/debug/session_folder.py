"""The folders of debug sessions: where they are, what lies in one, and which of them still run."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pydantic import ValidationError

from eikon_engine.debug.session_file import SessionFile, read_session_file
from eikon_engine.debug.session_lock import is_held
from eikon_engine.debug.timeline import Timeline
from eikon_engine.errors import OutputError, SessionError, UsageError
from eikon_engine.outcome.event_log import EVENTS_FILE
from eikon_engine.trace.field_errors import trace_error
from eikon_engine.trace.whole_file import cannot_write, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

SESSIONS_DIR_NAME: Final = "EIKON_DEBUG_DIR"
"""Variable of the environment that names the folder of all sessions."""
PRIVATE: Final = 0o700
"""What a page shows is nobody else's business: pictures and storage of a session are readable for its user alone."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

SessionState: TypeAlias = Literal["running", "ended", "crashed"]
"""`ended`: somebody ended it. `crashed`: nobody did, and nobody runs it."""


@dataclass(frozen=True, slots=True)
class SessionFolder:
    """The files of one session."""

    root: Path

    @property
    def name(self) -> str:
        """Return the id of the session."""
        return self.root.name

    @property
    def session(self) -> Path:
        """Return where it stands what the session is about."""
        return self.root / "session.json"

    @property
    def events(self) -> Path:
        """Return where everything that happens is written."""
        return self.root / EVENTS_FILE

    @property
    def commands(self) -> Path:
        """Return where others write what the session is to do."""
        return self.root / "commands.jsonl"

    @property
    def vetting(self) -> Path:
        """Return the link to the socket on which a session that runs says what of a command may be written."""
        return self.root / "vetting"

    @property
    def timeline(self) -> Path:
        """Return where branches and checkpoints are listed."""
        return self.root / "timeline.json"

    @property
    def checkpoints(self) -> Path:
        """Return the folder of checkpoints."""
        return self.root / "checkpoints"

    @property
    def branches(self) -> Path:
        """Return the folder of the bundles of branches."""
        return self.root / "branches"

    @property
    def discarded(self) -> Path:
        """Return the folder of what was discarded, kept until the session is quit."""
        return self.root / "discarded"

    @property
    def lock(self) -> Path:
        """Return the file that the process of the session holds the lock of."""
        return self.root / ".lock"

    def read(self) -> SessionFile:
        """Read what the session is about.

        Raises:
            SessionError: it cannot be read.
        """
        return read_session_file(self.session)

    def runs(self) -> bool:
        """Say whether the process of the session lives."""
        return is_held(self.lock)

    def state(self) -> SessionState:
        """Say whether the session runs, or how it went.

        Raises:
            SessionError: its file cannot be read.
        """
        if self.runs():
            return "running"
        return "crashed" if self.read().ended_at is None else "ended"

    def read_timeline(self) -> Timeline:
        """Read the branches and checkpoints; at none of them a page waits, unless the session runs.

        Raises:
            SessionError: they cannot be read.
        """
        try:
            data = self.timeline.read_bytes()
        except OSError as error:
            message = f"{self.timeline}: wanted the timeline of a session, found {error.strerror}; restore the file"
            raise SessionError(message) from error
        try:
            timeline = Timeline.model_validate_json(data)
        except ValidationError as error:
            raise SessionError(str(trace_error(error, data, str(self.timeline)))) from error
        return timeline if self.runs() else timeline.with_parked(())

    def write_timeline(self, timeline: Timeline) -> None:
        """Write the branches and checkpoints, whole.

        Raises:
            OutputError: they cannot be written.
        """
        write_whole(self.timeline, timeline.model_dump_json(indent=1).encode() + b"\n")


def sessions_dir(chosen: Path | None, environ: Mapping[str, str]) -> Path:
    """Return the folder of all sessions: the chosen one, that of the environment, or the one of the user's state."""
    if chosen is not None:
        return chosen.absolute()
    named = environ.get(SESSIONS_DIR_NAME)
    if named:
        return Path(named).absolute()
    state = environ.get("XDG_STATE_HOME")
    home = Path(state) if state and Path(state).is_absolute() else Path.home() / ".local" / "state"
    return home / "eikon" / "debug"


def session_id(now: datetime, mark: str) -> str:
    """Return the id of a new session: `debug_20260123_131000_abc1`."""
    return f"debug_{now:%Y%m%d_%H%M%S}_{mark}"


def demand_name(name: str) -> str:
    """Return the id of a session that somebody chose.

    Raises:
        UsageError: it is no name of a folder.
    """
    if not _NAME.fullmatch(name):
        message = f"--session: wanted letters, digits, dots, dashes and underscores, up to 64, found {name!r}"
        raise UsageError(message)
    return name


@contextmanager
def private_files() -> Iterator[None]:
    """Have every file and folder that this process makes be for its user alone: copies of them are, too."""
    before = os.umask(0o777 & ~PRIVATE)
    try:
        yield
    finally:
        os.umask(before)


def demand_room(parent: Path, name: str | None) -> None:
    """Make sure that a session can have a folder, before anything is begun for it; nothing is written.

    Raises:
        UsageError: the id is taken.
        OutputError: the folder of all sessions is none, or cannot be written.
    """
    if name is not None and (parent / name).exists():
        raise _taken(parent / name)
    there = next(each for each in (parent, *parent.parents) if each.exists())
    if not there.is_dir():
        raise OutputError(f"--sessions-dir {parent}: wanted a folder, found the file {there}; choose another one")
    if not os.access(there, os.W_OK | os.X_OK):
        message = f"--sessions-dir {parent}: wanted a folder that can be written, found that {there} cannot"
        raise OutputError(f"{message}; choose another one")


def create_session_folder(parent: Path, name: str) -> SessionFolder:
    """Make the folder of a new session, for its user alone.

    Raises:
        UsageError: the id is taken.
        OutputError: it cannot be made.
    """
    demand_room(parent, name)
    folder = SessionFolder(parent / name)
    try:
        parent.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        folder.root.mkdir(mode=PRIVATE)
        folder.checkpoints.mkdir(mode=PRIVATE)
        folder.commands.touch(0o600, exist_ok=False)
    except FileExistsError as error:  # somebody was quicker
        raise _taken(folder.root) from error
    except OSError as error:
        raise OutputError(cannot_write(folder.root, error)) from error
    return folder


def _taken(root: Path) -> UsageError:
    return UsageError(f"--session {root.name}: wanted a new id, found one that is taken by {root}; choose another one")


def _is_session(folder: Path) -> bool:
    """Say whether a folder is one of a session, if only from its lock: its other files may be lost."""
    session = SessionFolder(folder)
    return session.session.is_file() or session.lock.is_file()


def session_folders(parent: Path) -> Iterator[SessionFolder]:
    """Yield the folders of the sessions, in the order in which they began."""
    try:
        names = sorted(entry.name for entry in parent.iterdir() if _is_session(entry))
    except FileNotFoundError:
        return
    except OSError as error:
        raise SessionError(f"{parent}: the sessions cannot be listed ({error.strerror}); check the folder") from error
    for name in names:
        yield SessionFolder(parent / name)
