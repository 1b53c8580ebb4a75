"""Temporary folders do not outlive their process for longer than until the next start."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from eikon_engine.errors import OutputError
from eikon_engine.files import temporary
from eikon_engine.files.locking import hold_lock
from eikon_engine.files.temporary import process_folder, remove_process_folder, temporary_folder


@pytest.fixture(autouse=True)
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test a folder for temporary files of its own, and the process no folder in it yet."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(temporary, "_folders", {})
    return tmp_path


def dead_process() -> int:
    """Return the id of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_the_folder_of_a_killed_process_is_removed_at_the_next_start(parent: Path) -> None:
    """With everything in it."""
    program = (
        "import os, signal; from eikon_engine.files.temporary import temporary_folder\n"
        "with temporary_folder('certify') as folder:\n"
        "    (folder / 'file').touch()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", program], env={**os.environ, "TMPDIR": str(parent)}, check=False)
    assert [len(list(left.rglob("file"))) for left in parent.iterdir()] == [1]

    own = process_folder()

    assert list(parent.iterdir()) == [own]


def test_the_folder_of_a_living_process_is_kept(parent: Path) -> None:
    """So is one that a process of another container has locked, and whatever has another name."""
    living = parent / f"eikon-{os.getppid()}-abcd1234"
    locked = parent / f"eikon-{dead_process()}-abcd1234"
    other = parent / "eikon-traceback-abcd1234"
    link = parent / f"eikon-{dead_process()}-efgh5678"
    for each in (living, locked, other):
        each.mkdir()
    link.symlink_to(other)

    with hold_lock(locked):
        process_folder()

    assert [each.exists() for each in (living, locked, other, link)] == [True] * 4


def test_a_folder_is_removed_at_the_end_of_its_block_and_that_of_the_process_at_its_end(parent: Path) -> None:
    """Nothing is left."""
    with temporary_folder("certify") as folder:
        (folder / "file").touch()
        assert folder.parent == process_folder()
    assert not folder.exists()

    remove_process_folder()

    assert list(parent.iterdir()) == []


def test_a_folder_beside_an_output_is_removed_at_the_next_start_there(parent: Path) -> None:
    """It is hidden."""
    (parent / f".eikon-fix-{dead_process()}-abcd1234").mkdir()

    with temporary_folder("fix", near=parent) as folder:
        assert list(parent.iterdir()) == [folder]

    assert folder.name.startswith(".eikon-fix-")


def test_a_folder_that_cannot_be_created_is_one_error(parent: Path) -> None:
    """It names the place."""
    (parent / "file").touch()

    with pytest.raises(OutputError, match=r"cannot write .*file"), temporary_folder("fix", near=parent / "file"):
        pass
