"""Find the reasons why a bundle is not certified."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.clock_gap import CLOCK_GAP
from eikon_engine.divergence.detectors.read import READ_CHANGED
from eikon_engine.divergence.response_diff import diff_text
from eikon_engine.dom.inline_scripts import SCRIPT_STATE
from eikon_engine.files.text import shorten_pair
from eikon_engine.outcome.acceptance import ERROR_CODES
from eikon_engine.outcome.certification import CertificationFinding
from eikon_engine.replay.collect import escape_reasons, unsent_reasons

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eikon_engine.certify.compare_runs import ActionComparison
    from eikon_engine.certify.runs import ReplayedRun
    from eikon_engine.outcome.certification import CertificationStatus
    from eikon_engine.outcome.outcomes import StepOutcome
    from eikon_engine.trace.execution import ExecutionTrace

WHOLE_RUN: Final = "the whole run"
"""Step label of a finding that concerns no single step."""


def collect_findings(
    comparisons: Sequence[ActionComparison], runs: Sequence[ReplayedRun]
) -> tuple[CertificationFinding, ...]:
    """Return the differences among runs and from the recording, in mission order."""
    scripts = {digest: text for run in runs for digest, text in run.inline_scripts.items()}
    unstable = tuple(finding for each in comparisons for finding in _unstable_findings(each, scripts))
    found = (*unstable, *_step_findings(runs, {(each.subgoal, each.sequence, each.code) for each in unstable}))
    found = (*found, *_run_findings(runs))
    order = {subgoal.id: subgoal.number for run in runs for subgoal in run.outcome.subgoals}
    return tuple(sorted(found, key=lambda each: (order.get(each.subgoal, 0), each.sequence)))


def find_lasting_differences(comparisons: Sequence[ActionComparison]) -> frozenset[tuple[str, int, str]]:
    """Return the differences of all runs from the recording that no mask hides and no number explains.

    Each with its subgoal, sequence and code: failed actions, other values read, and errors of pages and responses.
    """
    return frozenset(
        (each.place.subgoal, each.place.sequence, found.code)
        for each in comparisons
        for found in each.diverged
        if (each.is_failure(found) or found.code in ERROR_CODES)
        and all(found.code in {other.code for other in outcome.divergences} for outcome in each.outcomes)
    )


def find_lost_data(trace: ExecutionTrace) -> tuple[CertificationFinding, ...]:
    """Return what the recording could not keep."""
    lost = () if trace.network is None else trace.network.incomplete
    return tuple(
        CertificationFinding(
            kind="unverifiable",
            subgoal="",
            sequence=0,
            step=WHOLE_RUN,
            runs=0,
            message=f"the recording is incomplete: {each.what} was lost: {each.why}",
        )
        for each in lost
    )


def status_for(findings: Sequence[CertificationFinding]) -> CertificationStatus:
    """Return the status for these findings, without proposals."""
    kinds = {finding.kind for finding in findings}
    if "unstable" in kinds:
        return "unstable"
    if "diverged" in kinds:
        return "diverged"
    return "unverifiable" if kinds else "certified"


def _unstable_findings(action: ActionComparison, scripts: Mapping[str, str]) -> Iterator[CertificationFinding]:
    for each in action.unstable:
        sides = ("the recording has", "a run") if each.code == READ_CHANGED else ("one run showed", "another")
        values = f"{sides[0]} {each.expected!r}, {sides[1]} {each.observed!r}"
        values = (_script_difference(action, scripts) if each.code == "dom-changed" else "") or values
        yield CertificationFinding(
            kind="unstable",
            subgoal=action.place.subgoal,
            sequence=action.place.sequence,
            step=action.first.label,
            layer=each.layer,
            code=each.code,
            runs=action.differing_runs,
            message=f"{action.differing_runs} of {len(action.outcomes)} runs differ from the first one; {values}"
            f"{_clock_reason(action, each.code)}",
        )


def _script_difference(action: ActionComparison, scripts: Mapping[str, str]) -> str:
    """Describe the first difference of the pages among the runs if it is one of a script whose texts are known."""
    change = next((each.change for each in action.dom_changes), None)
    if change is None or (change.kind, change.name) != ("state", SCRIPT_STATE):
        return ""
    one, other = (scripts.get(digest) for digest in change.whole)
    if one is None or other is None:
        return ""
    before, now = next((values for _, *values in diff_text(one, other)), (one, other))
    before, now = shorten_pair(before, now, _MAX_SCRIPT_PART)
    return (
        f"one run had {before!r} in the script at {change.path}, another {now!r}. No rule was found for "
        "this part of it: let the site send the value outside the script, such as in a data attribute, or mask the "
        "whole script (kind value, name script)"
    )


_MAX_SCRIPT_PART: Final = 120
"""Maximum number of characters shown of each side of a script."""


def _clock_reason(action: ActionComparison, code: str) -> str:
    """Return what the replays found out about clocks of page and server, as the end of a message."""
    found = (each for outcome in action.outcomes for each in outcome.divergences if each.code == code)
    return next((f". {reason}" for each in found for reason in each.because if reason.startswith(CLOCK_GAP)), "")


def _step_findings(runs: Sequence[ReplayedRun], known: set[tuple[str, int, str]]) -> Iterator[CertificationFinding]:
    """Yield the findings of the steps, each once, with the number of affected runs."""
    found: dict[tuple[str, int, str], CertificationFinding] = {}
    for run in runs:
        for subgoal in run.outcome.subgoals:
            for step in subgoal.steps:
                for finding in _findings_of_step(subgoal.id, step):
                    key = (finding.subgoal, finding.sequence, finding.code or finding.message)
                    runs_before = found[key].runs if key in found else 0
                    found[key] = finding.model_copy(update={"runs": runs_before + 1})
    for key, finding in found.items():
        if key in known:
            continue
        every = finding.runs == len(runs)
        yield finding if every or finding.kind == "unverifiable" else finding.model_copy(update={"kind": "unstable"})


def _run_findings(runs: Sequence[ReplayedRun]) -> Iterator[CertificationFinding]:
    """Yield findings about whole runs: escaped requests and runs that ended early."""
    reasons = Counter(reason for run in runs for reason in dict.fromkeys(_run_reasons(run)))
    for reason, times in reasons.items():
        yield CertificationFinding(
            kind="unverifiable", subgoal="", sequence=0, step=WHOLE_RUN, runs=times, message=reason
        )


def _run_reasons(run: ReplayedRun) -> tuple[str, ...]:
    outcome = run.outcome
    escaped = tuple(
        f"{' '.join(filter(None, (each.method, each.target)))} bypassed the recorded network and was blocked; "
        "its recorded response is unknown"
        for each in outcome.network.page_violations
    )
    steps = [step for subgoal in outcome.subgoals for step in subgoal.steps]
    if outcome.verdict == "faithful" or any(step.verdict != "faithful" for step in steps):
        return escaped
    # the same escapes, with counts that vary among runs, and what has findings of its own
    known = (*escape_reasons(outcome.network, outcome.network_mode), *unsent_reasons(outcome.network))
    reasons = (*escaped, *(reason for reason in outcome.reasons if reason not in known))
    stated = reasons or outcome.network.unsent
    return reasons if stated else (f"the run is {outcome.verdict} for no stated reason",)


def _findings_of_step(subgoal: str, step: StepOutcome) -> list[CertificationFinding]:
    label = step.label if step.kind == "action" else f"skill {step.skill}"
    made: dict[str, CertificationFinding] = {}
    for each in step.divergences:
        message = f"{each.message} Expected {each.expected!r}, observed {each.observed!r}"
        message += "".join(f". {reason}" for reason in each.because if reason.startswith(CLOCK_GAP))
        made.setdefault(
            each.code,
            CertificationFinding(
                kind="diverged",
                subgoal=subgoal,
                sequence=step.sequence,
                step=label,
                layer=each.layer,
                code=each.code,
                runs=1,
                message=message,
            ),
        )
    for note in step.unverifiable:
        made[note] = CertificationFinding(
            kind="unverifiable", subgoal=subgoal, sequence=step.sequence, step=label, runs=1, message=note
        )
    return list(made.values())
