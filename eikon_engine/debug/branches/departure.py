"""Where the way of a branch is another one than that of its recording: steps left out, skills that work elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.outcome.events import SkillUsed
from eikon_engine.outcome.outcomes import SkillOutcome
from eikon_engine.replay.label import step_label
from eikon_engine.trace.execution import SkillUsage
from eikon_engine.trace.located import positions, replaced
from eikon_engine.trace.outdated import only_looks, without_identities

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.outcome.events import ActionTaken
    from eikon_engine.outcome.outcomes import Verdict
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.execution import ExecutionTrace
    from eikon_engine.trace.located import Step

ELSEWHERE: Final = "the skill worked on the document that was recorded, to which another way led than this one"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A step of the recording that a branch does not do."""

    iteration: int
    """After how many steps of the branch it would have come."""
    id: str
    label: str


def left_out(origin: ExecutionTrace, trace: ExecutionTrace) -> tuple[LeftOut, ...]:
    """Return the steps of a recording that a branch of it leaves out, in their order."""
    places = {step.id: number for number, step in enumerate(_steps(trace), start=1)}
    gone: list[LeftOut] = []
    done = 0
    for step in _steps(origin):
        if step.id in places:
            done = places[step.id]
        else:
            gone.append(LeftOut(done, step.id, step_label(step)))
    return tuple(gone)


def skills_elsewhere(origin: ExecutionTrace, trace: ExecutionTrace) -> frozenset[str]:
    """Return the ids of the skills of a branch to which other deeds lead than in the recording."""
    recorded = dict(_ways_to_skills(origin))
    return frozenset(name for name, way in _ways_to_skills(trace) if recorded.get(name) != way)


def judged_elsewhere(event: ActionTaken | SkillUsed, elsewhere: frozenset[str]) -> ActionTaken | SkillUsed:
    """Return what is told of a step: that a skill which agrees with its recording says nothing of another way."""
    match event:
        case SkillUsed(outcome=SkillOutcome() as skill) if (
            skill.id in elsewhere and ELSEWHERE not in skill.unverifiable
        ):
            verdict: Verdict = "diverged" if skill.verdict == "diverged" else "unverifiable"
            judged = skill.model_copy(update={"verdict": verdict, "unverifiable": (*skill.unverifiable, ELSEWHERE)})
            return event.model_copy(update={"outcome": judged})
        case _:
            return event


def without_outputs(trace: ExecutionTrace, skills: frozenset[str]) -> ExecutionTrace:
    """Return a trace that does not know what some skills have to return."""
    for step in tuple(_steps(trace)):
        if isinstance(step, SkillUsage) and step.id in skills:
            trace = replaced(trace, step, step.model_copy(update={"output": None, "output_recorded": False}))
    return trace


def _ways_to_skills(trace: ExecutionTrace) -> Iterator[tuple[str, tuple[Action | str, ...]]]:
    deeds: list[Action | str] = []
    for step in _steps(trace):
        if isinstance(step, SkillUsage):
            yield step.id, tuple(deeds)
        elif not only_looks(step):
            deeds.append(without_identities(step.action))


def _steps(trace: ExecutionTrace) -> Iterator[Step]:
    return (step for _, step in positions(trace))
