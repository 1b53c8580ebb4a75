"""Run the lines typed at the prompt."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from eikon_engine.cli.fix_loop import conclude, run_loop
from eikon_engine.cli.repl_words import WORDS, Plain, TaskCall, as_typed, demand_loop, read_choice, read_line
from eikon_engine.errors import EikonError, OutputError, RequirementError, UsageError
from eikon_engine.fix.default_tasks import LOOP_TASK, SUMMARIES
from eikon_engine.fix.session import sessions_folder
from eikon_engine.outcome.printable import printable
from eikon_engine.trace.whole_file import cannot_write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from eikon_engine.completions.debug_options import DebugChoice
    from eikon_engine.fix.tasks import LoopTask

_PROMPT: Final = "eikon> "
_HISTORY: Final = "repl_history"
_LOOPS: Final = {LOOP_TASK.name: LOOP_TASK}
_HELP: Final = """\
/task NAME --parameter=value …   run a task; quote values as in a shell
/task NAME help                  show the parameters of a task
/tasks                           list the tasks
/help                            show this help
/quit                            leave; so does Ctrl-D

/task debug:loop --test_cmd="pytest -k price" --target_files='["src/price.py"]' --max_cycles=3"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Options for all tasks of a prompt."""

    model: str | None
    base_url: str | None
    debug: DebugChoice


def serve_lines(surroundings: Surroundings) -> int:
    """Run lines until the end of input; return the exit status.

    Raises:
        EikonError: a line from a non-interactive standard input failed.
        RequirementError: prompt-toolkit is not installed.
    """
    if not sys.stdin.isatty():
        return _serve_script(sys.stdin, surroundings)
    ask = _prompt()
    while True:
        try:
            line = ask()
        except EOFError:
            return 0
        except KeyboardInterrupt as stop:
            _go_on_after(stop)
            continue
        try:
            if _do(line, surroundings) is None:
                return 0
        except EikonError as error:
            click.echo(printable(f"{error.message} (code {error.code})"), err=True)
        except KeyboardInterrupt as stop:
            _go_on_after(stop)
            click.echo("stopped; eikon fix sessions shows where", err=True)


def _go_on_after(stop: KeyboardInterrupt) -> None:
    """Stay at the prompt after Ctrl-C, but leave after a signal, which the interrupt carries."""
    if stop.args:
        raise stop


def _serve_script(lines: Iterable[str], surroundings: Surroundings) -> int:
    """Run lines until the first failure."""
    for line in lines:
        status = _do(line, surroundings)
        if status is None:
            return 0
        if status:
            return status
    return 0


def _do(line: str, surroundings: Surroundings) -> int | None:
    """Run one line; return its exit status, None to leave."""
    typed = read_line(line)
    match typed:
        case None:
            return 0
        case Plain(word="/help"):
            click.echo(_HELP)
        case Plain(word="/tasks"):
            click.echo(_tasks())
        case Plain():
            return None
        case TaskCall():
            return _call(typed, surroundings)
    return 0


def _call(call: TaskCall, surroundings: Surroundings) -> int:
    task = demand_loop(call.name, _LOOPS)
    if call.asks_help:
        click.echo(_described(task))
        return 0
    choice = read_choice(task, call.arguments).model_copy(
        update={"model": surroundings.model, "base_url": surroundings.base_url}
    )
    try:
        return conclude(run_loop(choice, surroundings.debug), as_json=False)
    except UsageError as error:
        raise type(error)(as_typed(task, error.message)) from error


def _tasks() -> str:
    steps = (f"{name:28} step of {LOOP_TASK.name}: {SUMMARIES[name]}" for name in LOOP_TASK.steps)
    return "\n".join((_described(LOOP_TASK), "", *steps))


def _described(task: LoopTask) -> str:
    taken = (
        f"  --{each.name + '=…':16} {each.summary}{' (required)' if each.required else ''}" for each in task.parameters
    )
    return "\n".join((f"{task.name:28} {task.summary}", *taken))


def _prompt() -> Callable[[], str]:
    """Open a prompt with completion and history.

    Raises:
        RequirementError: prompt-toolkit is not installed.
        OutputError: the history folder cannot be created.
    """
    try:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import NestedCompleter
        from prompt_toolkit.history import FileHistory
    except ImportError as error:
        message = "the prompt needs the extra \"debug\"; run pip install 'eikon-engine[debug]'"
        raise RequirementError(message) from error
    home = sessions_folder(Path.home(), os.environ)
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(cannot_write(home, error)) from error
    session: PromptSession[str] = PromptSession(
        completer=NestedCompleter.from_nested_dict(completions()), history=FileHistory(str(home / _HISTORY))
    )
    return lambda: session.prompt(_PROMPT)


def completions() -> dict[str, object]:
    """Return the nested completions of the prompt."""
    parameters = {task.name: {f"--{each.name}=": None for each in task.parameters} for task in _LOOPS.values()}
    return {**dict.fromkeys(WORDS), "/task": {name: {**taken, "help": None} for name, taken in parameters.items()}}
