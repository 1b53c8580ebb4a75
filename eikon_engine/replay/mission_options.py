"""Options that commands which do a mission have in common: values of secrets and variables, and which browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

Command = TypeVar("Command", bound="Callable[..., object]")

_SECRET: Final = click.option(
    "--secret", "secrets", multiple=True, metavar="NAME=VALUE", help="Value of a secret; may be repeated."
)
_SECRET_FILE: Final = click.option(
    "--secret-file", type=click.Path(path_type=Path), help="File of NAME=VALUE lines with the values of secrets."
)
_BROWSER: Final = click.option(
    "--browser-path", type=click.Path(path_type=Path), help="Browser to use, instead of looking for one."
)


def secret_options(command: Command) -> Command:
    """Give a command `secrets` and `secret_file`, for `gather_secrets`."""
    return _SECRET(_SECRET_FILE(command))


def browser_option(command: Command) -> Command:
    """Give a command `browser_path`, None where a browser is looked for."""
    return _BROWSER(command)


def variable_option(told: str, *, callback: Callable[..., object] | None = None) -> Callable[[Command], Command]:
    """Give a command `variables`, for `parse_variables`; `told` is their help."""
    return click.option("--var", "variables", multiple=True, callback=callback, metavar="NAME=VALUE", help=told)


def redact_option(told: str) -> Callable[[Command], Command]:
    """Give a command `redact`, True unless `--no-redact` is given; `told` is its help."""
    return click.option("--redact/--no-redact", default=True, show_default=True, help=told)
