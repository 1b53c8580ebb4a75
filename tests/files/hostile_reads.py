"""Read one hostile file with every reader, in a process with little memory: `python -m tests.files.hostile_reads`.

Prints a line of JSON for each reader: its name, the code and the message of its error, and the seconds it took.
"""

from __future__ import annotations

import gc
import json
import resource
import shutil
import sys
import time
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from eikon_engine.debug.branches.branch import read_branch_file
from eikon_engine.debug.checkpoint_files import checkpoint_path, read_checkpoint
from eikon_engine.debug.session_events import read_recording
from eikon_engine.debug.session_folder import read_session_file
from eikon_engine.errors import EikonError
from eikon_engine.files.limits import MAX_DOCUMENT_BYTES
from eikon_engine.files.yaml import read_yaml_file
from eikon_engine.fix.session import read_session
from eikon_engine.gates.event_sources import read_outcome
from eikon_engine.importers.foreign_file import open_foreign_file
from eikon_engine.importers.formats import import_recording
from eikon_engine.importers.har_file import open_har
from eikon_engine.llm.response_folder import read_folder, read_state
from eikon_engine.network.store import INDEX_NAME, LONG_TASKS_NAME, SOCKETS_NAME, read_network
from eikon_engine.outcome.read_events import read_events
from eikon_engine.outcome.run_record import read_run_record
from eikon_engine.outcome.stored_values import ValueFile, ValueStore
from eikon_engine.replay.ignore_file import read_ignore_file
from eikon_engine.scenario.model import read_scenario
from eikon_engine.suite.configuration import read_configuration
from eikon_engine.suite.results import read_suite
from eikon_engine.trace.accepted import read_accepted
from eikon_engine.trace.environment import read_storage_state
from eikon_engine.trace.patch import read_patch
from eikon_engine.trace.stored_pages import read_stored_html
from eikon_engine.trace.trace_file import read_trace
from eikon_engine.triage.known_causes import read_known_causes

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_MEMORY: Final = 4 * MAX_DOCUMENT_BYTES
_VALUE: Final = f"values/{'0' * 64}.json"


class Reader(NamedTuple):
    """A reader and the file that it reads."""

    file: str
    """Relative to a folder that has no other files, except those of `beside`."""
    read: Callable[[Path], object]
    """Takes the folder."""
    is_own: bool = True
    """Whether the file belongs to its folder; False if a person names it, so that it may be a link."""
    beside: tuple[str, ...] = ()
    """Empty files that must exist."""


def _read_har(folder: Path) -> None:
    with open_har(folder / "a.har") as har:
        tuple(har.entries)


def _import(folder: Path) -> None:
    with open_foreign_file(folder / "a.json") as file:
        import_recording(file)


READERS: Final = {
    "trace": Reader("trace.json", read_trace),
    "journal": Reader("journal.jsonl", read_trace),
    "exchanges": Reader(INDEX_NAME, read_network),
    "sockets": Reader(SOCKETS_NAME, read_network, beside=(INDEX_NAME,)),
    "long tasks": Reader(LONG_TASKS_NAME, read_network, beside=(INDEX_NAME,)),
    "events": Reader("events.jsonl", lambda folder: read_events(folder / "events.jsonl")),
    "recorded session": Reader(
        "events.jsonl", lambda folder: list(read_recording(folder / "events.jsonl", lambda _: None))
    ),
    "value of an event": Reader(_VALUE, lambda folder: ValueStore(folder).load(ValueFile(path=_VALUE, bytes=1))),
    "outcome": Reader("outcome.json", lambda folder: read_outcome(folder / "outcome.json")),
    "accepted baselines": Reader("accepted.json", read_accepted),
    "run": Reader("run.json", read_run_record),
    "suite": Reader("suite.json", read_suite),
    "model response": Reader("cart-0123456789abcdef-0000.json", read_folder),
    "state of responses": Reader("recording.json", lambda folder: read_state(folder / "recording.json")),
    "debug session": Reader("session.json", lambda folder: read_session_file(folder / "session.json")),
    "fix session": Reader("session.json", read_session),
    "branch": Reader("branch.json", read_branch_file),
    "checkpoint": Reader("cp_1.json", lambda folder: read_checkpoint(checkpoint_path(folder, "cp_1"))),
    "stored page": Reader("dom.html", lambda folder: read_stored_html(folder, "dom.html")),
    "patch": Reader("patch.json", lambda folder: read_patch(folder / "patch.json"), is_own=False),
    "storage state": Reader("state.json", lambda folder: read_storage_state(folder / "state.json"), is_own=False),
    "HAR": Reader("a.har", _read_har, is_own=False),
    "import": Reader("a.json", _import, is_own=False),
    "scenario": Reader("a.yaml", lambda folder: read_scenario(folder / "a.yaml"), is_own=False),
    "YAML": Reader("a.yaml", lambda folder: _read_yaml(folder / "a.yaml"), is_own=False),
    "configuration": Reader("eikon.toml", lambda folder: read_configuration(folder / "eikon.toml"), is_own=False),
    "ignored": Reader("a.toml", lambda folder: read_ignore_file(folder / "a.toml"), is_own=False),
    "known causes": Reader(
        "a.toml", lambda folder: read_known_causes(folder / "a.toml", date(2025, 1, 1)), is_own=False
    ),
}


def _read_yaml(path: Path) -> None:
    data = read_yaml_file(path).data
    if not isinstance(data, dict):
        message = "no mapping"
        raise EikonError(message)


def _try(name: str, reader: Reader, hostile: Path) -> dict[str, str | float]:
    folder = hostile.parent / "folder"
    place = folder / reader.file
    place.parent.mkdir(parents=True)
    for each in reader.beside:
        (folder / each).touch()
    hostile.rename(place)
    started = time.monotonic()
    code = message = ""
    try:
        reader.read(folder)
    except EikonError as error:
        code, message = error.code, error.message
    except Exception as error:  # noqa: BLE001 - the defect that is looked for
        code, message = type(error).__name__, str(error)
    finally:
        place.rename(hostile)
        shutil.rmtree(folder)
        gc.collect()
    return {"name": name, "code": code, "message": message, "seconds": time.monotonic() - started}


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    hostile_file, *chosen = sys.argv[1:]
    for reader_name in chosen:
        found = _try(reader_name, READERS[reader_name], Path(hostile_file))
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()
