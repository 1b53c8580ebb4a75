"""Fixtures: one recorded tool call per file, `fixtures/<tool>/<args_hash>.json`, and their folder."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar

import rfc8785
from pydantic import AwareDatetime, Field, JsonValue, ValidationError
from pydantic_core import from_json

from eikon_engine.errors import FixtureFolderError, ResultNotStorableError, ToolArgumentsError
from eikon_engine.files.blobs import BlobRef, BlobStore
from eikon_engine.files.json_text import child_path
from eikon_engine.files.limits import MAX_JSON_DEPTH, read_document
from eikon_engine.files.models import FileModel, FiniteJson, validation_error
from eikon_engine.secrets.redaction import FoundSecret

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path


def args_hash(args: Mapping[str, JsonValue]) -> str:
    """Return the hash of arguments.

    Numbers follow RFC 8785, that is JavaScript: `1` equals `1.0`, and `0` equals `-0.0`. Strings are not Unicode
    normalized.

    Raises:
        ToolArgumentsError: canonical JSON cannot represent them: an integer beyond 2^53 - 1, NaN, infinity, a lone
            surrogate, a key that is not a string, or a value that is not JSON.
    """
    try:
        text = rfc8785.dumps(dict(args))
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError) as error:
        message = (
            "expected arguments that canonical JSON (RFC 8785) can represent, got "
            f"{_describe_error(error)}. Pass a string."
        )
        raise ToolArgumentsError(message) from error
    return hashlib.sha256(text).hexdigest()


def _describe_error(error: Exception) -> str:
    match error:
        case RecursionError():
            return "endless nesting"
        case UnicodeEncodeError():
            return "a lone surrogate"
        case _:
            return str(error)


class DigestedRecord(FileModel):
    """A record with a digest of its other fields."""

    digest: str = Field(default="", pattern=r"^([0-9a-f]{64})?$")
    """SHA-256 of the other fields as canonical JSON; empty until written."""


RecordType = TypeVar("RecordType", bound=DigestedRecord)


def digested_text(record: DigestedRecord) -> bytes:
    """Serialize a record with its digest."""
    content: JsonValue = from_json(record.model_dump_json())
    sealed = record.model_copy(update={"digest": _content_digest(content)})
    return sealed.model_dump_json(indent=1).encode() + b"\n"


def read_digested(kind: type[RecordType], path: Path) -> RecordType:
    """Read a record that `digested_text` serialized, and verify its digest.

    Raises:
        FixtureFolderError: it cannot be read, is invalid, or was changed.
    """
    try:
        data = read_document(path, root=path.parent)
    except OSError as error:
        message = f"{path}: the file cannot be read ({error.strerror}). Check its permissions, or record again."
        raise FixtureFolderError(message, code="fixture-corrupt") from error
    try:
        record = kind.model_validate_json(data)
    except ValidationError as error:
        raise FixtureFolderError(validation_error(error, data, str(path)).message, code="fixture-corrupt") from error
    try:
        found = _content_digest(from_json(data, allow_inf_nan=False))
    except ValueError as error:
        message = f"{path}: expected JSON with a digest, got {error}. Record again."
        raise FixtureFolderError(message, code="fixture-corrupt") from error
    if record.digest != found:
        expected = f"{record.digest[:12]}…" if record.digest else "none"
        message = (
            f"{path}: expected digest {expected} as in the file, got {found[:12]}… for its content. The file is corrupt"
            " or was edited. Record again."
        )
        raise FixtureFolderError(message, code="fixture-corrupt")
    return record


def _content_digest(content: JsonValue) -> str:
    """Return the digest of parsed JSON, serialized like `canonical_json`."""
    if isinstance(content, dict):
        content = {name: value for name, value in content.items() if name != "digest"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


FIXTURE_FORMAT_VERSION: Final = 1
RECORDING_FILE: Final = "recording.json"
BLOBS_FOLDER: Final = "blobs"
"""Subfolder for bytes in the folder of a tool."""
_FIXTURE_NAME: Final = re.compile(r"([0-9a-f]{64})(?:\.([1-9][0-9]{0,8}))?\.json")


class ToolFailureRecord(FileModel):
    """An exception of a tool."""

    type: str = Field(min_length=1)
    """Class name of the exception."""
    code: str | None = None
    """Its `code`, if it is a string."""
    message: str


class Fixture(DigestedRecord):
    """One tool call with its result; named secrets appear as references, found ones as stand-ins."""

    format_version: Literal[1] = FIXTURE_FORMAT_VERSION
    run_id: str = Field(min_length=1)
    """Id of its recording."""
    tool: str = Field(min_length=1)
    args: dict[str, FiniteJson]
    args_hash: str = Field(pattern=r"^[0-9a-f]{64}$")
    occurrence: int = Field(ge=1)
    """Number among the calls with equal arguments, from 1."""
    order: int = Field(ge=1)
    """Number among all tool calls of the run, from 1."""
    result: FiniteJson = None
    """Return value; bytes are stored as `{"$bytes": {"sha256": …, "size": …}}`."""
    error: ToolFailureRecord | None = None
    """Exception raised instead."""
    started_at: AwareDatetime
    ended_at: AwareDatetime
    duration_seconds: float = Field(ge=0)


class RecordingInfo(DigestedRecord):
    """Metadata of a fixtures folder, `fixtures/recording.json`."""

    format_version: Literal[1] = FIXTURE_FORMAT_VERSION
    run_id: str = Field(min_length=1)
    started_at: AwareDatetime
    ended_at: AwareDatetime | None = None
    """None until the recording is complete."""
    calls: int | None = None
    """Number of tool calls; None until the recording is complete."""
    secrets: tuple[FoundSecret, ...] = ()
    """The stand-ins in the fixtures."""


def fixture_name(digest: str, occurrence: int) -> str:
    """Return the file name of a call."""
    return f"{digest}.json" if occurrence == 1 else f"{digest}.{occurrence}.json"


def parse_fixture_name(name: str) -> tuple[str, int] | None:
    """Parse hash and occurrence from a file name; None if it is not a fixture."""
    found = _FIXTURE_NAME.fullmatch(name)
    if found is None:
        return None
    digest, occurrence = found[1], int(found[2] or 1)
    return (digest, occurrence) if fixture_name(digest, occurrence) == name else None


def read_fixture(
    folder: Path, tool: str, digest: str, occurrence: int, hashed: dict[str, JsonValue] | None = None
) -> Fixture:
    """Read the fixture of a call, and check that it matches its path.

    `hashed` are arguments known to have the hash, which saves hashing them again.

    Raises:
        FixtureFolderError: it cannot be read, was edited, or does not match its path.
    """
    path = folder / tool / fixture_name(digest, occurrence)
    fixture = read_digested(Fixture, path)
    for name, found, expected in (
        ("tool", fixture.tool, tool),
        ("args_hash", fixture.args_hash, digest),
        ("occurrence", fixture.occurrence, occurrence),
        ("args with the hash", digest if fixture.args == hashed else args_hash(fixture.args), digest),
    ):
        if found != expected:
            message = (
                f"{path}: expected {name} {expected} to match the path, got {found}. Restore the file, or record again."
            )
            raise FixtureFolderError(message, code="fixture-corrupt")
    return fixture


FixtureKey = tuple[str, str, int]
"""Tool, hash of the arguments, occurrence."""


class FixtureFolder:
    """The recorded calls of a folder, known by their file names."""

    def __init__(self, folder: Path) -> None:
        """List the folder.

        Raises:
            FixtureFolderError: it is not a fixtures folder, or holds other files; the recorded run did not complete.
        """
        self.folder = folder
        self.info = _read_recording_info(folder)
        self._keys = dict.fromkeys(_list_folder(folder), False)
        self.tools = frozenset(tool for tool, _, _ in self._keys)

    def __contains__(self, key: FixtureKey) -> bool:
        """Return whether a call was recorded."""
        return key in self._keys

    def __len__(self) -> int:
        """Return the number of recorded calls."""
        return len(self._keys)

    def keys(self, tool: str) -> list[FixtureKey]:
        """Return the recorded calls of one tool."""
        return [key for key in self._keys if key[0] == tool]

    def read(self, key: FixtureKey, hashed: dict[str, JsonValue] | None = None) -> Fixture:
        """Read one call; for `hashed` see `read_fixture`.

        Raises:
            FixtureFolderError: its file is corrupt or was edited; it belongs to another recording.
        """
        tool, digest, occurrence = key
        fixture = read_fixture(self.folder, tool, digest, occurrence, hashed)
        if fixture.run_id != self.info.run_id:
            path = self.folder / tool / fixture_name(digest, occurrence)
            message = (
                f"{path}: expected a fixture of run {self.info.run_id}, got one of run {fixture.run_id}. "
                "Use the fixtures of one recording."
            )
            raise FixtureFolderError(message, code="fixtures-mixed")
        return fixture

    def use(self, key: FixtureKey, args: dict[str, JsonValue]) -> Fixture:
        """Read the call with these arguments, and mark it as used."""
        fixture = self.read(key, args)
        self._keys[key] = True
        return fixture

    def unused(self) -> Iterator[Fixture]:
        """Read the unused calls, in no particular order."""
        return (self.read(key) for key, is_used in self._keys.items() if not is_used)


def _read_recording_info(folder: Path) -> RecordingInfo:
    path = folder / RECORDING_FILE
    if not folder.is_dir() or not path.is_file():
        found = f"a folder without {RECORDING_FILE}" if folder.is_dir() else "no folder"
        message = f"{folder}: expected the fixtures folder of a recorded run, got {found}. Check the path."
        raise FixtureFolderError(message)
    note = read_digested(RecordingInfo, path)
    if note.ended_at is None:
        message = (
            f"{folder}: expected fixtures of a complete run, got run {note.run_id}, which was killed or is still "
            "running. Record again."
        )
        raise FixtureFolderError(message, code="fixtures-incomplete")
    return note


def _list_folder(folder: Path) -> Iterator[FixtureKey]:
    with os.scandir(folder) as tools:
        for tool in tools:
            if tool.is_dir():
                yield from _list_tool_folder(folder, tool.name)
            elif tool.name != RECORDING_FILE and not tool.name.startswith("."):
                raise _unexpected_file(folder / tool.name)


def _list_tool_folder(folder: Path, tool: str) -> Iterator[FixtureKey]:
    with os.scandir(folder / tool) as files:
        for file in files:
            named = parse_fixture_name(file.name)
            if named is not None:
                yield tool, *named
            elif file.name != BLOBS_FOLDER and not file.name.startswith("."):
                raise _unexpected_file(folder / tool / file.name)


def _unexpected_file(path: Path) -> FixtureFolderError:
    return FixtureFolderError(
        f"unexpected file in a fixtures folder ({path}): expected only <tool>/<args_hash>.json. Remove it."
    )


BYTES_KEY: Final = "$bytes"
"""The only key of an object that represents bytes."""

ToolResultValue: TypeAlias = (
    "bool | int | float | str | bytes | list[ToolResultValue] | dict[str, ToolResultValue] | None"
)
"""A value that a tool may return."""


def store_result(result: ToolResultValue, put: Callable[[bytes], BlobRef]) -> JsonValue:
    """Return a result in the format of fixtures; `put` stores bytes.

    Raises:
        ResultNotStorableError: it cannot be restored exactly; the message names the place.
    """
    return _encode(result, "$", put, MAX_JSON_DEPTH)


def restore_result(stored: JsonValue, blobs: BlobStore) -> ToolResultValue:
    """Return a result as the tool returned it.

    Raises:
        TraceError: a blob is missing or corrupt.
        FixtureFolderError: a reference to bytes is invalid.
    """
    match stored:
        case list():
            return [restore_result(each, blobs) for each in stored]
        case dict() if BYTES_KEY in stored:
            return blobs.get(_blob_ref(stored))
        case dict():
            return {name: restore_result(each, blobs) for name, each in stored.items()}
        case _:
            return stored


def _blob_ref(stored: dict[str, JsonValue]) -> BlobRef:
    try:
        return BlobRef.model_validate(stored[BYTES_KEY])
    except ValidationError as error:
        message = f"expected sha256 and size under {BYTES_KEY}, got {stored[BYTES_KEY]!r}. Record again."
        raise FixtureFolderError(message, code="fixture-corrupt") from error


def _encode(value: object, path: str, put: Callable[[bytes], BlobRef], levels: int) -> JsonValue:
    if levels < 0:
        raise _not_storable(path, f"more than {MAX_JSON_DEPTH} levels of lists and objects", "Return a flatter value.")
    match value:
        case None | bool():
            return value
        case str():
            return _checked_text(value, path)
        case int() | float():
            return _checked_number(value, path)
        case bytes():
            return {BYTES_KEY: put(value).model_dump()}
        case list():
            return [_encode(each, child_path(path, place), put, levels - 1) for place, each in enumerate(value)]
        case dict():
            return {
                _checked_key(name, path): _encode(each, child_path(path, name), put, levels - 1)
                for name, each in value.items()
            }
        case _:
            advice = "Return None, bool, int, float, str, bytes, list or dict."
            raise _not_storable(path, f"a value of type {type(value).__name__}", advice)


def _checked_text(value: str, path: str) -> str:
    if type(value) is not str:
        raise _not_storable(path, f"a string of type {type(value).__name__}", "Return a plain str.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise _not_storable(path, "a lone surrogate", "Return bytes.") from error
    return value


def _checked_number(value: float, path: str) -> float:
    if type(value) not in {int, float}:
        raise _not_storable(path, f"a number of type {type(value).__name__}", "Return a plain int or float.")
    if not math.isfinite(value):
        raise _not_storable(path, str(value), "Return None.")
    return value


def _checked_key(name: object, path: str) -> str:
    if not isinstance(name, str):
        raise _not_storable(path, f"the key {name!r}", "Use a string.")
    if name == BYTES_KEY:
        raise _not_storable(path, f"the reserved key {BYTES_KEY}", "Use another key.")
    return _checked_text(name, path)


def _not_storable(path: str, found: str, advice: str) -> ResultNotStorableError:
    return ResultNotStorableError(f"{path}: expected a result that a fixture can hold, got {found}. {advice}")
