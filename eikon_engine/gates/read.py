"""Read gates: the mapping `gates` of a scenario or of a separate file."""

from __future__ import annotations

import json
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, get_args

from pydantic import JsonValue, TypeAdapter, ValidationError

from eikon_engine.errors import GatesError
from eikon_engine.gates.watch import Gate, Gates
from eikon_engine.trace.field_errors import fault_text, field_parts, shown
from eikon_engine.trace.yaml_text import YamlText, read_yaml_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from eikon_engine.trace.yaml_text import Path as ValuePath

_GATE: Final[TypeAdapter[Gate]] = TypeAdapter(Gate)
KINDS: Final[Mapping[str, Any]] = {kind.model_fields["gate"].default: kind for kind in get_args(get_args(Gate)[0])}
GATE_NAMES: Final = tuple(sorted(KINDS))


def read_gates_file(path: Path) -> Gates:
    """Read a YAML file with the single key `gates`.

    Raises:
        YamlError: the file cannot be read, or is not YAML.
        GatesError: the file is not a mapping with that key, or a gate or limit is invalid.
    """
    text = read_yaml_file(path)
    if not isinstance(text.data, dict):
        raise _error(text, (), f"expected a mapping with the key gates, got {shown(text.data)}")
    for key in text.data:
        if key != "gates":
            raise _error(text, (key,), "expected the key gates and no other; indent the gates below it", at_key=True)
    return gates_in(text, ("gates",))


def read_gates(mapping: Mapping[str, JsonValue]) -> Gates:
    """Parse gates from plain values by name.

    Raises:
        GatesError: a gate or limit is invalid.
    """
    return gates_in(YamlText(source="gates", data=dict(mapping), places={}, keys={}), ())


def gates_in(text: YamlText, path: ValuePath) -> Gates:
    """Parse gates at a path of a YAML text, so that messages contain line and column.

    Raises:
        GatesError: a gate or limit is invalid.
    """
    data = text.value(path) if not path or (isinstance(text.data, dict) and path[0] in text.data) else None
    if not isinstance(data, dict):
        raise _error(text, path, f"expected a mapping of gates by name, got {shown(data)}")
    gates = tuple(gate for name, value in data.items() for gate in _gates_of(text, (*path, name), name, value))
    if not gates:
        raise _error(text, path, "expected at least one gate, got none")
    return Gates(gates)


def _gates_of(text: YamlText, path: ValuePath, name: str, value: JsonValue) -> Iterator[Gate]:
    kind = KINDS.get(name)
    if kind is None:
        (near,) = get_close_matches(name, GATE_NAMES, n=1, cutoff=0)
        message = f"expected the name of a gate, got {name!r}; did you mean {near}?"
        raise _error(text, path, message, at_key=True)
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        for number, each in enumerate(value):
            yield _gate(text, (*path, number), name, each)
    else:
        yield _gate(text, path, name, value)


def _gate(text: YamlText, path: ValuePath, name: str, value: JsonValue) -> Gate:
    """Parse one gate, from its fields or from the shorthand of its main field."""
    shorthand: str = KINDS[name].shorthand
    fields: dict[str, JsonValue] = value if isinstance(value, dict) else {shorthand: value}
    if "gate" in fields:
        raise _error(text, (*path, "gate"), "this field is unknown; the key above is the name of the gate", at_key=True)
    plain = {"gate": name, **fields}
    try:
        return _GATE.validate_json(json.dumps(plain))
    except ValidationError as error:
        faults = error.errors(include_url=False)
        parts = field_parts(faults[0], plain)
        here = [fault for fault in faults if field_parts(fault, plain) == parts]
        where = (*path, *(parts if isinstance(value, dict) else parts[1:]))
        is_key = faults[0]["type"] == "extra_forbidden"
        raise _error(text, where, fault_text(here), at_key=is_key) from error


def _error(text: YamlText, path: ValuePath, message: str, *, at_key: bool = False) -> GatesError:
    return GatesError(text.error(path, message, at_key=at_key).message)
