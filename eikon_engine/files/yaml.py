"""Read YAML written by people, as JSON values with their positions in the text.

YAML 1.2 with its core schema (https://yaml.org/spec/1.2.2/#103-core-schema): `no`, `on` and dates are strings. Only
what JSON can express is accepted: one document, string keys, no duplicate keys, anchors, aliases, tags or infinities.
ruamel.yaml is the parser, since it supports YAML 1.2 and reports positions; PyYAML supports YAML 1.1 only. Its scalar
resolution is not used: the core schema is implemented here.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from eikon_engine.errors import EikonError, RequirementError, YamlError
from eikon_engine.files.extras import install_command
from eikon_engine.files.limits import MAX_JSON_DEPTH, MAX_SETTINGS_BYTES, read_file
from eikon_engine.files.models import describe_fault, field_location, format_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path as FilePath

    from pydantic_core import ErrorDetails

ValuePath: TypeAlias = tuple[str | int, ...]
"""Keys and indices that lead to a value, from the root."""
ReadModel = TypeVar("ReadModel", bound=BaseModel)

_NULL: Final = re.compile(r"null|Null|NULL|~|")
_TRUE: Final = re.compile(r"true|True|TRUE")
_FALSE: Final = re.compile(r"false|False|FALSE")
_DECIMAL: Final = re.compile(r"[-+]?[0-9]+")
_OCTAL: Final = re.compile(r"0o([0-7]+)")
_HEXADECIMAL: Final = re.compile(r"0x([0-9a-fA-F]+)")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NON_FINITE: Final = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_MAX_DIGITS: Final = 400
"""Limit of the digits of a number: Python refuses longer integers by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPosition:
    """A position in a text, from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        """Return `line 3, column 5`."""
        return f"line {self.line}, column {self.column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlDocument:
    """A parsed YAML document with the positions of its values."""

    source: str
    """Names the file in messages."""
    data: JsonValue
    positions: Mapping[ValuePath, TextPosition]
    """Start of each value; empty if the data was not parsed from a text."""
    key_positions: Mapping[ValuePath, TextPosition]
    """Start of the key of each mapping value."""

    def position_of(self, path: ValuePath) -> TextPosition:
        """Return the start of a value, or of its nearest ancestor with a known position."""
        while path and path not in self.positions:
            path = path[:-1]
        return self.positions.get(path, TextPosition(line=1, column=1))

    def error_at(self, path: ValuePath, message: str, *, at_key: bool = False) -> YamlError:
        """Build the error for a value, with its position."""
        place = (self.key_positions.get(path) if at_key else None) or self.position_of(path)
        where = f"{place}: " if self.positions else ""
        name = format_path(path)
        return YamlError(f"{self.source}: {where}{name + ': ' if name else ''}{message}")

    def parse_as(self, model: type[ReadModel], path: ValuePath = ()) -> ReadModel:
        """Validate the value at `path` as a strict model.

        Raises:
            YamlError: a field is missing, unknown or invalid; the message contains its position, and notes those of
                all others.
        """
        value = self.value_at(path)
        try:
            return model.model_validate_json(json.dumps(value))
        except ValidationError as error:
            faults = ErrorList()
            for found in self._errors_by_place(error, value, path).values():
                faults.add(found)
            raise faults.combined() from error

    def find_faults(self, model: type[BaseModel]) -> dict[ValuePath, YamlError]:
        """Return what `parse_as` would raise, by the paths of the values that are wrong; empty if none is."""
        try:
            model.model_validate_json(json.dumps(self.data))
        except ValidationError as error:
            return self._errors_by_place(error, self.data, ())
        return {}

    def _errors_by_place(self, error: ValidationError, value: JsonValue, path: ValuePath) -> dict[ValuePath, YamlError]:
        by_place: dict[ValuePath, list[ErrorDetails]] = {}
        for fault in error.errors(include_url=False):
            place = (*path, *field_location(fault, value))
            if not _follows_from_items(fault):
                by_place.setdefault(place, []).append(fault)
        return {
            place: self.error_at(
                place,
                describe_fault(here),
                at_key=here[0]["type"] == "extra_forbidden" or here[0]["loc"][-1:] == ("[key]",),
            )
            for place, here in by_place.items()
        }

    def value_at(self, path: ValuePath) -> JsonValue:
        """Return the value at an existing path."""
        value: Any = self.data
        for part in path:
            value = value[part]
        found: JsonValue = value
        return found


def _follows_from_items(fault: ErrorDetails) -> bool:
    """Return whether a list is too short only because its items are invalid, which is an error of its own."""
    items = fault["input"]
    return fault["type"] == "too_short" and isinstance(items, list) and len(items) >= fault["ctx"]["min_length"]


class ErrorList:
    """Collects the errors in a file, to report all of them at once."""

    def __init__(self) -> None:
        """Begin without any."""
        self._errors: list[EikonError] = []

    def add(self, error: EikonError) -> None:
        """Add an error."""
        self._errors.append(error)

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Add the error that ends the block, if one does."""
        try:
            yield
        except EikonError as error:
            self.add(error)

    def combined(self) -> EikonError:
        """Return the first error, with the messages of the others as its notes."""
        first, *others = self._errors
        for other in others:
            for text in (other.message, *getattr(other, "__notes__", ())):
                first.add_note(text)
        return first

    def raise_any(self) -> None:
        """Raise the first error, with the messages of the others as its notes; nothing without errors.

        Raises:
            EikonError: there is one.
        """
        if self._errors:
            raise self.combined()


def read_yaml_file(path: FilePath) -> YamlDocument:
    """Read a YAML file.

    Raises:
        YamlError: the file cannot be read, or is not YAML as described above.
        RequirementError: ruamel.yaml is not installed.
    """
    try:
        text = read_file(path, limit=MAX_SETTINGS_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise YamlError(f"{path}: cannot read the file ({error.strerror}); check the path") from error
    except UnicodeDecodeError as error:
        raise YamlError(f"{path}: expected UTF-8 text, got invalid bytes at offset {error.start}") from error
    return read_yaml(text, str(path))


def read_yaml(text: str, source: str) -> YamlDocument:
    """Parse a YAML text; `source` names it in messages. An empty text is null.

    Raises:
        YamlError: the text is not YAML as described above; the message contains line and column.
        RequirementError: ruamel.yaml is not installed.
    """
    builder = _DocumentBuilder(source)
    for event in _parse_events(text, source):
        builder.process(event)
    places = builder.positions or {(): TextPosition(line=1, column=1)}
    return YamlDocument(source=source, data=builder.data, positions=places, key_positions=builder.key_positions)


def _parse_events(text: str, source: str) -> Iterator[Any]:
    try:
        from ruamel.yaml import YAML  # noqa: PLC0415 - an extra, and slow to import
        from ruamel.yaml.error import MarkedYAMLError, YAMLError  # noqa: PLC0415 - as above
    except ImportError as error:
        message = f"{source}: missing library: ruamel.yaml, to read YAML; run {install_command('scenario')}"
        raise RequirementError(message) from error
    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{TextPosition(line=mark.line + 1, column=mark.column + 1)}: " if mark else ""
        problem = error.problem or error.context
        raise YamlError(f"{source}: {where}invalid YAML: {problem}; correct the line") from error
    except YAMLError as error:
        raise YamlError(f"{source}: invalid YAML: {str(error).partition(chr(10))[0]}") from error


@dataclass(slots=True)
class _OpenCollection:
    """A list or mapping that is still being read."""

    value: list[JsonValue] | dict[str, JsonValue]
    path: ValuePath
    key: str | None = None
    """Key of the next value."""


@dataclass(slots=True)
class _DocumentBuilder:
    """Builds values from parser events."""

    source: str
    data: JsonValue = None
    positions: dict[ValuePath, TextPosition] = field(default_factory=dict)
    key_positions: dict[ValuePath, TextPosition] = field(default_factory=dict)
    open_collections: list[_OpenCollection] = field(default_factory=list)
    documents: int = 0

    def process(self, event: Any) -> None:  # noqa: ANN401 - events of ruamel.yaml, imported where they are made
        """Process the next event."""
        place = TextPosition(line=event.start_mark.line + 1, column=event.start_mark.column + 1)
        match type(event).__name__:
            case "DocumentStartEvent":
                self.documents += 1
                if self.documents > 1:
                    raise self._error(place, "expected one document, got a second one")
            case "ScalarEvent":
                self._require_plain(event, place)
                self._add_scalar(event, place)
            case "SequenceStartEvent":
                self._open_collection(event, place, [])
            case "MappingStartEvent":
                self._open_collection(event, place, {})
            case "SequenceEndEvent" | "MappingEndEvent":
                self.open_collections.pop()
            case "AliasEvent":
                raise self._error(place, f"expected a value, got the alias *{event.anchor}; write the value out")
            case _:
                pass

    def _add_scalar(self, event: Any, place: TextPosition) -> None:  # noqa: ANN401 - as above
        value = (
            self._resolve_scalar(event.value, place)
            if event.style is None
            else self._join_surrogates(event.value, place)
        )
        inner = self.open_collections[-1] if self.open_collections else None
        if inner is not None and isinstance(inner.value, dict) and inner.key is None:
            self._set_key(inner, value, place)
        else:
            self._add(value, place)

    def _set_key(self, inner: _OpenCollection, value: JsonValue, place: TextPosition) -> None:
        if not isinstance(value, str):
            raise self._error(place, f"expected a string as a key, got {json.dumps(value)}; write it in quotes")
        path = (*inner.path, value)
        if path in self.key_positions:
            raise self._error(
                place, f"duplicate key {value!r}, first in {self.key_positions[path]}; remove one of them"
            )
        self.key_positions[path] = place
        inner.key = value

    def _open_collection(self, event: Any, place: TextPosition, value: list[JsonValue] | dict[str, JsonValue]) -> None:  # noqa: ANN401 - as above
        self._require_plain(event, place)
        if (
            self.open_collections
            and isinstance(self.open_collections[-1].value, dict)
            and self.open_collections[-1].key is None
        ):
            raise self._error(place, "expected a string as a key, got a list or a mapping")
        if len(self.open_collections) == MAX_JSON_DEPTH:
            raise self._error(place, f"expected at most {MAX_JSON_DEPTH} levels of lists and mappings, got more")
        self.open_collections.append(_OpenCollection(value=value, path=self._add(value, place)))

    def _add(self, value: JsonValue, place: TextPosition) -> ValuePath:
        """Add a value to the open collection; return its path."""
        if not self.open_collections:
            self.data = value
            self.positions[()] = place
            return ()
        inner = self.open_collections[-1]
        if isinstance(inner.value, list):
            path: ValuePath = (*inner.path, len(inner.value))
            inner.value.append(value)
        else:
            key = str(inner.key)
            path = (*inner.path, key)
            inner.value[key] = value
            inner.key = None
        self.positions[path] = place
        return path

    def _require_plain(self, event: Any, place: TextPosition) -> None:  # noqa: ANN401 - as above
        if event.anchor is not None:
            raise self._error(place, f"expected a plain value, got the anchor &{event.anchor}; write values out")
        if event.tag is not None:
            raise self._error(place, f"expected a plain value, got the tag {event.tag}; remove it")

    def _resolve_scalar(self, text: str, place: TextPosition) -> JsonValue:
        """Resolve an unquoted scalar by the core schema."""
        if _NULL.fullmatch(text):
            return None
        if _TRUE.fullmatch(text) or _FALSE.fullmatch(text):
            return _TRUE.fullmatch(text) is not None
        for pattern, base in ((_OCTAL, 8), (_HEXADECIMAL, 16)):
            if (found := pattern.fullmatch(text)) is not None:
                return int(found[1], base)
        if _FLOAT.fullmatch(text) is not None and len(text) <= _MAX_DIGITS:
            number = int(text) if _DECIMAL.fullmatch(text) else float(text)
            if number in (float("inf"), float("-inf")):
                raise self._error(place, f"expected a number, got {text}, which is too large")
            return number
        if _NON_FINITE.fullmatch(text):
            raise self._error(place, f"expected a finite number, got {text}; write text in quotes")
        return text

    def _join_surrogates(self, text: str, place: TextPosition) -> str:
        """Join surrogate pairs, which JSON writes as two escapes, into one character."""
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError as error:
            raise self._error(place, "expected text, got a lone surrogate (half of a character)") from error

    def _error(self, place: TextPosition, message: str) -> YamlError:
        return YamlError(f"{self.source}: {place}: {message}")
