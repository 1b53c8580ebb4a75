"""The socket of a session: accepts its clients' requests, and sends them answers and events."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

from eikon_engine.debug.protocol import (
    MAX_REQUEST_BYTES,
    CommandError,
    EventMessage,
    SessionEnded,
    parse_request,
    to_line,
)
from eikon_engine.debug.session_events import IterationCounter
from eikon_engine.errors import EikonError, OutputError, UsageError
from eikon_engine.files.temporary import temporary_folder
from eikon_engine.files.writing import write_error_message
from eikon_engine.outcome.debug_events import CommandDone

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from eikon_engine.debug.protocol import Message, Request
    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.outcome.events import EventLine

_MAX_UNREAD_BYTES: Final = 64 << 20
"""A client that leaves more than this unread is disconnected."""
_CLOSE_TIMEOUT_S: Final = 1.0
"""How long clients may take to read the last messages of a session."""


class Connection:
    """One client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Use the two halves of an open socket."""
        self._reader = reader
        self._writer = writer
        self.follows = False
        """Whether it receives events."""

    async def requests(self) -> AsyncIterator[Request]:
        """Yield requests until the client sends no more; invalid ones are answered with an error."""
        with suppress(ConnectionError):
            while line := await self._read_line():
                try:
                    request = parse_request(line)
                except UsageError as error:
                    self.send_error(None, error)
                else:
                    yield request

    async def _read_line(self) -> bytes:
        """Return the next line that is not blank; empty at the end, or after an incomplete line."""
        while True:
            try:
                line = await self._reader.readline()
            except ValueError:
                error = UsageError(f"expected one request, got a line of more than {MAX_REQUEST_BYTES} bytes")
                self.send_error(None, error)
                return b""
            if not line.endswith(b"\n"):
                return b""
            if line.strip():
                return line

    def send(self, message: Message) -> None:
        """Send a message, unless the client is gone."""
        self.write(to_line(message))

    def send_error(self, request_id: str | None, error: EikonError) -> None:
        """Send the error of a request."""
        self.send(CommandError(id=request_id, code=error.code, message=error.message, exit_status=error.exit_status))

    def write(self, line: bytes) -> None:
        """Send a line, unless the client is gone; disconnect it if it reads nothing."""
        if self._writer.is_closing():
            return
        if self._writer.transport.get_write_buffer_size() > _MAX_UNREAD_BYTES:
            self._writer.transport.abort()
            return
        self._writer.write(line)

    async def close(self) -> None:
        """Send what is left, and close the connection."""
        self._writer.close()
        with suppress(OSError, TimeoutError):
            await asyncio.wait_for(self._writer.wait_closed(), _CLOSE_TIMEOUT_S)
        self._writer.transport.abort()


class CommandServer:
    """The clients of a session."""

    def __init__(self) -> None:
        """Start without clients."""
        self._accepted: asyncio.Queue[Connection] = asyncio.Queue()
        self._connections: set[Connection] = set()
        self._iterations = IterationCounter()

    @asynccontextmanager
    async def open(self, folder: SessionFolder) -> AsyncIterator[None]:
        """Accept clients until the block ends, then tell them that the session ends.

        The socket is in a folder of its own, since paths of sockets are short; a link in `folder` leads to it.

        Raises:
            OutputError: the socket cannot be created.
        """
        with temporary_folder("s") as private:
            async with self._listening(private / "session", folder):
                yield

    @asynccontextmanager
    async def _listening(self, path: Path, folder: SessionFolder) -> AsyncIterator[None]:
        server: asyncio.Server | None = None
        reason: str | None = None
        try:
            try:
                server = await asyncio.start_unix_server(self._connect, path, limit=MAX_REQUEST_BYTES)
                path.chmod(0o600)  # noqa: ASYNC240 - takes no time
                folder.socket_link.symlink_to(path)
            except OSError as error:
                raise OutputError(write_error_message(folder.socket_link, error)) from error
            yield
        except EikonError as error:
            reason = error.message
            raise
        finally:
            folder.socket_link.unlink(missing_ok=True)
            if server is not None:
                server.close()
                await self._end(reason)

    async def connections(self) -> AsyncIterator[Connection]:
        """Yield clients as they connect."""
        while True:
            yield await self._accepted.get()

    def publish(self, line: EventLine) -> None:
        """Send an event to all clients that follow; results of commands go to their senders only."""
        iteration = self._iterations.advance(line.event)
        followers = [each for each in self._connections if each.follows]
        if followers and not isinstance(line.event, CommandDone):
            text = to_line(EventMessage(iteration=iteration, line=line))
            for each in followers:
                each.write(text)

    async def disconnect(self, connection: Connection) -> None:
        """Close the connection of a client."""
        self._connections.discard(connection)
        await connection.close()

    def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(reader, writer)
        self._connections.add(connection)
        self._accepted.put_nowait(connection)

    async def _end(self, reason: str | None) -> None:
        for each in self._connections:
            each.send(SessionEnded(reason=reason))
        await asyncio.gather(*(each.close() for each in self._connections))
