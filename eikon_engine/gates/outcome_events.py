"""The events of a replay, derived from its `outcome.json`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.outcome.events import (
    ActionStart,
    DivergenceFound,
    Event,
    EventLine,
    ObservationMade,
    RunEnd,
    RunStart,
    SubgoalEnd,
    SubgoalStart,
    action_event,
    skill_event,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.outcome.outcomes import ActionOutcome, ReplayOutcome, SubgoalOutcome


def events_of_outcome(outcome: ReplayOutcome) -> Iterator[EventLine]:
    """Yield the events of a replay; all lines except the last have the start time."""
    events = (
        RunStart(
            kind="bundle_replay",
            mission_id=outcome.mission_id,
            mission_text=outcome.mission_text,
            network_mode=outcome.network_mode,
            headless=outcome.headless,
            browser=outcome.browser,
            environment=outcome.environment,
            subgoals=outcome.counts.subgoals_recorded,
            steps=outcome.counts.actions_recorded + outcome.counts.skills_recorded,
        ),
        *(event for subgoal in outcome.subgoals for event in _subgoal_events(subgoal)),
    )
    for number, event in enumerate(events, start=1):
        yield EventLine(sequence=number, at=outcome.started_at, event=event)
    end = RunEnd(
        how="complete" if outcome.ended_early is None else "stopped",
        ended_early=outcome.ended_early,
        network=outcome.network,
    )
    yield EventLine(sequence=len(events) + 1, at=outcome.ended_at, event=end)


def _subgoal_events(subgoal: SubgoalOutcome) -> Iterator[Event]:
    yield SubgoalStart(
        number=subgoal.number,
        id=subgoal.id,
        subgoal_id=subgoal.subgoal_id,
        description=subgoal.description,
        steps=subgoal.steps_recorded,
    )
    for step in subgoal.steps:
        if step.kind == "action":
            yield from _outcome_action_events(subgoal.id, step)
        else:
            yield skill_event(subgoal.id, step)
        for divergence in step.divergences:
            yield DivergenceFound(divergence=divergence)
    yield SubgoalEnd(number=subgoal.number, id=subgoal.id, verdict=subgoal.verdict)


def _outcome_action_events(attempt: str, action: ActionOutcome) -> Iterator[Event]:
    if action.result is not None:
        yield ActionStart(subgoal=attempt, sequence=action.sequence, action=action.type, label=action.label)
    if action.observation is not None:
        yield ObservationMade(subgoal=attempt, sequence=action.sequence, observation=action.observation)
    yield action_event(attempt, action)
