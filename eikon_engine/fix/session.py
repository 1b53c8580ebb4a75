"""The session folder of one debug loop: everything it saw and did, readable at any moment.

session.json     what was asked for, and where the loop stands; written before each step
cycles/01/       stdout.txt, stderr.txt, junit.xml, cycle.json, answer.txt, changes.diff of one cycle
changes.diff     what the kept fixes come to, at the end
result.json      the `TaskResult`
summary.txt      the same for people
tree/, states.git    the copy in which tests run; taken away at the end
session.lock     locked as long as the process lives
ending.json, ending/    while the user's tree is changed; see `ending.py`
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pydantic import AwareDatetime, Field, ValidationError

from eikon_engine.errors import OutputError, SessionError
from eikon_engine.fix.known_secrets import KnownSecrets
from eikon_engine.fix.proposal import TextFix
from eikon_engine.trace.record import Record
from eikon_engine.trace.whole_file import cannot_write, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eikon_engine.fix.task_result import CycleRecord, TaskResult

SESSION_VERSION: Final = 1
SESSION_FILE: Final = "session.json"
RESULT_FILE: Final = "result.json"
SUMMARY_FILE: Final = "summary.txt"
DIFF_FILE: Final = "changes.diff"
PLACE_VARIABLE: Final = "EIKON_FIX_DIR"
_LOCK: Final = "session.lock"

SessionState: TypeAlias = Literal[
    "running", "writing", "success", "max_cycles", "error", "interrupted", "taken_back", "handed_over"
]


class SessionNote(Record):
    """What was asked for, and where the loop stands."""

    session_version: Literal[1] = SESSION_VERSION
    id: str
    state: SessionState
    """`writing` while the tree of the user is changed; a process that was killed leaves `running` or `writing` behind.
    The next command makes `taken_back` of `writing`, or `handed_over` where all files were in their places."""
    cycle: int = Field(default=0, ge=0)
    """The cycle it is in; 0 before the first one."""
    step: str | None = None
    """The task it is at."""
    begun_at: AwareDatetime
    tree: str
    """Root of the user's tree."""
    copy_root: str
    """Root of the copy."""
    command: str
    target_files: tuple[str, ...]
    max_cycles: int
    timeout_seconds: float
    applier: str
    keep: bool
    process: int
    """Id of the process of the loop."""


class Session:
    """Write a session folder."""

    def __init__(self, folder: Path, note: SessionNote) -> None:
        """Begin with a note; `hold_session` makes the folder."""
        self.folder = folder
        self._note = note
        self._secrets = KnownSecrets(os.environ, note.command)
        self._write_note()

    @property
    def note(self) -> SessionNote:
        """Return what the folder says now."""
        return self._note

    def stand(self, *, state: SessionState | None = None, cycle: int | None = None, step: str | None = None) -> None:
        """Say where the loop stands before it goes on."""
        changes = {
            "state": state or self._note.state,
            "cycle": self._note.cycle if cycle is None else cycle,
            "step": step,
        }
        self._note = self._note.model_copy(update=changes)
        self._write_note()

    def keep_cycle(self, record: CycleRecord) -> None:
        """Write what is known of a cycle so far."""
        folder = cycle_folder(record.cycle)
        self._write(f"{folder}/cycle.json", record.model_dump_json(indent=1))
        if isinstance(record.proposal, TextFix):
            self._write(f"{folder}/answer.txt", record.proposal.text)
        if record.application is not None:
            self._write(f"{folder}/{DIFF_FILE}", record.application.diff)

    def keep_diff(self, diff: str) -> None:
        """Write what the kept fixes come to; without any there is no file."""
        if diff:
            self._write(DIFF_FILE, diff)

    def conclude(self, result: TaskResult, summary: str) -> None:
        """Write how the loop ended."""
        self._write(RESULT_FILE, result.model_dump_json(indent=1))
        self._write(SUMMARY_FILE, summary)
        self.stand(state=result.notes.outcome)

    def _write_note(self) -> None:
        """Write where the loop stands; the places are as they are, since a change that is cut off is mended by them."""
        told = self._note.model_copy(update={"command": self._secrets.hide(self._note.command)})
        write_whole(self.folder / SESSION_FILE, told.model_dump_json(indent=1).encode(errors="surrogateescape"))

    def _write(self, name: str, text: str) -> None:
        """Write a file without secrets of the environment, but for differences, which have to fit the files."""
        told = text if name.endswith(DIFF_FILE) else self._secrets.hide(text)
        write_whole(self.folder / name, told.encode(errors="surrogateescape"))


def cycle_folder(cycle: int) -> str:
    """Name the folder of a cycle."""
    return f"cycles/{cycle:02d}"


def sessions_folder(home: Path, environ: Mapping[str, str]) -> Path:
    """Return the folder of all sessions: `EIKON_FIX_DIR`, else `eikon/fix` in the folder for the state of programs.

    Source: https://specifications.freedesktop.org/basedir-spec/latest/
    """
    chosen = environ.get(PLACE_VARIABLE)
    if chosen:
        return home / chosen
    state = Path(environ.get("XDG_STATE_HOME") or "")
    return (state if state.is_absolute() else home / ".local" / "state") / "eikon" / "fix"


@contextmanager
def hold_session(folder: Path) -> Iterator[None]:
    """Make a folder that is nobody else's, and hold its lock until the block or the process ends.

    Raises:
        OutputError: it cannot be made.
    """
    try:
        folder.mkdir(mode=0o700, parents=True)
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError as error:
        raise OutputError(cannot_write(folder, error)) from error
    try:
        yield
    finally:
        os.close(lock)


def is_alive(folder: Path) -> bool:
    """Say whether the process of a session lives."""
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def mark_session(folder: Path, state: SessionState) -> None:
    """Say how a session ended whose process is gone.

    Raises:
        SessionError: it cannot be read.
        OutputError: it cannot be written.
    """
    note = read_session(folder).model_copy(update={"state": state})
    write_whole(folder / SESSION_FILE, note.model_dump_json(indent=1).encode())


def read_session(folder: Path) -> SessionNote:
    """Read where a loop stands, or stood when it was cut off.

    Raises:
        SessionError: there is none, or it cannot be read.
    """
    path = folder / SESSION_FILE
    try:
        return SessionNote.model_validate_json(path.read_bytes())
    except OSError as error:
        message = f"{path}: wanted the session of a debug loop, found none ({error.strerror}); restore the file"
        raise SessionError(message) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "its start"
        message = f"{path}: wanted the session of a debug loop, found at {where}: {first['msg']}; restore the file"
        raise SessionError(message) from error
