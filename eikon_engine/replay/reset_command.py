"""Reset a site with a command before a live replay visits it."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import UsageError
from eikon_engine.process_group import Command, run_in_group
from eikon_engine.secrets.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eikon_engine.process_group import ProcessResult

RESET_TIMEOUT_S: Final = 600.0
"""Timeout of the reset command."""
_STDERR_CHUNKS: Final = 64


def run_reset_command(command: str | None, secrets: Mapping[str, str], progress: Callable[[str], None]) -> None:
    """Run the reset command, if there is one; `secrets` are not shown in messages.

    Processes that the command leaves running are killed.

    Raises:
        UsageError: it failed or timed out.
    """
    if command is None:
        return
    clean = Redactor(secrets).redact_text
    progress(f"resetting the site: {clean(command)}")
    stderr: deque[bytes] = deque(maxlen=_STDERR_CHUNKS)
    program = Command(
        arguments=("/bin/sh", "-c", command),
        cwd=Path.cwd(),
        environ=os.environ,
        timeout_seconds=RESET_TIMEOUT_S,
        stdout=lambda _data: None,
        stderr=stderr.append,
    )
    ended = run_in_group(program)
    if ended.exit_status != 0:
        lines = clean(b"".join(stderr).decode(errors="replace")).strip().splitlines()[-1:]
        message = (
            f"--reset-cmd {clean(command)!r} {_describe_end(ended)}{f': {lines[0]}' if lines else ''}. "
            "Fix it and retry."
        )
        raise UsageError(message)


def _describe_end(ended: ProcessResult) -> str:
    match ended.ending:
        case "timed_out":
            return f"timed out after {RESET_TIMEOUT_S:.0f} s"
        case "killed":
            return f"was killed by signal {ended.signal}"
        case _:
            return f"failed with exit status {ended.exit_status}"
