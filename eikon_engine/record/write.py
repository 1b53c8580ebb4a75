"""Write a bundle as its mission goes on, so that whatever ends it leaves what was done until then."""

from __future__ import annotations

from contextlib import suppress
from shutil import rmtree
from typing import TYPE_CHECKING, Final

from eikon_engine.completions.folder import RESPONSES_FOLDER, response_files
from eikon_engine.errors import OutputError
from eikon_engine.network.store import NetworkWriter
from eikon_engine.trace.blobs import BlobRef, BlobStore
from eikon_engine.trace.bundle import DOM_FOLDER, FILES_FOLDER
from eikon_engine.trace.dom.stored import store_snapshot
from eikon_engine.trace.execution import (
    ActionTrace,
    ExecutionTrace,
    Extraction,
    MissionStatus,
    SkillUsage,
    SubgoalTrace,
)
from eikon_engine.trace.found_secret import Redaction
from eikon_engine.trace.journal import JOURNAL_FILE, JournalWriter, read_journal
from eikon_engine.trace.journal_records import (
    ActionDone,
    CompletionDone,
    ExtractionMade,
    FailureNoted,
    Header,
    MissionEnded,
    SecretsFound,
    SkillDone,
    SubgoalEnded,
    SubgoalStarted,
    ToolDone,
    WarningNoted,
)
from eikon_engine.trace.serializer import write_trace
from eikon_engine.trace.whole_file import write_whole

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.record.attempt import Attempt
    from eikon_engine.trace.dom import PageSnapshot
    from eikon_engine.trace.execution import CompletionUsage, Failure, ToolUsage

TRACE_FILE = "trace.json"
NETWORK_FOLDER: Final = "network"


class BundleWriter:
    """Keep the journal of a recording and everything it refers to; what is referred to is written first."""

    def __init__(self, directory: Path) -> None:
        """Begin a bundle in a folder that holds none yet.

        Raises:
            OutputError: a recording is there already, or the folder cannot be written.
            ResponsesError: a folder of responses is there, which cannot be read.
        """
        if (directory / TRACE_FILE).exists():
            message = f"{directory / TRACE_FILE}: a recording is there already; choose another folder or remove it"
            raise OutputError(message)
        if response_files(directory / RESPONSES_FOLDER):
            message = f"{directory / RESPONSES_FOLDER}: responses are there already; choose another folder or remove it"
            raise OutputError(message)
        self.directory = directory
        self._before = {each.name for each in directory.iterdir()} if directory.is_dir() else None
        """What lay in the folder before; None where there was none."""
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

    def begin(self, trace: ExecutionTrace) -> None:
        """Write what is known before the first action."""
        self._journal.append(Header(trace=trace))

    def begin_subgoal(self, attempt: Attempt, description: str, started_at: datetime) -> None:
        """Begin an attempt."""
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
        self._journal.append(ActionDone(attempt=attempt.id, action=action))

    def add_skill(self, attempt: Attempt, usage: SkillUsage) -> None:
        """Add the use of a skill to its attempt."""
        self._journal.append(SkillDone(attempt=attempt.id, skill=usage))

    def add_tool(self, attempt: Attempt, usage: ToolUsage) -> None:
        """Add the call of a tool to its attempt."""
        self._journal.append(ToolDone(attempt=attempt.id, tool=usage))

    def add_completion(self, attempt: Attempt, usage: CompletionUsage) -> None:
        """Add the answer of a language model to its attempt."""
        self._journal.append(CompletionDone(attempt=attempt.id, completion=usage))

    def add_extraction(self, name: str, value: JsonValue) -> None:
        """Add data that the mission brought home."""
        self._journal.append(ExtractionMade(extraction=Extraction(name=name, value=value)))

    def add_failure(self, failure: Failure) -> None:
        """Add a failure outside of an action."""
        self._journal.append(FailureNoted(failure=failure))

    def warn(self, text: str) -> None:
        """Add something that could not be kept."""
        self._journal.append(WarningNoted(text=text))

    def note_secrets(self, redaction: Redaction) -> None:
        """Say which secrets were replaced until now."""
        if redaction != self._redaction:
            self._journal.append(SecretsFound(redaction=redaction))
            self._redaction = redaction

    def store_snapshot(self, snapshot: PageSnapshot) -> BlobRef:
        """Keep the DOM of a page."""
        return store_snapshot(self._dom, snapshot)

    def store_file(self, content: bytes) -> BlobRef:
        """Keep a file for an upload field."""
        return self.files.put(content)

    def write_file(self, path: str, content: bytes) -> None:
        """Write a file of the bundle, whole; `path` is relative."""
        self._written.add(path)
        write_whole(self.directory / path, content)

    def end(self, ended_at: datetime, status: MissionStatus) -> None:
        """Write trace.json from the journal, which is then no longer needed."""
        self._journal.append(MissionEnded(ended_at=ended_at, status=status))
        self.close()
        journal = self.directory / JOURNAL_FILE
        write_trace(read_journal(journal), self.directory / TRACE_FILE)
        journal.unlink()

    def discard(self) -> None:
        """Leave nothing behind of a recording that did not begin; what others put into the folder stays."""
        self.close()
        for path in self._written:
            (self.directory / path).unlink(missing_ok=True)
        self.network.discard()
        for name in {NETWORK_FOLDER, FILES_FOLDER, DOM_FOLDER} - (self._before or set()):
            rmtree(self.directory / name, ignore_errors=True)
        if self._before is None:
            with suppress(OSError):  # somebody else has put something there
                self.directory.rmdir()

    def close(self) -> None:
        """Let the files go."""
        self._journal.close()
        self.network.close()
