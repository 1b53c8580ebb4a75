"""`eikon record`: make a bundle of a mission that is done now."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack

import click

from eikon_engine.cli.record_by_hand import HandChosen, demand_one_source, hand_options, run_by_hand

if TYPE_CHECKING:
    from eikon_engine.record.options import RecordOptions
    from eikon_engine.trace.environment import Environment


@click.command("record", context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--trace",
    "source",
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
@click.option("--url", help="Address at which a person begins: what they do in the browser is recorded, and certified.")
@click.option("--mission", help="With --url: what the mission is about, in words.")
@click.option(
    "--headless", is_flag=True, help="With --url: no window; the browser is driven over a port, from elsewhere."
)
@click.option(
    "--debugging-port",
    type=click.IntRange(1, 65535),
    help="With --url: this port on 127.0.0.1; with --headless a free one if left out.",
)
@click.option("--viewport", metavar="WxH", help="With --url: size of the page, 1280x720 if left out.")
@click.option("--no-certify", is_flag=True, help="With --url: leave the recording as it is.")
def record_command(
    *,
    source: Path | None,
    output: Path,
    variables: tuple[str, ...],
    secrets: tuple[str, ...],
    secret_file: Path | None,
    **chosen: Unpack[_Chosen],
) -> int:
    """Record a mission into a new bundle: by a person, with --url, or from another recording, with --trace.

    Exit status: 0 recorded, and with --url certified unless --no-certify; 1 recorded and not certified; others as
    `eikon replay`.
    """
    from eikon_engine.outcome.printable import printable
    from eikon_engine.record.options import RecordOptions
    from eikon_engine.record.rerecord import rerecord
    from eikon_engine.replay.secret_sources import gather_secrets
    from eikon_engine.trace.bundle import open_bundle
    from eikon_engine.trace.variables import parse_variables

    found = demand_one_source(source, chosen)
    if found is None:
        return run_by_hand(output, hand_options(chosen, gather_secrets(secrets, secret_file)))
    bundle = open_bundle(found)
    options = RecordOptions(
        secrets=gather_secrets(secrets, secret_file),
        variables=parse_variables(variables),
        clock=chosen["clock"],
        browser_path=chosen["browser_path"],
    )
    asyncio.run(rerecord(bundle, output, _as_on(bundle.trace.environment, options)))
    for line in open_bundle(output).trace.warnings:
        click.echo(printable(f"warning: {line}"), err=True)
    click.echo(printable(f"{output}: recorded; next: eikon certify {output}"))
    return 0


class _Chosen(HandChosen):
    """Options of the command beside what is recorded, where to, and with which values."""

    clock: Literal["stepped", "natural"]


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
