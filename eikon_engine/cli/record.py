"""`eikon record`: make a bundle of a mission that is done now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypedDict, Unpack

import click
from click.core import ParameterSource

from eikon_engine.replay.mission_options import browser_option, redact_option, secret_options, variable_option

if TYPE_CHECKING:
    from collections.abc import Mapping


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
@click.option("--url", help="Address at which a person begins: what they do in the browser is recorded.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder of the new bundle.")
@click.option("--mission", help="With --script and --url: what the mission is about, in words.")
@click.option("--no-certify", is_flag=True, help="With --script and --url: leave certifying for later.")
@click.option(
    "--clock",
    type=click.Choice(["stepped", "natural"]),
    help="With --trace: whether the time of pages stands still between actions, or runs by itself.  "
    "[default: as in the recording]",
)
@variable_option("With --trace: value of a variable of the trace; may be repeated.")
@secret_options
@redact_option(
    "With --trace and --script: whether secrets that nobody named are looked for and replaced by stand-ins; with "
    "--url they always are."
)
@click.option(
    "--redact-name",
    "names",
    multiple=True,
    metavar="NAME",
    help="Name of a cookie, header or key that is secret; may be repeated.",
)
@click.option(
    "--redact-pattern",
    "patterns",
    multiple=True,
    metavar="REGEX",
    help="Look of a value that is secret; may be repeated.",
)
@click.option(
    "--keep-name",
    "keep",
    multiple=True,
    metavar="NAME",
    help="Name of a cookie, header or key that is not; may be repeated.",
)
@browser_option
@click.option(
    "--headless", is_flag=True, help="With --url: no window; the browser is driven over a port, from elsewhere."
)
@click.option(
    "--debugging-port",
    type=click.IntRange(1, 65535),
    help="With --url: this port on 127.0.0.1; with --headless a free one if left out.",
)
@click.option("--viewport", metavar="WxH", help="With --url: size of the page, 1280x720 if left out.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def record_command(
    *,
    secrets: tuple[str, ...],
    secret_file: Path | None,
    **chosen: Unpack[Chosen],
) -> int:
    """Record a mission into a new bundle.

    It is that of another bundle (--trace), of a script with its ARGUMENTS after `--` (--script), or of a person
    (--url).

    Exit status: 0 recorded, and certified unless left for later; 1 not certified; that of the script if it failed;
    others as `eikon replay`.
    """
    from eikon_engine.replay.secret_sources import gather_secrets

    source = _source(chosen)
    known = gather_secrets(secrets, secret_file)
    if source == "--script":
        from eikon_engine.cli.record_script import record_with_script

        return record_with_script(chosen["script"] or "", known, chosen)
    if source == "--url":
        from eikon_engine.cli.record_by_hand import hand_options, run_by_hand

        return run_by_hand(chosen["output"], hand_options(chosen, known))
    from eikon_engine.cli.record_again import record_again

    return record_again(chosen["source"] or Path(), known, chosen)


class Chosen(TypedDict):
    """The options of the command but those of secrets."""

    source: Path | None
    script: str | None
    url: str | None
    output: Path
    mission: str | None
    no_certify: bool
    clock: Literal["stepped", "natural"] | None
    variables: tuple[str, ...]
    redact: bool
    names: tuple[str, ...]
    patterns: tuple[str, ...]
    keep: tuple[str, ...]
    browser_path: Path | None
    headless: bool
    debugging_port: int | None
    viewport: str | None
    arguments: tuple[str, ...]


_SOURCES: Final[Mapping[str, str]] = {"source": "--trace", "script": "--script", "url": "--url"}
_ALONE: Final[Mapping[str, tuple[str, ...]]] = {
    "--trace": ("clock", "variables", "redact", "names", "patterns", "keep"),
    "--script": ("mission", "no_certify", "arguments", "redact", "names", "patterns", "keep"),
    "--url": ("mission", "no_certify", "headless", "debugging_port", "viewport", "names", "patterns", "keep"),
}
"""What each source has a use for, and not all have."""
_SHOWN: Final[Mapping[str, str]] = {
    "variables": "--var",
    "redact": "--no-redact",
    "names": "--redact-name",
    "patterns": "--redact-pattern",
    "keep": "--keep-name",
    "arguments": "ARGUMENTS",
}


def _source(chosen: Chosen) -> str:
    """Return where the mission comes from.

    Raises:
        UsageError: from nowhere, or from several; or an option is given that the source has no use for.
    """
    from eikon_engine.errors import UsageError

    named = [option for name, option in _SOURCES.items() if chosen[name] is not None]  # type: ignore[literal-required] # its keys are options
    if len(named) != 1:
        found = " and ".join(named) or "none"
        message = f"wanted one of --trace, --script and --url, which say where the mission comes from, found {found}"
        raise UsageError(message)
    given = click.get_current_context().get_parameter_source
    for name in {each for alone in _ALONE.values() for each in alone} - set(_ALONE[named[0]]):
        if given(name) is ParameterSource.COMMANDLINE and chosen[name] != ():  # type: ignore[literal-required] # as above
            message = f"{named[0]} has no use for {_SHOWN.get(name, '--' + name.replace('_', '-'))}; leave it out"
            raise UsageError(message)
    return named[0]
