"""Write responses into a folder, each one atomically."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from eikon_engine.completions.folder import RecordingState, write_state
from eikon_engine.completions.model_response import response_bytes
from eikon_engine.errors import UsageError
from eikon_engine.trace.whole_file import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from eikon_engine.completions.model_response import ModelResponse, ResponseKey


class ResponseWriter:
    """Add responses to one recording; thread-safe, and readable after the process is killed."""

    def __init__(self, root: Path, recording: str, known: Iterable[ModelResponse] = ()) -> None:
        """Write into `root`, after the responses in `known`."""
        self.root = root
        self.recording = recording
        self._next_index: Counter[ResponseKey] = Counter(each.key for each in known)
        self._lock = threading.Lock()
        self._is_open = True
        self._pending_count = 0
        self._is_incomplete = False
        self._has_started = False

    @property
    def count(self) -> int:
        """Return the number of responses of the recording, including earlier ones."""
        return self._next_index.total()

    def start(self) -> None:
        """Mark the recording as in progress; the first response does so too.

        Raises:
            OutputError: the folder cannot be written.
        """
        if not self._has_started:
            self._write_state("capturing")
            self._has_started = True

    @contextmanager
    def pending_request(self) -> Iterator[None]:
        """Count a pending response inside the block: a recording that ends meanwhile is incomplete."""
        with self._lock:
            self._pending_count += 1
        try:
            yield
        finally:
            with self._lock:
                self._pending_count -= 1

    def mark_incomplete(self) -> None:
        """Mark the recording as incomplete because a response will never be recorded."""
        with self._lock:
            self._is_incomplete = True

    def add(self, response: ModelResponse) -> ModelResponse:
        """Write a response as the next one to its prompt, and return it with its index.

        The index is assigned when the file is written, so that there are no gaps.

        Raises:
            OutputError: the file cannot be written.
            UsageError: the recording has ended.
        """
        with self._lock:
            if not self._is_open:
                message = f"{self.root}: a response arrived after the recording ended; end the recording later"
                raise UsageError(message)
            self.start()
            placed = response.model_copy(update={"sample_index": self._next_index[response.key]})
            write_atomically(self.root / placed.file_name, response_bytes(placed))
            self._next_index[response.key] += 1
        return placed

    def end(self, *, finished: bool, ignore_pending: bool = False) -> bool:
        """End the recording; return whether it is complete: the run finished and no response is pending or missing.

        A recording that never started keeps its state. `abandons` ignores pending responses.

        Raises:
            OutputError: the state cannot be written.
        """
        with self._lock:
            self._is_open = False
            is_whole = finished and not self._is_incomplete and (ignore_pending or not self._pending_count)
            if is_whole or self._has_started:
                self._write_state("complete" if is_whole else "stopped")
        return is_whole

    def _write_state(self, state: str) -> None:
        mark = RecordingState.model_validate({"recording": self.recording, "state": state, "responses": self.count})
        write_state(self.root, mark)
