"""Execute tool calls and store each as a fixture."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

from eikon_engine.errors import EikonError, ResultNotStorableError
from eikon_engine.files.blobs import BlobStore, blob_ref
from eikon_engine.files.writing import write_atomically
from eikon_engine.scenario.calls import NullObserver, ToolCallEnd, ToolCallStart, describe_failure, tool_error
from eikon_engine.scenario.fixtures import (
    BLOBS_FOLDER,
    RECORDING_FILE,
    Fixture,
    RecordingInfo,
    args_hash,
    digested_text,
    fixture_name,
    store_result,
)
from eikon_engine.scenario.redaction import redact_args, redact_fixtures_again, redact_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.errors import ToolError
    from eikon_engine.scenario.calls import ToolCallObserver
    from eikon_engine.scenario.fixtures import ToolFailureRecord, ToolResultValue
    from eikon_engine.scenario.redaction import SecretFinder


class RecordingCalls:
    """Write the fixtures of one run."""

    is_replay = False

    def __init__(
        self,
        folder: Path,
        run_id: str,
        secrets: SecretFinder,
        now: Callable[[], datetime],
        reader: ToolCallObserver | None = None,
    ) -> None:
        """Start a recording in `folder`, marked as incomplete until `close`.

        Raises:
            OutputError: the folder cannot be written.
        """
        self.folder = folder
        self.secrets = secrets
        self.now = now
        self.observer: ToolCallObserver = reader or NullObserver()
        self._note = RecordingInfo(run_id=run_id, started_at=now())
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._order = 0
        self._rejected = 0
        self._fault: EikonError | None = None
        self._write_note(self._note)

    @property
    def run_id(self) -> str:
        """Return the id of the recording."""
        return self._note.run_id

    def start_call(self, tool: str, args: Mapping[str, JsonValue]) -> RecordingCall:
        """Start a call.

        Raises:
            ToolArgumentsError: canonical JSON cannot represent the arguments.
        """
        with self._lock:
            self.secrets.find_in(args, made=True)
            clean = redact_args(args, self.secrets.redactor)
            digest = args_hash(clean)
            self._counts[tool, digest] += 1
            self._order += 1
            made = ToolCallStart(
                call_id=f"call_{self._order}",
                tool=tool,
                args=clean,
                args_hash=digest,
                occurrence=self._counts[tool, digest],
                order=self._order,
            )
        try:
            self.observer.on_call_started(made)
        except EikonError:
            with self._lock:
                self._rejected += 1
            raise
        return RecordingCall(self, made)

    def close(self) -> None:
        """Mark the recording as complete.

        Raises:
            OutputError: the folder cannot be written.
        """
        redact_fixtures_again(self.folder, self.secrets.redactor)
        table, calls = self.secrets.found, self._order - self._rejected
        self._write_note(self._note.model_copy(update={"ended_at": self.now(), "calls": calls, "secrets": table}))

    def note_fault(self, fault: EikonError) -> None:
        """Store the first error that makes the recording incomplete, in case the agent continues."""
        with self._lock:
            self._fault = self._fault or fault

    def require_complete(self) -> None:
        """Check that every call was stored.

        Raises:
            EikonError: one was not; the agent received this error and continued.
        """
        if self._fault is not None:
            raise self._fault

    def write_fixture(self, fixture: Fixture) -> None:
        """Write one fixture."""
        write_atomically(
            self.folder / fixture.tool / fixture_name(fixture.args_hash, fixture.occurrence), digested_text(fixture)
        )

    def _write_note(self, note: RecordingInfo) -> None:
        write_atomically(self.folder / RECORDING_FILE, digested_text(note))


class RecordingCall:
    """A call that is executed and recorded."""

    def __init__(self, calls: RecordingCalls, made: ToolCallStart) -> None:
        """Start the clock."""
        self._calls = calls
        self._made = made
        self._started_at = calls.now()
        self._started = time.perf_counter()

    def succeed(self, result: ToolResultValue) -> ToolResultValue:
        """Store the result of the tool.

        Raises:
            ResultNotStorableError: a fixture cannot hold it.
            OutputError: the fixture cannot be written.
        """
        try:
            return self._store(result)
        except EikonError as error:
            self._calls.note_fault(error)
            raise

    def _store(self, result: ToolResultValue) -> ToolResultValue:
        duration = time.perf_counter() - self._started
        secrets = self._calls.secrets
        try:
            store_result(result, blob_ref)
        except ResultNotStorableError as error:
            message = f"result of tool {self._made.tool}, {error.message}"
            self._notify(None, describe_failure(error), duration)
            raise ResultNotStorableError(message) from error
        secrets.find_in(result, made=False)
        blobs = BlobStore(self._calls.folder / self._made.tool / BLOBS_FOLDER)
        stored = store_result(redact_value(result, secrets.redactor), blobs.put)
        self._store_fixture(stored, None, duration)
        return result

    def fail(self, error: Exception | SystemExit) -> ToolError:
        """Store the exception of the tool.

        Raises:
            OutputError: the fixture cannot be written.
        """
        duration = time.perf_counter() - self._started
        failure = describe_failure(error)
        self._calls.secrets.find_in(failure.message, made=False)
        failure = failure.model_copy(update={"message": self._calls.secrets.redactor.redact_text(failure.message)})
        try:
            self._store_fixture(None, failure, duration)
        except EikonError as fault:
            self._calls.note_fault(fault)
            raise
        return tool_error(self._made.tool, failure)

    def _store_fixture(self, result: JsonValue, failure: ToolFailureRecord | None, duration: float) -> None:
        made = self._made
        self._calls.write_fixture(
            Fixture(
                run_id=self._calls.run_id,
                tool=made.tool,
                args=made.args,
                args_hash=made.args_hash,
                occurrence=made.occurrence,
                order=made.order,
                result=result,
                error=failure,
                started_at=self._started_at,
                ended_at=self._calls.now(),
                duration_seconds=duration,
            )
        )
        self._notify(result, failure, duration)

    def _notify(self, result: JsonValue, failure: ToolFailureRecord | None, duration: float) -> None:
        self._calls.observer.on_call_finished(
            ToolCallEnd(start=self._made, source="executed", result=result, error=failure, latency_ms=duration * 1000)
        )
