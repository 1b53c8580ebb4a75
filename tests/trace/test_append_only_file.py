"""Files that only grow by whole lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from eikon_engine.errors import OutputError
from eikon_engine.files.writing import AppendOnlyFile


def test_a_line_is_on_disk_once_it_is_appended(tmp_path: Path) -> None:
    """Each line is in the file once `append` returns; a missing folder is created."""
    path = tmp_path / "new" / "lines.jsonl"
    file = AppendOnlyFile(path, exists_message="there")

    file.append("one")
    assert path.read_bytes() == b"one\n"
    file.append("zwei ü")
    file.close()

    assert path.read_bytes() == "one\nzwei ü\n".encode()


def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    """An existing file is left unchanged, and the message has the given reason."""
    path = tmp_path / "lines.jsonl"
    path.write_text("old\n")

    with pytest.raises(OutputError, match=rf"^{path}: lines are there already$"):
        AppendOnlyFile(path, exists_message="lines are there already")
    assert path.read_text() == "old\n"


def test_a_file_in_place_of_a_folder_is_named_as_such(tmp_path: Path) -> None:
    """The message says that the folder is a file, not that a recording exists."""
    (tmp_path / "file").touch()

    with pytest.raises(OutputError, match=r"cannot write .*lines\.jsonl: File exists; choose a writable folder"):
        AppendOnlyFile(tmp_path / "file" / "lines.jsonl", exists_message="there")
