"""Bundles for suites."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

TRACES: Final = Path(__file__).resolve().parent.parent / "data" / "traces"
START: Final = datetime(2026, 1, 15, 10, tzinfo=UTC)


def write_head(folder: Path, *, seconds: int = 1) -> Path:
    """Write a trace of which only id and times are right."""
    folder.mkdir(exist_ok=True)
    times = {"started_at": START.isoformat(), "ended_at": (START + timedelta(seconds=seconds)).isoformat()}
    (folder / "trace.json").write_text(json.dumps({"mission_id": folder.name, **times}))
    return folder


def copy_bundle(name: str, folder: Path) -> Path:
    """Copy a bundle, as the recording of a mission that is named as its new folder."""
    shutil.copytree(TRACES / name, folder)
    trace = folder / "trace.json"
    trace.write_text(trace.read_text().replace(f'"mission_id": "{name}"', f'"mission_id": "{folder.name}"'))
    return folder
