"""A small mission for edits, and helpers to check which recorded data is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.files.blobs import BlobRef
from eikon_engine.trace.actions import Assert, AssertVisible, Drag, Fill, Navigate
from eikon_engine.trace.edits import Edit, SetFields
from eikon_engine.trace.execution import (
    ActionTrace,
    Artifact,
    ExecutionTrace,
    Failure,
    SkillInputRef,
    SkillUsage,
    Succeeded,
)
from eikon_engine.trace.observation import Observation
from eikon_engine.trace.patch import TracePatch, apply_patch
from eikon_engine.trace.steps import iter_steps
from eikon_engine.trace.target import Identity, Target
from eikon_engine.trace.trace_file import parse_trace, serialize_trace
from tests.trace.trace_values import action, subgoal, trace

if TYPE_CHECKING:
    from pydantic import JsonValue


KNOWN = Target(selector="#go", identity=Identity(tag="a", name="Go"))
FIELD = Target(selector="#field", identity=Identity(tag="input", name="Field"))
DOCUMENT = SkillInputRef(snapshot=BlobRef(sha256="0" * 64, size=9), url="http://shop.test")
SEEN = Observation(pages=(), virtual_ms=500)


def done(name: str, sequence: int, what: object, begun_ms: float) -> ActionTrace:
    """Build a recorded action with all its data."""
    return action(
        sequence,
        id=name,
        action=what,
        observation=SEEN.model_copy(update={"begun_ms": begun_ms}),
        artifacts=(Artifact(name="screenshot", path=f"{name}.png"),),
    )


BASE = trace(
    subgoal_traces=(
        subgoal(
            "find",
            actions_taken=(
                done("open", 1, Navigate(url="http://shop.test"), 0),
                done("type", 2, Fill(target=FIELD, text="pear"), 500),
                done("look", 4, Assert(expectation=AssertVisible(target=KNOWN)), 1000),
            ),
            skills_used=(
                SkillUsage(
                    id="read", sequence=3, skill="extract_table", source=DOCUMENT, result=Succeeded(), output=[1]
                ),
            ),
        ),
        subgoal(
            "buy", actions_taken=(done("drag", 1, Drag(target=KNOWN, to=FIELD), 1000),), status="failed", error="x"
        ),
    ),
    failures=(Failure(message="no", subgoal_id="buy"),),
)


def edited(*edits: Edit, of: ExecutionTrace = BASE) -> ExecutionTrace:
    """Apply edits, and check that the result can be read back."""
    changed = apply_patch(of, TracePatch(operations=edits))
    assert parse_trace(serialize_trace(changed), "edited") == changed
    return changed


def fields(step: str, **values: JsonValue) -> SetFields:
    """Build an edit of fields; dots in their names are written as two underscores."""
    return SetFields(step=step, fields={name.replace("__", "."): value for name, value in values.items()}, reason="why")


def observed(of: ExecutionTrace) -> list[str]:
    """Return the actions that have an observation."""
    return [step.id for _, step in iter_steps(of) if isinstance(step, ActionTrace) and step.observation is not None]


def step(of: ExecutionTrace, name: str) -> ActionTrace:
    """Return a step by its id."""
    return next(each for _, each in iter_steps(of) if isinstance(each, ActionTrace) and each.id == name)
