"""Gates and how they follow a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeAlias

from pydantic import Field

from eikon_engine.gates.counts import MaxActions, MaxCompletions, MaxDivergences, MaxTokens, MaxToolCalls
from eikon_engine.gates.hosts import AllowedHosts
from eikon_engine.gates.meter import GateReading, RunState
from eikon_engine.gates.outputs import OutputMatches
from eikon_engine.gates.pages import ExpectStatus, NoConsoleErrors, NoFailedRequests
from eikon_engine.gates.times import LatencyMs, MaxDuration
from eikon_engine.outcome.events import RunEnd
from eikon_engine.outcome.outcomes import GateResult
from eikon_engine.outcome.stored_values import InlineValue

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import JsonValue

    from eikon_engine.gates.meter import Meter, ResolveValue
    from eikon_engine.outcome.events import EventLine
    from eikon_engine.outcome.stored_values import StoredValue

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
class GateSet:
    """The gates of one file or scenario, in order."""

    gates: tuple[Gate, ...]

    def monitor(self, value_of: ResolveValue | None = None) -> GateMonitor:
        """Start to follow a run; `value_of` resolves values stored in files, of which a running run has none."""
        return GateMonitor(self.gates, value_of or _inline_value)

    def evaluate(self, lines: Iterable[EventLine], value_of: ResolveValue | None = None) -> tuple[GateResult, ...]:
        """Evaluate a finished or truncated run."""
        watch = self.monitor(value_of)
        for line in lines:
            watch.process(line)
        return tuple(result.model_copy(update={"while_running": False}) for result in watch.finish())


class GateMonitor:
    """Follows one run and reports gates that are exceeded."""

    def __init__(self, gates: tuple[Gate, ...], value_of: ResolveValue) -> None:
        """Start before the first line."""
        self._meters: list[tuple[Gate, Meter]] = [(gate, gate.meter(value_of)) for gate in gates]
        self._exceeded: dict[int, GateResult] = {}
        self._run = RunState()

    def process(self, line: EventLine) -> GateResult | None:
        """Process the next line; return the first gate it exceeds, except at the end of the run."""
        self._run.process(line.event)
        first: GateResult | None = None
        for place, (gate, meter) in enumerate(self._meters):
            if place in self._exceeded:
                continue
            meter.process(line)
            if first is None and not isinstance(line.event, RunEnd) and (found := meter.reading()).passed is False:
                first = self._exceeded[place] = _result(gate, found, while_running=True)
        return first

    def finish(self) -> tuple[GateResult, ...]:
        """Return the result of each gate; without a `run_end`, gates that are not exceeded are unverifiable."""
        return tuple(
            self._exceeded.get(place) or self._final_result(gate, meter.reading())
            for place, (gate, meter) in enumerate(self._meters)
        )

    def _final_result(self, gate: Gate, found: GateReading) -> GateResult:
        if found.passed and self._run.end is None:
            message = f"{found.message}; the events are incomplete, so what followed is unknown"
            found = GateReading(passed=None, observed=found.observed, message=message)
        return _result(gate, found, while_running=False)


def gate_name(gate: Gate) -> str:
    """Return the name of a gate, with its parameters in brackets."""
    about = {
        name: value
        for name in ("tool", "skill", "of", "name", "url")
        if (value := getattr(gate, name, None)) is not None
    }
    listed = ",".join(f"{name}={value}" for name, value in about.items())
    return f"{gate.gate}[{listed}]" if listed else gate.gate


def _result(gate: Gate, found: GateReading, *, while_running: bool) -> GateResult:
    return GateResult(
        gate=gate_name(gate),
        passed=found.passed,
        limit=gate.limit,
        observed=found.observed,
        message=found.message,
        while_running=while_running,
    )


def _inline_value(stored: StoredValue) -> JsonValue:
    assert isinstance(stored, InlineValue)  # noqa: S101 - values move into files only when they are written
    return stored.value
