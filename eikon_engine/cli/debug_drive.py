"""`eikon debug step`, `rewind` …: the commands that control a session, each run once from the shell."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Final

import click

from eikon_engine.cli.debug_options import HELP, json_option, session_option, sessions_dir_option
from eikon_engine.cli.debug_words import WORDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from eikon_engine.debug.asked import Ask, Asked, Told
    from eikon_engine.debug.commands import Command
    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.outcome.events import JournalLine

_timeout_option: Final = click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(0, 86_400, min_open=True),
    metavar="SECONDS",
    help="How long to wait for the response.  [default: while the session runs]",
)


def _driving(word: click.Command) -> click.Command:
    """Turn a session command into a shell command with options that select the session."""
    if isinstance(word, click.Group):
        group = click.Group(word.name, help=word.help, context_settings=dict(HELP))
        for each in word.commands.values():
            group.add_command(_driving(each))
        return group
    ask = word.callback
    assert ask is not None  # noqa: S101 - every command has a callback

    def drive(
        *, session: str | None, parent: Path, as_json: bool, timeout_s: float | None = None, **given: object
    ) -> int:
        asked: Asked = ask(**given)
        return _drive(asked, (parent, session), as_json=as_json, timeout_s=timeout_s)

    command = click.Command(
        word.name, params=list(word.params), callback=drive, help=word.help, context_settings=dict(HELP)
    )
    for option in (session_option, sessions_dir_option, json_option, _timeout_option):
        command = _with(command, option)
    return command


def _with(command: click.Command, option: Any) -> click.Command:  # noqa: ANN401 - click's decorators are typed for functions
    """Add a shared option to a command."""
    made: click.Command = option(command)
    return made


def _drive(asked: Asked, which: tuple[Path, str | None], *, as_json: bool, timeout_s: float | None) -> int:
    from eikon_engine.debug.asked import Look
    from eikon_engine.debug.find_session import find_any, find_running
    from eikon_engine.outcome.printable import printable

    told = asked.tell(find_any(*which)) if isinstance(asked, Look) else _at_rest(asked, which)
    if told is not None:
        click.echo(_json(told.data) if as_json else printable(told.text), nl=False)
        return 0
    assert not isinstance(asked, Look)  # noqa: S101 - answered above
    folder = find_running(*which)
    return _send(folder, _agreed(asked, folder), as_json=as_json, timeout_s=timeout_s)


def _at_rest(ask: Ask, which: tuple[Path, str | None]) -> Told | None:
    """Run a command on the files of a named, ended session, if possible; None otherwise."""
    from eikon_engine.debug.find_session import find_any

    if ask.ended is None or which[1] is None:
        return None
    folder = find_any(*which)
    return None if folder.runs() else ask.ended(folder)


def _agreed(ask: Ask, folder: SessionFolder) -> Command:
    """Return the command once the user confirmed it on the terminal, if needed.

    Raises:
        UsageError: no terminal to ask on, or not confirmed.
    """
    from eikon_engine.errors import UsageError

    command = ask.command(folder)
    question = ask.question(folder)
    if question is None:
        return command
    if not sys.stdin.isatty():
        raise UsageError(f"{command.type}: {question} No terminal to ask on; add --force")
    if not click.confirm(question, err=True):
        raise UsageError(f"{command.type}: not confirmed; nothing was done")
    return ask.agreed(command)


def _send(folder: SessionFolder, command: Command, *, as_json: bool, timeout_s: float | None) -> int:
    from eikon_engine.debug.client import Client
    from eikon_engine.debug.shown_result import render_result
    from eikon_engine.outcome.debug_events import CommandFailed
    from eikon_engine.outcome.printable import printable

    client = Client(folder=folder, read=None if as_json else _shown(folder))
    answer = client.send(command, timeout_s=timeout_s)
    if isinstance(answer.said, CommandFailed):
        click.echo(printable(f"eikon: {answer.said.message} (code {answer.said.code})"), err=True)
        return answer.said.exit_status
    click.echo(_json(answer.result) if as_json else printable(render_result(command, answer.result)), nl=False)
    return 0


def _shown(folder: SessionFolder) -> Callable[[JournalLine], None]:
    """Return a callback that prints events while waiting for the response."""
    from eikon_engine.debug.numbering import Numbering
    from eikon_engine.debug.shown_result import is_worth_showing
    from eikon_engine.outcome.event_text import line_text

    numbering = Numbering(folder.events)

    def show(line: JournalLine) -> None:
        iteration = numbering.of(line)
        if is_worth_showing(line.event):
            click.echo(line_text(line, iteration))

    return show


def _json(data: object) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


DRIVING: Final = {name: _driving(word) for name, word in WORDS.items()}


def __getattr__(name: str) -> click.Command:
    """Return the shell command with the name used in the command table, such as `step_command`."""
    word = name.removesuffix("_command").replace("_", "-")
    if name.endswith("_command") and word in DRIVING:
        return DRIVING[word]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
