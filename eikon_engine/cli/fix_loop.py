"""Run one debug loop for the command line and the REPL."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, assert_never

import click
from pydantic import Field

from eikon_engine.cli.debug_dir_options import debug_dir_session
from eikon_engine.cli.standard_streams import print_essential
from eikon_engine.files.models import FileModel
from eikon_engine.fix.appliers.aider import AiderApplier, AiderModel
from eikon_engine.fix.appliers.blocks import BlocksApplier
from eikon_engine.fix.debug_loop import debug_loop
from eikon_engine.fix.options import DEFAULT_MAX_CYCLES, DEFAULT_TIMEOUT_SECONDS, LoopOptions
from eikon_engine.fix.summary import render_summary
from eikon_engine.llm.capture import LazyClient
from eikon_engine.llm.openai_client import MODEL_VARIABLE, URL_VARIABLE, OpenAIClient, require_http_url
from eikon_engine.outcome.terminal import safe_line

if TYPE_CHECKING:
    from eikon_engine.cli.debug_dir_options import DebugDirChoice
    from eikon_engine.fix.models import Applier, TaskResult


def choose_applier(name: Literal["blocks", "aider"], *, model: str | None, base_url: str | None) -> Applier:
    """Return an applier; aider uses the same model that generates fixes.

    Raises:
        RequirementError: aider is not installed.
    """
    match name:
        case "blocks":
            return BlocksApplier()
        case "aider":
            aider = AiderApplier(aider_model=AiderModel(model=model, base_url=base_url))
            aider.require_installed()
            return aider
        case _:
            assert_never(name)


_FAILED: Final = 1


class LoopCommandOptions(FileModel):
    """Options of the command."""

    test_cmd: str
    target_files: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    protect: tuple[str, ...] = ()
    max_cycles: int = DEFAULT_MAX_CYCLES
    timeout: float = Field(default=DEFAULT_TIMEOUT_SECONDS, allow_inf_nan=True)
    """Seconds; validated with the other options."""
    model: str | None = None
    base_url: str | None = None
    applier: Literal["blocks", "aider"] = "blocks"
    keep: bool = False
    allow_dirty: bool = False
    also: tuple[str, ...] = ()
    sessions_dir: Path | None = None


def run_loop(chosen: LoopCommandOptions, debug: DebugDirChoice) -> TaskResult:
    """Run a loop in the current folder, with progress on standard error.

    Raises:
        EikonError: it could not start; see `debug_loop`.
    """
    require_http_url("--base-url", chosen.base_url)
    applier = _applier(chosen)
    options = LoopOptions(
        test_cmd=chosen.test_cmd,
        target_files=chosen.target_files,
        allow=chosen.allow,
        protect=chosen.protect,
        max_cycles=chosen.max_cycles,
        timeout_seconds=chosen.timeout,
        keep=chosen.keep,
        allow_dirty=chosen.allow_dirty,
        extra_files=chosen.also,
        sessions_dir=chosen.sessions_dir,
        excluded_folders=() if debug.debug_dir is None else (debug.debug_dir,),
        on_progress=_print_progress,
    )
    with ExitStack() as held:

        def live() -> OpenAIClient:
            return held.enter_context(OpenAIClient.from_environment(_environ(chosen)))

        responses = held.enter_context(debug_dir_session(debug, live=live))
        client = LazyClient(live) if responses is None else responses.client
        return debug_loop(options, client=client, applier=applier)


def print_result(result: TaskResult, *, as_json: bool) -> int:
    """Print the result and return the exit status; the error of a failed step goes to standard error."""
    failure = result.notes.failure
    status = _FAILED if failure is None else failure.exit_status
    if result.status == "COMPLETE":
        status = 0
    if as_json:
        click.echo(json.dumps({**result.model_dump(mode="json"), "exit_status": status}, indent=1))
    else:
        click.echo(render_summary(result), nl=False)
    _print_progress(f"session: {result.notes.session}")
    if failure is not None:
        message = f"eikon: {failure.step}: {' '.join(failure.message.split())} (code {failure.code})"
        for each in (message, *failure.details):
            print_essential(safe_line(each))
    return status


def _environ(choice: LoopCommandOptions) -> dict[str, str]:
    chosen = {MODEL_VARIABLE: choice.model, URL_VARIABLE: choice.base_url}
    return {**os.environ, **{name: value for name, value in chosen.items() if value is not None}}


def _applier(choice: LoopCommandOptions) -> Applier:
    environ = _environ(choice)
    return choose_applier(
        choice.applier, model=environ.get(MODEL_VARIABLE) or None, base_url=environ.get(URL_VARIABLE) or None
    )


def _print_progress(line: str) -> None:
    click.echo(safe_line(line), err=True)
