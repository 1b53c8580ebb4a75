"""A site that keeps what was done on it: which requests of a mission change it, and how it is brought back."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from eikon_engine.divergence.causes import LOGIN
from eikon_engine.errors import FixRefusedError
from eikon_engine.fix.process_group import Program, run_in_group
from eikon_engine.network.kinds import SAFE
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.located import positions
from eikon_engine.trace.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.fix.missions.options import RepairOptions
    from eikon_engine.fix.process_group import Ended
    from eikon_engine.trace.execution import ExecutionTrace
    from eikon_engine.trace.observation import Observation

LONGEST_S: Final = 600.0
"""What bringing a site back may take."""
_KEPT_PIECES: Final = 64


def reset_site(options: RepairOptions) -> None:
    """Run the command that brings the site back, if there is one, before it is visited.

    Processes that the command leaves behind are ended with it.

    Raises:
        FixRefusedError: it failed, or took too long.
    """
    command = options.reset_command
    if command is None:
        return
    clean = Redactor(options.secrets).text
    options.progress(f"bringing the site back: {clean(command)}")
    said: deque[bytes] = deque(maxlen=_KEPT_PIECES)
    program = Program(
        arguments=("/bin/sh", "-c", command),
        cwd=Path.cwd(),
        environ=os.environ,
        timeout_seconds=LONGEST_S,
        stdout=lambda _data: None,
        stderr=said.append,
    )
    ended = run_in_group(program)
    if ended.exit_status != 0:
        told = clean(b"".join(said).decode(errors="replace")).strip().splitlines()[-1:]
        message = (
            f"--reset-cmd {clean(command)!r} {_how(ended)}{f': {told[0]}' if told else ''}; mend it, then try again"
        )
        raise FixRefusedError(message)


def _how(ended: Ended) -> str:
    match ended.ending:
        case "timed_out":
            return f"took more than {LONGEST_S:.0f} s"
        case "killed":
            return f"was ended by signal {ended.signal}"
        case _:
            return f"ended with exit status {ended.exit_status}"


def first_write(trace: ExecutionTrace) -> str | None:
    """Name the first request of a mission that changes what the site keeps; None where none does.

    A login changes nothing that a second visit finds.
    """
    for attempt, step in positions(trace):
        seen = step.observation if isinstance(step, ActionTrace) else None
        for key in () if seen is None else _writes(seen):
            method, url, *_ = key.split(" ")
            if LOGIN.search(urlsplit(url).path) is None:
                return f"{method} {url} at step {step.sequence} of {attempt.subgoal_id}"
    return None


def second_visit(trace: ExecutionTrace, options: RepairOptions) -> str:
    """Say that what differs may come from an earlier visit; empty where it cannot, or where that is cared for."""
    written = None if options.reset_command is not None or options.against == "recording" else first_write(trace)
    if written is None:
        return ""
    return (
        f"; the mission changes what the site keeps ({written}), so each visit finds what the one before it left: "
        "--reset-cmd COMMAND brings the site back before each"
    )


def _writes(seen: Observation) -> Iterator[str]:
    """Yield the keys of requests whose methods are not safe; older recordings have them among all requests."""
    keys = seen.requests if seen.writes is None else seen.writes
    return (key for key in keys if " " in key and key.split(" ")[0] not in SAFE)
