"""Read and write patch files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from eikon_engine.errors import TraceMissingError
from eikon_engine.trace.field_errors import validation_error
from eikon_engine.trace.patch import TracePatch
from eikon_engine.trace.whole_file import write_atomically

if TYPE_CHECKING:
    from pathlib import Path


def write_patch(path: Path, patch: TracePatch) -> None:
    """Write a patch as JSON, atomically.

    Raises:
        OutputError: the file cannot be written.
    """
    write_atomically(path, patch.model_dump_json(indent=1).encode() + b"\n")


def read_patch(path: Path) -> TracePatch:
    """Read a patch.

    Raises:
        TraceMissingError: the file cannot be read.
        TraceSyntaxError: the text is not JSON.
        TraceFieldError: the JSON is not a patch.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"{path}: expected a patch saved by `eikon trace`, got {error.strerror}; check the path"
        raise TraceMissingError(message) from error
    try:
        return TracePatch.model_validate_json(data)
    except ValidationError as error:
        raise validation_error(error, data, str(path)) from error
