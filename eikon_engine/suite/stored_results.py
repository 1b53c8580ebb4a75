"""The folder of a suite in object storage: results are uploaded as they end, the reports when the suite ends."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import EikonError, OutputError, UsageError
from eikon_engine.files.limits import read_file
from eikon_engine.files.writing import make_folder, make_folders, write_error_message
from eikon_engine.replay.artifacts import OUTCOME_FILE
from eikon_engine.report.replay_reports import REPORT_FILE
from eikon_engine.suite.object_storage import StorageFolder, require_safe_name
from eikon_engine.suite.results import JOURNAL_FILE, SUITE_FILE, parse_suite

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eikon_engine.outcome.suite_results import MissionResult, SuiteResult

_CACHE: Final = "suites"
_JOURNAL_S: Final = 10.0
"""Wall time between uploads of the journal: object storage cannot append, so each one is an upload of all of it."""
_LAST: Final = (JOURNAL_FILE, SUITE_FILE)
"""Uploaded last, because they say that the rest is there."""


class ResultsFolder:
    """The folder of a suite on this machine."""

    def __init__(self, folder: Path) -> None:
        """Use a folder."""
        self.folder = folder
        self.failure = ""
        """Why results are not where they are to be; empty if they are."""

    @property
    def name(self) -> str:
        """Return the path or URL of the folder."""
        return str(self.folder)

    def locate(self, file: str) -> Path | str:
        """Return where a file is, or will be."""
        return self.folder / file

    def add(self, result: MissionResult) -> None:
        """Keep the artifacts of a result, which is in the journal."""

    @contextmanager
    def completing(self) -> Iterator[None]:
        """Keep everything when the block ends, whatever ends it."""
        yield


class StoredResultsFolder(ResultsFolder):
    """The folder of a suite in object storage, with a temporary one on this machine, from which files are uploaded.

    What cannot be uploaded while the suite runs is uploaded when it ends. If that fails, the temporary folder stays.
    """

    def __init__(self, url: str, cache: Path, *, resumes: bool) -> None:
        """Use the folder at a URL; with `resumes`, get what an interrupted suite has left there.

        Raises:
            OutputError: it holds other files; nothing can be written on this machine.
            UsageError: there is no such bucket; there is no suite to resume.
            RequirementError: a library is missing, there is no access, or no connection.
        """
        self._storage = StorageFolder(url)
        names = tuple(self._storage.list_files())
        if not resumes:
            _require_suite(self._storage.url, names)
        elif JOURNAL_FILE not in names:
            raise UsageError(f"{self.name}: --resume expected a suite that was interrupted, got no {JOURNAL_FILE}")
        super().__init__(_temporary_folder(cache / _CACHE))
        self._earlier = () if resumes else names
        self._uploaded: dict[str, tuple[int, int]] = {}
        """Size and time of the files as they were uploaded, by name."""
        self._journal_due = 0.0
        self._fails = threading.Event()
        if resumes:
            self._restore(names)
        self._uploads = ThreadPoolExecutor(1, "eikon-upload")

    @property
    def name(self) -> str:
        """Return the URL of the folder."""
        return self._storage.url

    def locate(self, file: str) -> Path | str:
        """Return the URL of a file."""
        return f"{self.name}/{file}"

    def add(self, result: MissionResult) -> None:
        """Upload the artifacts of a result in the background, and the journal from time to time."""
        size = (self.folder / JOURNAL_FILE).stat().st_size
        self._uploads.submit(self._try_upload, result.artifacts, size)

    @contextmanager
    def completing(self) -> Iterator[None]:
        """Upload all files when the block ends, whatever ends it; without a failure, remove the temporary folder."""
        try:
            yield
        finally:
            self._uploads.shutdown()
            try:
                self._upload(_files_in(self.folder))
            except EikonError as error:
                self.failure = f"{error.message}; the results are in {self.folder}"
            else:
                shutil.rmtree(self.folder, ignore_errors=True)

    def _try_upload(self, artifacts: str, journal_size: int) -> None:
        if self._fails.is_set():
            return
        try:
            if artifacts:
                self._upload(_files_in(self.folder / artifacts))
            if time.monotonic() >= self._journal_due:
                journal = read_file(self.folder / JOURNAL_FILE, root=self.folder)[
                    :journal_size
                ]  # more may not be uploaded yet
                self._storage.write(JOURNAL_FILE, journal)
                self._journal_due = time.monotonic() + _JOURNAL_S
        except (EikonError, OSError):  # tried again in the end
            self._fails.set()

    def _upload(self, paths: Iterable[Path]) -> None:
        """Upload files that are not uploaded as they are."""
        changed = {path.relative_to(self.folder).as_posix(): path for path in paths}
        changed = {name: path for name, path in changed.items() if self._uploaded.get(name) != _state(path)}
        if changed and self._earlier:
            self._move_earlier()
        states = {name: _state(path) for name, path in changed.items()}
        self._storage.upload({name: path for name, path in changed.items() if name not in _LAST})
        self._storage.upload({name: changed[name] for name in _LAST if name in changed})
        self._uploaded |= states

    def _move_earlier(self) -> None:
        """Move the files of an earlier suite to `<URL>.1`, `<URL>.2` …."""
        number = 1
        while (aside := StorageFolder(f"{self.name}.{number}")).list_files():
            number += 1
        self._storage.move(self._earlier, aside)
        self._earlier = ()

    def _restore(self, names: Iterable[str]) -> None:
        """Download the journal and what the reports are made from."""
        wanted = [
            name for name in names if name == JOURNAL_FILE or name.endswith((f"/{OUTCOME_FILE}", f"/{REPORT_FILE}"))
        ]
        for name in wanted:
            require_safe_name(self.name, name)
        self._storage.download({name: self.folder / name for name in wanted})
        self._uploaded = {name: _state(self.folder / name) for name in wanted}


def read_stored_suite(url: str) -> SuiteResult:
    """Read the suite.json of a folder in object storage.

    Raises:
        UsageError: there is none.
        TraceError: it is not valid.
        RequirementError: a library is missing, there is no access, or no connection.
    """
    storage = StorageFolder(url)
    return parse_suite(storage.read(SUITE_FILE), f"{storage.url}/{SUITE_FILE}")


def download_results(url: str, folder: Path) -> SuiteResult:
    """Download the suite.json of a folder in object storage, and the artifacts of what failed, to a new folder.

    Raises:
        UsageError: there is none.
        TraceError: it is not valid.
        BundlePathError: the name of a file points outside.
        RequirementError: a library is missing, there is no access, or no connection.
        OutputError: the files cannot be written.
    """
    storage = StorageFolder(url)
    suite = parse_suite(storage.read(SUITE_FILE), f"{storage.url}/{SUITE_FILE}")
    failed = tuple(f"{each.artifacts}/" for each in suite.results if each.artifacts and each.exit_status)
    wanted = [name for name in storage.list_files() if name == SUITE_FILE or name.startswith(failed)]
    for name in wanted:
        require_safe_name(storage.url, name)
    try:
        make_folders(folder.parent)
        make_folder(folder)
    except OSError as error:
        raise OutputError(write_error_message(folder, error)) from error
    storage.download({name: folder / name for name in wanted})
    return suite


def _require_suite(url: str, names: Iterable[str]) -> None:
    """Check that a folder holds nothing, or an earlier suite.

    Raises:
        OutputError: it holds other files.
    """
    found = set(names)
    if found and found.isdisjoint(_LAST):
        message = f"{url} holds files that are no results of a suite ({min(found)}). Choose another --artifacts-dir."
        raise OutputError(message)


def _temporary_folder(cache: Path) -> Path:
    try:
        make_folders(cache)
        return Path(tempfile.mkdtemp(prefix="suite-", dir=cache))
    except OSError as error:
        raise OutputError(write_error_message(cache, error)) from error


def _files_in(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(path for path in folder.rglob("*") if path.is_file()))


def _state(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns
