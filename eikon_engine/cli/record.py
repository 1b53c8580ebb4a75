"""`eikon record`: make a bundle of a mission that is done now."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

import click

if TYPE_CHECKING:
    from eikon_engine.record.options import RecordOptions
    from eikon_engine.trace.environment import Environment


class _RuleOptions(TypedDict):
    """What the command says of redaction."""

    redact: bool
    names: tuple[str, ...]
    patterns: tuple[str, ...]
    keep: tuple[str, ...]


@click.command("record", context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--trace",
    "source",
    required=True,
    type=click.Path(path_type=Path),
    help="Bundle whose actions are done once, live: one that `eikon import` made.",
)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder of the new bundle.")
@click.option(
    "--clock",
    type=click.Choice(["stepped", "natural"]),
    default="stepped",
    show_default=True,
    help="Whether the time of pages stands still between actions, or runs by itself.",
)
@click.option("--secret", "secrets", multiple=True, metavar="NAME=VALUE", help="Value of a secret; may be repeated.")
@click.option(
    "--secret-file", type=click.Path(path_type=Path), help="File of NAME=VALUE lines with the values of secrets."
)
@click.option(
    "--redact/--no-redact",
    default=True,
    show_default=True,
    help="Whether secrets that nobody named are looked for and replaced by stand-ins.",
)
@click.option(
    "--redact-name",
    "names",
    multiple=True,
    metavar="NAME",
    help="Name of a cookie, header or key that is secret.",
)
@click.option("--redact-pattern", "patterns", multiple=True, metavar="REGEX", help="Look of a value that is secret.")
@click.option("--keep-name", "keep", multiple=True, metavar="NAME", help="Name of a cookie, header or key that is not.")
@click.option("--browser-path", type=click.Path(path_type=Path), help="Browser to use, instead of looking for one.")
def record_command(
    *,
    source: Path,
    output: Path,
    clock: Literal["stepped", "natural"],
    secrets: tuple[str, ...],
    secret_file: Path | None,
    browser_path: Path | None,
    **rules: Unpack[_RuleOptions],
) -> None:
    """Record a mission into a new bundle."""
    from eikon_engine.outcome.printable import printable
    from eikon_engine.record.options import RecordOptions
    from eikon_engine.record.rerecord import rerecord
    from eikon_engine.redact.rules import RedactionRules
    from eikon_engine.replay.secret_sources import gather_secrets
    from eikon_engine.trace.bundle import open_bundle

    bundle = open_bundle(source)
    options = RecordOptions(
        clock=clock,
        browser_path=browser_path,
        secrets=gather_secrets(secrets, secret_file),
        redact=rules["redact"],
        redaction=RedactionRules(names=rules["names"], patterns=rules["patterns"], keep=rules["keep"]),
    )
    asyncio.run(rerecord(bundle, output, _as_on(bundle.trace.environment, options)))
    for line in open_bundle(output).trace.warnings:
        click.echo(printable(f"warning: {line}"), err=True)
    click.echo(printable(f"{output}: recorded; next: eikon certify {output}"))


def _as_on(environment: Environment | None, options: RecordOptions) -> RecordOptions:
    """Record on a screen like that of the source."""
    from dataclasses import replace

    if environment is None:
        return options
    return replace(
        options,
        viewport=environment.viewport,
        device_scale_factor=environment.device_scale_factor,
        is_mobile=environment.is_mobile,
        has_touch=environment.has_touch,
    )
