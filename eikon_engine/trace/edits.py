"""Edits of a trace as data: changes of fields, steps and attempts."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from eikon_engine.trace.actions import Action
from eikon_engine.trace.execution import VariableName
from eikon_engine.trace.record import FileModel, FiniteJson


class SetFields(FileModel):
    """Change fields of one step, of one attempt, or of the trace."""

    kind: Literal["set_fields"] = "set_fields"
    step: str = ""
    """Id of an action, skill or attempt; empty for the trace itself."""
    fields: dict[str, FiniteJson]
    """New values by field path, such as `action.target.selector` or `action.options[0]`."""
    same_element: bool = False
    """Whether a new selector finds the recorded element; a replay verifies it."""
    reason: str = Field(min_length=1)


class DeleteStep(FileModel):
    """Delete one action, one skill or a whole attempt; deleting its last step deletes the attempt."""

    kind: Literal["delete_step"] = "delete_step"
    step: str
    """Id of an action, skill or attempt."""
    reason: str = Field(min_length=1)


class InsertStep(FileModel):
    """Insert an action before or after a step, in the attempt of that step."""

    kind: Literal["insert_step"] = "insert_step"
    step: str
    """Id of the action or skill next to which it is inserted."""
    place: Literal["before", "after"] = "before"
    id: str = Field(min_length=1)
    """Id of the new action."""
    action: Action
    """Without element identities, which only a run can determine."""
    reason: str = Field(min_length=1)


class SplitAttempt(FileModel):
    """Split an attempt in two: its later steps become a subgoal of their own."""

    kind: Literal["split_attempt"] = "split_attempt"
    attempt: str
    """Id of the attempt."""
    before: str
    """Id of the first step of the new attempt."""
    description: str
    subgoal_id: str | None = None
    """Id of the new subgoal; None derives it from the old one."""
    reason: str = Field(min_length=1)


class MergeAttempts(FileModel):
    """Merge two adjacent attempts; the result has the id of the first and the status of the second."""

    kind: Literal["merge_attempts"] = "merge_attempts"
    first: str
    """Id of the earlier attempt."""
    second: str
    """Id of the one after it."""
    description: str | None = None
    """None keeps the description of the first."""
    reason: str = Field(min_length=1)


class SetVariable(FileModel):
    """Declare a variable, or change its recorded value."""

    kind: Literal["set_variable"] = "set_variable"
    name: VariableName
    value: str | None = None
    """None if every replay must provide a value."""
    reason: str = Field(min_length=1)


Edit: TypeAlias = SetFields | DeleteStep | InsertStep | SplitAttempt | MergeAttempts | SetVariable


def describe_edit(edit: Edit) -> str:
    """Describe an edit in a few words."""
    match edit:
        case SetFields(step=step, fields=fields):
            return f"set {', '.join(fields)} of {step or 'the trace'}"
        case DeleteStep(step=step):
            return f"delete {step}"
        case InsertStep(step=step, place=place, id=name, action=action):
            return f"insert {name} ({action.type.replace('_', ' ')}) {place} {step}"
        case SplitAttempt(attempt=attempt, before=before):
            return f"split {attempt} before {before}"
        case MergeAttempts(first=first, second=second):
            return f"merge {second} into {first}"
        case SetVariable(name=name, value=value):
            return f"set variable {{{{{name}}}}} to {'a value given at replay' if value is None else repr(value)}"
