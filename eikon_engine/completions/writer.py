"""Write responses into a folder, each whole and at once."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from eikon_engine.completions.folder import RecordingMark, write_mark
from eikon_engine.completions.model_response import response_bytes
from eikon_engine.errors import UsageError
from eikon_engine.trace.whole_file import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from eikon_engine.completions.model_response import ModelResponse, ResponseKey


class ResponseWriter:
    """Add responses to one recording, from any number of threads; what a killed process leaves reads back."""

    def __init__(self, root: Path, recording: str, known: Iterable[ModelResponse] = ()) -> None:
        """Write into `root`, after the responses that are there already."""
        self.root = root
        self.recording = recording
        self._next: Counter[ResponseKey] = Counter(each.key for each in known)
        self._lock = threading.Lock()
        self._is_open = True
        self._awaited = 0
        self._lacks_answer = False
        self._has_begun = False

    @property
    def count(self) -> int:
        """Count the responses of the recording, those before this writer included."""
        return self._next.total()

    def begin(self) -> None:
        """Mark the recording as one under way; the first response does so too.

        Raises:
            OutputError: the folder cannot be written.
        """
        if not self._has_begun:
            self._mark("capturing")
            self._has_begun = True

    @contextmanager
    def awaiting(self) -> Iterator[None]:
        """Count an answer that is on its way inside the block: a recording that ends meanwhile is not whole."""
        with self._lock:
            self._awaited += 1
        try:
            yield
        finally:
            with self._lock:
                self._awaited -= 1

    def go_without(self) -> None:
        """Note that an answer never came and is not kept: the recording cannot be whole any more."""
        with self._lock:
            self._lacks_answer = True

    def add(self, response: ModelResponse) -> ModelResponse:
        """Write a response as the next one to its prompt, and return it with its place.

        It has its place when it is written, so that no place is ever left out.

        Raises:
            OutputError: the file cannot be written.
            UsageError: the recording has ended.
        """
        with self._lock:
            if not self._is_open:
                message = f"{self.root}: wanted responses before the recording ended, found one after it; end it later"
                raise UsageError(message)
            self.begin()
            placed = response.model_copy(update={"sample_index": self._next[response.key]})
            write_whole(self.root / placed.file_name, response_bytes(placed))
            self._next[response.key] += 1
        return placed

    def end(self, *, whole: bool, abandons: bool = False) -> bool:
        """End the recording; return whether it is whole: it came to its end, no answer is on its way or lacking.

        One that never began is as whole as it was. `abandons` says that nobody wants an answer that is on its way.

        Raises:
            OutputError: that cannot be written.
        """
        with self._lock:
            self._is_open = False
            is_whole = whole and not self._lacks_answer and (abandons or not self._awaited)
            if is_whole or self._has_begun:
                self._mark("complete" if is_whole else "stopped")
        return is_whole

    def _mark(self, state: str) -> None:
        mark = RecordingMark.model_validate({"recording": self.recording, "state": state, "responses": self.count})
        write_mark(self.root, mark)
