"""What a foreign recording holds, in our words, and what of it cannot be said in them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pydantic import TypeAdapter, ValidationError

from eikon_engine.trace.actions import Action
from eikon_engine.trace.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

_ACTION: Final[TypeAdapter[Action]] = TypeAdapter(Action)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedSubgoal:
    """A group of steps under one heading."""

    description: str
    actions: tuple[Action, ...]
    errors: Mapping[int, str] = field(default_factory=dict)
    """What went wrong, by the place of an action among them, from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """What the recording was made on, as far as it says so."""

    width: int
    height: int
    device_scale_factor: float = 1.0
    is_mobile: bool = False
    has_touch: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedMission:
    """A mission as another tool has written it down."""

    source: str
    """Name of the format."""
    text: str
    subgoals: tuple[ImportedSubgoal, ...]
    screen: Screen | None = None
    lost: tuple[str, ...] = ()
    """Steps that did something and cannot be carried over, with the reason."""
    notes: tuple[str, ...] = ()
    """Properties that were left out, and targets that are weak."""


@dataclass(slots=True)
class Gathering:
    """A mission that is being read; mutable, because it grows step by step."""

    actions: list[Action] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, step: int, kind: str, **fields: JsonValue | Record | None) -> None:
        """Add an action of ours by its type and its fields, those that are None left out; steps are counted from 1."""
        given = {name: value for name, value in fields.items() if value is not None}
        plain = {name: _plain(value) for name, value in given.items()}
        try:
            self.actions.append(_ACTION.validate_json(json.dumps({"type": kind, **plain})))
        except ValidationError as error:
            first = error.errors()[0]
            self.lose(step, kind, f"{'.'.join(map(str, first['loc'][1:]))}: {first['msg']}")

    def lose(self, step: int, what: str, why: str) -> None:
        """Take down that a step cannot be carried over; steps are counted from 1."""
        self.lost.append(f"step {step}, {what}: {why}")

    def note(self, step: int, text: str) -> None:
        """Take down something about a step that is carried over."""
        line = f"step {step}: {text}"
        if line not in self.notes:
            self.notes.append(line)


def _plain(value: JsonValue | Record) -> JsonValue:
    return json.loads(value.model_dump_json()) if isinstance(value, Record) else value
