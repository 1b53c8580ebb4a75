"""The processor time of a command and of all its processes, by kind."""

from __future__ import annotations

import atexit
import os
import subprocess
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import psutil

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ProcessKind: TypeAlias = Literal["python", "driver", "browser"]
"""A driver is Node.js, which Playwright and @puppeteer/replay control the browser with."""
SAMPLE_S: Final = 0.02
"""Wall time between two samples; what a process uses after its last one is not counted."""
TIMEOUT_S: Final = 120.0


class CommandError(Exception):
    """A measured command failed; the message is one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What a command printed and used."""

    output: str
    wall_s: float
    cpu_s: Mapping[ProcessKind, float]


def run_measured(command: Sequence[str], folder: Path) -> Used:
    """Run a command in a folder, to its end.

    Raises:
        CommandError: it failed, or took longer than `TIMEOUT_S`.
    """
    begin = time.perf_counter()
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(_bytecode())}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    process = psutil.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    seen: dict[int, tuple[ProcessKind, float]] = {}
    while process.poll() is None and time.perf_counter() < begin + TIMEOUT_S:
        for pid, (kind, seconds) in _sample(process).items():
            known = seen.get(pid, (kind, 0.0))[0]  # a process that has just ended has no name any more
            seen[pid] = known, seconds
        with suppress(subprocess.TimeoutExpired, psutil.TimeoutExpired):
            process.wait(SAMPLE_S)
    wall_s = time.perf_counter() - begin
    if process.poll() is None:
        process.kill()
    output, errors = process.communicate()
    if process.returncode:
        lines = [line.strip() for line in (errors or output).splitlines() if line.strip()] or ["no output"]
        reason = next((line for line in lines if "Error" in line), lines[-1])
        raise CommandError(f"{' '.join(command[:3])} exited with {process.returncode}: {reason}")
    cpu_s: defaultdict[ProcessKind, float] = defaultdict(float)
    for kind, seconds in seen.values():
        cpu_s[kind] += seconds
    return Used(output=output, wall_s=wall_s, cpu_s=cpu_s)


@cache
def _bytecode() -> Path:
    """Return a folder for compiled modules, which an installed package has beside its own."""
    folder = TemporaryDirectory(prefix="eikon-bytecode-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


def _sample(root: psutil.Process) -> dict[int, tuple[ProcessKind, float]]:
    """Return kind and processor time of a process and its descendants, by their ids."""
    found: dict[int, tuple[ProcessKind, float]] = {}
    with suppress(psutil.Error):
        for process in (root, *root.children(recursive=True)):
            with suppress(psutil.Error):
                times = process.cpu_times()
                found[process.pid] = _kind(process.exe()), times.user + times.system
    return found


def _kind(path: str) -> ProcessKind:
    name = path.rpartition("/")[2]
    return "python" if name.startswith("python") else "driver" if name.startswith("node") else "browser"
