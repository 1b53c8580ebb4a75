"""Read the content of a foreign file."""

from __future__ import annotations

from pathlib import Path

from eikon_engine.importers.foreign_file import ForeignFile, parse_foreign_json
from eikon_engine.importers.formats import import_recording
from eikon_engine.importers.imported_mission import ImportedMission


def read_content(content: bytes, form: str | None = None, test: str | None = None) -> ImportedMission:
    """Read JSON as `eikon import` does."""
    file = ForeignFile(path=Path("recording"), data=parse_foreign_json(content, "recording"))
    mission = import_recording(file, form, test)
    assert isinstance(mission, ImportedMission)
    return mission
