"""Send commands to a session from another process, and wait for the answers.

A user's command line becomes a `SessionRequest`, which the session executes, or a `FileQuery`, which its files answer.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from pydantic import JsonValue, ValidationError

from eikon_engine.debug.protocol import (
    MAX_REQUEST_BYTES,
    MESSAGE_ADAPTER,
    CommandError,
    CommandRequest,
    CommandResult,
    EventMessage,
    Message,
    RedactedText,
    RedactRequest,
    Request,
    SessionEnded,
    to_line,
)
from eikon_engine.debug.session_folder import session_ended_error
from eikon_engine.errors import InterruptedRunError, SessionEndedError, UsageError
from eikon_engine.files.wall_clock import random_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eikon_engine.debug.commands import Command
    from eikon_engine.debug.session_folder import SessionFolder


@dataclass(frozen=True, slots=True)
class Output:
    """The output of a command, as text and as JSON."""

    text: str
    """Ends with a newline unless empty."""
    data: JsonValue


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """A command for the session; it may depend on the session's current position."""

    command: Callable[[SessionFolder], Command]
    confirmation: Callable[[SessionFolder], str | None] = lambda _folder: None
    """Question the user must confirm first; None if no confirmation is needed."""
    confirmed: Callable[[Command], Command] = lambda command: command
    """Mark the command as confirmed."""
    run_offline: Callable[[SessionFolder], Output] | None = None
    """Run the command on the files of a named session that no longer runs; None if that is not possible."""


@dataclass(frozen=True, slots=True)
class FileQuery:
    """A query answered from the session's files, whether or not the session runs."""

    run: Callable[[SessionFolder], Output]


UserRequest: TypeAlias = SessionRequest | FileQuery


def send(command: Command) -> SessionRequest:
    """Wrap a command that does not depend on the session's position."""
    return SessionRequest(lambda _folder: command)


_RETRY_S: Final = 0.02
_START_TIMEOUT_S: Final = 2.0
"""How long a session may take to open its socket after locking its folder."""
_REDACTION_TIMEOUT_S: Final = 20.0
_STILL_QUEUED: Final = "the command stays queued and will still run"


class Connection:
    """A connection to a running session."""

    def __init__(self, folder: SessionFolder, timeout_s: float | None = None) -> None:
        """Connect; everything together may take `timeout_s`.

        Raises:
            SessionEndedError: the session does not run, or does not accept connections.
        """
        self.folder = folder
        self._timeout_s = timeout_s
        self._deadline = None if timeout_s is None else time.monotonic() + timeout_s
        self._socket = self._connect()
        self._file = self._socket.makefile("rb")

    def send(self, request: Request) -> None:
        """Send a request.

        Raises:
            UsageError: it is too long.
            SessionEndedError: the session does not read it.
        """
        line = to_line(request)
        if len(line) > MAX_REQUEST_BYTES:
            raise UsageError(f"expected a command of at most {MAX_REQUEST_BYTES} bytes, got {len(line)}; shorten it")
        try:
            self._wait()
            self._socket.sendall(line)
        except OSError as error:
            message = f"session {self.folder.name}: the command could not be sent ({error})"
            raise SessionEndedError(f"{message}; nothing was done") from error

    def messages(self) -> Iterator[Message]:
        """Yield what the session sends, until it ends.

        Raises:
            TimeoutError: the time is over.
            SessionEndedError: a message cannot be read.
        """
        while line := self._read_line():
            try:
                message = MESSAGE_ADAPTER.validate_json(line)
            except ValidationError as error:
                problem = str(error.errors(include_url=False)[0]["msg"])
                text = f"session {self.folder.name}: unexpected message ({problem}); use the version of eikon it runs"
                raise SessionEndedError(text) from error
            yield message
            if isinstance(message, SessionEnded):
                return

    def stop(self) -> None:
        """End `messages` in another thread."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # the session closed it already

    def close(self) -> None:
        """Close the connection."""
        self._file.close()
        self._socket.close()

    def wait_until_ended(self) -> bool:
        """Return whether the session's process is gone, after waiting a moment for its end."""
        deadline = time.monotonic() + _START_TIMEOUT_S
        while self.folder.is_running():
            if time.monotonic() >= deadline:
                return False
            threading.Event().wait(_RETRY_S)
        return True

    def _read_line(self) -> bytes:
        """Return the next line; empty at the end, or after an incomplete line of a killed session."""
        try:
            self._wait()
            line = self._file.readline()
        except ConnectionError:
            return b""
        return line if line.endswith(b"\n") else b""

    def _wait(self) -> None:
        """Limit the next operation on the socket to the remaining time."""
        remaining = None if self._deadline is None else self._deadline - time.monotonic()
        if remaining is not None and remaining <= 0:
            raise TimeoutError(f"no answer within {self._timeout_s:g} s")
        self._socket.settimeout(remaining)

    def _connect(self) -> socket.socket:
        """Connect, as soon as a session that just started has opened its socket."""
        deadline = time.monotonic() + _START_TIMEOUT_S
        while True:
            if not self.folder.is_running():
                raise session_ended_error(self.folder)
            opened = socket.socket(socket.AF_UNIX)
            try:
                opened.settimeout(self._timeout_s)
                opened.connect(str(self.folder.socket_link.readlink()))
            except OSError as error:
                opened.close()
                if time.monotonic() >= deadline:
                    message = f"session {self.folder.name}: cannot connect to it ({error}); it is starting or ending"
                    raise SessionEndedError(f"{message}, try again") from error
                threading.Event().wait(_RETRY_S)
            else:
                return opened


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionClient:
    """Drive one session."""

    folder: SessionFolder
    new_id: Callable[[], str] = random_id
    on_event: Callable[[EventMessage], None] | None = None
    """Called with every event while waiting for an answer."""

    def send(self, command: Command, *, timeout_s: float | None = None) -> CommandResult | CommandError:
        """Send a command and wait for the answer. A running session answers `pause` once it is paused.

        Raises:
            SessionEndedError: the session ended, or did not respond in time.
            UsageError: the command is too long.
            InterruptedRunError: Ctrl-C or a signal interrupted the wait.
        """
        what = command.type
        with closing(Connection(self.folder, timeout_s)) as connection:
            connection.send(CommandRequest(id=self.new_id(), command=command))
            try:
                return self._wait_for_answer(connection, what)
            except TimeoutError as error:
                message = f"{what}: session {self.folder.name} did not respond within {timeout_s:g} s; {_STILL_QUEUED}"
                raise SessionEndedError(message) from error
            except KeyboardInterrupt as stop:
                stopper = InterruptedRunError.stop_cause(stop)
                message = f"{what}: stopped by {stopper} while waiting for the response; {_STILL_QUEUED}"
                raise InterruptedRunError(message) from stop

    def _wait_for_answer(self, connection: Connection, what: str) -> CommandResult | CommandError:
        reason: str | None = None
        has_ended = False
        for message in connection.messages():
            match message:
                case CommandResult() | CommandError():
                    return message
                case EventMessage() if self.on_event is not None:
                    self.on_event(message)
                case SessionEnded():
                    reason, has_ended = message.reason, True
                case _:
                    pass
        if not has_ended and not connection.wait_until_ended():
            text = f"{what}: session {self.folder.name} closed the connection before it responded; {_STILL_QUEUED}"
            raise SessionEndedError(text)
        why = "" if reason is None else f": {reason}"
        raise SessionEndedError(
            f"{what}: session {self.folder.name} ended before it responded{why}; "
            f"see eikon debug replay {self.folder.name}"
        )


def request_redacted_text(folder: SessionFolder, text: str) -> str | None:
    """Have a session redact a line for the prompt's history; None if it contains an unknown secret.

    Raises:
        SessionEndedError: the session does not respond.
    """
    with closing(Connection(folder, _REDACTION_TIMEOUT_S)) as connection:
        connection.send(RedactRequest(text=text))
        try:
            found = next((each for each in connection.messages() if isinstance(each, RedactedText)), None)
        except TimeoutError as error:
            raise SessionEndedError(f"session {folder.name}: {error}") from error
    return None if found is None else found.text
