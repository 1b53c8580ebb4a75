"""A folder of recorded responses: one file a response, and a mark that says whether all are there."""

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
"""Where a bundle, or the folder of a run, keeps them."""
MARK_FILE: Final = "recording.json"
_CHOOSE: Final = "--append asks for what is missing, --refresh for everything"


class RecordingMark(Record):
    """Say how far a recording came; written before its first response, and again when it ends."""

    format_version: Literal[1] = FORMAT_VERSION
    recording: str = Field(min_length=1)
    state: Literal["capturing", "stopped", "complete"]
    """A process that is killed leaves `capturing`."""
    responses: int = Field(ge=0)
    """How many there are, as far as the recording knew when it wrote this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseFolder:
    """What a folder holds, read and checked."""

    root: Path
    mark: RecordingMark | None
    responses: tuple[ModelResponse, ...]
    """By key, and in recorded order below it."""

    @property
    def is_fresh(self) -> bool:
        """Whether nothing was ever recorded into it: no response is there, and none is missing."""
        return not self.responses and (self.mark is None or self.mark.responses == 0)

    @property
    def recording(self) -> str | None:
        """Return the id of the recording; None where nothing was recorded."""
        if self.mark is not None:
            return self.mark.recording
        return self.responses[0].recording if self.responses else None

    def demand_whole(self) -> None:
        """Make sure that every response of the recording is here.

        Raises:
            ResponsesIncompleteError: the recording was stopped, or files are gone.
        """
        count = counted(len(self.responses), "response")
        if self.mark is None:
            message = f"{self.root}: wanted a whole recording, found {count} without {MARK_FILE}; {_CHOOSE}"
            raise ResponsesIncompleteError(message)
        if self.mark.state != "complete":
            message = (
                f"{self.root}: wanted a whole recording, found one that was stopped after {count}, "
                f"or is still being captured; {_CHOOSE}"
            )
            raise ResponsesIncompleteError(message)
        if len(self.responses) < self.mark.responses:
            message = (
                f"{self.root}: wanted {counted(self.mark.responses, 'response')}, as {MARK_FILE} says, found "
                f"{len(self.responses)}: files are gone; restore them, or {_CHOOSE}"
            )
            raise ResponsesIncompleteError(message)


def read_folder(root: Path) -> ResponseFolder:
    """Read everything a folder of responses holds; one that is not there holds nothing.

    Names that begin with a dot are no part of it.

    Raises:
        ResponsesError: it cannot be read, holds something else, or responses of two recordings.
        ResponseCorruptError: one of its files cannot be trusted.
        ResponsesIncompleteError: an earlier response to the same prompt is gone.
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
    """Read the responses of a bundle or a run; one without such a folder has none.

    Raises:
        ResponsesError: as `read_folder`, or the recording was not captured to its end.
    """
    folder = read_folder(root)
    if not folder.is_fresh:
        folder.demand_whole()
    return folder.responses


def response_files(root: Path) -> tuple[Path, ...]:
    """Return the files of a folder that bear the name of a response, in order; none where there is no folder.

    Raises:
        ResponsesError: it cannot be read, or holds something else.
    """
    try:
        entries = sorted(root.iterdir()) if root.exists() else []
        strangers = [each.name for each in entries if not _belongs(each)]
    except OSError as error:
        message = f"{root}: wanted a folder of model responses, found {error.strerror}; check the path"
        raise ResponsesError(message) from error
    if strangers:
        others = f" and {len(strangers) - 1} more" if len(strangers) > 1 else ""
        message = (
            f"{root}: wanted a folder of model responses and nothing else, found {strangers[0]}{others}; "
            "choose another folder, or take that away"
        )
        raise ResponsesError(message)
    return tuple(each for each in entries if FILE_NAME.fullmatch(each.name))


def write_mark(root: Path, mark: RecordingMark) -> None:
    """Say how far the recording is.

    Raises:
        OutputError: it cannot be written.
    """
    write_whole(root / MARK_FILE, mark.model_dump_json(indent=1).encode() + b"\n")


def read_mark(path: Path) -> RecordingMark | None:
    """Return how far a recording came; None where nothing says so.

    Raises:
        ResponseCorruptError: the file is something else.
    """
    if not path.exists():
        return None
    data = _content(path)
    try:
        return RecordingMark.model_validate_json(data)
    except ValidationError as error:
        message = f"{trace_error(error, data, str(path)).message}; --refresh records again"
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
        message = f"{path}: wanted a recorded response, found {error.strerror}; restore the file"
        raise ResponseCorruptError(message) from error


def _demand_distinct(read: Iterable[tuple[Path, ModelResponse]]) -> None:
    """Refuse two files for one place, and then a file under the name of another place."""
    places: dict[tuple[str, str, int], Path] = {}
    for path, response in read:
        first = places.setdefault((*response.key, response.sample_index), path)
        if first != path:
            message = (
                f"{path}: wanted one file for sample {response.sample_index} of {response.key}, found {first.name} "
                "too; keep the one that was recorded"
            )
            raise ResponseCorruptError(message)
    for path, response in read:
        if path.name != response.file_name:
            message = (
                f"{path}: wanted the name {response.file_name} for sample {response.sample_index} of {response.key}, "
                "found another one; name the file as it was recorded"
            )
            raise ResponseCorruptError(message)


def _demand_one_recording(mark: RecordingMark | None, read: list[tuple[Path, ModelResponse]]) -> None:
    known = mark.recording if mark is not None else read[0][1].recording if read else ""
    for path, response in read:
        if response.recording != known:
            message = (
                f"{path}: wanted a response of recording {known}, found one of {response.recording}: the folder mixes "
                "two recordings; keep each in a folder of its own"
            )
            raise ResponsesError(message)


def _demand_unbroken(root: Path, responses: list[ModelResponse]) -> None:
    for missing in _gaps(responses):
        message = (
            f"{root / missing.file_name}: wanted sample {missing.sample_index} of {missing.key}, which came before "
            "others to the same prompt, found no file; restore it, or --refresh"
        )
        raise ResponsesIncompleteError(message)


def _gaps(responses: list[ModelResponse]) -> Iterator[ModelResponse]:
    """Yield a response in the place of the first one that is missing before another."""
    if responses and responses[0].sample_index > 0:
        yield responses[0].model_copy(update={"sample_index": 0})
    for before, after in pairwise(responses):
        wanted = before.sample_index + 1 if before.key == after.key else 0
        if after.sample_index != wanted:
            yield after.model_copy(update={"sample_index": wanted})
