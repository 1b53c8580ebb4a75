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
class Told:
    """The output of a command, as text and as JSON."""

    text: str
    """Ends with a newline unless empty."""
    data: JsonValue


@dataclass(frozen=True, slots=True)
class Ask:
    """A command for the session; it may depend on the session's current position."""

    command: Callable[[SessionFolder], Command]
    question: Callable[[SessionFolder], str | None] = lambda _folder: None
    """Question the user must confirm first; None if no confirmation is needed."""
    agreed: Callable[[Command], Command] = lambda command: command
    """Mark the command as confirmed."""
    ended: Callable[[SessionFolder], Told] | None = None
    """Run the command on the files of a named session that no longer runs; None if that is not possible."""


@dataclass(frozen=True, slots=True)
class Look:
    """A query answered from the session's files, whether or not the session runs."""

    tell: Callable[[SessionFolder], Told]


Asked: TypeAlias = Ask | Look


def plainly(command: Command) -> Ask:
    """Wrap a command that does not depend on the session's position."""
    return Ask(lambda _folder: command)
