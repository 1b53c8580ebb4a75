"""Send commands to a session from another process, and wait for the responses."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import JsonValue, ValidationError

from eikon_engine.debug.commands import Command, CommandLine
from eikon_engine.debug.find_session import has_ended
from eikon_engine.debug.mailbox import append_command
from eikon_engine.debug.secret_texts import has_texts
from eikon_engine.debug.vetting import vetted_command
from eikon_engine.errors import EventsError, InterruptedRunError, SessionEndedError, SessionError
from eikon_engine.outcome.debug_events import CommandDone, CommandFailed, CommandRejected
from eikon_engine.outcome.events import JournalLine
from eikon_engine.outcome.stored import ValueFolder
from eikon_engine.trace.wall_clock import fresh_id, utc_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from pathlib import Path

    from eikon_engine.debug.session_folder import SessionFolder

_POLL_S: Final = 0.01
_CHUNK: Final = 1 << 16
_LIFE_SIGN_S: Final = 0.25
"""Interval between checks that the session's process is alive."""
_STAYS_GIVEN: Final = "the command stays queued and will still run"


class Newest:
    """Follow the lines appended to an `events.jsonl` from now on."""

    def __init__(self, path: Path) -> None:
        """Start at the current end of the file.

        Raises:
            EventsError: it cannot be read.
        """
        self._path = path
        self._rest = b""
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

    def read(self) -> Iterator[JournalLine]:
        """Yield the lines appended since the last call.

        Raises:
            EventsError: a line is not an event.
        """
        while data := self._file.read(_CHUNK):
            *whole, self._rest = (self._rest + data).split(b"\n")
            for text in whole[1:] if self._is_inside and whole else whole:
                yield self._line(text)
            self._is_inside = self._is_inside and not whole

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _line(self, text: bytes) -> JournalLine:
        try:
            return JournalLine.model_validate_json(text)
        except ValidationError as error:
            problem = str(error.errors(include_url=False)[0]["msg"])
            raise EventsError(f"{self._path}: a line is not an event ({problem})") from error


@dataclass(frozen=True, slots=True)
class Answer:
    """What a session responded to a command."""

    said: CommandDone | CommandFailed
    result: JsonValue
    """The command's result; None if it failed."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A command in the command file."""

    id: str
    line: int
    """1-based line in the command file."""
    command: Command


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """Drive one session."""

    folder: SessionFolder
    now: Callable[[], datetime] = utc_now
    new_id: Callable[[], str] = fresh_id
    read: Callable[[JournalLine], None] | None = None
    """Called with every event while waiting for a response."""

    def send(self, command: Command, *, timeout_s: float | None = None) -> Answer:
        """Send a command and wait for the response. A running session responds to `pause` once it is paused.

        Raises:
            SecretGivenError: the command contains a secret value; it is not sent.
            SessionEndedError: the session ended, or did not respond in time.
            OutputError: the command file cannot be written.
            SessionError: the session rejected the appended line.
            EventsError: the events cannot be read.
            InterruptedRunError: Ctrl-C or a signal interrupted the wait.
        """
        self._demand_alive()
        if has_texts(command):
            command = vetted_command(self.folder, command)
        newest = Newest(self.folder.events)
        try:
            name = self.new_id()
            given = CommandLine(id=name, at=self.now(), command=command)
            number = append_command(self.folder.commands, given)
            try:
                return self._answer(newest, _Asked(name, number, command), timeout_s)
            except KeyboardInterrupt as stop:
                stopper = InterruptedRunError.stopper(stop)
                message = f"{command.type}: stopped by {stopper} while waiting for the response; {_STAYS_GIVEN}"
                raise InterruptedRunError(message) from stop
        finally:
            newest.close()

    def _answer(self, newest: Newest, asked: _Asked, timeout_s: float | None) -> Answer:
        nothing = threading.Event()
        what = asked.command.type
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        next_sign = time.monotonic() + _LIFE_SIGN_S
        while True:
            answer = self._taken(newest, asked)
            if answer is not None:
                return answer
            now = time.monotonic()
            if now >= next_sign:
                next_sign = now + _LIFE_SIGN_S
                if not self.folder.runs():
                    last = self._taken(newest, asked)  # it may have responded just before it ended
                    if last is not None:
                        return last
                    raise SessionEndedError(
                        f"{what}: session {self.folder.name} ended before it responded; "
                        f"see eikon debug replay {self.folder.name}"
                    )
            if deadline is not None and now >= deadline:
                raise SessionEndedError(
                    f"{what}: session {self.folder.name} did not respond within {timeout_s:g} s; {_STAYS_GIVEN}"
                )
            nothing.wait(_POLL_S)

    def _taken(self, newest: Newest, asked: _Asked) -> Answer | None:
        for line in newest.read():
            if self.read is not None:
                self.read(line)
            match line.event:
                case CommandDone(command_id=name, result=stored) if name == asked.id:
                    return Answer(line.event, ValueFolder(self.folder.root).value(stored))
                case CommandFailed(command_id=name) if name == asked.id:
                    return Answer(line.event, None)
                case CommandRejected(line=number, message=message) if number == asked.line:
                    where = f"{self.folder.commands}: line {number}"
                    raise SessionError(f"{asked.command.type}: {where}: {message}; another process writes to this file")
                case _:
                    pass
        return None

    def _demand_alive(self) -> None:
        if not self.folder.runs():
            raise has_ended(self.folder)
