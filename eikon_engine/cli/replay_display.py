"""Show the progress of a replay on standard error: a line per step, and a bar on a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Self

import click

from eikon_engine.cli.standard_streams import is_silent, print_essential
from eikon_engine.outcome.events import ActionPerformed, GateEvaluated, Note, RunStart, SkillRun, SubgoalStart
from eikon_engine.outcome.outcomes import ActionOutcome, SkillOutcome, describe_network
from eikon_engine.outcome.terminal import safe_line

if TYPE_CHECKING:
    from types import TracebackType

    from rich.console import Console
    from rich.progress import Progress

    from eikon_engine.outcome.events import EventLine
    from eikon_engine.outcome.outcomes import StepOutcome


class ReplayDisplay:
    """Print a `[REPLAY_FOLDER]` line for every subgoal, action and skill."""

    def __init__(self, console: Console | None = None) -> None:
        """Write to `console`, by default standard error; what draws the bar is imported only for a terminal."""
        if console is None and sys.stderr is not None and sys.stderr.isatty():
            from eikon_engine.cli.progress_console import ProgressConsole

            console = ProgressConsole()
        self._console = console
        self._progress = None if console is None else _progress_bar(console)

    def read(self, line: EventLine) -> None:
        """Show one event."""
        match line.event:
            case RunStart() as start:
                self._set_total(start.steps)
                self.print_line(f"mission {start.mission_id}: {start.mission_text}")
                self.print_line(f"{start.browser}, network {_network_label(start)}, {start.steps} steps")
            case SubgoalStart(number=number, description=description, id=name):
                self.print_line(f"subgoal {number}: {description} [{name}]")
            case ActionPerformed(outcome=ActionOutcome() as outcome):
                self._print_step(outcome, f"action {outcome.label}")
            case SkillRun(outcome=SkillOutcome() as outcome):
                self._print_step(outcome, f"skill {outcome.skill}")
            case Note(text=text):
                self.print_line(text)
            case GateEvaluated() as result:
                self.print_line(f"gate {result.gate}: {result.word}: {result.message}")
            case _:
                pass

    def print_line(self, text: str) -> None:
        """Print one line."""
        shown = safe_line(f"[REPLAY] {text}")
        if self._console is None:
            click.echo(shown, err=True)
        else:
            self._console.print(shown)

    def print_result(self, text: str) -> None:
        """Print one line, also with `--quiet`."""
        if is_silent():
            print_essential(safe_line(f"[REPLAY] {text}"))
        else:
            self.print_line(text)

    def __enter__(self) -> Self:
        """Show the bar."""
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the bar."""
        if self._progress is not None:
            self._progress.stop()

    def _set_total(self, steps: int | None) -> None:
        if self._progress is not None:
            self._progress.update(self._progress.task_ids[0], total=steps)

    def _print_step(self, outcome: StepOutcome, what: str) -> None:
        if self._progress is not None:
            self._progress.advance(self._progress.task_ids[0])
        ended = f" ({outcome.result.code})" if outcome.result and outcome.result.kind == "failed" else ""
        self.print_line(f"  {outcome.sequence:03d} {what}{ended}: {outcome.verdict}, {outcome.duration_ms:.0f} ms")


def _progress_bar(console: Console) -> Progress:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("[REPLAY]", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    bar.add_task("replay", total=None)
    return bar


def _network_label(start: RunStart) -> str:
    return "none" if start.network_mode is None else describe_network(start.network_mode, start.resume_point)
