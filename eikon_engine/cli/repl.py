"""`eikon repl`: an interactive prompt for tasks."""

from __future__ import annotations

import click

from eikon_engine.cli.command import command
from eikon_engine.cli.debug_dir_options import DebugDirChoice, debug_dir_options


@command("repl")
@click.option("--model", metavar="NAME", help="Model to use.  [default: OPENAI_MODEL]")
@click.option("--base-url", metavar="URL", help="API base URL.  [default: OPENAI_BASE_URL, else that of OpenAI]")
@debug_dir_options
def repl_command(*, model: str | None, base_url: str | None, debug: DebugDirChoice) -> int:
    """Run tasks from a prompt: /task debug:loop --test_cmd="pytest" …; /help lists the commands.

    Without a terminal, lines are read from standard input; the first failing line ends the command with its exit
    status.
    """
    from eikon_engine.cli.repl_prompt import ReplOptions, run_prompt

    return run_prompt(ReplOptions(model=model, base_url=base_url, debug=debug))
