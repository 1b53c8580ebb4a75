"""What a suite uses while it runs: memory, open files and processor time, by kind of process."""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

import psutil

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

Kind: TypeAlias = Literal["suite", "worker", "driver", "browser"]
"""The command, its worker processes, Playwright's Node.js, and browsers."""
MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What the processes used at one time, by kind. PSS divides shared memory between the processes that share it."""

    after_s: float
    pss_mb: Mapping[str, float]
    rss_mb: Mapping[str, float]
    processes: Mapping[str, int]
    files: Mapping[str, int]
    """Open file descriptors."""


@dataclass(slots=True)
class ResourceSamples:
    """Samples of a process and those below it, taken while a block runs."""

    root: int
    interval_s: float
    samples: list[Sample] = field(default_factory=list)
    own_s: float = 0.0
    """Processor time of all these processes, up to the last sample of each."""
    machine_s: float = 0.0
    """Processor time of everything on the machine meanwhile."""
    _cpu: dict[tuple[int, float], float] = field(default_factory=dict)
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _begin: float = 0.0

    def __enter__(self) -> Self:
        """Begin."""
        self._begin = time.perf_counter()
        self.machine_s = -_busy_s()
        self._thread = threading.Thread(target=self._sample)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        self.machine_s += _busy_s()
        self.own_s = sum(self._cpu.values())

    def _sample(self) -> None:
        number = 0
        due = self._begin + self.interval_s
        while not self._ended.wait(CPU_S):
            self._note_cpu()
            if time.perf_counter() >= due:
                number += 1
                self.samples.append(self._take())
                due = self._begin + (number + 1) * self.interval_s

    def _note_cpu(self) -> None:
        for process in _below(self.root):
            with suppress(psutil.Error):
                times = process.cpu_times()
                self._cpu[process.pid, process.create_time()] = times.user + times.system

    def _take(self) -> Sample:
        pss, rss = Counter[str](), Counter[str]()
        processes, files = Counter[str](), Counter[str]()
        for process in _below(self.root):
            with suppress(psutil.Error, OSError):
                kind = _kind(process, self.root)
                memory = dict(_rollup(process.pid))
                pss[kind] += memory["Pss"]
                rss[kind] += memory["Rss"]
                files[kind] += process.num_fds()
                processes[kind] += 1
        return Sample(
            after_s=time.perf_counter() - self._begin,
            pss_mb={kind: size / 1024 for kind, size in pss.items()},
            rss_mb={kind: size / 1024 for kind, size in rss.items()},
            processes=processes,
            files=files,
        )


CPU_S = 0.25
"""Wall time between two readings of processor time; what a process uses after its last one is not counted."""


def _below(root: int) -> list[psutil.Process]:
    with suppress(psutil.Error):
        process = psutil.Process(root)
        return [process, *process.children(recursive=True)]
    return []


def _kind(process: psutil.Process, root: int) -> Kind:
    if process.pid == root:
        return "suite"
    name = process.exe().rpartition("/")[2]
    return "worker" if name.startswith("python") else "driver" if name.startswith("node") else "browser"


def _rollup(process: int) -> list[tuple[str, int]]:
    """Return the sizes of a process in kilobytes."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]
    return [(name, int(rest.split()[0])) for name, _, rest in (line.partition(":") for line in lines)]


def _busy_s() -> float:
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - times.iowait - times.guest - times.guest_nice)
