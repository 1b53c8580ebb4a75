"""Proves that every reader refuses a bomb in one line, in seconds, and within a limited memory.

Run as `python -m benchmarks.bombs [NAME ...]` in the environment of scripts/test. A bomb is a file, an archive or a
blob that is small to send and large to read. The files are those of `tests/files/test_hostile_files.py`, given to each
reader in a process of its own; archives and blobs are given to the commands that open them. The tables have a row for
each reader, with the code of the error, seconds, and MB of memory of its process for each bomb; a process that has read
nothing takes about 100 MB. Exits with 1 if a bomb is accepted or ends a reader in anything but one line of ours, takes
10 s or more, or takes more memory than four times the largest file.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.table import table
from eikon_engine.files.limits import MAX_ARCHIVE_FILES
from tests.files.hostile_reads import MAX_MEMORY, READERS
from tests.files.test_hostile_files import BOMBS, LENIENT, MAX_SECONDS, repeated_byte

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ROOT: Final = Path(__file__).parents[1]
BUNDLE: Final = ROOT / "tests" / "data" / "traces" / "shop_failing"
MAX_MEMORY_MB: Final = MAX_MEMORY / 1024**2


class Found(NamedTuple):
    """What a reader made of a bomb."""

    code: str
    """Of its error; empty if it accepted the bomb, a text in capitals if it ended in another way."""
    seconds: float
    memory: float
    """In MB."""

    @property
    def is_clean(self) -> bool:
        """Return whether it was refused as it should be."""
        return self.code == self.code.lower() != "" and self.seconds < MAX_SECONDS and self.memory <= MAX_MEMORY_MB

    def __str__(self) -> str:
        """Return a cell of the table."""
        mark = "" if self.is_clean else "  FAILED"
        return f"{self.code or 'ACCEPTED'} {self.seconds:.1f} s {self.memory:.0f} MB{mark}"


def zeros(path: Path) -> None:
    """Make an archive whose files have 2 GB of zeros each, under the names that importers look for."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name in ("har.har", "trace.trace"):
            with archive.open(name, "w", force_zip64=True) as file:
                for _ in range(128):
                    file.write(bytes(16 << 20))


def overlapping(path: Path) -> None:
    """Make an archive of files that share their content."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("har.har", b" " * 1_000_000)
        for number in range(1000):
            again = copy(archive.filelist[0])
            again.filename = f"{number}.trace"
            archive.filelist.append(again)


def many_files(path: Path) -> None:
    """Make an archive of more files than any may have."""
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(MAX_ARCHIVE_FILES + 1):
            archive.writestr(f"{number}.trace", b"")


def stated(path: Path) -> None:
    """Make a blob of 98 kB that states 3 GiB."""
    path.write_bytes(repeated_byte(3 << 30))


def unstated(path: Path) -> None:
    """Make a blob of as much whose frame states no size."""
    frame = bytearray(repeated_byte(3 << 30))
    frame[4] = 0  # descriptor without a content size (RFC 8878, 3.1.1.1)
    del frame[6:14]
    path.write_bytes(bytes(frame))


ARCHIVES: Final[dict[str, Callable[[Path], None]]] = {
    "zeros": zeros,
    "overlapping": overlapping,
    "many files": many_files,
}
BLOBS: Final[dict[str, Callable[[Path], None]]] = {
    "stated size": stated,
    "no stated size": unstated,
    "another size": unstated,
}
"""Blobs of 3 GiB; the network index states their size, except for the last one."""
OF_ARCHIVES: Final[dict[str, tuple[str, ...]]] = {
    "import": ("import", "playwright", "{bomb}", "-o", "imported"),
    "import of any format": ("import", "{bomb}", "-o", "imported"),
    "import har": ("import", "har", "{bomb}", "-o", "imported"),
    "replay --har": ("replay", "{bundle}", "--har", "{bomb}", "--artifacts-dir", "out"),
}
"""Commands that open an archive."""
OF_BLOBS: Final[dict[str, tuple[str, ...]]] = {
    "replay": ("replay", "{bundle}", "--artifacts-dir", "out"),
    "certify": ("certify", "{bundle}", "--runs", "2"),
    "scan": ("scan", "{bundle}"),
    "learn": ("learn", "{bundle}", "{bundle}"),
    "export har": ("export", "har", "{bundle}", "-o", "a.har"),
    "export trace": ("export", "trace", "{bundle}", "-o", "trace.zip"),
}
"""Commands that open the blobs of a bundle; `export bundle` copies them."""


def read_file(name: str, bomb: Path, folder: Path) -> Found:
    """Read a file with a reader of the library."""
    ended = _run(("-m", "tests.files.hostile_reads", str(bomb), name), folder)
    try:
        found = json.loads(ended.printed)
    except ValueError:
        return Found(f"STATUS {ended.status}: {ended.last_line}", ended.seconds, ended.memory)
    return Found(found["code"], found["seconds"], ended.memory)


def run_command(words: tuple[str, ...], bomb: Path, bundle: Path, folder: Path) -> Found:
    """Run a command in a folder."""
    ended = _run(("-m", "eikon_engine", *(word.format(bomb=bomb, bundle=bundle) for word in words)), folder)
    code = re.search(r"\(code ([a-z-]+)\)$", ended.last_line)
    if ended.status == 0 or code is None or code[1] == "internal":
        return Found(f"STATUS {ended.status}: {ended.last_line}", ended.seconds, ended.memory)
    return Found(code[1], ended.seconds, ended.memory)


class _Ended(NamedTuple):
    """A process that has ended."""

    status: int
    printed: str
    seconds: float
    memory: float
    """The largest, in MB."""

    @property
    def last_line(self) -> str:
        """Return the last line that it printed."""
        return next(iter(self.printed.strip().splitlines()[-1:]), "")


_MEASURED: Final = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, *sys.argv[2:]])
_, status, usage = os.wait4(child.pid, 0)
open(sys.argv[1], "w").write(str(usage.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status) % 256)
"""
"""Runs a command from a small process: the memory of a process is at least that of the one that started it."""


def _run(arguments: tuple[str, ...], folder: Path) -> _Ended:
    """Run Python in an empty folder, which is removed again."""
    folder.mkdir()
    usage, printed = folder.with_name("usage"), folder.with_name("printed")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "EIKON_HISTORY": "off"}
    started = time.monotonic()
    with printed.open("wb") as output:
        done = subprocess.run(
            [sys.executable, "-c", _MEASURED, str(usage), *arguments],
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
            cwd=folder,
            env=environment,
        )
    seconds = time.monotonic() - started
    shutil.rmtree(folder)
    memory = int(usage.read_text()) / 1024
    return _Ended(done.returncode, printed.read_text(errors="replace"), seconds, memory)


def with_blob(name: str, bundle: Path) -> None:
    """Copy a bundle, with a bomb in place of the body of its first response."""
    shutil.copytree(BUNDLE, bundle)
    index = bundle / "network" / "index.jsonl"
    first, _, rest = index.read_text(encoding="utf-8").partition("\n")
    exchange = json.loads(first)
    body = exchange["response"]["body"]
    if name != "another size":
        body["size"] = 3 << 30
    BLOBS[name](bundle / "network" / "blobs" / f"{body['sha256']}.zst")
    index.write_text(f"{json.dumps(exchange)}\n{rest}", encoding="utf-8")


def main() -> int:
    """Try, and print."""
    parser = argparse.ArgumentParser(description="Give bombs to every reader.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="readers; by default all")
    names = parser.parse_args().names
    groups = (
        ("file", tuple(BOMBS), {name: name for name in READERS if name not in LENIENT}),
        ("archive", tuple(ARCHIVES), OF_ARCHIVES),
        ("blob", tuple(BLOBS), OF_BLOBS),
    )
    failures = 0
    with tempfile.TemporaryDirectory(prefix="bombs-") as scratch:
        for kind, bombs, readers in groups:
            chosen = [name for name in readers if not names or name in names]
            rows = {name: [name] for name in chosen}
            for bomb in bombs if chosen else ():
                for name, found in _read_all(kind, bomb, chosen, Path(scratch)):
                    rows[name].append(str(found))
                    failures += not found.is_clean
            if chosen:
                sys.stdout.write(f"{table((kind, *bombs), list(rows.values()))}\n")
                sys.stdout.flush()
    sys.stdout.write(f"{failures} failures\n")
    return 1 if failures else 0


def _read_all(kind: str, bomb: str, readers: list[str], scratch: Path) -> Iterable[tuple[str, Found]]:
    """Give one bomb to each reader."""
    path, bundle, folder = scratch / "bomb", scratch / "bundle", scratch / "work"
    if kind == "file":
        BOMBS[bomb](path)
        for name in readers:
            yield name, read_file(name, path, folder)
        path.unlink()
        return
    if kind == "archive":
        path = scratch / "bomb.zip"
        ARCHIVES[bomb](path)
        shutil.copytree(BUNDLE, bundle)
    else:
        with_blob(bomb, bundle)
    commands = OF_ARCHIVES if kind == "archive" else OF_BLOBS
    for name in readers:
        yield name, run_command(commands[name], path, bundle, folder)
    shutil.rmtree(bundle)
    path.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
