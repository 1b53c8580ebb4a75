"""A folder of fixtures: what was recorded, read when it is asked for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from eikon_engine.errors import FixtureError, FixturesIncompleteError, FixturesMixedError
from eikon_engine.scenario.fixture import BLOBS, RECORDING_FILE, RecordingNote, fixture_name, read_fixture, read_name
from eikon_engine.scenario.sealed import read_sealed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.scenario.fixture import Fixture

Key = tuple[str, str, int]
"""Tool, hash of the arguments, occurrence."""


class FixtureFolder:
    """Know which calls were recorded by the names of their files alone."""

    def __init__(self, folder: Path) -> None:
        """List the folder.

        Raises:
            FixtureError: it is none, or holds something else.
            FixturesIncompleteError: the run that was recorded did not come to its end.
        """
        self.folder = folder
        self.note = _note(folder)
        self._keys = dict.fromkeys(_listed(folder), False)
        self.tools = frozenset(tool for tool, _, _ in self._keys)

    def __contains__(self, key: Key) -> bool:
        """Say whether a call was recorded."""
        return key in self._keys

    def __len__(self) -> int:
        """Count the calls that were recorded."""
        return len(self._keys)

    def keys(self, tool: str) -> list[Key]:
        """Return the calls of one tool that were recorded."""
        return [key for key in self._keys if key[0] == tool]

    def read(self, key: Key, hashed: dict[str, JsonValue] | None = None) -> Fixture:
        """Read one call; `hashed` are arguments that are known to have its hash.

        Raises:
            FixtureCorruptError: its file is damaged or was edited.
            FixturesMixedError: it belongs to another recording than the folder.
        """
        tool, digest, occurrence = key
        fixture = read_fixture(self.folder, tool, digest, occurrence, hashed)
        if fixture.run_id != self.note.run_id:
            path = self.folder / tool / fixture_name(digest, occurrence)
            message = (
                f"{path}: wanted a fixture of run {self.note.run_id} as all of this folder, found one of run "
                f"{fixture.run_id}; use the fixtures of one recording"
            )
            raise FixturesMixedError(message)
        return fixture

    def take(self, key: Key, args: dict[str, JsonValue]) -> Fixture:
        """Read the call with these arguments, and note that it was used."""
        fixture = self.read(key, args)
        self._keys[key] = True
        return fixture

    def unused(self) -> Iterator[Fixture]:
        """Read the calls that nobody took, in no order."""
        return (self.read(key) for key, is_used in self._keys.items() if not is_used)


def _note(folder: Path) -> RecordingNote:
    path = folder / RECORDING_FILE
    if not folder.is_dir() or not path.is_file():
        found = f"no {RECORDING_FILE} in it" if folder.is_dir() else "no folder"
        message = f"{folder}: wanted the fixtures folder of a recorded run, found {found}; check the path"
        raise FixtureError(message)
    note = read_sealed(RecordingNote, path)
    if note.ended_at is None:
        message = (
            f"{folder}: wanted fixtures of a run that came to its end, found run {note.run_id}, which was killed or is "
            "still going on; record again"
        )
        raise FixturesIncompleteError(message)
    return note


def _listed(folder: Path) -> Iterator[Key]:
    with os.scandir(folder) as tools:
        for tool in tools:
            if tool.is_dir():
                yield from _listed_of_tool(folder, tool.name)
            elif tool.name != RECORDING_FILE and not tool.name.startswith("."):
                raise _stray(folder / tool.name)


def _listed_of_tool(folder: Path, tool: str) -> Iterator[Key]:
    with os.scandir(folder / tool) as files:
        for file in files:
            named = read_name(file.name)
            if named is not None:
                yield tool, *named
            elif file.name != BLOBS and not file.name.startswith("."):
                raise _stray(folder / tool / file.name)


def _stray(path: Path) -> FixtureError:
    return FixtureError(f"{path}: wanted nothing but fixtures, <tool>/<args_hash>.json, found this; take it out")
