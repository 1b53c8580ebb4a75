from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from eikon_engine.errors import OutputError
from eikon_engine.files.locking import hold_lock, is_locked, try_lock

if TYPE_CHECKING:
    from pathlib import Path

HOLDER = """
import sys
from pathlib import Path
from eikon_engine.files.locking import hold_lock
with hold_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_lock_is_held_for_the_length_of_its_block(tmp_path: Path) -> None:
    """A lock is acquired when its block begins and released when it ends; checking does not acquire it."""
    lock = tmp_path / "lock"

    assert not is_locked(lock)
    with hold_lock(lock):
        assert is_locked(lock)
        assert is_locked(lock)
    assert not is_locked(lock)


def test_a_lock_that_is_held_is_not_taken(tmp_path: Path) -> None:
    """Trying to acquire a held lock yields False and does not affect its holder; a folder can be the lock."""
    with try_lock(tmp_path) as first, try_lock(tmp_path) as second:
        assert (first, second) == (True, False)
    with try_lock(tmp_path) as free:
        assert free


def test_a_killed_process_leaves_no_lock(tmp_path: Path) -> None:
    """The lock of a killed process is free immediately."""
    lock = tmp_path / "lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert is_locked(lock)
        holder.kill()
        holder.wait()

    assert not is_locked(lock)


def test_a_lock_in_a_missing_folder_is_refused(tmp_path: Path) -> None:
    """A lock file that cannot be created is an output error that names it."""
    with pytest.raises(OutputError, match="missing/lock"), hold_lock(tmp_path / "missing" / "lock"):
        pass
