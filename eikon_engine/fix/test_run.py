"""One run of a test command, and where its output lies."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from pydantic import Field

from eikon_engine.trace.record import Record

Ending: TypeAlias = Literal["exited", "killed", "timed_out", "not_started"]


class Stream(Record):
    """What a command wrote to one of its outputs."""

    file: str
    """Path inside the session folder, with forward slashes."""
    bytes_written: int = Field(ge=0)
    """How much came."""
    bytes_left_out: int = Field(default=0, ge=0)
    """How much of it is not in the file: the middle of what is too long. A line in its place says so."""


class TestRun(Record):
    """How a test command ended."""

    __test__: ClassVar = False
    """Is no class of tests for pytest."""

    command: str
    """As it was given; it is run by `sh -c`."""
    cwd: str = "."
    """Folder it ran in, relative to the tree."""
    exit_status: int | None
    """None where it did not come to its own end."""
    ended: Ending
    signal: int | None = None
    """What killed it, where `ended` is killed."""
    duration_ms: int = Field(ge=0)
    stdout: Stream
    stderr: Stream
    junit_xml: str | None = None
    """Path of the report inside the session folder, where the command wrote one."""
    report_asked: bool = False
    """Whether the command was made to write one, so that a run without it was stopped."""

    @property
    def passed(self) -> bool:
        """Say whether the tests passed: exit status 0, and nothing else."""
        return self.ended == "exited" and self.exit_status == 0
