"""The way on which a mission came to where it stands, and whether another one went the same."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eikon_engine.debug.state_digest import StateDigest
from eikon_engine.debug.timeline import EvaluationEntry
from eikon_engine.trace.certificate import network_sha256
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.json_value import canonical_json
from eikon_engine.trace.record import FiniteJson, Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import JsonValue

    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import ExecutionTrace, SkillUsage


class Evaluation(Record):
    """JavaScript that was run by hand: it belongs to the way, and is run again where the way is done again."""

    iteration: int
    """How many steps were done."""
    page: int
    frame: str
    expression: str
    """Without secrets."""
    result: FiniteJson = None
    error: str | None = None
    overdue: bool = False
    """Whether it was not over in time, as it will not be when it is run again."""
    state: StateDigest
    """What the pages showed afterwards."""

    @property
    def asked(self) -> tuple[int, int, str, str]:
        """Return what makes two of them the same."""
        return self.iteration, self.page, self.frame, self.expression

    @property
    def entry(self) -> EvaluationEntry:
        """Return what the timeline tells of it."""
        return EvaluationEntry(iteration=self.iteration, page=self.page, frame=self.frame, expression=self.expression)


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Everything that has to be done again to come to an iteration once more, and what was seen there."""

    bundle: Bundle
    evaluations: tuple[Evaluation, ...] = ()
    """In the order in which they were made; those after the iteration that is asked for are left out."""
    seen: Mapping[int, StateDigest] = field(default_factory=dict)
    """What the session saw after so many steps; where it did not look, nothing is compared."""

    def until(self, iteration: int) -> Way:
        """Return the way as far as an iteration."""
        return Way(
            bundle=self.bundle,
            evaluations=tuple(each for each in self.evaluations if each.iteration <= iteration),
            seen={number: state for number, state in self.seen.items() if number <= iteration},
        )

    def key(self, iteration: int, answers: str | None = None) -> str:
        """Digest what leads to an iteration, evaluations aside: the steps, the start, what answers.

        `answers` are those of a line that was opened before; else what lies in the bundle now.
        """
        trace = self.bundle.trace
        parts: list[JsonValue] = [
            trace_sha256(trace, iteration),
            trace.start.model_dump(mode="json"),
            None if trace.environment is None else trace.environment.model_dump(mode="json"),
            answers_of(self.bundle) if answers is None else answers,
        ]
        return _sha256(parts)


def answers_of(bundle: Bundle) -> str:
    """Digest what answers a sealed replay of a bundle, and when."""
    network = bundle.trace.network
    return _sha256(
        [network_sha256(bundle.root, bundle.trace), None if network is None else network.model_dump(mode="json")]
    )


def steps_of(trace: ExecutionTrace) -> Iterator[ActionTrace | SkillUsage]:
    """Yield the steps of a mission in their order."""
    for subgoal in trace.subgoal_traces:
        yield from subgoal.steps


def trace_sha256(trace: ExecutionTrace, iteration: int) -> str:
    """Digest the first steps of a mission as canonical JSON, with everything that was recorded of them."""
    steps = [step.model_dump(mode="json") for step, _ in zip(steps_of(trace), range(iteration), strict=False)]
    return _sha256([trace.mission_id, *steps])


def is_same_deed(one: ActionTrace | SkillUsage, other: ActionTrace | SkillUsage) -> bool:
    """Say whether two steps do the same; what was recorded of them may differ."""
    return _deed(one) == _deed(other)


def _deed(step: ActionTrace | SkillUsage) -> JsonValue:
    if not isinstance(step, ActionTrace):
        return [step.skill, step.parameters]
    return _without_identities(step.action.model_dump(mode="json"))


def _without_identities(value: JsonValue) -> JsonValue:
    """Drop what an action learnt of its elements when it was performed."""
    match value:
        case dict():
            return {name: _without_identities(each) for name, each in value.items() if name != "identity"}
        case list():
            return [_without_identities(each) for each in value]
        case _:
            return value


def _sha256(parts: list[JsonValue]) -> str:
    return hashlib.sha256(canonical_json(parts).encode()).hexdigest()
