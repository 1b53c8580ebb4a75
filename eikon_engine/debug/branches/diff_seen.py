"""Compare what two branches showed after one step, besides pages and requests."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.json_value import canonical_json
from eikon_engine.trace.record import FileModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.trace.located import Step
    from eikon_engine.trace.observation import Observation

COMPARED_PARTS: Final = (
    "documents",
    "opened",
    "closed",
    "dialogs",
    "downloads",
    "target",
    "console_errors",
    "page_errors",
    "unanswered",
    "storage",
)
"""Compared fields of an observation; of the storage, cookies that expire within a day are ignored."""


class ObservedDifference(FileModel):
    """Something observed on one of two branches only."""

    what: str
    """Field of the observation, or `output` of a skill."""
    first: tuple[str, ...]
    """What only the first branch has, as JSON."""
    second: tuple[str, ...]


def observed_differences(one: Step, two: Step) -> Iterator[ObservedDifference]:
    """Compare the observations of two steps, part by part."""
    if isinstance(one, ActionTrace) and isinstance(two, ActionTrace):
        if one.observation is not None and two.observation is not None:
            for part in COMPARED_PARTS:
                yield from _difference(
                    part, _observed_values(one.observation, part), _observed_values(two.observation, part)
                )
    elif not isinstance(one, ActionTrace) and not isinstance(two, ActionTrace):
        outputs = [canonical_json(each.output) if each.output_recorded else "not known" for each in (one, two)]
        yield from _difference("output", outputs[:1], outputs[1:])


def _difference(what: str, one: list[str], two: list[str]) -> Iterator[ObservedDifference]:
    before, after = Counter(one), Counter(two)
    first, second = tuple(sorted((before - after).elements())), tuple(sorted((after - before).elements()))
    if first or second:
        yield ObservedDifference(what=what, first=first, second=second)


def _observed_values(observation: Observation, part: str) -> list[str]:
    value = observation.model_dump(mode="json", include={part})[part]
    if part == "storage":
        value = [each for each in value or () if not each["is_brief"]]
    values = value if isinstance(value, list) else [] if value is None else [value]
    return [each if isinstance(each, str) else canonical_json(each) for each in values]
