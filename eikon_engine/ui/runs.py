"""The runs in a folder: those with an outcome, those that have not ended, and those that were interrupted."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from eikon_engine.errors import EikonError
from eikon_engine.files.locking import is_locked
from eikon_engine.gates.event_sources import read_outcome
from eikon_engine.history import summarize_run
from eikon_engine.outcome.event_log import EVENTS_FILE
from eikon_engine.outcome.events import ActionPerformed, RunStart, SkillRun
from eikon_engine.outcome.read_events import read_events
from eikon_engine.replay.artifacts import OUTCOME_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.history import HistoryRun
    from eikon_engine.outcome.outcomes import ReplayOutcome

_FileState: TypeAlias = tuple[int, int]
"""Time of the last change in ns, and size, of a file."""
_ID_LENGTH: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRun:
    """A run as lists show it."""

    id: str
    """Part of the addresses of its pages: a digest of the path of its folder."""
    folder: Path
    path: str
    """Its folder, relative to that of the list, as it is shown; `.` for that itself."""
    summary: HistoryRun | None
    """None if it has not ended, or cannot be read."""
    mission_id: str
    problem: str = ""
    """Why its outcome cannot be read."""
    steps: tuple[int, int] = (0, 0)
    """Of a run that has not ended, the steps so far, and those of the recording."""

    @property
    def state(self) -> str:
        """Return the verdict, `running`, `interrupted` or `unreadable`."""
        if self.summary is not None:
            return self.summary.verdict
        if self.problem:
            return "unreadable"
        return "running" if is_locked(self.folder / EVENTS_FILE) else "interrupted"


class RunList:
    """The runs below a folder; files are read again only once they have changed."""

    def __init__(self, root: Path) -> None:
        """Show the runs below a folder."""
        self.root = root
        self._known: dict[Path, tuple[_FileState, ShownRun]] = {}
        self._by_id: dict[str, ShownRun] = {}
        """The runs of the last scan."""

    def runs(self) -> list[ShownRun]:
        """Return the runs: those that have not ended first, then the others, the last one first."""
        found = [run for run in map(self._read, self._folders()) if run is not None]
        self._by_id = {run.id: run for run in found}
        return sorted(found, key=_order)

    def state(self) -> str:
        """Return a digest that changes whenever a run starts, goes on or ends."""
        parts = sorted((str(file), *state) for file, state in self._files())
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def find(self, run_id: str) -> ShownRun | None:
        """Return the run with this id; None if there is none."""
        if run_id not in self._by_id:
            self.runs()
        known = self._by_id.get(run_id)
        return None if known is None else self._read(known.folder)

    def outcome(self, run: ShownRun) -> ReplayOutcome:
        """Read the outcome of a run.

        Raises:
            TraceError: it cannot be read.
        """
        return read_outcome(run.folder / OUTCOME_FILE)

    def _folders(self) -> list[Path]:
        """Return the folders with a run; one that vanishes meanwhile is none."""
        walked = os.walk(self.root)
        return sorted(Path(folder) for folder, _, names in walked if {OUTCOME_FILE, EVENTS_FILE} & set(names))

    def _files(self) -> Iterator[tuple[Path, _FileState]]:
        for folder in self._folders():
            for name in (OUTCOME_FILE, EVENTS_FILE):
                state = _file_state(folder / name)
                if state is not None:
                    yield folder / name, state

    def _read(self, folder: Path) -> ShownRun | None:
        """Return the run of a folder; None if its files are gone by now."""
        outcome, events = folder / OUTCOME_FILE, folder / EVENTS_FILE
        file = outcome if outcome.is_file() else events
        state = _file_state(file)
        if state is None:
            return None
        known = self._known.get(file)
        if known is None or known[0] != state:
            run = self._read_outcome(folder, outcome) if file == outcome else self._read_events(folder, events)
            known = self._known[file] = (state, run)
        return known[1]

    def _read_outcome(self, folder: Path, file: Path) -> ShownRun:
        try:
            summary = summarize_run(read_outcome(file), str(file), "")
        except EikonError as error:
            problem = error.message.removeprefix(f"{file}: ")
            return self._make(folder, summary=None, mission_id=folder.name, problem=problem)
        return self._make(folder, summary=summary, mission_id=summary.mission_id)

    def _read_events(self, folder: Path, file: Path) -> ShownRun:
        try:
            events = [line.event for line in read_events(file).lines]
        except EikonError as error:
            problem = error.message.removeprefix(f"{file}: ")
            return self._make(folder, summary=None, mission_id=folder.name, problem=problem)
        start = next((event for event in events if isinstance(event, RunStart)), None)
        performed = sum(isinstance(event, ActionPerformed | SkillRun) for event in events)
        return self._make(
            folder,
            summary=None,
            mission_id=folder.name if start is None else start.mission_id,
            steps=(performed, 0 if start is None else start.steps or 0),
        )

    def _make(
        self,
        folder: Path,
        *,
        summary: HistoryRun | None,
        mission_id: str,
        problem: str = "",
        steps: tuple[int, int] = (0, 0),
    ) -> ShownRun:
        path = os.fsencode(folder.relative_to(self.root))
        return ShownRun(
            id=hashlib.sha256(path).hexdigest()[:_ID_LENGTH],
            folder=folder,
            path=_showable(str(folder.relative_to(self.root))),
            summary=summary,
            mission_id=_showable(mission_id),
            problem=_showable(problem),
            steps=steps,
        )


def _order(run: ShownRun) -> tuple[int, float, str]:
    if run.summary is None:
        return (2 if run.problem else 0), 0.0, run.path
    return 1, -run.summary.started_at.timestamp(), run.path


def _showable(text: str) -> str:
    """Replace the halves of surrogate pairs by which Python stands for bytes that are no text."""
    return text.encode("utf-8", "replace").decode()


def _file_state(file: Path) -> _FileState | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
