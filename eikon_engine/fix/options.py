"""Options of a debug loop."""

from __future__ import annotations

import logging
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import UsageError
from eikon_engine.files.wall_clock import random_id, utc_now
from eikon_engine.fix.user_tree import require_utf8

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

DEFAULT_MAX_CYCLES: Final = 3
DEFAULT_TIMEOUT_SECONDS: Final = 600.0
DEFAULT_TOKEN_BUDGET: Final = 6000
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopOptions:
    """Options of one loop."""

    test_cmd: str
    """Test command, run by `sh -c`; its exit status decides."""
    target_files: tuple[str, ...] = ()
    """Files that a fix may change, relative to `cwd`; empty for those that the patterns allow."""
    allow: tuple[str, ...] = ()
    """Patterns of files that a fix may change, as in `.gitignore`; default see `change_policy.DEFAULT_ALLOW`."""
    protect: tuple[str, ...] = ()
    """Patterns of files that no fix may change, in addition to `change_policy.DEFAULT_PROTECT`."""
    max_cycles: int = DEFAULT_MAX_CYCLES
    """Maximum number of fixes to try."""
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    """Timeout of one test run."""
    keep: bool = False
    """Whether to keep fixes that helped even if tests still fail at the end."""
    allow_dirty: bool = False
    """Whether to start with uncommitted changes."""
    extra_files: tuple[str, ...] = ()
    """Files and folders to copy although git ignores them, relative to `cwd`."""
    cwd: Path = Path()
    """Working directory of the command."""
    sessions_dir: Path | None = None
    """Folder of the session folders; default see `sessions_folder`."""
    excluded_folders: tuple[Path, ...] = ()
    """Folders inside the tree to exclude from it: recorded responses, sessions."""
    token_budget: int = DEFAULT_TOKEN_BUDGET
    """Approximate number of tokens of code to show the model."""
    on_progress: Callable[[str], None] = _logger.info
    """Receives one line of progress per step."""
    now: Callable[[], datetime] = utc_now
    new_id: Callable[[], str] = random_id
    clock: Callable[[], float] = time.monotonic
    """Monotonic time in seconds, for durations."""


def require_valid_options(options: LoopOptions) -> None:
    """Check the options.

    Raises:
        UsageError: an option is invalid.
    """
    if not options.test_cmd.strip():
        message = "--test-cmd: expected a command that runs the tests, got an empty one."
        raise UsageError(message)
    for option, values in (
        ("--test-cmd", (options.test_cmd,)),
        ("--target-file", options.target_files),
        ("--allow", options.allow),
        ("--protect", options.protect),
        ("--also", options.extra_files),
    ):
        for value in values:
            require_utf8(option, value)
    if options.target_files and (options.allow or options.protect):
        message = "--target-file: has no effect together with --allow or --protect. Use one or the other."
        raise UsageError(message)
    if options.max_cycles < 1:
        message = f"--max-cycles: expected 1 or more, got {options.max_cycles}."
        raise UsageError(message)
    if not 0 < options.timeout_seconds < math.inf:
        message = f"--timeout: expected seconds greater than 0, got {options.timeout_seconds:g}."
        raise UsageError(message)
