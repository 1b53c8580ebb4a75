"""Random values of every model of the trace, derived from the models, so that no field is omitted."""

from __future__ import annotations

import types
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from hypothesis import strategies as st
from pydantic import BaseModel

from eikon_engine.trace.actions import Click, UrlMatcher
from eikon_engine.trace.execution import ActionTrace, ExecutionTrace, SubgoalTrace, Succeeded
from eikon_engine.trace.masks import NODE_PATH, SelectorPart
from eikon_engine.trace.rules import ResponseValueRule
from eikon_engine.trace.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic.fields import FieldInfo

START = datetime(2025, 3, 14, 9, 30, tzinfo=UTC)

_TEXTS = st.text(st.characters(codec="utf-8"), max_size=6)
_TIMES = st.datetimes(
    timezones=st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes))),
    min_value=datetime(1980, 1, 1),  # noqa: DTZ001 - the zone is drawn apart
    max_value=datetime(2090, 1, 1),  # noqa: DTZ001
)
_FLOATS = st.floats(allow_nan=False, allow_infinity=False)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | _FLOATS | _TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_TEXTS, inner, max_size=2),
    max_leaves=4,
)
_PATTERNS = {
    r"^[0-9a-f]{64}$": r"\A[0-9a-f]{64}\Z",
    r"^[A-Za-z_][A-Za-z0-9_]*$": r"\A[A-Za-z_][A-Za-z0-9_]{0,5}\Z",
    r"^[^?#]+$": r"\A(\*|https?://[a-z*]{1,5}/[a-z*]{0,5})\Z",
    r'^\$(\.[^.\[\]"]+|\[[0-9]+\]|\[\*\]|\["[^"\\]+"\])+$': r'\A\$(\.[a-z*]|\[[0-9]\]|\[\*\]|\["[a-z ]"\]){1,3}\Z',
    r"^(/[^/?#*]+)+/\*$": r"\A/[a-z]{1,4}/\*\Z",
    r"^[aimsx]*$": r"\A[aimsx]{0,2}\Z",
    NODE_PATH: r"\A(\*\* > )?html > body(#a|:nth\([1-9]\))( > (#shadow|\*|text\(\)))?\Z",
}


def values_of(model: type[BaseModel]) -> st.SearchStrategy[Any]:
    """Generate values of a model, with every field random or at its default."""
    fields = {name: _field(field) for name, field in model.model_fields.items()}
    if model is SelectorPart:
        fields["selector"] = st.sampled_from(["a", "aside.ad, #b", "ul > li:nth-child(2)"])
    if model is UrlMatcher:
        fields["text"] = st.sampled_from(["https://a/[b-d]*", "items/{2}", ""])
    if "pattern" in fields:
        fields["pattern"] = st.sampled_from(["[0-9a-f]{8}", "[0-9]{13}"])
    if model is ResponseValueRule:
        fields["pattern"] = st.sampled_from([r'"id": "([0-9a-f]{8})"', r"order=([0-9]+)"])
    required = {name: values for name, values in fields.items() if model.model_fields[name].is_required()}
    optional = {name: values for name, values in fields.items() if name not in required}
    return st.fixed_dictionaries(required, optional=optional).map(lambda drawn: model(**_with_unique_ids(drawn)))


def _with_unique_ids(drawn: dict[str, Any]) -> dict[str, Any]:
    """Give steps and attempts unique numbers, and drop fields that do not apply to the others."""
    kind = getattr(drawn.get("part"), "kind", "")
    if "reason" in drawn and kind in {"console_error", "read", "request", "storage", "title"}:
        drawn.pop("frame", None)
        drawn.pop("url", None)
    if drawn.get("target") is not None:
        drawn.pop("full_page", None)
        drawn.pop("clip", None)
    if not _is_file_name(drawn.get("name")):
        drawn.pop("last_modified_ms", None)
    files = drawn.get("files", ())
    if any(each.last_modified_ms is not None for each in files):
        drawn["files"] = tuple(each for each in files if _is_file_name(each.name))
    steps = iter(range(1, 100))
    for name in sorted(drawn.keys() & {"actions_taken", "skills_used", "tools_used", "completions"}):
        drawn[name] = tuple(step.model_copy(update={"sequence": next(steps)}) for step in drawn[name])
    if "subgoal_traces" in drawn:
        attempts = enumerate(drawn["subgoal_traces"])
        drawn["subgoal_traces"] = tuple(each.model_copy(update={"id": f"{n}{each.id}"}) for n, each in attempts)
    return drawn


def _is_file_name(name: object) -> bool:
    return name not in {"", ".", ".."} and not set(str(name)) & {"/", "\0"}


def _pattern(limit: Any) -> str | None:  # noqa: ANN401 - whatever annotates a type
    return next((each.pattern for each in getattr(limit, "metadata", ()) if hasattr(each, "pattern")), None)


def _field(field: FieldInfo) -> st.SearchStrategy[Any]:
    pattern = next((each.pattern for each in field.metadata if hasattr(each, "pattern")), None)
    if pattern is not None:
        return st.from_regex(_PATTERNS[pattern])
    values = _type(field.annotation)
    for limit in field.metadata:
        if hasattr(limit, "ge"):
            values = values.map(_if_any(partial(_at_least, limit.ge)))
        if hasattr(limit, "le"):
            values = values.map(_if_any(partial(min, limit.le)))
        if hasattr(limit, "lt"):
            values = values.map(_if_any(partial(min, limit.lt - 1)))
        if hasattr(limit, "gt"):
            values = values.map(_if_any(abs)).map(_if_any(lambda value: value or type(value)(1)))
        if hasattr(limit, "min_length"):
            values = values.map(lambda value: value or "x")
    return values


def _if_any(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Allow None for an optional field with constraints."""
    return lambda value: None if value is None else change(value)


def _at_least(least: float, value: float) -> float:
    return max(least, abs(value))


def _limited(arguments: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    """Generate values of an `Annotated` type."""
    pattern = next((each for each in map(_pattern, arguments[1:]) if each is not None), None)
    if pattern is not None:
        return st.from_regex(_PATTERNS[pattern])
    is_long = any(hasattr(each, "min_length") for limit in arguments[1:] for each in getattr(limit, "metadata", ()))
    return _type(arguments[0]).map(lambda value: value or "x") if is_long else _type(arguments[0])


def _type(annotation: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401, PLR0911 - one line for each kind of annotation
    origin, arguments = get_origin(annotation), get_args(annotation)
    if "JsonValue" in repr(annotation) and origin is not dict and origin is not tuple:
        return _JSON
    if origin is Annotated:
        return _limited(arguments)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in {Union, types.UnionType}:
        return st.one_of([_type(each) for each in arguments])
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(_type(arguments[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*[_type(each) for each in arguments])
    if origin is dict:
        return st.dictionaries(_type(arguments[0]), _type(arguments[1]), max_size=2)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return st.deferred(lambda: values_of(annotation))
    if annotation is datetime or "AwareDatetime" in repr(annotation):
        return _TIMES
    return {str: _TEXTS, int: st.integers(-(2**40), 2**40), float: _FLOATS, bool: st.booleans(), type(None): st.none()}[
        annotation
    ]


def traces() -> st.SearchStrategy[ExecutionTrace]:
    """Generate whole traces."""
    return values_of(ExecutionTrace)


def action(sequence: int, **changes: Any) -> ActionTrace:  # noqa: ANN401 - the model checks them
    """Build one successful click."""
    click = Click(target=Target(selector="#go"))
    fields: dict[str, Any] = {"id": f"a{sequence}", "sequence": sequence, "action": click, "result": Succeeded()}
    return ActionTrace(**fields | changes)


def subgoal(name: str = "s1", **changes: Any) -> SubgoalTrace:  # noqa: ANN401 - the model checks them
    """Build one attempt at a subgoal."""
    fields: dict[str, Any] = {"id": f"{name}__attempt_1", "subgoal_id": name, "description": "Buy"}
    return SubgoalTrace(**fields | {"status": "complete"} | changes)


def trace(**changes: Any) -> ExecutionTrace:  # noqa: ANN401 - the model checks them
    """Build a trace of one mission."""
    fields: dict[str, Any] = {"id": "t1", "mission_id": "m1", "mission_text": "Buy bread", "started_at": START}
    return ExecutionTrace(**fields | {"status": "complete"} | changes)
