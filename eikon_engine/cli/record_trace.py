"""`eikon record --trace`: perform the actions of a bundle once, live."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from eikon_engine.cli.record import RecordArguments


def record_trace(source: Path, secrets: Mapping[str, str], chosen: RecordArguments) -> int:
    """Record the mission of a bundle into a new one."""
    from eikon_engine.outcome.terminal import safe_line
    from eikon_engine.record.options import RecordOptions
    from eikon_engine.record.rerecord import rerecord, with_recorded_environment
    from eikon_engine.secrets.search import RedactionRules
    from eikon_engine.trace.bundle import open_bundle
    from eikon_engine.trace.variables import parse_variables

    output = chosen["output"]
    bundle = open_bundle(source)
    options = RecordOptions(
        secrets=secrets,
        variables=parse_variables(chosen["variables"]),
        browser_path=chosen["browser_path"],
        headless=chosen["headless"] is not False,
        redact=chosen["redact"],
        redaction=RedactionRules(names=chosen["names"], patterns=chosen["patterns"], keep=chosen["keep"]),
    )
    options = with_recorded_environment(bundle, options)
    clock = chosen["clock"]
    asyncio.run(rerecord(bundle, output, options if clock is None else replace(options, clock=clock)))
    for line in open_bundle(output).trace.warnings:
        click.echo(safe_line(f"warning: {line}"), err=True)
    click.echo(safe_line(f"{output}: recorded; next: eikon certify {output}"))
    return 0
