"""Completion at the prompt: commands, options, and names of the session."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

import click

from eikon_engine.cli.debug_words import SESSION_COMMANDS
from eikon_engine.debug.asked_breakpoint import BREAKPOINT_TYPES
from eikon_engine.errors import SessionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.debug.timeline import Branch

_TAKES_BRANCH: Final = frozenset({("switch",), ("diff",), ("branch", "delete"), ("branch", "save")})
_TAKES_CHECKPOINT: Final = frozenset({("rewind",), ("checkpoint", "show"), ("checkpoint", "delete")})
_PROMPT_COMMANDS: Final = ("help", "detach")


def complete_line(folder: SessionFolder, text: str) -> tuple[str, ...]:
    """Return completions of the last word of a line, in the order offered."""
    done, _, begun = text.rpartition(" ")
    try:
        words = shlex.split(done)
    except ValueError:
        return ()
    return tuple(word for word in _candidates(folder, words, begun) if word.startswith(begun))


def _candidates(folder: SessionFolder, words: Sequence[str], begun: str) -> Iterable[str]:
    if not words:
        return (*SESSION_COMMANDS, *_PROMPT_COMMANDS)
    command: click.Command | None = SESSION_COMMANDS.get(words[0])
    path = words[:1]
    for word in words[1:]:
        if not isinstance(command, click.Group):
            break
        command, path = command.commands.get(word), [*path, word]
    if command is None:
        return ()
    if isinstance(command, click.Group):
        return command.commands
    if begun.startswith("-"):
        return (name for option in _options(command) for name in (*option.opts, *option.secondary_opts))
    return _argument_values(folder, command, tuple(path), words[len(path) :])


def _argument_values(
    folder: SessionFolder, command: click.Command, path: tuple[str, ...], given: Sequence[str]
) -> Iterator[str]:
    """Yield the values of an argument or option."""
    option = next((each for each in _options(command) if given and given[-1] in each.opts and not each.is_flag), None)
    parameter = option or next((each for each in command.params if isinstance(each, click.Argument)), None)
    if parameter is not None and isinstance(parameter.type, click.Choice):
        yield from map(str, parameter.type.choices)
    elif path == ("breakpoint", "add"):
        yield from () if given else BREAKPOINT_TYPES
    elif path in _TAKES_BRANCH:
        yield from (shlex.quote(branch.name) for branch in _branches(folder))
    elif path in _TAKES_CHECKPOINT or (option is not None and option.name == "checkpoint"):
        for branch in _branches(folder):
            for entry in branch.checkpoints:
                yield entry.id
                if entry.label:
                    yield shlex.quote(entry.label)


def _branches(folder: SessionFolder) -> tuple[Branch, ...]:
    try:
        return folder.read_timeline().branches
    except SessionError:
        return ()


def _options(command: click.Command) -> Iterator[click.Option]:
    yield from (each for each in command.params if isinstance(each, click.Option))
