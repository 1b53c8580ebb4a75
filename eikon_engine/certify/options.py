"""How a bundle is certified."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from eikon_engine.trace.wall_clock import utc_now

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path


def _silent(_line: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifyOptions:
    """Everything that can be chosen about a certification."""

    runs: int = 5
    """How many replays have to agree."""
    parallel: int = 4
    """How many of them run at once; on a live site, one after the other."""
    stress: bool = False
    """Keep the machine busy during the runs."""
    network: Literal["sealed", "live"] = "sealed"
    browser_path: Path | None = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    variables: Mapping[str, str] = field(default_factory=dict)
    """Values of variables of the trace; those that are not the recorded ones become so with the proposed changes."""
    doublings: int = 3
    """How often the page time of an action is doubled before something else is proposed."""
    rounds: int = 12
    """How often the bundle is replayed `runs` times at most."""
    progress: Callable[[str], None] = _silent
    """Told what goes on, a line at a time."""
    now: Callable[[], datetime] = utc_now
