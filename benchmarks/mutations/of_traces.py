"""Mutants whose trace contradicts the pages it was recorded with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from benchmarks.mutations.truth import Mutant, diverges

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from benchmarks.mutations.source import Place, Source

TARGETS = (
    ("selector of nothing", ("selector",), "#no-such-element"),
    ("selector of another element", ("selector",), "body"),
    ("selector of many", ("selector",), "*"),
    ("another name recorded", ("identity", "name"), "Another name"),
    ("another tag recorded", ("identity", "tag"), "blink"),
)
"""Parts of a target, and their new values."""
DIALOG: JsonValue = {"page": 0, "kind": "alert", "message": "Hi", "answer": "accepted"}
OBSERVED: tuple[tuple[str, tuple[str | int, ...], JsonValue, str], ...] = (
    ("another title recorded", ("pages", 0, "title"), "Another title", "lifecycle"),
    ("another address recorded", ("pages", 0, "url"), "http://127.0.0.1:1/another", "lifecycle"),
    ("a console error recorded", ("console_errors",), ["it broke"], "lifecycle"),
    (
        "a dialog recorded",
        ("dialogs",),
        [{"page": 0, "kind": "alert", "message": "Hi", "answer": "accepted"}],
        "lifecycle",
    ),
    ("a request recorded", ("requests",), ["GET http://127.0.0.1:1/never"], "network"),
)
"""Parts of an observation, their new values, and where the change is noticed."""


def of_traces(source: Source) -> Iterator[Mutant]:
    """Yield all mutants of the trace itself, which then contradicts its own pages."""
    raw = (source.root / "trace.json").read_text(encoding="utf-8")
    for place in source.places:
        target = getattr(source.action(place).action, "target", None)
        if target is not None and target.identity is not None and not target.frames:
            for operator, part, value in TARGETS:
                yield Mutant(
                    operator=operator,
                    what=f"{place}: {target.selector}",
                    truth=diverges(place, "target", "trace-invalid"),
                    trace=_edited(raw, place, ("action", "target", *part), value),
                )
    for place in source.places[:: max(1, len(source.places) // 4)]:
        for operator, way, observed, layer in OBSERVED if source.observation(place) is not None else ():
            yield Mutant(
                operator=operator,
                what=f"{place}",
                truth=diverges(place, layer, "unknown"),
                trace=_edited(raw, place, ("observation", *way), observed),
            )
    if source.bundle.trace.environment is not None and source.bundle.trace.environment.page_view is not None:
        trace = json.loads(raw)
        yield Mutant(
            operator="another screen recorded",
            what="width",
            truth=diverges(source.places[0], "environment", "environment"),
            trace=json.dumps(_set(trace, trace, ("environment", "page_view", "screen_width"), 999)),
        )
    for subgoal in source.bundle.trace.subgoal_traces:
        for usage in subgoal.skills_used:
            yield Mutant(
                operator="another skill output recorded",
                what=usage.skill,
                truth=diverges((subgoal.id, usage.sequence), "skill", "skill-changed"),
                trace=_edited(raw, (subgoal.id, usage.sequence), ("output",), {"rows": []}),
            )


def _edited(raw: str, place: Place, part: tuple[str | int, ...], value: JsonValue) -> str:
    """Change one part of a step."""
    trace = json.loads(raw)
    for subgoal in trace["subgoal_traces"]:
        for step in (*subgoal["actions_taken"], *subgoal["skills_used"]):
            if (subgoal["id"], step["sequence"]) == place:
                return json.dumps(_set(trace, step, part, value))
    raise ValueError(place)


def _set(trace: JsonValue, holder: Any, part: tuple[str | int, ...], value: JsonValue) -> JsonValue:  # noqa: ANN401
    """Change a part of something in a trace."""
    for name in part[:-1]:
        holder = holder[name]
    holder[part[-1]] = value
    return trace
