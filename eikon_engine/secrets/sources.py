"""Collect the values of secrets from options, a file and the environment, in this order of precedence."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


ENVIRONMENT_PREFIX: Final = "EIKON_SECRET_"
"""Prefix of the environment variables that hold secrets."""


def collect_secrets(
    options: Iterable[str], file: Path | None, environ: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return values by name.

    Raises:
        UsageError: an option or line is not `NAME=VALUE`, or the file cannot be read.
    """
    environment = os.environ if environ is None else environ
    secrets = {
        name.removeprefix(ENVIRONMENT_PREFIX): value
        for name, value in environment.items()
        if name.startswith(ENVIRONMENT_PREFIX)
    }
    if file is not None:
        secrets.update(_read_secret_file(file))
    for option in options:
        secrets.update([_parse_pair(option, "--secret")])
    return secrets


def _read_secret_file(file: Path) -> dict[str, str]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        message = f"secret file not readable ({file}): expected NAME=VALUE lines, got {error}"
        raise UsageError(message) from error
    lines = [line.strip() for line in text.splitlines()]
    return dict(
        _parse_pair(line, f"{file}, line {number}")
        for number, line in enumerate(lines, start=1)
        if line and not line.startswith("#")
    )


def _parse_pair(text: str, where: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        message = f"{where}: expected NAME=VALUE, got {name if equals else 'text without an equals sign'}"
        raise UsageError(message)
    return name, value
