"""`eikon fix`: mend code until its tests pass."""

from __future__ import annotations

from pathlib import Path

import click

from eikon_engine.completions.debug_options import DebugChoice, debug_options

HELP = {"help_option_names": ["-h", "--help"]}
_SESSIONS = click.option(
    "--sessions-dir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of the session folders.  [default: EIKON_FIX_DIR, else ~/.local/state/eikon/fix]",
)


@click.group("fix", context_settings=HELP)
def fix_command() -> None:
    """Mend what fails: run tests, find what is wrong, let a model mend it in a copy, test again."""


@fix_command.command("loop", context_settings=HELP)
@click.option(
    "--test-cmd", required=True, metavar="COMMAND", help="Command that runs the tests; its exit status decides."
)
@click.option(
    "--target-file",
    "target_files",
    multiple=True,
    metavar="FILE",
    help="File that may be changed; may be repeated.  [default: every file of the repository but tests]",
)
@click.option("--max-cycles", type=int, default=3, show_default=True, help="How many fixes are tried at most.")
@click.option(
    "--timeout", type=float, default=600.0, show_default=True, help="Seconds that one run of the tests may take."
)
@click.option("--model", metavar="NAME", help="Model to ask.  [default: OPENAI_MODEL]")
@click.option("--base-url", metavar="URL", help="Server to ask.  [default: OPENAI_BASE_URL, else that of OpenAI]")
@click.option(
    "--applier",
    type=click.Choice(["blocks", "aider"]),
    default="blocks",
    show_default=True,
    help="What applies a fix: search/replace blocks and differences by ourselves, or the program aider.",
)
@click.option("--keep", is_flag=True, help="Keep fixes that helped, also where tests still fail at the end.")
@click.option("--allow-dirty", is_flag=True, help="Begin with changes that are not committed.")
@click.option(
    "--also", multiple=True, metavar="PATH", help="File or folder that git ignores and tests need; may be repeated."
)
@_SESSIONS
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@debug_options
def loop_command(*, as_json: bool, debug: DebugChoice, **chosen: object) -> int:
    """Run tests, and mend what fails, until they pass or the cycles are used up.

    Tests run in a copy of the working tree. Your files are changed at the end, all at once, if the tests pass then, or
    with --keep.

    Exit status: 0 the tests pass; 1 they still fail, or a step failed; 2 usage, a dirty tree, or a command that cannot
    be run; 69 no server of a model; 78 asks for what is not here; 130 interrupted.
    """
    from eikon_engine.cli.fix_loop import LoopChoice, conclude, run_loop

    return conclude(run_loop(LoopChoice.model_validate(chosen), debug), as_json=as_json)


@fix_command.command("sessions", context_settings=HELP)
@_SESSIONS
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def sessions_command(*, sessions_dir: Path | None, as_json: bool) -> None:
    """List the sessions, newest first, and where those stood that were cut off."""
    from eikon_engine.cli.fix_sessions import list_sessions

    list_sessions(sessions_dir, as_json=as_json)
