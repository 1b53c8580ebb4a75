"""Store output of unknown length in a file of bounded size: its head and its tail."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, Self

from eikon_engine.errors import OutputError
from eikon_engine.trace.whole_file import write_error_message

if TYPE_CHECKING:
    from pathlib import Path

HEAD_BYTES: Final = 8 * 2**20
TAIL_BYTES: Final = 2 * 2**20


class BoundedOutput:
    """Write output to a file immediately up to a limit; beyond it, buffer only the tail in memory."""

    def __init__(self, path: Path, *, head_bytes: int = HEAD_BYTES, tail_bytes: int = TAIL_BYTES) -> None:
        """Create the file.

        Raises:
            OutputError: the file cannot be created.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("wb", buffering=0)
        except OSError as error:
            raise OutputError(write_error_message(path, error)) from error
        self._path = path
        self._head_room = head_bytes
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._tail_limit = tail_bytes
        self.bytes_written = 0
        """Bytes received."""
        self.bytes_omitted = 0
        """Bytes received but not stored in the file; final after `close`."""

    def write(self, data: bytes) -> None:
        """Append data.

        Raises:
            OutputError: the file cannot be written.
        """
        self.bytes_written += len(data)
        head, rest = data[: self._head_room], data[self._head_room :]
        self._head_room -= len(head)
        self._write_all(head)
        if rest:
            self._tail.append(rest)
            self._tail_bytes += len(rest)
        while self._tail and self._tail_bytes - len(self._tail[0]) >= self._tail_limit:
            dropped = len(self._tail.popleft())
            self._tail_bytes -= dropped
            self.bytes_omitted += dropped

    def close(self) -> None:
        """Write the tail, preceded by a line that states how many bytes are omitted."""
        if self._file.closed:
            return
        tail = b"".join(self._tail)
        cut = max(0, len(tail) - self._tail_limit)
        self.bytes_omitted += cut
        with self._file:
            if self.bytes_omitted:
                self._write_all(f"\n[{self.bytes_omitted} bytes omitted]\n".encode())
            self._write_all(tail[cut:])

    def __enter__(self) -> Self:
        """Return the open output."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    def _write_all(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[self._file.write(view) :]
        except OSError as error:
            raise OutputError(write_error_message(self._path, error)) from error
