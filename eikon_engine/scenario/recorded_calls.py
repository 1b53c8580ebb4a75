"""Execute tool calls and store each as a fixture."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

from eikon_engine.errors import EikonError, ResultNotStorableError
from eikon_engine.scenario.args_hash import args_hash
from eikon_engine.scenario.calls import CallAnswered, CallMade, SilentReader
from eikon_engine.scenario.executed import failure_of, public_error
from eikon_engine.scenario.fixture import BLOBS, RECORDING_FILE, Fixture, RecordingNote, fixture_name
from eikon_engine.scenario.hidden_secrets import hidden, hidden_args
from eikon_engine.scenario.rehidden import hide_again
from eikon_engine.scenario.sealed import sealed_text
from eikon_engine.scenario.stored_result import store_result
from eikon_engine.trace.blobs import BlobStore, ref_of
from eikon_engine.trace.whole_file import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.errors import ToolError
    from eikon_engine.scenario.calls import Reader
    from eikon_engine.scenario.finding_secrets import FindingSecrets
    from eikon_engine.scenario.fixture import Failure
    from eikon_engine.scenario.stored_result import Result


class RecordedCalls:
    """Write the fixtures of one run."""

    is_replay = False

    def __init__(
        self,
        folder: Path,
        run_id: str,
        secrets: FindingSecrets,
        now: Callable[[], datetime],
        reader: Reader | None = None,
    ) -> None:
        """Start a recording in `folder`, marked as incomplete until `close`.

        Raises:
            OutputError: the folder cannot be written.
        """
        self.folder = folder
        self.secrets = secrets
        self.now = now
        self.reader: Reader = reader or SilentReader()
        self._note = RecordingNote(run_id=run_id, started_at=now())
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._order = 0
        self._refused = 0
        self._fault: EikonError | None = None
        self._write_note(self._note)

    @property
    def run_id(self) -> str:
        """Return the id of the recording."""
        return self._note.run_id

    def begin(self, tool: str, args: Mapping[str, JsonValue]) -> RecordedCall:
        """Start a call.

        Raises:
            ToolArgumentsError: canonical JSON cannot represent the arguments.
        """
        with self._lock:
            self.secrets.learn(args, made=True)
            clean = hidden_args(args, self.secrets.redactor)
            digest = args_hash(clean)
            self._counts[tool, digest] += 1
            self._order += 1
            made = CallMade(
                call_id=f"call_{self._order}",
                tool=tool,
                args=clean,
                args_hash=digest,
                occurrence=self._counts[tool, digest],
                order=self._order,
            )
        try:
            self.reader.called(made)
        except EikonError:
            with self._lock:
                self._refused += 1
            raise
        return RecordedCall(self, made)

    def close(self) -> None:
        """Mark the recording as complete.

        Raises:
            OutputError: the folder cannot be written.
        """
        hide_again(self.folder, self.secrets.redactor)
        table, calls = self.secrets.table, self._order - self._refused
        self._write_note(self._note.model_copy(update={"ended_at": self.now(), "calls": calls, "secrets": table}))

    def remember(self, fault: EikonError) -> None:
        """Store the first error that makes the recording incomplete, in case the agent continues."""
        with self._lock:
            self._fault = self._fault or fault

    def demand_whole(self) -> None:
        """Check that every call was stored.

        Raises:
            EikonError: one was not; the agent received this error and continued.
        """
        if self._fault is not None:
            raise self._fault

    def keep(self, fixture: Fixture) -> None:
        """Write one fixture."""
        write_whole(
            self.folder / fixture.tool / fixture_name(fixture.args_hash, fixture.occurrence), sealed_text(fixture)
        )

    def _write_note(self, note: RecordingNote) -> None:
        write_whole(self.folder / RECORDING_FILE, sealed_text(note))


class RecordedCall:
    """A call that is executed and recorded."""

    def __init__(self, calls: RecordedCalls, made: CallMade) -> None:
        """Start the clock."""
        self._calls = calls
        self._made = made
        self._started_at = calls.now()
        self._started = time.perf_counter()

    def succeed(self, result: Result) -> Result:
        """Store the result of the tool.

        Raises:
            ResultNotStorableError: a fixture cannot hold it.
            OutputError: the fixture cannot be written.
        """
        try:
            return self._kept(result)
        except EikonError as error:
            self._calls.remember(error)
            raise

    def _kept(self, result: Result) -> Result:
        duration = time.perf_counter() - self._started
        secrets = self._calls.secrets
        try:
            store_result(result, ref_of)
        except ResultNotStorableError as error:
            message = f"result of tool {self._made.tool}, {error.message}"
            self._tell(None, failure_of(error), duration)
            raise ResultNotStorableError(message) from error
        secrets.learn(result, made=False)
        blobs = BlobStore(self._calls.folder / self._made.tool / BLOBS)
        stored = store_result(hidden(result, secrets.redactor), blobs.put)
        self._keep(stored, None, duration)
        return result

    def fail(self, error: Exception | SystemExit) -> ToolError:
        """Store the exception of the tool.

        Raises:
            OutputError: the fixture cannot be written.
        """
        duration = time.perf_counter() - self._started
        failure = failure_of(error)
        self._calls.secrets.learn(failure.message, made=False)
        failure = failure.model_copy(update={"message": self._calls.secrets.redactor.text(failure.message)})
        try:
            self._keep(None, failure, duration)
        except EikonError as fault:
            self._calls.remember(fault)
            raise
        return public_error(self._made.tool, failure)

    def _keep(self, result: JsonValue, failure: Failure | None, duration: float) -> None:
        made = self._made
        self._calls.keep(
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
        self._tell(result, failure, duration)

    def _tell(self, result: JsonValue, failure: Failure | None, duration: float) -> None:
        self._calls.reader.answered(
            CallAnswered(made=self._made, source="executed", result=result, error=failure, latency_ms=duration * 1000)
        )
