"""Send commands to a session from another process, and wait for the responses.

A user's command line becomes a `SessionRequest`, which the session executes, or a `FileQuery`, which its files answer.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from pydantic import JsonValue, ValidationError

from eikon_engine.debug.command_file import append_command
from eikon_engine.debug.command_redaction import may_contain_secret, request_redacted_command
from eikon_engine.debug.commands import Command, CommandLine
from eikon_engine.debug.session_folder import session_ended_error
from eikon_engine.errors import EventsError, InterruptedRunError, SessionEndedError, SessionError
from eikon_engine.files.wall_clock import random_id, utc_now
from eikon_engine.outcome.debug_events import CommandDone, CommandFailed, CommandRejected
from eikon_engine.outcome.events import EventLine
from eikon_engine.outcome.stored_values import ValueStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from pathlib import Path

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


_POLL_S: Final = 0.01
_CHUNK: Final = 1 << 16
_LIVENESS_CHECK_S: Final = 0.25
"""Interval between checks that the session's process is alive."""
_STILL_QUEUED: Final = "the command stays queued and will still run"


class EventTail:
    """Follow the lines appended to an `events.jsonl` from now on."""

    def __init__(self, path: Path) -> None:
        """Start at the current end of the file.

        Raises:
            EventsError: it cannot be read.
        """
        self._path = path
        self._partial_line = b""
        try:
            self._file = path.open("rb", buffering=0)
            begin = self._file.seek(0, 2)
            if begin:
                self._file.seek(begin - 1)
                self._is_inside = self._file.read(1) != b"\n"
            else:
                self._is_inside = False
        except OSError as error:
            raise EventsError(f"{path}: the events cannot be read ({error.strerror}); check the path") from error

    def read(self) -> Iterator[EventLine]:
        """Yield the lines appended since the last call.

        Raises:
            EventsError: a line is not an event.
        """
        while data := self._file.read(_CHUNK):
            *lines, self._partial_line = (self._partial_line + data).split(b"\n")
            for text in lines[1:] if self._is_inside and lines else lines:
                yield self._parse(text)
            self._is_inside = self._is_inside and not lines

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _parse(self, text: bytes) -> EventLine:
        try:
            return EventLine.model_validate_json(text)
        except ValidationError as error:
            problem = str(error.errors(include_url=False)[0]["msg"])
            raise EventsError(f"{self._path}: a line is not an event ({problem})") from error


@dataclass(frozen=True, slots=True)
class CommandResponse:
    """What a session responded to a command."""

    event: CommandDone | CommandFailed
    result: JsonValue
    """The command's result; None if it failed."""


@dataclass(frozen=True, slots=True)
class _SentCommand:
    """A command in the command file."""

    id: str
    line_number: int
    """1-based line in the command file."""
    command: Command


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionClient:
    """Drive one session."""

    folder: SessionFolder
    now: Callable[[], datetime] = utc_now
    new_id: Callable[[], str] = random_id
    on_event: Callable[[EventLine], None] | None = None
    """Called with every event while waiting for a response."""

    def send(self, command: Command, *, timeout_s: float | None = None) -> CommandResponse:
        """Send a command and wait for the response. A running session responds to `pause` once it is paused.

        Raises:
            PlaintextSecretError: the command contains a secret value; it is not sent.
            SessionEndedError: the session ended, or did not respond in time.
            OutputError: the command file cannot be written.
            SessionError: the session rejected the appended line.
            EventsError: the events cannot be read.
            InterruptedRunError: Ctrl-C or a signal interrupted the wait.
        """
        self._require_running()
        if may_contain_secret(command):
            command = request_redacted_command(self.folder, command)
        newest = EventTail(self.folder.events_path)
        try:
            name = self.new_id()
            line = CommandLine(id=name, at=self.now(), command=command)
            number = append_command(self.folder.commands_path, line)
            try:
                return self._wait_for_response(newest, _SentCommand(name, number, command), timeout_s)
            except KeyboardInterrupt as stop:
                stopper = InterruptedRunError.stop_cause(stop)
                message = f"{command.type}: stopped by {stopper} while waiting for the response; {_STILL_QUEUED}"
                raise InterruptedRunError(message) from stop
        finally:
            newest.close()

    def _wait_for_response(self, tail: EventTail, sent: _SentCommand, timeout_s: float | None) -> CommandResponse:
        nothing = threading.Event()
        what = sent.command.type
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        next_sign = time.monotonic() + _LIVENESS_CHECK_S
        while True:
            answer = self._read_response(tail, sent)
            if answer is not None:
                return answer
            now = time.monotonic()
            if now >= next_sign:
                next_sign = now + _LIVENESS_CHECK_S
                if not self.folder.is_running():
                    last = self._read_response(tail, sent)  # it may have responded just before it ended
                    if last is not None:
                        return last
                    raise SessionEndedError(
                        f"{what}: session {self.folder.name} ended before it responded; "
                        f"see eikon debug replay {self.folder.name}"
                    )
            if deadline is not None and now >= deadline:
                raise SessionEndedError(
                    f"{what}: session {self.folder.name} did not respond within {timeout_s:g} s; {_STILL_QUEUED}"
                )
            nothing.wait(_POLL_S)

    def _read_response(self, tail: EventTail, sent: _SentCommand) -> CommandResponse | None:
        for line in tail.read():
            if self.on_event is not None:
                self.on_event(line)
            match line.event:
                case CommandDone(command_id=name, result=stored) if name == sent.id:
                    return CommandResponse(line.event, ValueStore(self.folder.root).load(stored))
                case CommandFailed(command_id=name) if name == sent.id:
                    return CommandResponse(line.event, None)
                case CommandRejected(line=number, message=message) if number == sent.line_number:
                    where = f"{self.folder.commands_path}: line {number}"
                    raise SessionError(f"{sent.command.type}: {where}: {message}; another process writes to this file")
                case _:
                    pass
        return None

    def _require_running(self) -> None:
        if not self.folder.is_running():
            raise session_ended_error(self.folder)
