"""The contents of a foreign recording as a mission, and the steps that could not be imported."""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from pydantic import TypeAdapter, ValidationError

from eikon_engine.trace.actions import Action
from eikon_engine.trace.record import FileModel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pydantic import JsonValue

_ACTION_ADAPTER: Final[TypeAdapter[Action]] = TypeAdapter(Action)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedSubgoal:
    """A named group of actions."""

    description: str
    actions: tuple[Action, ...]
    errors: Mapping[int, str] = field(default_factory=dict)
    """Error messages by index into `actions`, from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedEnvironment:
    """The recorded browser environment, as far as it is known."""

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
    """Milliseconds since 1970; None if the recording has no date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionTime:
    """When an action acted on a page."""

    at_ms: float
    """Milliseconds since 1970."""
    phase: int
    page_ms: float
    """Page time of the action in a replay with the stepped clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedNetwork:
    """The network of a recording, as HAR entries."""

    source: str
    entries: tuple[tuple[str, Mapping[str, object]], ...]
    """Pairs of location in the source and HAR entry."""
    read_attachment: Callable[[str, str], bytes | None]
    """Returns the content of a referenced file, or None if it is missing. Takes the file name and the field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedMission:
    """A mission recorded by another tool."""

    source: str
    """Name of the format."""
    text: str
    subgoals: tuple[ImportedSubgoal, ...]
    environment: ImportedEnvironment | None = None
    unsupported: tuple[str, ...] = ()
    """Steps that cannot be imported, with the reason."""
    notes: tuple[str, ...] = ()
    """Ignored properties and weak targets."""
    network: ImportedNetwork | None = None
    har: Path | None = None
    """The HAR file with the network, if it is separate."""
    action_times: tuple[ActionTime, ...] = ()
    """When the actions acted, in order; empty if the recording has no times."""
    files: tuple[bytes, ...] = ()
    """Contents of uploaded files."""

    def phase_and_page_time(self, at_ms: float) -> tuple[int, float]:
        """Return phase and page time of an event at this time: those of the last action before it."""
        place = bisect_right(self.action_times, at_ms, key=lambda act: act.at_ms)
        return (self.action_times[place - 1].phase, self.action_times[place - 1].page_ms) if place else (0, 0.0)


@dataclass(slots=True)
class MissionBuilder:
    """A mission under construction (mutable)."""

    actions: list[Action] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add_action(self, step: int, kind: str, **fields: JsonValue | FileModel | None) -> None:
        """Add an action by type and fields, omitting None; `step` is the number in the source, from 1."""
        given = {name: value for name, value in fields.items() if value is not None}
        plain = {name: _to_json(value) for name, value in given.items()}
        try:
            self.actions.append(_ACTION_ADAPTER.validate_json(json.dumps({"type": kind, **plain})))
        except ValidationError as error:
            first = error.errors()[0]
            self.add_unsupported(step, kind, f"{'.'.join(map(str, first['loc'][1:]))}: {first['msg']}")

    def add_unsupported(self, step: int, what: str, reason: str) -> None:
        """Note that a step cannot be imported."""
        self.unsupported.append(f"step {step}, {what}: {reason}")

    def add_note(self, step: int, text: str) -> None:
        """Add a note about an imported step, once."""
        line = f"step {step}: {text}"
        if line not in self.notes:
            self.notes.append(line)


def _to_json(value: JsonValue | FileModel) -> JsonValue:
    return json.loads(value.model_dump_json()) if isinstance(value, FileModel) else value
