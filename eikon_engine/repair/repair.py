"""Repair a mission: find the divergence, propose a change, try it on a copy, prove it, store the bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.browser.launch import shared_driver
from eikon_engine.errors import LOST_TARGET_CODES, UsageError
from eikon_engine.repair.destination import Destination
from eikon_engine.repair.diagnosis import diagnose
from eikon_engine.repair.diagnostic_replay import (
    APPEARANCE_LAYERS,
    diagnostic_options,
    recording_options,
    replay_until_divergence,
)
from eikon_engine.repair.options import MAX_REPAIRS
from eikon_engine.repair.proof import certification_repairs, proof_refusal, prove_repair
from eikon_engine.repair.proposers.accept_baseline import accept_baseline
from eikon_engine.repair.proposers.ask_model import ask_model
from eikon_engine.repair.proposers.did_you_mean import did_you_mean
from eikon_engine.repair.proposers.volatile_rule import volatile_rule
from eikon_engine.repair.refusal import changed_write_request, refusal_reason
from eikon_engine.repair.report import RepairHistory, RepairReport, write_history
from eikon_engine.repair.same_effect import changed_skill_results, effect_difference
from eikon_engine.repair.site_reset import earlier_visit_hint, reset_site
from eikon_engine.repair.trial import RepairRefused, RepairState, try_repairs
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.patch import render_patch

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.outcome.certification import CertificationReport
    from eikon_engine.repair.diagnosis import Diagnosis
    from eikon_engine.repair.diagnostic_replay import DiagnosticReplay
    from eikon_engine.repair.options import RepairOptions
    from eikon_engine.repair.proposers.proposer import ProposedRepair, Proposer
    from eikon_engine.repair.report import RepairStatus
    from eikon_engine.trace.bundle import Bundle

PROPOSERS: Final[tuple[Proposer, ...]] = (did_you_mean, volatile_rule, accept_baseline, ask_model)


async def first_proposal(diagnosis: Diagnosis, options: RepairOptions) -> ProposedRepair | None:
    """Return the first proposal; None if there is none."""
    for proposer in PROPOSERS:
        proposed = await proposer(diagnosis, options)
        if proposed is not None:
            return proposed
    return None


MIN_RUNS: Final = 2


async def repair_trace(path: Path, options: RepairOptions) -> RepairReport:
    """Repair the mission of a bundle, or report why not; the bundle is only changed with `in_place`.

    Raises:
        UsageError: options conflict, or the destination is not available.
        CompletionError: the model did not answer.
        FixError: the model's answer is not a valid patch of the lost target.
        EikonError: the trace cannot be read, the site cannot be replayed, or there is no browser.
    """
    _require_compatible_options(options)
    async with shared_driver():
        return await _repair(path, options)


async def _repair(path: Path, options: RepairOptions) -> RepairReport:
    bundle = open_bundle(path)
    destination = Destination(root=bundle.root, output=options.output, in_place=options.in_place)
    destination.require_available()
    if options.against == "live":
        reset_site(options)
    options.progress(f"replaying {bundle.trace.mission_id} against {options.against}")
    tested = await replay_until_divergence(bundle, diagnostic_options(options))
    diagnosis = diagnose(bundle, tested)
    if diagnosis is None:
        return _report_no_divergence(bundle, tested, options)
    with destination.work_folder() as work_folder:
        first = diagnosis.steps[0].explanation
        repair_state = RepairState(bundle=bundle, options=options, work_folder=work_folder, explanation=first)
        try:
            await _find_repairs(repair_state, diagnosis)
            return await _prove_and_store(repair_state, destination)
        except RepairRefused as refused:
            visited = repair_state.has_visited_site or options.against == "live"
            hint = earlier_visit_hint(bundle.trace, options) if visited else ""
            return _report(repair_state, "refused", refusal=f"{refused}{hint}")


def _require_compatible_options(options: RepairOptions) -> None:
    if options.runs < MIN_RUNS:
        message = f"--runs: expected at least {MIN_RUNS}, got {options.runs}."
        raise UsageError(message)
    if options.reset_command is not None and options.against == "recording":
        message = "--reset-cmd has no effect with --against recording, which visits no site. Drop one of them."
        raise UsageError(message)
    if options.base_urls and options.against != "live":
        message = f"--base-url has no effect with --against {options.against}, which visits no site. Drop one of them."
        raise UsageError(message)


async def _find_repairs(state: RepairState, diagnosis: Diagnosis) -> None:
    """Propose and try changes until nothing diverges, or the rest is accepted."""
    left: Diagnosis | None = diagnosis
    while left is not None:
        why = refusal_reason(left)
        if why is not None:
            raise RepairRefused(why)
        _require_same_requests(state, left)
        if (
            state.repaired is not None
            and state.options.accept_baseline
            and not _has_lost_target(left)
            and changed_write_request(left) is None
        ):
            state.accepted = tuple(each.explanation.sentence for each in left.steps)
            break
        proposed = await _next_proposal(state, left)
        state.options.progress(f"{proposed.repair.proposer} proposes: {proposed.repair.reason}")
        state.proposals.append(proposed)
        state.repaired = None
        left = await try_repairs(state)
    await _require_same_effect(state)
    _require_same_skill_results(state)


def _require_same_requests(state: RepairState, diagnosis: Diagnosis) -> None:
    """Check that a replaced element has the effect of the recorded one."""
    for each in diagnosis.steps:
        is_repaired = each.step is not None and state.has_repair_for(each.step.id)
        not_repaired = [found for found in each.findings if found.layer not in APPEARANCE_LAYERS]
        if is_repaired and not_repaired and not_repaired[0].code not in LOST_TARGET_CODES:
            found = each.explanation.sentence.rstrip(".")
            message = f"the proposed element does not have the effect of the recorded one: {found}"
            raise RepairRefused(message)


async def _require_same_effect(state: RepairState) -> None:
    """Check what page comparison cannot see: what the action does to the element itself, and that it has an effect.

    The unchanged recording is replayed once more to learn which databases it writes, and what varies between runs.
    """
    if state.comparison is None or not state.replacements:
        return
    again: DiagnosticReplay | None = None
    if not state.uses_recorded_network:
        state.options.progress("replaying the old recording to compare browser storage")
        again = await replay_until_divergence(state.bundle, recording_options(state.options))
    for each in state.replacements:
        why = effect_difference(state.bundle, state.comparison, each, again)
        if why is not None:
            message = f"the element proposed for {each.step} is not proven to be the recorded one: {why}"
            raise RepairRefused(message)


def _require_same_skill_results(state: RepairState) -> None:
    """Check that skills return what they returned: the mission decides by their results."""
    differ = (
        () if state.repaired is None or not state.is_rerecorded else changed_skill_results(state.bundle, state.repaired)
    )
    if differ and not state.options.accept_baseline:
        message = f"{differ[0]}. If that is intended, use --accept-baseline"
        raise RepairRefused(message)
    state.accepted = (*state.accepted, *differ)


async def _next_proposal(state: RepairState, diagnosis: Diagnosis) -> ProposedRepair:
    """Return the next change to try; no step is repaired twice."""
    proposed = await first_proposal(diagnosis, state.options) if len(state.proposals) < MAX_REPAIRS else None
    if proposed is not None and proposed.repair not in state.repairs and not state.has_repair_for(proposed.step):
        return proposed
    rest = "the mission still diverges with the proposed changes" if state.proposals else "no repair found"
    found = diagnosis.steps[0] if state.proposals else diagnosis.last
    message = f"{rest}: {found.explanation.sentence.rstrip('.')}{_hint(state, diagnosis)}"
    raise RepairRefused(message)


def _hint(state: RepairState, diagnosis: Diagnosis) -> str:
    if _has_lost_target(diagnosis):
        return ""
    deed = changed_write_request(diagnosis)
    if deed is not None:
        return f". The mission would have a different effect, which --accept-baseline does not cover: {deed}"
    if state.options.accept_baseline:
        return ""
    return ". If that is intended, use --accept-baseline"


def _has_lost_target(diagnosis: Diagnosis) -> bool:
    return any(found.code in LOST_TARGET_CODES for each in diagnosis.steps for found in each.findings)


async def _prove_and_store(state: RepairState, destination: Destination) -> RepairReport:
    """Prove the repaired bundle and move it to its destination."""
    assert state.repaired is not None  # noqa: S101 - set when nothing diverges any more
    trace = state.bundle.trace
    history = RepairHistory(
        repaired_at=state.options.now(),
        repaired_from=trace.id,
        cause=state.explanation.sentence,
        repairs=state.repairs,
        accepted=state.accepted,
        is_rerecorded=state.is_rerecorded,
        runs=state.options.runs,
    )
    write_history(state.repaired, history, trace.warnings)
    state.options.progress(f"proving the repair by {state.options.runs} sealed replays")
    proof = await prove_repair(state.repaired, state.options)
    if proof.certificate is None:
        return _report(state, "refused", refusal=proof_refusal(proof), proof=proof)
    written, backup = destination.move(state.repaired)
    return _report(
        state,
        "proposed" if written is None else "repaired",
        proof=proof,
        written="" if written is None else str(written),
        backup="" if backup is None else str(backup),
    )


def _report(
    state: RepairState, status: RepairStatus, proof: CertificationReport | None = None, **fields: str
) -> RepairReport:
    trace = state.bundle.trace
    return RepairReport(
        status=status,
        mission_id=trace.mission_id,
        trace_path=str(state.bundle.root),
        against=str(state.options.against),
        explanation=state.explanation,
        repairs=(*state.repairs, *(() if proof is None else certification_repairs(proof))),
        accepted=state.accepted,
        diff=render_patch(trace, state.comparison_patch),
        proof=proof,
        **fields,
    )


def _report_no_divergence(bundle: Bundle, tested: DiagnosticReplay, options: RepairOptions) -> RepairReport:
    """Report that there is nothing to repair, and what could not be compared."""
    verdict = tested.outcome.verdict
    return RepairReport(
        status="faithful" if verdict == "faithful" else "unverifiable",
        mission_id=bundle.trace.mission_id,
        trace_path=str(bundle.root),
        against=str(options.against),
        refusal="" if verdict == "faithful" else "; ".join(tested.outcome.reasons),
    )
