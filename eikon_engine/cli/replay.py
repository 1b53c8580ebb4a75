"""`eikon replay` and `python -m eikon_engine.replay`."""

from __future__ import annotations

import re
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack

import click

from eikon_engine.cli.command import Command
from eikon_engine.cli.configured_options import (
    ConfigurationChoice,
    configuration_options,
    find_chosen_configuration,
    given_options,
)
from eikon_engine.cli.debug_dir_options import DebugDirChoice, debug_dir_options, debug_dir_session
from eikon_engine.cli.shared_options import (
    allow_scheme_option,
    base_url_option,
    browser_option,
    bundle_argument,
    front_end_options,
    gates_option,
    headless_option,
    ignore_option,
    network_option,
    on_divergence_option,
    policy_option,
    secret_options,
    timeout_option,
    variable_values_option,
)
from eikon_engine.cli.shell import imports_kept

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from eikon_engine.cli.replay_display import ReplayDisplay
    from eikon_engine.divergence.effects import PolicyName
    from eikon_engine.gates import GateSet
    from eikon_engine.outcome.outcomes import NetworkMode, ReplayOutcome, ResumeNetwork
    from eikon_engine.replay.engine import ReplayEngine
    from eikon_engine.replay.options import OnDivergence
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.masks import Mask


DIGEST_PATTERN: Final = re.compile(r"[0-9a-fA-F]{64}")
_ARGUMENTS: Final = "eikon_engine.arguments"
"""Key of the arguments in the data of a context."""
CERTIFICATE_LABELS: Final = {"certified": "certified", "stale": "certificate is stale", "none": "not certified"}


def _check_digest(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    if value is not None and not DIGEST_PATTERN.fullmatch(value):
        message = f"expected the 64 hex digits of a SHA-256, got {value!r}"
        raise click.BadParameter(message)
    return value


class _ReplayCommand(Command):
    """Keeps the arguments as they were given, for the suite that several bundles are."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse them."""
        ctx.meta[_ARGUMENTS] = list(args)
        return super().parse_args(ctx, args)


@click.command("replay", cls=_ReplayCommand)
@bundle_argument("bundles", nargs=-1, metavar="BUNDLE...")
@headless_option
@click.option(
    "--artifacts-dir",
    type=click.Path(path_type=Path),
    help="Artifacts folder.  [default: replay_artifacts/<mission_id>]",
)
@network_option
@allow_scheme_option
@click.option(
    "--har",
    type=click.Path(path_type=Path),
    help="HAR file that serves the responses of a sealed replay instead of the bundle.",
)
@click.option(
    "--responses-from",
    "responses_from",
    type=click.Path(path_type=Path),
    help="Another bundle of the mission that serves the responses of a sealed replay; changed responses are reported.",
)
@base_url_option
@front_end_options
@policy_option
@ignore_option
@on_divergence_option("Stop at the first divergence, or collect all.")
@click.option(
    "--from",
    "from_step",
    type=click.IntRange(min=1),
    metavar="N",
    help="Resume at step N; earlier steps are re-run from the recording and must not diverge.",
)
@click.option(
    "--then",
    "then_network",
    type=click.Choice(["sealed", "live"]),
    default="sealed",
    show_default=True,
    help="Source of responses from step N on: the recording, or the live site.",
)
@click.option(
    "--plan-digest",
    metavar="HEX",
    callback=_check_digest,
    help="Expected plan digest; a different plan is refused.  [default: that of the run in the artifacts folder]",
)
@timeout_option("Timeout of every action, in seconds.")
@variable_values_option
@secret_options
@click.option(
    "--storage-state",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Playwright storage state for a live replay; the recorded cookies are redacted.",
)
@gates_option
@browser_option
@configuration_options
@click.option(
    "--allow-unverifiable", is_flag=True, help="Exit with 0 if nothing diverged but something is unverifiable."
)
@click.option("--report", "reports_all", is_flag=True, help="Write report.html also if the replay is faithful.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON on standard output.")
@debug_dir_options
def replay_command(  # noqa: PLR0913 - one parameter per option
    *,
    bundles: tuple[Path, ...],
    responses_from: Path | None,
    then_network: ResumeNetwork,
    timeout: float | None,
    secrets: tuple[str, ...],
    secret_file: Path | None,
    allow_unverifiable: bool,
    reports_all: bool,
    as_json: bool,
    debug: DebugDirChoice,
    configuration: ConfigurationChoice,
    **options: Unpack[_SameNamedOptions],
) -> int:
    """Replay a recorded mission and compare it with the recording.

    BUNDLE is its folder, or its trace.json. Several are replayed as a suite, with the options of `eikon suite run`.

    Exit status: 0 faithful, 1 diverged or a gate failed, 2 usage, 3 unverifiable, 65 unreadable trace or gates,
    69 no browser, 70 internal error, 78 missing requirement, 130 interrupted.
    """
    if len(bundles) != 1:
        return _replay_suite(bundles)
    (trace,) = bundles
    with _usual_browser_starting(options) if trace.exists() else nullcontext():
        with imports_kept():
            from eikon_engine.cli.history import remember_replay
            from eikon_engine.cli.replay_display import ReplayDisplay
            from eikon_engine.errors import InternalError
            from eikon_engine.replay.artifacts import OUTCOME_FILE
            from eikon_engine.replay.engine import ReplayEngine
            from eikon_engine.replay.options import ReplayOptions
            from eikon_engine.report import standard_reports
            from eikon_engine.secrets.redaction import Redactor
            from eikon_engine.secrets.sources import collect_bound_secrets

        provided = collect_bound_secrets(secrets, secret_file)
        chosen: dict[str, Any] = {
            **options,
            "responses_from": responses_from,
            "timeout_ms": timeout * 1000 if timeout is not None else None,
            "secrets": provided.values,
            "secret_origins": provided.origins,
        }
        source, settings = _configure(trace, configuration, chosen)
        known = settings["secrets"]
        with (
            debug_dir_session(debug, redact=Redactor(known).redact_text if known else None) as responses,
            ReplayDisplay() as display,
        ):
            engine = ReplayEngine(
                ReplayOptions(
                    then_network=then_network,
                    completion_client=None if responses is None else responses.client,
                    readers=(display.read,),
                    reports=standard_reports(for_all=reports_all),
                    **settings,
                )
            )
            _replay(engine, source, display, as_json=as_json)
        if engine.last_run is None:
            message = "the replay ended without an outcome"
            raise InternalError(message)
        remember_replay(engine.last_run.outcome, engine.last_run.folder / OUTCOME_FILE, partial(click.echo, err=True))
        return _exit_status(engine.last_run.outcome, allow_unverifiable=allow_unverifiable)


def _usual_browser_starting(options: _SameNamedOptions) -> AbstractContextManager[None]:
    """Begin to start the browser that a replay with these options needs, unless it is one of another kind."""
    from eikon_engine.browser.launch import LaunchOptions, browser_starting

    usual = LaunchOptions(headless=options["headless"], browser_path=options["browser_path"], sealed=True)
    return browser_starting(None if options["network"] == "live" else usual)


def _replay_suite(bundles: tuple[Path, ...]) -> int:
    """Replay several bundles with the arguments of this command.

    Raises:
        UsageError: no bundle was given.
    """
    from eikon_engine.cli.suite import run_suite_command
    from eikon_engine.errors import UsageError

    if not bundles:
        raise UsageError("expected a bundle, got none; pass its folder, or its trace.json")
    context = click.get_current_context()
    with run_suite_command.make_context(context.info_name, context.meta[_ARGUMENTS]) as suite:
        status = run_suite_command.invoke(suite)
    return int(status)


def _configure(
    trace: Path, choice: ConfigurationChoice, options: dict[str, Any]
) -> tuple[Bundle | Path, dict[str, Any]]:
    """Return what to replay, opened if there is a configuration, and the options with what is configured for it."""
    found = find_chosen_configuration(choice, trace)
    if found is None:
        return trace, options
    from eikon_engine.suite.replay_settings import resolve_replay_settings
    from eikon_engine.trace.bundle import open_bundle

    bundle = open_bundle(trace)
    settings = found.settings_for(trace, choice.environment)
    return bundle, resolve_replay_settings(settings, bundle, options, given_options(click.get_current_context()))


def _exit_status(outcome: ReplayOutcome, *, allow_unverifiable: bool) -> int:
    """Return the exit status; `allow_unverifiable` tolerates steps that could not be compared, and nothing else.

    Incomplete runs, requests past the routes, and misses after the last comparison still count.
    """
    failed = any(gate.passed is False for gate in outcome.gates)
    tolerated = allow_unverifiable and outcome.verdict != "diverged" and outcome.is_whole and not failed
    return 0 if tolerated else outcome.exit_status


class _SameNamedOptions(TypedDict):
    """Command options that have the same name in `ReplayOptions`."""

    headless: bool
    artifacts_dir: Path | None
    network: NetworkMode | None
    allow_schemes: tuple[str, ...]
    har: Path | None
    base_urls: dict[str, str]
    front_end: tuple[str, ...]
    back_end: tuple[str, ...]
    policy: PolicyName
    masks: tuple[Mask, ...]
    gates: GateSet | None
    variables: dict[str, str]
    on_divergence: OnDivergence
    from_step: int | None
    plan_digest: str | None
    browser_path: Path | None
    storage_state: Path | None


def _replay(engine: ReplayEngine, trace: Bundle | Path, display: ReplayDisplay, *, as_json: bool) -> None:
    """Replay and print the conclusion, however the run ends."""
    from eikon_engine.errors import ReplayDivergenceError

    try:
        engine.replay(trace)
    except ReplayDivergenceError as divergence:
        display.print_result(divergence.message)
    finally:
        _print_conclusion(engine, display, as_json=as_json)


def _print_conclusion(engine: ReplayEngine, display: ReplayDisplay, *, as_json: bool) -> None:
    from eikon_engine.replay.collect import WITHOUT_EFFECT

    run = engine.last_run
    if run is None:
        return
    display.print_result(f"verdict: {run.outcome.verdict}")
    if run.outcome.verdict == "faithful" and run.outcome.recorded_failure:
        display.print_result(f"faithful to a mission that {run.outcome.recorded_failure}")
    for note in run.outcome.network.notes:
        if note.endswith(WITHOUT_EFFECT):
            display.print_result(note)
    if run.error is None:
        for line in _explain_verdict(run.outcome, run.folder):
            display.print_result(line)
    display.print_line(f"bundle: {CERTIFICATE_LABELS[run.outcome.certified]}, {run.outcome.certified_why}")
    display.print_line(f"summary: {run.folder / 'replay_summary.txt'}")
    if as_json:
        click.echo(run.outcome.model_dump_json(indent=1))


def _explain_verdict(outcome: ReplayOutcome, folder: Path) -> Iterator[str]:
    """Yield the cause of a divergence, before what else is a reason, such as another environment; then what to do."""
    from eikon_engine.divergence.next_step import next_step

    found = outcome.explanation
    if found is not None:
        yield f"cause: {found.cause}: {found.sentence}"
        yield f"evidence: {found.why}"
    yield from (f"because: {reason}" for reason in outcome.reasons)
    following = (next_step(outcome, folder), found.settle if found is not None else "")
    if any(following):
        yield f"next: {'; '.join(filter(None, following))}"
