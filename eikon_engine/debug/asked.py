"""What a debugger command line asks for: a session command, or a query on the session's files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import JsonValue

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
