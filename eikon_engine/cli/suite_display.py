"""Show the progress of a suite on standard error: failures as they happen, and a bar on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from eikon_engine.cli.progress_console import ProgressConsole
from eikon_engine.outcome.terminal import safe_line
from eikon_engine.report.suite_report import render_result_line

if TYPE_CHECKING:
    from types import TracebackType

    from rich.console import Console

    from eikon_engine.outcome.suite_results import MissionResult


class SuiteDisplay:
    """Print a line for each replay that is not faithful."""

    def __init__(self, replays: int, console: Console | None = None) -> None:
        """Expect so many replays; write to `console`, by default standard error."""
        self._console = console or ProgressConsole()
        self._failed = 0
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._progress.add_task("replays", total=replays)

    def show(self, result: MissionResult) -> None:
        """Show a result."""
        self._failed += result.counts_as_failure
        self._progress.update(self._task, advance=1, description=f"replays, {self._failed} failed")
        if result.exit_status or result.retried:
            self.print_line(render_result_line(result))

    def print_line(self, text: str) -> None:
        """Print one line."""
        self._console.print(safe_line(text))

    def __enter__(self) -> Self:
        """Show the bar."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the bar."""
        self._progress.stop()
