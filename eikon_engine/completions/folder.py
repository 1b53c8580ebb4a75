"""A folder of recorded responses: one file per response, and a state file."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal

from pydantic import Field, ValidationError

from eikon_engine.completions.model_response import FILE_NAME, FORMAT_VERSION, ModelResponse, parse_response
from eikon_engine.errors import ResponseCorruptError, ResponsesError, ResponsesIncompleteError
from eikon_engine.trace.field_errors import trace_error
from eikon_engine.trace.record import Record
from eikon_engine.trace.whole_file import write_whole
from eikon_engine.trace.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

RESPONSES_FOLDER: Final = "responses"
"""Name of the folder in a bundle or run."""
MARK_FILE: Final = "recording.json"
_CHOOSE: Final = "--append records missing responses, --refresh records all of them"


class RecordingMark(Record):
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
    mark: RecordingMark | None
    responses: tuple[ModelResponse, ...]
    """Sorted by key, then in recorded order."""

    @property
    def is_fresh(self) -> bool:
        """Whether nothing was recorded yet and nothing is missing."""
        return not self.responses and (self.mark is None or self.mark.responses == 0)

    @property
    def recording(self) -> str | None:
        """Return the recording id; None if nothing was recorded."""
        if self.mark is not None:
            return self.mark.recording
        return self.responses[0].recording if self.responses else None

    def demand_whole(self) -> None:
        """Check that every response of the recording is present.

        Raises:
            ResponsesIncompleteError: the recording was interrupted, or files are missing.
        """
        count = counted(len(self.responses), "response")
        if self.mark is None:
            message = f"{self.root}: incomplete recording: {count} without {MARK_FILE}; {_CHOOSE}"
            raise ResponsesIncompleteError(message)
        if self.mark.state != "complete":
            message = f"{self.root}: incomplete recording: interrupted after {count}, or still in progress; {_CHOOSE}"
            raise ResponsesIncompleteError(message)
        if len(self.responses) < self.mark.responses:
            message = (
                f"{self.root}: expected {counted(self.mark.responses, 'response')} according to {MARK_FILE}, got "
                f"{len(self.responses)}; restore the missing files, or {_CHOOSE}"
            )
            raise ResponsesIncompleteError(message)


def read_folder(root: Path) -> ResponseFolder:
    """Read and validate a folder of responses; a missing folder is empty.

    Names starting with a dot are ignored.

    Raises:
        ResponsesError: it is unreadable, contains other files, or mixes two recordings.
        ResponseCorruptError: a file is corrupt.
        ResponsesIncompleteError: an earlier response to the same prompt is missing.
    """
    files = response_files(root)
    mark = read_mark(root / MARK_FILE)
    read = [(path, parse_response(_content(path), path)) for path in files]
    _demand_distinct(read)
    _demand_one_recording(mark, read)
    responses = sorted((each for _, each in read), key=lambda each: (each.key, each.sample_index))
    _demand_unbroken(root, responses)
    return ResponseFolder(root=root, mark=mark, responses=tuple(responses))


def read_whole_folder(root: Path) -> tuple[ModelResponse, ...]:
    """Read the responses of a bundle or run; without a folder there are none.

    Raises:
        ResponsesError: as `read_folder`, or the recording was interrupted.
    """
    folder = read_folder(root)
    if not folder.is_fresh:
        folder.demand_whole()
    return folder.responses


def response_files(root: Path) -> tuple[Path, ...]:
    """Return the response files of a folder, sorted; none if the folder is missing.

    Raises:
        ResponsesError: it is unreadable or contains other files.
    """
    try:
        entries = sorted(root.iterdir()) if root.exists() else []
        unknown = [each.name for each in entries if not _belongs(each)]
    except OSError as error:
        message = f"{root}: cannot read the folder of model responses: {error.strerror}; check the path"
        raise ResponsesError(message) from error
    if unknown:
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        message = (
            f"{root}: expected only model responses, got {unknown[0]}{more}; choose another folder or remove the others"
        )
        raise ResponsesError(message)
    return tuple(each for each in entries if FILE_NAME.fullmatch(each.name))


def write_mark(root: Path, mark: RecordingMark) -> None:
    """Write the state of the recording.

    Raises:
        OutputError: the file cannot be written.
    """
    write_whole(root / MARK_FILE, mark.model_dump_json(indent=1).encode() + b"\n")


def read_mark(path: Path) -> RecordingMark | None:
    """Read the state of a recording; None if there is no state file.

    Raises:
        ResponseCorruptError: the file is malformed.
    """
    if not path.exists():
        return None
    data = _content(path)
    try:
        return RecordingMark.model_validate_json(data)
    except ValidationError as error:
        message = f"{trace_error(error, data, str(path)).message}; record again with --refresh"
        raise ResponseCorruptError(message) from error


def _belongs(path: Path) -> bool:
    if path.name.startswith("."):
        return True
    is_ours = path.name == MARK_FILE or FILE_NAME.fullmatch(path.name) is not None
    return is_ours and path.is_file() and not path.is_symlink()


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        message = f"{path}: cannot read the recorded response: {error.strerror}; restore the file"
        raise ResponseCorruptError(message) from error


def _demand_distinct(read: Iterable[tuple[Path, ModelResponse]]) -> None:
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


def _demand_one_recording(mark: RecordingMark | None, read: list[tuple[Path, ModelResponse]]) -> None:
    known = mark.recording if mark is not None else read[0][1].recording if read else ""
    for path, response in read:
        if response.recording != known:
            message = (
                f"{path}: expected a response of recording {known}, got one of {response.recording}; store each "
                "recording in its own folder"
            )
            raise ResponsesError(message)


def _demand_unbroken(root: Path, responses: list[ModelResponse]) -> None:
    for missing in _gaps(responses):
        message = (
            f"{root / missing.file_name}: sample {missing.sample_index} of {missing.key} is missing, but later samples "
            "exist; restore the file, or record again with --refresh"
        )
        raise ResponsesIncompleteError(message)


def _gaps(responses: list[ModelResponse]) -> Iterator[ModelResponse]:
    """Yield the missing responses between recorded ones, as copies of the response that follows."""
    if responses and responses[0].sample_index > 0:
        yield responses[0].model_copy(update={"sample_index": 0})
    for before, after in pairwise(responses):
        wanted = before.sample_index + 1 if before.key == after.key else 0
        if after.sample_index != wanted:
            yield after.model_copy(update={"sample_index": wanted})
