"""`eikon record --trace`: do the actions of a bundle once, live."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from eikon_engine.cli.record import Chosen
    from eikon_engine.record.options import RecordOptions
    from eikon_engine.trace.environment import Environment


def record_again(source: Path, secrets: Mapping[str, str], chosen: Chosen) -> int:
    """Record the mission of a bundle into a new one."""
    from eikon_engine.outcome.printable import printable
    from eikon_engine.record.options import RecordOptions
    from eikon_engine.record.rerecord import rerecord
    from eikon_engine.redact.rules import RedactionRules
    from eikon_engine.trace.bundle import open_bundle
    from eikon_engine.trace.variables import parse_variables

    output = chosen["output"]
    bundle = open_bundle(source)
    options = RecordOptions(
        secrets=secrets,
        variables=parse_variables(chosen["variables"]),
        clock=chosen["clock"],
        browser_path=chosen["browser_path"],
        redact=chosen["redact"],
        redaction=RedactionRules(names=chosen["names"], patterns=chosen["patterns"], keep=chosen["keep"]),
    )
    asyncio.run(rerecord(bundle, output, _as_on(bundle.trace.environment, options)))
    for line in open_bundle(output).trace.warnings:
        click.echo(printable(f"warning: {line}"), err=True)
    click.echo(printable(f"{output}: recorded; next: eikon certify {output}"))
    return 0


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
