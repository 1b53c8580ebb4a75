"""Values that a replay is given: variables and secrets.

A variable is a part of texts and URLs of actions that may have a different value in each replay. `{{name}}` is a
variable only if the trace declares that name; otherwise it is text that the mission typed. A secret is referenced in a
trace, provided at replay and never written; its placeholder, `{{eikon-secret:NAME}}`, contains a hyphen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel

from eikon_engine.errors import RequirementError, UsageError
from eikon_engine.files.text import require_utf8
from eikon_engine.secrets.redaction import secret_names_in
from eikon_engine.secrets.sources import ENVIRONMENT_PREFIX
from eikon_engine.trace import actions
from eikon_engine.trace.actions import Action, SecretRef, Text
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.steps import map_actions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from eikon_engine.trace.execution import ExecutionTrace

_REFERENCE: Final = re.compile(r"\{\{([A-Za-z_][A-Za-z0-9_]*)\}\}")


def variable_reference(name: str) -> str:
    """Return the reference to a variable, `{{name}}`."""
    return "{{" + name + "}}"


def referenced_names(text: str) -> frozenset[str]:
    """Return the names of all variable references in a text, declared or not."""
    return frozenset(_REFERENCE.findall(text))


def resolve_action(action: actions.Action, values: Mapping[str, str | None]) -> actions.Action:
    """Return an action with variable references replaced by values; references without a value are kept.

    All are replaced in one pass, so a value that looks like a reference is plain text.
    """

    def fill_in(found: re.Match[str]) -> str:
        value = values.get(found[1])
        return found[0] if value is None else value

    return _map_texts(action, lambda text: _REFERENCE.sub(fill_in, text)) if values else action


def resolve_trace(trace: ExecutionTrace) -> ExecutionTrace:
    """Return a trace with variable references replaced by their recorded values."""
    if not trace.variables:
        return trace

    def fill_in(step: ActionTrace) -> ActionTrace:
        return step.model_copy(update={"action": resolve_action(step.action, trace.variables)})

    return map_actions(trace, fill_in)


def action_variables(action: actions.Action) -> frozenset[str]:
    """Return the variables referenced by an action, declared or not."""
    found: set[str] = set()

    def collect_names(text: str) -> str:
        found.update(referenced_names(text))
        return text

    _map_texts(action, collect_names)
    return frozenset(found)


def used_variables(trace: ExecutionTrace) -> tuple[str, ...]:
    """Return the variables of a trace that an action uses, in order of declaration."""
    steps = (step for attempt in trace.subgoal_traces for step in attempt.steps if isinstance(step, ActionTrace))
    used = frozenset[str]().union(*(action_variables(step.action) for step in steps))
    return tuple(name for name in trace.variables if name in used)


def require_values(trace: ExecutionTrace, given: Mapping[str, str]) -> None:
    """Check that every variable has a value and every value has a variable.

    Raises:
        UsageError: a value is given for a variable that no action uses.
        RequirementError: a variable without a recorded value was given none.
    """
    used = used_variables(trace)
    for name in given:
        if name not in used:
            known = f"its variables are {', '.join(used)}" if used else "it has no variables"
            message = f"--var {name}: expected a variable that an action of the trace uses, got an unused name; {known}"
            raise UsageError(message)
    for name in used:
        if trace.variables[name] is None and name not in given:
            message = f"variable {name} of the trace has no value; use --var {name}=…"
            raise RequirementError(message, code="variable-missing")


def require_variable_names(names: Iterable[str], where: str) -> None:
    """Check the names of variables; `where` names their origin in messages.

    Raises:
        UsageError: a name is invalid.
    """
    for name in names:
        if not _REFERENCE.fullmatch(variable_reference(name)):
            message = f"{where}: expected a name of ASCII letters, digits and underscores, got {name!r}; choose another"
            raise UsageError(message)


def parse_variables(texts: Iterable[str]) -> dict[str, str]:
    """Parse `NAME=VALUE` options.

    Raises:
        UsageError: a text has another form, or a name is given twice.
    """
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        require_utf8(text, "--var")
        if not equals:
            message = f"--var: expected NAME=VALUE, got {text!r}"
            raise UsageError(message)
        require_variable_names([name], "--var")
        if name in values:
            message = f"--var {name}: expected one value, got two; remove one of them"
            raise UsageError(message)
        values[name] = value
    return values


def _map_texts(action: actions.Action, change: Callable[[str], str]) -> actions.Action:  # noqa: PLR0911 - one case a kind
    """Apply `change` to the texts and URLs of an action that may reference variables."""
    match action:
        case actions.Navigate(url=url):
            return action.model_copy(update={"url": change(url)})
        case actions.Fill(text=str() as text) | actions.TypeText(text=str() as text):
            return action.model_copy(update={"text": change(text)})
        case actions.SetValue(text=str() as text) | actions.AnswerDialog(text=str() as text):
            return action.model_copy(update={"text": change(text)})
        case actions.Drop(data=data):
            dropped = [
                each.model_copy(update={"value": change(each.value)}) if isinstance(each.value, str) else each
                for each in data
            ]
            return action.model_copy(update={"data": tuple(dropped)})
        case actions.SelectOption(options=options):
            return action.model_copy(update={"options": tuple(map(change, options))})
        case actions.WaitFor(
            condition=actions.UrlCondition() | actions.RequestCondition() | actions.ResponseCondition() as condition
        ):
            moved = condition.model_copy(update={"url": change(condition.url)})
            return action.model_copy(update={"condition": moved})
        case actions.WaitFor(
            condition=actions.UrlMatchCondition(matcher=matcher) | actions.TrafficCondition(matcher=matcher)
        ):
            moved_matcher = matcher.model_copy(update={"text": change(matcher.text)})
            matched = action.condition.model_copy(update={"matcher": moved_matcher})
            return action.model_copy(update={"condition": matched})
        case actions.Assert(expectation=actions.AssertUrl() as expectation):
            expected = expectation.model_copy(update={"url": change(expectation.url)})
            return action.model_copy(update={"expectation": expected})
        case actions.Assert(expectation=actions.AssertText() as expectation):
            read = expectation.model_copy(update={"text": change(expectation.text)})
            return action.model_copy(update={"expectation": read})
        case _:
            return action


@dataclass(frozen=True, slots=True)
class SecretValues:
    """The values of secret references; never shown by `repr`."""

    values: Mapping[str, str] = field(default_factory=dict, repr=False)

    def resolve(self, text: Text) -> str:
        """Return the plain text.

        Raises:
            RequirementError: the secret was not provided.
        """
        if not isinstance(text, SecretRef):
            return text
        try:
            return self.values[text.secret]
        except KeyError:
            raise RequirementError(missing_secret_message(text.secret), code="secret-missing") from None


def one_name_per_value(secrets: Mapping[str, str]) -> dict[str, str]:
    """Return secrets without the names of values that have a later name: in what is recorded, each value has one."""
    names = {value: name for name, value in secrets.items()}
    return {name: value for value, name in names.items()}


def require_secrets(names: Iterable[str], given: Mapping[str, str], reasons: Mapping[str, str] | None = None) -> None:
    """Check that each secret has a value; `reasons` say why a configured one has none.

    Raises:
        RequirementError: a secret was not provided.
    """
    for name in names:
        if name not in given:
            message = missing_secret_message(name, (reasons or {}).get(name, ""))
            raise RequirementError(message, code="secret-missing")


def missing_secret_message(name: str, reason: str = "") -> str:
    """Return the message for a missing secret, with the three ways to provide it, and why a configured one has none."""
    return (
        f"secret {name} was not provided; use --secret {name}=…, --secret-file, or the variable "
        f"{ENVIRONMENT_PREFIX}{name}{f' ({reason})' if reason else ''}"
    )


def action_secret_names(action: Action) -> tuple[str, ...]:
    """Return the names of the secrets that an action types or drops."""
    texts = [getattr(action, "text", None)]
    if isinstance(action, actions.Drop):
        texts = [each.value for each in action.data]
    whole = [text.secret for text in texts if isinstance(text, SecretRef)]
    return tuple(dict.fromkeys((*whole, *placeholder_names(action))))


def placeholder_names(action: Action) -> tuple[str, ...]:
    """Return the names of the secrets whose placeholders appear in the texts of an action, without duplicates."""
    return tuple(dict.fromkeys(name for text in _texts_in(action) for name in secret_names_in(text)))


def _texts_in(value: object) -> Iterator[str]:
    """Yield all texts in a model or JSON value; to serialize it would build a serializer for each model first."""
    match value:
        case str():
            yield value
        case BaseModel():
            for _, each in value:
                yield from _texts_in(each)
        case dict():
            for name, each in value.items():
                yield from _texts_in(name)
                yield from _texts_in(each)
        case tuple() | list():
            for each in value:
                yield from _texts_in(each)
        case _:
            pass
