"""The base model of every value that is written to a file, and its validation errors as one-line messages."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final, Generic, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, JsonValue, TypeAdapter
from pydantic_core import SchemaError, from_json

from eikon_engine.errors import TraceError, TraceFieldError, TraceSyntaxError
from eikon_engine.files.limits import MAX_JSON_DEPTH
from eikon_engine.files.text import pluralize

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails


_T = TypeVar("_T")


@contextmanager
def _interruptible() -> Iterator[None]:
    """Raise the `KeyboardInterrupt` that pydantic-core reports as an invalid schema.

    Ctrl-C often arrives in its native code, and a `SchemaError` would pass for a defect of the recorder.
    """
    try:
        yield
    except SchemaError as error:
        if KeyboardInterrupt.__name__ in str(error):
            raise KeyboardInterrupt from error
        raise


class FileModel(BaseModel):
    """A frozen, strict model that forbids unknown fields.

    Its validator is built when it is first used: a command uses few, and all take longer than the rest of its imports.
    Modules that define many models for replays do so without `from __future__ import annotations`: pydantic would have
    to compile each annotation again, which takes a quarter of the time to define them.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    @classmethod
    def model_rebuild(cls, **options: Any) -> bool | None:  # noqa: ANN401 - passed on
        """Build the validator; can be interrupted."""
        with _interruptible():
            return super().model_rebuild(**options)


class DeferredAdapter(Generic[_T]):
    """Validates values of a type, such as a union of models; built when it is first used, as models are."""

    def __init__(self, kind: Any) -> None:  # noqa: ANN401 - a type or an alias
        """Store the type."""
        self._adapter: TypeAdapter[_T] = TypeAdapter(
            kind, config=None if isinstance(kind, type) else ConfigDict(defer_build=True)
        )

    def validate_json(self, text: str | bytes) -> _T:
        """Parse and validate a JSON text.

        Raises:
            ValidationError: it is not valid.
        """
        with _interruptible():
            return self._adapter.validate_json(text)

    def validate_python(self, value: object, *, strict: bool | None = None) -> _T:
        """Validate a value, as strictly as the models say unless `strict` is given.

        Raises:
            ValidationError: it is not valid.
        """
        with _interruptible():
            return self._adapter.validate_python(value, strict=strict)


_SCALAR_TYPES: Final = frozenset({str, int, bool, type(None)})


def _check_readable(value: JsonValue) -> JsonValue:
    """Reject values that would not read back: non-finite numbers and nesting beyond the parser's limit."""
    level: list[JsonValue] = [value]
    depth = 0
    while level:
        below: list[JsonValue] = []
        for item in level:
            if isinstance(item, dict):
                members = list(item.values())
            elif isinstance(item, list):
                members = item
            elif isinstance(item, float) and not math.isfinite(item):
                message = f"expected finite numbers, got {item}; use null"
                raise ValueError(message)
            else:
                continue
            if members and depth == MAX_JSON_DEPTH:
                message = f"expected at most {MAX_JSON_DEPTH} levels of lists and objects, got more"
                raise ValueError(message)
            below += [member for member in members if type(member) not in _SCALAR_TYPES]
        level = below
        depth += 1
    return value


FiniteJson: TypeAlias = Annotated[JsonValue, AfterValidator(_check_readable)]
"""A JSON value that reads back as written: no NaN, no infinity, limited nesting."""


_UNION_TAGS: Final = ("type", "kind", "record", "gate")
_MAX_SHOWN: Final = 60
MAX_FAULTS: Final = 10_000
"""Number of faults of a text up to which they are described; more take longer than a person waits."""
_EXPECTED: Final[Mapping[str, str]] = {
    "string_type": "a string",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "datetime_type": "a date and time as text",
    "timezone_aware": "a date and time with its time zone",
    "none_required": "null",
}


def validation_error(error: ValidationError, text: bytes, source: str) -> TraceError:
    """Build an error for the first fault of a JSON text, with the path of its field in the file."""
    if error.error_count() > MAX_FAULTS:
        message = (
            f"{source}: {error.error_count():,} fields are missing, unknown or invalid; this is another kind of file"
        )
        return TraceFieldError(message)
    faults = error.errors(include_url=False)
    first = faults[0]
    if first["type"] == "json_invalid":
        return syntax_error(first["msg"].removeprefix("Invalid JSON: "), source)
    data = from_json(text)  # to distinguish fields in a location from names of union members
    path = _field_path(first, data)
    here = [fault for fault in faults if _field_path(fault, data) == path]
    others = len({_field_path(fault, data) for fault in faults}) - 1
    more = f" (and {others} more)" if others else ""
    return TraceFieldError(f"{source}: {path + ': ' if path else ''}{describe_fault(here)}{more}")


def is_not_json(error: ValidationError) -> bool:
    """Return whether a text was invalid because it is not JSON."""
    if error.error_count() != 1:
        return False
    return error.errors(include_url=False, include_input=False, include_context=False)[0]["type"] == "json_invalid"


def syntax_error(problem: str, source: str) -> TraceSyntaxError:
    """Build the error for a text that is not JSON or is truncated."""
    return TraceSyntaxError(f"{source}: expected valid JSON, got: {problem}; restore the file or record again")


def field_error(source: str, path: str, expected: str, found: object) -> TraceFieldError:
    """Build the error for a field that failed a manual check."""
    return TraceFieldError(f"{source}: {path}: expected {expected}, got {describe_value(found)}")


def describe_value(value: object) -> str:
    """Describe a plain value for a message: scalars as JSON, everything else by its type."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, str):
        text = value if len(value) <= _MAX_SHOWN else value[:_MAX_SHOWN] + "…"
        return f"the string {json.dumps(text, ensure_ascii=False)}"
    if isinstance(value, Sequence):
        return "a list"
    return json.dumps(value) if value is None or isinstance(value, (bool, int, float)) else type(value).__name__


def format_path(parts: Sequence[str | int]) -> str:
    """Format a path as `subgoal_traces[1].actions_taken[0].action.url`."""
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def describe_fault(faults: Sequence[ErrorDetails]) -> str:
    """Describe what is wrong with one field; several faults are those of the members of a union."""
    fault = faults[0]
    kind = fault["type"]
    if kind == "missing":
        return "this field is missing"
    if kind == "extra_forbidden":
        return "this field is unknown; correct or remove it, or use the version of eikon that knows it"
    if kind == "value_error":
        return fault["msg"].removeprefix("Value error, ")
    if kind in {"union_tag_invalid", "union_tag_not_found"}:
        return _describe_tag_fault(fault)
    if kind == "too_short":
        context = fault.get("ctx", {})
        return f"expected at least {pluralize(context['min_length'], 'item')}, got {context['actual_length'] or 'none'}"
    expected = " or ".join(dict.fromkeys(_expectation(each) for each in faults))
    return f"expected {expected}, got {describe_value(fault['input'])}"


def _describe_tag_fault(fault: ErrorDetails) -> str:
    context = fault.get("ctx", {})
    if "expected_tags" not in context:
        return "this field is missing"
    known = str(context["expected_tags"]).replace("'", "")
    return f"expected one of {known}, got {describe_value(context['tag'])}"


def _expectation(fault: ErrorDetails) -> str:
    if fault["type"] == "model_type" and fault.get("ctx", {}).get("class_name") == "SecretRef":
        return 'a secret reference {"secret": NAME}'
    if fault["type"] == "string_pattern_mismatch":
        return f"text that matches {fault.get('ctx', {})['pattern']}"
    if fault["type"] == "greater_than_equal":
        return f"{fault.get('ctx', {})['ge']} or more"
    if fault["type"] in _EXPECTED:
        return _EXPECTED[fault["type"]]
    return re.sub(r"^(Input|[A-Z]\w+) should (be |have )?", "", fault["msg"])


def _field_path(fault: ErrorDetails, data: object) -> str:
    return format_path(field_location(fault, data))


def field_location(fault: ErrorDetails, data: object) -> tuple[str | int, ...]:
    """Return the keys and indices that lead to the invalid field; names of union members are omitted."""
    parts: list[str | int] = []
    value = data
    tagged = False
    for part in fault["loc"]:
        if isinstance(value, Mapping):
            if not tagged and any(value.get(field) == part for field in _UNION_TAGS):
                tagged = True
                continue
            parts.append(part)
            value = value.get(part)
        elif isinstance(value, Sequence) and isinstance(part, int) and not isinstance(value, str):
            parts.append(part)
            value = value[part] if part < len(value) else None
        else:
            continue
        tagged = False
    if fault["type"] in {"union_tag_invalid", "union_tag_not_found"}:
        parts.append(str(fault.get("ctx", {}).get("discriminator", "type")).strip("'"))
    return tuple(parts)
