"""Run one debug loop for the command line and the REPL."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import click
from pydantic import Field

from eikon_engine.completions.append import ClientOnDemand
from eikon_engine.completions.debug_options import debugging
from eikon_engine.completions.openai_client import MODEL_VARIABLE, URL_VARIABLE, OpenAIClient, demand_address
from eikon_engine.fix.appliers.by_kind import choose_applier
from eikon_engine.fix.loop_options import MAX_CYCLES, TIMEOUT_SECONDS, LoopOptions
from eikon_engine.fix.run_loop import debug_loop
from eikon_engine.fix.summary import render_summary
from eikon_engine.outcome.printable import printable
from eikon_engine.trace.record import Record

if TYPE_CHECKING:
    from eikon_engine.completions.debug_options import DebugChoice
    from eikon_engine.fix.application import Applier
    from eikon_engine.fix.task_result import TaskResult


_FAILED: Final = 1


class LoopChoice(Record):
    """Options of the command."""

    test_cmd: str
    target_files: tuple[str, ...] = ()
    max_cycles: int = MAX_CYCLES
    timeout: float = Field(default=TIMEOUT_SECONDS, allow_inf_nan=True)
    """Seconds; validated with the other options."""
    model: str | None = None
    base_url: str | None = None
    applier: Literal["blocks", "aider"] = "blocks"
    keep: bool = False
    allow_dirty: bool = False
    also: tuple[str, ...] = ()
    sessions_dir: Path | None = None


def run_loop(choice: LoopChoice, debug: DebugChoice) -> TaskResult:
    """Run a loop in the current folder, with progress on standard error.

    Raises:
        EikonError: it could not start; see `debug_loop`.
    """
    demand_address("--base-url", choice.base_url)
    applier = _applier(choice)
    options = LoopOptions(
        test_cmd=choice.test_cmd,
        target_files=choice.target_files,
        max_cycles=choice.max_cycles,
        timeout_seconds=choice.timeout,
        keep=choice.keep,
        allow_dirty=choice.allow_dirty,
        also=choice.also,
        sessions=choice.sessions_dir,
        apart=() if debug.debug_dir is None else (debug.debug_dir,),
        tell=_tell,
    )
    with ExitStack() as held:

        def live() -> OpenAIClient:
            return held.enter_context(OpenAIClient.from_environment(_environ(choice)))

        responses = held.enter_context(debugging(debug, live=live))
        client = ClientOnDemand(live) if responses is None else responses.client
        return debug_loop(options, client=client, applier=applier)


def conclude(result: TaskResult, *, as_json: bool) -> int:
    """Print the result and return the exit status; the error of a failed step goes to standard error."""
    failure = result.notes.failure
    status = _FAILED if failure is None else failure.exit_status
    if result.status == "COMPLETE":
        status = 0
    if as_json:
        click.echo(json.dumps({**result.model_dump(mode="json"), "exit_status": status}, indent=1))
    else:
        click.echo(render_summary(result), nl=False)
    _tell(f"session: {result.notes.session}")
    if failure is not None:
        _tell(f"eikon: {failure.step}: {' '.join(failure.message.split())} (code {failure.code})")
        for each in failure.details:
            _tell(each)
    return status


def _environ(choice: LoopChoice) -> dict[str, str]:
    chosen = {MODEL_VARIABLE: choice.model, URL_VARIABLE: choice.base_url}
    return {**os.environ, **{name: value for name, value in chosen.items() if value is not None}}


def _applier(choice: LoopChoice) -> Applier:
    environ = _environ(choice)
    return choose_applier(
        choice.applier, model=environ.get(MODEL_VARIABLE) or None, base_url=environ.get(URL_VARIABLE) or None
    )


def _tell(line: str) -> None:
    click.echo(printable(line), err=True)
