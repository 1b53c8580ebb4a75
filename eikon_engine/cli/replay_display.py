"""Show the progress of a replay on standard error: a line per step, and a bar on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from eikon_engine.cli.progress_console import ProgressConsole
from eikon_engine.cli.standard_streams import is_silent, print_essential
from eikon_engine.outcome.events import ActionPerformed, GateEvaluated, Note, RunStart, SkillRun, SubgoalStart
from eikon_engine.outcome.outcomes import ActionOutcome, SkillOutcome, describe_network
from eikon_engine.outcome.terminal import safe_line

if TYPE_CHECKING:
    from types import TracebackType

    from rich.console import Console

    from eikon_engine.outcome.events import EventLine
    from eikon_engine.outcome.outcomes import StepOutcome


class ReplayDisplay:
    """Print a `[REPLAY_FOLDER]` line for every subgoal, action and skill."""

    def __init__(self, console: Console | None = None) -> None:
        """Write to `console`, by default standard error."""
        self._console = console or ProgressConsole()
        self._progress = Progress(
            TextColumn("[REPLAY]", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._progress.add_task("replay", total=None)

    def read(self, line: EventLine) -> None:
        """Show one event."""
        match line.event:
            case RunStart() as start:
                self._progress.update(self._task, total=start.steps)
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
        self._console.print(safe_line(f"[REPLAY] {text}"))

    def print_result(self, text: str) -> None:
        """Print one line, also with `--quiet`."""
        if is_silent():
            print_essential(safe_line(f"[REPLAY] {text}"))
        else:
            self.print_line(text)

    def __enter__(self) -> Self:
        """Show the bar."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the bar."""
        self._progress.stop()

    def _print_step(self, outcome: StepOutcome, what: str) -> None:
        self._progress.advance(self._task)
        ended = f" ({outcome.result.code})" if outcome.result and outcome.result.kind == "failed" else ""
        self.print_line(f"  {outcome.sequence:03d} {what}{ended}: {outcome.verdict}, {outcome.duration_ms:.0f} ms")


def _network_label(start: RunStart) -> str:
    return "none" if start.network_mode is None else describe_network(start.network_mode, start.resume_point)
