"""The folders of debug sessions: location, layout, and whether a session is running."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pydantic import ValidationError

from eikon_engine.debug.session_file import SessionFile, read_session_file
from eikon_engine.debug.session_lock import is_locked
from eikon_engine.debug.timeline import Timeline
from eikon_engine.errors import OutputError, SessionError, UsageError
from eikon_engine.outcome.debug_events import MAIN_BRANCH
from eikon_engine.outcome.event_log import EVENTS_FILE
from eikon_engine.trace.bundle_path import resolve_inside
from eikon_engine.trace.field_errors import validation_error
from eikon_engine.trace.whole_file import write_atomically, write_error_message

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from eikon_engine.debug.timeline import Branch

SESSIONS_DIR_VARIABLE: Final = "EIKON_DEBUG_DIR"
"""Environment variable that sets the folder of all sessions."""
PRIVATE_MODE: Final = 0o700
"""Screenshots and storage of a session are readable for its user only."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

SessionState: TypeAlias = Literal["running", "ended", "crashed"]
"""`ended`: ended by the user. `is_dead`: its process ended without that."""


@dataclass(frozen=True, slots=True)
class SessionFolder:
    """The files of one session."""

    root: Path

    @property
    def name(self) -> str:
        """Return the id of the session."""
        return self.root.name

    @property
    def session_path(self) -> Path:
        """Return the path of the session's description."""
        return self.root / "session.json"

    @property
    def events_path(self) -> Path:
        """Return the path of the event log."""
        return self.root / EVENTS_FILE

    @property
    def commands_path(self) -> Path:
        """Return the path of the command file."""
        return self.root / "commands.jsonl"

    @property
    def redaction_socket(self) -> Path:
        """Return the link to the socket on which a running session redacts commands."""
        return self.root / "vetting"

    @property
    def timeline_path(self) -> Path:
        """Return the path of the list of branches and checkpoints."""
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
        """Return the folder of discarded steps, kept until the session quits."""
        return self.root / "discarded"

    @property
    def lock_path(self) -> Path:
        """Return the lock file that the session's process holds."""
        return self.root / ".lock"

    def read_session(self) -> SessionFile:
        """Read the session's description.

        Raises:
            SessionError: it cannot be read.
        """
        return read_session_file(self.session_path)

    def is_running(self) -> bool:
        """Return whether the session's process is alive."""
        return is_locked(self.lock_path)

    def state(self) -> SessionState:
        """Return whether the session is running, ended or crashed.

        Raises:
            SessionError: its file cannot be read.
        """
        if self.is_running():
            return "running"
        return "crashed" if self.read_session().ended_at is None else "ended"

    def read_timeline(self) -> Timeline:
        """Read the branches and checkpoints; contexts are parked only while the session runs.

        Raises:
            SessionError: they cannot be read.
        """
        try:
            data = self.timeline_path.read_bytes()
        except OSError as error:
            message = f"{self.timeline_path}: the timeline cannot be read ({error.strerror}); restore the file"
            raise SessionError(message) from error
        try:
            timeline = Timeline.model_validate_json(data)
        except ValidationError as error:
            raise SessionError(str(validation_error(error, data, str(self.timeline_path)))) from error
        return timeline if self.is_running() else timeline.with_parked(())

    def write_timeline(self, timeline: Timeline) -> None:
        """Write the branches and checkpoints atomically.

        Raises:
            OutputError: they cannot be written.
        """
        write_atomically(self.timeline_path, timeline.model_dump_json(indent=1).encode() + b"\n")


def branch_bundle_path(folder: SessionFolder, branch: Branch) -> Path:
    """Return the path of a branch's bundle: below the session, or, for `main`, the recording itself.

    Raises:
        BundlePathError: the path leaves the session folder.
    """
    if branch.name == MAIN_BRANCH:
        return folder.root / branch.bundle  # an absolute path stays as it is
    return resolve_inside(folder.root, branch.bundle, f"{folder.timeline_path}: bundle of {branch.name}")


def sessions_dir(chosen: Path | None, environ: Mapping[str, str]) -> Path:
    """Return the folder of all sessions: the given one, that of the environment, or the user's state folder."""
    if chosen is not None:
        return chosen.absolute()
    named = environ.get(SESSIONS_DIR_VARIABLE)
    if named:
        return Path(named).absolute()
    state = environ.get("XDG_STATE_HOME")
    home = Path(state) if state and Path(state).is_absolute() else Path.home() / ".local" / "state"
    return home / "eikon" / "debug"


def new_session_id(now: datetime, suffix: str) -> str:
    """Return the id of a new session: `debug_20260123_131000_abc1`."""
    return f"debug_{now:%Y%m%d_%H%M%S}_{suffix}"


def require_session_name(name: str) -> str:
    """Return a user-chosen session id.

    Raises:
        UsageError: not usable as a folder name.
    """
    if not _NAME.fullmatch(name):
        message = f"--session: expected up to 64 letters, digits, dots, dashes and underscores, got {name!r}"
        raise UsageError(message)
    return name


@contextmanager
def private_files() -> Iterator[None]:
    """Create all files and folders of this process readable for its user only, copies included."""
    before = os.umask(0o777 & ~PRIVATE_MODE)
    try:
        yield
    finally:
        os.umask(before)


def require_available(parent: Path, name: str | None) -> None:
    """Check that the folder of a session can be created, before anything is started; nothing is written.

    Raises:
        UsageError: the id is taken.
        OutputError: the folder of all sessions is not a folder, or not writable.
    """
    if name is not None and (parent / name).exists():
        raise _name_taken_error(parent / name)
    there = next(each for each in (parent, *parent.parents) if each.exists())
    if not there.is_dir():
        raise OutputError(f"--sessions-dir {parent}: expected a folder, got the file {there}; choose another one")
    if not os.access(there, os.W_OK | os.X_OK):
        message = f"--sessions-dir {parent}: expected a writable folder, but {there} is not writable"
        raise OutputError(f"{message}; choose another one")


def create_session_folder(parent: Path, name: str) -> SessionFolder:
    """Create the folder of a new session, readable for its user only.

    Raises:
        UsageError: the id is taken.
        OutputError: it cannot be created.
    """
    require_available(parent, name)
    folder = SessionFolder(parent / name)
    try:
        parent.mkdir(mode=PRIVATE_MODE, parents=True, exist_ok=True)
        folder.root.mkdir(mode=PRIVATE_MODE)
        folder.checkpoints.mkdir(mode=PRIVATE_MODE)
        folder.commands_path.touch(0o600, exist_ok=False)
    except FileExistsError as error:  # another process was faster
        raise _name_taken_error(folder.root) from error
    except OSError as error:
        raise OutputError(write_error_message(folder.root, error)) from error
    return folder


def _name_taken_error(root: Path) -> UsageError:
    return UsageError(f"--session {root.name}: the id is taken by {root}; choose another one")


def _is_session(folder: Path) -> bool:
    """Return whether a folder belongs to a session; its lock suffices, other files may be missing."""
    session = SessionFolder(folder)
    return session.session_path.is_file() or session.lock_path.is_file()


def list_session_folders(parent: Path) -> Iterator[SessionFolder]:
    """Yield the folders of all sessions, oldest first."""
    try:
        names = sorted(entry.name for entry in parent.iterdir() if _is_session(entry))
    except FileNotFoundError:
        return
    except OSError as error:
        raise SessionError(f"{parent}: the sessions cannot be listed ({error.strerror}); check the folder") from error
    for name in names:
        yield SessionFolder(parent / name)
