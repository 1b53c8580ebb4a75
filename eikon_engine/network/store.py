"""The network part of a bundle: exchanges in `index.jsonl`, WebSockets in `sockets.jsonl`, bodies in `blobs/`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Final, Self, TypeVar

from pydantic import TypeAdapter, ValidationError

from eikon_engine.errors import AttachmentMissingError, OutputError, TraceFieldError, TraceSyntaxError
from eikon_engine.network.exchange import Exchange
from eikon_engine.network.places import UsedNumbers
from eikon_engine.network.socket import SocketEvent, SocketMessage
from eikon_engine.network.written import find_missing_field
from eikon_engine.trace.blobs import BlobRef, BlobStore
from eikon_engine.trace.record import FileModel

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

INDEX_NAME: Final = "index.jsonl"
SOCKETS_NAME: Final = "sockets.jsonl"
BLOBS_NAME: Final = "blobs"
_SHOWN_BYTES: Final = 40
_EXCHANGE: Final[TypeAdapter[Exchange]] = TypeAdapter(Exchange)
_SOCKET_EVENT: Final[TypeAdapter[SocketEvent]] = TypeAdapter(SocketEvent)
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
        """Write and flush one exchange.

        Raises:
            AttachmentMissingError: a body was not stored before.
            TraceFieldError: a number of the exchange is already used.
            OutputError: the index cannot be written.
        """
        require_blobs(exchange, self._blobs, str(self._path))
        self._places.claim_exchange(exchange, str(self._path))
        try:
            self._index.write(exchange.model_dump_json().encode() + b"\n")
            self._index.flush()
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
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._index = self._path.open("xb")
            self._sockets = (folder / SOCKETS_NAME).open("xb")
        except FileExistsError as error:
            message = f"{self._path}: the folder already contains a network recording. Choose another folder."
            raise OutputError(message) from error
        except OSError as error:
            raise OutputError(unwritable_message(self._path, error)) from error

    def append_socket(self, event: SocketEvent) -> None:
        """Write and flush one WebSocket event.

        Raises:
            TraceFieldError: the delivery position of the event is already used.
            OutputError: the file cannot be written.
        """
        self._places.claim_event(event, str(self._path.with_name(SOCKETS_NAME)))
        try:
            self._sockets.write(event.model_dump_json().encode() + b"\n")
            self._sockets.flush()
        except OSError as error:
            raise OutputError(unwritable_message(self._path.with_name(SOCKETS_NAME), error)) from error

    def close(self) -> None:
        """Close the files; further calls have no effect."""
        super().close()
        self._sockets.close()

    def discard(self) -> None:
        """Close and delete the files."""
        self.close()
        for path in (self._path, self._path.with_name(SOCKETS_NAME)):
            path.unlink(missing_ok=True)


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

    @property
    def refs(self) -> tuple[BlobRef, ...]:
        """Return every blob that the network part refers to, each once."""
        bodies = (ref for exchange in self.exchanges for ref in exchange.blobs)
        messages = (event.body for event in self.sockets if isinstance(event, SocketMessage))
        return tuple(dict.fromkeys(ref for ref in (*bodies, *messages) if ref is not None))

    def body(self, ref: BlobRef) -> bytes:
        """Read a body.

        Raises:
            AttachmentMissingError: the file is missing.
            AttachmentCorruptError: the content does not match `ref`.
        """
        return self.blobs.get(ref)


def read_network(folder: Path) -> NetworkRecording:
    """Read the network part of a bundle. Bodies are checked for existence and loaded on demand.

    Raises:
        AttachmentMissingError: the index or a body is missing.
        TraceSyntaxError: a line other than a truncated last one is not JSON.
        TraceFieldError: a line is not a valid exchange or event, or reuses a number.
    """
    path, blobs, places = folder / INDEX_NAME, BlobStore(folder / BLOBS_NAME), UsedNumbers()
    exchanges, torn = _read_lines(path, _EXCHANGE, "exchange")
    for number, exchange in exchanges:
        places.claim_exchange(exchange, f"{path}, line {number}")
        require_blobs(exchange, blobs, f"{path}, line {number}")
    path = folder / SOCKETS_NAME
    sockets, torn_sockets = _read_lines(path, _SOCKET_EVENT, "socket event") if path.exists() else ([], None)
    for number, event in sockets:
        places.claim_event(event, f"{path}, line {number}")
        if isinstance(event, SocketMessage) and event.body is not None and not blobs.has(event.body):
            message = f"{path}, line {number}: missing file of a message: {blobs.path(event.body)}. Restore the bundle."
            raise AttachmentMissingError(message)
    return NetworkRecording(
        exchanges=tuple(sorted((each for _, each in exchanges), key=lambda exchange: exchange.ordinal)),
        truncation=torn or torn_sockets,
        blobs=blobs,
        sockets=tuple(sorted((each for _, each in sockets), key=lambda event: event.moment.order)),
    )


def _read_lines(path: Path, kind: TypeAdapter[_RecordT], name: str) -> tuple[list[tuple[int, _RecordT]], str | None]:
    """Parse a JSONL file; return its records with line numbers, and a warning if the last line is truncated."""
    *lines, rest = _read_file(path).split(b"\n")
    read: list[tuple[int, _RecordT]] = []
    for number, line in enumerate((*lines, rest) if rest else lines, start=1):
        try:
            read.append((number, _parse_line(line, kind, f"{path}, line {number}", name)))
        except TraceSyntaxError as error:
            if number <= len(lines):
                raise
            return read, f"{error.message}; only the {len(lines)} lines before it were read"
    return read, None


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        message = f"{path}: cannot read the recorded network: {error.strerror}. Restore the bundle."
        raise AttachmentMissingError(message) from error


def _parse_line(line: bytes, kind: TypeAdapter[_RecordT], where: str, name: str) -> _RecordT:
    try:
        record = kind.validate_json(line)
    except ValidationError as error:
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
        AttachmentMissingError: a body is missing.
    """
    for ref in exchange.blobs:
        if not blobs.has(ref):
            message = (
                f"{where}: missing body of exchange {exchange.ordinal} ({exchange.request.method} "
                f"{exchange.request.url}): {blobs.path(ref)}. Restore the bundle or record it again."
            )
            raise AttachmentMissingError(message)


def _shorten_line(line: bytes) -> str:
    return repr(line[:_SHOWN_BYTES].decode(errors="replace") + ("…" if len(line) > _SHOWN_BYTES else ""))


def unwritable_message(path: Path, error: OSError) -> str:
    """Return the message for a recording file that cannot be written."""
    return f"{path}: cannot write the network recording: {error.strerror}. Choose a writable folder."
