"""Render the results of a suite: as a table, as JUnit XML, as Markdown, and as a page without scripts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from eikon_engine.files.text import pluralize, shorten
from eikon_engine.outcome.terminal import safe_line, safe_lines
from eikon_engine.report.ci_formats import markdown_cell, markdown_text, xml_text
from eikon_engine.report.templates import page_template

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from eikon_engine.outcome.suite_results import MissionResult, PlannedReplay, SuiteResult
    from eikon_engine.outcome.triage import Triage

_SUMMARY: Final = 240
"""Characters of a summary in a line of text."""
_ORDER: Final = ("failed", "diverged", "unverifiable", "faithful")


def render_suite_text(suite: SuiteResult) -> str:
    """Return a line for each replay that is not faithful, was made again, or repeats a failure; then the numbers."""
    return safe_lines(_text(suite))


def render_result_line(result: MissionResult) -> str:
    """Return a result in a line."""
    why = [shorten(result.summary, _SUMMARY)] if result.summary else []
    why += [f"retried: {result.retried}"] if result.retried else []
    why += [f"quarantine: {result.quarantine}"] if result.quarantine else []
    name = shorten(_title(result.name, result.repeat), _SUMMARY)
    line = f"{result.verdict:<12} {name}  {result.duration_ms / 1000:.1f} s  {'; '.join(why)}"
    return safe_line(line.rstrip())


def _text(suite: SuiteResult) -> Iterator[str]:
    shown = [each for each in suite.results if each.exit_status or each.retried or each.summary]
    yield from map(render_result_line, sorted(shown, key=lambda each: _ORDER.index(each.verdict)))
    for name in suite.unequal():
        verdicts = _verdicts(each for each in suite.results if each.name == name)
        yield f"flaky        {shorten(name, _SUMMARY)}: {verdicts}"
    yield from (f"gate         {each.message}" for each in suite.gate_results)
    yield suite_headline(suite)


def suite_headline(suite: SuiteResult) -> str:
    """Return how many replays ended in which way."""
    seconds = (suite.ended_at - suite.started_at).total_seconds()
    shard = f"shard {suite.shard}: " if suite.shard else ""
    failed = sum(each.passed is not True for each in suite.gate_results)
    quarantined = sum(bool(each.exit_status and each.quarantine) for each in suite.results)
    parts = [_verdicts(suite.results) or "nothing replayed"]
    parts += [f"{quarantined} in quarantine"] if quarantined else []
    parts += [f"{len(suite.missing)} not replayed ({suite.ended_early or 'unknown'})"] if suite.missing else []
    parts += [f"{pluralize(failed, 'gate')} not passed"] if failed else []
    parts += [f"missing shards: {', '.join(suite.missing_shards)}"] if suite.missing_shards else []
    return f"{shard}{pluralize(len(suite.planned), 'replay')}: {', '.join(parts)}, {seconds:.1f} s"


def _verdicts(results: Iterable[MissionResult]) -> str:
    counts = Counter(each.verdict for each in results)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in reversed(_ORDER) if counts[verdict])


def render_suite_junit(suite: SuiteResult) -> str:
    """Return JUnit XML with a case for each replay, and for each gate.

    One that is unverifiable or failed is an error; one that failed in quarantine, or was not made, is skipped.
    """
    skipped = [each for each in suite.results if each.exit_status and each.quarantine]
    counted = [each for each in suite.results if each not in skipped]
    name, gates = f"eikon {suite.shard}".rstrip(), suite.gate_results
    root = ET.Element("testsuites", name=name)
    element = ET.SubElement(
        root,
        "testsuite",
        name=name,
        tests=str(len(suite.planned) + len(gates)),
        failures=str(sum(each.verdict == "diverged" for each in counted) + sum(each.passed is False for each in gates)),
        errors=str(sum(_is_error(each) for each in counted) + sum(each.passed is None for each in gates)),
        skipped=str(len(skipped) + len(suite.missing)),
        time=f"{(suite.ended_at - suite.started_at).total_seconds():.3f}",
        timestamp=suite.started_at.replace(tzinfo=None).isoformat(timespec="seconds"),
    )
    for result in suite.results:
        _add_case(element, result)
    for planned in suite.missing:
        case = _case(element, planned, 0)
        ET.SubElement(case, "skipped", message=xml_text(f"not replayed: {suite.ended_early}"))
    for gate in gates:
        case = ET.SubElement(element, "testcase", classname="eikon.gates", name=gate.gate, time="0.000")
        if gate.passed is not True:
            kind = "error" if gate.passed is None else "failure"
            ET.SubElement(case, kind, message=xml_text(gate.message), type=gate.verdict)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _is_error(result: MissionResult) -> bool:
    return result.verdict in {"failed", "unverifiable"} and bool(result.exit_status)


def _add_case(suite: ET.Element, result: MissionResult) -> None:
    case = _case(suite, result, result.duration_ms)
    if not result.exit_status:
        return
    if result.quarantine:
        message = f"in quarantine: {result.quarantine}; {result.verdict}: {result.summary}"
        ET.SubElement(case, "skipped", message=xml_text(message))
        return
    kind = "failure" if result.verdict == "diverged" else "error"
    found = ET.SubElement(case, kind, message=xml_text(result.summary), type=result.verdict)
    found.text = xml_text(f"artifacts: {result.artifacts}") if result.artifacts else None


def _case(suite: ET.Element, replay: MissionResult | PlannedReplay, duration_ms: int) -> ET.Element:
    folder, _, name = _title(replay.name, replay.repeat).rpartition("/")
    where = xml_text(folder.replace("/", ".") or "eikon")
    return ET.SubElement(suite, "testcase", classname=where, name=xml_text(name), time=f"{duration_ms / 1000:.3f}")


def render_suite_markdown(suite: SuiteResult) -> str:
    """Return a table of what is not faithful, for the page of a job."""
    return "\n".join(_markdown(suite)) + "\n"


def _markdown(suite: SuiteResult) -> Iterator[str]:
    yield f"## {markdown_text(suite_headline(suite))}"
    shown = [each for each in suite.results if each.exit_status or each.summary]
    if shown:
        yield from ("", "| Mission | Verdict | Why |", "|---|---|---|")
    for each in shown:
        why = f"{each.summary} (in quarantine: {each.quarantine})" if each.quarantine else each.summary
        yield f"| {markdown_cell(_title(each.name, each.repeat))} | {each.verdict} | {markdown_cell(why)} |"
    for gate in suite.gate_results:
        if gate.passed is not True:
            yield f"\n{markdown_text(gate.message)}"


def render_suite_page(suite: SuiteResult, triage: Triage, reports: Collection[str] = ()) -> str:
    """Return a page with the causes of what failed, and all replays.

    Links lead to those of `reports` that exist: artifacts folders that contain report.html.
    """
    return page_template("suite.html").render(
        suite=suite,
        triage=triage,
        headline=suite_headline(suite),
        results=sorted(suite.results, key=lambda each: (_ORDER.index(each.verdict), each.key)),
        unequal=suite.unequal(),
        reports=reports,
        title=lambda each: _title(each.name, each.repeat),
    )


def _title(name: str, repeat: int) -> str:
    return name if repeat == 1 else f"{name} ({repeat})"
