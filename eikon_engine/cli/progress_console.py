"""The console on standard error for progress."""

from __future__ import annotations

from rich.console import Console


class ProgressConsole(Console):
    """Prints plain lines on standard error, and a bar if that is a terminal."""

    def __init__(self) -> None:
        """Print what is given, without markup."""
        super().__init__(stderr=True, soft_wrap=True, highlight=False, markup=False)

    def on_broken_pipe(self) -> None:
        """Leave a closed pipe to `run_command`; rich would exit at once, with status 1."""
        raise BrokenPipeError
