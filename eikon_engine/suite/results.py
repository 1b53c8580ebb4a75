"""The folder of a suite: a journal with each result, from which a killed suite resumes, and suite.json in the end."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Self

from pydantic import AwareDatetime, Field, ValidationError

from eikon_engine.errors import OutputError, TraceError, UsageError
from eikon_engine.files.limits import read_document, read_lines
from eikon_engine.files.locking import is_locked, try_lock
from eikon_engine.files.models import FileModel, validation_error
from eikon_engine.files.writing import append_whole, make_folders, write_error_message
from eikon_engine.outcome.suite_results import MissionResult, PlannedReplay, ShardName, SuiteResult

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

JOURNAL_FILE: Final = "results.jsonl"
SUITE_FILE: Final = "suite.json"
SUITE_PAGE: Final = "suite.html"
JUNIT_FILE: Final = "junit.xml"
DEFAULT_FOLDER: Final = Path("suite_artifacts")


class SuitePlan(FileModel):
    """What a suite is to replay: the first line of its journal."""

    journal_version: Literal[1] = 1
    shard: ShardName = ""
    started_at: AwareDatetime
    planned: tuple[PlannedReplay, ...]
    settings: dict[str, str] = Field(default_factory=dict)
    """Options that results depend on, to resume with the same ones."""


@dataclass(frozen=True, slots=True)
class _Read:
    plan: SuitePlan
    results: tuple[MissionResult, ...]
    size: int
    """Bytes of complete lines."""


class SuiteJournal:
    """Appends results to the journal of a suite; each is on disk before the next mission is handed out."""

    def __init__(self, folder: Path, plan: SuitePlan, results: tuple[MissionResult, ...], size: int) -> None:
        """Append after `size` bytes."""
        self.folder = folder
        self.plan = plan
        self._results = {each.key: each for each in results}
        self.path = folder / JOURNAL_FILE
        self._lock = ExitStack()
        try:
            make_folders(folder)
            _require_free(folder, is_free=self._lock.enter_context(try_lock(self.path)))
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600)
            os.ftruncate(self._file, size)
            os.lseek(self._file, 0, os.SEEK_END)
        except OSError as error:
            raise OutputError(write_error_message(self.path, error)) from error

    @classmethod
    def create(cls, folder: Path, plan: SuitePlan) -> Self:
        """Begin a suite; the folder of an earlier one is moved to `<folder>.1`, `<folder>.2` ….

        Raises:
            OutputError: the folder cannot be written, or holds other files.
        """
        try:
            _move_earlier_suite(folder)
        except OSError as error:
            raise OutputError(write_error_message(folder, error)) from error
        journal = cls(folder, plan, (), 0)
        journal._append(plan)
        return journal

    @classmethod
    def resume(cls, folder: Path, plan: SuitePlan) -> Self:
        """Proceed with a suite that was interrupted.

        Raises:
            UsageError: there is none, or it replayed something else.
        """
        before = _read_journal(folder / JOURNAL_FILE)
        same = before.plan.model_copy(update={"started_at": plan.started_at})
        if same != plan:
            message = (
                f"{folder}: --resume expected the same missions and options as before; {_first_change(same, plan)}"
            )
            raise UsageError(message)
        return cls(folder, before.plan, before.results, before.size)

    @property
    def results(self) -> tuple[MissionResult, ...]:
        """Return the results so far, in the order of the plan."""
        return tuple(self._results[each.key] for each in self.plan.planned if each.key in self._results)

    def add(self, result: MissionResult) -> None:
        """Write a result.

        Raises:
            OutputError: it cannot be written.
        """
        self._append(result)
        self._results[result.key] = result

    def summary(self, ended_at: datetime, ended_early: str) -> SuiteResult:
        """Return what the suite did."""
        return SuiteResult(
            shard=self.plan.shard,
            started_at=self.plan.started_at,
            ended_at=ended_at,
            planned=self.plan.planned,
            results=self.results,
            ended_early=ended_early,
        )

    def close(self) -> None:
        """Close the file, and let others use the folder."""
        os.close(self._file)
        self._lock.close()

    def _append(self, record: FileModel) -> None:
        try:
            append_whole(self._file, record.model_dump_json().encode() + b"\n")
            os.fsync(self._file)
        except OSError as error:
            raise OutputError(write_error_message(self.path, error)) from error


def read_suite(path: Path) -> SuiteResult:
    """Read the suite.json at a path, or in a folder.

    Raises:
        TraceError: there is none, or it is not valid.
    """
    file = path / SUITE_FILE if path.is_dir() else path
    try:
        text = read_document(file, root=file.parent)
    except OSError as error:
        message = f"{file}: expected the results of a suite, got: {error.strerror}; check the path"
        raise TraceError(message, code="trace-missing") from error
    return parse_suite(text, str(file))


def parse_suite(text: bytes, name: str) -> SuiteResult:
    """Parse a suite.json; `name` is that of its file, for messages.

    Raises:
        TraceError: it is not valid.
    """
    try:
        return SuiteResult.model_validate_json(text)
    except ValidationError as error:
        raise validation_error(error, text, name) from error


def merge_suites(parts: Sequence[tuple[Path, SuiteResult]], folder: Path) -> SuiteResult:
    """Return the results of several shards together, in the order of their names; `folder` is that of the merged suite.

    Each part comes with the folder that its artifacts are in. Shards that are missing are named in the result.

    Raises:
        UsageError: a replay is in two of them, or they are shards of different numbers, or of different gates.
    """
    missing_shards = _missing_shards(parts)
    planned: dict[tuple[str, int], PlannedReplay] = {}
    results: list[MissionResult] = []
    for place, part in parts:
        for replay in part.planned:
            if replay.key in planned:
                message = f"{place}: expected other missions than in the other results, got {replay.name} again"
                raise UsageError(message)
            planned[replay.key] = replay
        results += (_moved(each, place, folder) for each in part.results)
    (first, one), *others = parts
    for place, part in others:
        if part.gates != one.gates:
            raise UsageError(f"{place}: expected the gates of {first}, got others")
    reasons = dict.fromkeys(part.ended_early for _, part in parts if part.ended_early)
    return SuiteResult(
        started_at=min(part.started_at for _, part in parts),
        ended_at=max(part.ended_at for _, part in parts),
        planned=tuple(planned[key] for key in sorted(planned)),
        results=tuple(sorted(results, key=lambda each: each.key)),
        ended_early="; ".join(reasons),
        missing_shards=missing_shards,
        gates=one.gates,
    )


def _missing_shards(parts: Sequence[tuple[Path, SuiteResult]]) -> tuple[str, ...]:
    """Return the shards that are not among the parts; none if no part is one."""
    shards = [(place, part.shard) for place, part in parts if part.shard]
    counts = {shard.partition("/")[2]: (place, shard) for place, shard in shards}
    if len(counts) > 1:
        (one, first), (other, second) = list(counts.values())[:2]
        raise UsageError(f"expected shards of one number, got {first} in {one} and {second} in {other}")
    every = (f"{number}/{count}" for count in counts for number in range(1, int(count) + 1))
    return tuple(shard for shard in every if shard not in {each for _, each in shards})


def planned_names(folder: Path) -> frozenset[str]:
    """Return the names of the missions that the suite in a folder was to replay.

    Raises:
        UsageError: there is none.
        TraceError: its journal is not valid.
    """
    return frozenset(each.name for each in _read_journal(folder / JOURNAL_FILE).plan.planned)


def failed_names(suite: SuiteResult) -> frozenset[str]:
    """Return the names of the missions that were not faithful, or not replayed."""
    failed = {each.name for each in suite.results if each.exit_status}
    return frozenset(failed | {each.name for each in suite.missing})


def _moved(result: MissionResult, place: Path, folder: Path) -> MissionResult:
    if not result.artifacts:
        return result
    return result.model_copy(update={"artifacts": Path(os.path.relpath(place / result.artifacts, folder)).as_posix()})


def _read_journal(path: Path) -> _Read:
    """Read a journal, of which a killed process may have written only a part of the last line."""
    try:
        lines, _ = read_lines(path, root=path.parent)
    except OSError as error:
        raise UsageError(f"{path}: --resume expected a suite that was interrupted, got: {error.strerror}") from error
    first, *others = lines or [b""]
    line = first
    try:
        plan = SuitePlan.model_validate_json(first)
        results = tuple(MissionResult.model_validate_json(line := each) for each in others)
    except ValidationError as error:
        raise validation_error(error, line, str(path)) from error
    return _Read(plan, results, sum(len(each) + 1 for each in lines))


def _first_change(before: SuitePlan, now: SuitePlan) -> str:
    for name in ("shard", "settings"):
        old, new = getattr(before, name), getattr(now, name)
        if old != new:
            return f"{name} was {json.dumps(old)}, and is {json.dumps(new)}"
    old_keys, new_keys = ({each.key for each in plan.planned} for plan in (before, now))
    if old_keys == new_keys:
        digests = {each.key: each.digest for each in before.planned}
        changed = next((each.name for each in now.planned if digests[each.key] != each.digest), "their order")
        return f"{changed} has changed"
    name, repeat = min(old_keys ^ new_keys)
    return f"{name} (replay {repeat}) is {'new' if (name, repeat) in new_keys else 'gone'}"


def _require_free(folder: Path, *, is_free: bool) -> None:
    if not is_free:
        raise UsageError(f"{folder}: a suite is running there; choose another --artifacts-dir")


def _move_earlier_suite(folder: Path) -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise OutputError(f"{folder}: expected a folder, got a file. Choose another --artifacts-dir.")
    content = {entry.name for entry in folder.iterdir()}
    if content and JOURNAL_FILE not in content and SUITE_FILE not in content:
        message = (
            f"{folder} holds files that are no results of a suite ({min(content)}). Choose another --artifacts-dir."
        )
        raise OutputError(message)
    if not content:
        return
    _require_free(folder, is_free=not is_locked(folder / JOURNAL_FILE))
    number = 1
    while (aside := folder.with_name(f"{folder.name}.{number}")).exists():
        number += 1
    folder.rename(aside)
