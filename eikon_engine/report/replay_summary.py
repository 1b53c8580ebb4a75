"""Render `replay_summary.txt`, the first report to read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from eikon_engine.divergence.detectors.lifecycle import PAGE_LATE
from eikon_engine.files.text import pluralize
from eikon_engine.outcome.outcomes import describe_network
from eikon_engine.outcome.terminal import escape_control_characters

if TYPE_CHECKING:
    from jinja2 import Template

    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.outcome.outcomes import ReplayOutcome

SUMMARY_FILE = "replay_summary.txt"


@dataclass(frozen=True, slots=True)
class SummaryReport:
    """Render an outcome as plain text."""

    @property
    def file_name(self) -> str:
        """Return the name of the file."""
        return SUMMARY_FILE

    def render(self, outcome: ReplayOutcome) -> str:
        """Return the text of the summary."""
        return render_summary(outcome)


def standard_reports() -> tuple[SummaryReport, ...]:
    """Return the reports of every replay."""
    return (SummaryReport(),)


def render_summary(outcome: ReplayOutcome) -> str:
    """Render the summary: head, verdict, environment, divergence, subgoals, network, artifacts."""
    steps = [(subgoal, step) for subgoal in outcome.subgoals for step in subgoal.steps]
    artifacts = [artifact for _, step in steps for artifact in step.artifacts]
    text = _template().render(
        outcome=outcome,
        network=describe_network(outcome.network_mode, outcome.second_part),
        steps=steps,
        first=outcome.divergences[0] if outcome.divergences else None,
        further=outcome.divergences[1:],
        artifacts=artifacts,
        masked=_mask_coverage(outcome),
        findings=tuple(each for each in _findings(outcome) if each.code != PAGE_LATE),
        late_pages=_late_pages(outcome),
        first_artifacts=_first_divergence_artifacts(outcome),
    )
    return escape_control_characters(text)


def _mask_coverage(outcome: ReplayOutcome) -> tuple[str, ...]:
    """Return for each mask the number of actions at which it hid something."""
    names = [
        name for subgoal in outcome.subgoals for step in subgoal.steps if step.kind == "action" for name in step.masked
    ]
    return tuple(
        f"{name}: hid a difference at {pluralize(names.count(name), 'action')}" for name in dict.fromkeys(names)
    )


def _findings(outcome: ReplayOutcome) -> tuple[Divergence, ...]:
    """Return the findings, those that later steps repeat only once."""
    found: dict[tuple[str, ...], Divergence] = {}
    for subgoal in outcome.subgoals:
        for step in subgoal.steps:
            for each in step.findings if step.kind == "action" else ():
                found.setdefault(each.content, each)
    return tuple(found.values())


def _late_pages(outcome: ReplayOutcome) -> tuple[Divergence, ...]:
    steps = (step for subgoal in outcome.subgoals for step in subgoal.steps if step.kind == "action")
    return tuple(each for step in steps for each in step.findings if each.code == PAGE_LATE)


def _first_divergence_artifacts(outcome: ReplayOutcome) -> tuple[str, ...]:
    for subgoal in outcome.subgoals:
        for step in subgoal.steps:
            if step.divergences:
                return tuple(f"{artifact.name}: {artifact.path}" for artifact in step.artifacts)
    return ()


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 - imported when a report is rendered

    environment = Environment(  # noqa: S701 - plain text, nothing to escape
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    source = files("eikon_engine.report").joinpath("replay_summary.txt.jinja").read_text(encoding="utf-8")
    return environment.from_string(source)
