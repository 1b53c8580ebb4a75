"""Show the progress of a replay on standard error: a line per step, and a bar on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from eikon_engine.outcome.events import ActionTaken, GateResultGiven, Note, RunStart, SkillUsed, SubgoalStart
from eikon_engine.outcome.outcomes import ActionOutcome, SkillOutcome, network_words
from eikon_engine.outcome.printable import printable

if TYPE_CHECKING:
    from types import TracebackType

    from eikon_engine.outcome.events import JournalLine
    from eikon_engine.outcome.outcomes import StepOutcome


class Display:
    """Print a `[REPLAY]` line for every subgoal, action and skill."""

    def __init__(self, console: Console | None = None) -> None:
        """Write to `console`, by default standard error."""
        self._console = console or Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
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

    def read(self, line: JournalLine) -> None:
        """Show one event."""
        match line.event:
            case RunStart() as start:
                self._progress.update(self._task, total=start.steps)
                self.say(f"mission {start.mission_id}: {start.mission_text}")
                self.say(f"{start.browser}, network {_network(start)}, {start.steps} steps")
            case SubgoalStart(number=number, description=description, id=name):
                self.say(f"subgoal {number}: {description} [{name}]")
            case ActionTaken(outcome=ActionOutcome() as outcome):
                self._step(outcome, f"action {outcome.label}")
            case SkillUsed(outcome=SkillOutcome() as outcome):
                self._step(outcome, f"skill {outcome.skill}")
            case Note(text=text):
                self.say(text)
            case GateResultGiven() as result:
                self.say(f"gate {result.gate}: {result.word}: {result.message}")
            case _:
                pass

    def say(self, text: str) -> None:
        """Print one line."""
        self._console.print(printable(f"[REPLAY] {text}".replace("\n", " ")))

    def __enter__(self) -> Self:
        """Show the bar."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the bar."""
        self._progress.stop()

    def _step(self, outcome: StepOutcome, what: str) -> None:
        self._progress.advance(self._task)
        ended = f" ({outcome.result.code})" if outcome.result and outcome.result.kind == "failed" else ""
        self.say(f"  {outcome.sequence:03d} {what}{ended}: {outcome.verdict}, {outcome.duration_ms:.0f} ms")


def _network(start: RunStart) -> str:
    return "none" if start.network_mode is None else network_words(start.network_mode, start.second_part)
