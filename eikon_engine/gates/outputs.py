"""The gate on outputs: outputs of a skill or tool match a JSON Schema."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field, JsonValue, model_validator

from eikon_engine.errors import RequirementError
from eikon_engine.files.extras import install_command
from eikon_engine.files.models import FileModel, FiniteJson
from eikon_engine.files.text import pluralize, shorten
from eikon_engine.gates.meter import GateReading, RunState
from eikon_engine.outcome.events import EventLine, RecordedSkill, SkillRun, ToolResult
from eikon_engine.trace.execution import Succeeded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.gates.meter import ResolveValue
    from eikon_engine.outcome.stored_values import StoredValue

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


class OutputMatches(FileModel):
    """Each output of one skill or tool matches a JSON Schema: draft 2020-12, unless its `$schema` names another."""

    gate: Literal["output_matches"] = "output_matches"
    skill: str | None = Field(default=None, min_length=1)
    tool: str | None = Field(default=None, min_length=1)
    expected: dict[str, FiniteJson] = Field(alias="schema")
    """References must point into the schema itself: nothing is fetched."""
    shorthand: ClassVar[str] = "schema"

    @property
    def limit(self) -> JsonValue:
        """The schema."""
        return self.expected

    @model_validator(mode="after")
    def _check_subject(self) -> Self:
        if (self.skill is None) == (self.tool is None):
            raise ValueError("expected either a skill or a tool, and not both")
        return self

    @model_validator(mode="after")
    def _check_schema(self) -> Self:
        fault = _schema_error(self.expected)
        if fault is not None:
            raise ValueError(f"schema: {fault}")
        return self

    def meter(self, value_of: ResolveValue) -> _OutputMeter:
        """Start measuring."""
        return _OutputMeter(self, value_of)


@dataclass(slots=True)
class _OutputMeter:
    gate: OutputMatches
    value_of: ResolveValue
    run: RunState = field(default_factory=RunState)
    valid: int = 0
    faults: list[str] = field(default_factory=list)

    def process(self, line: EventLine) -> None:
        self.run.process(line.event)
        for stored in self._outputs(line):
            fault = _mismatch(self.gate.expected, self.value_of(stored))
            if fault is None:
                self.valid += 1
            else:
                self.faults.append(f"line {line.sequence}: {fault}")

    def reading(self) -> GateReading:
        name = f"skill {self.gate.skill}" if self.gate.skill is not None else f"tool {self.gate.tool}"
        if self.faults:
            message = f"{pluralize(len(self.faults), 'output')} of {name} did not match, first in {self.faults[0]}"
            return GateReading(passed=False, observed=list(self.faults), message=message)
        if not self.valid:
            return GateReading(passed=None, observed=[], message=f"no output of {name}")
        return GateReading(passed=True, observed=[], message=f"{pluralize(self.valid, 'output')} of {name}, all valid")

    def _outputs(self, line: EventLine) -> Iterator[StoredValue]:
        match line.event:
            case SkillRun(outcome=outcome, output=output) if outcome.skill == self.gate.skill:
                is_known = not isinstance(outcome, RecordedSkill) or outcome.output_recorded
                if isinstance(outcome.result, Succeeded) and is_known:
                    yield output
            case ToolResult(tool=tool, result=result) if tool == self.gate.tool and result is not None:
                yield result
            case _:
                pass


def _schema_error(schema: dict[str, JsonValue]) -> str | None:
    """Return what is wrong with a schema; None if it is valid."""
    kind = _validator_class(schema)
    if kind is None:
        return f"$.$schema: expected a known draft of JSON Schema, got {_schema_draft(schema)!r}; omit it"
    from jsonschema.exceptions import SchemaError  # noqa: PLC0415 - an extra, and slow to import
    from referencing.exceptions import Unresolvable  # noqa: PLC0415 - as above

    try:
        kind.check_schema(schema, format_checker=kind.FORMAT_CHECKER)
    except SchemaError as error:
        return f"{error.json_path}: {_reason(error)}"
    except (OverflowError, RecursionError) as error:  # of its regular expressions, or of itself
        return f"the schema cannot be used: {error}"
    for reference in _references(schema):
        if not reference.startswith("#"):
            return f"expected references into the schema itself, got {reference!r}; move it to $defs"
        try:
            _resolve(schema, reference)
        except Unresolvable:
            return f"unresolved reference {reference!r}; correct it"
    return None


def _mismatch(schema: dict[str, JsonValue], value: JsonValue) -> str | None:
    """Return why a value does not match; None if it does."""
    from jsonschema.exceptions import best_match  # noqa: PLC0415 - an extra, and slow to import
    from jsonschema_specifications import REGISTRY  # noqa: PLC0415 - as above
    from referencing.exceptions import Unresolvable  # noqa: PLC0415 - as above

    kind = _validator_class(schema)
    try:
        mismatch = best_match(kind(schema, registry=REGISTRY).iter_errors(value))
    except RecursionError:
        return "the schema is recursive without end"
    except Unresolvable as error:
        return f"unresolved reference {error.ref!r} in the schema"
    return None if mismatch is None else f"{mismatch.json_path}: {_reason(mismatch)}"


def _validator_class(schema: dict[str, JsonValue]) -> Any:  # noqa: ANN401 - jsonschema ships no types
    """Return the validator class for the draft of a schema; None if the draft is unknown.

    Raises:
        RequirementError: jsonschema is not installed.
    """
    try:
        from jsonschema.validators import Draft202012Validator, validator_for  # noqa: PLC0415 - an extra, slow to import
    except ImportError as error:
        message = f"output_matches: missing library: jsonschema; run {install_command('scenario')}"
        raise RequirementError(message) from error
    draft = _schema_draft(schema)
    if draft is None:
        return Draft202012Validator
    return validator_for({"$schema": draft}, default=None) if isinstance(draft, str) else None


def _schema_draft(schema: dict[str, JsonValue]) -> JsonValue:
    return schema.get("$schema")


def _resolve(schema: JsonValue, reference: str) -> None:
    from jsonschema_specifications import REGISTRY  # noqa: PLC0415 - an extra, and slow to import
    from referencing.jsonschema import DRAFT202012  # noqa: PLC0415 - as above

    resource = DRAFT202012.create_resource(schema)
    REGISTRY.resolver_with_root(resource).lookup(reference)


def _references(schema: JsonValue) -> Iterator[str]:
    pending = [schema]
    while pending:
        each = pending.pop()
        if isinstance(each, dict):
            yield from (value for name in _REFERENCES if isinstance(value := each.get(name), str))
            pending.extend(each.values())
        elif isinstance(each, list):
            pending.extend(each)


def _reason(error: Any) -> str:  # noqa: ANN401 - jsonschema ships no types
    """Return the first line of an error, in which a long value is cut so that what is wrong with it is shown."""
    message, value = str(error.message), repr(error.instance)
    if message.startswith(value):
        message = shorten(value, _MAX_VALUE) + message.removeprefix(value)
    return shorten(message.partition("\n")[0], _MAX_MESSAGE)


_MAX_MESSAGE = 300
_MAX_VALUE = 100
