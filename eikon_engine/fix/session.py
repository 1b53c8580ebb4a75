"""The session folder of a debug loop: everything it saw and did, readable at any moment.

session.json     options and current progress; written before each step
cycles/01/       stdout.txt, stderr.txt, junit.xml, cycle.json, answer.txt, changes.diff of one cycle
changes.diff     all kept fixes combined, written at the end
result.json      the `TaskResult`
summary.txt      the same for people
tree/, states.git    the copy in which tests run; removed at the end
session.lock     locked while the process lives
ending.json, ending/    journal while the user's tree is changed; see `write_back.py`
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypedDict, Unpack

from pydantic import AwareDatetime, Field, ValidationError, field_validator

from eikon_engine.errors import EikonError, FixTaskFailedError, OutputError, SessionError
from eikon_engine.files.limits import read_document
from eikon_engine.files.locking import hold_lock, is_locked
from eikon_engine.files.models import MAX_FAULTS, FileModel, validation_error
from eikon_engine.files.state_folder import state_folder
from eikon_engine.files.writing import write_atomically, write_error_message
from eikon_engine.fix.models import CycleRecord, TextFix
from eikon_engine.secrets.environment import EnvironmentSecrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from eikon_engine.fix.models import Analysis, AppliedFix, Context, Proposal, TaskResult, TestRun, Verification
    from eikon_engine.fix.options import LoopOptions

SESSION_VERSION: Final = 1
SESSION_FILE: Final = "session.json"
RESULT_FILE: Final = "result.json"
SUMMARY_FILE: Final = "summary.txt"
DIFF_FILE: Final = "changes.diff"
SESSIONS_DIR_VARIABLE: Final = "EIKON_FIX_DIR"
_LOCK: Final = "session.lock"

SessionState: TypeAlias = Literal[
    "running", "writing", "success", "max_cycles", "error", "interrupted", "rolled_back", "completed"
]
_EARLIER_STATES: Final = {"taken_back": "rolled_back", "handed_over": "completed"}
"""Names of states in sessions of earlier versions."""


class SessionRecord(FileModel):
    """Options and current progress."""

    session_version: Literal[1] = SESSION_VERSION
    id: str
    state: SessionState
    """`writing` while the user's tree is changed; a killed process leaves `running` or `writing` behind. The next
    command turns `writing` into `rolled_back`, or into `completed` if all files had been written."""
    cycle: int = Field(default=0, ge=0)
    """Current cycle; 0 before the first."""
    step: str | None = None
    """Current task."""
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
    """Process id of the loop."""

    @field_validator("state", mode="before")
    @classmethod
    def _rename_state(cls, value: object) -> object:
        return _EARLIER_STATES.get(value, value) if isinstance(value, str) else value


class FixSession:
    """Write a session folder."""

    def __init__(self, folder: Path, record: SessionRecord) -> None:
        """Write the first note; `lock_session` creates the folder."""
        self.folder = folder
        self._record = record
        self._secrets = EnvironmentSecrets(os.environ, record.command)
        self._write_record()

    @property
    def record(self) -> SessionRecord:
        """Return the current content of session.json."""
        return self._record

    def update_progress(
        self, *, state: SessionState | None = None, cycle: int | None = None, step: str | None = None
    ) -> None:
        """Store the progress before the next step."""
        changes = {
            "state": state or self._record.state,
            "cycle": self._record.cycle if cycle is None else cycle,
            "step": step,
        }
        self._record = self._record.model_copy(update=changes)
        self._write_record()

    def write_cycle(self, record: CycleRecord) -> None:
        """Store the current record of a cycle."""
        folder = cycle_folder(record.cycle)
        self._write(f"{folder}/cycle.json", record.model_dump_json(indent=1))
        if isinstance(record.proposal, TextFix):
            self._write(f"{folder}/answer.txt", record.proposal.text)
        if record.application is not None:
            self._write(f"{folder}/{DIFF_FILE}", record.application.diff)

    def write_diff(self, diff: str) -> None:
        """Store the diff of all kept fixes, if there is one."""
        if diff:
            self._write(DIFF_FILE, diff)

    def finish(self, result: TaskResult, summary: str) -> None:
        """Store the result."""
        self._write(RESULT_FILE, result.model_dump_json(indent=1))
        self._write(SUMMARY_FILE, summary)
        self.update_progress(state=result.notes.outcome)

    def _write_record(self) -> None:
        """Write session.json; paths are not redacted, because recovery needs them."""
        redacted = self._record.model_copy(update={"command": self._secrets.redact(self._record.command)})
        write_atomically(
            self.folder / SESSION_FILE, redacted.model_dump_json(indent=1).encode(errors="surrogateescape")
        )

    def _write(self, name: str, text: str) -> None:
        """Write a file with secrets of the environment redacted, except in diffs, which must match the files."""
        redacted = text if name.endswith(DIFF_FILE) else self._secrets.redact(text)
        write_atomically(self.folder / name, redacted.encode(errors="surrogateescape"))


def cycle_folder(cycle: int) -> str:
    """Return the folder name of a cycle."""
    return f"cycles/{cycle:02d}"


def sessions_folder(home: Path, environ: Mapping[str, str]) -> Path:
    """Return the folder of all sessions: `EIKON_FIX_DIR`, else `fix` in the state folder."""
    chosen = environ.get(SESSIONS_DIR_VARIABLE)
    return home / chosen if chosen else state_folder(home, environ) / "fix"


@contextmanager
def lock_session(folder: Path) -> Iterator[None]:
    """Create a new folder and hold its lock until the block or the process ends.

    Raises:
        OutputError: it cannot be created.
    """
    try:
        folder.mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise OutputError(write_error_message(folder, error)) from error
    with hold_lock(folder / _LOCK):
        yield


def is_alive(folder: Path) -> bool:
    """Return whether the process of a session is running."""
    return is_locked(folder / _LOCK)


def set_final_state(folder: Path, state: SessionState) -> None:
    """Set the final state of a session whose process is gone.

    Raises:
        SessionError: the session cannot be read.
        OutputError: the session cannot be written.
    """
    note = read_session(folder).model_copy(update={"state": state})
    write_atomically(folder / SESSION_FILE, note.model_dump_json(indent=1).encode())


def read_session(folder: Path) -> SessionRecord:
    """Read session.json.

    Raises:
        SessionError: it is missing or invalid.
    """
    path = folder / SESSION_FILE
    try:
        return SessionRecord.model_validate_json(read_document(path, root=path.parent))
    except OSError as error:
        message = f"{path}: expected the session of a debug loop, got none ({error.strerror}). Restore the file."
        raise SessionError(message) from error
    except ValidationError as error:
        if error.error_count() > MAX_FAULTS:
            raise validation_error(error, b"", str(path)) from error
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "its start"
        message = f"{path}: invalid session of a debug loop at {where}: {first['msg']}. Restore the file."
        raise SessionError(message) from error


PROGRESS_INTERVAL_SECONDS: Final = 10.0
"""Interval of the "still running" messages of a slow step, in seconds."""


class CycleFields(TypedDict, total=False):
    """Fields that can be recorded for a cycle."""

    test: TestRun
    analysis: Analysis
    context: Context
    proposal: Proposal
    application: AppliedFix
    refusal: str
    verification: Verification


class CycleLog:
    """The cycles of one loop; each update is written to the session immediately."""

    def __init__(self, session: FixSession, options: LoopOptions) -> None:
        """Write records to `session` and progress messages to `options.on_progress`."""
        self._session = session
        self._options = options
        self._records: list[CycleRecord] = []

    @property
    def records(self) -> tuple[CycleRecord, ...]:
        """Return the cycles so far."""
        return tuple(self._records)

    @property
    def cycle(self) -> int:
        """Return the number of the current cycle, from 1; 0 before the first."""
        return len(self._records)

    def start_cycle(self) -> None:
        """Start the next cycle."""
        self._records.append(CycleRecord(cycle=len(self._records) + 1))

    def update(self, cycle: int, **known: Unpack[CycleFields]) -> None:
        """Update the record of a cycle."""
        record = self._records[cycle - 1].model_copy(update=dict(known))
        self._records[cycle - 1] = record
        self._session.write_cycle(record)

    def report(self, text: str) -> None:
        """Report progress of the current cycle."""
        self._options.on_progress(f"cycle {self.cycle} of {self._options.max_cycles}: {text}")

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Run the block as one step of the current cycle, and record its duration.

        Raises:
            FixTaskFailedError: the block raised an `EikonError`.
        """
        self._session.update_progress(cycle=self.cycle, step=name)
        self.report(name)
        clock = self._options.clock
        begun = clock()
        try:
            with _report_while_running(lambda seconds: self.report(f"{name} still running after {seconds:.0f} s")):
                yield
        except FixTaskFailedError:
            raise
        except EikonError as error:
            raise FixTaskFailedError(name, error) from error
        finally:
            record = self._records[-1]
            taken = record.durations_ms.get(name, 0) + round((clock() - begun) * 1000)
            self._records[-1] = record.model_copy(update={"durations_ms": {**record.durations_ms, name: taken}})


@contextmanager
def _report_while_running(report: Callable[[float], None]) -> Iterator[None]:
    done = threading.Event()

    def wait() -> None:
        seconds = 0.0
        while not done.wait(PROGRESS_INTERVAL_SECONDS):
            seconds += PROGRESS_INTERVAL_SECONDS
            report(seconds)

    thread = threading.Thread(target=wait, name="eikon-fix-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
