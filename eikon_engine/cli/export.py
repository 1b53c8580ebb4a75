"""`eikon export`: write a bundle, or a part of it, in the format of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from eikon_engine.cli.command import group
from eikon_engine.cli.shared_options import bundle_argument, output_option

_MAX_NAMES: Final = 20
"""Number of skipped files that are named."""


@group("export")
def export_command() -> None:
    """Export a recording to the format of another tool."""


@export_command.command("har", short_help="Write the recorded network as a HAR 1.2 file.")
@bundle_argument()
@output_option(
    "File to write, - for standard output.",
    default="-",
    show_default=True,
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
)
def har_command(bundle: Path, output: Path) -> None:
    """Write the recorded network of BUNDLE (a folder or its trace.json) as a HAR 1.2 file.

    Secrets remain replaced by their stand-ins, as in the bundle.
    """
    from eikon_engine.errors import RequirementError
    from eikon_engine.exporters.har import render_har
    from eikon_engine.files.paths import resolve_inside
    from eikon_engine.files.writing import write_atomically
    from eikon_engine.network.store import read_network
    from eikon_engine.trace.bundle import open_bundle

    opened = open_bundle(bundle)
    if opened.trace.network is None:
        message = f"{opened.root}: the trace has no recorded network to export. Record the mission again."
        raise RequirementError(message, code="network-part-missing")
    recording = read_network(resolve_inside(opened.root, opened.trace.network.folder, "network.folder"))
    text = render_har(recording, started_at=opened.trace.started_at, version=_version())
    if recording.truncation is not None:
        click.echo(f"warning: {recording.truncation}", err=True)
    if str(output) == "-":
        click.echo(text, nl=False)
    else:
        write_atomically(output, text.encode())


@export_command.command("playwright", short_help="Write the mission as a pytest-playwright test.")
@bundle_argument()
@output_option("Test module to write: test_NAME.py.", required=True)
@click.option(
    "--base-url",
    "base_urls",
    multiple=True,
    metavar="OLD=NEW",
    help="Replace base URLs, for a test of another deployment; repeatable.",
)
def playwright_command(bundle: Path, output: Path, base_urls: tuple[str, ...]) -> None:
    """Write the mission of BUNDLE (a folder or its trace.json) as a pytest-playwright test.

    Uploads and the storage state are written to a folder next to it. Parts of the recording that the test cannot
    express are listed.
    """
    from eikon_engine.errors import UsageError
    from eikon_engine.exporters.playwright_test import export_bundle
    from eikon_engine.files.writing import write_atomically, write_public
    from eikon_engine.outcome.terminal import safe_line
    from eikon_engine.trace.base_urls import build_url_map, parse_base_url_rules, unused_base_urls
    from eikon_engine.trace.bundle import open_bundle

    if output.suffix != ".py":
        raise UsageError(f"--output: expected a Python file such as test_mission.py, got {output}")
    urls = build_url_map(parse_base_url_rules(base_urls))
    opened = open_bundle(bundle)
    folder = f"{output.stem}_files"
    test = export_bundle(opened, urls, files_folder=folder)
    for name, content in test.files.items():
        write_atomically(output.with_name(folder) / name, content)
    write_public(output, test.source.encode())
    for base in unused_base_urls(opened.trace, urls):
        click.echo(safe_line(f"warning: --base-url: {base} does not occur in the recording"), err=True)
    for line in test.omitted:
        click.echo(safe_line(f"not exported: {line}"), err=True)
    count = sum(len(each.actions_taken) for each in opened.trace.subgoal_traces)
    click.echo(safe_line(f"{output}: {count} actions; next: pip install pytest-playwright; pytest {output}"))


@export_command.command("trace", short_help="Write a trace for Playwright's trace viewer.")
@bundle_argument()
@output_option("File to write, such as trace.zip.", required=True)
@click.option(
    "--outcome",
    type=click.Path(path_type=Path),
    metavar="OUTCOME",
    help="Artifacts folder of a replay of BUNDLE, or its outcome.json: what it found is attached to the actions.",
)
def trace_command(bundle: Path, output: Path, outcome: Path | None) -> None:
    """Write BUNDLE (a folder or its trace.json) as a trace for Playwright's trace viewer.

    Secrets remain replaced by their stand-ins, as in the bundle.
    """
    from eikon_engine.files.writing import write_atomically

    write_atomically(output, render_viewer_trace(bundle, outcome))


def render_viewer_trace(bundle: Path, outcome: Path | None) -> bytes:
    """Return a bundle, with an outcome of it, as a trace of Playwright."""
    from eikon_engine.errors import UsageError
    from eikon_engine.exporters.playwright_trace import export_trace
    from eikon_engine.gates.event_sources import read_outcome
    from eikon_engine.replay.artifacts import OUTCOME_FILE
    from eikon_engine.trace.bundle import open_bundle

    opened = open_bundle(bundle)
    if outcome is None:
        return export_trace(opened)
    file = outcome / OUTCOME_FILE if outcome.is_dir() else outcome
    replayed = read_outcome(file)
    if replayed.trace_id != opened.trace.id:
        message = f"{file}: expected an outcome of the bundle {opened.trace.id!r}, got one of {replayed.trace_id!r}"
        raise UsageError(message)
    return export_trace(opened, (replayed, file.parent))


@export_command.command("bundle", short_help="Write a bundle as one zip file, to attach to a bug report.")
@bundle_argument()
@output_option("File to write, such as bundle.zip.", required=True)
@click.option("--redacted", is_flag=True, help="Replace everything that may be a secret, by strict rules.")
def bundle_command(bundle: Path, output: Path, *, redacted: bool) -> None:
    """Write BUNDLE (a folder or its trace.json) as one zip file, to attach to a bug report."""
    from eikon_engine.files.wall_clock import random_key
    from eikon_engine.outcome.terminal import safe_line
    from eikon_engine.redact.export_bundle import export_bundle
    from eikon_engine.secrets.search import RedactionRules

    done = export_bundle(bundle, output, RedactionRules(), random_key(), is_redacted=redacted)
    for each in done.suspected:
        click.echo(safe_line(f"warning: may still contain a secret: {each}"), err=True)
    for name in done.skipped[:_MAX_NAMES]:
        text = f"skipped: {name}, which is no part of the bundle: the trace does not name it"
        click.echo(safe_line(text), err=True)
    if len(done.skipped) > _MAX_NAMES:
        click.echo(f"skipped: {len(done.skipped) - _MAX_NAMES} more files", err=True)
    if done.is_certificate_removed:
        click.echo("warning: the certificate was omitted, as it refers to other files. Certify again.", err=True)
    if done.image_count:
        click.echo(f"warning: {done.image_count} screenshots are not redacted. Check them before sharing.", err=True)
    changed = f"{done.replaced_count} values replaced" if done.is_changed else "nothing to replace"
    click.echo(safe_line(f"{output}: written{f', {changed}' if redacted else ', not redacted'}"))


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("eikon-engine")
    except metadata.PackageNotFoundError:
        return "unknown"
