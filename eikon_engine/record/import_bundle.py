"""Write an imported mission as a bundle."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import OutputError, UsageError
from eikon_engine.files.blobs import BlobStore
from eikon_engine.files.paths import resolve_inside
from eikon_engine.files.writing import copy_file, copy_folder, write_advice
from eikon_engine.importers.har_file import HarFile, HarNode
from eikon_engine.importers.har_network import import_entries, import_har
from eikon_engine.importers.imported_mission import ImportedMission, build_trace
from eikon_engine.record.mission_id import new_mission_id
from eikon_engine.trace.bundle import FILES_FOLDER
from eikon_engine.trace.execution import NetworkPart
from eikon_engine.trace.trace_file import TRACE_FILE, write_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime
    from pathlib import Path

    from eikon_engine.importers.eikon import MigratedTrace
    from eikon_engine.importers.har_network import HarImport
    from eikon_engine.trace.execution import Artifact, ExecutionTrace

NETWORK_FOLDER: Final = "network"
MAX_WARNINGS_SHOWN: Final = 3
"""Maximum number of warnings shown per kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedBundle:
    """A written bundle."""

    trace: ExecutionTrace
    source: str
    """Name of the format, with our format version for our own traces."""
    next_command: str
    """Command that turns the bundle into a baseline."""


def with_har(imported: ImportedMission | MigratedTrace, har: Path | None) -> ImportedMission | MigratedTrace:
    """Use the network of a HAR file of the same run, if given.

    Raises:
        UsageError: the recording is one of our traces, or a HAR file itself.
    """
    if har is None:
        return imported
    if not isinstance(imported, ImportedMission) or imported.har is not None:
        message = f"--har {har} applies only to recordings of other tools; omit it"
        raise UsageError(message)
    return replace(imported, har=har)


def write_import(
    imported: ImportedMission | MigratedTrace,
    folder: Path,
    *,
    now: datetime,
    fresh_id: Callable[[], str],
    partial: bool,
) -> ImportedBundle:
    """Write the bundle into `folder`, or nothing at all if that fails.

    Raises:
        ForeignFormatError: a step cannot be converted, see `build_trace`.
        TraceError: the network of the recording cannot be read.
        OutputError: a recording exists already, or the folder cannot be written.
    """
    with _all_or_nothing(folder):
        if isinstance(imported, ImportedMission):
            return _write_mission(imported, folder, now=now, fresh_id=fresh_id, partial=partial)
        _copy_artifacts(imported, folder)
        write_trace(imported.trace, folder / TRACE_FILE)
        source = f"eikon {imported.trace.migrated_from}"
        return ImportedBundle(trace=imported.trace, source=source, next_command=f"eikon replay --trace {folder}")


def _write_mission(
    mission: ImportedMission, folder: Path, *, now: datetime, fresh_id: Callable[[], str], partial: bool
) -> ImportedBundle:
    trace = build_trace(
        mission, now=now, trace_id=fresh_id(), mission_id=new_mission_id(mission.text, now), partial=partial
    )
    for content in mission.files:
        BlobStore(folder / FILES_FOLDER).put(content)
    network = _network(mission, folder / NETWORK_FOLDER)
    if network is not None:
        warnings = (*trace.warnings, *_group_warnings(network.warnings))
        trace = trace.model_copy(update={"network": NetworkPart(folder=NETWORK_FOLDER), "warnings": warnings})
    write_trace(trace, folder / TRACE_FILE)
    is_whole = network is not None and not any(
        each.response is not None and each.response.body_missing and each.request.resource_type == "script"
        for each in network.recording.exchanges
    )
    again = f"eikon certify {folder} --accept" if is_whole else f"eikon record --trace {folder} -o …"
    return ImportedBundle(trace=trace, source=mission.source, next_command=again)


def _network(mission: ImportedMission, folder: Path) -> HarImport | None:
    moment_of = mission.phase_and_page_time if mission.action_times else None
    if mission.har is not None:
        return import_har(mission.har, folder, moment_of=moment_of)
    found = mission.network
    if found is None:
        return None
    entries = tuple(HarNode(value=entry, path=place, source=found.source) for place, entry in found.entries)
    har = HarFile(source=found.source, entries=entries, read_attachment=found.read_attachment)
    return import_entries(har, folder, moment_of=moment_of)


def _group_warnings(warnings: Iterable[str]) -> Iterator[str]:
    """Group equal warnings about many exchanges and show the first ones of each group."""
    kinds: dict[str, list[str]] = {}
    for warning in warnings:
        where, _, what = warning.partition("): ")
        kinds.setdefault(what or where, []).append(warning)
    for what, group in kinds.items():
        yield from group[:MAX_WARNINGS_SHOWN]
        if len(group) > MAX_WARNINGS_SHOWN:
            yield f"{len(group) - MAX_WARNINGS_SHOWN} more exchanges: {what}"


def _copy_artifacts(older: MigratedTrace, folder: Path) -> None:
    """Copy screenshots and other artifacts; missing files are reported when the bundle is read."""
    for artifact in _artifacts(older.trace):
        source, to = (
            resolve_inside(older.folder, artifact.path, "artifacts"),
            resolve_inside(folder, artifact.path, "artifacts"),
        )
        try:
            if source.is_dir():
                copy_folder(source, to)
            elif source.is_file():
                with source.open("rb") as file:
                    copy_file(file, to)
        except OSError as error:  # shutil.Error is one
            message = f"cannot copy {source} to {to}: {error}; {write_advice(error)}"
            raise OutputError(message) from error


def _artifacts(trace: ExecutionTrace) -> Iterator[Artifact]:
    yield from trace.artifacts
    for subgoal in trace.subgoal_traces:
        for action in subgoal.actions_taken:
            yield from action.artifacts


@contextmanager
def _all_or_nothing(folder: Path) -> Iterator[None]:
    """Refuse a folder with a recording, and remove everything written if the block fails."""
    for name in (TRACE_FILE, NETWORK_FOLDER):
        if (folder / name).exists():
            message = f"{folder / name}: a recording exists already; choose another folder or remove it"
            raise OutputError(message)
    before = set(folder.iterdir()) if folder.is_dir() else None
    try:
        yield
    except BaseException:
        for path in folder.iterdir() if folder.is_dir() else ():
            if before is None or path not in before:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        if before is None and folder.is_dir():
            folder.rmdir()
        raise
