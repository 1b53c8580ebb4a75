"""How a mission is mended."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from eikon_engine.errors import UsageError
from eikon_engine.trace.wall_clock import utc_now

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from eikon_engine.completions.client import CompletionClient

LIVE: Final = "live"
RECORDING: Final = "recording"
RUNS: Final = 3
MOST_REPAIRS: Final = 5
"""Steps that are mended in one go."""

Against: TypeAlias = Literal["live", "recording"] | Path
"""The site of today, the network part of the bundle itself, or another bundle or HAR file."""


def _silent(_line: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairOptions:
    """Everything that can be chosen about mending a mission."""

    against: Against = LIVE
    """What the mission is replayed against to see whether it diverges."""
    base_urls: Mapping[str, str] = field(default_factory=dict)
    """Base URL of today by recorded base URL."""
    runs: int = RUNS
    """Strict sealed replays of the mended mission that have to be faithful, all of them."""
    accept_baseline: bool = False
    """Take what the site shows today beside the mended step, too."""
    reset_command: str | None = None
    """Shell command that brings the site back to what it was, run before each visit."""
    output: Path | None = None
    """Folder of the mended bundle."""
    in_place: bool = False
    """Put the mended bundle in the place of the old one, which is kept aside."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    variables: Mapping[str, str] = field(default_factory=dict)
    storage_state: Path | None = None
    timeout_ms: float | None = None
    """Deadline of every action of the replays that look what diverges, in page time."""
    browser_path: Path | None = None
    client: CompletionClient | None = None
    """The model that is asked last; None asks none."""
    progress: Callable[[str], None] = _silent
    """Told what goes on, a line at a time."""
    now: Callable[[], datetime] = utc_now


def read_against(text: str) -> Against:
    """Read what a mission is replayed against.

    Raises:
        UsageError: it is neither a word that is known nor a path at which something is.
    """
    if text == "live":
        return "live"
    if text == "recording":
        return "recording"
    if not text or not Path(text).exists():
        message = f"--against: wanted live, recording, a bundle or a HAR file, found {text!r}, where nothing is"
        raise UsageError(message)
    return Path(text)
