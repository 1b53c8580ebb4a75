"""The network part of a bundle: exchanges in `index.jsonl`, WebSockets in `sockets.jsonl`, bodies in `blobs/`.

`long_tasks.jsonl` has the long tasks of pages.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from os import SEEK_END
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, Self, TypeVar

from pydantic import ValidationError

from eikon_engine.errors import OutputError, TraceError, TraceFieldError, TraceSyntaxError
from eikon_engine.files.blobs import BlobRef, BlobStore
from eikon_engine.files.limits import open_file, read_lines
from eikon_engine.files.models import MAX_FAULTS, DeferredAdapter, FileModel, validation_error
from eikon_engine.files.writing import append_whole, make_folders, open_new_file, write_advice, write_atomically
from eikon_engine.network.exchange import Exchange, Moment
from eikon_engine.network.long_tasks import LongTask, merge_long_tasks
from eikon_engine.network.websocket import SocketEvent, SocketMessage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from types import TracebackType


class _Claim(NamedTuple):
    """A number that must be unique, its namespace, and its field."""

    namespace: str
    number: int
    field: str


class UsedNumbers:
    """The used ordinals, occurrences per key, and delivery positions.

    Completed exchanges, chunks of bodies and WebSocket events share one delivery order.
    """

    def __init__(self) -> None:
        """Start with nothing used."""
        self._owners: dict[tuple[str, int], str] = {}

    def claim_exchange(self, exchange: Exchange, where: str) -> None:
        """Register the numbers of an exchange.

        Raises:
            TraceFieldError: a number is already used.
        """
        self._claim(
            _claims(exchange),
            f"exchange {exchange.ordinal} ({exchange.request.method} {exchange.request.url})",
            where,
        )

    def claim_event(self, event: SocketEvent, where: str) -> None:
        """Register the delivery position of a WebSocket event.

        Raises:
            TraceFieldError: the position is already used.
        """
        name = f"event {event.kind!r} of socket {event.socket}"
        self._claim(iter((_Claim("", event.moment.order, "moment.order"),)), name, where)

    def _claim(self, claims: Iterator[_Claim], name: str, where: str) -> None:
        new: dict[tuple[str, int], str] = {}
        for claim in claims:
            place = (claim.namespace, claim.number)
            owner = name if place in new else self._owners.get(place)
            if owner is not None:
                of_key = f" of {claim.namespace}" if claim.field == "occurrence" else ""
                message = f"{where}: {claim.field}: {claim.number}{of_key} is already used by {owner}. Remove one."
                raise TraceFieldError(message)
            new[place] = name
        self._owners.update(new)


def _claims(exchange: Exchange) -> Iterator[_Claim]:
    yield _Claim("ordinal", exchange.ordinal, "ordinal")
    yield _Claim(exchange.key, exchange.occurrence, "occurrence")
    if exchange.completion is not None:
        yield _Claim("", exchange.completion, "completion")
    pieces = exchange.pieces
    for number, piece in enumerate(pieces):
        if number == 1 and piece.moment == pieces[0].moment and pieces[0].length == 0:
            continue  # the first bytes may be received together with the headers
        yield _Claim("", piece.moment.order, f"pieces.{number}.moment.order")


ADDED_FIELDS: Final = (frozenset({"phase", "pieces"}), frozenset({"started_phase"}))
"""Fields that older recordings do not have; a file has all fields of a group or none."""


def find_missing_field(record: FileModel) -> str | None:
    """Return the path of the first field that the file does not contain; None if it contains all.

    Defaults exist for code that creates records. Files contain every field, so a missing one means data loss.
    """
    absent = (group for group in ADDED_FIELDS if record.model_fields_set.isdisjoint(group))
    optional = frozenset[str]().union(*absent)
    for name in type(record).model_fields:
        if name not in record.model_fields_set and name not in optional:
            return name
        value: object = getattr(record, name)
        inner = {name: value} if not isinstance(value, tuple) else {f"{name}.{n}": each for n, each in enumerate(value)}
        for path, each in inner.items():
            missing = find_missing_field(each) if isinstance(each, FileModel) else None
            if missing is not None:
                return f"{path}.{missing}"
    return None


INDEX_NAME: Final = "index.jsonl"
SOCKETS_NAME: Final = "sockets.jsonl"
LONG_TASKS_NAME: Final = "long_tasks.jsonl"
BLOBS_NAME: Final = "blobs"
_SHOWN_BYTES: Final = 40
_EXCHANGE: Final[DeferredAdapter[Exchange]] = DeferredAdapter(Exchange)
_SOCKET_EVENT: Final[DeferredAdapter[SocketEvent]] = DeferredAdapter(SocketEvent)
_LONG_TASK: Final[DeferredAdapter[LongTask]] = DeferredAdapter(LongTask)
_RecordT = TypeVar("_RecordT", bound=FileModel)


class IndexWriter:
    """Append exchanges to an open index, and store their bodies.

    Not thread-safe. Lines are flushed to the operating system but not synced to disk.
    """

    _path: Path
    _index: BinaryIO
    _blobs: BlobStore
    _places: UsedNumbers

    def write_blob(self, data: bytes) -> BlobRef:
        """Store a body; must be called before the exchange that refers to it is appended.

        Raises:
            OutputError: the folder cannot be written.
        """
        return self._blobs.put(data)

    def append(self, exchange: Exchange) -> None:
        """Write one exchange.

        Raises:
            TraceError: a body was not stored before.
            TraceFieldError: a number of the exchange is already used.
            OutputError: the index cannot be written.
        """
        require_blobs(exchange, self._blobs, str(self._path))
        self._places.claim_exchange(exchange, str(self._path))
        try:
            append_whole(self._index.fileno(), exchange.model_dump_json().encode() + b"\n")
        except OSError as error:
            raise OutputError(unwritable_message(self._path, error)) from error

    def close(self) -> None:
        """Close the index; further calls have no effect."""
        self._index.close()

    def __enter__(self) -> Self:
        """Return the writer itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the index."""
        self.close()


class NetworkWriter(IndexWriter):
    """Create a recording and write exchanges as they complete. What a killed process leaves can be read."""

    def __init__(self, folder: Path) -> None:
        """Create a new index in `folder`, which is created if necessary.

        Raises:
            OutputError: the folder cannot be written, or already contains a recording.
        """
        self._path = folder / INDEX_NAME
        self._blobs = BlobStore(folder / BLOBS_NAME)
        self._places = UsedNumbers()
        self._long_tasks: BinaryIO | None = None
        """Opened for the first long task: most recordings have none."""
        self._is_closed = False
        try:
            make_folders(folder)
            self._index = open_new_file(self._path)
            try:
                self._sockets = open_new_file(folder / SOCKETS_NAME)
            except OSError:
                self._index.close()
                self._path.unlink()
                raise
        except FileExistsError as error:
            message = f"{error.filename}: the folder already contains a network recording. Choose another folder."
            raise OutputError(message) from error
        except OSError as error:
            raise OutputError(unwritable_message(self._path, error)) from error

    def append_socket(self, event: SocketEvent) -> None:
        """Write one WebSocket event.

        Raises:
            TraceFieldError: the delivery position of the event is already used.
            OutputError: the file cannot be written.
        """
        self._places.claim_event(event, str(self._path.with_name(SOCKETS_NAME)))
        try:
            append_whole(self._sockets.fileno(), event.model_dump_json().encode() + b"\n")
        except OSError as error:
            raise OutputError(unwritable_message(self._path.with_name(SOCKETS_NAME), error)) from error

    def append_long_tasks(self, tasks: Iterable[LongTask]) -> None:
        """Write long tasks of a page; ignored once the files are closed.

        Raises:
            OutputError: the file cannot be written.
        """
        if self._is_closed:
            return
        path = self._path.with_name(LONG_TASKS_NAME)
        try:
            self._long_tasks = self._long_tasks or open_new_file(path)
            lines = b"".join(task.model_dump_json().encode() + b"\n" for task in tasks)
            append_whole(self._long_tasks.fileno(), lines)
        except OSError as error:
            raise OutputError(unwritable_message(path, error)) from error

    def close(self) -> None:
        """Close the files; further calls have no effect."""
        super().close()
        self._sockets.close()
        self._is_closed = True
        if self._long_tasks is not None:
            self._long_tasks.close()

    def discard(self) -> None:
        """Close and delete the files."""
        self.close()
        for name in (INDEX_NAME, SOCKETS_NAME, LONG_TASKS_NAME):
            self._path.with_name(name).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkRecording:
    """The network part of a bundle in memory."""

    exchanges: tuple[Exchange, ...]
    """In the order the requests were sent."""
    truncation: str | None
    """Warning about a truncated last line; None if the files are complete."""
    blobs: BlobStore
    sockets: tuple[SocketEvent, ...] = ()
    """In the order of occurrence."""
    long_tasks: tuple[LongTask, ...] = ()
    """Long tasks of pages, in order and without overlaps; missions of agents only."""
    end_ms: float = math.inf
    """Page time at which the mission ended; infinity if replays pass no more than that."""
    before_timeline: NetworkRecording | None = None
    """The recording with its recorded moments, if a timeline replaced these."""

    @property
    def as_recorded(self) -> NetworkRecording:
        """Return the recording with its recorded moments."""
        return self.before_timeline or self

    @property
    def refs(self) -> tuple[BlobRef, ...]:
        """Return every blob that the network part refers to, each once."""
        bodies = (ref for exchange in self.exchanges for ref in exchange.blobs)
        messages = (event.body for event in self.sockets if isinstance(event, SocketMessage))
        return tuple(dict.fromkeys(ref for ref in (*bodies, *messages) if ref is not None))

    def message(self, message: SocketMessage) -> bytes:
        """Return the content of a WebSocket message; for errors see `body`."""
        return self.body(message.body) if message.body is not None else (message.text or "").encode()

    def body(self, ref: BlobRef) -> bytes:
        """Read a body.

        Raises:
            TraceError: the file is missing; the content does not match `ref`.
        """
        return self.blobs.get(ref)


def read_network(folder: Path) -> NetworkRecording:
    """Read the network part of a bundle. Bodies are checked for existence and loaded on demand.

    The last ones that were read are not read again unless their files have changed.

    Raises:
        TraceError: the index or a body is missing.
        TraceSyntaxError: a line other than a truncated last one is not JSON.
        TraceFieldError: a line is not a valid exchange or event, or reuses a number.
    """
    return _read_files(
        folder, tuple(_file_version(folder / name) for name in (INDEX_NAME, SOCKETS_NAME, LONG_TASKS_NAME))
    )


def _file_version(path: Path) -> tuple[int, int, int] | None:
    """Return what changes when a file is replaced or appended to; None if it cannot be read."""
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_ino, state.st_size, state.st_mtime_ns


@lru_cache(maxsize=2)
def _read_files(folder: Path, _versions: tuple[tuple[int, int, int] | None, ...]) -> NetworkRecording:
    path, blobs, places = folder / INDEX_NAME, BlobStore(folder / BLOBS_NAME), UsedNumbers()
    exchanges, truncated_line = _read_lines(path, _EXCHANGE, "exchange")
    for number, exchange in exchanges:
        places.claim_exchange(exchange, f"{path}, line {number}")
        require_blobs(exchange, blobs, f"{path}, line {number}")
    path = folder / SOCKETS_NAME
    sockets, torn_sockets = _read_lines(path, _SOCKET_EVENT, "socket event") if path.exists() else ([], None)
    for number, event in sockets:
        places.claim_event(event, f"{path}, line {number}")
        if isinstance(event, SocketMessage) and event.body is not None and not blobs.has(event.body):
            message = f"{path}, line {number}: missing file of a message: {blobs.path(event.body)}. Restore the bundle."
            raise TraceError(message, code="attachment-missing")
    messages = (event.body for _, event in sockets if isinstance(event, SocketMessage))
    blobs.require_ratio({ref for ref in chain(*(each.blobs for _, each in exchanges), messages) if ref is not None})
    path = folder / LONG_TASKS_NAME
    tasks, torn_tasks = _read_lines(path, _LONG_TASK, "long task") if path.exists() else ([], None)
    return NetworkRecording(
        exchanges=tuple(sorted((each for _, each in exchanges), key=lambda exchange: exchange.ordinal)),
        truncation=truncated_line or torn_sockets or torn_tasks,
        blobs=blobs,
        sockets=tuple(sorted((each for _, each in sockets), key=lambda event: event.moment.order)),
        long_tasks=merge_long_tasks(each for _, each in tasks),
    )


class IndexReader:
    """Reads the exchanges of a recording in progress, each once."""

    def __init__(self, folder: Path) -> None:
        """Read from the beginning of the index in `folder`."""
        self.recording = NetworkRecording(exchanges=(), truncation=None, blobs=BlobStore(folder / BLOBS_NAME))
        """The recording without its exchanges, to read bodies from."""
        self._path = folder / INDEX_NAME
        self._offset = 0

    def read_new(self) -> tuple[Exchange, ...]:
        """Return the exchanges that were written since the last call, in the order the requests were sent.

        Raises:
            TraceError: the index cannot be read.
            TraceSyntaxError: a line is not JSON.
            TraceFieldError: a line is not a valid exchange.
        """
        try:
            with open_file(self._path, root=self._path.parent) as file:
                file.seek(self._offset)
                lines = file.read().rpartition(b"\n")[0]
        except OSError as error:
            raise _unreadable(self._path, error) from error
        if not lines:
            return ()
        self._offset += len(lines) + 1
        found = [_parse_line(line, _EXCHANGE, str(self._path), "exchange") for line in lines.split(b"\n")]
        return tuple(sorted(found, key=lambda exchange: exchange.ordinal))


def write_network(folder: Path, recording: NetworkRecording) -> None:
    """Replace the files of a recording, apart from bodies; each is written whole or not at all.

    Raises:
        OutputError: the folder cannot be written.
    """
    records: tuple[tuple[str, Sequence[FileModel]], ...] = (
        (INDEX_NAME, recording.exchanges),
        (SOCKETS_NAME, recording.sockets),
        (LONG_TASKS_NAME, recording.long_tasks),
    )
    for name, lines in records:
        if lines or (folder / name).exists():
            data = b"".join(each.model_dump_json().encode() + b"\n" for each in lines)
            write_atomically(folder / name, data)


def _read_lines(
    path: Path, kind: DeferredAdapter[_RecordT], name: str
) -> tuple[list[tuple[int, _RecordT]], str | None]:
    """Parse a JSONL file; return its records with line numbers, and a warning if the last line is truncated."""
    try:
        lines, rest = read_lines(path, root=path.parent)
    except OSError as error:
        raise _unreadable(path, error) from error
    read: list[tuple[int, _RecordT]] = []
    for number, line in enumerate((*lines, rest) if rest else lines, start=1):
        try:
            read.append((number, _parse_line(line, kind, f"{path}, line {number}", name)))
        except TraceSyntaxError as error:
            if number <= len(lines):
                raise
            return read, f"{error.message}; only the {len(lines)} lines before it were read"
    return read, None


def _unreadable(path: Path, error: OSError) -> TraceError:
    message = f"{path}: cannot read the recorded network: {error.strerror}. Restore the bundle."
    return TraceError(message, code="attachment-missing")


def _parse_line(line: bytes, kind: DeferredAdapter[_RecordT], where: str, name: str) -> _RecordT:
    try:
        record = kind.validate_json(line)
    except ValidationError as error:
        if error.error_count() > MAX_FAULTS:
            raise validation_error(error, line, where) from error
        fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
        if fault["type"] == "json_invalid":
            message = f"{where}: expected a JSON object, got {_shorten_line(line)} ({fault['msg']})"
            raise TraceSyntaxError(message) from error
        field = ".".join(map(str, fault["loc"])) or name
        message = f"{where}: {field}: {fault['msg'].removeprefix('Value error, ')}"
        raise TraceFieldError(message) from error
    missing = find_missing_field(record)
    if missing is not None:
        message = f"{where}: {missing}: the field is missing. Restore the file."
        raise TraceFieldError(message)
    return record


def require_blobs(exchange: Exchange, blobs: BlobStore, where: str) -> None:
    """Check that the bodies of an exchange are stored.

    Raises:
        TraceError: a body is missing.
    """
    for ref in exchange.blobs:
        if not blobs.has(ref):
            message = (
                f"{where}: missing body of exchange {exchange.ordinal} ({exchange.request.method} "
                f"{exchange.request.url}): {blobs.path(ref)}. Restore the bundle or record it again."
            )
            raise TraceError(message, code="attachment-missing")


def _shorten_line(line: bytes) -> str:
    return repr(line[:_SHOWN_BYTES].decode(errors="replace") + ("…" if len(line) > _SHOWN_BYTES else ""))


def unwritable_message(path: Path, error: OSError) -> str:
    """Return the message for a recording file that cannot be written."""
    return f"{path}: cannot write the network recording: {error.strerror}; {write_advice(error)}"


class NetworkAppender(IndexWriter):
    """Append to an existing recording; not safe for several threads or processes."""

    def __init__(self, folder: Path) -> None:
        """Open the index in `folder`; a truncated last line is removed first.

        Raises:
            TraceError: the recording cannot be read.
            OutputError: the recording cannot be written.
        """
        recording = read_network(folder)
        self._path = folder / INDEX_NAME
        self._blobs = BlobStore(folder / BLOBS_NAME)
        self._places = UsedNumbers()
        for exchange in recording.exchanges:
            self._places.claim_exchange(exchange, str(self._path))
        for event in recording.sockets:
            self._places.claim_event(event, str(self._path))
        try:
            self._index = self._path.open("r+b", buffering=0)
            *lines, rest = self._index.read().split(b"\n")
            if rest and len(recording.exchanges) > len(lines):
                self._index.write(b"\n")  # the line is complete except for its line break
            elif rest:
                self._index.seek(-len(rest), SEEK_END)
                self._index.truncate()
        except OSError as error:
            raise OutputError(unwritable_message(self._path, error)) from error


class NumberAllocator:
    """Allocate ordinals, occurrences and delivery positions after those of a recording; mutable."""

    def __init__(self, *recordings: NetworkRecording) -> None:
        """Start after all of the recordings, which are the same network as stored and as replayed."""
        exchanges = [each for recording in recordings for each in recording.exchanges]
        self._ordinal = max((each.ordinal for each in exchanges), default=-1)
        self._order = max((order for recording in recordings for order in _delivery_orders(recording)), default=-1)
        self._occurrences: Counter[str] = Counter()
        for each in exchanges:
            self._occurrences[each.key] = max(self._occurrences[each.key], each.occurrence + 1)

    def next_ordinal(self) -> int:
        """Return the ordinal of the next request."""
        self._ordinal += 1
        return self._ordinal

    def next_occurrence(self, key: str) -> int:
        """Return the occurrence of the next request with a key."""
        self._occurrences[key] += 1
        return self._occurrences[key] - 1

    def next_moment(self, at_ms: float, phase: int) -> Moment:
        """Return the moment of the next delivery, at a page time and in a phase."""
        self._order += 1
        return Moment(order=self._order, at_ms=max(0, round(at_ms)), phase=phase)


def _delivery_orders(recording: NetworkRecording) -> Iterator[int]:
    for exchange in recording.exchanges:
        if exchange.completion is not None:
            yield exchange.completion
        yield from (piece.moment.order for piece in exchange.pieces)
    yield from (event.moment.order for event in recording.sockets)
