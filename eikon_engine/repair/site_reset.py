"""Sites that store what a mission does: detect requests that write, and reset the site before each visit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.divergence.causes import LOGIN_PATH
from eikon_engine.errors import FixError, UsageError
from eikon_engine.files.origins import split_url
from eikon_engine.network.exchange import SAFE_METHODS
from eikon_engine.replay.reset_command import run_reset_command
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.steps import iter_steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.repair.options import RepairOptions
    from eikon_engine.trace.execution import ExecutionTrace
    from eikon_engine.trace.observation import Observation


def reset_site(options: RepairOptions) -> None:
    """Run the reset command, if there is one, before the site is visited.

    Raises:
        FixError: it failed or timed out.
    """
    try:
        run_reset_command(options.reset_command, options.secrets, options.progress)
    except UsageError as error:
        raise FixError(error.message, code="fix-refused") from error


def first_write(trace: ExecutionTrace) -> str | None:
    """Return the first request of a mission that writes to the site; None if there is none.

    A login does not count: a later visit does not see it.
    """
    for attempt, step in iter_steps(trace):
        seen = step.observation if isinstance(step, ActionTrace) else None
        for key in () if seen is None else _write_requests(seen):
            method, url, *_ = key.split(" ")
            if LOGIN_PATH.search(split_url(url).path) is None:
                return f"{method} {url} at step {step.sequence} of {attempt.subgoal_id}"
    return None


def earlier_visit_hint(trace: ExecutionTrace, options: RepairOptions) -> str:
    """Return a hint that the difference may come from an earlier visit; empty if it cannot, or the site is reset."""
    written = None if options.reset_command is not None or options.against == "recording" else first_write(trace)
    if written is None:
        return ""
    return (
        f". The mission writes to the site ({written}), so each visit sees the changes of the one before: use "
        "--reset-cmd COMMAND to reset the site before each visit"
    )


def _write_requests(seen: Observation) -> Iterator[str]:
    """Yield keys of requests with unsafe methods; older recordings list them among all requests."""
    keys = seen.requests if seen.writes is None else seen.writes
    return (key for key in keys if " " in key and key.split(" ")[0] not in SAFE_METHODS)
