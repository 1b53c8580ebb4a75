"""Files that grow by whole lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from eikon_engine.errors import OutputError
from eikon_engine.files.writing import AppendOnlyFile


def test_each_line_stands_there_as_soon_as_it_is_appended(tmp_path: Path) -> None:
    """Each line stands there as soon as it is appended, in a folder that was missing."""
    path = tmp_path / "new" / "lines.jsonl"
    file = AppendOnlyFile(path, exists_message="there")

    file.append("one")
    assert path.read_bytes() == b"one\n"
    file.append("zwei ü")
    file.close()

    assert path.read_bytes() == "one\nzwei ü\n".encode()


def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    """A file that is there is left alone, and the reason given is said."""
    path = tmp_path / "lines.jsonl"
    path.write_text("old\n")

    with pytest.raises(OutputError, match=rf"^{path}: lines are there already$"):
        AppendOnlyFile(path, exists_message="lines are there already")
    assert path.read_text() == "old\n"


def test_a_folder_that_is_a_file_is_told_as_what_it_is(tmp_path: Path) -> None:
    """A folder that is a file is told as what it is: nothing was there already."""
    (tmp_path / "file").touch()

    with pytest.raises(OutputError, match=r"cannot write .*lines\.jsonl: File exists; choose a writable folder"):
        AppendOnlyFile(tmp_path / "file" / "lines.jsonl", exists_message="there")
