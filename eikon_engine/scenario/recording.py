"""Find the recording to replay: the named one, or the newest complete one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.errors import FixtureFolderError
from eikon_engine.outcome.run_record import (
    FIXTURES_FOLDER,
    MISSION_FOLDER,
    RUN_FILE,
    RUN_RESPONSES_FOLDER,
    RunRecord,
    read_run_record,
)
from eikon_engine.scenario.fixtures import RECORDING_FILE, FixtureFolder

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One recorded run, or only its fixtures."""

    fixtures: FixtureFolder
    run: Path | None
    """Folder of the run; None if only its fixtures are available."""
    record: RunRecord | None

    @property
    def mission(self) -> Path | None:
        """Return the bundle of the page steps; None if there is none."""
        return self._part(MISSION_FOLDER)

    @property
    def responses(self) -> Path | None:
        """Return the folder of model responses; None if there is none."""
        return self._part(RUN_RESPONSES_FOLDER)

    @property
    def failure(self) -> str | None:
        """Describe the failure of the recorded run; None if it did not fail."""
        if self.record is None or self.record.state != "failed":
            return None
        reason = "" if self.record.error is None else f": {self.record.error.message} (code {self.record.error.code})"
        return f"the recorded run {self.record.run_id} failed{reason}"

    def _part(self, name: str) -> Path | None:
        return self.run / name if self.run is not None and (self.run / name).is_dir() else None


def recording_at(fixtures: Path) -> Recording:
    """Open the recording of a fixtures folder or run folder.

    Raises:
        FixtureFolderError: there are no fixtures, or they belong to another run than the folder around them; the run
            was killed or interrupted, or is still running; a failed one can be replayed.
    """
    if not (fixtures / RECORDING_FILE).exists() and (fixtures / FIXTURES_FOLDER / RECORDING_FILE).exists():
        fixtures = fixtures / FIXTURES_FOLDER
    folder = FixtureFolder(fixtures)
    run = fixtures.resolve().parent
    if not (run / RUN_FILE).exists():
        return Recording(fixtures=folder, run=None, record=None)
    note = read_run_record(run)
    if note.run_id != folder.info.run_id:
        message = (
            f"{fixtures}: expected the fixtures of run {note.run_id}, as in {RUN_FILE}, got those of run "
            f"{folder.info.run_id}. Use the fixtures of one recording."
        )
        raise FixtureFolderError(message)
    if note.state in {"running", "interrupted"}:
        message = f"{run}: expected a complete run, got one that is {_describe_state(note)}. Record again."
        raise FixtureFolderError(message, code="fixtures-incomplete")
    return Recording(fixtures=folder, run=run, record=note)


def latest_recording(runs: Path, scenario_id: str) -> Recording:
    """Open the newest complete recording of a scenario.

    Raises:
        FixtureFolderError: there is none, or a run in the folder cannot be read.
    """
    notes = [(read_run_record(each.parent), each.parent) for each in sorted(runs.glob(f"*/{RUN_FILE}"))]
    ours = [
        (note, run)
        for note, run in notes
        if note.mode == "record" and note.scenario is not None and note.scenario.id == scenario_id
    ]
    complete = [(note.started_at, len(run.name), run.name, run) for note, run in ours if note.state == "complete"]
    if not complete:
        unusable = "; ".join(f"{run.name} is {_describe_state(note)}" for note, run in ours)
        found = f"none that is complete ({unusable})" if unusable else "none"
        message = f"{runs}: expected a recording of scenario {scenario_id}, got {found}. Record one with --mode record."
        raise FixtureFolderError(message, code="fixtures-incomplete") if unusable else FixtureFolderError(message)
    return recording_at(max(complete)[-1] / FIXTURES_FOLDER)


def skipped_recordings(runs: Path, recording: Recording) -> tuple[str, ...]:
    """Describe the newer incomplete recordings that `latest_recording` skipped."""
    chosen = recording.record
    if chosen is None or chosen.scenario is None:
        return ()
    notes = [read_run_record(each.parent) for each in sorted(runs.glob(f"*/{RUN_FILE}"))]
    newer = [
        each
        for each in notes
        if each.mode == "record"
        and each.state != "complete"
        and each.started_at > chosen.started_at
        and each.scenario is not None
        and each.scenario.id == chosen.scenario.id
    ]
    return tuple(f"skipped {each.run_id}, which is newer but {_describe_state(each)}" for each in newer)


def _describe_state(note: RunRecord) -> str:
    return "incomplete (killed or still running)" if note.state == "running" else note.state
