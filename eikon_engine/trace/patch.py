"""Changes to a trace as data: proposed, shown as a diff, accepted, applied by one function, saved to a file."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from pydantic import Field, ValidationError

from eikon_engine.errors import TraceError, TraceFieldError
from eikon_engine.files.limits import read_document
from eikon_engine.files.models import FileModel, FiniteJson, validation_error
from eikon_engine.files.text import pluralize
from eikon_engine.files.writing import write_atomically
from eikon_engine.secrets.redaction import FoundSecret
from eikon_engine.trace.actions import Drag, Evaluate, Read
from eikon_engine.trace.edits import (
    DeleteStep,
    Edit,
    InsertStep,
    MergeAttempts,
    SetFields,
    SetVariable,
    SplitAttempt,
    delete_step,
    describe_edit,
    insert_step,
    merge_attempts,
    set_fields,
    set_variable,
    split_attempt,
)
from eikon_engine.trace.environment import Environment
from eikon_engine.trace.execution import ActionTrace, ExecutionTrace, MovedDelivery, Result, SkillUsage, Succeeded
from eikon_engine.trace.masks import Mask, describe_mask
from eikon_engine.trace.observation import Observation
from eikon_engine.trace.rules import VolatileRule, describe_rule
from eikon_engine.trace.steps import locate_step, replace_step
from eikon_engine.trace.target import Identity
from eikon_engine.trace.trace_file import TRACE_FILE, serialize_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


class SetSkillOutput(FileModel):
    """Set a new baseline output of a skill."""

    kind: Literal["set_skill_output"] = "set_skill_output"
    skill: str
    """Id of the skill usage."""
    version: int | None
    """Version of the skill that produced it."""
    result: Result
    output: FiniteJson = None
    """What the skill returned; null if it failed."""
    reason: str = Field(min_length=1)


class SetPageIntent(FileModel):
    """Change the classification of a page in an older recording."""

    kind: Literal["set_page_intent"] = "set_page_intent"
    page_intent: str
    """Id of the page intent."""
    intent: str
    confidence: float
    signals: tuple[FiniteJson, ...] = ()
    reason: str = Field(min_length=1)


def set_skill_output(trace: ExecutionTrace, operation: SetSkillOutput) -> ExecutionTrace:
    """Return a trace with a new output of a skill.

    Raises:
        TraceFieldError: there is no such skill usage.
    """
    usage = locate_step(trace, operation.skill).step
    if not isinstance(usage, SkillUsage):
        message = f"patch: expected a skill usage with the id {operation.skill!r}, got another step; use another id"
        raise TraceFieldError(message)
    update = {
        "version": operation.version,
        "result": operation.result,
        "output": operation.output,
        "output_recorded": isinstance(operation.result, Succeeded),
    }
    return replace_step(trace, usage, usage.model_copy(update=update))


def set_page_intent(trace: ExecutionTrace, operation: SetPageIntent) -> ExecutionTrace:
    """Return a trace with a new classification of a page.

    Raises:
        TraceFieldError: the id is missing or not unique.
    """
    found = [each for each in trace.page_intents if each.id == operation.page_intent]
    if len(found) != 1:
        message = (
            f"patch: expected one page intent with the id {operation.page_intent!r} in the trace, got {len(found)}; "
            "use another id"
        )
        raise TraceFieldError(message)
    update = {
        "intent": operation.intent,
        "confidence": operation.confidence,
        "signals": operation.signals,
        "strategy": None,
    }
    changed = tuple(each.model_copy(update=update) if each is found[0] else each for each in trace.page_intents)
    return trace.model_copy(update={"page_intents": changed})


CONTEXT_LINES: Final = 3


class AddMask(FileModel):
    """Exclude a part of some pages from comparison; the mask states the reason."""

    kind: Literal["add_mask"] = "add_mask"
    mask: Mask


class AddRule(FileModel):
    """Ignore a varying part of requests; the rule states the reason."""

    kind: Literal["add_rule"] = "add_rule"
    rule: VolatileRule


class SetPageTime(FileModel):
    """Change the page time that passes in an action before it is observed."""

    kind: Literal["set_settle"] = "set_settle"
    action: str
    """Id of the action."""
    virtual_ms: float = Field(ge=0)
    reason: str = Field(min_length=1)


class SetObservation(FileModel):
    """Set a new baseline observation of an action."""

    kind: Literal["set_observation"] = "set_observation"
    action: str
    """Id of the action."""
    observation: Observation
    result: Result | None = None
    """Result of the action; None keeps the recorded one."""
    identity: Identity | None = None
    """The element it acts on; None keeps the recorded one."""
    identity_second: Identity | None = None
    """The element a drag ends on; None keeps the recorded one."""
    reason: str = Field(min_length=1)


class SetTimeline(FileModel):
    """Change when a sealed replay delivers recorded responses."""

    kind: Literal["set_timeline"] = "set_timeline"
    timeline: tuple[MovedDelivery, ...]
    reason: str = Field(min_length=1)


class AddFoundSecrets(FileModel):
    """Add secrets that were found in newly recorded responses, with their stand-ins."""

    kind: Literal["add_found_secrets"] = "add_found_secrets"
    found: tuple[FoundSecret, ...]
    reason: str = Field(min_length=1)


class SetEnvironment(FileModel):
    """Set the environment of a trace that has none."""

    kind: Literal["set_environment"] = "set_environment"
    environment: Environment
    reason: str = Field(min_length=1)


Operation: TypeAlias = Annotated[
    AddRule
    | AddMask
    | SetPageTime
    | SetObservation
    | SetEnvironment
    | SetTimeline
    | AddFoundSecrets
    | SetSkillOutput
    | SetPageIntent
    | SetFields
    | DeleteStep
    | InsertStep
    | SplitAttempt
    | MergeAttempts
    | SetVariable,
    Field(discriminator="kind"),
]

PATCH_VERSION: Final = 1
EDIT_WARNING_PREFIX: Final = "edited: "
"""Prefix of the warning that describes an edit."""


class TracePatch(FileModel):
    """Changes to one trace, in order of application."""

    patch_version: Literal[1] = PATCH_VERSION
    operations: tuple[Operation, ...] = ()


def apply_patch(trace: ExecutionTrace, patch: TracePatch) -> ExecutionTrace:
    """Return the trace with all changes applied.

    Raises:
        TraceFieldError: a step is missing or not unique, or the change does not fit it.
    """
    for operation in patch.operations:
        trace = _apply_operation(trace, operation)
    return trace


def render_patch(trace: ExecutionTrace, patch: TracePatch) -> str:
    """Return the changes of a patch to `trace.json` as a unified diff; empty if nothing changes."""
    before, after = (
        serialize_trace(each).decode().splitlines(keepends=True) for each in (trace, apply_patch(trace, patch))
    )
    return "".join(difflib.unified_diff(before, after, f"a/{TRACE_FILE}", f"b/{TRACE_FILE}", n=CONTEXT_LINES))


def variables_patch(trace: ExecutionTrace, given: Mapping[str, str]) -> TracePatch:
    """Return the patch that sets the variables of a trace to the given values."""
    return TracePatch(
        operations=tuple(
            SetVariable(name=name, value=value, reason=_variable_reason(trace.variables.get(name)))
            for name, value in given.items()
            if trace.variables.get(name) != value
        )
    )


def _variable_reason(recorded: str | None) -> str:
    return "given with --var" if recorded is None else f"given with --var, recorded as {recorded!r}"


def operation_reason(operation: Operation) -> str:
    """Return the reason of a change."""
    match operation:
        case AddMask(mask=mask):
            return mask.reason
        case AddRule(rule=rule):
            return rule.reason
        case _:
            return operation.reason


def describe_operation(operation: Operation) -> str:  # noqa: PLR0911 - one case a kind
    """Describe a change in a few words."""
    match operation:
        case AddMask(mask=mask):
            return f"mask {describe_mask(mask)}"
        case AddRule(rule=rule):
            return f"do not compare {describe_rule(rule)}"
        case SetPageTime(action=action, virtual_ms=virtual_ms):
            return f"let {virtual_ms:.0f} ms of page time pass in {action}"
        case SetObservation(action=action):
            return f"set a new baseline of {action}"
        case SetEnvironment():
            return "set the environment"
        case SetTimeline(timeline=timeline):
            return f"serve {pluralize(len(timeline), 'recorded response')} on request instead of on schedule"
        case AddFoundSecrets(found=found):
            return f"redact {pluralize(len(found), 'more secret')}"
        case SetSkillOutput(skill=skill):
            return f"set a new output of {skill}"
        case SetPageIntent(page_intent=name, intent=intent):
            return f"classify the page of {name} as {intent}"
        case _:
            return describe_edit(operation)


def _apply_operation(trace: ExecutionTrace, operation: Operation) -> ExecutionTrace:  # noqa: PLR0911 - one case a kind
    match operation:
        case AddMask(mask=mask):
            return trace.model_copy(update={"masks": (*trace.masks, mask)})
        case AddRule(rule=rule):
            return _with_rule(trace, rule)
        case SetEnvironment(environment=environment):
            return trace.model_copy(update={"environment": environment})
        case SetTimeline(timeline=timeline):
            network = trace.network
            moved = None if network is None else network.model_copy(update={"timeline": timeline})
            return trace.model_copy(update={"network": moved})
        case AddFoundSecrets(found=found):
            redaction = trace.redaction.model_copy(update={"found": (*trace.redaction.found, *found)})
            return trace.model_copy(update={"redaction": redaction})
        case SetPageTime(action=name):
            return _with_changed_action(trace, name, lambda action: _with_page_time(action, operation))
        case SetObservation(action=name):
            return _with_changed_action(trace, name, lambda action: _with_baseline(action, operation))
        case SetSkillOutput():
            return set_skill_output(trace, operation)
        case SetPageIntent():
            return set_page_intent(trace, operation)
        case _:
            return _with_edit_warning(trace, _apply_edit(trace, operation), operation)


def _apply_edit(trace: ExecutionTrace, edit: Edit) -> ExecutionTrace:
    match edit:
        case SetFields():
            return set_fields(trace, edit)
        case DeleteStep():
            return delete_step(trace, edit)
        case InsertStep():
            return insert_step(trace, edit)
        case SplitAttempt():
            return split_attempt(trace, edit)
        case MergeAttempts():
            return merge_attempts(trace, edit)
        case SetVariable():
            return set_variable(trace, edit)


def _with_edit_warning(before: ExecutionTrace, after: ExecutionTrace, edit: Edit) -> ExecutionTrace:
    """Add a warning that describes the edit, its reason, and the observations it dropped."""
    if after == before:
        return before
    there = {action.id for subgoal in after.subgoal_traces for action in subgoal.actions_taken}
    lost = (_observed_actions(before) - _observed_actions(after)) & there
    note = f"{EDIT_WARNING_PREFIX}{describe_edit(edit)} ({edit.reason})"
    if lost:
        led = f"the observations of {pluralize(len(lost), 'action')} were dropped"
        note = f"{note}; {led}; certify the bundle or record it again"
    return after.model_copy(update={"warnings": (*after.warnings, note)})


def _observed_actions(trace: ExecutionTrace) -> set[str]:
    return {
        action.id
        for subgoal in trace.subgoal_traces
        for action in subgoal.actions_taken
        if action.observation is not None
    }


def _with_rule(trace: ExecutionTrace, rule: VolatileRule) -> ExecutionTrace:
    if trace.network is None:
        message = "patch: expected a recorded network to add a rule to, got none; record the mission again"
        raise TraceFieldError(message)
    network = trace.network.model_copy(update={"rules": (*trace.network.rules, rule)})
    return trace.model_copy(update={"network": network})


def _with_changed_action(
    trace: ExecutionTrace, name: str, change: Callable[[ActionTrace], ActionTrace]
) -> ExecutionTrace:
    found = [action.id for subgoal in trace.subgoal_traces for action in subgoal.actions_taken].count(name)
    if found != 1:
        message = f"patch: expected one action with the id {name!r} in the trace, got {found}; use another id"
        raise TraceFieldError(message)
    subgoals = tuple(
        subgoal.model_copy(
            update={"actions_taken": tuple(change(each) if each.id == name else each for each in subgoal.actions_taken)}
        )
        for subgoal in trace.subgoal_traces
    )
    return trace.model_copy(update={"subgoal_traces": subgoals})


def _with_page_time(action: ActionTrace, operation: SetPageTime) -> ActionTrace:
    if action.observation is None:
        message = f"patch: expected an observation of {action.id} to set its page time, got none; set a baseline first"
        raise TraceFieldError(message)
    observation = action.observation.model_copy(update={"virtual_ms": operation.virtual_ms})
    return action.model_copy(update={"observation": observation})


def _with_baseline(action: ActionTrace, operation: SetObservation) -> ActionTrace:
    performed = action.action
    target = getattr(performed, "target", None)
    if target is not None and operation.identity is not None:
        performed = performed.model_copy(update={"target": target.model_copy(update={"identity": operation.identity})})
    if isinstance(performed, Drag) and operation.identity_second is not None:
        second = performed.to.model_copy(update={"identity": operation.identity_second})
        performed = performed.model_copy(update={"to": second})
    result, value = operation.result or action.result, operation.observation.value
    is_unknown = isinstance(performed, Read | Evaluate) and performed.value is None and isinstance(result, Succeeded)
    if is_unknown and value is not None and value.long is None:
        performed = performed.model_copy(update={"value": value})
    return action.model_copy(update={"action": performed, "observation": operation.observation, "result": result})


def write_patch(path: Path, patch: TracePatch) -> None:
    """Write a patch as JSON, atomically.

    Raises:
        OutputError: the file cannot be written.
    """
    write_atomically(path, patch.model_dump_json(indent=1).encode() + b"\n")


def read_patch(path: Path) -> TracePatch:
    """Read a patch.

    Raises:
        TraceError: the file cannot be read.
        TraceSyntaxError: the text is not JSON.
        TraceFieldError: the JSON is not a patch.
    """
    try:
        data = read_document(path)
    except OSError as error:
        message = f"{path}: expected a patch saved by `eikon trace`, got {error.strerror}; check the path"
        raise TraceError(message, code="trace-missing") from error
    try:
        return TracePatch.model_validate_json(data)
    except ValidationError as error:
        raise validation_error(error, data, str(path)) from error
