"""Gates on time: duration of the run and of its steps."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal

from pydantic import AfterValidator, Field

from eikon_engine.files.models import FileModel
from eikon_engine.files.text import pluralize
from eikon_engine.gates.meter import GateReading, was_performed
from eikon_engine.outcome.events import (
    ActionPerformed,
    CompletionReceived,
    EventLine,
    RunStart,
    SkillRun,
    ToolResult,
)

if TYPE_CHECKING:
    from datetime import datetime

    from eikon_engine.gates.meter import ResolveValue

UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
"""Seconds in each unit."""
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")


def _check_duration(value: float | str) -> float | str:
    """Reject a text that is not a duration.

    Raises:
        ValueError: the text is not a duration.
    """
    if isinstance(value, str) and _DURATION.fullmatch(value) is None:
        raise ValueError(f"expected seconds, or a number with ms, s, m or h such as 30s; got {value!r}")
    return value


class MaxDuration(FileModel):
    """Limit the duration of the run, in wall time."""

    gate: Literal["max_duration"] = "max_duration"
    limit: Annotated[Annotated[float, Field(ge=0)] | str, AfterValidator(_check_duration)]
    """Seconds, or a text such as `500ms`, `30s`, `2m`, `1h`."""
    shorthand: ClassVar[str] = "limit"

    @property
    def seconds(self) -> float:
        """The limit in seconds."""
        if isinstance(self.limit, str):
            found = _DURATION.fullmatch(self.limit)
            assert found is not None  # noqa: S101 - checked by the validator
            return float(found[1]) * UNITS[found[2]]
        return self.limit

    def meter(self, _value_of: ResolveValue) -> _DurationMeter:
        """Start measuring."""
        return _DurationMeter(self)


class LatencyMs(FileModel):
    """Limit the duration of each step, or of some steps, in milliseconds."""

    gate: Literal["latency_ms"] = "latency_ms"
    limit: float = Field(ge=0)
    of: Literal["action", "completion", "skill", "tool"] | None = None
    """Kind of the steps; None for all four."""
    name: str | None = Field(default=None, min_length=1)
    """Type of the action, `metric_id` of the completion, name of the skill or tool; None for all."""
    shorthand: ClassVar[str] = "limit"

    def meter(self, _value_of: ResolveValue) -> _LatencyMeter:
        """Start measuring."""
        return _LatencyMeter(self)


@dataclass(slots=True)
class _DurationMeter:
    gate: MaxDuration
    begin: datetime | None = None
    last: datetime | None = None

    def process(self, line: EventLine) -> None:
        if isinstance(line.event, RunStart):
            self.begin = line.at
        self.last = line.at

    def reading(self) -> GateReading:
        if self.begin is None or self.last is None:
            return GateReading(passed=None, observed=None, message="the run has no run_start")
        took = (self.last - self.begin).total_seconds()
        if took < 0:
            return GateReading(passed=None, observed=took, message="the clock was set back during the run")
        limit = self.gate.seconds
        return GateReading(passed=took <= limit, observed=took, message=f"{took:.3f} s, at most {limit:g} s")


@dataclass(slots=True)
class _LatencyMeter:
    gate: LatencyMs
    slowest: tuple[float, str] | None = None
    measured: int = 0
    unreported: int = 0
    names: list[str] = field(default_factory=list)

    def process(self, line: EventLine) -> None:
        step = _finished_step(line)
        if step is None:
            return
        kind, name, took = step
        if self.gate.of not in (None, kind) or self.gate.name not in (None, name):
            return
        if took is None:
            self.unreported += 1
            return
        self.measured += 1
        if self.slowest is None or took > self.slowest[0]:
            self.slowest = took, f"{kind} {name}"

    def reading(self) -> GateReading:
        what = " ".join(filter(None, (self.gate.of or "step", self.gate.name)))
        if self.slowest is None:
            why = f"no {what} was measured" if not self.unreported else f"the duration of each {what} was not recorded"
            return GateReading(passed=None, observed=None, message=why)
        took, name = self.slowest
        passed = took <= self.gate.limit
        message = f"{name} took {took:.1f} ms, the longest of {self.measured}; at most {self.gate.limit:g} ms"
        if passed and self.unreported:
            message = f"{message}; the duration of {pluralize(self.unreported, 'other')} is unknown"
            return GateReading(passed=None, observed=took, message=message)
        return GateReading(passed=passed, observed=took, message=message)


def _finished_step(line: EventLine) -> tuple[str, str, float | None] | None:
    """Return kind, name and duration of the step that an event ends; None for other events."""
    match line.event:
        case ActionPerformed(outcome=outcome) if was_performed(outcome):
            return "action", outcome.type, outcome.duration_ms
        case SkillRun(outcome=outcome) if outcome.result is not None:
            return "skill", outcome.skill, outcome.duration_ms
        case ToolResult(tool=tool, latency_ms=took):
            return "tool", tool, took
        case CompletionReceived(metric_id=metric, latency_ms=took):
            return "completion", metric, took
        case _:
            return None
