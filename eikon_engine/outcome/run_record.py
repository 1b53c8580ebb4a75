"""The metadata of a run, `run.json` in its folder."""

from __future__ import annotations

import platform
from importlib import metadata
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pydantic import AwareDatetime, Field, ValidationError

from eikon_engine.errors import FixtureFolderError, OutputError
from eikon_engine.files.limits import read_document
from eikon_engine.files.models import FileModel, validation_error
from eikon_engine.files.paths import safe_file_name
from eikon_engine.files.writing import make_folder, make_folders, write_atomically, write_error_message
from eikon_engine.outcome.outcomes import Verdict

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

RUN_FILE: Final = "run.json"
FIXTURES_FOLDER: Final = "fixtures"
RUN_RESPONSES_FOLDER: Final = "responses"
MISSION_FOLDER: Final = "mission"
REPLAY_FOLDER: Final = "replay"
OUTPUTS_FILE: Final = "outputs.json"
SUMMARY_FILE: Final = "summary.txt"

RunMode: TypeAlias = Literal["record", "replay"]
RunState: TypeAlias = Literal["running", "complete", "failed", "interrupted"]


class ScenarioRef(FileModel):
    """The scenario of a run."""

    id: str
    path: str
    digest: str
    """SHA-256 of the file, hexadecimal."""


class RunError(FileModel):
    """The error that ended a run."""

    code: str
    message: str


class RunRecord(FileModel):
    """The metadata of one run; a state of `running` without a live process means that it was killed."""

    format_version: Literal[1] = 1
    run_id: str = Field(min_length=1)
    mode: RunMode
    state: RunState = "running"
    scenario: ScenarioRef | None = None
    """None for an agent run without a scenario."""
    recording: str | None = None
    """In a replay, the id of the replayed run."""
    variables: dict[str, str] = Field(default_factory=dict)
    started_at: AwareDatetime
    ended_at: AwareDatetime | None = None
    error: RunError | None = None
    certified: str | None = None
    """Certification status of the mission; None if it was not certified."""
    verdict: Verdict | None = None
    """Verdict of the mission in a replay."""
    versions: dict[str, str] = Field(default_factory=dict)


def versions() -> dict[str, str]:
    """Return the versions of this package, Python and the platform."""
    try:
        own = metadata.version("eikon-engine")
    except metadata.PackageNotFoundError:
        own = "sources"
    return {"eikon": own, "python": platform.python_version(), "platform": platform.system()}


def make_run_folder(runs: Path, name: str, started_at: datetime, run_id: str | None = None) -> Path:
    """Create the folder of a new run, named by time and, if needed, a number.

    Raises:
        OutputError: it cannot be created, or a run with this id exists.
    """
    expected = run_id or f"{started_at:%Y%m%d_%H%M%S}_{safe_file_name(name, 'run')}"
    number = 1
    while True:
        folder = runs / (expected if number == 1 else f"{expected}_{number}")
        try:
            make_folders(folder.parent)
            make_folder(folder)
        except FileExistsError as error:
            if run_id is not None:
                message = f"{folder}: a run with this id exists. Choose another --run-id."
                raise OutputError(message) from error
            number += 1
        except OSError as error:
            raise OutputError(write_error_message(folder, error)) from error
        else:
            return folder


def write_run_record(folder: Path, note: RunRecord) -> None:
    """Write run.json atomically.

    Raises:
        OutputError: it cannot be written.
    """
    write_atomically(folder / RUN_FILE, note.model_dump_json(indent=1).encode() + b"\n")


def read_run_record(folder: Path) -> RunRecord:
    """Read run.json.

    Raises:
        FixtureFolderError: it is missing or invalid.
    """
    path = folder / RUN_FILE
    try:
        data = read_document(path, root=folder)
        return RunRecord.model_validate_json(data)
    except OSError as error:
        message = f"{path}: expected the metadata of a run, got no readable file ({error.strerror}). Check the path."
        raise FixtureFolderError(message) from error
    except ValidationError as error:
        raise FixtureFolderError(validation_error(error, data, str(path)).message) from error
