"""Repair a mission: find the divergence, propose a change, try it on a copy, prove it, store the bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.browser.driver import one_driver
from eikon_engine.errors import UsageError
from eikon_engine.fix.missions.deed import other_doing
from eikon_engine.fix.missions.diagnosis import diagnose
from eikon_engine.fix.missions.hand_over import Destination
from eikon_engine.fix.missions.history import write_history
from eikon_engine.fix.missions.options import MOST_REPAIRS
from eikon_engine.fix.missions.proposers.in_order import propose
from eikon_engine.fix.missions.prove import prove, refusal_of_proof, repairs_by_certifying
from eikon_engine.fix.missions.refusal import LOST_TARGET, other_deed, refusal_of
from eikon_engine.fix.missions.report import RepairHistory, RepairReport
from eikon_engine.fix.missions.reset import reset_site, second_visit
from eikon_engine.fix.missions.skill_answers import other_answers
from eikon_engine.fix.missions.trial import try_on_a_copy
from eikon_engine.fix.missions.watched_replay import (
    SHOWN_OTHERWISE,
    options_of_recording,
    options_of_test,
    replay_to_the_first_loss,
)
from eikon_engine.fix.missions.way import Refused, Way
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.patch import render_patch

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.certify.certification import CertificationReport
    from eikon_engine.fix.missions.diagnosis import Diagnosis
    from eikon_engine.fix.missions.options import RepairOptions
    from eikon_engine.fix.missions.proposers.proposer import Proposed
    from eikon_engine.fix.missions.report import RepairStatus
    from eikon_engine.fix.missions.watched_replay import Tested
    from eikon_engine.trace.bundle import Bundle

LEAST_RUNS: Final = 2


async def repair_trace(path: Path, options: RepairOptions) -> RepairReport:
    """Repair the mission of a bundle, or report why not; the bundle is only changed with `in_place`.

    Raises:
        UsageError: options conflict, or the destination is not available.
        CompletionError: the model did not answer.
        ProposalMalformedError: the model's answer is not a valid patch of the lost target.
        EikonError: the trace cannot be read, the site cannot be replayed, or there is no browser.
    """
    _demand_sense(options)
    async with one_driver():
        return await _repair(path, options)


async def _repair(path: Path, options: RepairOptions) -> RepairReport:
    bundle = open_bundle(path)
    destination = Destination(root=bundle.root, output=options.output, in_place=options.in_place)
    destination.demand_free()
    if options.against == "live":
        reset_site(options)
    options.progress(f"replaying {bundle.trace.mission_id} against {options.against}")
    tested = await replay_to_the_first_loss(bundle, options_of_test(options))
    diagnosis = diagnose(bundle, tested)
    if diagnosis is None:
        return _without_divergence(bundle, tested, options)
    with destination.workshop() as workshop:
        first = diagnosis.steps[0].explanation
        way = Way(bundle=bundle, options=options, workshop=workshop, explanation=first)
        try:
            await _mend(way, diagnosis)
            return await _conclude(way, destination)
        except Refused as refused:
            visited = way.visited or options.against == "live"
            hint = second_visit(bundle.trace, options) if visited else ""
            return _report(way, "refused", refusal=f"{refused}{hint}")


def _demand_sense(options: RepairOptions) -> None:
    if options.runs < LEAST_RUNS:
        message = f"--runs: expected at least {LEAST_RUNS}, got {options.runs}."
        raise UsageError(message)
    if options.reset_command is not None and options.against == "recording":
        message = "--reset-cmd has no effect with --against recording, which visits no site. Drop one of them."
        raise UsageError(message)
    if options.base_urls and options.against != "live":
        message = f"--base-url has no effect with --against {options.against}, which visits no site. Drop one of them."
        raise UsageError(message)


async def _mend(way: Way, diagnosis: Diagnosis) -> None:
    """Propose and try changes until nothing diverges, or the rest is accepted."""
    left: Diagnosis | None = diagnosis
    while left is not None:
        why = refusal_of(left)
        if why is not None:
            raise Refused(why)
        _demand_same_deed(way, left)
        if way.mended is not None and way.options.accept_baseline and not _is_lost(left) and other_deed(left) is None:
            way.accepted = tuple(each.explanation.sentence for each in left.steps)
            break
        proposed = await _proposal(way, left)
        way.options.progress(f"{proposed.repair.proposer} proposes: {proposed.repair.reason}")
        way.proposals.append(proposed)
        way.mended = None
        left = await try_on_a_copy(way)
    await _demand_same_doing(way)
    _demand_same_answers(way)


def _demand_same_deed(way: Way, diagnosis: Diagnosis) -> None:
    """Check that a replaced element has the effect of the recorded one."""
    for each in diagnosis.steps:
        mended = each.step is not None and way.is_mended(each.step.id)
        undone = [found for found in each.found if found.layer not in SHOWN_OTHERWISE]
        if mended and undone and undone[0].code not in LOST_TARGET:
            found = each.explanation.sentence.rstrip(".")
            message = f"the proposed element does not have the effect of the recorded one: {found}"
            raise Refused(message)


async def _demand_same_doing(way: Way) -> None:
    """Check what page comparison cannot see: what the action does to the element itself, and that it has an effect.

    The unchanged recording is replayed once more to learn which databases it writes, and what varies between runs.
    """
    if way.compared is None or not way.elements:
        return
    again: Tested | None = None
    if not way.keeps_network:
        way.options.progress("replaying the old recording to compare browser storage")
        again = await replay_to_the_first_loss(way.bundle, options_of_recording(way.options))
    for each in way.elements:
        why = other_doing(way.bundle, way.compared, each, again)
        if why is not None:
            message = f"the element proposed for {each.step} is not proven to be the recorded one: {why}"
            raise Refused(message)


def _demand_same_answers(way: Way) -> None:
    """Check that skills return what they returned: the mission decides by their results."""
    differ = () if way.mended is None or not way.recorded_anew else other_answers(way.bundle, way.mended)
    if differ and not way.options.accept_baseline:
        message = f"{differ[0]}. If that is intended, use --accept-baseline"
        raise Refused(message)
    way.accepted = (*way.accepted, *differ)


async def _proposal(way: Way, diagnosis: Diagnosis) -> Proposed:
    """Return the next change to try; no step is repaired twice."""
    proposed = await propose(diagnosis, way.options) if len(way.proposals) < MOST_REPAIRS else None
    if proposed is not None and proposed.repair not in way.repairs and not way.is_mended(proposed.step):
        return proposed
    rest = "the mission still diverges with the proposed changes" if way.proposals else "no repair found"
    found = diagnosis.steps[0] if way.proposals else diagnosis.last
    message = f"{rest}: {found.explanation.sentence.rstrip('.')}{_hint(way, diagnosis)}"
    raise Refused(message)


def _hint(way: Way, diagnosis: Diagnosis) -> str:
    if _is_lost(diagnosis):
        return ""
    deed = other_deed(diagnosis)
    if deed is not None:
        return f". The mission would have a different effect, which --accept-baseline does not cover: {deed}"
    if way.options.accept_baseline:
        return ""
    return ". If that is intended, use --accept-baseline"


def _is_lost(diagnosis: Diagnosis) -> bool:
    return any(found.code in LOST_TARGET for each in diagnosis.steps for found in each.found)


async def _conclude(way: Way, destination: Destination) -> RepairReport:
    """Prove the repaired bundle and move it to its destination."""
    assert way.mended is not None  # noqa: S101 - set when nothing diverges any more
    trace = way.bundle.trace
    history = RepairHistory(
        repaired_at=way.options.now(),
        repaired_from=trace.id,
        cause=way.explanation.sentence,
        repairs=way.repairs,
        accepted=way.accepted,
        recorded_anew=way.recorded_anew,
        runs=way.options.runs,
    )
    write_history(way.mended, history, trace.warnings)
    way.options.progress(f"proving the repair by {way.options.runs} sealed replays")
    proof = await prove(way.mended, way.options)
    if proof.certificate is None:
        return _report(way, "refused", refusal=refusal_of_proof(proof), proof=proof)
    written, aside = destination.take(way.mended)
    return _report(
        way,
        "proposed" if written is None else "repaired",
        proof=proof,
        written="" if written is None else str(written),
        kept_aside="" if aside is None else str(aside),
    )


def _report(way: Way, status: RepairStatus, proof: CertificationReport | None = None, **said: str) -> RepairReport:
    trace = way.bundle.trace
    return RepairReport(
        status=status,
        mission_id=trace.mission_id,
        trace_path=str(way.bundle.root),
        against=str(way.options.against),
        explanation=way.explanation,
        repairs=(*way.repairs, *(() if proof is None else repairs_by_certifying(proof))),
        accepted=way.accepted,
        diff=render_patch(trace, way.comparing_patch),
        proof=proof,
        **said,
    )


def _without_divergence(bundle: Bundle, tested: Tested, options: RepairOptions) -> RepairReport:
    """Report that there is nothing to repair, and what could not be compared."""
    verdict = tested.outcome.verdict
    return RepairReport(
        status="faithful" if verdict == "faithful" else "unverifiable",
        mission_id=bundle.trace.mission_id,
        trace_path=str(bundle.root),
        against=str(options.against),
        refusal="" if verdict == "faithful" else "; ".join(tested.outcome.reasons),
    )
