"""Options shared by commands that run a mission: secrets, variables, browser, timeouts."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from eikon_engine.cli.command import BundleArgument, OutputOption

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.cli.command import Holds
    from eikon_engine.gates import GateSet
    from eikon_engine.trace.masks import Mask

Command = TypeVar("Command", bound="Callable[..., object]")

_SECRET: Final = click.option(
    "--secret",
    "secrets",
    multiple=True,
    metavar="NAME[@ORIGIN]=VALUE",
    help="Value of a secret, and with @ORIGIN the only origin into which a live replay types it; repeatable.",
)
_SECRET_FILE: Final = click.option(
    "--secret-file", type=click.Path(path_type=Path), help="File of lines as for --secret."
)
_BROWSER: Final = click.option(
    "--browser-path", type=click.Path(path_type=Path), help="Browser executable; by default, one is located."
)


def _reject_nan(_context: click.Context, _parameter: click.Parameter, value: float | None) -> float | None:
    if value is not None and math.isnan(value):
        message = "expected a number of seconds, got nan"
        raise click.BadParameter(message)
    return value


def _parse_values(_context: click.Context, _parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    if not texts:
        return {}
    from eikon_engine.trace.variables import parse_variables

    return parse_variables(texts)


def _read_masks(_context: click.Context, _parameter: click.Parameter, path: Path | None) -> tuple[Mask, ...]:
    if path is None:
        return ()
    from eikon_engine.replay.ignore_file import read_ignore_file

    return read_ignore_file(path)


def _parse_base_urls(_context: click.Context, _parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    if not texts:
        return {}
    from eikon_engine.trace.base_urls import parse_base_url_rules

    return parse_base_url_rules(texts)


def _read_gates(_context: click.Context, _parameter: click.Parameter, path: Path | None) -> GateSet | None:
    if path is None:
        return None
    from eikon_engine.gates import read_gates_file

    return read_gates_file(path)


def network_option(command: Command) -> Command:
    """Add `network`, the source of responses; None by default."""
    return click.option(
        "--network",
        type=click.Choice(["sealed", "live", "snapshot", "recorded-api"]),
        help="Source of responses: the recorded network, the live network, stored DOM snapshots, or a deployment for "
        "the front end and the recorded network for the rest.  [default: sealed if the bundle has a recorded network, "
        "else live, for the public sites that the trace navigates to]",
    )(command)


def allow_scheme_option(command: Command) -> Command:
    """Add `allow_schemes`, schemes of URLs."""
    return click.option(
        "--allow-scheme",
        "allow_schemes",
        multiple=True,
        callback=_check_schemes,
        metavar="NAME",
        help="Allow the trace to navigate to URLs of a scheme other than http and https, such as data; repeatable.",
    )(command)


def _check_schemes(_context: click.Context, _parameter: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", name):
            message = f"expected the name of a scheme, such as data, got {name!r}"
            raise click.BadParameter(message)
    return names


def front_end_options(command: Command) -> Command:
    """Add `front_end` and `back_end`, patterns of URLs."""
    for name, what in (("back", "recording"), ("front", "deployment")):
        command = click.option(
            f"--{name}-end",
            f"{name}_end",
            multiple=True,
            metavar="PATTERN",
            help=f"With --network recorded-api: URLs that come from the {what}, too; repeatable.",
        )(command)
    return command


def base_url_option(command: Command) -> Command:
    """Add `base_urls`, current base URLs by recorded ones."""
    return click.option(
        "--base-url",
        "base_urls",
        multiple=True,
        callback=_parse_base_urls,
        metavar="OLD=NEW",
        help="Replay against another deployment, live or with recorded-api: replace base URL OLD with NEW; repeatable.",
    )(command)


def gates_option(command: Command) -> Command:
    """Add `gates`, those of a file, which is read at once."""
    return click.option(
        "--gates",
        type=click.Path(path_type=Path),
        callback=_read_gates,
        metavar="FILE",
        help="YAML file of limits; exceeding one ends the replay.",
    )(command)


def bundle_argument(name: str = "bundle", **settings: Any) -> Callable[[Command], Command]:  # noqa: ANN401 - click's parameters
    """Add an argument for a bundle, which may be given with `--trace`, too; with `nargs=-1` for several bundles."""
    settings.setdefault("type", click.Path(path_type=Path))
    return click.argument(name, cls=BundleArgument, **settings)


def output_option(
    help_text: str,
    *declarations: str,
    holds: Holds = "file",
    **settings: Any,  # noqa: ANN401 - click's parameters
) -> Callable[[Command], Command]:
    """Add `output`, a file or bundle to write, given with `-o`; what exists there is replaced with `--force` only."""
    settings.setdefault("type", click.Path(path_type=Path))
    settings.setdefault("metavar", "FOLDER" if holds == "bundle" else "FILE")
    names = declarations or ("-o", "--output")
    return click.option(*names, cls=OutputOption, holds=holds, help=help_text, **settings)


def output_file_option(command: Command) -> Command:
    """Add `output`, the file to write instead of standard output."""
    return output_option("File to write.  [default: standard output]")(command)


def policy_option(command: Command) -> Command:
    """Add `policy`, `strict` or `effects`."""
    return click.option(
        "--policy",
        type=click.Choice(["strict", "effects"]),
        default="strict",
        show_default=True,
        help="What counts as divergence: any difference, or only those that affect the mission. The rest of the pages "
        "is listed as also changed.",
    )(command)


def ignore_option(command: Command) -> Command:
    """Add `masks`, those of a file, which is read at once."""
    return click.option(
        "--ignore",
        "masks",
        type=click.Path(path_type=Path),
        callback=_read_masks,
        metavar="FILE",
        help="TOML file of masks: what is not compared. Each use is reported as reduced coverage.",
    )(command)


def secret_options(command: Command) -> Command:
    """Add `secrets` and `secret_file`, for `collect_secrets`."""
    return _SECRET(_SECRET_FILE(command))


def browser_option(command: Command) -> Command:
    """Add `browser_path`; None locates a browser."""
    return _BROWSER(command)


def headless_option(command: Command) -> Command:
    """Add `headless`, True by default."""
    return _window_option("Run the browser without a window, or with one; also --headless=true|false.", default=True)(
        command
    )


def headless_choice_option(help_text: str) -> Callable[[Command], Command]:
    """Add `headless`, None by default; `help_text` says what that means."""
    return _window_option(f"Run the browser without a window, or with one.  [default: {help_text}]", default=None)


def _window_option(help_text: str, *, default: bool | None) -> Callable[[Command], Command]:
    shown = default is not None
    return click.option("--headless/--headed", default=default, show_default=shown, help=help_text)


def timeout_option(help_text: str) -> Callable[[Command], Command]:
    """Add `timeout`, in seconds, None by default; `help_text` is its help."""
    seconds = click.FloatRange(0, 86_400, min_open=True)
    return click.option("--timeout", type=seconds, callback=_reject_nan, metavar="SECONDS", help=help_text)


def on_divergence_option(help_text: str) -> Callable[[Command], Command]:
    """Add `on_divergence`, `stop` or `continue`; `help_text` is its help."""
    choice = click.Choice(["stop", "continue"])
    return click.option("--on-divergence", type=choice, default="stop", show_default=True, help=help_text)


def variable_values_option(command: Command) -> Command:
    """Add `variables`, values by name."""
    return variable_option("Value of a variable of the trace; repeatable.", callback=_parse_values)(command)


def variable_option(help_text: str, *, callback: Callable[..., object] | None = None) -> Callable[[Command], Command]:
    """Add `variables`, for `parse_variables`; `help_text` is their help."""
    return click.option("--var", "variables", multiple=True, callback=callback, metavar="NAME=VALUE", help=help_text)


def redact_option(help_text: str) -> Callable[[Command], Command]:
    """Add `redact`, True by default; `help_text` is its help."""
    return click.option("--redact/--no-redact", default=True, show_default=True, help=help_text)
