"""Collect the values of secrets from options, a file and the environment, in this order of precedence."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import UsageError
from eikon_engine.files.limits import MAX_SETTINGS_BYTES, read_file
from eikon_engine.files.origins import parse_origin
from eikon_engine.files.text import require_utf8

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


ENVIRONMENT_PREFIX: Final = "EIKON_SECRET_"
"""Prefix of the environment variables that hold secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundSecrets:
    """Values of secrets, and the origins into which they may be typed."""

    values: dict[str, str] = field(default_factory=dict, repr=False)
    origins: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By name; secrets that are not bound are absent."""


def collect_bound_secrets(
    options: Iterable[str], file: Path | None, environ: Mapping[str, str] | None = None
) -> BoundSecrets:
    """Return the values and origins of secrets, given as `NAME=VALUE` or `NAME@ORIGIN=VALUE`.

    Several origins are separated by commas.

    Raises:
        UsageError: an option or line has another form, a value is not UTF-8, or the file cannot be read.
    """
    environment = os.environ if environ is None else environ
    found = BoundSecrets()
    for name, value in environment.items():
        if name.startswith(ENVIRONMENT_PREFIX):
            require_utf8(value, name, is_secret=True)
            found.values[name.removeprefix(ENVIRONMENT_PREFIX)] = value
    for text, where in (*_secret_lines(file), *((option, "--secret") for option in options)):
        name, origins, value = _parse_secret(text, where)
        found.values[name] = value
        if origins:
            found.origins[name] = origins
    return found


def collect_secrets(
    options: Iterable[str], file: Path | None, environ: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return values by name, for commands that bind no secret to an origin.

    Raises:
        UsageError: an option or line is not `NAME=VALUE`, or the file cannot be read.
    """
    found = collect_bound_secrets(options, file, environ)
    if found.origins:
        name = next(iter(found.origins))
        message = f"secret {name}: expected NAME=VALUE, got an origin, to which this command binds none; remove @ORIGIN"
        raise UsageError(message)
    return found.values


def _secret_lines(file: Path | None) -> list[tuple[str, str]]:
    """Return the secrets in a file, each with where it is."""
    if file is None:
        return []
    try:
        text = read_file(file, limit=MAX_SETTINGS_BYTES).decode("utf-8")
    except (OSError, ValueError) as error:
        message = f"secret file not readable ({file}): expected NAME=VALUE lines, got {error}"
        raise UsageError(message) from error
    lines = [line.strip() for line in text.splitlines()]
    return [
        (line, f"{file}, line {number}")
        for number, line in enumerate(lines, start=1)
        if line and not line.startswith("#")
    ]


def _parse_secret(text: str, where: str) -> tuple[str, tuple[str, ...], str]:
    """Return name, origins and value."""
    require_utf8(text, where, is_secret=True)
    left, equals, value = text.partition("=")
    name, at, origins = left.partition("@")
    if not equals or not name.isidentifier():
        found = left if equals else "text without an equals sign"
        message = f"{where}: expected NAME=VALUE or NAME@ORIGIN=VALUE, got {found}"
        raise UsageError(message)
    parsed = tuple(parse_origin(each, f"{where}: {name}") for each in origins.split(",")) if at else ()
    return name, parsed, value
