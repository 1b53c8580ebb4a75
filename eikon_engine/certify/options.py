"""Options of a certification."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from eikon_engine.files.wall_clock import utc_now

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path


def _ignore_progress(_line: str) -> None:
    """Discard a progress line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifyOptions:
    """All options of a certification."""

    runs: int = 5
    """Number of replays that must agree."""
    parallel: int = 4
    """Number of concurrent replays; live replays always run one after the other."""
    stress: bool = False
    """Run CPU-bound processes during the replays."""
    network: Literal["sealed", "live"] = "sealed"
    browser_path: Path | None = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    variables: Mapping[str, str] = field(default_factory=dict)
    """Values of trace variables; values that differ from the recorded ones become part of the proposed changes."""
    doublings: int = 3
    """How often the page time of an action is doubled before a mask or baseline is proposed."""
    rounds: int = 12
    """Maximum number of rounds of `runs` replays."""
    progress: Callable[[str], None] = _ignore_progress
    """Called with each progress line."""
    now: Callable[[], datetime] = utc_now
