"""Resume a replay at a step (`--from N`): earlier steps are re-run from the recording and verified first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.errors import PlanChangedError, UsageError
from eikon_engine.gates.subject import read_outcome
from eikon_engine.network.kinds import SAFE_METHODS
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

SHOWN_DIGEST_DIGITS: Final = 12
"""Hex digits of a digest shown in messages."""


def require_resumable(options: ReplayOptions) -> None:
    """Check that the steps before the one to resume at can be served from the recording.

    Raises:
        UsageError: another option contradicts this, or `--then live` lacks `--from`.
    """
    if options.from_step is None:
        if options.then_network != "sealed":
            message = "--then live requires --from N. Add it, or use --network live for the whole mission."
            raise UsageError(message)
        return
    if options.network not in {None, "sealed"} or options.base_urls:
        found = "--base-url" if options.base_urls else f"--network {options.network}"
        message = f"--from replays the earlier steps from the recording, got {found}. Drop one, or add --then live."
        raise UsageError(message)
    other = "--har" if options.har is not None else "--responses-from" if options.responses_from is not None else None
    if options.then_network == "live" and other is not None:
        message = f"--then live sends requests to the site, but {other} serves them. Drop one of them."
        raise UsageError(message)


def find_resume_point(
    subgoals: Sequence[PlannedSubgoal], options: ReplayOptions, trace: ExecutionTrace
) -> SecondPart | None:
    """Return where a replay resumes; None without `--from`.

    Raises:
        UsageError: the step does not exist.
    """
    if options.from_step is None:
        return None
    steps = [planned for subgoal in subgoals for planned in subgoal.steps]
    if not 1 <= options.from_step <= len(steps):
        message = f"--from: expected a step number from 1 to {len(steps)}, got {options.from_step}"
        raise UsageError(message)
    found = steps[options.from_step - 1]
    place = SecondPart(
        step=found.position, subgoal=found.subgoal.id, sequence=found.step.sequence, network=options.then_network
    )
    return (
        place if options.then_network == "sealed" else _with_recorded_state(place, steps[: found.position - 1], trace)
    )


def resume_notes(second: SecondPart) -> Iterator[str]:
    """Yield notes about the resumed part before its first request: what the live site has not received."""
    is_live = second.network == "live"
    how = "all requests are sent to the site" if is_live else "still served from the recording"
    yield f"resumed at step {second.step}: {how}"
    if not is_live or second.step == 1:
        return
    yield from (f"the site did not receive {key}" for key in second.unseen)
    yield from (
        f"the site did not receive the requests of step {number}, which are unknown" for number in second.unknown
    )
    yield from (f"carried over from the recording: {each}" for each in second.carried)
    if not second.carried and not second.unknown:
        yield "carried over from the recording: no cookies, no storage"


def _with_recorded_state(place: SecondPart, lead: Sequence[PlannedStep], trace: ExecutionTrace) -> SecondPart:
    """Add the recorded writes and storage of the earlier steps, which the live site did not see."""
    performed = [(each.position, each.step) for each in lead if isinstance(each.step, ActionTrace)]
    seen = [action.observation for _, action in performed if action.observation is not None]
    unknown = tuple(
        number
        for number, action in performed
        if action.observation is None and not isinstance(action.result, Blocked) and not isinstance(action.action, Note)
    )
    stored = next((each.storage for each in reversed(seen) if each.storage is not None), None)
    replaced = {each.name for each in trace.redaction.found}
    carried = (
        () if stored is None else tuple(_stored_item_label(item, is_real=item.name not in replaced) for item in stored)
    )
    writes = tuple(key for each in seen for key in _unsafe_requests(each))
    return place.model_copy(update={"unseen": writes, "unknown": unknown, "carried": carried})


def _unsafe_requests(observation: Observation) -> tuple[str, ...]:
    """Return the keys of requests with unsafe methods; older recordings list them among all others."""
    if observation.writes is not None:
        return observation.writes
    return tuple(key for key in observation.requests if key.partition(" ")[0] not in {*SAFE_METHODS, SOCKET_METHOD})


def _stored_item_label(item: StoredItem, *, is_real: bool) -> str:
    what = {"cookie": "cookie", "local": "localStorage", "session": "sessionStorage"}[item.kind]
    stand_in = "" if is_real else ", a stand-in for a secret, which the site does not accept"
    return f"{what} {item.name} of {item.place}{stand_in}"


def require_same_plan(plan: Plan, options: ReplayOptions, earlier: Path) -> tuple[str, ...]:
    """Check that a resumed run uses the plan of the earlier run; return warnings about what could not be checked.

    The expected plan is the one of `--plan-digest`, else that of the outcome file `earlier`, if it exists.

    Raises:
        PlanChangedError: the plan has changed.
        TraceError: the outcome of the earlier run cannot be read.
    """
    now = plan_digest(plan)
    if options.plan_digest is not None:
        if options.plan_digest.lower() != now:
            raise PlanChangedError(_plan_changed_message("--plan-digest", options.plan_digest, now))
        return ()
    if plan.resume_point is None or not earlier.is_file():
        return ()
    outcome = read_outcome(earlier)
    if outcome.mission_id != plan.trace.mission_id:
        return ()
    if outcome.plan_digest is None:
        return (f"{earlier} holds no plan digest, so changes of the mission since that run go unnoticed",)
    if outcome.plan_digest != now:
        raise PlanChangedError(_plan_changed_message(str(earlier), outcome.plan_digest, now))
    return ()


def _plan_changed_message(where: str, begun: str, now: str) -> str:
    return (
        f"the plan has changed: expected {begun[:SHOWN_DIGEST_DIGITS]} ({where}), got {now[:SHOWN_DIGEST_DIGITS]}. "
        f"Replay from the first step, or accept the new plan with --plan-digest {now}."
    )
