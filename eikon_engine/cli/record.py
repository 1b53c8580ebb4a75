"""`eikon record`: record a mission into a new bundle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypedDict, Unpack

import click
from click.core import ParameterSource

from eikon_engine.cli.command import command
from eikon_engine.cli.shared_options import (
    browser_option,
    headless_choice_option,
    output_option,
    redact_option,
    secret_options,
    variable_option,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


@command("record")
@click.option(
    "--trace",
    "source",
    type=click.Path(path_type=Path),
    help="Bundle to record again by performing its actions once, live, such as one from `eikon import`.",
)
@click.option(
    "--script", help="Python script or pytest test (`test_shop.py::test_order`) to run once, unchanged, and record."
)
@click.option("--url", help="URL to open in a browser window in which a person is recorded.")
@output_option("Folder for the new bundle.", holds="bundle", required=True)
@click.option("--mission", help="With --script and --url: description of the mission.")
@click.option("--no-certify", is_flag=True, help="With --script and --url: do not certify the recording.")
@click.option(
    "--clock",
    type=click.Choice(["stepped", "natural"]),
    help="With --trace: whether the page clock is stepped by actions or runs in real time.  "
    "[default: as in the recording]",
)
@variable_option("With --trace: value of a variable of the trace; may be repeated.")
@secret_options
@redact_option(
    "With --trace and --script: whether undeclared secrets are searched for and replaced by stand-ins; always on "
    "with --url."
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
    help="Regular expression of secret values; may be repeated.",
)
@click.option(
    "--keep-name",
    "keep",
    multiple=True,
    metavar="NAME",
    help="Name of a cookie, header or key that is not secret; may be repeated.",
)
@browser_option
@headless_choice_option(
    "--headed with --url, as the script asks with --script, else --headless; --headless --url is driven remotely over "
    "a debugging port"
)
@click.option(
    "--debugging-port",
    type=click.IntRange(1, 65535),
    help="With --url: debugging port on 127.0.0.1; default with --headless: any free port.",
)
@click.option("--viewport", metavar="WxH", help="With --url: viewport size.  [default: 1280x720]")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[BUNDLE | ARGUMENTS...]")
def record_command(
    *,
    secrets: tuple[str, ...],
    secret_file: Path | None,
    **chosen: Unpack[RecordArguments],
) -> int:
    """Record a mission into a new bundle.

    The mission comes from another BUNDLE (or --trace), from a script with its ARGUMENTS after `--` (--script), or from
    a person (--url).

    Exit status: 0 recorded, and certified unless --no-certify; 1 not certified; the exit status of the script if it
    failed; others as `eikon replay`.
    """
    from eikon_engine.secrets.sources import collect_secrets

    source = _require_source(chosen)
    known = collect_secrets(secrets, secret_file)
    if source == "--script":
        from eikon_engine.cli.record_script import record_with_script

        return record_with_script(chosen["script"] or "", known, chosen)
    if source == "--url":
        from eikon_engine.cli.record_interactive import interactive_options, run_interactive

        return run_interactive(chosen["output"], interactive_options(chosen, known))
    from eikon_engine.cli.record_trace import record_trace

    return record_trace(chosen["source"] or Path(), known, chosen)


class RecordArguments(TypedDict):
    """The options of the command, without secrets."""

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
    headless: bool | None
    debugging_port: int | None
    viewport: str | None
    arguments: tuple[str, ...]


_SOURCES: Final[Mapping[str, str]] = {"source": "--trace", "script": "--script", "url": "--url"}
_SOURCE_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "--trace": ("clock", "variables", "redact", "names", "patterns", "keep"),
    "--script": ("mission", "no_certify", "arguments", "redact", "names", "patterns", "keep"),
    "--url": ("mission", "no_certify", "debugging_port", "viewport", "names", "patterns", "keep"),
}
"""Options that apply to some sources only, by source."""
_OPTION_NAMES: Final[Mapping[str, str]] = {
    "variables": "--var",
    "redact": "--no-redact",
    "names": "--redact-name",
    "patterns": "--redact-pattern",
    "keep": "--keep-name",
    "arguments": "ARGUMENTS",
}


def _require_source(chosen: RecordArguments) -> str:
    """Return the option that names the source of the mission; a single argument is that of --trace.

    Raises:
        UsageError: no source or several, or an option does not apply to the source.
    """
    from eikon_engine.errors import UsageError

    if (
        chosen["script"] is None
        and chosen["url"] is None
        and chosen["source"] is None
        and len(chosen["arguments"]) == 1
    ):
        chosen["source"], chosen["arguments"] = Path(chosen["arguments"][0]), ()
    _refuse_script_as_bundle(chosen)
    named = [option for name, option in _SOURCES.items() if chosen[name] is not None]  # type: ignore[literal-required] # its keys are options
    if len(named) != 1:
        found = " and ".join(named) or "none"
        message = f"expected one of BUNDLE, --script and --url, got {found}"
        raise UsageError(message)
    given = click.get_current_context().get_parameter_source
    for name in {each for alone in _SOURCE_OPTIONS.values() for each in alone} - set(_SOURCE_OPTIONS[named[0]]):
        if given(name) is ParameterSource.COMMANDLINE and chosen[name] != ():  # type: ignore[literal-required] # as above
            message = (
                f"{_OPTION_NAMES.get(name, '--' + name.replace('_', '-'))} does not apply to {named[0]}; remove it"
            )
            raise UsageError(message)
    return named[0]


def _refuse_script_as_bundle(chosen: RecordArguments) -> None:
    """Check that a script is not given in the place of a bundle, without `--script`.

    Raises:
        UsageError: it is.
    """
    from eikon_engine.errors import UsageError

    if chosen["script"] is not None or chosen["url"] is not None:
        return
    given = str(chosen["source"] or next(iter(chosen["arguments"]), ""))
    if given.partition("::")[0].endswith(".py") and not Path(given).is_dir():
        raise UsageError(f"{given} is a script: did you mean --script {given}?")
