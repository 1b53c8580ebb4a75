"""Tests that do not test the copy: those of a package that is installed from the user's own tree, for one."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.fix.test_run import TestRun

_SEARCHED: Final = 2**20
"""Bytes of each output that are looked through, from its start."""


def own_files_named(run: TestRun, session: Path, original: Path, copy: Path) -> tuple[str, ...]:
    """List the files of the copied tree that a test run named by their places in the original, each once."""
    pattern = re.compile(rb"(?<![\w./-])" + re.escape(os.fsencode(original)) + rb"/([^\s\"':,;()<>\[\]]+)")
    found: dict[str, None] = {}
    for stream in (run.stdout, run.stderr):
        with (session / stream.file).open("rb") as file:
            told = pattern.findall(file.read(_SEARCHED))
        found.update(dict.fromkeys(os.fsdecode(name) for name in told))
    return tuple(name for name in found if (copy / name).is_file())


def warning_of(files: tuple[str, ...], original: Path) -> str:
    """Say what such files mean."""
    return (
        f"the tests name {files[0]} of {original} itself, not of the copy in which fixes are tried: where its package "
        "is installed from there (pip install -e), give the command PYTHONPATH=src, or where it lies"
    )
