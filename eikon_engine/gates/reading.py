"""Read gates: the mapping `gates` of a scenario or of a separate file."""

from __future__ import annotations

import json
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, get_args

from pydantic import JsonValue, ValidationError

from eikon_engine.errors import YamlError
from eikon_engine.files.models import DeferredAdapter, describe_fault, describe_value, field_location
from eikon_engine.files.yaml import YamlDocument, read_yaml_file
from eikon_engine.gates.monitor import Gate, GateSet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from eikon_engine.files.yaml import ValuePath

_GATE: Final[DeferredAdapter[Gate]] = DeferredAdapter(Gate)
GATE_TYPES: Final[Mapping[str, Any]] = {kind.model_fields["gate"].default: kind for kind in get_args(get_args(Gate)[0])}
GATE_NAMES: Final = tuple(sorted(GATE_TYPES))


def read_gates_file(path: Path) -> GateSet:
    """Read a YAML file with the single key `gates`.

    Raises:
        YamlError: the file cannot be read, or is not YAML; the file is not a mapping with that key, or a gate or limit
            is invalid.
    """
    text = read_yaml_file(path)
    if not isinstance(text.data, dict):
        raise _gate_error(text, (), f"expected a mapping with the key gates, got {describe_value(text.data)}")
    for key in text.data:
        if key != "gates":
            raise _gate_error(
                text, (key,), "expected the key gates and no other; indent the gates below it", at_key=True
            )
    return parse_gates_at(text, ("gates",))


def parse_gates(mapping: Mapping[str, JsonValue]) -> GateSet:
    """Parse gates from plain values by name.

    Raises:
        YamlError: a gate or limit is invalid.
    """
    return parse_gates_at(YamlDocument(source="gates", data=dict(mapping), positions={}, key_positions={}), ())


def parse_gates_at(text: YamlDocument, path: ValuePath) -> GateSet:
    """Parse gates at a path of a YAML text, so that messages contain line and column.

    Raises:
        YamlError: a gate or limit is invalid.
    """
    data = text.value_at(path) if not path or (isinstance(text.data, dict) and path[0] in text.data) else None
    if not isinstance(data, dict):
        raise _gate_error(text, path, f"expected a mapping of gates by name, got {describe_value(data)}")
    gates = tuple(gate for name, value in data.items() for gate in _parse_entry(text, (*path, name), name, value))
    if not gates:
        raise _gate_error(text, path, "expected at least one gate, got none")
    return GateSet(gates)


def _parse_entry(text: YamlDocument, path: ValuePath, name: str, value: JsonValue) -> Iterator[Gate]:
    kind = GATE_TYPES.get(name)
    if kind is None:
        (near,) = get_close_matches(name, GATE_NAMES, n=1, cutoff=0)
        message = f"expected the name of a gate, got {name!r}; did you mean {near}?"
        raise _gate_error(text, path, message, at_key=True)
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        for number, each in enumerate(value):
            yield _parse_gate(text, (*path, number), name, each)
    else:
        yield _parse_gate(text, path, name, value)


def _parse_gate(text: YamlDocument, path: ValuePath, name: str, value: JsonValue) -> Gate:
    """Parse one gate, from its fields or from the shorthand of its main field."""
    shorthand: str = GATE_TYPES[name].shorthand
    fields: dict[str, JsonValue] = value if isinstance(value, dict) else {shorthand: value}
    if "gate" in fields:
        raise _gate_error(
            text, (*path, "gate"), "this field is unknown; the key above is the name of the gate", at_key=True
        )
    plain = {"gate": name, **fields}
    try:
        return _GATE.validate_json(json.dumps(plain))
    except ValidationError as error:
        faults = error.errors(include_url=False)
        parts = field_location(faults[0], plain)
        here = [fault for fault in faults if field_location(fault, plain) == parts]
        where = (*path, *(parts if isinstance(value, dict) else parts[1:]))
        is_key = faults[0]["type"] == "extra_forbidden"
        raise _gate_error(text, where, describe_fault(here), at_key=is_key) from error


def _gate_error(text: YamlDocument, path: ValuePath, message: str, *, at_key: bool = False) -> YamlError:
    return YamlError(text.error_at(path, message, at_key=at_key).message, code="gates")
