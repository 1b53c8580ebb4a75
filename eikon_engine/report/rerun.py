"""Render the results of a rerun as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.files.text import pluralize
from eikon_engine.outcome.json_diff import JsonChange, JsonChangeKind, render_json_diff
from eikon_engine.trace.execution import Failed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.skills.rerun.results import BundleRerun, RerunReport, UseRerun
    from eikon_engine.trace.execution import Result


def render_rerun(bundle: BundleRerun) -> str:
    """Return lines on changed, not rerun and unreadable uses; empty if everything is unchanged."""
    if bundle.error:
        return f"{bundle.path}: cannot be read: {bundle.error}\n"
    reported = [use for use in bundle.uses if use.status != "unchanged"]
    if not reported:
        return ""
    lines = [f"{bundle.path}: {_count_statuses(bundle)}"]
    for use in reported:
        lines.extend(f"  {line}" for line in _use_lines(use))
    return "".join(f"{line}\n" for line in lines)


def render_rerun_summary(report: RerunReport, seconds: float) -> str:
    """Return the summary line."""
    parts = [
        f"{report.count('unchanged')} unchanged",
        f"{report.count('changed')} changed",
        f"{report.count('not_rerun')} not rerun",
    ]
    unreadable = report.count("unreadable")
    if unreadable:
        parts.append(f"{unreadable} unreadable")
    uses = sum(len(bundle.uses) for bundle in report.bundles)
    rate = f", {uses / seconds:.0f}/s" if seconds > 0 else ""
    bundles = pluralize(len(report.bundles), "bundle")
    return f"{bundles}, {pluralize(uses, 'skill use')}: {', '.join(parts)} ({seconds:.1f} s{rate})"


def _count_statuses(bundle: BundleRerun) -> str:
    words = {"changed": "changed", "not_rerun": "not rerun", "unreadable": "unreadable"}
    counts = {status: sum(use.status == status for use in bundle.uses) for status in words}
    parts = [f"{count} {words[status]}" for status, count in counts.items() if count]
    accepted = "; accepted" if bundle.accepted else ""
    return f"{', '.join(parts)} of {pluralize(len(bundle.uses), 'skill use')}{accepted}"


def _use_lines(use: UseRerun) -> Iterator[str]:
    place = f"{use.subgoal} #{use.sequence} {use.skill}" if use.subgoal else f"page intent {use.id}"
    if use.status != "changed":
        yield f"{place}: {'not rerun' if use.status == 'not_rerun' else 'cannot be read'}: {use.why}"
        return
    yield f"{place} ({_version_text(use)}): {_describe_change(use)}"
    changes = [
        JsonChange(kind=JsonChangeKind(each.kind), path=each.path, expected=each.old, observed=each.new)
        for each in use.changes
    ]
    yield from (f"  {line}" for line in render_json_diff(changes).splitlines())


def _describe_change(use: UseRerun) -> str:
    if use.new_result is not None and type(use.new_result) is not type(use.old_result):
        return f"{_result_text(use.old_result)} when recorded, {_result_text(use.new_result)} now"
    return f"the output differs in {pluralize(len(use.changes), 'place')}"


def _result_text(result: Result) -> str:
    return f"failed ({result.message})" if isinstance(result, Failed) else "succeeded"


def _version_text(use: UseRerun) -> str:
    if use.recorded_version in {None, use.version}:
        return f"version {use.version}"
    return f"version {use.recorded_version} when recorded, {use.version} now"
