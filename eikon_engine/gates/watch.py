"""Gates, and how they follow a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeAlias

from pydantic import Field

from eikon_engine.gates.counts import MaxActions, MaxCompletions, MaxDivergences, MaxTokens, MaxToolCalls
from eikon_engine.gates.hosts import AllowedHosts
from eikon_engine.gates.meter import Found, Run
from eikon_engine.gates.outputs import OutputMatches
from eikon_engine.gates.pages import ExpectStatus, NoConsoleErrors, NoFailedRequests
from eikon_engine.gates.times import LatencyMs, MaxDuration
from eikon_engine.outcome.events import RunEnd
from eikon_engine.outcome.gate_result import GateResult
from eikon_engine.outcome.stored import InlineValue

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import JsonValue

    from eikon_engine.gates.meter import Meter, ValueOf
    from eikon_engine.outcome.events import JournalLine
    from eikon_engine.outcome.stored import Stored

Gate: TypeAlias = Annotated[
    AllowedHosts
    | ExpectStatus
    | LatencyMs
    | MaxActions
    | MaxCompletions
    | MaxDivergences
    | MaxDuration
    | MaxTokens
    | MaxToolCalls
    | NoConsoleErrors
    | NoFailedRequests
    | OutputMatches,
    Field(discriminator="gate"),
]


@dataclass(frozen=True, slots=True)
class Gates:
    """The gates of one file or scenario, in their order."""

    gates: tuple[Gate, ...]

    def watch(self, value_of: ValueOf | None = None) -> GateWatch:
        """Begin to follow a run; `value_of` finds values that lie in files, which a run in progress has none of."""
        return GateWatch(self.gates, value_of or _inline)

    def judge(self, lines: Iterable[JournalLine], value_of: ValueOf | None = None) -> tuple[GateResult, ...]:
        """Judge a run that is over, or was cut off."""
        watch = self.watch(value_of)
        for line in lines:
            watch.note(line)
        return tuple(result.model_copy(update={"while_running": False}) for result in watch.finish())


class GateWatch:
    """Follow one run, and say when a gate is exceeded."""

    def __init__(self, gates: tuple[Gate, ...], value_of: ValueOf) -> None:
        """Begin before the first line."""
        self._meters: list[tuple[Gate, Meter]] = [(gate, gate.meter(value_of)) for gate in gates]
        self._exceeded: dict[int, GateResult] = {}
        self._run = Run()

    def note(self, line: JournalLine) -> GateResult | None:
        """Take the next line; return the first gate that is exceeded by it, which the end of the run never is."""
        self._run.note(line.event)
        first: GateResult | None = None
        for place, (gate, meter) in enumerate(self._meters):
            if place in self._exceeded:
                continue
            meter.note(line)
            if first is None and not isinstance(line.event, RunEnd) and (found := meter.found()).passed is False:
                first = self._exceeded[place] = _result(gate, found, while_running=True)
        return first

    def finish(self) -> tuple[GateResult, ...]:
        """Return the result of each gate; where the run has no end, none that is not exceeded has passed."""
        return tuple(
            self._exceeded.get(place) or self._at_the_end(gate, meter.found())
            for place, (gate, meter) in enumerate(self._meters)
        )

    def _at_the_end(self, gate: Gate, found: Found) -> GateResult:
        if found.passed and self._run.end is None:
            message = f"{found.message}; the events break off, and what came then is not known"
            found = Found(passed=None, observed=found.observed, message=message)
        return _result(gate, found, while_running=False)


def gate_name(gate: Gate) -> str:
    """Name a gate; with what it is about in brackets, where it is about some things only."""
    about = {
        name: value
        for name in ("tool", "skill", "of", "name", "url")
        if (value := getattr(gate, name, None)) is not None
    }
    listed = ",".join(f"{name}={value}" for name, value in about.items())
    return f"{gate.gate}[{listed}]" if listed else gate.gate


def _result(gate: Gate, found: Found, *, while_running: bool) -> GateResult:
    return GateResult(
        gate=gate_name(gate),
        passed=found.passed,
        limit=gate.limit,
        observed=found.observed,
        message=found.message,
        while_running=while_running,
    )


def _inline(stored: Stored) -> JsonValue:
    assert isinstance(stored, InlineValue)  # noqa: S101 - values are moved into files when they are written, not before
    return stored.value
