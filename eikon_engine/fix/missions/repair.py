"""Mend a mission: see where it diverges, propose, try on a copy, prove, hand over."""

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
    """Mend the mission of a bundle, or say why it is not mended; the bundle is not touched but with `in_place`.

    Raises:
        UsageError: options do not go together, or the mended bundle cannot go where it is wanted.
        CompletionError: the model that was asked gave no answer.
        ProposalMalformedError: its answer is no patch of the lost target.
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
        message = f"wanted at least {LEAST_RUNS} runs, which can agree or differ, found {options.runs}"
        raise UsageError(message)
    if options.reset_command is not None and options.against == "recording":
        message = "--reset-cmd brings a site back, and --against recording visits none; drop one of the two"
        raise UsageError(message)
    if options.base_urls and options.against != "live":
        message = f"--base-url names a site of today, and --against {options.against} visits none; drop one of the two"
        raise UsageError(message)


async def _mend(way: Way, diagnosis: Diagnosis) -> None:
    """Propose and try until nothing diverges any more, or the rest is accepted."""
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
    """Make sure that a mended step does what it did: another element that does not is another one."""
    for each in diagnosis.steps:
        mended = each.step is not None and way.is_mended(each.step.id)
        undone = [found for found in each.found if found.layer not in SHOWN_OTHERWISE]
        if mended and undone and undone[0].code not in LOST_TARGET:
            found = each.explanation.sentence.rstrip(".")
            message = f"the element that was proposed does not do what the recorded one did: {found}"
            raise Refused(message)


async def _demand_same_doing(way: Way) -> None:
    """Make sure of what no comparison of whole pages sees: what a mended element makes of itself, and that it does.

    The recording is replayed once more as it was: that shows what it kept in databases, and what changes with each run.
    """
    if way.compared is None or not way.elements:
        return
    again: Tested | None = None
    if not way.keeps_network:
        way.options.progress("replaying the old recording for what it had the browser keep")
        again = await replay_to_the_first_loss(way.bundle, options_of_recording(way.options))
    for each in way.elements:
        why = other_doing(way.bundle, way.compared, each, again)
        if why is not None:
            message = f"the element that was proposed for {each.step} is not shown to be the recorded one: {why}"
            raise Refused(message)


def _demand_same_answers(way: Way) -> None:
    """Make sure that the skills of the mission return what they returned: a mission decides by what they read."""
    differ = () if way.mended is None or not way.recorded_anew else other_answers(way.bundle, way.mended)
    if differ and not way.options.accept_baseline:
        message = f"{differ[0]}; if that is as it should be, --accept-baseline takes it"
        raise Refused(message)
    way.accepted = (*way.accepted, *differ)


async def _proposal(way: Way, diagnosis: Diagnosis) -> Proposed:
    """Return the next change to try; nothing is mended twice."""
    proposed = await propose(diagnosis, way.options) if len(way.proposals) < MOST_REPAIRS else None
    if proposed is not None and proposed.repair not in way.repairs and not way.is_mended(proposed.step):
        return proposed
    rest = "with what was proposed the mission still diverges" if way.proposals else "nobody knows a fix"
    found = diagnosis.steps[0] if way.proposals else diagnosis.last
    message = f"{rest}: {found.explanation.sentence.rstrip('.')}{_hint(way, diagnosis)}"
    raise Refused(message)


def _hint(way: Way, diagnosis: Diagnosis) -> str:
    if _is_lost(diagnosis):
        return ""
    deed = other_deed(diagnosis)
    if deed is not None:
        return f"; the mission would do something else, which nobody can accept for it: {deed}"
    if way.options.accept_baseline:
        return ""
    return "; if that is as it should be, --accept-baseline takes what the site shows"


def _is_lost(diagnosis: Diagnosis) -> bool:
    return any(found.code in LOST_TARGET for each in diagnosis.steps for found in each.found)


async def _conclude(way: Way, destination: Destination) -> RepairReport:
    """Prove the mended bundle, and put it where it is wanted."""
    assert way.mended is not None  # noqa: S101 - nothing diverges from it
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
    way.options.progress(f"proving it by {way.options.runs} sealed replays")
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
    """Say that there is nothing to mend; what could not be compared is told."""
    verdict = tested.outcome.verdict
    return RepairReport(
        status="faithful" if verdict == "faithful" else "unverifiable",
        mission_id=bundle.trace.mission_id,
        trace_path=str(bundle.root),
        against=str(options.against),
        refusal="" if verdict == "faithful" else "; ".join(tested.outcome.reasons),
    )
