"""`eikon debug start` and `eikon debug attach`: start a session, and control one from a prompt."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from eikon_engine.cli.command import command
from eikon_engine.cli.debug_options import session_option, sessions_dir_option
from eikon_engine.cli.shared_options import (
    allow_scheme_option,
    browser_option,
    bundle_argument,
    headless_option,
    on_divergence_option,
    secret_options,
    timeout_option,
    variable_values_option,
)
from eikon_engine.debug.client import SessionClient
from eikon_engine.debug.commands import Quit
from eikon_engine.debug.session_host import run_session
from eikon_engine.errors import SessionEndedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.debug.session_host import SessionEnd, SessionOptions
    from eikon_engine.outcome.events import EventLine
    from eikon_engine.replay.options import ReplayOptions


async def run_attached(options: SessionOptions) -> SessionEnd:
    """Run a session with a prompt in the same terminal; leaving the prompt ends the session.

    Raises:
        EikonError: see `run_session`.
    """
    prompts: list[asyncio.Task[None]] = []

    def begun(folder: SessionFolder) -> None:
        prompts.append(asyncio.ensure_future(_run_prompt_process(folder)))

    try:
        return await run_session(replace(options, ignore_sigint=True), begun)
    finally:
        await asyncio.gather(*prompts)


async def _run_prompt_process(folder: SessionFolder) -> None:
    """Run the prompt until it ends, then end the session."""
    where = ("--session", folder.name, "--sessions-dir", str(folder.root.parent))
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "eikon_engine", "debug", "attach", *where)
    await process.wait()
    if folder.is_running():
        with suppress(SessionEndedError):  # it ends meanwhile
            await asyncio.to_thread(SessionClient(folder=folder).send, Quit())


class _StartOptions(TypedDict):
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
    allow_schemes: tuple[str, ...]
    variables: dict[str, str]
    secrets: tuple[str, ...]
    secret_file: Path | None
    browser_path: Path | None


@command("start")
@bundle_argument("trace", required=False, metavar="[BUNDLE]")
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
@allow_scheme_option
@timeout_option("Deadline of every action, in seconds of page time.")
@variable_values_option
@secret_options
@browser_option
def start_command(*, attach: bool, **chosen: Unpack[_StartOptions]) -> int:
    """Start a debug session on a bundle and run until it ends; control it from other terminals.

    Exit status: 0 quit, 2 usage, 65 unreadable trace or session, 69 no browser, 70 internal error, 78 something the
    trace needs is missing, 130 interrupted.
    """
    import asyncio

    from eikon_engine.debug.session_folder import private_files
    from eikon_engine.debug.session_host import run_session
    from eikon_engine.errors import InterruptedRunError

    options = _session_options(chosen, () if attach else (_print_events(),))
    with private_files():
        session = run_attached(options) if attach else run_session(options, _print_instructions)
        ended = asyncio.run(session)
    if ended.how == "interrupted":
        raise InterruptedRunError(f"the session was {ended.reason}; its files are kept")
    return 0


@command("attach")
@session_option
@sessions_dir_option
def attach_command(*, session: str | None, parent: Path) -> int:
    """Control a session from a prompt with the commands of `eikon debug`; `help` lists them, Ctrl-D leaves.

    Without a terminal, lines are read from standard input. Exit status: that of the last failed command, else 0.
    """
    from eikon_engine.cli.debug_prompt import run_attached_prompt
    from eikon_engine.debug.session_folder import find_running_session

    return run_attached_prompt(find_running_session(parent, session))


def _session_options(options: _StartOptions, readers: tuple[Callable[[EventLine], None], ...]) -> SessionOptions:
    from eikon_engine.debug.breakpoints import parse_breakpoint
    from eikon_engine.debug.checkpoint_policy import CheckpointPolicy, RetentionPolicy
    from eikon_engine.debug.commands import BreakpointAdd
    from eikon_engine.debug.context_pool import ContextOptions
    from eikon_engine.debug.session_folder import require_session_name
    from eikon_engine.debug.session_host import SessionOptions

    trace, before = _trace_source(options)
    breakpoints = tuple(parse_breakpoint(text) for text in options["breaks"])
    divergence = BreakpointAdd(on="divergence")
    if options["on_divergence"] == "stop" and divergence not in breakpoints:
        breakpoints = (*breakpoints, divergence)
    return SessionOptions(
        trace=trace,
        parent=options["parent"],
        name=None if options["session"] is None else require_session_name(options["session"]),
        contexts=ContextOptions(replay=_replay_options(options, before), parked=options["parked"]),
        checkpoints=CheckpointPolicy(
            interval=options["checkpoint_interval"], retention=RetentionPolicy(automatic=options["keep_checkpoints"])
        ),
        breakpoints=breakpoints,
        run=options["run"],
        from_session=before,
        event_readers=readers,
    )


def _trace_source(options: _StartOptions) -> tuple[Path, SessionFolder | None]:
    """Return the bundle, and the session whose checkpoints are reused.

    Raises:
        UsageError: both or neither are given; the session is still running.
    """
    from eikon_engine.debug.session_folder import find_ended_session
    from eikon_engine.errors import UsageError

    trace, name = options["trace"], options["from_session"]
    if (trace is None) == (name is None):
        found = "neither" if trace is None else "both"
        raise UsageError(f"expected either BUNDLE or --from-session, got {found}")
    if trace is not None:
        return trace, None
    before = find_ended_session(options["parent"], name or "")
    return Path(before.read_session().trace), before


def _replay_options(options: _StartOptions, earlier: SessionFolder | None) -> ReplayOptions:
    from eikon_engine.errors import UsageError
    from eikon_engine.replay.options import ReplayOptions
    from eikon_engine.secrets.sources import collect_bound_secrets

    timeout_ms = None if options["timeout"] is None else options["timeout"] * 1000
    browser_path, variables = options["browser_path"], options["variables"]
    if earlier is not None:  # these options affect what its pages showed
        session = earlier.read_session()
        variables = {**session.variables, **variables}
        timeout_ms = session.timeout_ms if timeout_ms is None else timeout_ms
        if browser_path is None and session.browser_path is not None:
            raise UsageError(
                f"--from-session {earlier.name}: its browser was {session.browser_path}, which may be any program; "
                "give a browser with --browser-path"
            )
    provided = collect_bound_secrets(options["secrets"], options["secret_file"])
    return ReplayOptions(
        headless=options["headless"],
        browser_path=browser_path,
        timeout_ms=timeout_ms,
        allow_schemes=options["allow_schemes"],
        variables=variables,
        secrets=provided.values,
        secret_origins=provided.origins,
    )


def _print_instructions(folder: SessionFolder) -> None:
    click.echo(f"session {folder.name}: {folder.root}")
    click.echo("control it from another terminal: eikon debug step, resume, inspect, timeline, quit …")
    click.echo(f"or from a prompt: eikon debug attach --session {folder.name}; Ctrl-C here ends it")


def _print_events() -> Callable[[EventLine], None]:
    """Return a callback that prints the events of interest."""
    from eikon_engine.debug.result_text import is_shown_when_following
    from eikon_engine.debug.session_events import IterationCounter
    from eikon_engine.report.event_text import format_event_line

    iterations = IterationCounter()

    def show(line: EventLine) -> None:
        iteration = iterations.advance(line.event)
        if is_shown_when_following(line.event):
            click.echo(format_event_line(line, iteration))

    return show
