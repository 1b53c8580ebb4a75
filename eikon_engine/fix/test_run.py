"""One run of a test command, and where its output is stored."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from eikon_engine.fix.process_group import ProcessEnding
from eikon_engine.trace.record import FileModel


class CapturedStream(FileModel):
    """One output stream of a command."""

    file: str
    """Path relative to the session folder, with forward slashes."""
    bytes_written: int = Field(ge=0)
    """Bytes the command wrote."""
    bytes_left_out: int = Field(default=0, ge=0)
    """Bytes not stored in the file: the middle of a long output, replaced by one line."""


class TestRun(FileModel):
    """Result of a test command."""

    __test__: ClassVar = False
    """Not a test class for pytest."""

    command: str
    """As given; run by `sh -c`."""
    cwd: str = "."
    """Working directory, relative to the tree."""
    exit_status: int | None
    """None if it did not exit by itself."""
    ended: ProcessEnding
    signal: int | None = None
    """Signal that killed it, if `ended` is killed."""
    duration_ms: int = Field(ge=0)
    stdout: CapturedStream
    stderr: CapturedStream
    junit_xml: str | None = None
    """Path of the JUnit report relative to the session folder, if one was written."""
    report_asked: bool = False
    """Whether a report was requested; if so, a run without one was cut short."""

    @property
    def passed(self) -> bool:
        """Return whether the tests passed: exit status 0, nothing else."""
        return self.ended == "exited" and self.exit_status == 0
