"""Who can read what is written: files with recorded content are for their user only, whatever the umask."""

from __future__ import annotations

import io
import os
import stat
from typing import TYPE_CHECKING

import pytest

from eikon_engine.files.blobs import BlobStore
from eikon_engine.files.writing import (
    AppendOnlyFile,
    copy_file,
    copy_folder,
    make_folders,
    open_new_file,
    write_atomically,
    write_public,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(params=[0o000, 0o022, 0o277])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """Let new files be readable for everyone, as usual, and for their user only."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes(root: Path) -> set[tuple[str, str]]:
    """Return the kinds and modes of everything below a folder."""
    found = ((stat.S_IMODE(path.lstat().st_mode), path.is_dir()) for path in root.rglob("*"))
    return {("folder" if is_folder else "file", oct(mode)) for mode, is_folder in found}


PRIVATE = {("folder", "0o700"), ("file", "0o600")}


def test_all_writers_write_for_the_user_only(umask: int, tmp_path: Path) -> None:
    """Also the folders above a file, if they are missing."""
    write_atomically(tmp_path / "a" / "b" / "c.json", b"{}")
    AppendOnlyFile(tmp_path / "d" / "e.jsonl", exists_message="there").close()
    BlobStore(tmp_path / "f" / "blobs").put(b"data")
    make_folders(tmp_path / "g" / "h")
    open_new_file(tmp_path / "g" / "i").close()
    copy_file(io.BytesIO(b"x"), tmp_path / "j" / "k")
    copy_folder(tmp_path / "a", tmp_path / "l" / "m")

    assert modes(tmp_path) == PRIVATE


def test_a_rewritten_file_is_for_the_user_only(tmp_path: Path) -> None:
    """One that could be read by others is replaced, not filled again."""
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "a").chmod(0o644)

    write_atomically(tmp_path / "a", b"new")

    assert modes(tmp_path) == {("file", "0o600")}


def test_copies_of_readable_files_are_for_the_user_only(tmp_path: Path) -> None:
    """Whatever the modes of the originals are."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").write_bytes(b"old")
    (tmp_path / "a" / "b" / "c").chmod(0o644)

    copy_folder(tmp_path / "a", tmp_path / "d")

    assert modes(tmp_path / "d") == PRIVATE


def test_an_existing_folder_stays_as_it_is(tmp_path: Path) -> None:
    """It is the user's."""
    tmp_path.chmod(0o755)

    write_atomically(tmp_path / "a", b"new")

    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_the_umask_decides_about_public_files(tmp_path: Path) -> None:
    """A schema or the source of a test is like any file that the user writes."""
    before = os.umask(0o022)
    try:
        write_public(tmp_path / "a" / "schema.json", b"{}")
    finally:
        os.umask(before)

    assert modes(tmp_path) == {("folder", "0o755"), ("file", "0o644")}


def test_a_file_in_the_place_of_a_folder_is_an_error(tmp_path: Path) -> None:
    """As for `mkdir`."""
    (tmp_path / "a").write_bytes(b"")

    with pytest.raises(FileExistsError):
        make_folders(tmp_path / "a")
