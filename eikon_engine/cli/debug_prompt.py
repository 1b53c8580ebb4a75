"""`eikon debug attach`: run the session commands from a prompt or from standard input."""

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
    """Run commands from a prompt or standard input; return the exit status of the last failed one, else 0.

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
    click.echo(f"session {folder.name}; help lists the commands, Tab completes them, Ctrl-D leaves")
    reading.run("timeline")
    words = Words(
        run=reading.run, complete=lambda text: completions(folder, text), show=reading.show, kept=reading.kept
    )
    run_prompt(folder, words)
    if not folder.runs():
        click.echo(f"session {folder.name} has {folder.state()}")
    return 0


def _refused(question: str) -> bool:
    raise UsageError(f"{question} No terminal to ask on; add --force")


class _Reading:
    """Run lines one after the other and track the exit status."""

    def __init__(self, folder: SessionFolder, agrees: Callable[[str], bool]) -> None:
        from eikon_engine.debug.numbering import Numbering

        self.status = 0
        self._folder = folder
        self._has_secret = False
        """Whether the last line was rejected because it contains a secret."""
        self._numbering = Numbering(folder.events)
        self._agrees = agrees
        self._group = click.Group("", commands=dict(WORDS), add_help_option=False, no_args_is_help=False)

    def run(self, text: str) -> bool:
        """Run one line; return whether the session accepts another one.

        Raises:
            InterruptedRunError: Ctrl-C or a signal interrupted the wait for a response.
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
            self._say(UsageError(f"cannot parse the line: {error}; close the quotes"))
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
        """Return a line as the session redacts it for the history; None if it contains a secret."""
        from eikon_engine.debug.vetting import vetted_text

        if self._has_secret:
            return None
        try:
            return vetted_text(self._folder, text)
        except EikonError:
            return None  # without the session, secrets are unknown

    def show(self, line: object) -> None:
        """Print an event."""
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
    """Return the request of a line."""
    with group.make_context("", list(words)) as context:
        asked: Asked = group.invoke(context)
    return asked


def _help(group: click.Group, words: list[str]) -> str:
    """List the commands, or explain one."""
    command: click.Command = group
    context = click.Context(group, info_name="")
    for word in words:
        found = command.get_command(context, word) if isinstance(command, click.Group) else None
        if found is None:
            raise UsageError(f"help: no command {word!r}; help lists the commands")
        command, context = found, click.Context(found, info_name=word, parent=context)
    if words:
        return command.get_help(context) + "\n"
    rows = [*((name, each.get_short_help_str(90)) for name, each in group.commands.items()), *_OWN]
    width = max(len(name) for name, _ in rows)
    return "".join(f"{name:<{width}}  {summary}\n" for name, summary in rows)


_OWN: Final = (("help", "List the commands, or explain one: help rewind."), ("detach", "Leave the prompt, as Ctrl-D."))
