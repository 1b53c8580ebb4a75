"""What the words of the command line and of the prompt mean: a command for the session, or a look into its files."""

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
    """An answer: for people, and for programs."""

    text: str
    """Ends with a line break, if there is any."""
    data: JsonValue


@dataclass(frozen=True, slots=True)
class Ask:
    """Have the session do something; the command may depend on where it stands."""

    command: Callable[[SessionFolder], Command]
    question: Callable[[SessionFolder], str | None] = lambda _folder: None
    """What has to be agreed to first; None where nothing has."""
    agreed: Callable[[Command], Command] = lambda command: command
    """Note in the command that it was agreed to."""
    ended: Callable[[SessionFolder], Told] | None = None
    """Do it in the files of a session that was named and does not run any more; None where that cannot be."""


@dataclass(frozen=True, slots=True)
class Look:
    """Answer from the files of a session, whether it runs or not."""

    tell: Callable[[SessionFolder], Told]


Asked: TypeAlias = Ask | Look


def plainly(command: Command) -> Ask:
    """Have the session do something, wherever it stands."""
    return Ask(lambda _folder: command)
