"""One recorded tool call, `fixtures/<tool>/<args_hash>.json`, and what their folder says of itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

from pydantic import AwareDatetime, Field

from eikon_engine.errors import FixtureCorruptError
from eikon_engine.scenario.args_hash import args_hash
from eikon_engine.scenario.sealed import Sealed, read_sealed
from eikon_engine.trace.found_secret import FoundSecret
from eikon_engine.trace.record import FiniteJson, Record

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import JsonValue

FORMAT_VERSION: Final = 1
RECORDING_FILE: Final = "recording.json"
BLOBS: Final = "blobs"
"""Folder of bytes in the folder of a tool."""
_FILE_NAME: Final = re.compile(r"([0-9a-f]{64})(?:\.([1-9][0-9]{0,8}))?\.json")


class Failure(Record):
    """What a tool raised."""

    type: str = Field(min_length=1)
    """Name of its class."""
    code: str | None = None
    """Its `code`, where it has one that is a text."""
    message: str


class Fixture(Sealed):
    """One call of a tool, and what came of it; secrets stand in it as placeholders and stand-ins."""

    format_version: Literal[1] = FORMAT_VERSION
    run_id: str = Field(min_length=1)
    """The recording it belongs to."""
    tool: str = Field(min_length=1)
    args: dict[str, FiniteJson]
    args_hash: str = Field(pattern=r"^[0-9a-f]{64}$")
    occurrence: int = Field(ge=1)
    """Which of the calls with these arguments it is, from 1."""
    order: int = Field(ge=1)
    """Its place among all tool calls of the run, from 1."""
    result: FiniteJson = None
    """What it returned; bytes stand as `{"$bytes": {"sha256": …, "size": …}}`."""
    error: Failure | None = None
    """What it raised instead of returning."""
    started_at: AwareDatetime
    ended_at: AwareDatetime
    duration_seconds: float = Field(ge=0)


class RecordingNote(Sealed):
    """What a folder of fixtures says of itself, `fixtures/recording.json`."""

    format_version: Literal[1] = FORMAT_VERSION
    run_id: str = Field(min_length=1)
    started_at: AwareDatetime
    ended_at: AwareDatetime | None = None
    """None until the recording has come to its end."""
    calls: int | None = None
    """How many tool calls there are; None until then."""
    secrets: tuple[FoundSecret, ...] = ()
    """The stand-ins in the fixtures, and what they stand for."""


def fixture_name(digest: str, occurrence: int) -> str:
    """Return the name of the file of a call."""
    return f"{digest}.json" if occurrence == 1 else f"{digest}.{occurrence}.json"


def read_name(name: str) -> tuple[str, int] | None:
    """Read hash and occurrence out of the name of a file; None where it is no name of a fixture."""
    found = _FILE_NAME.fullmatch(name)
    if found is None:
        return None
    digest, occurrence = found[1], int(found[2] or 1)
    return (digest, occurrence) if fixture_name(digest, occurrence) == name else None


def read_fixture(
    folder: Path, tool: str, digest: str, occurrence: int, hashed: dict[str, JsonValue] | None = None
) -> Fixture:
    """Read the fixture of a call, and prove that it is the one that its path names.

    `hashed` are arguments that are known to have the hash.

    Raises:
        FixtureCorruptError: it cannot be read, was edited, or belongs elsewhere.
    """
    path = folder / tool / fixture_name(digest, occurrence)
    fixture = read_sealed(Fixture, path)
    for name, found, wanted in (
        ("tool", fixture.tool, tool),
        ("args_hash", fixture.args_hash, digest),
        ("occurrence", fixture.occurrence, occurrence),
        ("args with the hash", digest if fixture.args == hashed else args_hash(fixture.args), digest),
    ):
        if found != wanted:
            message = f"{path}: wanted {name} {wanted} as its path says, found {found}; put it back, or record again"
            raise FixtureCorruptError(message)
    return fixture
