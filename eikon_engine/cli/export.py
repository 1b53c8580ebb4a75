"""`eikon export`: a bundle, or a part of it, in the format of other tools."""

from __future__ import annotations

from pathlib import Path

import click


@click.group("export", context_settings={"help_option_names": ["-h", "--help"]})
def export_command() -> None:
    """Write a recording, or a part of it, in the format of other tools."""


@export_command.command("har")
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option(
    "--output",
    default="-",
    show_default=True,
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    help="File to write, - for standard output.",
)
def har_command(bundle: Path, output: Path) -> None:
    """Write the recorded network of BUNDLE (its folder, or its trace.json) as a HAR 1.2 file.

    Secrets stay the placeholders that they are in the bundle.
    """
    from eikon_engine.errors import NetworkPartMissingError
    from eikon_engine.network.har_export import har_text
    from eikon_engine.network.store import read_network
    from eikon_engine.trace.bundle import open_bundle
    from eikon_engine.trace.bundle_path import inside
    from eikon_engine.trace.whole_file import write_whole

    opened = open_bundle(bundle)
    if opened.trace.network is None:
        message = f"{opened.root}: wanted a recorded network to export, the trace has none; record the mission again"
        raise NetworkPartMissingError(message)
    recording = read_network(inside(opened.root, opened.trace.network.folder, "network.folder"))
    text = har_text(recording, began=opened.trace.started_at, version=_version())
    if recording.torn is not None:
        click.echo(f"warning: {recording.torn}", err=True)
    if str(output) == "-":
        click.echo(text, nl=False)
    else:
        write_whole(output, text.encode())


@export_command.command("bundle")
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option("--output", "-o", required=True, type=click.Path(dir_okay=False, path_type=Path), help="File to write.")
@click.option("--redacted", is_flag=True, help="Replace whatever may be a secret, by strict rules.")
def bundle_command(bundle: Path, output: Path, *, redacted: bool) -> None:
    """Write BUNDLE (its folder, or its trace.json) as one zip file, to be attached to a report."""
    from eikon_engine.outcome.printable import printable
    from eikon_engine.redact.archive import archive_bundle
    from eikon_engine.redact.rules import RedactionRules
    from eikon_engine.trace.wall_clock import fresh_key

    done = archive_bundle(bundle, output, RedactionRules(), fresh_key(), redacted=redacted)
    for each in done.left:
        click.echo(printable(f"warning: it may hold a secret still: {each}"), err=True)
    if done.lost_certificate:
        click.echo("warning: the certificate was left out, as it speaks of other files; certify again", err=True)
    if done.pictures:
        click.echo(f"warning: {done.pictures} pictures are as they were; look at them first", err=True)
    changed = f"{done.replaced} values replaced" if done.is_changed else "nothing had to be replaced"
    click.echo(printable(f"{output}: written{f', {changed}' if redacted else ', as it is'}"))


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("eikon-engine")
    except metadata.PackageNotFoundError:
        return "unknown"
