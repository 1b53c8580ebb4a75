"""`eikon debug attach`: lines become words, words become commands; the same words as on the command line."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Final

import click

from eikon_engine.cli.debug_completion import completions
from eikon_engine.cli.debug_words import WORDS
from eikon_engine.errors import EikonError, InterruptedRunError, SecretGivenError, SessionEndedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.debug.asked import Ask, Asked
    from eikon_engine.debug.commands import Command
    from eikon_engine.debug.session_folder import SessionFolder

_HELP: Final = ("help", "?")
_LEAVE: Final = ("detach", "exit")


def attach_to(folder: SessionFolder) -> int:
    """Drive a session by lines, from a prompt or from standard input; return the last exit status that was not 0.

    Raises:
        EikonError: the prompt cannot be opened.
    """
    if not sys.stdin.isatty():
        reading = _Reading(folder, _refused)
        for text in sys.stdin:
            if text.strip() and not text.lstrip().startswith("#") and not reading.run(text):
                break
        return reading.status
    from eikon_engine.debug.prompt import Words, run_prompt

    reading = _Reading(folder, click.confirm)
    click.echo(f"session {folder.name}; help lists the words, Tab completes them, Ctrl-D leaves")
    reading.run("timeline")
    words = Words(
        run=reading.run, complete=lambda text: completions(folder, text), show=reading.show, kept=reading.kept
    )
    run_prompt(folder, words)
    if not folder.runs():
        click.echo(f"session {folder.name} has {folder.state()}")
    return 0


def _refused(question: str) -> bool:
    raise UsageError(f"{question} found no terminal to ask on; add --force")


class _Reading:
    """Carry out lines, one after the other; mutable, because it keeps how it went."""

    def __init__(self, folder: SessionFolder, agrees: Callable[[str], bool]) -> None:
        from eikon_engine.debug.numbering import Numbering

        self.status = 0
        self._folder = folder
        self._has_secret = False
        """Whether the last line was refused for a secret in it."""
        self._numbering = Numbering(folder.events)
        self._agrees = agrees
        self._group = click.Group("", commands=dict(WORDS), add_help_option=False, no_args_is_help=False)

    def run(self, text: str) -> bool:
        """Carry out one line, and say whether there is a session for another one.

        Raises:
            InterruptedRunError: a person or a signal stopped the waiting for an answer.
        """
        self._has_secret = False
        try:
            words = shlex.split(text)
            if words[0] in _LEAVE:
                return False
            if words[0] in _HELP:
                click.echo(_help(self._group, words[1:]), nl=False)
                return True
            self._carry_out(_parsed(self._group, words))
        except ValueError as error:
            self._say(UsageError(f"wanted words, found {error}; close the quotes"))
        except click.ClickException as error:
            self._say(UsageError(error.format_message()))
        except click.exceptions.Exit:
            pass  # a help text was printed
        except InterruptedRunError:
            raise
        except SessionEndedError as error:
            self._say(error)
            return False
        except EikonError as error:
            self._has_secret = isinstance(error, SecretGivenError)
            self._say(error)
        return self._folder.runs()

    def kept(self, text: str) -> str | None:
        """Return a line as the history may have it, which the session tells; None for one with a secret."""
        from eikon_engine.debug.vetting import vetted_text

        if self._has_secret:
            return None
        try:
            return vetted_text(self._folder, text)
        except EikonError:
            return None  # nobody can tell any more what is secret

    def show(self, line: object) -> None:
        """Show what happens."""
        from eikon_engine.debug.shown_result import is_worth_following
        from eikon_engine.outcome.event_text import line_text
        from eikon_engine.outcome.events import JournalLine

        if not isinstance(line, JournalLine):
            return
        iteration = self._numbering.of(line)
        if is_worth_following(line.event):
            print(line_text(line, iteration))  # noqa: T201 - above the prompt, which takes what is printed

    def _carry_out(self, asked: Asked) -> None:
        from eikon_engine.debug.asked import Look
        from eikon_engine.debug.client import Client
        from eikon_engine.debug.shown_result import render_result
        from eikon_engine.outcome.debug_events import CommandFailed
        from eikon_engine.outcome.printable import printable

        if isinstance(asked, Look):
            click.echo(printable(asked.tell(self._folder).text), nl=False)
            return
        command = self._agreed(asked)
        if command is None:
            return
        answer = Client(folder=self._folder).send(command)
        if isinstance(answer.said, CommandFailed):
            self.status = answer.said.exit_status
            click.echo(printable(f"eikon: {answer.said.message} (code {answer.said.code})"), err=True)
        else:
            click.echo(printable(render_result(command, answer.result)), nl=False)

    def _agreed(self, ask: Ask) -> Command | None:
        command, question = ask.command(self._folder), ask.question(self._folder)
        if question is None:
            return command
        return ask.agreed(command) if self._agrees(question) else None

    def _say(self, error: EikonError) -> None:
        self.status = error.exit_status
        click.echo(f"eikon: {error.message} (code {error.code})", err=True)


def _parsed(group: click.Group, words: list[str]) -> Asked:
    """Return what a line asks for."""
    with group.make_context("", list(words)) as context:
        asked: Asked = group.invoke(context)
    return asked


def _help(group: click.Group, words: list[str]) -> str:
    """List the words, or explain one."""
    command: click.Command = group
    context = click.Context(group, info_name="")
    for word in words:
        found = command.get_command(context, word) if isinstance(command, click.Group) else None
        if found is None:
            raise UsageError(f"help: wanted a word, found {word!r}; help lists them")
        command, context = found, click.Context(found, info_name=word, parent=context)
    if words:
        return command.get_help(context) + "\n"
    rows = [*((name, each.get_short_help_str(90)) for name, each in group.commands.items()), *_OWN]
    width = max(len(name) for name, _ in rows)
    return "".join(f"{name:<{width}}  {summary}\n" for name, summary in rows)


_OWN: Final = (("help", "List the words, or explain one: help rewind."), ("detach", "Leave the prompt, as Ctrl-D."))
