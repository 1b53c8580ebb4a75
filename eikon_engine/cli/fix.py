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
    """Mend what fails: code until its tests pass, and recorded missions of sites that have changed."""


@fix_command.command("loop", context_settings=HELP)
@click.option(
    "--test-cmd", required=True, metavar="COMMAND", help="Command that runs the tests; its exit status decides."
)
@click.option(
    "--target-file",
    "target_files",
    multiple=True,
    metavar="FILE",
    help="File that may be changed; may be repeated.  [default: every module that other files use, and no tests]",
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


@fix_command.command("trace", context_settings=HELP)
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option(
    "--against",
    default="live",
    show_default=True,
    metavar="live|recording|PATH",
    help="What the mission is replayed against: the site of today, its own recorded network, another bundle or a HAR.",
)
@click.option(
    "--base-url", "base_urls", multiple=True, metavar="OLD=NEW", help="The site is NEW today; may be repeated."
)
@click.option(
    "--runs",
    type=click.IntRange(2, 1000),
    default=3,
    show_default=True,
    help="Sealed replays that have to be faithful.",
)
@click.option("--accept-baseline", is_flag=True, help="Take what the site shows today beside the mended step, too.")
@click.option(
    "--reset-cmd", metavar="COMMAND", help="Command that brings the site back to what it was, run before each visit."
)
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="DIR", help="Folder of the mended bundle.")
@click.option("--in-place", is_flag=True, help="Put it in the place of BUNDLE, which is kept aside.")
@click.option(
    "--timeout", type=click.FloatRange(0, 86_400, min_open=True), help="Deadline of every action, in seconds."
)
@click.option("--var", "variables", multiple=True, metavar="NAME=VALUE", help="Value of a variable of the trace.")
@click.option("--secret", "secrets", multiple=True, metavar="NAME=VALUE", help="Value of a secret; may be repeated.")
@click.option("--secret-file", type=click.Path(path_type=Path), help="File of NAME=VALUE lines with secrets.")
@click.option(
    "--storage-state", type=click.Path(path_type=Path), metavar="FILE", help="What a session on the site begins with."
)
@click.option("--browser-path", type=click.Path(path_type=Path), help="Browser to use, instead of looking for one.")
@click.option("--model", metavar="NAME", help="Model to ask where nothing else knows a fix; none is asked without it.")
@click.option("--model-url", metavar="URL", help="Its server.  [default: OPENAI_BASE_URL, else that of OpenAI]")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@debug_options
def trace_command(*, as_json: bool, debug: DebugChoice, **chosen: object) -> int:
    """Mend the recorded mission BUNDLE where its site has changed; nothing is mended that is right.

    Without -o and --in-place the repair is proved and shown, and not kept.

    Exit status: 0 repaired, or nothing to mend; 1 refused; 3 can be repaired, or cannot be compared; others as
    `eikon replay`.
    """
    from eikon_engine.cli.fix_trace import TraceChoice, conclude_repair, fix_trace

    return conclude_repair(fix_trace(TraceChoice.model_validate(chosen), debug), as_json=as_json)


@fix_command.command("sessions", context_settings=HELP)
@_SESSIONS
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def sessions_command(*, sessions_dir: Path | None, as_json: bool) -> None:
    """List the sessions, newest first, and where those stood that were cut off."""
    from eikon_engine.cli.fix_sessions import list_sessions

    list_sessions(sessions_dir, as_json=as_json)
