"""Everything that can be chosen about a session."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eikon_engine.debug.lines import LineOptions
from eikon_engine.debug.marking import Marking
from eikon_engine.trace.wall_clock import fresh_id, utc_now

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from eikon_engine.debug.commands import BreakpointAdd
    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.outcome.events import JournalLine


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """Everything that can be chosen about a session."""

    trace: Path
    """Bundle of the mission."""
    parent: Path
    """Folder of all sessions."""
    name: str | None = None
    """Id of the session; None makes one."""
    lines: LineOptions = field(default_factory=LineOptions)
    marking: Marking = field(default_factory=Marking)
    breakpoints: tuple[BreakpointAdd, ...] = ()
    run: bool = False
    """Whether it goes on at once, instead of waiting before the first step."""
    from_session: SessionFolder | None = None
    """Session whose checkpoints and branches it begins with."""
    readers: tuple[Callable[[JournalLine], None], ...] = ()
    """Readers of the stream of events."""
    is_deaf: bool = False
    """Whether Ctrl-C is meant for somebody else at this terminal."""
    now: Callable[[], datetime] = utc_now
    new_id: Callable[[], str] = fresh_id
