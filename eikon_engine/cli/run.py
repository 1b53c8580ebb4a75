"""`eikon run`: record a scenario, or replay a recorded one."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

import click

from eikon_engine.cli.command import command
from eikon_engine.cli.debug_dir_options import DebugDirChoice, debug_dir_options, debug_dir_session
from eikon_engine.cli.shared_options import (
    browser_option,
    headless_option,
    redact_option,
    secret_options,
    variable_option,
)
from eikon_engine.cli.standard_streams import print_essential

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from eikon_engine.llm import CompletionClient
    from eikon_engine.llm.debug_dir import DebugDir
    from eikon_engine.scenario.model import ScenarioFile
    from eikon_engine.scenario.options import ScenarioOptions
    from eikon_engine.scenario.recording import Recording
    from eikon_engine.scenario.run_folder import RunResult
    from eikon_engine.scenario.tool_box import ToolBox


@command("run")
@click.argument("file", type=click.Path(path_type=Path), metavar="SCENARIO.yaml")
@click.option(
    "--mode",
    type=click.Choice(["record", "replay"]),
    default="record",
    show_default=True,
    help="Run the scenario and record it, or replay a recording without executing anything.",
)
@click.option(
    "--fixtures-dir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="With --mode replay: fixtures folder of the recorded run.",
)
@click.option("--latest", is_flag=True, help="With --mode replay: use the newest complete recording of the scenario.")
@click.option(
    "--runs-dir",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Parent folder of runs.",
)
@click.option("--run-id", metavar="ID", help="Folder name of this run.  [default: time and scenario]")
@variable_option("Value of a variable; repeatable.")
@secret_options
@redact_option("With --mode record: find unnamed secrets and replace them with stand-ins.")
@click.option(
    "--tools",
    "modules",
    multiple=True,
    metavar="MODULE:NAME",
    help="With --mode record: a tool function or ToolBox in a Python module; repeatable.",
)
@headless_option
@browser_option
@click.option("--no-certify", is_flag=True, help="With --mode record: do not certify the mission.")
@click.option("--json", "as_json", is_flag=True, help="Print run.json and the gate results on standard output.")
@debug_dir_options
def run_command(
    *,
    file: Path,
    as_json: bool,
    debug: DebugDirChoice,
    **chosen: Unpack[CommandOptions],
) -> int:
    """Record SCENARIO.yaml into a new run folder, or replay a recording of it.

    Exit status: 0 done, and every gate passed; 1 failed, diverged, a gate failed, or the mission is not certified; 2
    usage; 3 unverifiable; 65 unreadable scenario or recording; 69 no browser or model server; 78 missing requirement or
    fixture; 130 interrupted.
    """
    from eikon_engine.scenario.model import read_scenario
    from eikon_engine.secrets.redaction import Redactor

    _require_mode_options(chosen, debug)
    scenario = read_scenario(file)
    options = _options(chosen)
    if chosen["mode"] == "record":
        from eikon_engine.llm.openai_client import preload_library
        from eikon_engine.scenario.check import asks_model
        from eikon_engine.scenario.record_scenario import record_scenario

        with (
            debug_dir_session(debug, redact=Redactor(options.secrets).redact_text) as responses,
            _completion_client_factory(responses) as live,
        ):
            if asks_model(scenario) and (responses is None or responses.mode != "replay"):
                preload_library()
            result = _run(partial(record_scenario, scenario, replace(options, make_completion_client=live)))
            status = _print_result(result, as_json=as_json)
    else:
        from eikon_engine.scenario.replay_scenario import replay_scenario

        with debug_dir_session(debug):
            result = _run(partial(replay_scenario, scenario, _open_recording(scenario, chosen), options))
            status = _print_result(result, as_json=as_json)
    return status


class CommandOptions(TypedDict):
    """Options of the command, except for debugging and output."""

    mode: Literal["record", "replay"]
    fixtures_dir: Path | None
    latest: bool
    runs_dir: Path
    run_id: str | None
    variables: tuple[str, ...]
    secrets: tuple[str, ...]
    secret_file: Path | None
    redact: bool
    modules: tuple[str, ...]
    headless: bool
    browser_path: Path | None
    no_certify: bool


def _require_mode_options(chosen: CommandOptions, debug: DebugDirChoice) -> None:
    """Check that a replay names one recording, and that no option contradicts the mode.

    Raises:
        UsageError: an option is missing or has no effect in the mode.
    """
    from eikon_engine.errors import UsageError

    sources = [
        name for name, given in (("--fixtures-dir", chosen["fixtures_dir"]), ("--latest", chosen["latest"])) if given
    ]
    useless: tuple[tuple[str, object], ...] = tuple((name, True) for name in sources)
    if chosen["mode"] == "replay":
        if len(sources) != 1:
            found = " and ".join(sources) or "none"
            message = f"--mode replay: expected one of --fixtures-dir DIR and --latest, got {found}"
            raise UsageError(message)
        useless = (
            ("--debug-dir", debug.debug_dir),
            ("--tools", chosen["modules"]),
            ("--no-certify", chosen["no_certify"]),
            ("--no-redact", not chosen["redact"]),
        )
    for name, given in useless:
        if given:
            message = f"{name} has no effect with --mode {chosen['mode']}. Omit it."
            raise UsageError(message)


def _options(chosen: CommandOptions) -> ScenarioOptions:
    from eikon_engine.files.text import require_utf8
    from eikon_engine.scenario.options import ScenarioOptions
    from eikon_engine.secrets.sources import collect_secrets
    from eikon_engine.trace.variables import parse_variables

    if chosen["run_id"] is not None:
        require_utf8(chosen["run_id"], "--run-id")
        _require_run_id(chosen["run_id"])
    return ScenarioOptions(
        runs=chosen["runs_dir"],
        run_id=chosen["run_id"],
        variables=parse_variables(chosen["variables"]),
        secrets=collect_secrets(chosen["secrets"], chosen["secret_file"]),
        redact=chosen["redact"],
        tools=_import_tools(chosen["modules"]),
        headless=chosen["headless"],
        browser_path=chosen["browser_path"],
        certify=None if chosen["no_certify"] else _certify,
    )


def _require_run_id(run_id: str) -> None:
    from eikon_engine.errors import UsageError
    from eikon_engine.files.paths import safe_file_name

    if safe_file_name(run_id, "") != run_id:
        message = f"--run-id: expected at most 100 letters, digits, '.', '_' and '-', got {run_id!r}"
        raise UsageError(message)


def _import_tools(modules: tuple[str, ...]) -> ToolBox:
    """Import the tools of `--tools`.

    Raises:
        UsageError: one cannot be imported, or is not a tool.
    """
    import sys
    from importlib import import_module

    from eikon_engine.errors import UsageError
    from eikon_engine.scenario.tool_box import ToolBox

    box = ToolBox.of()
    for text in modules:
        module, _, name = text.partition(":")
        if str(Path.cwd()) not in sys.path:
            sys.path.insert(0, str(Path.cwd()))
        try:
            found = getattr(import_module(module), name) if name else None
        except (ImportError, AttributeError, ValueError, SystemExit) as error:
            message = f"--tools {text}: expected MODULE:NAME of a tool, got {type(error).__name__}: {error}"
            raise UsageError(message) from error
        if not isinstance(found, ToolBox) and not callable(found):
            message = f"--tools {text}: expected MODULE:NAME of a function or ToolBox, got {type(found).__name__}"
            raise UsageError(message)
        box = box.extended(*(found if isinstance(found, ToolBox) else (found,)))
    return box


def _open_recording(scenario: ScenarioFile, chosen: CommandOptions) -> Recording:
    """Open the recording to replay; with `--latest`, print which one it is."""
    from eikon_engine.scenario.recording import latest_recording, recording_at, skipped_recordings

    if chosen["fixtures_dir"] is not None:
        named = recording_at(chosen["fixtures_dir"])
        if named.failure is not None:
            _print_stderr(named.failure)
        return named
    recording = latest_recording(chosen["runs_dir"], scenario.scenario.id)
    for line in skipped_recordings(chosen["runs_dir"], recording):
        _print_stderr(line)
    _print_stderr(f"replaying {recording.fixtures.folder}")
    return recording


@contextmanager
def _completion_client_factory(responses: DebugDir | None) -> Iterator[Callable[[], CompletionClient]]:
    """Yield a factory of the live model client: that of `--debug-dir`, else one configured by the environment."""
    from contextlib import ExitStack

    from eikon_engine.llm.openai_client import OpenAIClient

    with ExitStack() as held:
        if responses is not None:
            yield lambda: responses.client
        else:
            yield lambda: held.enter_context(OpenAIClient.from_environment())


async def _certify(bundle: Path, secrets: Mapping[str, str]) -> str:
    """Certify the mission and print the report; on failure, the recording stays uncertified."""
    from eikon_engine.certify.options import CertifyOptions
    from eikon_engine.errors import EikonError
    from eikon_engine.outcome.terminal import escape_control_characters, safe_line
    from eikon_engine.record.recording import certify_recording
    from eikon_engine.report.certification import render_certification

    chosen = CertifyOptions(secrets=secrets, progress=lambda line: _print_stderr(f"[CERTIFY] {line}"))
    try:
        report = await certify_recording(bundle, chosen)
    except EikonError as error:
        print_essential(safe_line(f"{bundle}: not certified: {error.message}"))
        return "not certified"
    if report.status != "certified":
        print_essential(escape_control_characters(render_certification(report)))
    return report.status


def _run(work: Callable[[], Awaitable[RunResult]]) -> RunResult:
    """Run in the event loop of another thread, so that a signal cancels the run cleanly."""
    from eikon_engine.interrupts import open_portal

    with open_portal() as portal:
        return portal.call(work)


def _print_result(result: RunResult, *, as_json: bool) -> int:
    """Print the result, and return the exit status."""
    import json

    from eikon_engine.outcome.run_record import SUMMARY_FILE

    if as_json:
        facts = {**result.record.model_dump(mode="json"), "folder": str(result.folder)}
        gates = [each.model_dump(mode="json") for each in result.gates]
        click.echo(json.dumps({**facts, "gates": gates, "exit_status": result.exit_status}, indent=1))
    else:
        click.echo((result.folder / SUMMARY_FILE).read_text(encoding="utf-8"), nl=False)
        click.echo(str(result.folder))
    if result.error is not None:
        raise result.error
    return result.exit_status


def _print_stderr(line: str) -> None:
    from eikon_engine.outcome.terminal import safe_line

    click.echo(safe_line(line), err=True)
