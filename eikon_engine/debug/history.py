"""The steps and manual JavaScript that led to a position, and whether two histories are equal."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from eikon_engine.debug.state_digest import StateDigest
from eikon_engine.debug.timeline import EvaluationEntry
from eikon_engine.files.json_text import canonical_json
from eikon_engine.files.models import FileModel, FiniteJson
from eikon_engine.trace.certificate import network_sha256
from eikon_engine.trace.execution import ActionTrace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import JsonValue

    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import ExecutionTrace, SkillUsage


class Evaluation(FileModel):
    """JavaScript that the user ran: part of the history, and repeated when the history is re-run."""

    iteration: int
    """Number of steps done."""
    page: int
    frame: str
    expression: str
    """Redacted."""
    result: FiniteJson = None
    error: str | None = None
    overdue: bool = False
    """Whether it timed out, as it will when repeated."""
    state: StateDigest
    """State of the pages afterwards."""

    @property
    def identity(self) -> tuple[int, int, str, str]:
        """Return what identifies it."""
        return self.iteration, self.page, self.frame, self.expression

    @property
    def timeline_entry(self) -> EvaluationEntry:
        """Return its timeline entry."""
        return EvaluationEntry(iteration=self.iteration, page=self.page, frame=self.frame, expression=self.expression)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What must be re-run to reach an iteration, and the states that were observed."""

    bundle: Bundle
    evaluations: tuple[Evaluation, ...] = ()
    """In order; those after the requested iteration are ignored."""
    digests: Mapping[int, StateDigest] = field(default_factory=dict)
    """Expected state by iteration; where missing, nothing is compared."""

    def until(self, iteration: int) -> History:
        """Return the history up to an iteration."""
        return History(
            bundle=self.bundle,
            evaluations=tuple(each for each in self.evaluations if each.iteration <= iteration),
            digests={number: state for number, state in self.digests.items() if number <= iteration},
        )

    def key(self, iteration: int, responses_digest: str | None = None) -> str:
        """Digest what leads to an iteration, except evaluations: the steps, the start and the recorded responses.

        `responses_digest` is the digest of an open context's responses; by default that of the bundle now.
        """
        trace = self.bundle.trace
        parts: list[JsonValue] = [
            steps_sha256(trace, iteration),
            trace.start.model_dump(mode="json"),
            None if trace.environment is None else trace.environment.model_dump(mode="json"),
            responses_sha256(self.bundle) if responses_digest is None else responses_digest,
        ]
        return _sha256(parts)


def responses_sha256(bundle: Bundle) -> str:
    """Digest the responses of a sealed replay of a bundle, with their timeline."""
    network = bundle.trace.network
    return _sha256(
        [network_sha256(bundle.root, bundle.trace), None if network is None else network.model_dump(mode="json")]
    )


def iter_steps(trace: ExecutionTrace) -> Iterator[ActionTrace | SkillUsage]:
    """Yield the steps of a mission in order."""
    for subgoal in trace.subgoal_traces:
        yield from subgoal.steps


def steps_sha256(trace: ExecutionTrace, iteration: int) -> str:
    """Digest the first steps of a mission with everything recorded of them, as canonical JSON."""
    steps = [_recorded_fields(step) for step in islice(iter_steps(trace), iteration)]
    return _sha256([trace.mission_id, *steps])


def _recorded_fields(step: ActionTrace | SkillUsage) -> JsonValue:
    """Return a step as JSON, without what deleting later steps changes: its timing is that of its observation."""
    if isinstance(step, ActionTrace) and step.observation is not None:
        step = step.model_copy(update={"timing": None})
    fields: JsonValue = step.model_dump(mode="json")
    return fields


def have_same_effect(one: ActionTrace | SkillUsage, other: ActionTrace | SkillUsage) -> bool:
    """Return whether two steps do the same; what was recorded of them may differ."""
    return _step_effect(one) == _step_effect(other)


def _step_effect(step: ActionTrace | SkillUsage) -> JsonValue:
    if not isinstance(step, ActionTrace):
        return [step.skill, step.parameters]
    return _without_identities(step.action.model_dump(mode="json"))


def _without_identities(value: JsonValue) -> JsonValue:
    """Drop the recorded element identities of an action."""
    match value:
        case dict():
            return {name: _without_identities(each) for name, each in value.items() if name != "identity"}
        case list():
            return [_without_identities(each) for each in value]
        case _:
            return value


def _sha256(parts: list[JsonValue]) -> str:
    return hashlib.sha256(canonical_json(parts).encode()).hexdigest()
