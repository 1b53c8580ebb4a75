"""Render `replay_summary.txt`, the first report to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.detectors.lifecycle import PAGE_LATE
from eikon_engine.files.text import pluralize
from eikon_engine.network.keys import readable_key
from eikon_engine.outcome.divergence import DIVERGENCE_FLAG
from eikon_engine.outcome.outcomes import describe_network
from eikon_engine.outcome.terminal import safe_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from eikon_engine.outcome.divergence import Divergence, Explanation
    from eikon_engine.outcome.outcomes import (
        NetworkMode,
        NetworkOutcome,
        ReplayOutcome,
        ResponseChange,
        ResumePoint,
        StepOutcome,
        SubgoalOutcome,
    )

_LABEL_WIDTH: Final = 12
_CERTIFIED: Final = {"certified": "yes", "stale": "no longer", "none": "no"}
_RESUMED: Final = {"sealed": "from the recording", "live": "every request sent to the site"}


def render_summary(outcome: ReplayOutcome, folder: Path) -> str:
    """Render the summary: head, verdict, environment, divergence, subgoals, network, artifacts.

    `folder` has the artifacts.
    """
    findings = tuple(each for each in _findings(outcome) if each.code != PAGE_LATE)
    sections: tuple[tuple[str, Iterator[str]], ...] = (
        ("Gates", _gates(outcome)),
        ("Environment", iter(outcome.environment_differences)),
        ("Replay divergence detected", _divergence(outcome, folder)),
        ("Also changed", _also_changed(findings)),
        ("Late pages", _late_pages(outcome)),
        ("Extractions", _extractions(outcome)),
        ("Steps", _steps(outcome)),
        ("Lost coverage", _lost_coverage(outcome, len(findings))),
        ("Network", _network(outcome.network, outcome.network_mode)),
        ("Notes", (f"warning: {warning}" for warning in outcome.warnings)),
        ("Artifacts", _artifacts(outcome)),
    )
    lines = ["Eikon replay summary", "====================", "", *_head(outcome)]
    for title, section in sections:
        if found := list(section):
            lines += ["", title, "-" * len(title), "", *found]
    return safe_lines(lines)


def _line(label: str, value: object) -> str:
    return f"{label:<{_LABEL_WIDTH}} {value}"


def _head(outcome: ReplayOutcome) -> Iterator[str]:
    counts = outcome.counts
    yield _line("Mission", outcome.mission_id)
    yield _line("Text", outcome.mission_text)
    yield _line("Trace", outcome.trace_path)
    failure = f", a mission that {outcome.recorded_failure}" if outcome.recorded_failure else ""
    yield _line("Recorded as", f"{outcome.recorded_status}{failure}")
    yield _line("Started", outcome.started_at.isoformat(timespec="milliseconds"))
    yield _line("Ended", outcome.ended_at.isoformat(timespec="milliseconds"))
    yield _line("Browser", outcome.browser + (", headless" if outcome.headless else ", with a window"))
    yield _line("Headless", "yes" if outcome.headless else "no")
    yield _line("Network", describe_network(outcome.network_mode, outcome.resume_point))
    yield _line(
        "Replayed",
        f"{counts.subgoals} of {counts.subgoals_recorded} subgoals, {counts.actions} of {counts.actions_recorded} "
        f"actions, {counts.skills} of {counts.skills_recorded} skills",
    )
    if outcome.resume_point is not None:
        yield from _resumed(outcome.resume_point, steps_replayed=counts.actions + counts.skills)
    if outcome.plan_digest:
        yield _line("Plan", outcome.plan_digest)
    yield _line("Verdict", outcome.verdict)
    why = f": {outcome.certified_why}" if outcome.certified_why else ""
    yield _line("Certified", _CERTIFIED[outcome.certified] + why)
    yield from (_line("Because", reason) for reason in outcome.reasons)
    if outcome.ended_early:
        yield _line("Ended early", outcome.ended_early)


def _resumed(at: ResumePoint, steps_replayed: int) -> Iterator[str]:
    end = "" if steps_replayed >= at.step else "; not reached"
    yield _line("Resumed", f"at step {at.step} (sequence {at.sequence} of {at.subgoal}), {_RESUMED[at.network]}{end}")
    yield from (_line("Not received", f"{key}, by the site") for key in at.unseen)
    yield from (_line("Unknown", f"requests of step {number} that the site did not receive") for number in at.unknown)
    yield from (_line("Carried over", each) for each in at.carried)


def _gates(outcome: ReplayOutcome) -> Iterator[str]:
    for gate in outcome.gates:
        end = " (ended the run)" if gate.while_running else ""
        yield _line(gate.word, f"{gate.gate}: {gate.message}{end}")


def _divergence(outcome: ReplayOutcome, folder: Path) -> Iterator[str]:
    if not outcome.divergences:
        return
    from eikon_engine.divergence.next_step import next_step  # noqa: PLC0415 - a faithful replay has none

    first, *further = outcome.divergences
    yield from _first_divergence(first, outcome.explanation, next_step(outcome, folder))
    if artifacts := _first_divergence_artifacts(outcome):
        yield from ("", "Evidence:", *(f"  {each}" for each in artifacts))
    if outcome.explanation is not None and outcome.explanation.consequences:
        yield from ("", "Consequences:")
        for each in outcome.explanation.consequences:
            end = "" if each.diverged else " (expected)"
            yield f"  {each.subgoal_id} / {each.sequence}  {each.label}: {each.why}{end}"
    if further:
        yield from ("", "Further findings, at the same action or after it:")
        for divergence in further:
            yield f"  {divergence.subgoal_id} / {divergence.sequence}  {divergence.layer}: {divergence.code}"
            yield f"      expected {divergence.expected}"
            yield f"      observed {divergence.observed}"
            yield from (f"      because {change}" for change in divergence.because)


def _first_divergence(first: Divergence, explanation: Explanation | None, following: str) -> Iterator[str]:
    yield _line("Flag", DIVERGENCE_FLAG)
    yield _line("Subgoal", f"{first.subgoal_id} (attempt {first.subgoal})")
    yield _line("Sequence", first.sequence)
    yield _line("Layer", first.layer)
    yield _line("Code", first.code)
    yield _line("Expected", first.expected)
    yield _line("Observed", first.observed)
    yield _line("Meaning", first.message)
    if explanation is not None:
        yield _line("Cause", explanation.cause)
        yield _line("Explanation", explanation.sentence)
        yield _line("Reason", explanation.why)
        if explanation.settle:
            yield _line("To confirm", explanation.settle)
    if following:
        yield _line("Next", following)
    yield from (_line("Because", change) for change in first.because)
    evidence = () if explanation is None else explanation.evidence
    yield from (_line("Console", each.text) for each in evidence if each.kind == "console")
    if first.candidates is not None:
        yield from ("", "Did you mean (shown only; a replay tries nothing else):")
        yield from (f"  {candidate}" for candidate in first.candidates or ("no plausible candidate",))
    if first.detail:
        yield from ("", *(f"    {line}" if line else "" for line in first.detail.split("\n")))


def _first_divergence_artifacts(outcome: ReplayOutcome) -> tuple[str, ...]:
    first = next((step for step in _all_steps(outcome) if step.divergences), None)
    return () if first is None else tuple(f"{artifact.name}: {artifact.path}" for artifact in first.artifacts)


def _all_steps(outcome: ReplayOutcome) -> Iterator[StepOutcome]:
    return (step for subgoal in outcome.subgoals for step in subgoal.steps)


def _findings(outcome: ReplayOutcome) -> tuple[Divergence, ...]:
    """Return the findings, those that later steps repeat only once."""
    found: dict[tuple[str, ...], Divergence] = {}
    for step in _all_steps(outcome):
        for each in step.findings if step.kind == "action" else ():
            found.setdefault(each.content, each)
    return tuple(found.values())


def _also_changed(findings: Sequence[Divergence]) -> Iterator[str]:
    for finding in findings:
        yield f"{finding.subgoal_id} / {finding.sequence}  {finding.layer}: {finding.code}"
        yield f"    {finding.message}"
        yield f"    expected {finding.expected}"
        yield f"    observed {finding.observed}"


def _late_pages(outcome: ReplayOutcome) -> Iterator[str]:
    steps = (step for step in _all_steps(outcome) if step.kind == "action")
    for each in (each for step in steps for each in step.findings if each.code == PAGE_LATE):
        yield f"{each.subgoal_id} / {each.sequence}  {each.message}"


def _steps(outcome: ReplayOutcome) -> Iterator[str]:
    for subgoal in outcome.subgoals:
        yield f"{subgoal.number}. {subgoal.description} [{subgoal.id}]: {subgoal.verdict}"
        yield from _steps_of_subgoal(subgoal)


def _steps_of_subgoal(subgoal: SubgoalOutcome) -> Iterator[str]:
    for step in subgoal.steps:
        label = step.label if step.kind == "action" else f"skill {step.skill}"
        yield f"   {step.sequence:03d} {step.verdict:<{_LABEL_WIDTH}} {label}"
        yield from (f"       {note}" for note in step.unverifiable)
        if step.kind == "action" and step.masked:
            yield f"       not compared, masked: {', '.join(step.masked)}"
    if missing := max(0, subgoal.steps_recorded - len(subgoal.steps)):
        yield f"   {missing} of {subgoal.steps_recorded} steps were not replayed"


def _extractions(outcome: ReplayOutcome) -> Iterator[str]:
    for each in outcome.extractions:
        yield f"{each.verdict:<{_LABEL_WIDTH}} {each.name}"
        if each.sources:
            yield f"    taken from {'; '.join(each.sources)}"
        yield from (f"    {note}" for note in each.notes)


def _lost_coverage(outcome: ReplayOutcome, findings: int) -> Iterator[str]:
    """Yield at how many actions each mask hid something, and how many changes do not count."""
    names = [name for step in _all_steps(outcome) if step.kind == "action" for name in step.masked]
    for name in dict.fromkeys(names):
        yield f"mask {name}: hid a difference at {pluralize(names.count(name), 'action')}"
    if findings:
        yield f'the {findings} change(s) under "Also changed" do not count'


def _network(network: NetworkOutcome, mode: NetworkMode) -> Iterator[str]:
    yield _line("Served", network.served)
    if network.live:
        yield _line("Live", network.live)
    yield _line("Missing", len(network.misses))
    yield _line("Unused", len(network.unused))
    yield from (f"  {readable_key(miss.key)}: {miss.reason}" for miss in network.misses)
    for rule in network.rules_applied:
        times = "once" if rule.times == 1 else f"{rule.times} times"
        yield f"  ignored, {times}: {rule.rule} ({rule.reason})"
    yield from (f"  not recorded: {readable_key(key)}" for key in network.unmatched)
    for change in network.response_changes:
        yield from _response_change(change)
    how = "to an origin that the trace does not navigate to" if mode == "live" else "bypassed the routes"
    for each in network.violations:
        yield f"  {how}, blocked ({each.kind}): {each.method} {each.target}, {each.times} times"
    yield from (f"  note: {note}" for note in network.notes)


def _response_change(change: ResponseChange) -> Iterator[str]:
    at = f"{change.subgoal}, sequence {change.sequence}" if change.subgoal else "before the first step"
    yield f"  changed response: {readable_key(change.key)} ({at})"
    for value in change.what:
        yield f"    {value.part}: recorded {value.recorded}, live {value.live}"
    if change.more:
        yield f"    and {change.more} more"


def _artifacts(outcome: ReplayOutcome) -> Iterator[str]:
    yield from ("outcome.json", "events.jsonl")
    yield from (artifact.path for step in _all_steps(outcome) for artifact in step.artifacts)
