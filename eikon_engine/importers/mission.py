"""What a foreign recording holds, in our words, and what of it cannot be said in them."""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from pydantic import TypeAdapter, ValidationError

from eikon_engine.trace.actions import Action
from eikon_engine.trace.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

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
    user_agent: str = ""
    locale: str = "en-US"
    timezone: str = "UTC"
    color_scheme: Literal["light", "dark", "no-preference"] = "light"
    clock_start_ms: int | None = None
    """Since 1970; None where the recording does not say when it was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """When an action touched a page."""

    at_ms: float
    """Since 1970."""
    phase: int
    page_ms: float
    """Page time of a replay by the stepped clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedNetwork:
    """What a recording holds of the network: entries as a HAR has them."""

    source: str
    entries: tuple[tuple[str, Mapping[str, object]], ...]
    """Each with where it stands in the source."""
    read_attachment: Callable[[str, str], bytes | None]
    """Returns the content of a file that an entry names, None if it is not there; takes its name and its field."""


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
    network: ImportedNetwork | None = None
    har: Path | None = None
    """The file that holds the network, where that is a HAR."""
    acts: tuple[Act, ...] = ()
    """When its actions acted, in this order; empty where the recording does not say."""
    files: tuple[bytes, ...] = ()
    """Contents of uploads."""

    def moment_of(self, at_ms: float) -> tuple[int, float]:
        """Return phase and page time of something that came then: those of the last action that had acted."""
        place = bisect_right(self.acts, at_ms, key=lambda act: act.at_ms)
        return (self.acts[place - 1].phase, self.acts[place - 1].page_ms) if place else (0, 0.0)


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
