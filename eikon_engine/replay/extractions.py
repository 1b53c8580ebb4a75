"""Compare what a mission extracted, through what it was taken from: a replay has no agent that extracts it again.

Each text and number of an extraction is looked up in what the agent read and expected, in what skills returned, and
then in the recorded pages. These are compared step by step, so an extraction is as they are.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeGuard

from eikon_engine.divergence.detectors.read import READ_CHANGED
from eikon_engine.divergence.masks import expected_read
from eikon_engine.outcome.outcomes import ExtractionOutcome, shorten_value
from eikon_engine.outcome.verdict import combine_verdicts
from eikon_engine.trace.bundle import load_page
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.labels import step_label
from eikon_engine.trace.read_values import is_same_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic import JsonValue

    from eikon_engine.dom.tree import DomNode
    from eikon_engine.outcome.outcomes import ActionOutcome, StepOutcome, SubgoalOutcome, Verdict
    from eikon_engine.replay.plan import Plan, PlannedStep
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import SkillUsage

_LOST_LAYERS: Final = frozenset({"target", "result", "skill"})
"""Layers of divergences after which a step did not read what it read in the recording."""
_MIN_SHOWN_DIGITS: Final = 3
_NUMBER: Final = re.compile(r"-?\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A step that read or showed a part of an extraction, and what became of that in the replay."""

    label: str
    verdict: Verdict
    why: str = ""
    """Why it is not faithful."""


@dataclass(frozen=True)
class _Step:
    """A recorded step, and its outcome, if it was replayed."""

    planned: PlannedStep
    outcome: StepOutcome | None
    bundle: Bundle

    @property
    def label(self) -> str:
        step = self.planned.step
        return f"{self.planned.subgoal.subgoal_id}, sequence {step.sequence} ({step_label(step)})"

    @cached_property
    def returned(self) -> tuple[str, ...]:
        """The texts and numbers that it returned to the agent."""
        step = self.planned.step
        if not isinstance(step, ActionTrace):
            return tuple(_leaves(step.output))
        read = expected_read(step.action)
        if read is None:
            return ()
        return tuple(_leaves(read.value if read.long is None else json.loads(self.bundle.files.get(read.long))))

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """The text of each frame after it."""
        step = self.planned.step
        pages = step.baseline.pages if isinstance(step, ActionTrace) and step.baseline is not None else ()
        snapshots = (load_page(self.bundle.dom, page) for page in pages)
        frames = (frame for snapshot in snapshots if snapshot is not None for frame in snapshot.frames)
        return tuple(" ".join(_texts(frame.root)) for frame in frames)


def compare_extractions(plan: Plan, subgoals: Iterable[SubgoalOutcome]) -> tuple[ExtractionOutcome, ...]:
    """Return, for each extraction of the mission, whether what it was taken from was the same.

    Raises:
        TraceError: a recorded value or page cannot be read.
    """
    if not plan.trace.extractions:
        return ()
    done = {(subgoal.id, step.sequence): step for subgoal in subgoals for step in subgoal.steps}
    steps = [
        _Step(each, done.get((each.subgoal.id, each.step.sequence)), plan.bundle)
        for group in plan.subgoals
        for each in group.steps
    ]
    return tuple(_compare(each.name, each.value, steps) for each in plan.trace.extractions)


def _compare(name: str, value: JsonValue, steps: list[_Step]) -> ExtractionOutcome:
    found: list[_Source] = []
    unknown: list[str] = []
    for leaf in dict.fromkeys(_leaves(value)):
        sources = list(_reads_of(leaf, steps)) or list(_pages_with(leaf, steps))
        if sources:
            found.append(next((each for each in sources if each.verdict == "faithful"), sources[-1]))
        else:
            unknown.append(leaf)
    verdicts: list[Verdict] = [each.verdict for each in found]
    verdict = combine_verdicts((*verdicts, "unverifiable") if unknown else verdicts)
    notes = [f"{each.label}: {each.why}" for each in found if each.why]
    notes += [f"neither a step nor a page of the recording has {shorten_value(leaf)!r}" for leaf in unknown]
    if not found and not unknown:
        notes.append("it has no text and no number to look for")
    return ExtractionOutcome(
        name=name,
        verdict=verdict,
        sources=tuple(dict.fromkeys(each.label for each in found)),
        notes=tuple(dict.fromkeys(notes)),
    )


def _leaves(value: JsonValue) -> Iterator[str]:
    """Yield the texts and numbers of a value."""
    match value:
        case bool() | None:
            return
        case str():
            if text := " ".join(value.split()):
                yield text
        case int() | float():
            yield _plain_number(str(value))
        case list():
            for each in value:
                yield from _leaves(each)
        case dict():
            for each in value.values():
                yield from _leaves(each)


def _reads_of(leaf: str, steps: list[_Step]) -> Iterator[_Source]:
    """Yield the steps that returned a text or number to the agent."""
    return (_read_source(each) for each in steps if any(_has(text, leaf) for text in each.returned))


def _read_source(step: _Step) -> _Source:
    outcome = step.outcome
    if outcome is None:
        return _Source(label=step.label, verdict="unverifiable", why="it was not replayed")
    for each in outcome.divergences:
        if each.code == READ_CHANGED or each.layer in _LOST_LAYERS:
            shown = f"expected {each.expected}, got {each.observed}" if each.observed else each.message
            return _Source(label=step.label, verdict="diverged", why=shown)
    if _is_hidden(outcome, step.planned.step):
        why = f"not compared, masked: {', '.join(outcome.masked)}"
        return _Source(label=step.label, verdict="unverifiable", why=why)
    return _Source(label=step.label, verdict="faithful")


def _is_hidden(outcome: StepOutcome, step: ActionTrace | SkillUsage) -> TypeGuard[ActionOutcome]:
    """Return whether a mask hides that a step read something else."""
    if outcome.kind != "action" or not outcome.masked or not isinstance(step, ActionTrace):
        return False
    expected, observed = expected_read(step.action), outcome.observation.value if outcome.observation else None
    return expected is not None and observed is not None and not is_same_value(step.action, expected, observed)


def _pages_with(leaf: str, steps: list[_Step]) -> Iterator[_Source]:
    """Yield the last step after which a page showed a text or number; numbers of few digits are on every page."""
    if _NUMBER.fullmatch(leaf) and len(leaf) < _MIN_SHOWN_DIGITS:
        return
    last = next((each for each in reversed(steps) if any(_has(text, leaf) for text in each.shown)), None)
    if last is None:
        return
    label, outcome = f"page after {last.label}", last.outcome
    if outcome is None:
        yield _Source(label=label, verdict="unverifiable", why="the step was not replayed")
    elif outcome.verdict != "faithful" or (outcome.kind == "action" and outcome.masked):
        yield _Source(label=label, verdict="unverifiable", why="the page was not compared as a whole, or differs")
    else:
        yield _Source(label=label, verdict="faithful")


def _texts(root: DomNode) -> Iterator[str]:
    for node in root.walk():
        if node.text is not None:
            yield from node.text.split()
        shown = node.state_value("value")
        if isinstance(shown, str):
            yield from shown.split()


def _has(text: str, leaf: str) -> bool:
    """Return whether a text has a text or number that is not a part of a longer word or number."""
    if _NUMBER.fullmatch(leaf):
        return any(leaf in _readings(number) for number in _NUMBER.findall(text))
    return re.search(rf"(?<!\w){re.escape(leaf)}(?!\w)", " ".join(text.split())) is not None


def _readings(number: str) -> set[str]:
    """Return what a shown number may mean, whatever separates its thousands and its fraction."""
    plain = (number.replace(",", ""), number.replace(".", "").replace(",", "."))
    return {number, *(_plain_number(each) for each in plain)}


def _plain_number(text: str) -> str:
    """Return a number without zeros at the end of its fraction and without exponent."""
    try:
        return f"{Decimal(text).normalize():f}"
    except InvalidOperation:
        return text
