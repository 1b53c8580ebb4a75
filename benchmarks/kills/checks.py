"""What must hold after a kill: files read back, no process is left, the input is unchanged."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import zipfile
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import EikonError
from eikon_engine.outcome.read_events import read_events
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.trace_file import JOURNAL_FILE, TRACE_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

MARK: Final = "EIKON_KILLS_MARK"
"""Environment variable that all processes of one command inherit."""
PROCESSES: Final = Path("/proc")


def marked_processes(mark: str) -> dict[int, str]:
    """Return the processes with a mark in their environment, and their command lines; no zombies."""
    found = {}
    wanted = f"{MARK}={mark}".encode()
    for folder in PROCESSES.iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            with suppress(OSError):
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    found[int(folder.name)] = line[:200]
    return found


def digest_of(folder: Path) -> str:
    """Return the digest of all names and contents in a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            digest.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def unreadable(folder: Path, *, is_killed: bool) -> Iterator[str]:
    """Yield each file that does not read back; after SIGKILL, the last line of a log may be incomplete."""
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if not path.is_file() or ".git/" in name or path.stat().st_size == 0:
            continue
        if path.suffix == ".tmp" and path.name.startswith("."):
            if not is_killed:
                yield f"{name}: left behind"
            continue
        try:
            _read(path, is_killed=is_killed)
        except FileNotFoundError:
            continue  # a file of a folder that is being replaced
        except (ValueError, EikonError, zipfile.BadZipFile, sqlite3.Error, OSError) as error:
            yield f"{name}: {error}"


def _read(path: Path, *, is_killed: bool) -> None:
    if path.name == "events.jsonl":
        read_events(path)
    if path.name in {TRACE_FILE, JOURNAL_FILE}:
        open_bundle(path.parent)
    if path.suffix in {".json", ".har"}:
        json.loads(path.read_bytes())
    elif path.suffix == ".jsonl":
        _read_lines(path.read_bytes(), is_killed=is_killed)
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            archive.testzip()
    elif path.suffix in {".db", ".sqlite", ".sqlite3"}:
        with closing(sqlite3.connect(path)) as database:
            (said,) = database.execute("pragma integrity_check").fetchone()
            if said != "ok":
                raise ValueError(said)


def _read_lines(data: bytes, *, is_killed: bool) -> None:
    *lines, rest = data.split(b"\n")
    for line in lines:
        json.loads(line)
    if rest and not is_killed:
        raise ValueError(f"its last line is incomplete: {rest[-40:]!r}")
