"""All options of a session."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eikon_engine.debug.lines import ContextOptions
from eikon_engine.debug.marking import CheckpointPolicy
from eikon_engine.trace.wall_clock import random_id, utc_now

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from eikon_engine.debug.commands import BreakpointAdd
    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.outcome.events import EventLine


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """All options of a session."""

    trace: Path
    """Bundle of the mission."""
    parent: Path
    """Folder of all sessions."""
    name: str | None = None
    """Session id; None generates one."""
    contexts: ContextOptions = field(default_factory=ContextOptions)
    checkpoints: CheckpointPolicy = field(default_factory=CheckpointPolicy)
    breakpoints: tuple[BreakpointAdd, ...] = ()
    run: bool = False
    """Whether to run at once instead of pausing before the first step."""
    from_session: SessionFolder | None = None
    """Session whose checkpoints and branches it starts with."""
    event_readers: tuple[Callable[[EventLine], None], ...] = ()
    """Receive every event."""
    ignore_sigint: bool = False
    """Whether another process of this terminal handles Ctrl-C."""
    now: Callable[[], datetime] = utc_now
    new_id: Callable[[], str] = random_id
