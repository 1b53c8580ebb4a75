"""What can be chosen about a debug loop."""

from __future__ import annotations

import logging
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import UsageError
from eikon_engine.fix.names import demand_text
from eikon_engine.trace.wall_clock import fresh_id, utc_now

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

MAX_CYCLES: Final = 3
TIMEOUT_SECONDS: Final = 600.0
TOKEN_BUDGET: Final = 6000
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopOptions:
    """Everything that can be chosen about one loop."""

    test_cmd: str
    """Command that runs the tests, as `sh -c` takes it; its exit status decides."""
    target_files: tuple[str, ...] = ()
    """Files that may be changed, relative to `cwd`; none for every module that other files use."""
    max_cycles: int = MAX_CYCLES
    """How many fixes are tried at most."""
    timeout_seconds: float = TIMEOUT_SECONDS
    """How long one run of the tests may take."""
    keep: bool = False
    """Whether fixes that helped are kept where the tests still fail at the end."""
    allow_dirty: bool = False
    """Whether to begin with changes that are not committed."""
    also: tuple[str, ...] = ()
    """Files and folders that git ignores and tests need, relative to `cwd`: they are copied too."""
    cwd: Path = Path()
    """Folder in which the command is run."""
    sessions: Path | None = None
    """Folder of the session folders; see `sessions_folder` for what it is if left out."""
    apart: tuple[Path, ...] = ()
    """Folders inside the tree that are no part of it: recorded responses, sessions."""
    token_budget: int = TOKEN_BUDGET
    """How much code a model is shown, in tokens, about."""
    tell: Callable[[str], None] = _logger.info
    """Given a line for people at each step."""
    now: Callable[[], datetime] = utc_now
    new_id: Callable[[], str] = fresh_id
    clock: Callable[[], float] = time.monotonic
    """Seconds, for durations."""


def demand_sensible(options: LoopOptions) -> None:
    """Make sure that a loop can be run so.

    Raises:
        UsageError: it cannot.
    """
    if not options.test_cmd.strip():
        message = "--test-cmd: wanted a command that runs the tests, found none; give one"
        raise UsageError(message)
    for option, values in (
        ("--test-cmd", (options.test_cmd,)),
        ("--target-file", options.target_files),
        ("--also", options.also),
    ):
        for value in values:
            demand_text(option, value)
    if options.max_cycles < 1:
        message = f"--max-cycles: wanted 1 or more, found {options.max_cycles}; correct it"
        raise UsageError(message)
    if not 0 < options.timeout_seconds < math.inf:
        message = f"--timeout: wanted a number of seconds above 0, found {options.timeout_seconds:g}; correct it"
        raise UsageError(message)
