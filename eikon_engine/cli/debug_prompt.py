"""`eikon debug attach`: run the session commands from a prompt or from standard input, with completion."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Final

import click

from eikon_engine.cli.debug_commands import SESSION_COMMANDS
from eikon_engine.cli.standard_streams import print_essential
from eikon_engine.debug.breakpoints import BREAKPOINT_TYPES
from eikon_engine.errors import (
    EikonError,
    InterruptedRunError,
    SessionEndedError,
    SessionError,
    UsageError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from eikon_engine.debug.client import SessionRequest, UserRequest
    from eikon_engine.debug.commands import Command
    from eikon_engine.debug.protocol import EventMessage
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
    folder: SessionFolder, command: click.Command, path: tuple[str, ...], typed: Sequence[str]
) -> Iterator[str]:
    """Yield the values of an argument or option."""
    option = next((each for each in _options(command) if typed and typed[-1] in each.opts and not each.is_flag), None)
    parameter = option or next((each for each in command.params if isinstance(each, click.Argument)), None)
    if parameter is not None and isinstance(parameter.type, click.Choice):
        yield from map(str, parameter.type.choices)
    elif path == ("breakpoint", "add"):
        yield from () if typed else BREAKPOINT_TYPES
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
        self.status = 0
        self._folder = folder
        self._has_secret = False
        """Whether the last line was rejected because it contains a secret."""
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
            self._print_error(error)
        return self._folder.is_running()

    def redact_line(self, text: str) -> str | None:
        """Return a line as the session redacts it for the history; None if it contains a secret."""
        from eikon_engine.debug.client import request_redacted_text

        if self._has_secret:
            return None
        try:
            return request_redacted_text(self._folder, text)
        except EikonError:
            return None  # without the session, secrets are unknown

    def show_event(self, message: EventMessage) -> None:
        """Print an event."""
        from eikon_engine.debug.result_text import is_shown_when_following
        from eikon_engine.report.event_text import format_event_line

        if is_shown_when_following(message.line.event):
            print(format_event_line(message.line, message.iteration))  # noqa: T201 - above the prompt, which takes what is printed

    def _execute(self, request: UserRequest) -> None:
        from eikon_engine.debug.client import FileQuery, SessionClient
        from eikon_engine.debug.protocol import CommandError
        from eikon_engine.debug.result_text import render_result
        from eikon_engine.outcome.terminal import escape_control_characters, safe_line

        if isinstance(request, FileQuery):
            click.echo(escape_control_characters(request.run(self._folder).text), nl=False)
            return
        command = self._confirmed_command(request)
        if command is None:
            return
        answer = SessionClient(folder=self._folder).send(command)
        if isinstance(answer, CommandError):
            self.status = answer.exit_status
            self._has_secret = answer.code == "secret-given"
            print_essential(safe_line(f"eikon: {answer.message} (code {answer.code})"))
        else:
            click.echo(escape_control_characters(render_result(command, answer.result)), nl=False)

    def _confirmed_command(self, request: SessionRequest) -> Command | None:
        command, question = request.command(self._folder), request.confirmation(self._folder)
        if question is None:
            return command
        return request.confirmed(command) if self._confirm(question) else None

    def _print_error(self, error: EikonError) -> None:
        self.status = error.exit_status
        print_essential(f"eikon: {error.message} (code {error.code})")


def _parse_request(group: click.Group, words: list[str]) -> UserRequest:
    """Return the request of a line."""
    with group.make_context("", list(words)) as context:
        request: UserRequest = group.invoke(context)
    return request


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
