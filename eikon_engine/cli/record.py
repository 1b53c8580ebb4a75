"""`eikon record`: make a bundle of a mission that is done now."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

import click

if TYPE_CHECKING:
    from eikon_engine.record.options import RecordOptions
    from eikon_engine.trace.environment import Environment


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
@click.option(
    "--var", "variables", multiple=True, metavar="NAME=VALUE", help="Value of a variable of the trace; may be repeated."
)
@click.option("--secret", "secrets", multiple=True, metavar="NAME=VALUE", help="Value of a secret; may be repeated.")
@click.option(
    "--secret-file", type=click.Path(path_type=Path), help="File of NAME=VALUE lines with the values of secrets."
)
@click.option("--browser-path", type=click.Path(path_type=Path), help="Browser to use, instead of looking for one.")
def record_command(
    *,
    source: Path,
    output: Path,
    variables: tuple[str, ...],
    secrets: tuple[str, ...],
    secret_file: Path | None,
    **chosen: Unpack[_SameNamedOptions],
) -> None:
    """Record a mission into a new bundle."""
    from eikon_engine.outcome.printable import printable
    from eikon_engine.record.options import RecordOptions
    from eikon_engine.record.rerecord import rerecord
    from eikon_engine.replay.secret_sources import gather_secrets
    from eikon_engine.trace.bundle import open_bundle
    from eikon_engine.trace.variables import parse_variables

    bundle = open_bundle(source)
    options = RecordOptions(
        secrets=gather_secrets(secrets, secret_file), variables=parse_variables(variables), **chosen
    )
    asyncio.run(rerecord(bundle, output, _as_on(bundle.trace.environment, options)))
    for line in open_bundle(output).trace.warnings:
        click.echo(printable(f"warning: {line}"), err=True)
    click.echo(printable(f"{output}: recorded; next: eikon certify {output}"))


class _SameNamedOptions(TypedDict):
    """Options of the command that are options of a recording by the same name."""

    clock: Literal["stepped", "natural"]
    browser_path: Path | None


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
