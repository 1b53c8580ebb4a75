"""Variables: parts of texts and URLs of actions that may have another value in each replay.

`{{name}}` is a variable only where the trace declares that name; a mission may have typed such a text itself. Secrets
(`{{eikon-secret:NAME}}`) are something else: their names have a hyphen, and their values are written nowhere.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import UsageError, VariableMissingError
from eikon_engine.trace import actions
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.located import with_actions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from eikon_engine.trace.execution import ExecutionTrace

_MARK: Final = re.compile(r"\{\{([A-Za-z_][A-Za-z0-9_]*)\}\}")


_HALF: Final = re.compile(r"[\ud800-\udfff]")
"""Halves of characters, as bytes of a command line become that are no UTF-8; no file can hold them."""


def mark_of(name: str) -> str:
    """Return the text that stands for a variable."""
    return "{{" + name + "}}"


def names_in(text: str) -> frozenset[str]:
    """Return the names that stand in a text as variables do, declared or not."""
    return frozenset(_MARK.findall(text))


def resolved_action(action: actions.Action, values: Mapping[str, str | None]) -> actions.Action:
    """Return an action with values in the place of variables; what has no value stays as it is.

    All are replaced in one pass: a value that looks like a variable is a text.
    """

    def fill_in(found: re.Match[str]) -> str:
        value = values.get(found[1])
        return found[0] if value is None else value

    return _with_texts(action, lambda text: _MARK.sub(fill_in, text)) if values else action


def resolved_trace(trace: ExecutionTrace) -> ExecutionTrace:
    """Return a trace with the recorded values in the place of its variables."""
    if not trace.variables:
        return trace

    def fill_in(step: ActionTrace) -> ActionTrace:
        return step.model_copy(update={"action": resolved_action(step.action, trace.variables)})

    return with_actions(trace, fill_in)


def used_in(action: actions.Action) -> frozenset[str]:
    """Return the names that stand where variables may, declared or not."""
    found: set[str] = set()

    def look(text: str) -> str:
        found.update(names_in(text))
        return text

    _with_texts(action, look)
    return frozenset(found)


def used_variables(trace: ExecutionTrace) -> tuple[str, ...]:
    """Name the variables of a trace that some action uses, in the order of its declarations."""
    steps = (step for attempt in trace.subgoal_traces for step in attempt.steps if isinstance(step, ActionTrace))
    used = frozenset[str]().union(*(used_in(step.action) for step in steps))
    return tuple(name for name in trace.variables if name in used)


def demand_values(trace: ExecutionTrace, given: Mapping[str, str]) -> None:
    """Make sure that every variable has a value, and that every value has a variable.

    Raises:
        UsageError: no action uses a variable that is given.
        VariableMissingError: a variable was recorded without a value, and nobody gave one.
    """
    used = used_variables(trace)
    for name in given:
        if name not in used:
            known = f"its variables are {', '.join(used)}" if used else "it has no variables"
            message = f"--var {name}: wanted a variable that an action of the trace uses, found none; {known}"
            raise UsageError(message)
    for name in used:
        if trace.variables[name] is None and name not in given:
            message = f"variable {name} of the trace has no value; use --var {name}=…"
            raise VariableMissingError(message)


def demand_whole(text: str, where: str) -> None:
    """Make sure that a text of the command line can stand in a file; `where` says in messages where it stood.

    Raises:
        UsageError: it has bytes that are no UTF-8.
    """
    if _HALF.search(text):
        message = f"{where}: wanted text in UTF-8, found {text!r}"
        raise UsageError(message)


def demand_names(names: Iterable[str], where: str) -> None:
    """Make sure that variables have names; `where` says in messages who gave them.

    Raises:
        UsageError: one is no name.
    """
    for name in names:
        if not _MARK.fullmatch(mark_of(name)):
            message = f"{where}: wanted a name of ASCII letters, digits and underscores, found {name!r}; choose another"
            raise UsageError(message)


def parse_variables(texts: Iterable[str]) -> dict[str, str]:
    """Read `NAME=VALUE`, as given on the command line.

    Raises:
        UsageError: a text is something else, or a name is given twice.
    """
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        demand_whole(text, "--var")
        if not equals:
            message = f"--var: wanted NAME=VALUE, found {text!r}"
            raise UsageError(message)
        demand_names([name], "--var")
        if name in values:
            message = f"--var {name}: wanted one value, found two; drop one of them"
            raise UsageError(message)
        values[name] = value
    return values


def _with_texts(action: actions.Action, change: Callable[[str], str]) -> actions.Action:  # noqa: PLR0911 - one case a kind
    """Change the texts and URLs of an action in which variables may stand."""
    match action:
        case actions.Navigate(url=url):
            return action.model_copy(update={"url": change(url)})
        case actions.Fill(text=str() as text) | actions.TypeText(text=str() as text):
            return action.model_copy(update={"text": change(text)})
        case actions.SetValue(text=str() as text) | actions.AnswerDialog(text=str() as text):
            return action.model_copy(update={"text": change(text)})
        case actions.SelectOption(options=options):
            return action.model_copy(update={"options": tuple(map(change, options))})
        case actions.WaitFor(condition=actions.UrlCondition() as condition):
            moved = condition.model_copy(update={"url": change(condition.url)})
            return action.model_copy(update={"condition": moved})
        case actions.Assert(expectation=actions.AssertUrl() as expectation):
            expected = expectation.model_copy(update={"url": change(expectation.url)})
            return action.model_copy(update={"expectation": expected})
        case actions.Assert(expectation=actions.AssertText() as expectation):
            read = expectation.model_copy(update={"text": change(expectation.text)})
            return action.model_copy(update={"expectation": read})
        case _:
            return action
