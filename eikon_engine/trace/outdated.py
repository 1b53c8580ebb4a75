"""Forget what an edit makes untrue: what was recorded of a mission holds only as far as the same is done."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from eikon_engine.trace.actions import Assert, ExtractDom, Note, Screenshot
from eikon_engine.trace.execution import ActionTrace, Blocked
from eikon_engine.trace.located import positions, with_actions

if TYPE_CHECKING:
    from pydantic import JsonValue

    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.execution import ExecutionTrace
    from eikon_engine.trace.located import Step

LOOKING = (Assert, ExtractDom, Note, Screenshot)
"""Actions after which pages are as they were before."""


def only_looks(step: Step) -> bool:
    """Say whether a step leaves the pages as they were: later steps do not depend on it."""
    return not isinstance(step, ActionTrace) or isinstance(step.result, Blocked) or isinstance(step.action, LOOKING)


def forget_after(trace: ExecutionTrace, step: Step) -> ExecutionTrace:
    """Drop what was recorded after a step, its own observation included: pages, elements that were hit, pictures.

    The action itself keeps the element that it hits: the pages before it are those of the recording.
    """
    steps = [each for _, each in positions(trace)]
    begin = next(number for number, each in enumerate(steps) if each is step)
    later = {id(each) for each in steps[begin + 1 :]}

    def forget(action: ActionTrace) -> ActionTrace:
        if id(action) in later:
            return _without_record(action.model_copy(update={"action": without_identities(action.action)}))
        return _without_record(action) if action is step else action

    return with_actions(trace, forget)


def forget_own(action: ActionTrace) -> ActionTrace:
    """Drop what was recorded of one action."""
    return _without_record(action)


def without_identities(action: Action) -> Action:
    """Return an action that does not know which elements it hits."""
    plain: JsonValue = json.loads(action.model_dump_json())
    forgotten = _forgotten(plain)
    return action if forgotten == plain else type(action).model_validate_json(json.dumps(forgotten))


def _without_record(action: ActionTrace) -> ActionTrace:
    return action.model_copy(update={"observation": None, "artifacts": ()})


def _forgotten(value: JsonValue) -> JsonValue:
    match value:
        case dict():
            mine = {"selector", "identity"} <= value.keys()
            return {name: None if mine and name == "identity" else _forgotten(each) for name, each in value.items()}
        case list():
            return [_forgotten(each) for each in value]
        case _:
            return value
