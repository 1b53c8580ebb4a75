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
    type=click.Path(path_type=Path),
    help="Bundle whose actions are done once, live: one that `eikon import` made.",
)
@click.option(
    "--script", help="Python script, or test of pytest (`test_shop.py::test_order`), that is run once, unchanged."
)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder of the new bundle.")
@click.option("--mission", "mission_text", help="With --script: what the mission is for; its name if left out.")
@click.option("--no-certify", "is_left", is_flag=True, help="With --script: leave certifying for later.")
@click.option(
    "--clock",
    type=click.Choice(["stepped", "natural"]),
    default=None,
    help="With --trace: whether the time of pages stands still between actions (stepped, the default), or runs by "
    "itself.",
)
@click.option(
    "--var",
    "variables",
    multiple=True,
    metavar="NAME=VALUE",
    help="With --trace: value of a variable of the trace; may be repeated.",
)
@click.option("--secret", "secrets", multiple=True, metavar="NAME=VALUE", help="Value of a secret; may be repeated.")
@click.option(
    "--secret-file", type=click.Path(path_type=Path), help="File of NAME=VALUE lines with the values of secrets."
)
@click.option(
    "--redact/--no-redact",
    default=True,
    show_default=True,
    help="With --trace: whether secrets that nobody named are looked for and replaced by stand-ins; with --script they "
    "always are.",
)
@click.option(
    "--redact-name",
    "names",
    multiple=True,
    metavar="NAME",
    help="With --trace: name of a cookie, header or key that is secret.",
)
@click.option(
    "--redact-pattern",
    "patterns",
    multiple=True,
    metavar="REGEX",
    help="With --trace: look of a value that is secret.",
)
@click.option(
    "--keep-name",
    "keep",
    multiple=True,
    metavar="NAME",
    help="With --trace: name of a cookie, header or key that is not.",
)
@click.option("--browser-path", type=click.Path(path_type=Path), help="Browser to use, instead of looking for one.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def record_command(
    *,
    source: Path | None,
    script: str | None,
    secrets: tuple[str, ...],
    secret_file: Path | None,
    **chosen: Unpack[_Chosen],
) -> int:
    """Record a mission into a new bundle: that of another bundle, or of a script with its ARGUMENTS (after `--`).

    Exit status: 0 recorded, and certified unless left for later; 1 not certified; that of the script if it failed;
    others as `eikon replay`.
    """
    from eikon_engine.errors import UsageError
    from eikon_engine.replay.secret_sources import gather_secrets

    if (source is None) == (script is None):
        message = f"wanted either --trace or --script, found {'none' if source is None else 'both'}"
        raise UsageError(message)
    known = gather_secrets(secrets, secret_file)
    if script is not None:
        from eikon_engine.cli.record_script import record_with_script

        _refuse("--script", chosen, ("clock", "variables", "redact", "names", "patterns", "keep"))
        return record_with_script(script, known, chosen)
    _refuse("--trace", chosen, ("mission_text", "is_left", "arguments"))
    return _record_again(source or Path(), known, chosen)


class _Chosen(TypedDict):
    """The options that say how."""

    output: Path
    mission_text: str | None
    is_left: bool
    clock: Literal["stepped", "natural"] | None
    variables: tuple[str, ...]
    browser_path: Path | None
    redact: bool
    names: tuple[str, ...]
    patterns: tuple[str, ...]
    keep: tuple[str, ...]
    arguments: tuple[str, ...]


_NAMES = {
    "mission_text": "--mission",
    "is_left": "--no-certify",
    "variables": "--var",
    "redact": "--no-redact",
    "names": "--redact-name",
    "patterns": "--redact-pattern",
    "keep": "--keep-name",
    "arguments": "ARGUMENTS",
}


def _refuse(source: str, chosen: _Chosen, names: tuple[str, ...]) -> None:
    """Refuse options that the source has no use for.

    Raises:
        UsageError: one is given.
    """
    from eikon_engine.errors import UsageError

    for name in names:
        value = chosen[name]  # type: ignore[literal-required] # its keys are the options
        if value != (name == "redact") and value not in (None, ()):
            message = f"{source} has no use for {_NAMES.get(name, f'--{name}')}; leave it out"
            raise UsageError(message)


def _record_again(source: Path, secrets: dict[str, str], chosen: _Chosen) -> int:
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
        clock=chosen["clock"] or "stepped",
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
