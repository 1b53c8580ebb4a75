"""Archives from other tools are untrusted input."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

from eikon_engine.errors import ForeignFormatError, TooLargeError
from eikon_engine.files import limits
from eikon_engine.files.limits import FILE_EXEMPT_BYTES
from eikon_engine.importers import foreign_file
from eikon_engine.importers.foreign_file import open_archive, open_foreign_file
from tests.importers.playwright_zips import URL, call, head, write_zip

if TYPE_CHECKING:
    from pathlib import Path


def read_everything(path: Path) -> None:
    """Read each file of an archive in both ways."""
    with open_foreign_file(path) as file:
        assert file.archive is not None
        for name in file.archive.names:
            list(file.archive.lines(name))
            file.archive.read(name)


def refused(path: Path) -> str:
    """Return the one-line error for a file."""
    with pytest.raises((ForeignFormatError, TooLargeError)) as caught:
        read_everything(path)
    assert "\n" not in caught.value.message
    return caught.value.message


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    """Return the bytes of a good archive."""
    return write_zip(tmp_path / "whole.zip", [head(), *call(1, "Frame.goto", url=URL)] * 50).read_bytes()


@pytest.mark.parametrize("kept", [4, 30, 0.5, 0.99])
def test_a_truncated_archive_is_refused(tmp_path: Path, whole: bytes, kept: float) -> None:
    """An archive may be truncated anywhere."""
    path = tmp_path / "cut.zip"
    path.write_bytes(whole[: int(kept if kept > 1 else len(whole) * kept)])

    assert "cannot read the zip archive" in refused(path)


def test_a_damaged_file_is_refused(tmp_path: Path, whole: bytes) -> None:
    """A file with a wrong checksum is refused."""
    path = tmp_path / "damaged.zip"
    path.write_bytes(whole[:60] + bytes(byte ^ 255 for byte in whole[60:70]) + whole[70:])

    assert "damaged.zip: cannot read the zip archive" in refused(path)


def test_an_encrypted_file_is_refused(tmp_path: Path, whole: bytes) -> None:
    """There is no way to pass a password, so an encrypted archive is refused."""
    path = tmp_path / "encrypted.zip"
    data = bytearray(whole)
    for mark, offset in ((b"PK\1\2", 8), (b"PK\3\4", 6)):
        data[data.index(mark) + offset] |= 1
    path.write_bytes(data)

    assert "encrypted" in refused(path)


@pytest.mark.parametrize("name", ["../a", "a/../../b", "/etc/passwd", "C:/a", "a\\..\\b", ""])
def test_names_that_lead_out_are_refused(tmp_path: Path, name: str) -> None:
    """An archive with a path outside of it is refused, although files are never extracted to their paths."""
    path = tmp_path / "climbing.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr(zipfile.ZipInfo("x"), b"")
        packed.filelist[0].filename = name

    assert "leads outside the archive" in refused(path)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    """A file with an extreme compression ratio is not read."""
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("trace.trace", bytes(FILE_EXEMPT_BYTES * 2))

    assert "bomb.zip/trace.trace: expected at most 200 times its" in refused(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_duplicate_file_is_refused(tmp_path: Path) -> None:
    """Readers disagree on whether the first or the last one counts."""
    path = tmp_path / "twice.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("trace.trace", b"1")
        packed.writestr("trace.trace", b"2")

    assert "the archive contains 'trace.trace' twice" in refused(path)


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("MAX_ARCHIVE_FILES", "at most 1 files"),
        ("MAX_ARCHIVE_BYTES", "big.zip: expected at most 1 bytes"),
        ("MAX_LINE_BYTES", "line 1: expected at most 1 bytes"),
        ("MAX_ARCHIVE_FILE_BYTES", "big.zip/trace.trace: expected at most 1 bytes"),
    ],
)
def test_sizes_have_bounds(
    tmp_path: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch, limit: str, message: str
) -> None:
    """An archive with too many or too large entries, lines or files is refused."""
    for module in (limits, foreign_file):
        monkeypatch.setattr(module, limit, 1, raising=False)
    (tmp_path / "big.zip").write_bytes(whole)

    assert message in refused(tmp_path / "big.zip")


def test_a_file_that_is_no_archive_is_reported(tmp_path: Path) -> None:
    """A file that is neither JSON nor zip, and a missing file, are rejected."""
    (tmp_path / "a.zip").write_bytes(b"\x1f\x8b\x08 no zip")

    assert "expected JSON or a zip archive" in refused(tmp_path / "a.zip")
    assert "cannot read the recording" in refused(tmp_path / "gone.zip")


def test_lines_are_read_one_after_the_other(tmp_path: Path) -> None:
    """Empty lines are skipped, but counted in line numbers."""
    path = write_zip(tmp_path / "t.zip", [head()], others={"letters": b"a\n\nb"})

    with open_archive(path) as archive:
        assert list(archive.lines("letters")) == [(1, b"a\n"), (3, b"b")]
