"""Run a script of somebody's, or a test of pytest, unchanged, and record what it does in browsers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.attach.script_request import ScriptAnswer
from eikon_engine.errors import UsageError

if TYPE_CHECKING:
    from eikon_engine.attach.script_request import ScriptRequest

_TEST: Final = re.compile(r"^test_.*\.py$|^.*_test\.py$")
"""Names of files that pytest collects: https://docs.pytest.org/en/stable/explanation/goodpractices.html."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptRun:
    """How a script ended, and what was recorded of it."""

    exit_status: int
    answer: ScriptAnswer


def is_test(script: str) -> bool:
    """Say whether a script is one of tests, which pytest runs."""
    return "::" in script or _TEST.match(Path(script).name) is not None


def record_script(request: ScriptRequest) -> ScriptRun:
    """Run the script in a process of its own, with the terminal and the folder of this one.

    Raises:
        UsageError: there is no such script, or its process went away without a word.
    """
    script = Path(request.script.partition("::")[0])
    if not script.is_file():
        message = f"wanted a Python script or a test of pytest at {script}, found none; check the path"
        raise UsageError(message)
    asked, ask = os.pipe()
    answer, answered = os.pipe()
    command = [sys.executable, "-m", "eikon_engine.attach.script_host", str(asked), str(answered)]
    with subprocess.Popen(command, pass_fds=(asked, answered)) as child:  # noqa: S603 - ourselves
        os.close(asked)
        os.close(answered)
        with os.fdopen(ask, "wb") as pipe:
            pipe.write(request.model_dump_json().encode())
        with os.fdopen(answer, "rb") as pipe:
            told = pipe.read()
        status = child.wait()
    if not told:
        message = f"{script}: its process ended with status {status} before it was done; what was recorded is kept"
        raise UsageError(message)
    return ScriptRun(exit_status=status, answer=ScriptAnswer.model_validate_json(told))
