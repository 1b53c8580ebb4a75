"""Run a Python script or pytest test unchanged in a subprocess and record its browser contexts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from eikon_engine.errors import UsageError
from eikon_engine.secrets.search import RedactionRules


class ScriptRequest(BaseModel):
    """A script to run and where to record it."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    script: str
    """Path of a Python script, or of a pytest test, optionally with a node id: `test_shop.py::test_order`."""
    arguments: tuple[str, ...] = ()
    runner: Literal["python", "pytest"] = "python"
    directory: Path
    mission_text: str | None = None
    browser_path: Path | None = None
    secrets: dict[str, str] = {}
    redact: bool = True
    redaction: RedactionRules = RedactionRules()


class RecordedContext(BaseModel):
    """One recorded context of the script."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    directory: Path
    mission_text: str
    secrets: dict[str, str]
    """Declared and found secrets."""


class ScriptResult(BaseModel):
    """The recordings of a script."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    recorded: tuple[RecordedContext, ...] = ()
    not_recorded: tuple[str, ...] = ()
    """Contexts that could not be recorded, with the reason."""


_TEST_FILE: Final = re.compile(r"^test_.*\.py$|^.*_test\.py$")
"""Test file names that pytest collects: https://docs.pytest.org/en/stable/explanation/goodpractices.html."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptRun:
    """Exit status of a script and its recordings."""

    exit_status: int
    result: ScriptResult


def is_pytest_target(script: str) -> bool:
    """Return whether pytest must run the script."""
    return "::" in script or _TEST_FILE.match(Path(script).name) is not None


def record_script(request: ScriptRequest) -> ScriptRun:
    """Run the script in a subprocess with the terminal and working directory of this process.

    Raises:
        UsageError: the script is missing, or its process died without a result.
    """
    script = Path(request.script.partition("::")[0])
    if not script.is_file():
        message = f"{script}: no such Python script or pytest test; check the path"
        raise UsageError(message)
    request_in, request_out = os.pipe()
    result_in, result_out = os.pipe()
    command = [sys.executable, "-m", "eikon_engine.record.script_host", str(request_in), str(result_out)]
    with subprocess.Popen(command, pass_fds=(request_in, result_out)) as child:  # noqa: S603 - runs this package
        os.close(request_in)
        os.close(result_out)
        with os.fdopen(request_out, "wb") as pipe:
            pipe.write(request.model_dump_json().encode())
        with os.fdopen(result_in, "rb") as pipe:
            output = pipe.read()
        status = child.wait()
    if not output:
        message = f"{script}: its process exited with status {status} without a result; partial recordings remain"
        raise UsageError(message)
    return ScriptRun(exit_status=status, result=ScriptResult.model_validate_json(output))
