"""Detect tests that run against the user's tree instead of the copy, e.g. because of an editable install."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.fix.test_run import TestRun

_SEARCHED_BYTES: Final = 2**20
"""Leading bytes of each output to search."""


def original_files_used(run: TestRun, session: Path, original: Path, copy: Path) -> tuple[str, ...]:
    """Return the files of the copy that a test run printed with their paths in the original tree."""
    pattern = re.compile(rb"(?<![\w./-])" + re.escape(os.fsencode(original)) + rb"/([^\s\"':,;()<>\[\]]+)")
    found: dict[str, None] = {}
    for stream in (run.stdout, run.stderr):
        with (session / stream.file).open("rb") as file:
            told = pattern.findall(file.read(_SEARCHED_BYTES))
        found.update(dict.fromkeys(os.fsdecode(name) for name in told))
    return tuple(name for name in found if (copy / name).is_file())


def original_files_warning(files: tuple[str, ...], original: Path) -> str:
    """Return the warning about such files."""
    return (
        f"the tests use {files[0]} of {original}, not of the copy in which fixes are tried. If the package is "
        "installed with `pip install -e`, set PYTHONPATH in the command, e.g. PYTHONPATH=src."
    )
