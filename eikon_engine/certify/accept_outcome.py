"""Accept what a reviewed live replay showed as the baseline of further live replays."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from eikon_engine.divergence.dependents import is_lost_target
from eikon_engine.divergence.detectors.read import READ_CHANGED
from eikon_engine.errors import TraceError, UsageError
from eikon_engine.files.blobs import BlobStore
from eikon_engine.files.limits import read_document
from eikon_engine.files.paths import resolve_inside
from eikon_engine.files.text import shorten_pair
from eikon_engine.gates.event_sources import read_outcome
from eikon_engine.outcome.acceptance import ERROR_CODES, MISSION_LAYERS, AcceptableStep, AcceptanceReport
from eikon_engine.outcome.outcomes import ActionOutcome
from eikon_engine.replay.artifacts import DOM_DIFFERENCE, OBSERVATION, OUTCOME_FILE
from eikon_engine.replay.plan import mission_digest, order_steps, substitute_variables
from eikon_engine.trace.accepted import (
    Acceptance,
    AcceptedBaselines,
    AcceptedStep,
    read_accepted,
    with_accepted,
    write_accepted,
)
from eikon_engine.trace.bundle import DOM_FOLDER, FILES_FOLDER, load_page
from eikon_engine.trace.observation import Observation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from eikon_engine.outcome.divergence import Cause, Divergence
    from eikon_engine.outcome.outcomes import ReplayOutcome, StepOutcome
    from eikon_engine.trace.bundle import Bundle

ACCEPTED_CAUSES: Final[frozenset[Cause]] = frozenset({"site-changed", "test-data"})
"""Causes of changes that a person may have wanted."""
DOCUMENT_CODES: Final = frozenset({"document-changed", "document-missing", "document-unexpected", "redirects-changed"})
"""Differences that may have a cause of their own, such as an expired session, after the first divergence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a person decided on a reviewed replay."""

    by: str
    reason: str
    steps: frozenset[int] = frozenset()
    """Numbers of the steps to accept, from 1; empty for all that diverged."""


def accept_outcome(
    bundle: Bundle, outcome: Path, decision: Decision, now: datetime, *, dry_run: bool
) -> AcceptanceReport:
    """Make what the steps of a replay showed the baseline of live replays, unless one of them cannot be accepted.

    `outcome` is the artifacts folder, or its outcome.json.

    Raises:
        UsageError: the outcome is not that of a live replay of this bundle; a chosen step did not diverge.
        TraceError: the outcome, or what it refers to, cannot be read.
        OutputError: the bundle cannot be written.
    """
    folder = outcome if outcome.is_dir() else outcome.parent
    run = read_outcome(folder / OUTCOME_FILE if outcome.is_dir() else outcome)
    accepted = read_accepted(bundle.root)
    _require_live_replay(bundle, run, accepted, folder)
    diverged = dict(_diverged_steps(run))
    first = min(diverged)
    unknown = decision.steps - diverged.keys()
    if unknown:
        message = (
            f"--only: step {min(unknown)} did not diverge in {folder}; the replay diverged at {_numbers(diverged)}"
        )
        raise UsageError(message)
    if decision.steps and first not in decision.steps:
        message = f"--only: must include step {first}, the first that diverged: only its cause is known"
        raise UsageError(message)
    chosen = {number: step for number, step in diverged.items() if not decision.steps or number in decision.steps}
    steps = tuple(_acceptable(number, step, is_first=number == first) for number, step in chosen.items())
    refusals = (*_run_refusals(run), *(f"step {each.step}: {each.refusal}" for each in steps if each.refusal))
    report = AcceptanceReport(
        status="refused" if refusals else "acceptable",
        mission_id=run.mission_id,
        trace_path=str(bundle.root),
        outcome_path=str(folder),
        steps=steps,
        refusals=refusals,
        remaining=tuple(sorted(diverged.keys() - chosen.keys())),
        warnings=_needed_elsewhere(run),
    )
    if refusals or dry_run:
        return report
    new = tuple(_accepted_step(bundle, folder, step) for step in chosen.values() if isinstance(step, ActionOutcome))
    acceptance = Acceptance(accepted_at=now, by=decision.by, reason=decision.reason, run_at=run.started_at, steps=new)
    changed = AcceptedBaselines(history=(*accepted.history, acceptance))
    with_accepted(bundle.trace, changed)  # an id that the trace does not have is found before it is written
    write_accepted(bundle.root, changed)
    return report.model_copy(update={"status": "accepted"})


def _require_live_replay(bundle: Bundle, run: ReplayOutcome, accepted: AcceptedBaselines, folder: Path) -> None:
    """Check that the outcome is that of a live replay of the bundle as it is now."""
    if run.network_mode != "live":
        message = f"{folder}: expected a live replay, got a {run.network_mode} one. Replay with --network live."
        raise UsageError(message)
    then = replace(bundle, trace=with_accepted(bundle.trace, accepted.until(run.started_at)))
    trace = substitute_variables(then, {}).trace
    if run.plan_digest != mission_digest(trace, order_steps(trace)):
        message = f"{folder}: expected a replay of {bundle.root} as it is now, got another one. Replay it again."
        raise UsageError(message)
    later = {step.action for each in accepted.history if each.accepted_at > run.started_at for step in each.steps}
    if later & {step.id for _, step in _diverged_steps(run)}:
        message = f"{folder}: a later replay of these steps was accepted already. Replay it again."
        raise UsageError(message)
    if not any(True for _ in _diverged_steps(run)):
        message = f"{folder}: nothing diverged, so there is nothing to accept"
        raise UsageError(message)


def _diverged_steps(run: ReplayOutcome) -> Iterator[tuple[int, StepOutcome]]:
    """Yield the steps that diverged, with their numbers in the mission."""
    before = 0
    for subgoal in run.subgoals:
        for number, step in enumerate(subgoal.steps, start=before + 1):
            if step.divergences:
                yield number, step
        before += subgoal.steps_recorded


def _run_refusals(run: ReplayOutcome) -> Iterator[str]:
    """Yield why nothing of a replay can be accepted."""
    found = run.explanation
    if found is None or found.cause not in ACCEPTED_CAUSES:
        cause = "unknown" if found is None else found.cause
        why = "" if found is None else f": {found.sentence}"
        yield f"the cause of the first divergence is {cause}, which no baseline should contain{why}"


def _acceptable(number: int, step: StepOutcome, *, is_first: bool) -> AcceptableStep:
    return AcceptableStep(
        step=number,
        action=step.id,
        label=step.label if isinstance(step, ActionOutcome) else f"skill {step.skill}",
        differences=_differences(step),
        refusal=_refusal(step, is_first=is_first),
    )


def _differences(step: StepOutcome) -> tuple[str, ...]:
    """Return all differences of a step in a sentence each, also those that its policy does not count."""
    findings = step.findings if isinstance(step, ActionOutcome) else ()
    return tuple(_describe_difference(step, each) for each in (*step.divergences, *findings))


def _describe_difference(step: StepOutcome, found: Divergence) -> str:
    """Describe a difference with both its sides; of a page that differs in several places, the first one."""
    before, now = shorten_pair(found.expected, found.observed, _MAX_SHOWN_LENGTH)
    sides = f"{found.code}: {found.message} Recorded {before!r} → seen {now!r}"
    more = next((each.path for each in step.artifacts if each.name == DOM_DIFFERENCE), "")
    return f"{sides}; all of it: {more}" if more and _SEVERAL_PLACES.search(found.message) else sides


_MAX_SHOWN_LENGTH: Final = 200
"""Maximum number of characters of each side of a difference."""
_SEVERAL_PLACES: Final = re.compile(r" and \d+ more\.$")
"""End of the message of a page that differs in several places."""


def _needed_elsewhere(run: ReplayOutcome) -> tuple[str, ...]:
    """Describe the later steps whose targets the first divergence changed: no baseline makes them find those."""
    following = () if run.explanation is None else run.explanation.consequences
    return tuple(
        f"step {each.sequence} of {each.subgoal_id}, {each.label}, acts on what changed here: {each.why}. "
        "Accepting changes no target: use `eikon fix trace` instead"
        for each in following
        if is_lost_target(each)
    )


def _refusal(step: StepOutcome, *, is_first: bool) -> str:
    """Return why a step cannot be accepted; empty if it can."""
    if not isinstance(step, ActionOutcome):
        return "the output of a skill differs. Accept it with `eikon skills rerun --accept`."
    layers = {each.layer for each in step.divergences if each.code != READ_CHANGED}
    if layers & MISSION_LAYERS:
        return "the mission cannot go on as recorded. Repair it with `eikon fix trace`, or record it again."
    codes = {each.code for each in (*step.divergences, *step.findings)}
    if errors := sorted(ERROR_CODES & codes):
        return f"the site returned an error there ({', '.join(errors)})"
    if not is_first and (documents := sorted(DOCUMENT_CODES & codes)):
        return (
            f"its cause is not known ({', '.join(documents)}). Accept the earlier steps with --only, and replay again."
        )
    if not any(each.name == OBSERVATION for each in step.artifacts):
        return "the replay stored no observation of it. Replay again without --ignore."
    return ""


def _accepted_step(bundle: Bundle, folder: Path, step: ActionOutcome) -> AcceptedStep:
    """Copy what a step showed into the bundle, and return it as a baseline."""
    relative = next(each.path for each in step.artifacts if each.name == OBSERVATION)
    path = resolve_inside(folder, relative, "artifacts")
    try:
        observation = Observation.model_validate_json(read_document(path, root=path.parent))
    except (OSError, ValidationError) as error:
        message = f"{path}: expected the observation of a step, got {type(error).__name__}. Replay again."
        raise TraceError(message) from error
    for page in observation.pages:
        if page.snapshot is not None:
            store = _store(folder, DOM_FOLDER)
            load_page(store, page)
            _store(bundle.root, DOM_FOLDER).put(store.get(page.snapshot))
    value = observation.value
    is_read = any(each.code == READ_CHANGED for each in step.divergences)
    if is_read and value is not None and value.long is not None:
        _store(bundle.root, FILES_FOLDER).put(_store(folder, FILES_FOLDER).get(value.long))
    return AcceptedStep(
        action=step.id,
        observation=observation,
        value=value if is_read else None,
        differences=_differences(step),
    )


def _store(root: Path, name: str) -> BlobStore:
    return BlobStore(resolve_inside(root, name, name))


def _numbers(steps: dict[int, StepOutcome]) -> str:
    return ", ".join(f"step {number}" for number in steps)
