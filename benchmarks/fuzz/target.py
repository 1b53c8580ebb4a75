"""What a fuzzed reader is: a function of bytes, valid samples of them, and a folder to work in."""

from __future__ import annotations

import io
import os
import shlex
import shutil
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from benchmarks.fuzz.mutation import mutate
from eikon_engine.cli.main import eikon
from eikon_engine.errors import EikonError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random  # noqa: TID251 - an argument

    from benchmarks.fuzz.mutation import Form

ROOT: Final = Path(__file__).parents[2]
CORPUS: Final = ROOT / "tests" / "data" / "fuzz"
REFUSALS: Final = (EikonError, click.ClickException, click.exceptions.Exit, click.Abort)
"""What a reader may raise: an error of ours, or a usage error of the command line."""
_MAX_SAMPLE_BYTES: Final = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A reader of untrusted input."""

    form: Form
    read: Callable[[bytes, Path], object]
    """Reads an input as the command line does; takes a folder of its own, too."""
    samples: tuple[str, ...] = ()
    """Patterns of files in the repository that it accepts, in addition to those of its corpus."""
    beside: str = ""
    """Folder of the repository of which the working folder is a copy; empty for an empty folder."""
    seal: Callable[[bytes], bytes] = bytes
    """Updates the digest in a mutated input, which no broken file would get past otherwise."""

    def prepare(self, folder: Path) -> None:
        """Make the working folder."""
        if self.beside:
            shutil.copytree(ROOT / self.beside, folder, dirs_exist_ok=True)

    def corpus(self, name: str, root: Path = CORPUS) -> Iterator[Path]:
        """Yield the files of its corpus, in order: samples, and inputs that were findings once."""
        for pattern in self.samples:
            yield from sorted(each for each in ROOT.glob(pattern) if each.stat().st_size <= _MAX_SAMPLE_BYTES)
        yield from sorted(each for each in (root / name).glob("*") if each.is_file())

    def mutated(self, data: bytes, chance: Random, others: list[bytes]) -> bytes:
        """Return a broken copy of an input."""
        return self.seal(mutate(data, self.form, chance, others))


def read_each(*reads: Callable[[], object]) -> None:
    """Read an input in several ways, which are independent; raise the last refusal.

    Raises:
        EikonError: a reader refused it.
    """
    refusal: Exception | None = None
    for read in reads:
        try:
            read()
        except REFUSALS as error:
            refusal = error
    if refusal is not None:
        raise refusal


_written = 0


def write_input(path: Path, data: bytes) -> Path:
    """Write an input to a file, with a time of its own, since some readers keep what they read by it."""
    global _written  # noqa: PLW0603 - a counter
    _written += 1
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, ns=(_written * 1000, _written * 1000))
    return path


def text_of(data: bytes) -> str:
    """Return an input as an argument of a command: bytes that are no UTF-8 become lone surrogates."""
    return data.decode("utf-8", "surrogateescape").replace("\0", "")


def words_of(data: bytes) -> list[str]:
    """Return an input as several arguments."""
    text = text_of(data)
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def run_command(folder: Path, *arguments: str) -> None:
    """Run a command of `eikon` in this process, and discard what it prints."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        with (
            io.TextIOWrapper(io.BytesIO(), encoding="utf-8") as out,
            io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace") as err,
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            eikon.main(list(arguments), prog_name="eikon", standalone_mode=False)
            out.flush()
    finally:
        os.chdir(before)
