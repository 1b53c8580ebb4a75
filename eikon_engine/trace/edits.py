"""Edits of a trace as data: fields, steps and attempts that a person changes."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from eikon_engine.trace.actions import Action
from eikon_engine.trace.execution import VariableName
from eikon_engine.trace.record import FiniteJson, Record


class SetFields(Record):
    """Give fields of one step, of one attempt or of the trace other values."""

    kind: Literal["set_fields"] = "set_fields"
    step: str = ""
    """Id of an action, a skill or an attempt; empty for the trace itself."""
    fields: dict[str, FiniteJson]
    """New values by the path of their field, such as `action.target.selector` or `action.options[0]`."""
    same_element: bool = False
    """Whether a new selector is another way to the element that was recorded, which a replay then proves."""
    reason: str = Field(min_length=1)


class DeleteStep(Record):
    """Leave one action, one skill or one whole attempt out; an attempt goes with its last step."""

    kind: Literal["delete_step"] = "delete_step"
    step: str
    """Id of an action, a skill or an attempt."""
    reason: str = Field(min_length=1)


class InsertStep(Record):
    """Do one action more: in front of a step, or behind it, in the attempt of that step."""

    kind: Literal["insert_step"] = "insert_step"
    step: str
    """Id of the action or skill beside which it comes."""
    place: Literal["before", "after"] = "before"
    id: str = Field(min_length=1)
    """Of the new action."""
    action: Action
    """Without the elements that it hits, which only a run can tell."""
    reason: str = Field(min_length=1)


class SplitAttempt(Record):
    """Make two attempts of one: its later steps become a subgoal of their own."""

    kind: Literal["split_attempt"] = "split_attempt"
    attempt: str
    """Id of the attempt."""
    before: str
    """Id of the first step of the new one."""
    description: str
    subgoal_id: str | None = None
    """Id of the new subgoal; None makes one of that of the old one."""
    reason: str = Field(min_length=1)


class MergeAttempts(Record):
    """Make one attempt of two neighbours; it keeps the id of the first, and ends as the second did."""

    kind: Literal["merge_attempts"] = "merge_attempts"
    first: str
    """Id of the earlier attempt."""
    second: str
    """Id of the one after it."""
    description: str | None = None
    """None keeps that of the first."""
    reason: str = Field(min_length=1)


class SetVariable(Record):
    """Declare a variable, or give it another recorded value."""

    kind: Literal["set_variable"] = "set_variable"
    name: VariableName
    value: str | None = None
    """None where every replay has to be given one."""
    reason: str = Field(min_length=1)


Edit: TypeAlias = SetFields | DeleteStep | InsertStep | SplitAttempt | MergeAttempts | SetVariable


def describe_edit(edit: Edit) -> str:
    """Say in a few words what an edit does."""
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
            return f"let {{{{{name}}}}} stand for {'what is given' if value is None else repr(value)}"
