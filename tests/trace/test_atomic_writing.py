from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from eikon_engine.errors import OutputError
from eikon_engine.files.writing import write_atomically

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    """The file has only the new content; the folder is created, and no temporary file is left."""
    path = tmp_path / "new" / "file"

    write_atomically(path, b"long content")
    write_atomically(path, b"short")

    assert path.read_bytes() == b"short"
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_cannot_be_written_is_named_with_the_reason(tmp_path: Path) -> None:
    """The message has the path and the operating system's reason."""
    (tmp_path / "file").touch()

    with pytest.raises(OutputError) as raised:
        write_atomically(tmp_path / "file" / "below", b"")

    assert raised.value.message.startswith(f"cannot write {tmp_path}/file/below: ")


def test_an_interrupt_leaves_no_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that comes while the temporary file is made."""
    opens = os.open

    def interrupted(path: Path, flags: int, mode: int) -> int:
        os.close(opens(path, flags, mode))
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "open", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "file", b"content")
    monkeypatch.undo()

    assert list(tmp_path.iterdir()) == []
