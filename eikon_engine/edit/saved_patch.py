"""Keep a patch in a file, and read it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from eikon_engine.errors import TraceMissingError
from eikon_engine.trace.field_errors import trace_error
from eikon_engine.trace.patch import TracePatch
from eikon_engine.trace.whole_file import write_whole

if TYPE_CHECKING:
    from pathlib import Path


def write_patch(path: Path, patch: TracePatch) -> None:
    """Write a patch as JSON, whole.

    Raises:
        OutputError: the file cannot be written.
    """
    write_whole(path, patch.model_dump_json(indent=1).encode() + b"\n")


def read_patch(path: Path) -> TracePatch:
    """Read a patch.

    Raises:
        TraceMissingError: there is no file to read.
        TraceSyntaxError: it is no JSON.
        TraceFieldError: it is no patch.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"{path}: wanted a patch that `eikon trace` saved, found {error.strerror}; check the path"
        raise TraceMissingError(message) from error
    try:
        return TracePatch.model_validate_json(data)
    except ValidationError as error:
        raise trace_error(error, data, str(path)) from error
