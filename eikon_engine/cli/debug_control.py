"""`eikon debug step`, `rewind` …: the commands that control a session, each run once from the shell."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Final

import click

from eikon_engine.cli.command import Command as ShellCommand
from eikon_engine.cli.command import Group as ShellGroup
from eikon_engine.cli.debug_branch_commands import BranchGroup
from eikon_engine.cli.debug_commands import SESSION_COMMANDS
from eikon_engine.cli.debug_options import json_option, session_option, sessions_dir_option
from eikon_engine.cli.standard_streams import print_essential

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.debug.client import Output, SessionRequest, UserRequest
    from eikon_engine.debug.commands import Command
    from eikon_engine.debug.protocol import EventMessage
    from eikon_engine.debug.session_folder import SessionFolder

_timeout_option: Final = click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(0, 86_400, min_open=True),
    metavar="SECONDS",
    help="How long to wait for the response.  [default: while the session runs]",
)


class _BranchGroup(BranchGroup, ShellGroup):
    """The commands of branches in the shell."""


def _shell_command(session_command: click.Command) -> click.Command:
    """Turn a session command into a shell command with options that select the session."""
    if isinstance(session_command, click.Group):
        kind = _BranchGroup if isinstance(session_command, BranchGroup) else ShellGroup
        group = kind(session_command.name, help=session_command.help)
        for each in session_command.commands.values():
            group.add_command(_shell_command(each))
        return group
    ask = session_command.callback
    assert ask is not None  # noqa: S101 - every command has a callback

    def drive(
        *, session: str | None, parent: Path, as_json: bool, timeout_s: float | None = None, **arguments: object
    ) -> int:
        request: UserRequest = ask(**arguments)
        return _run(request, (parent, session), as_json=as_json, timeout_s=timeout_s)

    for option in (session_option, sessions_dir_option, json_option, _timeout_option):
        option(drive)
    shared: list[click.Parameter] = vars(drive)["__click_params__"]
    return ShellCommand(
        session_command.name,
        params=[*session_command.params, *shared],
        callback=drive,
        help=session_command.help,
        short_help=session_command.short_help,
    )


def _run(
    request: UserRequest, session_choice: tuple[Path, str | None], *, as_json: bool, timeout_s: float | None
) -> int:
    from eikon_engine.debug.client import FileQuery
    from eikon_engine.debug.session_folder import find_running_session, find_session
    from eikon_engine.outcome.terminal import escape_control_characters

    output = (
        request.run(find_session(*session_choice))
        if isinstance(request, FileQuery)
        else _run_offline(request, session_choice)
    )
    if output is not None:
        click.echo(_to_json(output.data) if as_json else escape_control_characters(output.text), nl=False)
        return 0
    assert not isinstance(request, FileQuery)  # noqa: S101 - answered above
    folder = find_running_session(*session_choice)
    return _send(folder, _confirmed_command(request, folder), as_json=as_json, timeout_s=timeout_s)


def _run_offline(request: SessionRequest, session_choice: tuple[Path, str | None]) -> Output | None:
    """Run a command on the files of a named, ended session, if possible; None otherwise."""
    from eikon_engine.debug.session_folder import find_session

    if request.run_offline is None or session_choice[1] is None:
        return None
    folder = find_session(*session_choice)
    return None if folder.is_running() else request.run_offline(folder)


def _confirmed_command(request: SessionRequest, folder: SessionFolder) -> Command:
    """Return the command once the user confirmed it on the terminal, if needed.

    Raises:
        UsageError: no terminal to ask on, or not confirmed.
    """
    from eikon_engine.errors import UsageError

    command = request.command(folder)
    question = request.confirmation(folder)
    if question is None:
        return command
    if not sys.stdin.isatty():
        raise UsageError(f"{command.type}: {question} No terminal to ask on; add --force")
    if not click.confirm(question, err=True):
        raise UsageError(f"{command.type}: not confirmed; nothing was done")
    return request.confirmed(command)


def _send(folder: SessionFolder, command: Command, *, as_json: bool, timeout_s: float | None) -> int:
    from eikon_engine.debug.client import SessionClient
    from eikon_engine.debug.protocol import CommandError
    from eikon_engine.debug.result_text import render_result
    from eikon_engine.outcome.terminal import escape_control_characters, safe_line

    client = SessionClient(folder=folder, on_event=None if as_json else _print_event)
    answer = client.send(command, timeout_s=timeout_s)
    if isinstance(answer, CommandError):
        print_essential(safe_line(f"eikon: {answer.message} (code {answer.code})"))
        return answer.exit_status
    click.echo(
        _to_json(answer.result) if as_json else escape_control_characters(render_result(command, answer.result)),
        nl=False,
    )
    return 0


def _print_event(message: EventMessage) -> None:
    """Print an event while waiting for the answer."""
    from eikon_engine.debug.result_text import is_shown_while_waiting
    from eikon_engine.report.event_text import format_event_line

    if is_shown_while_waiting(message.line.event):
        click.echo(format_event_line(message.line, message.iteration))


def _to_json(data: object) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


SHELL_COMMANDS: Final = {name: _shell_command(word) for name, word in SESSION_COMMANDS.items()}


def __getattr__(name: str) -> click.Command:
    """Return the shell command with the name used in the command table, such as `step_command`."""
    word = name.removesuffix("_command").replace("_", "-")
    if name.endswith("_command") and word in SHELL_COMMANDS:
        return SHELL_COMMANDS[word]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
