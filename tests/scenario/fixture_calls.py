"""Tools whose calls are recorded as fixtures and replayed from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from pydantic import JsonValue

from eikon_engine.scenario.fixtures import FixtureFolder
from eikon_engine.scenario.recorded_calls import RecordingCalls
from eikon_engine.scenario.redaction import SecretFinder
from eikon_engine.scenario.replayed_calls import ReplayingCalls
from eikon_engine.scenario.tool_box import ToolBox
from eikon_engine.secrets.search import RedactionRules

NOON = datetime(2026, 1, 20, 12, tzinfo=UTC)


class Counter:
    """A tool that returns another result each time, and counts its calls."""

    def __init__(self) -> None:
        self.count = 0

    def next_number(self) -> int:
        """Return the next number."""
        self.count += 1
        return self.count


def echo(value: JsonValue = None) -> JsonValue:
    """Return the argument."""
    return value


def record(
    folder: Path,
    box: ToolBox,
    work: Callable[[ToolBox], object],
    *,
    run_id: str = "run_1",
    secrets: Mapping[str, str] | None = None,
) -> Path:
    """Record calls of a tool box."""
    calls = RecordingCalls(folder, run_id, SecretFinder(secrets or {}, RedactionRules(), b"key"), lambda: NOON)
    work(box.with_calls(calls))
    calls.close()
    return folder


def replayed(folder: Path, secrets: Mapping[str, str] | None = None) -> tuple[ToolBox, ReplayingCalls]:
    """Return an empty tool box that is answered from a recording."""
    calls = ReplayingCalls(FixtureFolder(folder), secrets or {})
    return ToolBox.of().with_calls(calls), calls


def files(folder: Path) -> list[Path]:
    """Return the fixtures of a folder."""
    return sorted(each for each in folder.rglob("*.json") if each.name != "recording.json")
