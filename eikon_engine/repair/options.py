"""Options for repairing a mission."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from eikon_engine.errors import UsageError
from eikon_engine.files.wall_clock import utc_now

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from eikon_engine.llm.completion import CompletionClient

LIVE: Final = "live"
DEFAULT_RUNS: Final = 3
MAX_REPAIRS: Final = 5
"""Maximum number of repaired steps per run."""

Against: TypeAlias = Literal["live", "recording"] | Path
"""The live site, the recorded network of the bundle itself, or another bundle or HAR file."""


def _no_progress(_line: str) -> None:
    """Discard a progress message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairOptions:
    """Options for repairing a mission."""

    against: Against = LIVE
    """What the mission is replayed against to find divergences."""
    base_urls: Mapping[str, str] = field(default_factory=dict)
    """Current base URL by recorded base URL."""
    runs: int = DEFAULT_RUNS
    """Number of strict sealed replays of the repaired mission that must all be faithful."""
    accept_baseline: bool = False
    """Whether to accept other visible changes of the site as the new baseline."""
    reset_command: str | None = None
    """Shell command that resets the site, run before each visit."""
    output: Path | None = None
    """Folder of the repaired bundle."""
    in_place: bool = False
    """Whether to replace the bundle; the old one is renamed."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    variables: Mapping[str, str] = field(default_factory=dict)
    storage_state: Path | None = None
    timeout_ms: float | None = None
    """Timeout of every action of the diagnostic replays, in page time."""
    headless: bool = True
    browser_path: Path | None = None
    client: CompletionClient | None = None
    """Model to ask last; None for no model."""
    progress: Callable[[str], None] = _no_progress
    """Receives progress messages, one line each."""
    now: Callable[[], datetime] = utc_now


def parse_against(text: str) -> Against:
    """Parse what a mission is replayed against.

    Raises:
        UsageError: it is neither a known word nor an existing path.
    """
    if text == "live":
        return "live"
    if text == "recording":
        return "recording"
    if not text or not _exists(text):
        message = f"--against: expected live, recording, a bundle or a HAR file, got {text!r}, which does not exist."
        raise UsageError(message)
    return Path(text)


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # no path of a file can be like this
        return False
