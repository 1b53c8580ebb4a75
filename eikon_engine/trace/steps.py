"""Find and replace the steps of a trace, and drop recorded data that an edit invalidates.

What was recorded of a step only holds as long as the same steps precede it. This includes the documents of skills,
which depend on the steps before them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from eikon_engine.errors import TraceFieldError
from eikon_engine.files.text import shorten
from eikon_engine.trace.actions import (
    Assert,
    Expect,
    ExtractDom,
    Note,
    Read,
    Screenshot,
    ScrollIntoViewIfNeeded,
    SelectorCondition,
    WaitFor,
)
from eikon_engine.trace.execution import ActionTrace, Blocked, Failed, RecordedTiming, SkillUsage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pydantic import JsonValue

    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.execution import ExecutionTrace, SubgoalTrace

Step: TypeAlias = ActionTrace | SkillUsage
_FAILURE_CHARACTERS: Final = 160
"""Maximum length of what is quoted of a failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLocation:
    """An attempt, or a step and its attempt."""

    attempt: SubgoalTrace
    step: Step | None
    """None for the attempt itself."""


def locate_step(trace: ExecutionTrace, name: str) -> StepLocation:
    """Find the step or attempt with an id.

    Raises:
        TraceFieldError: the id is missing or not unique.
    """
    found = [each for each in _locations(trace) if (each.step or each.attempt).id == name]
    if len(found) != 1:
        message = (
            f"patch: expected one step or attempt with the id {name!r} in the trace, got {len(found)}; "
            "`eikon trace show` lists them"
        )
        raise TraceFieldError(message)
    return found[0]


def locate_attempt(trace: ExecutionTrace, name: str) -> SubgoalTrace:
    """Find the attempt with an id.

    Raises:
        TraceFieldError: there is none.
    """
    found = next((each for each in trace.subgoal_traces if each.id == name), None)
    if found is None:
        known = ", ".join(each.id for each in trace.subgoal_traces) or "none"
        message = f"patch: expected the id of an attempt of the trace, got {name!r}; its attempts are {known}"
        raise TraceFieldError(message)
    return found


def iter_steps(trace: ExecutionTrace) -> Iterator[tuple[SubgoalTrace, Step]]:
    """Yield all steps in order, each with its attempt."""
    for attempt in trace.subgoal_traces:
        for step in attempt.steps:
            yield attempt, step


def map_actions(trace: ExecutionTrace, change: Callable[[ActionTrace], ActionTrace]) -> ExecutionTrace:
    """Return a trace with `change` applied to each action."""
    attempts = tuple(
        attempt.model_copy(update={"actions_taken": tuple(map(change, attempt.actions_taken))})
        for attempt in trace.subgoal_traces
    )
    return trace.model_copy(update={"subgoal_traces": attempts})


def map_steps(trace: ExecutionTrace, change: Callable[[Step], Step]) -> ExecutionTrace:
    """Return a trace with `change` applied to each action and skill."""

    def changed(attempt: SubgoalTrace) -> SubgoalTrace:
        update = {
            "actions_taken": tuple(change(each) for each in attempt.actions_taken),
            "skills_used": tuple(change(each) for each in attempt.skills_used),
        }
        return attempt.model_copy(update=update)

    return map_attempts(trace, lambda attempt: (changed(attempt),))


def map_attempts(trace: ExecutionTrace, change: Callable[[SubgoalTrace], tuple[SubgoalTrace, ...]]) -> ExecutionTrace:
    """Return a trace with each attempt replaced by the result of `change`."""
    attempts = tuple(new for attempt in trace.subgoal_traces for new in change(attempt))
    return trace.model_copy(update={"subgoal_traces": attempts})


def replace_step(trace: ExecutionTrace, old: Step | SubgoalTrace, new: Step | SubgoalTrace) -> ExecutionTrace:
    """Return a trace with one step or attempt replaced."""

    def change(attempt: SubgoalTrace) -> tuple[SubgoalTrace, ...]:
        if attempt is old:
            assert not isinstance(new, Step)  # noqa: S101 - an attempt is replaced by an attempt
            return (new,)
        update = {
            "actions_taken": tuple(new if each is old else each for each in attempt.actions_taken),
            "skills_used": tuple(new if each is old else each for each in attempt.skills_used),
        }
        return (attempt.model_copy(update=update),)

    return map_attempts(trace, change)


def _locations(trace: ExecutionTrace) -> Iterator[StepLocation]:
    for attempt in trace.subgoal_traces:
        yield StepLocation(attempt=attempt, step=None)
        for step in attempt.steps:
            yield StepLocation(attempt=attempt, step=step)


READ_ONLY_ACTIONS = (Assert, Expect, ExtractDom, Note, Read, Screenshot, ScrollIntoViewIfNeeded)
"""Actions that do not change pages."""

MISSING_DOCUMENT: Final = "the trace has no document for the skill: none was recorded, or an edit invalidated it"
"""Why a skill without a `source` cannot run."""


def unknown_skill_note(usage: SkillUsage) -> str:
    """Return why the use of a skill that this version does not have cannot be verified."""
    return usage.unverifiable or f"an older version recorded skill {usage.skill}, which this version does not have"


def is_read_only(step: Step) -> bool:
    """Return whether a step does not change the pages, so that later steps do not depend on it."""
    return (
        not isinstance(step, ActionTrace)
        or isinstance(step.result, Blocked)
        or isinstance(step.action, READ_ONLY_ACTIONS)
    )


def is_failed_wait(step: ActionTrace) -> bool:
    """Return whether a step is a wait or an assertion that timed out in the recording."""
    code = step.result.code if isinstance(step.result, Failed) else ""
    return (isinstance(step.action, WaitFor) and code == "wait-timeout") or (
        isinstance(step.action, Expect) and code == "assertion-failed"
    )


def describe_failure(trace: ExecutionTrace) -> str:
    """Return how a recorded mission failed, to follow "a mission that"; empty if it did not.

    One that completed although its last action failed, which its agent handled, counts as failed, too.
    """
    last = next(reversed(_performed_actions(trace)), None)
    result = None if last is None else last.result
    of_action = f"{result.code}: {result.message}".removesuffix(": ") if isinstance(result, Failed) else ""
    reason = trace.failures[0].message if trace.failures else of_action
    match trace.status:
        case "complete":
            return f"ended with an action that failed: {_first_line(of_action)}" if of_action else ""
        case "running" | "aborted":
            return f"was interrupted ({trace.status})"
        case "failed":
            return f"failed: {_first_line(reason)}" if reason else "failed"
        case _:
            return f"ended as {trace.status}"


def _first_line(text: str) -> str:
    return shorten(text.partition("\n")[0], _FAILURE_CHARACTERS)


def begun_ms(step: ActionTrace) -> float:
    """Return the page time at which a step began."""
    return 0.0 if step.observation is None else step.observation.begun_ms


_BACKOFF_MS: Final = (20.0, 50.0, 100.0, 100.0, 500.0)
"""Pauses of Playwright's server between two polls (`retryWithProgressAndBackoff`); the last one is repeated."""
_BACKOFFS_IN_TIMEOUT: Final = 5
"""How often a pause fits into the timeout, at least."""


def poll_interval_ms(action: Action) -> float:
    """Return the longest time between two polls of Playwright that waits for an action; 0 if it misses nothing."""
    is_polled = isinstance(action, Expect) or (
        isinstance(action, WaitFor) and isinstance(action.condition, SelectorCondition)
    )
    pauses = [each for each in _BACKOFF_MS if each <= action.timeout_ms / _BACKOFFS_IN_TIMEOUT]
    return max(pauses, default=0.0) if is_polled else 0.0


def invalidate_after(trace: ExecutionTrace, step: Step) -> ExecutionTrace:
    """Drop what was recorded after a step, including its own observation.

    Dropped are observations, element identities, artifacts and documents of skills. The step itself keeps its element
    identities, since the pages before it are unchanged. Times are kept, because the recorded network has the same
    timeline.
    """
    later = _steps_from(trace, step)
    return _invalidate(trace, later, known=step)


def invalidate_from(trace: ExecutionTrace, step: Step) -> ExecutionTrace:
    """Drop what was recorded of a step and all later ones, including its element identities."""
    return _invalidate(trace, _steps_from(trace, step), known=None)


def _invalidate(trace: ExecutionTrace, steps: list[Step], known: Step | None) -> ExecutionTrace:
    """Drop what was recorded of some steps; `known` keeps its element identities."""
    outdated = {id(each) for each in steps}
    timings = _timings(trace)

    def without_recording(step: Step) -> Step:
        if id(step) not in outdated:
            return step
        if isinstance(step, SkillUsage):
            unknown = {"source": None, "stored_page": None, "output": None, "output_recorded": False}
            return step.model_copy(update=unknown)
        kept = step.action if step is known else without_identities(step.action)
        update = {"action": kept, "observation": None, "artifacts": (), "timing": timings.get(id(step))}
        return step.model_copy(update={**update, "stored_page": None})

    return map_steps(trace, without_recording)


def invalidate_step(trace: ExecutionTrace, action: ActionTrace) -> ExecutionTrace:
    """Drop what was recorded of one action."""
    timing = _timings(trace).get(id(action))
    invalid = {"observation": None, "artifacts": (), "timing": timing, "stored_page": None}
    return replace_step(trace, action, action.model_copy(update=invalid))


def pin_timing_after(trace: ExecutionTrace, step: Step) -> ExecutionTrace:
    """Store the original timing in all actions after a step, before that step is edited."""
    return _pin_timing(trace, _steps_from(trace, step)[1:])


def pin_timing_from(trace: ExecutionTrace, step: Step) -> ExecutionTrace:
    """Store the original timing in a step and all later ones, before something is inserted before it."""
    return _pin_timing(trace, _steps_from(trace, step))


def pin_timing_at_end(trace: ExecutionTrace, deleted: Iterable[Step]) -> ExecutionTrace:
    """Store the original timing in the last action that remains, before steps are deleted, if theirs was the last."""
    gone = set(map(id, deleted))
    performed = _performed_actions(trace)
    if not performed or id(performed[-1]) not in gone:
        return trace
    return _pin_timing(trace, [each for each in performed if id(each) not in gone][-1:])


def _pin_timing(trace: ExecutionTrace, steps: Sequence[Step]) -> ExecutionTrace:
    later = {id(each) for each in steps}
    timings = _timings(trace)

    def time(action: ActionTrace) -> ActionTrace:
        return action.model_copy(update={"timing": timings.get(id(action))}) if id(action) in later else action

    return map_actions(trace, time)


def count_actions_before(trace: ExecutionTrace, step: Step | None) -> int:
    """Return how many actions the recording performed before a step, or in total if None."""
    performed = {id(each) for each in _performed_actions(trace)}
    timings = _timings(trace)
    later = [] if step is None else [each for each in _steps_from(trace, step) if id(each) in performed]
    if later:
        return timings[id(later[0])].actions_before
    last = max((timing.actions_before for timing in timings.values()), default=-1)
    return last + 1


def acted_times(trace: ExecutionTrace) -> dict[int, float]:
    """Return the page time at which each action acted, where known, by the number of actions performed before it."""
    timings = _timings(trace).values()
    return {each.actions_before: each.acted_ms for each in timings if each.acted_ms is not None}


def _steps_from(trace: ExecutionTrace, step: Step) -> list[Step]:
    steps = [each for _, each in iter_steps(trace)]
    return steps[next(number for number, each in enumerate(steps) if each is step) :]


def _timings(trace: ExecutionTrace) -> dict[int, RecordedTiming]:
    """Return the original timing of each performed action, by `id(action)`."""
    return {id(step): _timing(step, number) for number, step in enumerate(_performed_actions(trace))}


def _performed_actions(trace: ExecutionTrace) -> list[ActionTrace]:
    actions = (step for _, step in iter_steps(trace) if isinstance(step, ActionTrace))
    return [action for action in actions if not isinstance(action.result, Blocked)]


def _timing(action: ActionTrace, actions_before: int) -> RecordedTiming:
    if action.timing is not None and action.observation is None:
        return action.timing
    seen = action.observation
    return RecordedTiming(
        actions_before=actions_before if action.timing is None else action.timing.actions_before,
        begun_ms=None if seen is None else seen.begun_ms,
        acted_ms=None if seen is None else seen.acted_ms,
        virtual_ms=None if seen is None else seen.virtual_ms,
    )


def has_unobserved_edits(trace: ExecutionTrace) -> bool:
    """Return whether observations are missing because the mission was edited, rather than never recorded."""
    actions = (step for _, step in iter_steps(trace) if isinstance(step, ActionTrace))
    return any(action.timing is not None and action.observation is None for action in actions)


def has_unsettled_observations(trace: ExecutionTrace) -> bool:
    """Return whether this is a recording of an agent to which baselines have still to be added."""
    return any(
        isinstance(step, ActionTrace) and step.observation is not None and not step.observation.settled
        for _, step in iter_steps(trace)
    )


def is_agent_recording(trace: ExecutionTrace) -> bool:
    """Return whether the browser of an agent was recorded: its baselines are not its own, but those of replays.

    Only there is chance drawn by a script. Older recordings are recognized only by a timeline, which not all of them
    have. Edited missions may have both, and omit recorded requests.
    """
    if has_unsettled_observations(trace):
        return True
    if any(isinstance(step, ActionTrace) and step.timing is not None for _, step in iter_steps(trace)):
        return False
    is_drawn_by_script = trace.environment is not None and trace.environment.random_source == "script"
    return is_drawn_by_script or (trace.network is not None and bool(trace.network.timeline))


def without_identities(action: Action) -> Action:
    """Return an action without element identities."""
    plain: JsonValue = json.loads(action.model_dump_json())
    without_identity = _without_identity(plain)
    return action if without_identity == plain else type(action).model_validate_json(json.dumps(without_identity))


def _without_identity(value: JsonValue) -> JsonValue:
    match value:
        case dict():
            is_target = {"selector", "identity"} <= value.keys()
            return {
                name: None if is_target and name == "identity" else _without_identity(each)
                for name, each in value.items()
            }
        case list():
            return [_without_identity(each) for each in value]
        case _:
            return value
