"""Bundles in object storage: found below a URL, and downloaded once into a cache of this machine."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import NoMissionsError, OutputError, TraceError
from eikon_engine.files.paths import safe_file_name
from eikon_engine.files.writing import make_folders, write_error_message
from eikon_engine.replay.artifacts import OUTCOME_FILE
from eikon_engine.suite.missions import HEAD_BYTES, UNKNOWN_S, SuiteMission, recorded_seconds, recorded_seconds_in
from eikon_engine.suite.object_storage import StorageFolder, StoredFile, require_safe_name
from eikon_engine.trace.find_bundles import find_bundle_folders
from eikon_engine.trace.trace_file import TRACE_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_CACHE: Final = "bundles"


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoredBundle:
    """A bundle below a URL."""

    storage: StorageFolder
    folder: str
    """Relative to the URL; empty if the URL is that of the bundle."""
    files: Mapping[str, StoredFile]
    """By their names in the bundle."""

    @property
    def url(self) -> str:
        return f"{self.storage.url}/{self.folder}".rstrip("/")

    @property
    def digest(self) -> str:
        """Return a digest of where it is, and of the names, sizes and versions of its files."""
        listed = [(name, file.size, file.version) for name, file in sorted(self.files.items())]
        return hashlib.sha256(json.dumps([self.url, listed]).encode()).hexdigest()

    def name_of(self, file: str) -> str:
        """Return the name of one of its files below the URL."""
        return f"{self.folder}/{file}" if self.folder else file


class StoredBundles:
    """The bundles below URLs. Each has a path in the cache, with a digest of its listing, before it is downloaded."""

    def __init__(self, cache: Path, here: Path | None = None) -> None:
        """Download into a cache; `here` is where configurations are searched, by default the working directory."""
        self._cache = cache / _CACHE
        self._here = here or Path.cwd()
        self._bundles: dict[str, _StoredBundle] = {}

    def find(self, url: str, tags_of: Callable[[Path], frozenset[str]] | None = None) -> tuple[SuiteMission, ...]:
        """Return the bundle at a URL, or those below it; only the listing is read.

        A configuration finds a bundle at its path in the bucket, below the working directory: `tags_of` gets this path.

        Raises:
            NoMissionsError: there is none.
            BundlePathError: the name of a file in a bundle points outside of it.
            UsageError: there is no such bucket.
            RequirementError: a library is missing, there is no access, or no connection.
        """
        storage = StorageFolder(url.rstrip("/").removesuffix(f"/{TRACE_FILE}"))
        files = storage.list_files()
        missions = []
        for folder in find_bundle_folders(files):
            bundle = _StoredBundle(storage=storage, folder=folder, files=_files_in(folder, files, storage.url))
            if OUTCOME_FILE in bundle.files and TRACE_FILE not in bundle.files:
                continue
            self._bundles[bundle.url] = bundle
            place = self._here / bundle.url.partition("://")[2].partition("/")[2]
            tags = frozenset() if tags_of is None else tags_of(place)
            missions.append(SuiteMission(name=bundle.url, bundle=self._path(bundle), tags=tags, configured_at=place))
        if not missions:
            raise NoMissionsError(f"{storage.url}: expected bundles in or below the folder, got none")
        return tuple(missions)

    def seconds_of(self, missions: Sequence[SuiteMission]) -> dict[str, float]:
        """Return how long each recording took, by the name of the mission; of those not downloaded by their starts."""
        seconds = {each.name: recorded_seconds(each.bundle) for each in missions if each.name not in self._bundles}
        for storage, bundles in self._by_storage(missions).items():
            sizes = {
                each.name_of(TRACE_FILE): min(each.files[TRACE_FILE].size, HEAD_BYTES)
                for each in bundles
                if TRACE_FILE in each.files
            }
            starts = storage.read_starts(sizes)
            for each in bundles:
                start = starts.get(each.name_of(TRACE_FILE))
                seconds[each.url] = UNKNOWN_S if start is None else recorded_seconds_in(start)
        return seconds

    def download(self, missions: Iterable[SuiteMission]) -> None:
        """Download the bundles that are not in the cache, each whole or not at all.

        Raises:
            TraceError: a bundle changed meanwhile.
            UsageError: a file is gone.
            RequirementError: there is no access, or no connection.
            OutputError: the cache cannot be written.
        """
        for mission in missions:
            bundle = self._bundles.get(mission.name)
            if bundle is not None and not mission.bundle.is_dir():
                self._download(bundle, mission.bundle)

    def _download(self, bundle: _StoredBundle, path: Path) -> None:
        with _write_errors(path):
            make_folders(path.parent)
            temporary = Path(tempfile.mkdtemp(prefix=".download-", dir=path.parent))
        try:
            bundle.storage.download({bundle.name_of(name): temporary / name for name in bundle.files})
            now = StorageFolder(bundle.url).list_files()
            if now != bundle.files or any((temporary / name).stat().st_size != now[name].size for name in now):
                raise TraceError(f"{bundle.url}: the bundle changed while it was downloaded; run the command again")
            with _write_errors(path):
                _sync(temporary / name for name in bundle.files)
                _publish(temporary, path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    def _path(self, bundle: _StoredBundle) -> Path:
        name = safe_file_name(bundle.url.rpartition("/")[2], "bundle")
        return self._cache / f"{name}-{bundle.digest}"

    def _by_storage(self, missions: Iterable[SuiteMission]) -> dict[StorageFolder, list[_StoredBundle]]:
        found: dict[StorageFolder, list[_StoredBundle]] = {}
        for bundle in (self._bundles[each.name] for each in missions if each.name in self._bundles):
            found.setdefault(bundle.storage, []).append(bundle)
        return found


def _files_in(folder: str, files: Mapping[str, StoredFile], url: str) -> dict[str, StoredFile]:
    start = f"{folder}/" if folder else ""
    found = {}
    for name, file in files.items():
        if name.startswith(start):
            require_safe_name(url, name)
            found[name.removeprefix(start)] = file
    return found


@contextmanager
def _write_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(write_error_message(path, error)) from error


def _sync(paths: Iterable[Path]) -> None:
    """Wait until files are on disk: a cache that lost them in a power failure would stay damaged."""
    for path in paths:
        with path.open("rb") as file:
            os.fsync(file.fileno())


def _publish(temporary: Path, path: Path) -> None:
    """Give a complete folder its name, unless another process has done the same."""
    try:
        temporary.rename(path)
    except OSError:
        if not path.is_dir():
            raise
