"""`eikon fix`: fix code until its tests pass, and repair recorded missions."""

from __future__ import annotations

from pathlib import Path

import click

from eikon_engine.cli.command import group
from eikon_engine.cli.debug_dir_options import DebugDirChoice, debug_dir_options
from eikon_engine.cli.shared_options import (
    browser_option,
    bundle_argument,
    headless_option,
    output_option,
    secret_options,
    timeout_option,
    variable_option,
)


def _with_hyphens(option: str) -> str:
    """Return the name of an option with hyphens: the parameters of the tasks of `eikon repl` have underscores."""
    return option.replace("_", "-")


def _parse_files(_context: click.Context, _parameter: click.Parameter, text: str | None) -> tuple[str, ...]:
    """Parse the value of `--target_files`, as in the tasks of `eikon repl`."""
    if text is None:
        return ()
    from eikon_engine.cli.repl_prompt import parse_paths

    return parse_paths("target_files", text)


_SESSIONS = click.option(
    "--sessions-dir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder for session folders.  [default: EIKON_FIX_DIR, else ~/.local/state/eikon/fix]",
)


@group("fix")
def fix_command() -> None:
    """Fix code until its tests pass, and repair recorded missions whose site changed."""


@fix_command.command(
    "loop",
    short_help="Run tests and fix failures until they pass.",
    context_settings={"token_normalize_func": _with_hyphens},
)
@click.option("--test-cmd", required=True, metavar="COMMAND", help="Test command; its exit status decides.")
@click.option(
    "--target-file",
    "target_files",
    multiple=True,
    metavar="FILE",
    help="File that a fix may change, and nothing else; repeatable.",
)
@click.option("--target-files", "listed_files", callback=_parse_files, hidden=True)
@click.option(
    "--allow",
    multiple=True,
    metavar="GLOB",
    help="Pattern of files that a fix may change, as in .gitignore; repeatable.  [default: source code]",
)
@click.option(
    "--protect",
    multiple=True,
    metavar="GLOB",
    help="Pattern of files that no fix may change, in addition to tests, configuration and scripts; repeatable.",
)
@click.option("--max-cycles", type=int, default=3, show_default=True, help="Maximum number of fixes to try.")
@click.option("--timeout", type=float, default=600.0, show_default=True, help="Timeout of one test run in seconds.")
@click.option("--model", metavar="NAME", help="Model to ask.  [default: OPENAI_MODEL]")
@click.option("--base-url", metavar="URL", help="Base URL of the model API.  [default: OPENAI_BASE_URL, else OpenAI]")
@click.option(
    "--applier",
    type=click.Choice(["blocks", "aider"]),
    default="blocks",
    show_default=True,
    help="How fixes are applied: built-in search/replace blocks and diffs, or the program aider.",
)
@click.option("--keep", is_flag=True, help="Keep fixes that helped even if tests still fail at the end.")
@click.option("--allow-dirty", is_flag=True, help="Start with uncommitted changes.")
@click.option(
    "--also", multiple=True, metavar="PATH", help="File or folder that tests need although git ignores it; repeatable."
)
@_SESSIONS
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@debug_dir_options
def loop_command(
    *,
    target_files: tuple[str, ...],
    listed_files: tuple[str, ...],
    as_json: bool,
    debug: DebugDirChoice,
    **chosen: object,
) -> int:
    """Run tests and fix failures until they pass or the cycle limit is reached.

    Tests run in a copy of the working tree. Your files are changed at the end, all at once, if the tests pass, or with
    --keep.

    A plain pytest command decides itself which files are tests. Any other command, such as "npm test", needs --allow or
    --target-file, which say what a fix may change; [tool.eikon.fix] in pyproject.toml holds allow and protect too.

    Exit status: 0 the tests pass; 1 they still fail, or a step failed; 2 usage, a dirty tree, or a command that cannot
    be run; 69 no model server; 78 missing data or program; 130 interrupted.
    """
    from eikon_engine.cli.fix_loop import LoopCommandOptions, print_result, run_loop

    options = LoopCommandOptions.model_validate({**chosen, "target_files": (*target_files, *listed_files)})
    return print_result(run_loop(options, debug), as_json=as_json)


@fix_command.command("trace")
@bundle_argument()
@click.option(
    "--against",
    default="live",
    show_default=True,
    metavar="live|recording|PATH",
    help="What to replay against: the live site, the recorded network, another bundle or a HAR file.",
)
@click.option(
    "--base-url", "base_urls", multiple=True, metavar="OLD=NEW", help="Replace base URL OLD by NEW; repeatable."
)
@click.option(
    "--runs",
    type=click.IntRange(2, 1000),
    default=3,
    show_default=True,
    help="Number of sealed replays that must be faithful.",
)
@click.option("--accept-baseline", is_flag=True, help="Accept other visible changes of the site as the new baseline.")
@click.option(
    "--reset-cmd",
    metavar="COMMAND",
    help="Command that resets the site, run before each visit; its processes end with it.",
)
@output_option("Folder for the repaired bundle.", holds="bundle")
@click.option("--in-place", is_flag=True, help="Replace BUNDLE; the old one is renamed.")
@timeout_option("Timeout of every action, in seconds.")
@variable_option("Value of a variable of the trace; repeatable.")
@secret_options
@click.option(
    "--storage-state",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Initial storage state (cookies, local storage).",
)
@browser_option
@headless_option
@click.option("--model", metavar="NAME", help="Model to ask if no other repair is found.")
@click.option("--model-url", metavar="URL", help="Base URL of the model API.  [default: OPENAI_BASE_URL, else OpenAI]")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@debug_dir_options
def trace_command(*, as_json: bool, debug: DebugDirChoice, **chosen: object) -> int:
    """Repair the recorded mission BUNDLE whose site changed.

    Without -o or --in-place the repair is proved and shown, but not stored.

    Exit status: 0 repaired, or nothing to repair; 1 refused; 3 can be repaired, or unverifiable; others as `eikon
    replay`.
    """
    from eikon_engine.cli.fix_trace import RepairCommandOptions, print_repair, run_repair

    return print_repair(run_repair(RepairCommandOptions.model_validate(chosen), debug), as_json=as_json)


@fix_command.command("sessions")
@_SESSIONS
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def sessions_command(*, sessions_dir: Path | None, as_json: bool) -> None:
    """List the sessions, newest first, and recover interrupted ones."""
    from eikon_engine.cli.fix_sessions import list_sessions

    list_sessions(sessions_dir, as_json=as_json)
