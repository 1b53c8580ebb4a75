"""Request and result of the subprocess that runs a script."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from eikon_engine.redact.rules import RedactionRules


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
