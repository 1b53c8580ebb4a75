"""`eikon debug attach`: run the session commands from a prompt or from standard input."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Final

import click

from eikon_engine.cli.debug_completion import complete_line
from eikon_engine.cli.debug_words import SESSION_COMMANDS
from eikon_engine.errors import EikonError, InterruptedRunError, PlaintextSecretError, SessionEndedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.debug.asked import SessionRequest, UserRequest
    from eikon_engine.debug.commands import Command
    from eikon_engine.debug.session_folder import SessionFolder

_HELP_COMMANDS: Final = ("help", "?")
_LEAVE_COMMANDS: Final = ("detach", "exit")


def run_attached_prompt(folder: SessionFolder) -> int:
    """Run commands from a prompt or standard input; return the exit status of the last failed one, else 0.

    Raises:
        EikonError: the prompt cannot be opened.
    """
    if not sys.stdin.isatty():
        reading = _CommandInterpreter(folder, _refuse_confirmation)
        for text in sys.stdin:
            if text.strip() and not text.lstrip().startswith("#") and not reading.run(text):
                break
        return reading.status
    from eikon_engine.debug.prompt import PromptActions, run_prompt

    reading = _CommandInterpreter(folder, click.confirm)
    click.echo(f"session {folder.name}; help lists the commands, Tab completes them, Ctrl-D leaves")
    reading.run("timeline")
    words = PromptActions(
        execute=reading.run,
        complete=lambda text: complete_line(folder, text),
        show_event=reading.show_event,
        redact_line=reading.redact_line,
    )
    run_prompt(folder, words)
    if not folder.is_running():
        click.echo(f"session {folder.name} has {folder.state()}")
    return 0


def _refuse_confirmation(question: str) -> bool:
    raise UsageError(f"{question} No terminal to ask on; add --force")


class _CommandInterpreter:
    """Run lines one after the other and track the exit status."""

    def __init__(self, folder: SessionFolder, agrees: Callable[[str], bool]) -> None:
        from eikon_engine.debug.numbering import EventNumbering

        self.status = 0
        self._folder = folder
        self._has_secret = False
        """Whether the last line was rejected because it contains a secret."""
        self._numbering = EventNumbering(folder.events_path)
        self._confirm = agrees
        self._commands = click.Group("", commands=dict(SESSION_COMMANDS), add_help_option=False, no_args_is_help=False)

    def run(self, text: str) -> bool:
        """Run one line; return whether the session accepts another one.

        Raises:
            InterruptedRunError: Ctrl-C or a signal interrupted the wait for a response.
        """
        self._has_secret = False
        try:
            words = shlex.split(text)
            if words[0] in _LEAVE_COMMANDS:
                return False
            if words[0] in _HELP_COMMANDS:
                click.echo(_help_text(self._commands, words[1:]), nl=False)
                return True
            self._execute(_parse_request(self._commands, words))
        except ValueError as error:
            self._print_error(UsageError(f"cannot parse the line: {error}; close the quotes"))
        except click.ClickException as error:
            self._print_error(UsageError(error.format_message()))
        except click.exceptions.Exit:
            pass  # a help text was printed
        except InterruptedRunError:
            raise
        except SessionEndedError as error:
            self._print_error(error)
            return False
        except EikonError as error:
            self._has_secret = isinstance(error, PlaintextSecretError)
            self._print_error(error)
        return self._folder.is_running()

    def redact_line(self, text: str) -> str | None:
        """Return a line as the session redacts it for the history; None if it contains a secret."""
        from eikon_engine.debug.vetting import request_redacted_text

        if self._has_secret:
            return None
        try:
            return request_redacted_text(self._folder, text)
        except EikonError:
            return None  # without the session, secrets are unknown

    def show_event(self, line: object) -> None:
        """Print an event."""
        from eikon_engine.debug.shown_result import is_shown_when_following
        from eikon_engine.outcome.event_text import format_event_line
        from eikon_engine.outcome.events import EventLine

        if not isinstance(line, EventLine):
            return
        iteration = self._numbering.iteration_of(line)
        if is_shown_when_following(line.event):
            print(format_event_line(line, iteration))  # noqa: T201 - above the prompt, which takes what is printed

    def _execute(self, request: UserRequest) -> None:
        from eikon_engine.debug.asked import FileQuery
        from eikon_engine.debug.client import SessionClient
        from eikon_engine.debug.shown_result import render_result
        from eikon_engine.outcome.debug_events import CommandFailed
        from eikon_engine.outcome.printable import escape_control_characters

        if isinstance(request, FileQuery):
            click.echo(escape_control_characters(request.run(self._folder).text), nl=False)
            return
        command = self._confirmed_command(request)
        if command is None:
            return
        answer = SessionClient(folder=self._folder).send(command)
        if isinstance(answer.event, CommandFailed):
            self.status = answer.event.exit_status
            click.echo(escape_control_characters(f"eikon: {answer.event.message} (code {answer.event.code})"), err=True)
        else:
            click.echo(escape_control_characters(render_result(command, answer.result)), nl=False)

    def _confirmed_command(self, request: SessionRequest) -> Command | None:
        command, question = request.command(self._folder), request.confirmation(self._folder)
        if question is None:
            return command
        return request.confirmed(command) if self._confirm(question) else None

    def _print_error(self, error: EikonError) -> None:
        self.status = error.exit_status
        click.echo(f"eikon: {error.message} (code {error.code})", err=True)


def _parse_request(group: click.Group, words: list[str]) -> UserRequest:
    """Return the request of a line."""
    with group.make_context("", list(words)) as context:
        asked: UserRequest = group.invoke(context)
    return asked


def _help_text(group: click.Group, words: list[str]) -> str:
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
    rows = [*((name, each.get_short_help_str(90)) for name, each in group.commands.items()), *_PROMPT_HELP]
    width = max(len(name) for name, _ in rows)
    return "".join(f"{name:<{width}}  {summary}\n" for name, summary in rows)


_PROMPT_HELP: Final = (
    ("help", "List the commands, or explain one: help rewind."),
    ("detach", "Leave the prompt, as Ctrl-D."),
)
