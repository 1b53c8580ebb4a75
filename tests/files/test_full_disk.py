"""A full disk is one error, and what was written before reads back."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from eikon_engine.cli.shell import run_command
from eikon_engine.errors import OutputError
from eikon_engine.files.writing import AppendOnlyFile
from eikon_engine.network.store import NetworkWriter, read_network
from tests.network.factories import make_exchange


@pytest.fixture
def fill_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function after which files take only so many more bytes, as on a full disk."""
    write = os.write

    def fill(free: int) -> None:
        left = free

        def write_some(descriptor: int, data: bytes) -> int:
            nonlocal left
            if not left:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            written = write(descriptor, data[:left])
            left -= written
            return written

        monkeypatch.setattr(os, "write", write_some)

    return fill


def test_a_line_that_does_not_fit_is_not_begun(tmp_path: Path, fill_disk: Callable[[int], None]) -> None:
    """The error names the file and what to do; the file ends with the last whole line."""
    file = AppendOnlyFile(tmp_path / "lines.jsonl", exists_message="there")
    file.append("one")
    fill_disk(2)

    with pytest.raises(
        OutputError, match=r"cannot write .*lines\.jsonl: No space left .*; free some space on the disk"
    ):
        file.append("three")

    file.close()
    assert file.path.read_bytes() == b"one\n"


def test_an_exchange_that_does_not_fit_leaves_the_earlier_ones(
    tmp_path: Path, fill_disk: Callable[[int], None]
) -> None:
    """The recording closes without a further error, and reads back without a warning."""
    with NetworkWriter(tmp_path / "network") as writer:
        writer.append(make_exchange(ordinal=0))
        fill_disk(20)
        with pytest.raises(OutputError, match="free some space on the disk"):
            writer.append(make_exchange(ordinal=1, occurrence=1))

    recording = read_network(tmp_path / "network")
    assert (len(recording.exchanges), recording.truncation) == (1, None)


def test_a_full_disk_that_a_library_meets_is_no_internal_error(capsys: pytest.CaptureFixture[str]) -> None:
    """The command ends with one line that names the file."""

    def write() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "somewhere/file")

    assert run_command(click.Command("c", callback=write), [], "eikon") == 2
    assert capsys.readouterr().err == (
        "eikon: cannot write somewhere/file: No space left on device; free some space on the disk "
        "(code output-not-writable)\n"
    )
