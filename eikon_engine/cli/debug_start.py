"""`eikon debug start` and `eikon debug attach`: start a session, and control one from a prompt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from eikon_engine.cli.debug_options import HELP, session_option, sessions_dir_option
from eikon_engine.replay.mission_options import (
    browser_option,
    headless_option,
    on_divergence_option,
    secret_options,
    timeout_option,
    value_option,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.debug.session_options import SessionOptions
    from eikon_engine.outcome.events import JournalLine
    from eikon_engine.replay.options import ReplayOptions


class _Chosen(TypedDict):
    """The options of `start`."""

    trace: Path | None
    from_session: str | None
    session: str | None
    parent: Path
    breaks: tuple[str, ...]
    run: bool
    headless: bool
    on_divergence: str
    checkpoint_interval: int
    keep_checkpoints: int
    parked: int
    timeout: float | None
    variables: dict[str, str]
    secrets: tuple[str, ...]
    secret_file: Path | None
    browser_path: Path | None


@click.command("start", context_settings=HELP)
@click.option("--trace", type=click.Path(path_type=Path), help="Bundle folder, or its trace.json.")
@click.option("--from-session", metavar="ID", help="Use the trace and checkpoints of an ended or crashed session.")
@click.option("--session", metavar="NAME", help="Id of the new session.  [default: debug_<date>_<time>_<mark>]")
@sessions_dir_option
@click.option(
    "--break",
    "breaks",
    multiple=True,
    metavar="TYPE[:VALUE]",
    help="Breakpoint: tool:click, iteration:5, pattern:REGEX, error, divergence, …; may be repeated.",
)
@click.option("--run", is_flag=True, help="Run at once instead of pausing before the first step.")
@click.option("--attach", is_flag=True, help="Open the prompt in this terminal.")
@headless_option
@on_divergence_option("Pause after each divergence (a breakpoint), or continue.")
@click.option(
    "--checkpoint-interval",
    type=click.IntRange(0),
    default=5,
    show_default=True,
    metavar="N",
    help="Create a checkpoint every N steps; 0 for never.",
)
@click.option(
    "--keep-checkpoints",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    metavar="N",
    help="How many automatic checkpoints to keep.",
)
@click.option(
    "--parked",
    type=click.IntRange(0, 16),
    default=2,
    show_default=True,
    metavar="N",
    help="How many contexts to park at checkpoints, for fast rewinds.",
)
@timeout_option("Deadline of every action, in seconds of page time.")
@value_option
@secret_options
@browser_option
def start_command(*, attach: bool, **chosen: Unpack[_Chosen]) -> int:
    """Start a debug session on a bundle and run until it ends; control it from other terminals.

    Exit status: 0 quit, 2 usage, 65 unreadable trace or session, 69 no browser, 70 internal error, 78 something the
    trace needs is missing, 130 interrupted.
    """
    import asyncio

    from eikon_engine.debug.host import run_session
    from eikon_engine.debug.session_folder import private_files
    from eikon_engine.errors import InterruptedRunError

    options = _options(chosen, () if attach else (_shown(),))
    with private_files():
        if attach:
            from eikon_engine.cli.debug_attached import run_attached

            ended = asyncio.run(run_attached(options))
        else:
            ended = asyncio.run(run_session(options, _say_how))
    if ended.how == "interrupted":
        raise InterruptedRunError(f"the session was {ended.reason}; its files are kept")
    return 0


@click.command("attach", context_settings=HELP)
@session_option
@sessions_dir_option
def attach_command(*, session: str | None, parent: Path) -> int:
    """Control a session from a prompt with the commands of `eikon debug`; `help` lists them, Ctrl-D leaves.

    Without a terminal, lines are read from standard input. Exit status: that of the last failed command, else 0.
    """
    from eikon_engine.cli.debug_prompt import attach_to
    from eikon_engine.debug.find_session import find_running

    return attach_to(find_running(parent, session))


def _options(chosen: _Chosen, readers: tuple[Callable[[JournalLine], None], ...]) -> SessionOptions:
    from eikon_engine.debug.asked_breakpoint import parse_break
    from eikon_engine.debug.commands import BreakpointAdd
    from eikon_engine.debug.lines import LineOptions
    from eikon_engine.debug.marking import Marking
    from eikon_engine.debug.pruning import PrunePolicy
    from eikon_engine.debug.session_folder import demand_name
    from eikon_engine.debug.session_options import SessionOptions

    trace, before = _source(chosen)
    breakpoints = tuple(parse_break(text) for text in chosen["breaks"])
    divergence = BreakpointAdd(on="divergence")
    if chosen["on_divergence"] == "stop" and divergence not in breakpoints:
        breakpoints = (*breakpoints, divergence)
    return SessionOptions(
        trace=trace,
        parent=chosen["parent"],
        name=None if chosen["session"] is None else demand_name(chosen["session"]),
        lines=LineOptions(replay=_replay(chosen, before), parked=chosen["parked"]),
        marking=Marking(
            interval=chosen["checkpoint_interval"], policy=PrunePolicy(automatic=chosen["keep_checkpoints"])
        ),
        breakpoints=breakpoints,
        run=chosen["run"],
        from_session=before,
        readers=readers,
    )


def _source(chosen: _Chosen) -> tuple[Path, SessionFolder | None]:
    """Return the bundle, and the session whose checkpoints are reused.

    Raises:
        UsageError: both or neither are given; the session is still running.
    """
    from eikon_engine.debug.find_session import find_ended
    from eikon_engine.errors import UsageError

    trace, name = chosen["trace"], chosen["from_session"]
    if (trace is None) == (name is None):
        found = "neither" if trace is None else "both"
        raise UsageError(f"expected either --trace or --from-session, got {found}")
    if trace is not None:
        return trace, None
    before = find_ended(chosen["parent"], name or "")
    return Path(before.read().trace), before


def _replay(chosen: _Chosen, before: SessionFolder | None) -> ReplayOptions:
    from eikon_engine.replay.options import ReplayOptions
    from eikon_engine.replay.secret_sources import gather_secrets

    timeout_ms = None if chosen["timeout"] is None else chosen["timeout"] * 1000
    browser_path, variables = chosen["browser_path"], chosen["variables"]
    if before is not None:  # these options affect what its pages showed
        session = before.read()
        variables = {**session.variables, **variables}
        timeout_ms = session.timeout_ms if timeout_ms is None else timeout_ms
        if browser_path is None and session.browser_path is not None:
            browser_path = Path(session.browser_path)
    return ReplayOptions(
        headless=chosen["headless"],
        browser_path=browser_path,
        timeout_ms=timeout_ms,
        variables=variables,
        secrets=gather_secrets(chosen["secrets"], chosen["secret_file"]),
    )


def _say_how(folder: SessionFolder) -> None:
    click.echo(f"session {folder.name}: {folder.root}")
    click.echo("control it from another terminal: eikon debug step, resume, inspect, timeline, quit …")
    click.echo(f"or from a prompt: eikon debug attach --session {folder.name}; Ctrl-C here ends it")


def _shown() -> Callable[[JournalLine], None]:
    """Return a callback that prints the events of interest."""
    from eikon_engine.debug.numbering import Numbering
    from eikon_engine.debug.shown_result import is_worth_following
    from eikon_engine.outcome.event_text import line_text

    numbering = Numbering()

    def show(line: JournalLine) -> None:
        iteration = numbering.of(line)
        if is_worth_following(line.event):
            click.echo(line_text(line, iteration))

    return show
