"""Run commands in this process through the shell entry point; imported modules are reused."""

from __future__ import annotations

import signal
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from subprocess import CompletedProcess
from typing import TYPE_CHECKING

import pytest

from eikon_engine.cli.shell import run_command

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import click


def run_here(
    command: click.Command, arguments: Iterable[object], program: str, environ: Mapping[str, str] | None = None
) -> CompletedProcess[str]:
    """Run a command with environment variables; return its exit status and its output."""
    words = [*map(str, arguments)]
    out, err = StringIO(), StringIO()
    before = signal.getsignal(signal.SIGTERM)
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        for name, value in (environ or {}).items():
            patch.setenv(name, value)
        try:
            status = run_command(command, words, program)
        finally:
            signal.signal(signal.SIGTERM, before)
    return CompletedProcess(words, status, out.getvalue(), err.getvalue())
