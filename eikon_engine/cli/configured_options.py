"""Settings of replays from the configuration of the project, below the options of the command line."""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.suite import Configuration

Returned = TypeVar("Returned")

_NO_FILE: Final = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationChoice:
    """Values of `--config`, `--no-config` and `--env`."""

    file: Path | None = None
    """None: the nearest one above the bundle."""
    is_ignored: bool = False
    environment: str | None = None


def configuration_options(command: Callable[..., Returned]) -> Callable[..., Returned]:
    """Add the options; the command receives them as the keyword argument `configuration`, a `ConfigurationChoice`."""

    @wraps(command)
    def chosen(*, config: Path | None, no_config: bool, environment: str | None, **others: object) -> Returned:
        is_ignored = no_config or config == Path(_NO_FILE)
        choice = ConfigurationChoice(file=config, is_ignored=is_ignored, environment=environment)
        return command(configuration=choice, **others)

    options = (
        click.option("--env", "environment", metavar="NAME", help="Use the settings of [env.NAME], too."),
        click.option(
            "--config",
            type=click.Path(path_type=Path),
            metavar="FILE|none",
            help="Configuration.  [default: eikon.toml, or [tool.eikon] of pyproject.toml, in the nearest folder "
            "upwards from the bundle; the working directory or above]",
        ),
        click.option("--no-config", is_flag=True, help="Use no configuration, as --config none."),
    )
    for option in reversed(options):
        chosen = option(chosen)
    return chosen


def find_chosen_configuration(
    choice: ConfigurationChoice, start: Path, known: dict[Path, Configuration] | None = None
) -> Configuration | None:
    """Return the configuration of a bundle; None without one, which imports no model of it.

    `known` has those that were read before, by their files.

    Raises:
        UsageError: the configuration is invalid, or may be one of a stranger; there is none although an environment was
            chosen.
    """
    from eikon_engine.errors import UsageError
    from eikon_engine.suite.configuration_search import find_own_configuration

    path = None if choice.is_ignored else choice.file or find_own_configuration(start)
    if path is not None:
        from eikon_engine.suite.configuration import read_configuration

        known = {} if known is None else known
        if path not in known:
            known[path] = read_configuration(path)
        return known[path]
    if choice.environment is not None:
        message = f"--env {choice.environment} requires a configuration, got none; run `eikon config` for where it is"
        raise UsageError(message)
    return None


def given_options(context: click.Context) -> frozenset[str]:
    """Return the options that were given rather than left to their default, by their names in `ReplayOptions`."""
    from eikon_engine.suite.replay_settings import option_name

    return frozenset(option_name(name) for name in context.params if is_given(context, name))


def is_given(context: click.Context, name: str) -> bool:
    """Return whether an option was given, by the name of its parameter."""
    return context.get_parameter_source(name) not in {ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP}
