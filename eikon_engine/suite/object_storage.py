"""Folders in object storage, or wherever fsspec reaches: list, read, download and upload their files; an extra.

Errors of the libraries are translated here, into one line each. Anyone may have named the files in a bucket: a name
passes `require_safe_name` before it becomes a path.
"""

from __future__ import annotations

import errno
import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.errors import BundlePathError, EikonError, OutputError, RequirementError, UsageError
from eikon_engine.files.extras import install_command
from eikon_engine.files.paths import escapes_bundle

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_CONTENT_VERSIONS: Final = ("ETag", "etag", "md5Hash", "crc32c", "generation", "checksum")
"""Fields of a listing that change with the content of a file, in S3, Google Cloud Storage and Azure."""
_TIMES: Final = ("mtime", "created", "LastModified", "last_modified", "updated")
"""Fields of a listing that change when a file is written, for file systems without one of those above."""
_LOCAL_ERRORS: Final = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.ENAMETOOLONG, errno.EEXIST, errno.EISDIR, errno.ENOTDIR}
)
"""What goes wrong on this machine rather than in object storage."""


def is_url(text: str) -> bool:
    """Return whether a text is a URL rather than a path."""
    return _URL.match(text) is not None


def require_safe_name(url: str, name: str) -> None:
    """Check that a name below a URL can be a path in a folder.

    Raises:
        BundlePathError: it points outside, or is no plain path.
    """
    if escapes_bundle(name) or not name.isprintable() or any(part in {"", "."} for part in name.split("/")):
        message = f"{url}: expected names of files inside the folder, got {name!r}; remove it from the storage"
        raise BundlePathError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A file as it is listed."""

    size: int
    version: str
    """Changes with its content."""


class StorageFolder:
    """A folder in object storage. Names of files are relative to it, with `/`."""

    def __init__(self, url: str) -> None:
        """Open the folder at a URL; nothing is sent yet.

        Raises:
            UsageError: the URL has an unknown protocol, or a password.
            RequirementError: a library is missing.
        """
        self.url = url.rstrip("/")
        if not is_url(self.url):
            raise UsageError(f"expected the URL of a folder such as s3://bucket/traces, got {url}")
        if "@" in url.partition("://")[2].partition("/")[0]:
            raise UsageError(f"expected a URL without a user, got {_without_user(url)}; pass credentials as variables")
        try:
            from fsspec.core import url_to_fs  # noqa: PLC0415 - an extra, and slow to import

            self._system, self._root = _open_system(url_to_fs, self.url)
        except ImportError as error:
            message = f"{url}: missing library ({_reason(error)}); for s3://, run {install_command('storage')}"
            raise RequirementError(message) from error

    def list_files(self) -> dict[str, StoredFile]:
        """Return all files in and below the folder, by name; none if there is no such folder in the bucket.

        Raises:
            UsageError: there is no such bucket.
            RequirementError: there is no access, or no connection.
        """
        with _translated_errors(self.url):
            self._system.invalidate_cache()
            found = self._system.find(self._root, detail=True)
        files = {}
        for path, info in found.items():
            name = path.removeprefix(self._root).removeprefix("/")
            if info["type"] == "file" and name and not name.endswith("/"):  # "folder/" is a mark of a folder
                files[name] = StoredFile(size=info["size"] or 0, version=self._version(path, info))
        return files

    def read(self, name: str) -> bytes:
        """Return the content of a file.

        Raises:
            UsageError: there is none.
            RequirementError: there is no access, or no connection.
        """
        with _translated_errors(f"{self.url}/{name}"):
            content: bytes = self._system.cat_file(self._path(name))
        return content

    def read_starts(self, sizes: Mapping[str, int]) -> dict[str, bytes]:
        """Return so many bytes from the start of each of these files.

        Raises:
            UsageError: a file is gone.
            RequirementError: there is no access, or no connection.
        """
        names = [name for name, size in sizes.items() if size > 0]
        paths, ends = [self._path(name) for name in names], [sizes[name] for name in names]
        with _translated_errors(self.url):
            starts = self._system.cat_ranges(paths, [0] * len(paths), ends, on_error="raise")
        return {**dict.fromkeys(sizes, b""), **dict(zip(names, starts, strict=True))}

    def download(self, files: Mapping[str, Path]) -> None:
        """Write files, by name, to paths of this machine.

        Raises:
            UsageError: a file is gone.
            RequirementError: there is no access, or no connection.
            OutputError: a file cannot be written.
        """
        if not files:
            return
        with _translated_errors(self.url):
            self._system.get([self._path(name) for name in files], [str(path) for path in files.values()])

    def upload(self, files: Mapping[str, Path]) -> None:
        """Write the content of files of this machine under these names.

        Raises:
            OutputError: a file cannot be uploaded.
        """
        if not files:
            return
        with _upload_errors(self.url):
            self._make_folders(files)
            self._system.put([str(path) for path in files.values()], [self._path(name) for name in files])

    def write(self, name: str, content: bytes) -> None:
        """Write a file.

        Raises:
            OutputError: it cannot be uploaded.
        """
        with _upload_errors(self.url):
            self._make_folders([name])
            self._system.pipe_file(self._path(name), content)

    def move(self, names: Sequence[str], target: StorageFolder) -> None:
        """Move files into another folder of the same bucket.

        Raises:
            OutputError: a file cannot be moved.
        """
        with _upload_errors(self.url):
            target._make_folders(names)
            paths = [self._path(name) for name in names]
            self._system.copy(paths, [target._path(name) for name in names], on_error="raise")
            self._system.rm(paths)

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _make_folders(self, names: Sequence[str] | Mapping[str, Path]) -> None:
        """Make the folders of files where there are such; the asynchronous file systems of fsspec have none."""
        if not self._system.async_impl:
            for folder in {self._path(name).rpartition("/")[0] for name in names}:
                self._system.makedirs(folder, exist_ok=True)

    def _version(self, path: str, info: Mapping[str, Any]) -> str:
        for fields in (_CONTENT_VERSIONS, _TIMES):
            found = [f"{field}={info[field]}" for field in fields if info.get(field)]
            if found:
                return " ".join(found)
        with _translated_errors(self.url):
            return str(self._system.ukey(path))


def _open_system(url_to_fs: Any, url: str) -> tuple[Any, str]:  # noqa: ANN401 - fsspec has no types
    try:
        system, root = url_to_fs(url)
    except ImportError:
        raise
    except Exception as error:
        message = f"{url}: expected the URL of a folder such as s3://bucket/traces, got: {_reason(error)}"
        raise UsageError(message) from error
    return system, root.rstrip("/")


@contextmanager
def _translated_errors(url: str) -> Iterator[None]:
    """Raise errors of fsspec and of the libraries below it as ours; each service has errors of its own."""
    try:
        yield
    except EikonError:
        raise
    except FileNotFoundError as error:
        raise UsageError(f"{url}: not found: {_reason(error)}; check the URL") from error
    except PermissionError as error:
        raise RequirementError(f"{url}: no access: {_reason(error)}; check the credentials") from error
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _LOCAL_ERRORS:
            raise OutputError(f"{url}: cannot be downloaded: {_reason(error)}") from error
        raise RequirementError(f"{url}: cannot be read: {_reason(error)}") from error


@contextmanager
def _upload_errors(url: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise OutputError(f"{url}: cannot be written: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    lines = (error.strerror if isinstance(error, OSError) and error.strerror else str(error)).splitlines()
    return lines[0] if lines else type(error).__name__


def _without_user(url: str) -> str:
    protocol, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{protocol}://…@{host.rpartition('@')[2]}{slash}{path}"
