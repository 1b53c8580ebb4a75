"""Standard error: remarks, which `--quiet` omits, and what is printed even then."""

from __future__ import annotations

import io
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TextIO

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

NO_COLOR: Final = "NO_COLOR"
"""Environment variable that turns colors off: https://no-color.org."""


class _SilentStderr(io.TextIOWrapper):
    """Stands for standard error while remarks are not printed."""

    def __init__(self, original: TextIO) -> None:
        super().__init__(open(os.devnull, "wb"), encoding="utf-8", errors="backslashreplace")  # noqa: SIM115, PTH123 - closed with this stream
        self.original: Final = original


@contextmanager
def restored_streams() -> Iterator[None]:
    """Undo at the end of the block what `silence_stderr` and `turn_off_colors` did in it."""
    stderr, no_color = sys.stderr, os.environ.get(NO_COLOR)
    try:
        yield
    finally:
        if isinstance(sys.stderr, _SilentStderr) and sys.stderr is not stderr:
            sys.stderr.close()
            sys.stderr = stderr
        if no_color is None:
            os.environ.pop(NO_COLOR, None)
        else:
            os.environ[NO_COLOR] = no_color


def silence_stderr() -> None:
    """Print no remarks from now on."""
    if sys.stderr is not None and not isinstance(sys.stderr, _SilentStderr):
        sys.stderr = _SilentStderr(sys.stderr)


def turn_off_colors() -> None:
    """Print without colors from now on, here and in the programs that are run."""
    os.environ[NO_COLOR] = "1"


def is_silent() -> bool:
    """Return whether remarks are not printed."""
    return isinstance(sys.stderr, _SilentStderr)


def audible_stderr() -> TextIO:
    """Return standard error, also while remarks are not printed: for errors and results."""
    return sys.stderr.original if isinstance(sys.stderr, _SilentStderr) else sys.stderr


def print_essential(text: str, *, nl: bool = True) -> None:
    """Print an error or a result on standard error, also while remarks are not printed."""
    click.echo(text, file=audible_stderr(), nl=nl)
