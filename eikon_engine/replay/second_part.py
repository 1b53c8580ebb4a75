"""The second part of a replay: what the steps before it only lead to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.errors import PlanChangedError, UsageError
from eikon_engine.gates.subject import read_outcome
from eikon_engine.network.kinds import SAFE
from eikon_engine.network.rules import SOCKET_METHOD
from eikon_engine.outcome.outcomes import SecondPart
from eikon_engine.replay.plan_digest import plan_digest
from eikon_engine.trace.actions import Note
from eikon_engine.trace.execution import ActionTrace, Blocked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from eikon_engine.replay.options import ReplayOptions
    from eikon_engine.replay.plan import Plan, PlannedStep, PlannedSubgoal
    from eikon_engine.trace.execution import ExecutionTrace
    from eikon_engine.trace.observation import Observation, StoredItem

SHOWN: Final = 12
"""Hex digits of a digest that messages show."""


def require_lead(options: ReplayOptions) -> None:
    """Make sure that what leads to a second part may come from the recording.

    Raises:
        UsageError: other options have it come from elsewhere, or there is no second part.
    """
    if options.from_step is None:
        if options.then != "sealed":
            message = "--then live says how a run goes on from --from N, which was not given; add it, or --network live"
            raise UsageError(message)
        return
    if options.network not in {None, "sealed"} or options.base_urls:
        found = "--base-url" if options.base_urls else f"--network {options.network}"
        message = f"--from does the steps before it from the recording, found {found}; drop one, or add --then live"
        raise UsageError(message)
    other = "--har" if options.har is not None else "--answers" if options.answers is not None else None
    if options.then == "live" and other is not None:
        message = f"--then live asks the site, {other} answers instead of it; drop one of the two"
        raise UsageError(message)


def second_part(subgoals: Sequence[PlannedSubgoal], options: ReplayOptions, trace: ExecutionTrace) -> SecondPart | None:
    """Return where a replay goes on; None where it has but one part.

    Raises:
        UsageError: there is no such step.
    """
    if options.from_step is None:
        return None
    steps = [planned for subgoal in subgoals for planned in subgoal.steps]
    if not 1 <= options.from_step <= len(steps):
        message = f"--from wants the number of a step, 1 to {len(steps)}, found {options.from_step}"
        raise UsageError(message)
    found = steps[options.from_step - 1]
    place = SecondPart(
        step=found.position, subgoal=found.subgoal.id, sequence=found.step.sequence, network=options.then
    )
    return place if options.then == "sealed" else _before_site(place, steps[: found.position - 1], trace)


def told_of(second: SecondPart) -> Iterator[str]:
    """Tell that a second part begins, and what its site does not know, before anything is asked of it; a line each."""
    is_live = second.network == "live"
    how = "every request is really made" if is_live else "goes on from the recording"
    yield f"second part, from step {second.step}: {how}"
    if not is_live or second.step == 1:
        return
    yield from (f"the site has not seen {key}" for key in second.unseen)
    yield from (f"nothing tells what step {number} asked for, which the site has not seen" for number in second.unknown)
    yield from (f"goes along from the recording: {each}" for each in second.carried)
    if not second.carried and not second.unknown:
        yield "goes along from the recording: no cookie, nothing stored"


def _before_site(place: SecondPart, lead: Sequence[PlannedStep], trace: ExecutionTrace) -> SecondPart:
    """Say what is recorded of the steps that lead to a site which has not seen them."""
    performed = [(each.position, each.step) for each in lead if isinstance(each.step, ActionTrace)]
    seen = [action.observation for _, action in performed if action.observation is not None]
    unknown = tuple(
        number
        for number, action in performed
        if action.observation is None and not isinstance(action.result, Blocked) and not isinstance(action.action, Note)
    )
    stored = next((each.storage for each in reversed(seen) if each.storage is not None), None)
    replaced = {each.name for each in trace.redaction.found}
    carried = () if stored is None else tuple(_named(item, is_real=item.name not in replaced) for item in stored)
    writes = tuple(key for each in seen for key in _writes(each))
    return place.model_copy(update={"unseen": writes, "unknown": unknown, "carried": carried})


def _writes(observation: Observation) -> tuple[str, ...]:
    """Return the keys of the requests that change something; older recordings have them among all others."""
    if observation.writes is not None:
        return observation.writes
    return tuple(key for key in observation.requests if key.partition(" ")[0] not in {*SAFE, SOCKET_METHOD})


def _named(item: StoredItem, *, is_real: bool) -> str:
    what = {"cookie": "cookie", "local": "localStorage", "session": "sessionStorage"}[item.kind]
    stand_in = "" if is_real else ", a stand-in for a secret that the site does not know"
    return f"{what} {item.name} of {item.place}{stand_in}"


def require_plan(plan: Plan, options: ReplayOptions, earlier: Path) -> tuple[str, ...]:
    """Make sure that a run goes on with the plan that was begun; return what could not be made sure of.

    The plan that was begun is the one that is stated, else that of the run whose outcome is `earlier`, if one is there.

    Raises:
        PlanChangedError: it is another plan by now.
        TraceError: the outcome of the earlier run cannot be read.
    """
    now = plan_digest(plan)
    if options.plan_digest is not None:
        if options.plan_digest.lower() != now:
            raise PlanChangedError(_changed("--plan-digest", options.plan_digest, now))
        return ()
    if plan.second_part is None or not earlier.is_file():
        return ()
    outcome = read_outcome(earlier)
    if outcome.mission_id != plan.trace.mission_id:
        return ()
    if outcome.plan_digest is None:
        return (f"{earlier} tells no digest of its plan, so that nothing shows whether the mission has changed since",)
    if outcome.plan_digest != now:
        raise PlanChangedError(_changed(str(earlier), outcome.plan_digest, now))
    return ()


def _changed(where: str, begun: str, now: str) -> str:
    return (
        f"the run cannot go on: {where} has the plan {begun[:SHOWN]}, that of the trace is {now[:SHOWN]} by now; "
        f"replay it from its first step, or state the new one with --plan-digest {now}"
    )
