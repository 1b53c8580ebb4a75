"""Run commands, each in a process of its own that is forked from this one, and print what they did as JSON.

Each line of standard input is a call, with `words`, `mode` and `folder`; the result is a line, too. The modes:

plain       as in a shell
pipe        the reader of standard output has closed it
extras      the modules of no extra can be imported
SIGINT      the process gets this signal when the command begins
SIGTERM     the same
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

import eikon_engine.certify.certify
import eikon_engine.replay.engine
import eikon_engine.report  # noqa: F401 - imported once for all commands
from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.files.extras import EXTRAS

TIMEOUT_S = 120
MODULES = tuple(module for modules in EXTRAS.values() for module in modules)


def run_call(words: list[str], mode: str, folder: Path) -> dict[str, object] | None:
    """Run a command in a child process; None in the child, which then runs it."""
    folder.mkdir(parents=True, exist_ok=True)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        _prepare(mode, folder)
        return None
    _, status = os.waitpid(child, 0)
    return {
        "status": os.waitstatus_to_exitcode(status),
        "out": (folder / "stdout").read_text(encoding="utf-8", errors="replace"),
        "err": (folder / "stderr").read_text(encoding="utf-8", errors="replace"),
    }


def _prepare(mode: str, folder: Path) -> None:
    signal.alarm(TIMEOUT_S)
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(folder)
    if mode == "pipe":
        reading, writing = os.pipe()
        os.close(reading)
        os.dup2(writing, 1)
    elif mode == "extras":
        blocked: dict[str, Any] = dict.fromkeys(MODULES)
        sys.modules.update(blocked)
    elif mode != "plain":
        _interrupt_at_begin(signal.Signals[mode])


def _interrupt_at_begin(number: signal.Signals) -> None:
    """Send a signal to this process when the function of a command is called."""
    invoke: Callable[..., Any] = click.Context.invoke

    def interrupted(context: click.Context, *values: Any, **named: Any) -> Any:  # noqa: ANN401 - click's signature
        if not isinstance(context.command, click.Group):
            os.kill(os.getpid(), number)
        return invoke(context, *values, **named)

    click.Context.invoke = interrupted  # type: ignore[method-assign] # in this process only


def main() -> None:
    """Run the calls; in a child process, the command."""
    loaded = [module for module in MODULES if module in sys.modules]
    if loaded:
        sys.exit(f"expected no module of an extra yet, got {', '.join(loaded)}")
    while line := sys.stdin.readline():
        call = json.loads(line)
        result = run_call(call["words"], call["mode"], Path(call["folder"]))
        if result is None:
            sys.exit(run_command(eikon, call["words"], "eikon"))
        sys.stdout.write(f"{json.dumps(result)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
