"""A folder of recorded responses: one file per response, a state file, one writer at a time."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal

from pydantic import Field, ValidationError

from eikon_engine.errors import OutputError, ResponseCorruptError, ResponseFolderError, UsageError
from eikon_engine.files.limits import read_document
from eikon_engine.files.locking import try_lock
from eikon_engine.files.models import FileModel, validation_error
from eikon_engine.files.text import pluralize
from eikon_engine.files.writing import make_folders, write_atomically, write_error_message
from eikon_engine.llm.model_response import FILE_NAME, FORMAT_VERSION, ModelResponse, parse_response, response_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from eikon_engine.llm.model_response import ResponseKey

RESPONSES_FOLDER: Final = "responses"
"""Name of the folder in a bundle or run."""
STATE_FILE: Final = "recording.json"
_RECORD_AGAIN_ADVICE: Final = "--append records missing responses, --refresh records all of them"


class RecordingState(FileModel):
    """Progress of a recording; written before its first response and at its end."""

    format_version: Literal[1] = FORMAT_VERSION
    recording: str = Field(min_length=1)
    state: Literal["capturing", "stopped", "complete"]
    """A killed process leaves `capturing`."""
    responses: int = Field(ge=0)
    """Number of responses when the file was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseFolder:
    """Validated content of a folder."""

    root: Path
    state: RecordingState | None
    responses: tuple[ModelResponse, ...]
    """Sorted by key, then in recorded order."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was recorded yet and nothing is missing."""
        return not self.responses and (self.state is None or self.state.responses == 0)

    @property
    def recording_id(self) -> str | None:
        """Return the recording id; None if nothing was recorded."""
        if self.state is not None:
            return self.state.recording
        return self.responses[0].recording if self.responses else None

    def require_complete(self) -> None:
        """Check that every response of the recording is present.

        Raises:
            ResponseFolderError: the recording was interrupted, or files are missing.
        """
        count = pluralize(len(self.responses), "response")
        if self.state is None:
            message = f"{self.root}: incomplete recording: {count} without {STATE_FILE}; {_RECORD_AGAIN_ADVICE}"
            raise ResponseFolderError(message, code="responses-incomplete")
        if self.state.state != "complete":
            message = (
                f"{self.root}: incomplete recording: interrupted after {count}, or still in progress; "
                f"{_RECORD_AGAIN_ADVICE}"
            )
            raise ResponseFolderError(message, code="responses-incomplete")
        if len(self.responses) < self.state.responses:
            message = (
                f"{self.root}: expected {pluralize(self.state.responses, 'response')} according to {STATE_FILE}, got "
                f"{len(self.responses)}; restore the missing files, or {_RECORD_AGAIN_ADVICE}"
            )
            raise ResponseFolderError(message, code="responses-incomplete")


def read_folder(root: Path) -> ResponseFolder:
    """Read and validate a folder of responses; a missing folder is empty.

    Names starting with a dot are ignored.

    Raises:
        ResponseFolderError: it is unreadable, contains other files, or mixes two recordings; an earlier response to the
            same prompt is missing.
        ResponseCorruptError: a file is corrupt.
    """
    files = response_files(root)
    mark = read_state(root / STATE_FILE)
    read = [(path, parse_response(_read_bytes(path), path)) for path in files]
    _require_distinct(read)
    _require_one_recording(mark, read)
    responses = sorted((each for _, each in read), key=lambda each: (each.key, each.sample_index))
    _require_no_gaps(root, responses)
    return ResponseFolder(root=root, state=mark, responses=tuple(responses))


def read_complete_folder(root: Path) -> tuple[ModelResponse, ...]:
    """Read the responses of a bundle or run; without a folder there are none.

    Raises:
        ResponseFolderError: as `read_folder`, or the recording was interrupted.
    """
    folder = read_folder(root)
    if not folder.is_empty:
        folder.require_complete()
    return folder.responses


def response_files(root: Path) -> tuple[Path, ...]:
    """Return the response files of a folder, sorted; none if the folder is missing.

    Raises:
        ResponseFolderError: it is unreadable or contains other files.
    """
    try:
        entries = sorted(root.iterdir()) if root.exists() else []
        unknown = [each.name for each in entries if not _is_folder_entry(each)]
    except OSError as error:
        message = f"{root}: cannot read the folder of model responses: {error.strerror}; check the path"
        raise ResponseFolderError(message) from error
    if unknown:
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        message = (
            f"{root}: expected only model responses, got {unknown[0]}{more}; choose another folder or remove the others"
        )
        raise ResponseFolderError(message)
    return tuple(each for each in entries if FILE_NAME.fullmatch(each.name))


def write_state(root: Path, state: RecordingState) -> None:
    """Write the state of the recording.

    Raises:
        OutputError: the file cannot be written.
    """
    write_atomically(root / STATE_FILE, state.model_dump_json(indent=1).encode() + b"\n")


def read_state(path: Path) -> RecordingState | None:
    """Read the state of a recording; None if there is no state file.

    Raises:
        ResponseCorruptError: the file is malformed.
    """
    if not path.exists():
        return None
    data = _read_bytes(path)
    try:
        return RecordingState.model_validate_json(data)
    except ValidationError as error:
        message = f"{validation_error(error, data, str(path)).message}; record again with --refresh"
        raise ResponseCorruptError(message) from error


def _is_folder_entry(path: Path) -> bool:
    if path.name.startswith("."):
        return True
    is_ours = path.name == STATE_FILE or FILE_NAME.fullmatch(path.name) is not None
    return is_ours and path.is_file() and not path.is_symlink()


def _read_bytes(path: Path) -> bytes:
    try:
        return read_document(path, root=path.parent)
    except OSError as error:
        message = f"{path}: cannot read the recorded response: {error.strerror}; restore the file"
        raise ResponseCorruptError(message) from error


def _require_distinct(read: Iterable[tuple[Path, ModelResponse]]) -> None:
    """Reject two files for one response, and files with a wrong name."""
    places: dict[tuple[str, str, int], Path] = {}
    for path, response in read:
        first = places.setdefault((*response.key, response.sample_index), path)
        if first != path:
            message = (
                f"{path}: duplicate of {first.name} for sample {response.sample_index} of {response.key}; "
                "keep the recorded file"
            )
            raise ResponseCorruptError(message)
    for path, response in read:
        if path.name != response.file_name:
            message = (
                f"{path}: wrong file name for sample {response.sample_index} of {response.key}: expected "
                f"{response.file_name}; rename the file"
            )
            raise ResponseCorruptError(message)


def _require_one_recording(state: RecordingState | None, read: list[tuple[Path, ModelResponse]]) -> None:
    known = state.recording if state is not None else read[0][1].recording if read else ""
    for path, response in read:
        if response.recording != known:
            message = (
                f"{path}: expected a response of recording {known}, got one of {response.recording}; store each "
                "recording in its own folder"
            )
            raise ResponseFolderError(message)


def _require_no_gaps(root: Path, responses: list[ModelResponse]) -> None:
    for missing in _gaps(responses):
        message = (
            f"{root / missing.file_name}: sample {missing.sample_index} of {missing.key} is missing, but later samples "
            "exist; restore the file, or record again with --refresh"
        )
        raise ResponseFolderError(message, code="responses-incomplete")


def _gaps(responses: list[ModelResponse]) -> Iterator[ModelResponse]:
    """Yield the missing responses between recorded ones, as copies of the response that follows."""
    if responses and responses[0].sample_index > 0:
        yield responses[0].model_copy(update={"sample_index": 0})
    for before, after in pairwise(responses):
        expected = before.sample_index + 1 if before.key == after.key else 0
        if after.sample_index != expected:
            yield after.model_copy(update={"sample_index": expected})


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

        A recording that never started keeps its state. `ignore_pending` ignores pending responses.

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


@contextmanager
def exclusive_writer(root: Path) -> Iterator[None]:
    """Lock the folder, created if missing, until the block or the process ends.

    Raises:
        ResponseFolderError: another run holds the lock.
        OutputError: the folder cannot be written.
    """
    with lock_folder(root) as is_ours:
        if not is_ours:
            message = f"{root}: another run is writing responses here; wait until it ends"
            raise ResponseFolderError(message)
        yield


@contextmanager
def lock_folder(root: Path) -> Iterator[bool]:
    """Try to lock the folder, created if missing; yield whether it succeeded.

    Raises:
        OutputError: the folder cannot be written.
    """
    try:
        make_folders(root)
    except OSError as error:
        raise OutputError(write_error_message(root, error)) from error
    with try_lock(root) as is_ours:
        yield is_ours
