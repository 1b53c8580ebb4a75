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


@export_command.command("playwright")
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Test to write: test_NAME.py.",
)
@click.option(
    "--base-url",
    "base_urls",
    multiple=True,
    metavar="OLD=NEW",
    help="Write addresses of another deployment into the test; repeatable.",
)
def playwright_command(bundle: Path, output: Path, base_urls: tuple[str, ...]) -> None:
    """Write the mission of BUNDLE (its folder, or its trace.json) as a test for pytest-playwright.

    Uploads and the storage state go to a folder beside it. What the test does not carry over is told.
    """
    from eikon_engine.errors import UsageError
    from eikon_engine.exporters.playwright_bundle import bundle_as_test
    from eikon_engine.outcome.printable import printable
    from eikon_engine.trace.bundle import open_bundle
    from eikon_engine.trace.relocated import unused_rules
    from eikon_engine.trace.url_map import parse_rules, url_map
    from eikon_engine.trace.whole_file import write_whole

    if output.suffix != ".py":
        raise UsageError(f"--output: wanted the name of a Python file like test_mission.py, found {output}")
    urls = url_map(parse_rules(base_urls))
    opened = open_bundle(bundle)
    folder = f"{output.stem}_files"
    test = bundle_as_test(opened, urls, files_folder=folder)
    for name, content in test.files.items():
        write_whole(output.with_name(folder) / name, content)
    write_whole(output, test.source.encode())
    for base in unused_rules(opened.trace, urls):
        click.echo(printable(f"warning: --base-url: {base} stands nowhere in the recording; check it"), err=True)
    for line in test.left_out:
        click.echo(printable(f"not carried over: {line}"), err=True)
    count = sum(len(each.actions_taken) for each in opened.trace.subgoal_traces)
    click.echo(printable(f"{output}: {count} actions; next: pytest {output}"))


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
