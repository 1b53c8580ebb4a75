"""What exists where a command writes: refused, or replaced with `--force`."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

import click

from eikon_engine.errors import OutputError, UsageError
from eikon_engine.files.writing import write_error_message
from eikon_engine.trace.trace_file import JOURNAL_FILE, TRACE_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from eikon_engine.cli.command import Holds


@contextmanager
def replaced_output(path: Path, holds: Holds, sources: Iterable[Path], *, is_forced: bool) -> Iterator[None]:
    """Let the block write to `path`; what exists there is kept until the block has succeeded.

    A folder that is no bundle is left to the block, which refuses it or writes beside its files.

    Raises:
        OutputError: something exists there, and `is_forced` is not set.
        UsageError: it is one of the `sources`, which the block reads.
    """
    if not _exists(path, holds):
        yield
        return
    if not is_forced:
        raise OutputError(f"{path}: expected a new {holds}, got an existing one; add --force to replace it")
    same = next((source for source in sources if _is_same(source, path)), None)
    if same is not None:
        raise UsageError(f"--force: {path} is what the command reads; choose another --output")
    if holds == "file":
        yield  # replaced at once, when its content is complete
        return
    earlier = _move_aside(path)
    try:
        yield
    except BaseException:
        if _exists(path, holds):
            click.echo(f"the earlier {path} is kept as {earlier}", err=True)
        else:
            _restore(earlier, path)
        raise
    if _exists(path, holds):
        _remove(earlier)
    else:
        _restore(earlier, path)


def _exists(path: Path, holds: Holds) -> bool:
    try:
        if holds == "bundle":
            return any((path / name).is_file() for name in (TRACE_FILE, JOURNAL_FILE))
        return path.is_file()
    except OSError as error:
        raise OutputError(write_error_message(path, error)) from error


def _is_same(source: Path, output: Path) -> bool:
    """Return whether a source is at the output, or in it."""
    return source.exists() and source.resolve().is_relative_to(output.resolve())


def _move_aside(path: Path) -> Path:
    names = (f"{path.name}.replaced{f'-{number}' if number > 1 else ''}" for number in count(1))
    free = next(beside for name in names if not (beside := path.absolute().with_name(name)).exists())
    _rename(path, free)
    return free


def _restore(earlier: Path, path: Path) -> None:
    """Move back what existed; what the block left at the path is incomplete."""
    _remove(path)
    _rename(earlier, path)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _rename(source: Path, target: Path) -> None:
    try:
        source.rename(target)
    except OSError as error:
        raise OutputError(write_error_message(target, error)) from error
