"""Proves that a full disk is one error, wherever it is met, and that what was written reads back.

Run as root on Linux: `python -m benchmarks.full_disk [COMMAND ...]` in the environment of scripts/test. Each command of
`benchmarks.kills` is run on a file system of its own (tmpfs) on which a few kilobytes are free, more each time until it
ends as usual; then once with the folder for temporary files on a full one. It must end within two minutes with a
documented status and one line that names what could not be written; no traceback, no process is left, and every file
reads back. Prints a row for each run; exits with 1 if one does not.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.kills.checks import marked_processes, unreadable
from benchmarks.kills.commands import CASES, served
from benchmarks.kills.runs import FAULTS, ROOT, new_place, run_whole
from benchmarks.table import table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.kills.commands import Case

SIZE_KB: Final = 32_768
FREE_KB: Final = (0, 16, 64, 160, 400, 1000)
REASON: Final = re.compile(r"cannot (?:write|create|be written)|No space left|disk|full")


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Mount an empty file system at a folder."""
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE_KB}k", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path, free_kb: int) -> None:
    """Write a file that leaves so much space."""
    available = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
    (folder / "ballast").write_bytes(b"\0" * max(0, available - free_kb * 1024))


def run_full(case: Case, folder: Path, template: Path, addresses: dict[str, str], free_kb: int | None) -> list[object]:
    """Run a command with so much space, or, with None, with none for temporary files; return a row."""
    disk = folder / "tmp" if free_kb is None else folder / "disk"
    with small_disk(disk):
        place = new_place(case, folder if free_kb is None else disk / "place", template, addresses)
        fill(disk, free_kb or 0)
        place.output = folder.with_name(f"{folder.name}-printed")
        usual = run_whole(place)
        printed = place.printed.read_text(errors="replace")
        faults = [word for word in FAULTS if word in printed]
        if usual.status not in {0, 1, 143} and not REASON.search(printed):
            faults.append("no reason")
        faults += list(unreadable(place.work, is_killed=False))
        faults += list(marked_processes(place.mark).values())
    last = printed.strip().splitlines()[-1:] or [""]
    free = "no temporary files" if free_kb is None else f"{free_kb} kB"
    return [case.name, free, usual.status, usual.seconds, "; ".join(faults) or "clean", last[0][:220]]


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description="Run commands on full disks.")
    parser.add_argument("commands", nargs="*", metavar="COMMAND", help="commands; by default all")
    chosen = parser.parse_args()
    os.chdir(ROOT)
    rows = []
    with tempfile.TemporaryDirectory(prefix="full-") as scratch, served(Path(scratch) / "template") as addresses:
        for case in CASES:
            if chosen.commands and case.name not in chosen.commands:
                continue
            for number, free in enumerate((*FREE_KB, None)):
                folder = Path(scratch) / f"{CASES.index(case)}-{number}"
                rows.append(run_full(case, folder, Path(scratch) / "template", addresses, free))
                sys.stderr.write(f"{rows[-1]}\n")
                if free is not None and rows[-1][2] == 0:
                    break
    sys.stdout.write(table(("command", "free", "status", "seconds", "found", "last line"), rows))
    return int(any(row[4] != "clean" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
