"""Tell a session what to do, and wait for its answer, from another process."""

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
"""How often it is asked whether the session lives."""
_STAYS_GIVEN: Final = "the command stays given, and is carried out in its turn"


class Newest:
    """What is written at the end of an `events.jsonl`, from now on."""

    def __init__(self, path: Path) -> None:
        """Begin after what is there.

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
        """Yield the lines that have come since.

        Raises:
            EventsError: one of them is no event.
        """
        while data := self._file.read(_CHUNK):
            *whole, self._rest = (self._rest + data).split(b"\n")
            for text in whole[1:] if self._is_inside and whole else whole:
                yield self._line(text)
            self._is_inside = self._is_inside and not whole

    def close(self) -> None:
        """Let the file go."""
        self._file.close()

    def _line(self, text: bytes) -> JournalLine:
        try:
            return JournalLine.model_validate_json(text)
        except ValidationError as error:
            found = str(error.errors(include_url=False)[0]["msg"])
            raise EventsError(f"{self._path}: wanted an event, found a line that is none ({found})") from error


@dataclass(frozen=True, slots=True)
class Answer:
    """What a session said to a command."""

    said: CommandDone | CommandFailed
    result: JsonValue
    """What the command gives back; None where it failed."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A command that was given."""

    id: str
    line: int
    """Number of its line in the command file."""
    command: Command


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """Drive one session."""

    folder: SessionFolder
    now: Callable[[], datetime] = utc_now
    new_id: Callable[[], str] = fresh_id
    read: Callable[[JournalLine], None] | None = None
    """Told of everything that happens while an answer is waited for."""

    def send(self, command: Command, *, timeout_s: float | None = None) -> Answer:
        """Give a command and wait for its answer; a session that runs answers `pause` when it stands still.

        Raises:
            SecretGivenError: the command has a secret written out; it is not given.
            SessionEndedError: the session is gone, or does not answer in time.
            OutputError: the command file cannot be written.
            SessionError: the session found no command in the line that was appended.
            EventsError: the events cannot be read.
            InterruptedRunError: a person or a signal stopped the waiting.
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
                message = f"{command.type}: stopped by {stopper} while an answer was waited for; {_STAYS_GIVEN}"
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
                    last = self._taken(newest, asked)  # it may have answered as the last thing it did
                    if last is not None:
                        return last
                    raise SessionEndedError(
                        f"{what}: session {self.folder.name} ended before it answered; "
                        f"see eikon debug replay {self.folder.name}"
                    )
            if deadline is not None and now >= deadline:
                raise SessionEndedError(
                    f"{what}: wanted an answer of session {self.folder.name} within {timeout_s:g} s, found "
                    f"none; {_STAYS_GIVEN}"
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
                    raise SessionError(f"{asked.command.type}: {where}: {message}; somebody else writes there")
                case _:
                    pass
        return None

    def _demand_alive(self) -> None:
        if not self.folder.runs():
            raise has_ended(self.folder)
