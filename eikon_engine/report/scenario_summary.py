"""The summary of a run, `summary.txt`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from eikon_engine.files.text import pluralize
from eikon_engine.outcome.events import (
    ActionPerformed,
    CompletionReceived,
    DivergenceFound,
    EventLine,
    SkillRun,
    ToolResult,
)
from eikon_engine.outcome.run_record import REPLAY_FOLDER
from eikon_engine.outcome.terminal import safe_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eikon_engine.outcome.outcomes import GateResult
    from eikon_engine.outcome.run_record import RunRecord


class EventCounts:
    """Count events."""

    def __init__(self) -> None:
        """Start with zero counts."""
        self.counts: Counter[str] = Counter()
        self.divergences: list[str] = []

    def read(self, line: EventLine) -> None:
        """Count an event."""
        match line.event:
            case ActionPerformed():
                self.counts["action"] += 1
            case SkillRun():
                self.counts["skill"] += 1
            case ToolResult(source=source, error=error):
                self.counts[f"tool {source}"] += 1
                self.counts["tool failed"] += error is not None
            case CompletionReceived(source=source):
                self.counts[f"completion {source}"] += 1
            case DivergenceFound(divergence=found):
                where = f"{found.code} in {found.subgoal_id}, sequence {found.sequence}"
                self.divergences.append(f"{where}: expected {found.expected}, observed {found.observed}")
            case _:
                pass


def render_scenario_summary(note: RunRecord, gates: Sequence[GateResult], tally: EventCounts) -> str:
    """Render the result of a run as plain text."""
    return safe_lines(_summary_lines(note, gates, tally))


def _summary_lines(note: RunRecord, gates: Sequence[GateResult], tally: EventCounts) -> Iterator[str]:
    counts = tally.counts
    name = note.scenario.id if note.scenario is not None else "(no scenario)"
    yield f"{'Recording' if note.mode == 'record' else 'Replay'} of {name}: {note.state}"
    yield f"run: {note.run_id}"
    if note.recording is not None:
        yield f"recording: {note.recording}"
    if note.error is not None:
        yield f"failed: {note.error.message} (code {note.error.code})"
    yield ""
    yield f"actions: {counts['action']}, skills: {counts['skill']}"
    calls = f"{counts['tool executed']} executed, {counts['tool fixture']} from fixtures"
    yield f"tool calls: {calls}, {counts['tool failed']} of them failed"
    yield f"completions: {counts['completion captured']} recorded, {counts['completion replayed']} replayed"
    if note.verdict is not None:
        yield f"mission: {note.verdict}; see {REPLAY_FOLDER}/replay_summary.txt"
    if note.certified is not None:
        yield f"mission: {note.certified}"
    if tally.divergences:
        yield f"{pluralize(len(tally.divergences), 'divergence')}:"
        yield from (f"  {each}" for each in tally.divergences)
    if gates:
        yield ""
        yield from map(format_gate, gates)


def format_gate(gate: GateResult) -> str:
    """Render the result of a gate as one line."""
    return f"gate {gate.gate}: {gate.word}: {gate.message}"
