"""Start a command, kill it at some moment, and check what it left."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.kills.checks import MARK, digest_of, marked_processes, unreadable
from benchmarks.kills.commands import INPUT
from eikon_engine.browser.executable import BROWSER_PATH, find_browser

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random  # noqa: TID251 - a type

    from benchmarks.kills.commands import Case

ROOT: Final = Path(__file__).parents[2]
LIMIT_S: Final = 5.0
"""Wall time in which a stopped command, and what it started, must have ended."""
PATIENCE_S: Final = 180.0
"""Wall time of a command that is not killed."""
LATEST: Final = 1.05
"""The latest moment of a kill, in durations of the command."""
STOPPED: Final = {signal.SIGTERM: {143, -15}, signal.SIGINT: {130, -2}, signal.SIGKILL: {-9}}
"""Exit statuses; a negative one is that of a process that had not begun to handle the signal."""
FAULTS: Final = ("Traceback", "code internal", "never retrieved", "Exception ignored", "ExceptionGroup")
_POLL_S: Final = 0.02
_STARTING: Final = ("KeyboardInterrupt", "init_import_site", "runpy")
_OUR_CODE: Final = re.compile(r"eikon_engine/(?!__init__\.py)")
"""Files of the package, but for the one that Python imports before `__main__`."""
_NUMBER: Final = re.compile(r"\.\d+$|\.replaced(-\d+)?$")
"""What is added to the name of an earlier output that is kept."""


@dataclass(frozen=True, slots=True)
class Kill:
    """What happened."""

    case: str
    signal: signal.Signals
    after: float
    """Seconds after the start."""
    status: int | None
    """None: it had not ended in time."""
    findings: tuple[tuple[str, str], ...]
    """Kind and what was found."""

    def with_findings(self, findings: list[tuple[str, str]]) -> Kill:
        """Return the same with what the next start showed."""
        return replace(self, findings=(*self.findings, *findings))


@dataclass(frozen=True, slots=True)
class Usual:
    """How a command ends that is not killed."""

    status: int
    seconds: float
    left: frozenset[str]
    """What is in its folder afterwards."""


@dataclass(slots=True)
class Place:
    """A folder in which a command is started several times."""

    case: Case
    folder: Path
    addresses: dict[str, str]
    starts: int = field(default=0)
    output: Path | None = None
    """Where to write what is printed; None: in the folder."""

    def start(self) -> tuple[subprocess.Popen[bytes], str]:
        """Start the command; return the process, and the mark of it and its children."""
        words = self.case.arguments(self.addresses, is_again=self.starts > 0)
        self.starts += 1
        mark = self.mark
        with self.printed.open("wb") as file:
            process = subprocess.Popen(
                words,
                cwd=self.work / self.case.folder,
                env=self._environ(mark),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        return process, mark

    @property
    def work(self) -> Path:
        """The working directory."""
        return self.folder / "work"

    @property
    def temporary(self) -> Path:
        """The folder for temporary files."""
        return self.folder / "tmp"

    @property
    def printed(self) -> Path:
        """What the last start printed."""
        return self.output or self.folder / "printed"

    @property
    def mark(self) -> str:
        """The mark of the last start, and of all processes that it started."""
        return f"{os.getpid()}-{self.folder.parent.name}-{self.folder.name}-{self.starts}"

    def _environ(self, mark: str) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith(("EIKON_", "XDG_"))}
        for name in ("tmp", "home"):
            (self.folder / name).mkdir(exist_ok=True)
        browser = os.environ.get(BROWSER_PATH) or str(find_browser(None, environ=os.environ).path)
        return {
            **own,
            MARK: mark,
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.temporary),
            "PYTHONPATH": f"{ROOT}{os.pathsep}.",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUNBUFFERED": "1",
            "PYTHONFAULTHANDLER": "1",
            "OPENAI_API_KEY": "sk-test",
            BROWSER_PATH: browser,
        }

    def listing(self) -> frozenset[str]:
        """Return what is in the working directory; an earlier output keeps its name, and gets a number."""
        found = {_NUMBER.sub("", path.name) for path in self.work.glob("*")}
        return frozenset(found | {path.name for path in self.work.rglob(".*") if path.name.endswith(".tmp")})


def new_place(case: Case, folder: Path, template: Path, addresses: dict[str, str]) -> Place:
    """Copy the template."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(template, folder / "work")
    return Place(case, folder, addresses)


def run_whole(place: Place) -> Usual:
    """Run a command to its end; one that does not end by itself is stopped by SIGTERM."""
    begun = time.monotonic()
    process, mark = place.start()
    try:
        try:
            status = process.wait(place.case.seconds or PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.terminate()
            status = process.wait(PATIENCE_S if place.case.seconds else LIMIT_S)
    finally:
        process.kill()
        process.wait()
        _end_all(mark)
    return Usual(status, time.monotonic() - begun, place.listing())


def kill_once(place: Place, usual: Usual, signals: tuple[signal.Signals, ...], chance: Random) -> Kill:
    """Start a command, kill it at a random moment, and check what must hold at once."""
    number = chance.choice(signals)
    after = chance.uniform(0, usual.seconds * LATEST)
    given = digest_of(place.work / INPUT)
    process, mark = place.start()
    with suppress(subprocess.TimeoutExpired):
        process.wait(after)
    _send(process, number)
    findings: list[tuple[str, str]] = []
    status: int | None = None
    try:
        status = process.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        findings.append(("hang", _stacks(process, mark, place)))
    if not _until(lambda: not marked_processes(mark), LIMIT_S):
        findings.append(("orphans", "; ".join(marked_processes(mark).values())))
        _end_all(mark)
    if not _is_before_our_code(place, number):
        if status is not None and status not in STOPPED[number] | place.case.statuses(usual.status):
            findings.append(("status", f"{status}: {_tail(place)}"))
        findings += [("fault", _tail(place)) for word in FAULTS if word in place.printed.read_text(errors="replace")][
            :1
        ]
    findings += [("lost", text) for text in unreadable(place.work, is_killed=number == signal.SIGKILL)]
    if digest_of(place.work / INPUT) != given:
        findings.append(("lost", "the input was changed"))
    return Kill(place.case.name, number, after, status, tuple(findings))


def _is_before_our_code(place: Place, number: signal.Signals) -> bool:
    """Return whether Ctrl-C met Python, or pytest, while it starts: these have tracebacks and statuses of their own."""
    printed = place.printed.read_text(errors="replace")
    is_of_python = number == signal.SIGINT and any(word in printed for word in _STARTING)
    return is_of_python and _OUR_CODE.search(printed) is None


def check_next_start(place: Place, usual: Usual) -> list[tuple[str, str]]:
    """Run the command to its end where it was killed before: it works, and removes what the killed ones left."""
    now = run_whole(place)
    findings = []
    if now.status not in place.case.statuses(usual.status):
        findings.append(("again", f"status {now.status}, not {usual.status}: {_tail(place)}"))
    left = sorted(path.name for path in place.temporary.iterdir())
    if left:
        findings.append(("leftovers", f"temporary: {', '.join(left)}"))
    if now.left - usual.left:
        findings.append(("leftovers", f"beside the output: {', '.join(sorted(now.left - usual.left))}"))
    return findings


def _send(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal: Ctrl-C reaches the process group, as in a terminal, others the process only."""
    with suppress(ProcessLookupError):
        if process.poll() is None and number == signal.SIGINT:
            os.killpg(process.pid, number)
        elif process.poll() is None:
            process.send_signal(number)


def _stacks(process: subprocess.Popen[bytes], mark: str, place: Place) -> str:
    """End a process that hangs, and return what its threads, and those of its Python children, did."""
    for number, line in marked_processes(mark).items():
        if line.startswith(sys.executable):
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGABRT)
    with suppress(subprocess.TimeoutExpired):
        process.wait(LIMIT_S)
    process.kill()
    process.wait()
    return place.printed.read_text(errors="replace")[-6000:]


def _tail(place: Place) -> str:
    return place.printed.read_text(errors="replace")[-3000:]


def _end_all(mark: str) -> None:
    for number in marked_processes(mark):
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def _until(holds: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    waiting = threading.Event()
    while not holds():
        if time.monotonic() > deadline:
            return False
        waiting.wait(_POLL_S)
    return True
