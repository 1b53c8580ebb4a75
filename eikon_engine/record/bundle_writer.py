"""Write a bundle incrementally, so that an interrupted mission keeps what was recorded until then."""

from __future__ import annotations

import logging
from contextlib import suppress
from fnmatch import fnmatch
from itertools import count
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import OutputError, TraceError
from eikon_engine.files.blobs import BlobRef, BlobStore
from eikon_engine.files.locking import is_locked
from eikon_engine.files.writing import write_atomically
from eikon_engine.llm.response_folder import RESPONSES_FOLDER, response_files
from eikon_engine.network.retiming import correct_phases
from eikon_engine.network.store import NetworkWriter, read_network, write_network
from eikon_engine.secrets.redaction import Redaction
from eikon_engine.trace.bundle import DOM_FOLDER, FILES_FOLDER, store_snapshot
from eikon_engine.trace.environment import SESSION_STORAGE_FILE, STORAGE_STATE_FILE
from eikon_engine.trace.execution import (
    ActionTrace,
    ExecutionTrace,
    Extraction,
    MissionStatus,
    SkillUsage,
    SubgoalTrace,
)
from eikon_engine.trace.journal import (
    ActionRecorded,
    CompletionRecorded,
    DataLost,
    ExtractionAdded,
    FailureAdded,
    JournalHeader,
    JournalWriter,
    MissionEnded,
    SecretsFound,
    SkillRecorded,
    SubgoalEnded,
    SubgoalStarted,
    ToolRecorded,
    WarningAdded,
    aside_path,
    read_journal,
)
from eikon_engine.trace.steps import acted_times
from eikon_engine.trace.trace_file import JOURNAL_FILE, write_trace

if TYPE_CHECKING:
    from datetime import datetime

    from pydantic import JsonValue

    from eikon_engine.dom import PageSnapshot
    from eikon_engine.trace.execution import CompletionUsage, Failure, LostData, ToolUsage

TRACE_FILE = "trace.json"
NETWORK_FOLDER: Final = "network"
SCREENSHOTS_FOLDER: Final = "screenshots"

_RECORDED_NAMES: Final = (
    JOURNAL_FILE,
    TRACE_FILE,
    STORAGE_STATE_FILE,
    SESSION_STORAGE_FILE,
    NETWORK_FOLDER,
    FILES_FOLDER,
    DOM_FOLDER,
    RESPONSES_FOLDER,
    SCREENSHOTS_FOLDER,
)
"""Files and folders that a recording creates in its folder."""

_logger = logging.getLogger(__name__)


class BundleWriter:
    """Write the journal of a recording and the files it refers to; referenced files are written first."""

    def __init__(self, directory: Path) -> None:
        """Start a bundle in a folder without a finished recording; an unfinished one is moved aside.

        Raises:
            OutputError: a recording exists already, or the folder cannot be written.
            ResponseFolderError: the folder of responses cannot be read.
        """
        if (directory / TRACE_FILE).exists():
            message = f"{directory / TRACE_FILE}: a recording exists already; choose another folder or remove it"
            raise OutputError(message)
        if (directory / JOURNAL_FILE).exists():
            _move_aside(directory)
        if response_files(directory / RESPONSES_FOLDER):
            message = f"{directory / RESPONSES_FOLDER}: responses exist already; choose another folder or remove it"
            raise OutputError(message)
        self.directory = directory
        self._existing_entries = {each.name for each in directory.iterdir()} if directory.is_dir() else None
        """Entries that existed in the folder before; None if it did not exist."""
        self._journal = JournalWriter(directory / JOURNAL_FILE)
        try:
            self.network = NetworkWriter(directory / NETWORK_FOLDER)
        except OutputError:
            self._journal.close()
            (directory / JOURNAL_FILE).unlink()
            raise
        self.files = BlobStore(directory / FILES_FOLDER)
        self._dom = BlobStore(directory / DOM_FOLDER)
        self._redaction = Redaction()
        self._written: set[str] = {JOURNAL_FILE}

    def start(self, trace: ExecutionTrace) -> None:
        """Write the header of the trace."""
        self._journal.append(JournalHeader(trace=trace))

    def start_subgoal(self, attempt: Attempt, description: str, started_at: datetime) -> None:
        """Start an attempt."""
        subgoal = SubgoalTrace(
            id=attempt.id,
            subgoal_id=attempt.subgoal_id,
            description=description,
            attempt_number=attempt.number,
            started_at=started_at,
            status="running",
        )
        self._journal.append(SubgoalStarted(subgoal=subgoal))

    def end_subgoal(self, attempt: Attempt, ended_at: datetime, status: MissionStatus, error: str | None) -> None:
        """End an attempt."""
        self._journal.append(SubgoalEnded(attempt=attempt.id, ended_at=ended_at, status=status, error=error))

    def add_action(self, attempt: Attempt, action: ActionTrace) -> None:
        """Add an action to its attempt."""
        self._journal.append(ActionRecorded(attempt=attempt.id, action=action))

    def add_skill(self, attempt: Attempt, usage: SkillUsage) -> None:
        """Add a skill run to its attempt."""
        self._journal.append(SkillRecorded(attempt=attempt.id, skill=usage))

    def add_tool(self, attempt: Attempt, usage: ToolUsage) -> None:
        """Add a tool call to its attempt."""
        self._journal.append(ToolRecorded(attempt=attempt.id, tool=usage))

    def add_completion(self, attempt: Attempt, usage: CompletionUsage) -> None:
        """Add a completion to its attempt."""
        self._journal.append(CompletionRecorded(attempt=attempt.id, completion=usage))

    def add_extraction(self, name: str, value: JsonValue) -> None:
        """Add extracted data."""
        self._journal.append(ExtractionAdded(extraction=Extraction(name=name, value=value)))

    def add_failure(self, failure: Failure) -> None:
        """Add a failure outside any action."""
        self._journal.append(FailureAdded(failure=failure))

    def warn(self, text: str) -> None:
        """Add a warning."""
        self._journal.append(WarningAdded(text=text))

    def add_lost_data(self, lost: LostData) -> None:
        """Add data of the mission that could not be kept."""
        self._journal.append(DataLost(lost=lost))

    def write_redaction(self, redaction: Redaction) -> None:
        """Write the redaction table if it changed."""
        if redaction != self._redaction:
            self._journal.append(SecretsFound(redaction=redaction))
            self._redaction = redaction

    def store_snapshot(self, snapshot: PageSnapshot) -> BlobRef:
        """Store the DOM of a page."""
        return store_snapshot(self._dom, snapshot)

    def store_file(self, content: bytes) -> BlobRef:
        """Store a file for an upload field."""
        return self.files.put(content)

    def write_file(self, path: str, content: bytes) -> None:
        """Write a file of the bundle atomically; `path` is relative."""
        self._written.add(path)
        write_atomically(self.directory / path, content)

    def finish(self, ended_at: datetime, status: MissionStatus) -> None:
        """Write trace.json from the journal and delete the journal."""
        self._journal.append(MissionEnded(ended_at=ended_at, status=status))
        self.close()
        journal = self.directory / JOURNAL_FILE
        trace = read_journal(journal)
        try:
            self._correct_phases(trace)
        except (TraceError, OutputError) as error:
            warning = (
                f"the phases of responses were not corrected, so replays may deliver some too late: {error.message}"
            )
            trace = trace.model_copy(update={"warnings": (*trace.warnings, warning)})
        write_trace(trace, self.directory / TRACE_FILE)
        journal.unlink()

    def _correct_phases(self, trace: ExecutionTrace) -> None:
        """Correct the phases of deliveries, now that it is known when each action acted."""
        folder = self.directory / NETWORK_FOLDER
        recording = read_network(folder)
        corrected = correct_phases(recording, acted_times(trace))
        if corrected != recording and recording.truncation is None:
            write_network(folder, corrected)

    def discard(self) -> None:
        """Remove everything this recording wrote; other files in the folder remain."""
        self.close()
        for path in self._written:
            (self.directory / path).unlink(missing_ok=True)
        self.network.discard()
        for name in {NETWORK_FOLDER, FILES_FOLDER, DOM_FOLDER} - (self._existing_entries or set()):
            rmtree(self.directory / name, ignore_errors=True)
        if self._existing_entries is None:
            with suppress(OSError):  # another process added files
                self.directory.rmdir()

    def close(self) -> None:
        """Close the open files."""
        self._journal.close()
        self.network.close()


def _move_aside(directory: Path) -> None:
    """Move a folder with an unfinished recording, so that another one can be made there.

    Raises:
        OutputError: the recording is in progress, the folder is a link or has other files, or it cannot be moved.
    """
    if is_locked(directory / JOURNAL_FILE):
        message = f"{directory}: another process is recording into this folder; choose another one"
        raise OutputError(message)
    place = directory.resolve()
    if place == Path.cwd() or place in Path.cwd().parents:
        message = f"{directory}: an unfinished recording is in the current folder; choose another one or remove it"
        raise OutputError(message)
    if directory.is_symlink():
        message = f"{directory}: an unfinished recording is in {place}, which this links to; choose another folder"
        raise OutputError(message)
    others = sorted(each.name for each in place.iterdir() if not _is_recorded(each.name))
    if others:
        message = (
            f"{directory}: an unfinished recording is next to files that are not part of it ({', '.join(others)}); "
            "choose another folder, or move them"
        )
        raise OutputError(message)
    to = next(each for each in (aside_path(place, number) for number in count(1)) if not each.exists())
    try:
        place.rename(to)
    except OSError as error:
        message = f"cannot move the unfinished recording {directory} to {to}: {error.strerror}; choose another folder"
        raise OutputError(message) from error
    _logger.warning("%s: an unfinished recording was there; moved it to %s", directory, to)


def _is_recorded(name: str) -> bool:
    """Return whether a recording created an entry of its folder, or was writing it when it was killed."""
    return any(name == each or fnmatch(name, f".{each}.*.tmp") for each in _RECORDED_NAMES)


class Attempt:
    """One attempt at a subgoal; numbers its steps."""

    def __init__(self, *, subgoal_id: str, number: int) -> None:
        """Start without steps."""
        self.subgoal_id = subgoal_id
        self.number = number
        self._sequence = 0

    @property
    def id(self) -> str:
        """Return the id of the attempt, in the same form as in trace format 1."""
        return f"{self.subgoal_id}__attempt_{self.number}"

    @property
    def last_sequence(self) -> int:
        """Return the number of the last step; 0 without any."""
        return self._sequence

    def next_sequence(self) -> int:
        """Return the next step number, from 1."""
        self._sequence += 1
        return self._sequence
