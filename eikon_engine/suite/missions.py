"""Find the missions of a suite, and choose those to replay: by name, tag, shard, last result, change."""

from __future__ import annotations

import os
import re
import subprocess
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from eikon_engine.errors import NoMissionsError, TraceError, UsageError
from eikon_engine.files.limits import open_file, parse_json, read_document
from eikon_engine.replay.artifacts import OUTCOME_FILE
from eikon_engine.trace.find_bundles import find_bundles
from eikon_engine.trace.trace_file import TRACE_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

HEAD_BYTES: Final = 65_536
"""Bytes at the start of a trace in which its times are searched; they come before its steps."""
_TIMES: Final = re.compile(r'"(started_at|ended_at)":\s*"([^"]{10,40})"')
_SHARD: Final = re.compile(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})")
_TRACE_SUFFIXES: Final = frozenset({".json", ".jsonl"})
UNKNOWN_S: Final = 10.0
"""Assumed duration of a mission that does not say how long it took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteMission:
    """A bundle of a suite."""

    name: str
    """Its path from the working directory, with `/`; absolute if it lies elsewhere; its URL in object storage."""
    bundle: Path
    tags: frozenset[str] = frozenset()
    configured_at: Path | None = None
    """Path at which a configuration finds it, if that is not `bundle`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """One of several parts of a suite."""

    number: int
    """From 1."""
    count: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `2/8`.

        Raises:
            UsageError: it is no shard.
        """
        found = _SHARD.fullmatch(text)
        if found is None or int(found[1]) > int(found[2]):
            message = f"expected a shard such as 2/8, the second of eight, got {text!r}"
            raise UsageError(message)
        return cls(number=int(found[1]), count=int(found[2]))

    def __str__(self) -> str:
        """Return it as it is written."""
        return f"{self.number}/{self.count}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which missions of those that were found are replayed. Patterns are of names, with `*` and `?`."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    tags: frozenset[str] = frozenset()
    """A mission has one of them."""
    skipped_tags: frozenset[str] = frozenset()
    """A mission has none of them."""
    names: frozenset[str] | None = None
    """Names to choose from, such as those that failed last; None for all."""

    def choose(self, missions: Sequence[SuiteMission]) -> tuple[SuiteMission, ...]:
        """Return the chosen missions.

        Raises:
            UsageError: a pattern fits no mission, or no mission has a tag.
            NoMissionsError: no mission is left.
        """
        self._require_known(missions)
        chosen = tuple(filter(self._includes, missions))
        if not chosen:
            message = f"no mission is selected, of {len(missions)} that were found; change the selection"
            raise NoMissionsError(message)
        return chosen

    def _includes(self, mission: SuiteMission) -> bool:
        is_named = self.names is None or mission.name in self.names
        fits = not self.include or any(_fits(mission.name, each) for each in self.include)
        is_tagged = not self.tags or bool(self.tags & mission.tags)
        is_skipped = any(_fits(mission.name, each) for each in self.exclude) or bool(self.skipped_tags & mission.tags)
        return is_named and fits and is_tagged and not is_skipped

    def _require_known(self, missions: Sequence[SuiteMission]) -> None:
        for pattern in (*self.include, *self.exclude):
            if not any(_fits(mission.name, pattern) for mission in missions):
                message = f"no mission fits the pattern {pattern!r}; the first one found is {missions[0].name}"
                raise UsageError(message)
        known = frozenset().union(*(mission.tags for mission in missions))
        for tag in sorted((self.tags | self.skipped_tags) - known):
            message = f"no mission has the tag {tag!r}; known tags: {', '.join(sorted(known)) or 'none'}"
            raise UsageError(message)


def find_missions(
    paths: Iterable[Path], tags_of: Callable[[Path], frozenset[str]] | None = None, here: Path | None = None
) -> tuple[SuiteMission, ...]:
    """Return the named bundles, and those below folders, without duplicates; nothing of a trace is read.

    `tags_of` returns the tags of a bundle. Artifacts of replays are no bundles. Names are relative to `here`, by
    default the working directory.

    Raises:
        NoMissionsError: there is no bundle.
        TraceError: a path does not exist, or is a file that belongs to no bundle.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if not path.exists():
            message = f"{path}: expected a bundle or a folder of bundles, got no such path"
            raise TraceError(message, code="trace-missing")
        if path.is_file() and path.suffix not in _TRACE_SUFFIXES:
            message = f"{path}: expected a bundle or a folder of bundles, got another file"
            advice = "; record a script with `eikon suite record`, and name the bundle" if path.suffix == ".py" else ""
            raise TraceError(f"{message}{advice or '; check the path'}", code="trace-missing")
        try:
            bundles = find_bundles([path])
        except TraceError as error:
            raise NoMissionsError(f"{path}: expected bundles in or below the folder, got none") from error
        found.update(dict.fromkeys(_as_folder(each) for each in bundles if not _is_artifacts(each)))
    if not found:
        raise NoMissionsError("expected bundles, got artifacts of replays only")
    base = (here or Path.cwd()).absolute()
    return tuple(
        SuiteMission(name=_name(bundle, base), bundle=bundle, tags=frozenset() if tags_of is None else tags_of(bundle))
        for bundle in found
    )


def shard_missions(
    missions: Sequence[SuiteMission], shard: Shard, durations: Mapping[str, float] | None = None
) -> tuple[SuiteMission, ...]:
    """Return the missions of a shard; all shards take about as long, by the recorded durations.

    The longest mission first, each goes to the shard that has least. The same missions give the same shards.
    `durations` are seconds by name, by default those that the bundles say.
    """
    if durations is None:
        durations = {mission.name: recorded_seconds(mission.bundle) for mission in missions}
    loads = [0.0] * shard.count
    of_shard: defaultdict[int, set[str]] = defaultdict(set)
    for name in sorted(durations, key=lambda each: (-durations[each], each)):
        place = min(range(shard.count), key=lambda each: (loads[each], each))
        loads[place] += durations[name]
        of_shard[place].add(name)
    return tuple(mission for mission in missions if mission.name in of_shard[shard.number - 1])


def recorded_seconds(bundle: Path) -> float:
    """Return how long the recording of a bundle took, from the first bytes of its trace; `UNKNOWN_S` if unknown."""
    try:
        with open_file(bundle / TRACE_FILE, root=bundle) as file:
            return recorded_seconds_in(file.read(HEAD_BYTES))
    except (OSError, TraceError):
        return UNKNOWN_S


def recorded_seconds_in(start: bytes) -> float:
    """Return how long a recording took, from the first bytes of its trace; `UNKNOWN_S` if unknown."""
    head = start.decode("utf-8", "replace")
    times = dict(_TIMES.findall(head.partition('"subgoal_traces"')[0]))
    try:
        seconds = (_time(times["ended_at"]) - _time(times["started_at"])).total_seconds()
    except (KeyError, ValueError, TypeError):
        return UNKNOWN_S
    return max(0.0, seconds)


def mission_id_of(bundle: Path) -> str:
    """Return the id of the mission of a bundle; empty if its trace cannot be read."""
    try:
        data = parse_json(read_document(bundle / TRACE_FILE, root=bundle))
        return storable(str(data["mission_id"])) if isinstance(data, dict) else ""
    except (OSError, TraceError, ValueError, KeyError, TypeError):
        return ""


def changed_missions(missions: Sequence[SuiteMission], revision: str, always: Collection[Path]) -> frozenset[str]:
    """Return the names of the missions with a file that differs from a revision of git; all if one of `always` does.

    Raises:
        UsageError: git is missing, or does not know the revision.
    """
    roots = {Path(_git(each.parent, "rev-parse", "--show-toplevel").rstrip("\n")) for each in _folders(missions)}
    changed = [file for root in sorted(roots) for file in _changed_files(root, revision)]
    if any(each.resolve() in {file.resolve() for file in changed} for each in always):
        return frozenset(mission.name for mission in missions)
    return frozenset(
        mission.name for mission in missions if any(file.is_relative_to(mission.bundle.resolve()) for file in changed)
    )


def _folders(missions: Iterable[SuiteMission]) -> set[Path]:
    """Return a bundle of each folder of bundles."""
    return set({each.bundle.absolute().parent: each.bundle.absolute() for each in missions}.values())


def _changed_files(root: Path, revision: str) -> Iterator[Path]:
    """Yield the files of a repository that differ from a revision, and those that git does not know, ignored or not."""
    commit = _git(root, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}").strip()
    listed = _git(root, "diff", "--name-only", "-z", commit, "--") + _git(root, "ls-files", "--others", "-z")
    return (root / name for name in listed.split("\0") if name)


def _git(folder: Path, *command: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - a revision cannot be an option
            ["git", "-c", "core.fsmonitor=false", "-C", str(folder), *command],  # noqa: S607 - that of the user
            capture_output=True,
            check=True,
        )
    except FileNotFoundError as error:
        raise UsageError("--changed-since needs git, which is not on the path") from error
    except subprocess.CalledProcessError as error:
        reason = (os.fsdecode(error.stderr).strip().splitlines() or ["it failed"])[0]
        message = f"--changed-since: git {command[0]}: {reason}"
        raise UsageError(message) from error
    return os.fsdecode(done.stdout)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _fits(name: str, pattern: str) -> bool:
    plain = pattern.rstrip("/").replace("[", "[[]")
    return fnmatchcase(name, plain) or fnmatchcase(name, f"{plain}/*")


def _as_folder(bundle: Path) -> Path:
    return bundle if bundle.is_dir() else bundle.parent


def _is_artifacts(bundle: Path) -> bool:
    return (bundle / OUTCOME_FILE).exists() and not (bundle / TRACE_FILE).exists()


def _name(bundle: Path, base: Path) -> str:
    whole = bundle.absolute()
    return storable((whole.relative_to(base) if whole.is_relative_to(base) else whole).as_posix())


def storable(text: str) -> str:
    """Return a text without halves of surrogate pairs, such as of a file name that is not UTF-8."""
    return text.encode("utf-8", "replace").decode()
