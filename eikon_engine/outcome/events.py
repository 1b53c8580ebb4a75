"""The events of a replay: one stream, read by the journal, the progress display and the collector."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import AwareDatetime, Field

from eikon_engine.outcome.divergence import Divergence
from eikon_engine.outcome.outcomes import ActionOutcome, NetworkMode, NetworkOutcome, SkillOutcome, Verdict
from eikon_engine.trace.environment import Environment
from eikon_engine.trace.record import Record

EVENTS_VERSION: Literal[1] = 1


class RunStart(Record):
    """A replay begins."""

    type: Literal["run_start"] = "run_start"
    events_version: Literal[1] = EVENTS_VERSION
    mission_id: str
    mission_text: str
    network_mode: NetworkMode
    headless: bool
    browser: str
    environment: Environment
    subgoals: int
    steps: int


class SubgoalStart(Record):
    """A subgoal attempt begins."""

    type: Literal["subgoal_start"] = "subgoal_start"
    number: int
    id: str
    subgoal_id: str
    description: str
    steps: int


class ActionStart(Record):
    """An action is about to be performed."""

    type: Literal["action_start"] = "action_start"
    subgoal: str
    sequence: int
    action: str
    label: str


class ActionEnd(Record):
    """An action was performed and compared."""

    type: Literal["action_end"] = "action_end"
    subgoal: str
    outcome: ActionOutcome


class SkillEnd(Record):
    """A skill was rerun and compared."""

    type: Literal["skill_end"] = "skill_end"
    subgoal: str
    outcome: SkillOutcome


class DivergenceFound(Record):
    """The run left its recording."""

    type: Literal["divergence"] = "divergence"
    divergence: Divergence


class SubgoalEnd(Record):
    """A subgoal attempt is over."""

    type: Literal["subgoal_end"] = "subgoal_end"
    number: int
    id: str
    verdict: Verdict


class RunEnd(Record):
    """The replay is over."""

    type: Literal["run_end"] = "run_end"
    ended_early: str | None = None
    network: NetworkOutcome = NetworkOutcome()


Event: TypeAlias = Annotated[
    RunStart | SubgoalStart | ActionStart | ActionEnd | SkillEnd | DivergenceFound | SubgoalEnd | RunEnd,
    Field(discriminator="type"),
]


class JournalLine(Record):
    """One line of `events.jsonl`."""

    sequence: int
    at: AwareDatetime
    event: Event
