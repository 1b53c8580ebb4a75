"""The contents of a foreign recording as a mission, and its conversion to a trace."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from eikon_engine.errors import ForeignFormatError
from eikon_engine.files.limits import MAX_URL_LENGTH
from eikon_engine.trace.environment import Environment, Viewport
from eikon_engine.trace.execution import ActionTrace, ExecutionTrace, Failed, SubgoalTrace, Succeeded
from eikon_engine.trace.playwright_calls import UnsupportedCallError, build_action

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.files.models import FileModel
    from eikon_engine.trace.actions import Action


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
        url = fields.get("url")
        if isinstance(url, str) and len(url) > MAX_URL_LENGTH:
            reason = f"expected a URL of at most {MAX_URL_LENGTH:,} characters, got {len(url):,}"
            self.add_unsupported(step, kind, reason)
            return
        try:
            self.actions.append(build_action(kind, **fields))
        except UnsupportedCallError as error:
            self.add_unsupported(step, kind, str(error))

    def add_unsupported(self, step: int, what: str, reason: str) -> None:
        """Note that a step cannot be imported."""
        self.unsupported.append(f"step {step}, {what}: {reason}")

    def add_note(self, step: int, text: str) -> None:
        """Add a note about an imported step, once."""
        line = f"step {step}: {text}"
        if line not in self.notes:
            self.notes.append(line)


UNKNOWN_ERROR_CODE: Final = "unknown"
MAX_SHOWN: Final = 3
"""Maximum number of steps in a message."""


def build_trace(
    mission: ImportedMission, *, now: datetime, trace_id: str, mission_id: str, partial: bool
) -> ExecutionTrace:
    """Build a trace without observations.

    Raises:
        ForeignFormatError: a step cannot be imported and `partial` is False, or no step can be imported.
    """
    if mission.unsupported and not partial:
        shown = "; ".join(mission.unsupported[:MAX_SHOWN])
        more = f"; and {len(mission.unsupported) - MAX_SHOWN} more" if len(mission.unsupported) > MAX_SHOWN else ""
        raise ForeignFormatError(
            f"these steps cannot be imported: {shown}{more}. Import the others with --partial.", code="foreign-step"
        )
    if not any(subgoal.actions for subgoal in mission.subgoals):
        raise ForeignFormatError("no step can be imported; nothing was written", code="foreign-step")
    then = "recorded" if mission.network is None and mission.har is None else "certified"
    return ExecutionTrace(
        id=trace_id,
        mission_id=mission_id,
        mission_text=mission.text,
        started_at=now,
        status="complete",
        environment=None if mission.environment is None else _environment(mission.environment, now),
        subgoal_traces=tuple(_subgoal(number, each) for number, each in enumerate(mission.subgoals, start=1)),
        warnings=(
            f"imported from {mission.source}: the mission has no observations until it is {then}",
            *(f"not imported: {line}" for line in mission.unsupported),
            *mission.notes,
        ),
    )


def _subgoal(number: int, subgoal: ImportedSubgoal) -> SubgoalTrace:
    attempt = f"subgoal_{number}__attempt_1"
    return SubgoalTrace(
        id=attempt,
        subgoal_id=f"subgoal_{number}",
        description=subgoal.description,
        status="complete",
        actions_taken=tuple(
            ActionTrace(
                id=f"{attempt}_action_{place:03d}",
                sequence=place,
                action=action,
                result=_result(subgoal.errors.get(place - 1)),
            )
            for place, action in enumerate(subgoal.actions, start=1)
        ),
    )


def _result(error: str | None) -> Succeeded | Failed:
    """Expect any failure: other tools have no comparable error codes."""
    return Succeeded() if error is None else Failed(code=UNKNOWN_ERROR_CODE, message=error)


def _environment(screen: ImportedEnvironment, now: datetime) -> Environment:
    """Build the environment from the recording; unknown values are empty."""
    return Environment(
        browser_version="",
        playwright_version="",
        platform="",
        viewport=Viewport(width=screen.width, height=screen.height),
        device_scale_factor=screen.device_scale_factor,
        is_mobile=screen.is_mobile,
        has_touch=screen.has_touch,
        user_agent=screen.user_agent,
        locale=screen.locale,
        timezone=screen.timezone,
        color_scheme=screen.color_scheme,
        clock_start_ms=screen.clock_start_ms or int(now.timestamp() * 1000),
        random_seed=1,
    )
