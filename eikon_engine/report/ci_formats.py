"""Render an outcome for continuous integration: JUnit XML, Markdown, annotations of GitHub, code quality of GitLab.

All are pure functions of the outcome, byte by byte the same each time. Texts of pages are escaped for each format.

Sources: the schema of JUnit XML that Jenkins publishes (junit-10.xsd of its xUnit plugin); "Workflow commands" of
GitHub's documentation; "Code Quality report format" of GitLab's, a subset of Code Climate's.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from eikon_engine.outcome.terminal import escape_control_characters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.outcome.outcomes import ReplayOutcome, StepOutcome, SubgoalOutcome

MAX_CELL: Final = 300
"""Characters of a text in a table of Markdown."""
_NOT_IN_XML: Final = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow, section 2.2."""
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]<>#|~&])")


def render_junit(outcome: ReplayOutcome) -> str:
    """Render JUnit XML: a suite for each subgoal, a case for each step; an unverifiable step is an error."""
    suites = ET.Element("testsuites", name=xml_text(outcome.mission_id))
    for subgoal in outcome.subgoals:
        _add_suite(suites, outcome, subgoal)
    if not outcome.divergences and outcome.exit_status:
        _add_run(suites, outcome)
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _add_suite(suites: ET.Element, outcome: ReplayOutcome, subgoal: SubgoalOutcome) -> None:
    missing = max(0, subgoal.steps_recorded - len(subgoal.steps))
    verdicts = [step.verdict for step in subgoal.steps]
    suite = ET.SubElement(
        suites,
        "testsuite",
        name=xml_text(f"{subgoal.number}. {subgoal.description}"),
        tests=str(len(verdicts) + missing),
        failures=str(verdicts.count("diverged")),
        errors=str(verdicts.count("unverifiable")),
        skipped=str(missing),
        time=_seconds(sum(step.duration_ms for step in subgoal.steps)),
        timestamp=outcome.started_at.replace(tzinfo=None).isoformat(timespec="seconds"),
    )
    for step in subgoal.steps:
        case = _add_case(suite, outcome, f"{step.sequence:03d} {_label(step)}", step.duration_ms)
        if step.verdict == "diverged":
            first = step.divergences[0]
            failure = ET.SubElement(case, "failure", message=xml_text(first.message), type=xml_text(first.code))
            failure.text = xml_text("\n".join(_differences(step)))
        elif step.verdict == "unverifiable":
            ET.SubElement(case, "error", message=xml_text("; ".join(step.unverifiable)), type="unverifiable")
    for number in range(missing):
        case = _add_case(suite, outcome, f"{len(verdicts) + number + 1:03d} not replayed", 0.0)
        ET.SubElement(case, "skipped", message="the replay ended before this step")


def _add_run(suites: ET.Element, outcome: ReplayOutcome) -> None:
    """Add a suite for what failed without a step: a gate, an incomplete run, traffic that was blocked."""
    suite = ET.SubElement(
        suites, "testsuite", name="run", tests="1", failures="0", errors="1", skipped="0", time="0.000"
    )
    case = _add_case(suite, outcome, "the whole run", 0.0)
    gates = [f"gate {gate.gate}: {gate.message}" for gate in outcome.gates if gate.passed is not True]
    why = "; ".join((*outcome.reasons, *gates)) or outcome.verdict
    ET.SubElement(case, "error", message=xml_text(why), type=outcome.verdict)


def _add_case(suite: ET.Element, outcome: ReplayOutcome, name: str, duration_ms: float) -> ET.Element:
    where = xml_text(outcome.mission_id)
    return ET.SubElement(suite, "testcase", classname=where, name=xml_text(name), time=_seconds(duration_ms))


def _seconds(duration_ms: float) -> str:
    return f"{duration_ms / 1000:.3f}"


def xml_text(text: str) -> str:
    """Return a text with only characters that XML allows, and that hide nothing."""
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", escape_control_characters(text))


def render_markdown(outcome: ReplayOutcome) -> str:
    """Render a summary for the page of a job: the verdict, the first cause, and a table of the steps that differ."""
    return "\n".join(_markdown_lines(outcome)) + "\n"


def _markdown_lines(outcome: ReplayOutcome) -> Iterator[str]:
    counts = outcome.counts
    yield f"## {outcome.verdict}: {markdown_text(outcome.mission_text or outcome.mission_id)}"
    yield ""
    yield (
        f"{counts.actions} of {counts.actions_recorded} actions, {counts.skills} of {counts.skills_recorded} skills; "
        f"network {outcome.network_mode}; {markdown_text(outcome.browser)}"
    )
    explanation = outcome.explanation
    if explanation is not None:
        yield from ("", f"**{markdown_text(explanation.sentence)}**")
        yield from ("", f"Cause: {markdown_text(explanation.cause)}. {markdown_text(explanation.why)}")
    yield from (line for reason in outcome.reasons for line in ("", markdown_text(reason)))
    differing = [
        (subgoal, step) for subgoal in outcome.subgoals for step in subgoal.steps if step.verdict != "faithful"
    ]
    if differing:
        yield from ("", "| Subgoal | Step | Verdict | Difference |", "|---|---|---|---|")
    for subgoal, step in differing:
        reason = step.divergences[0].message if step.divergences else "; ".join(step.unverifiable)
        place = f"{step.sequence} {markdown_cell(_label(step))}"
        yield f"| {markdown_cell(subgoal.subgoal_id)} | {place} | {step.verdict} | {markdown_cell(reason)} |"


def markdown_cell(text: str) -> str:
    """Return a text for a cell of a table, shortened, in which nothing is markup."""
    return markdown_text(text if len(text) <= MAX_CELL else f"{text[:MAX_CELL]}…")


def markdown_text(text: str) -> str:
    """Return a text in a line in which nothing is markup."""
    return _MARKDOWN.sub(r"\\\1", escape_control_characters(text)).replace("\n", " ")


def render_github(outcome: ReplayOutcome) -> str:
    """Render a workflow command of GitHub for each step that differs, which annotates the job."""
    return "".join(f"{line}\n" for line in _github_lines(outcome))


def _github_lines(outcome: ReplayOutcome) -> Iterator[str]:
    for subgoal in outcome.subgoals:
        for step in subgoal.steps:
            if step.verdict == "faithful":
                continue
            kind = "error" if step.verdict == "diverged" else "warning"
            title = f"{subgoal.subgoal_id}, step {step.sequence}: {_label(step)}"
            text = "\n".join(_differences(step)) or "; ".join(step.unverifiable)
            place = f"file={_github_property(outcome.trace_path)},title={_github_property(title)}"
            yield f"::{kind} {place}::{_github(text)}"


def _github(text: str) -> str:
    escaped = escape_control_characters(text).replace("%", "%25")
    return escaped.replace("\r", "%0D").replace("\n", "%0A")


def _github_property(text: str) -> str:
    return _github(text).replace(":", "%3A").replace(",", "%2C")


def render_gitlab(outcome: ReplayOutcome) -> str:
    """Render a code quality report of GitLab: an issue for each difference; its fingerprint stays from run to run."""
    issues = [
        {
            "description": escape_control_characters(f"{_label(step)}: {each.message}"),
            "check_name": escape_control_characters(each.code),
            "fingerprint": _fingerprint(outcome.trace_id, subgoal.id, str(step.sequence), each.code, each.expected),
            "severity": "major" if each.severity == "divergence" else "minor",
            "location": {"path": escape_control_characters(outcome.trace_path), "lines": {"begin": 1}},
        }
        for subgoal in outcome.subgoals
        for step in subgoal.steps
        for each in step.divergences
    ]
    return json.dumps(issues, indent=1, ensure_ascii=False) + "\n"


def _fingerprint(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()


def _label(step: StepOutcome) -> str:
    return step.label if step.kind == "action" else f"skill {step.skill}"


def _differences(step: StepOutcome) -> Iterator[str]:
    for each in step.divergences:
        yield each.message
        yield f"  expected {each.expected}"
        yield f"  observed {each.observed}"
