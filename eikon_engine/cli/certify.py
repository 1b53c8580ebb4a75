"""`eikon certify`: check that a bundle replays deterministically, or propose changes that make it do so."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

import click

from eikon_engine.cli.command import command
from eikon_engine.cli.shared_options import (
    allow_scheme_option,
    browser_option,
    bundle_argument,
    headless_option,
    secret_options,
    variable_option,
)
from eikon_engine.cli.standard_streams import print_essential

if TYPE_CHECKING:
    from eikon_engine.certify.options import CertifyOptions
    from eikon_engine.outcome.certification import CertificationReport


@command("certify")
@bundle_argument()
@click.option(
    "--runs", type=click.IntRange(2, 1000), default=5, show_default=True, help="Number of replays that must agree."
)
@click.option(
    "--parallel", type=click.IntRange(1, 64), default=4, show_default=True, help="Number of concurrent replays."
)
@click.option("--stress", is_flag=True, help="Run two CPU-bound processes during the replays.")
@click.option("--accept", "accepted", is_flag=True, help="Apply the proposed changes and write the certificate.")
@click.option(
    "--network",
    type=click.Choice(["sealed", "live"]),
    default="sealed",
    show_default=True,
    help="Source of responses; live performs the mission on the site once per run.",
)
@allow_scheme_option
@click.option(
    "--reset-cmd",
    "reset_command",
    metavar="COMMAND",
    help="Command that resets the site, run before each live replay; its processes end with it.",
)
@click.option(
    "--storage-state",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Playwright storage state for live replays; the recorded cookies are redacted.",
)
@variable_option("Value of a variable of the trace; repeatable.")
@secret_options
@browser_option
@headless_option
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON on standard output.")
def certify_command(
    *,
    bundle: Path,
    accepted: bool,
    variables: tuple[str, ...],
    secrets: tuple[str, ...],
    secret_file: Path | None,
    as_json: bool,
    **options: Unpack[_SameNamedOptions],
) -> int:
    """Replay BUNDLE several times, and certify it if every layer of every action is identical each time.

    Exit status: 0 certified; 1 unstable, diverged or unverifiable; 3 would be certified with the proposed changes;
    others as `eikon replay`.
    """
    from eikon_engine.certify.options import CertifyOptions
    from eikon_engine.secrets.sources import collect_bound_secrets
    from eikon_engine.trace.variables import parse_variables

    provided = collect_bound_secrets(secrets, secret_file)
    chosen = CertifyOptions(
        secrets=provided.values,
        secret_origins=provided.origins,
        variables=parse_variables(variables),
        progress=_progress,
        **options,
    )
    report = _certify(bundle, chosen, accepted=accepted)
    _show(report, as_json=as_json)
    return report.exit_status


class _SameNamedOptions(TypedDict):
    """Command options that have the same name in `CertifyOptions`."""

    runs: int
    parallel: int
    stress: bool
    network: Literal["sealed", "live"]
    allow_schemes: tuple[str, ...]
    reset_command: str | None
    storage_state: Path | None
    browser_path: Path | None
    headless: bool


def _certify(path: Path, options: CertifyOptions, *, accepted: bool) -> CertificationReport:
    from eikon_engine.certify.certify import certify, conclude
    from eikon_engine.trace.bundle import open_bundle

    bundle = open_bundle(path)
    return conclude(bundle, asyncio.run(certify(bundle, options)), options, accepts=accepted)


def _show(report: CertificationReport, *, as_json: bool) -> None:
    from eikon_engine.outcome.terminal import escape_control_characters
    from eikon_engine.report.certification import render_certification

    print_essential(render_certification(report))
    if as_json:
        click.echo(report.model_dump_json(indent=1))
    elif report.diff and not report.accepted:
        click.echo(escape_control_characters(report.diff), nl=False)


def _progress(line: str) -> None:
    from eikon_engine.outcome.terminal import safe_line

    click.echo(safe_line(f"[CERTIFY] {line}"), err=True)
