"""`eikon repl`: a prompt for tasks."""

from __future__ import annotations

import click

from eikon_engine.completions.debug_options import DebugChoice, debug_options


@click.command("repl", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--model", metavar="NAME", help="Model to ask.  [default: OPENAI_MODEL]")
@click.option("--base-url", metavar="URL", help="Server to ask.  [default: OPENAI_BASE_URL, else that of OpenAI]")
@debug_options
def repl_command(*, model: str | None, base_url: str | None, debug: DebugChoice) -> int:
    """Ask for tasks: /task debug:loop --test_cmd="pytest" …; /help lists what can be typed.

    Lines come from standard input where that is no terminal; the first one that fails is the last one then, and its
    exit status is that of the command.
    """
    from eikon_engine.cli.repl_lines import Surroundings, serve_lines

    return serve_lines(Surroundings(model=model, base_url=base_url, debug=debug))
