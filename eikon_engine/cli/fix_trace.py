"""`eikon fix trace`: repair a recorded mission, or report why not."""

from __future__ import annotations

import asyncio
import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from eikon_engine.cli.debug_dir_options import debug_dir_session
from eikon_engine.cli.standard_streams import print_essential
from eikon_engine.errors import FixError
from eikon_engine.files.models import FileModel
from eikon_engine.llm.capture import LazyClient
from eikon_engine.llm.openai_client import MODEL_VARIABLE, URL_VARIABLE, OpenAIClient, require_http_url
from eikon_engine.outcome.terminal import escape_control_characters, safe_line
from eikon_engine.repair.options import DEFAULT_RUNS, RepairOptions, parse_against
from eikon_engine.repair.repair import repair_trace
from eikon_engine.repair.summary import render_repair
from eikon_engine.secrets.sources import collect_secrets
from eikon_engine.trace.base_urls import parse_base_url_rules
from eikon_engine.trace.variables import parse_variables

if TYPE_CHECKING:
    from eikon_engine.cli.debug_dir_options import DebugDirChoice
    from eikon_engine.llm.completion import CompletionClient
    from eikon_engine.repair.report import RepairReport


class RepairCommandOptions(FileModel):
    """Options of the command."""

    bundle: Path
    against: str = "live"
    base_urls: tuple[str, ...] = ()
    runs: int = DEFAULT_RUNS
    accept_baseline: bool = False
    reset_cmd: str | None = None
    output: Path | None = None
    in_place: bool = False
    timeout: float | None = None
    variables: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    secret_file: Path | None = None
    storage_state: Path | None = None
    browser_path: Path | None = None
    headless: bool = True
    model: str | None = None
    model_url: str | None = None


def run_repair(choice: RepairCommandOptions, debug: DebugDirChoice) -> RepairReport:
    """Repair the mission of a bundle; a model is asked only with --model or --debug-dir.

    Raises:
        EikonError: see `repair_trace`.
    """
    require_http_url("--model-url", choice.model_url)
    with ExitStack() as held:
        options = RepairOptions(
            against=parse_against(choice.against),
            base_urls=parse_base_url_rules(choice.base_urls),
            runs=choice.runs,
            accept_baseline=choice.accept_baseline,
            reset_command=choice.reset_cmd,
            output=choice.output,
            in_place=choice.in_place,
            secrets=collect_secrets(choice.secrets, choice.secret_file),
            variables=parse_variables(choice.variables),
            storage_state=choice.storage_state,
            timeout_ms=None if choice.timeout is None else choice.timeout * 1000,
            browser_path=choice.browser_path,
            headless=choice.headless,
            client=_client(choice, debug, held),
            progress=_print_progress,
        )
        return asyncio.run(repair_trace(choice.bundle, options))


def print_repair(report: RepairReport, *, as_json: bool) -> int:
    """Print the result and return the exit status.

    Raises:
        FixError: the mission must not be repaired, or could not be.
    """
    print_essential(render_repair(report), nl=False)
    if as_json:
        click.echo(report.model_dump_json(indent=1))
    elif report.proof is not None and report.proof.certificate is not None:
        click.echo(escape_control_characters(report.diff), nl=False)
    if report.status == "refused":
        message = f"{report.trace_path}: {report.refusal}"
        raise FixError(message, code="fix-refused")
    return report.exit_status


def _client(choice: RepairCommandOptions, debug: DebugDirChoice, held: ExitStack) -> CompletionClient | None:
    def live() -> OpenAIClient:
        chosen = {MODEL_VARIABLE: choice.model, URL_VARIABLE: choice.model_url}
        environ = {**os.environ, **{name: value for name, value in chosen.items() if value is not None}}
        return held.enter_context(OpenAIClient.from_environment(environ))

    responses = held.enter_context(debug_dir_session(debug, live=live))
    if responses is not None:
        return responses.client
    return None if choice.model is None else LazyClient(live)


def _print_progress(line: str) -> None:
    click.echo(safe_line(f"[FIX] {line}"), err=True)
