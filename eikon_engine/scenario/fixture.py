"""Fixtures: one recorded tool call per file, `fixtures/<tool>/<args_hash>.json`, and `recording.json`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

from pydantic import AwareDatetime, Field

from eikon_engine.errors import FixtureCorruptError
from eikon_engine.scenario.args_hash import args_hash
from eikon_engine.scenario.sealed import DigestedRecord, read_digested
from eikon_engine.trace.found_secret import FoundSecret
from eikon_engine.trace.record import FileModel, FiniteJson

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import JsonValue

FIXTURE_FORMAT_VERSION: Final = 1
RECORDING_FILE: Final = "recording.json"
BLOBS_FOLDER: Final = "blobs"
"""Subfolder for bytes in the folder of a tool."""
_FIXTURE_NAME: Final = re.compile(r"([0-9a-f]{64})(?:\.([1-9][0-9]{0,8}))?\.json")


class ToolFailureRecord(FileModel):
    """An exception of a tool."""

    type: str = Field(min_length=1)
    """Class name of the exception."""
    code: str | None = None
    """Its `code`, if it is a string."""
    message: str


class Fixture(DigestedRecord):
    """One tool call with its result; named secrets appear as references, found ones as stand-ins."""

    format_version: Literal[1] = FIXTURE_FORMAT_VERSION
    run_id: str = Field(min_length=1)
    """Id of its recording."""
    tool: str = Field(min_length=1)
    args: dict[str, FiniteJson]
    args_hash: str = Field(pattern=r"^[0-9a-f]{64}$")
    occurrence: int = Field(ge=1)
    """Number among the calls with equal arguments, from 1."""
    order: int = Field(ge=1)
    """Number among all tool calls of the run, from 1."""
    result: FiniteJson = None
    """Return value; bytes are stored as `{"$bytes": {"sha256": …, "size": …}}`."""
    error: ToolFailureRecord | None = None
    """Exception raised instead."""
    started_at: AwareDatetime
    ended_at: AwareDatetime
    duration_seconds: float = Field(ge=0)


class RecordingInfo(DigestedRecord):
    """Metadata of a fixtures folder, `fixtures/recording.json`."""

    format_version: Literal[1] = FIXTURE_FORMAT_VERSION
    run_id: str = Field(min_length=1)
    started_at: AwareDatetime
    ended_at: AwareDatetime | None = None
    """None until the recording is complete."""
    calls: int | None = None
    """Number of tool calls; None until the recording is complete."""
    secrets: tuple[FoundSecret, ...] = ()
    """The stand-ins in the fixtures."""


def fixture_name(digest: str, occurrence: int) -> str:
    """Return the file name of a call."""
    return f"{digest}.json" if occurrence == 1 else f"{digest}.{occurrence}.json"


def parse_fixture_name(name: str) -> tuple[str, int] | None:
    """Parse hash and occurrence from a file name; None if it is not a fixture."""
    found = _FIXTURE_NAME.fullmatch(name)
    if found is None:
        return None
    digest, occurrence = found[1], int(found[2] or 1)
    return (digest, occurrence) if fixture_name(digest, occurrence) == name else None


def read_fixture(
    folder: Path, tool: str, digest: str, occurrence: int, hashed: dict[str, JsonValue] | None = None
) -> Fixture:
    """Read the fixture of a call, and check that it matches its path.

    `hashed` are arguments known to have the hash, which saves hashing them again.

    Raises:
        FixtureCorruptError: it cannot be read, was edited, or does not match its path.
    """
    path = folder / tool / fixture_name(digest, occurrence)
    fixture = read_digested(Fixture, path)
    for name, found, wanted in (
        ("tool", fixture.tool, tool),
        ("args_hash", fixture.args_hash, digest),
        ("occurrence", fixture.occurrence, occurrence),
        ("args with the hash", digest if fixture.args == hashed else args_hash(fixture.args), digest),
    ):
        if found != wanted:
            message = (
                f"{path}: expected {name} {wanted} to match the path, got {found}. Restore the file, or record again."
            )
            raise FixtureCorruptError(message)
    return fixture
