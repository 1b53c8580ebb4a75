"""A fixtures folder, whose files are read on demand."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from eikon_engine.errors import FixtureFolderError, FixturesIncompleteError, FixturesMixedError
from eikon_engine.scenario.fixture import (
    BLOBS_FOLDER,
    RECORDING_FILE,
    RecordingInfo,
    fixture_name,
    parse_fixture_name,
    read_fixture,
)
from eikon_engine.scenario.sealed import read_digested

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.scenario.fixture import Fixture

FixtureKey = tuple[str, str, int]
"""Tool, hash of the arguments, occurrence."""


class FixtureFolder:
    """The recorded calls of a folder, known by their file names."""

    def __init__(self, folder: Path) -> None:
        """List the folder.

        Raises:
            FixtureFolderError: it is not a fixtures folder, or holds other files.
            FixturesIncompleteError: the recorded run did not complete.
        """
        self.folder = folder
        self.info = _read_recording_info(folder)
        self._keys = dict.fromkeys(_list_folder(folder), False)
        self.tools = frozenset(tool for tool, _, _ in self._keys)

    def __contains__(self, key: FixtureKey) -> bool:
        """Return whether a call was recorded."""
        return key in self._keys

    def __len__(self) -> int:
        """Return the number of recorded calls."""
        return len(self._keys)

    def keys(self, tool: str) -> list[FixtureKey]:
        """Return the recorded calls of one tool."""
        return [key for key in self._keys if key[0] == tool]

    def read(self, key: FixtureKey, hashed: dict[str, JsonValue] | None = None) -> Fixture:
        """Read one call; for `hashed` see `read_fixture`.

        Raises:
            FixtureCorruptError: its file is corrupt or was edited.
            FixturesMixedError: it belongs to another recording.
        """
        tool, digest, occurrence = key
        fixture = read_fixture(self.folder, tool, digest, occurrence, hashed)
        if fixture.run_id != self.info.run_id:
            path = self.folder / tool / fixture_name(digest, occurrence)
            message = (
                f"{path}: expected a fixture of run {self.info.run_id}, got one of run {fixture.run_id}. "
                "Use the fixtures of one recording."
            )
            raise FixturesMixedError(message)
        return fixture

    def use(self, key: FixtureKey, args: dict[str, JsonValue]) -> Fixture:
        """Read the call with these arguments, and mark it as used."""
        fixture = self.read(key, args)
        self._keys[key] = True
        return fixture

    def unused(self) -> Iterator[Fixture]:
        """Read the unused calls, in no particular order."""
        return (self.read(key) for key, is_used in self._keys.items() if not is_used)


def _read_recording_info(folder: Path) -> RecordingInfo:
    path = folder / RECORDING_FILE
    if not folder.is_dir() or not path.is_file():
        found = f"a folder without {RECORDING_FILE}" if folder.is_dir() else "no folder"
        message = f"{folder}: expected the fixtures folder of a recorded run, got {found}. Check the path."
        raise FixtureFolderError(message)
    note = read_digested(RecordingInfo, path)
    if note.ended_at is None:
        message = (
            f"{folder}: expected fixtures of a complete run, got run {note.run_id}, which was killed or is still "
            "running. Record again."
        )
        raise FixturesIncompleteError(message)
    return note


def _list_folder(folder: Path) -> Iterator[FixtureKey]:
    with os.scandir(folder) as tools:
        for tool in tools:
            if tool.is_dir():
                yield from _list_tool_folder(folder, tool.name)
            elif tool.name != RECORDING_FILE and not tool.name.startswith("."):
                raise _unexpected_file(folder / tool.name)


def _list_tool_folder(folder: Path, tool: str) -> Iterator[FixtureKey]:
    with os.scandir(folder / tool) as files:
        for file in files:
            named = parse_fixture_name(file.name)
            if named is not None:
                yield tool, *named
            elif file.name != BLOBS_FOLDER and not file.name.startswith("."):
                raise _unexpected_file(folder / tool / file.name)


def _unexpected_file(path: Path) -> FixtureFolderError:
    return FixtureFolderError(
        f"unexpected file in a fixtures folder ({path}): expected only <tool>/<args_hash>.json. Remove it."
    )
