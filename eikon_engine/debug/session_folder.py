"""The folders of debug sessions: location, layout, lock, finding and listing them."""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pydantic import AwareDatetime, Field, ValidationError

from eikon_engine.debug.commands import BreakpointAdd
from eikon_engine.debug.timeline import Timeline
from eikon_engine.errors import OutputError, RequirementError, SessionEndedError, SessionError, UsageError
from eikon_engine.files.limits import read_document
from eikon_engine.files.locking import is_locked
from eikon_engine.files.models import FileModel, validation_error
from eikon_engine.files.paths import resolve_inside
from eikon_engine.files.state_folder import state_folder
from eikon_engine.files.writing import make_folder, make_folders, write_atomically, write_error_message
from eikon_engine.outcome.debug_events import MAIN_BRANCH
from eikon_engine.outcome.event_log import EVENTS_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    from eikon_engine.debug.timeline import Branch

SESSION_VERSION: Literal[1] = 1


class SessionFile(FileModel):
    """A debug session as it was started."""

    session_version: Literal[1] = SESSION_VERSION
    id: str
    mission_id: str
    mission_text: str
    trace: str
    """Absolute path of the bundle."""
    trace_id: str
    started_at: AwareDatetime
    ended_at: AwareDatetime | None = None
    """None while it runs, and if its process was killed or failed."""
    pid: int
    """Process id, informational; the lock shows whether it is alive."""
    headless: bool
    variables: dict[str, str] = Field(default_factory=dict)
    """Values of trace variables that were given."""
    timeout_ms: float | None = None
    """Deadline of every action, in page time; None uses the recorded ones."""
    browser_path: str | None = None
    """Browser that was requested; None if it was searched for."""
    breakpoints: tuple[BreakpointAdd, ...] = ()
    """Initial breakpoints, including the one on divergences; redacted."""
    checkpoint_interval: int
    keep_checkpoints: int
    """How many automatic checkpoints are retained."""
    parked: int
    from_session: str | None = None
    """Path of the session whose checkpoints it started with; None if there was none."""


def read_session_file(path: Path) -> SessionFile:
    """Read `session.json`.

    Raises:
        SessionError: it cannot be read, or is invalid.
    """
    try:
        data = read_document(path, root=path.parent)
    except OSError as error:
        raise SessionError(f"{path}: the session cannot be read ({error.strerror}); check the path") from error
    try:
        return SessionFile.model_validate_json(data)
    except ValidationError as error:
        raise SessionError(str(validation_error(error, data, str(path)))) from error


def write_session_file(path: Path, session: SessionFile) -> None:
    """Write `session.json` atomically.

    Raises:
        OutputError: it cannot be written.
    """
    write_atomically(path, session.model_dump_json(indent=1).encode() + b"\n")


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
        """Return the path of the log of commands."""
        return self.root / "commands.jsonl"

    @property
    def socket_link(self) -> Path:
        """Return the link to the socket on which a running session takes commands."""
        return self.root / "socket"

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
            data = read_document(self.timeline_path, root=self.timeline_path.parent)
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
    return state_folder(Path.home(), environ) / "debug"


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
    existing = next(each for each in (parent, *parent.parents) if each.exists())
    if not existing.is_dir():
        raise OutputError(f"--sessions-dir {parent}: expected a folder, got the file {existing}; choose another one")
    if not os.access(existing, os.W_OK | os.X_OK):
        message = f"--sessions-dir {parent}: expected a writable folder, but {existing} is not writable"
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
        make_folders(parent)
        make_folder(folder.root)
        make_folder(folder.checkpoints)
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


def find_running_session(parent: Path, name: str | None) -> SessionFolder:
    """Return the session with this name, or the only running one.

    Raises:
        RequirementError: no session has this name, or there are no sessions.
        SessionEndedError: it is not running.
        UsageError: several sessions are running, and no name was given.
    """
    if name is not None:
        found = _get_session(parent, name)
        if not found.is_running():
            raise session_ended_error(found)
        return found
    folders = tuple(list_session_folders(parent))
    running = tuple(folder for folder in folders if folder.is_running())
    match running:
        case (only,):
            return only
        case ():
            if folders:
                raise session_ended_error(folders[-1])
            raise RequirementError(_no_sessions_message(parent), code="session-missing")
        case _:
            found_names = " and ".join(folder.name for folder in running)
            message = f"several sessions are running: {found_names}; choose one with --session"
            raise UsageError(message, code="session-ambiguous")


def find_session(parent: Path, name: str | None) -> SessionFolder:
    """Return the session with this name, the only running one, or else the most recent.

    Raises:
        RequirementError: no session has this name, or there are no sessions.
        UsageError: several sessions are running, and no name was given.
    """
    if name is not None:
        return _get_session(parent, name)
    try:
        return find_running_session(parent, None)
    except SessionEndedError:
        return tuple(list_session_folders(parent))[-1]


def find_ended_session(parent: Path, name: str) -> SessionFolder:
    """Return a session that is not running.

    Raises:
        RequirementError: no session has this name.
        UsageError: it is still running.
    """
    found = _get_session(parent, name, option="--from-session")
    if found.is_running():
        raise UsageError(f"--from-session {name}: the session is still running; quit it first")
    return found


def _get_session(parent: Path, name: str, *, option: str = "--session") -> SessionFolder:
    names = [folder.name for folder in list_session_folders(parent)]
    if name in names:
        return SessionFolder(parent / name)
    if not names:
        raise RequirementError(_no_sessions_message(parent), code="session-missing")
    found = ", ".join(names[-3:])
    raise RequirementError(
        f"{option} {name}: no such session, the latest are {found}; run `eikon debug sessions`", code="session-missing"
    )


def _no_sessions_message(parent: Path) -> str:
    return f"{parent}: no debug sessions; start one with `eikon debug start --trace …`"


def session_ended_error(folder: SessionFolder) -> SessionEndedError:
    """Return the error for a session that is not running."""
    return SessionEndedError(
        f"session {folder.name} has {folder.state()}; its checkpoints can be used in a new one: "
        f"eikon debug start --from-session {folder.name}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSession:
    """One session of the list."""

    name: str
    state: SessionState | None
    """None if its files cannot be read."""
    session: SessionFile | None = None
    timeline: Timeline | None = None
    """None if it does not exist yet."""
    problem: str | None = None
    """What is wrong with its files."""


def list_sessions(parent: Path) -> tuple[ListedSession, ...]:
    """Return all sessions, including damaged ones.

    Raises:
        SessionError: the folder cannot be read.
    """
    return tuple(_read_listed(folder) for folder in list_session_folders(parent))


def render_sessions_json(sessions: Iterable[ListedSession]) -> str:
    """Return the list as a JSON array."""
    rows = [
        {
            "id": each.name,
            "state": each.state,
            "session": None if each.session is None else each.session.model_dump(mode="json"),
            "timeline": None if each.timeline is None else each.timeline.model_dump(mode="json"),
            "problem": each.problem,
        }
        for each in sessions
    ]
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def render_sessions(parent: Path, sessions: tuple[ListedSession, ...]) -> str:
    """Return the list as text, one line per session."""
    if not sessions:
        return f"no sessions in {parent}; start one with `eikon debug start --trace …`\n"
    return "".join(f"{_session_line(each)}\n" for each in sessions)


def _read_listed(folder: SessionFolder) -> ListedSession:
    try:
        session, state = folder.read_session(), folder.state()
    except SessionError as error:
        return ListedSession(name=folder.name, state=None, problem=error.message)
    try:
        timeline = folder.read_timeline() if folder.timeline_path.exists() else None
    except SessionError as error:
        return ListedSession(name=folder.name, state=state, session=session, problem=error.message)
    return ListedSession(name=folder.name, state=state, session=session, timeline=timeline)


def _session_line(each: ListedSession) -> str:
    if each.session is None:
        return f"{each.name}  unreadable: {each.problem}"
    where = ""
    if each.timeline is not None:
        active = each.timeline.active
        where = f", {active.name} at {active.iteration} of {active.step_count}"
    problem = f"; {each.problem}" if each.problem else ""
    return f"{each.name}  {each.state}{where}  {each.session.mission_id}: {each.session.mission_text}{problem}"
