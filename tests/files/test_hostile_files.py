"""Every reader refuses a file that is too large, is no regular file, or is not in its folder, with one clear line."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from copy import copy
from typing import TYPE_CHECKING, Any

import pytest
import zstandard

from eikon_engine.dom.digest import snapshot_from_json
from eikon_engine.dom.fast_html import render_stored_frames
from eikon_engine.errors import BundlePathError, EikonError, TooLargeError, TraceFieldError
from eikon_engine.files import limits
from eikon_engine.files.blobs import BlobRef, BlobStore, blob_ref
from eikon_engine.files.limits import LineBuffer, parse_json, parse_toml, require_values
from eikon_engine.importers.foreign_file import open_foreign_file
from eikon_engine.importers.har_file import open_har
from eikon_engine.network.store import read_network
from tests.error_codes import has_code
from tests.files.hostile_reads import READERS
from tests.redact.test_packed_files import TRACES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECRET = "root:x:0:0"
MAX_SECONDS = 10


def sparse_file(path: Path) -> None:
    """Make a file of 3 GiB that takes no space."""
    with path.open("wb") as file:
        file.truncate(3 << 30)


def many_values(path: Path) -> None:
    """Make an object with more members than any file may have."""
    path.write_bytes(b'{"a":1' + b',"a":1' * (limits.MAX_PLAIN_VALUES + 1) + b"}")


def one_line(path: Path) -> None:
    """Make a line of 100 MB without an end."""
    path.write_bytes(b'{"a":"' + b"x" * 100_000_000)


def deep_lists(path: Path) -> None:
    """Nest lists in lists."""
    path.write_bytes(b"[" * 100_000 + b"\n")


def deep_keys(path: Path) -> None:
    """Nest tables in tables by the names of keys."""
    path.write_bytes(b"a" + b".a" * 100_000 + b"=1\n")


def no_finite_numbers(path: Path) -> None:
    """Write numbers that are none."""
    path.write_bytes(b'{"a":NaN,"b":Infinity,"c":1e999}\n')


def lone_surrogate(path: Path) -> None:
    """Write half of a character."""
    path.write_bytes(b'{"trace_version":"v3.1","a":"\\ud800"}\n')


def no_utf_8(path: Path) -> None:
    """Write bytes that are no text."""
    path.write_bytes(b'{"a":"\xff"}\n')


def link_to_another_file(path: Path) -> None:
    """Link a file of the system."""
    outside = path.with_name("outside")
    outside.write_text(f"{SECRET}\n")
    path.symlink_to(outside)


def pipe(path: Path) -> None:
    """Make a pipe without a writer."""
    os.mkfifo(path)


LENIENT = frozenset({"stored page"})
"""Readers of HTML, which may have any text."""
BOMBS: dict[str, Callable[[Path], None]] = {
    "sparse": sparse_file,
    "values": many_values,
    "line": one_line,
    "deep": deep_lists,
    "keys": deep_keys,
    "numbers": no_finite_numbers,
    "surrogate": lone_surrogate,
    "bytes": no_utf_8,
}


def read_with(names: list[str], hostile: Path) -> list[dict[str, Any]]:
    """Read a file with several readers, in a process with four times the memory of the largest file."""
    command = [sys.executable, "-m", "tests.files.hostile_reads", str(hostile), *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=MAX_SECONDS * len(names))
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["name"] for each in found] == names, done.stderr[-2000:]
    return found


@pytest.mark.parametrize("make", BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_refused_in_one_line_by_every_reader(make: Callable[[Path], None], tmp_path: Path) -> None:
    """No reader needs more memory than four times the largest file, nor raises anything but an error of ours."""
    make(tmp_path / "bomb")

    for found in read_with([name for name in READERS if name not in LENIENT], tmp_path / "bomb"):
        assert found["code"], found
        assert found["code"] == found["code"].lower(), found  # no name of another exception
        assert len(found["message"]) < 1_000, found
        assert "\n" not in found["message"], found
        assert found["seconds"] < MAX_SECONDS, found


@pytest.mark.parametrize("make", [link_to_another_file, pipe])
def test_no_reader_opens_what_is_not_a_file_of_its_folder(make: Callable[[Path], None], tmp_path: Path) -> None:
    """A link that leads outside and a pipe are refused, and nothing of the linked file is shown."""
    make(tmp_path / "hostile")

    for found in read_with([name for name, each in READERS.items() if each.is_own], tmp_path / "hostile"):
        assert found["code"] in {"bundle-path", "trace-missing", "responses"}, found
        assert SECRET not in found["message"], found
        assert found["seconds"] < MAX_SECONDS, found


def repeated_byte(size: int) -> bytes:
    """Return a zstd frame of `size` zeros; four bytes yield 128 KiB (RFC 8878, 3.1.1.2)."""
    block, blocks = 128 * 1024, size // (128 * 1024)
    headers = [(block << 3 | 1 << 1 | (number == blocks - 1)).to_bytes(3, "little") for number in range(blocks)]
    window = bytes([0x80, 17 - 10 << 3])[1:]
    return b"\x28\xb5\x2f\xfd" + b"\xc0" + window + size.to_bytes(8, "little") + b"".join(h + b"\0" for h in headers)


def test_a_blob_that_states_gigabytes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """A frame of 98 kB that states 3 GiB is not decompressed, nor one of 1 GiB with such a ratio."""
    store = BlobStore(tmp_path / "blobs")
    store.folder.mkdir()
    for size, expected in ((3 << 30, "at most 1,024 MiB"), (1 << 30, "at most 200 times its 32,")):
        ref = BlobRef(sha256="0" * 64, size=size)
        store.path(ref).write_bytes(repeated_byte(size))

        with pytest.raises(TooLargeError, match=expected):
            store.get(ref)


def test_zeros_that_were_uploaded_are_read_again(tmp_path: Path) -> None:
    """A large file of zeros, as testers upload them, has a high ratio, too."""
    store = BlobStore(tmp_path)
    data = bytes(20 << 20)

    assert store.get(store.put(data)) == data


def test_many_blobs_with_a_high_ratio_are_refused_together(tmp_path: Path) -> None:
    """Each of five blobs of 250 MiB could be an upload; together they are none."""
    store = BlobStore(tmp_path)
    refs = [BlobRef(sha256=f"{number}" * 64, size=250 << 20) for number in range(5)]
    for ref in refs:
        store.path(ref).write_bytes(b"\0" * 8_000)

    store.require_ratio(refs[:4])
    with pytest.raises(TooLargeError, match="at most 200 times its 40,000 compressed bytes, got 1,250 MiB"):
        store.require_ratio(refs)


def test_a_blob_outside_the_bundle_is_not_opened(tmp_path: Path) -> None:
    """Neither a linked blob nor a linked folder of blobs is read."""
    outside = BlobStore(tmp_path / "outside")
    ref = outside.put(b"data")
    (tmp_path / "bundle" / "files").mkdir(parents=True)
    (tmp_path / "bundle" / "dom").symlink_to(outside.folder)
    files = BlobStore(tmp_path / "bundle" / "files")
    files.path(ref).symlink_to(outside.path(ref))

    for store in (files, BlobStore(tmp_path / "bundle" / "dom")):
        with pytest.raises(BundlePathError):
            store.get(ref)


def test_a_bundle_behind_a_link_is_read(tmp_path: Path) -> None:
    """A person may link a bundle, and links inside it may lead to its own files."""
    (tmp_path / "network").mkdir()
    (tmp_path / "network" / "all.jsonl").touch()
    (tmp_path / "network" / "index.jsonl").symlink_to("all.jsonl")
    (tmp_path / "link").symlink_to(tmp_path / "network")

    assert read_network(tmp_path / "link").exchanges == ()


def test_a_har_that_unzips_to_more_than_it_could_have_is_refused(tmp_path: Path) -> None:
    """The stated size and the ratio of an entry are checked before it is unpacked, of attachments, too."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.har", b" " * (32 << 20))

    with pytest.raises(TooLargeError, match=r"a\.har: expected at most 200 times"), open_har(path):
        pass
    with pytest.raises(TooLargeError, match=r"a\.har: expected at most 200 times"), open_foreign_file(path):
        pass


def test_files_of_an_archive_that_share_their_content_are_refused(tmp_path: Path) -> None:
    """Overlapping entries unpack the same bytes again and again."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", b"1" * 1000)
        again = copy(archive.filelist[0])
        again.filename = "b"
        archive.filelist.append(again)

    with pytest.raises(TooLargeError, match="got overlapping ones"), open_foreign_file(path):
        pass


def test_a_recorded_url_that_cannot_be_split_is_refused(tmp_path: Path) -> None:
    """Browsers request no such URL, and readers of the network split each."""
    network = tmp_path / "network"
    shutil.copytree(TRACES / "shop_passing" / "network", network)
    index = network / "index.jsonl"
    index.write_text(re.sub(r'"url":"[^"]*"', '"url":"http://[a"', index.read_text(), count=1))

    with pytest.raises(TraceFieldError, match=r"line 1: request\.url: Invalid IPv6 URL"):
        read_network(network)


@pytest.mark.parametrize("read", [snapshot_from_json, render_stored_frames])
def test_a_snapshot_with_too_many_nodes_is_refused(read: Callable[[bytes], object]) -> None:
    """The values of a snapshot are counted before they are parsed."""
    with pytest.raises(TooLargeError, match="expected at most 4,000,000 values"):
        read(b"[" + b"[]," * 2_100_000 + b"0]")


@pytest.mark.parametrize("text", ["1e309", "[-1e0999]", '{"a": ' + "9" * 250 + "e99}"])
def test_a_number_that_no_computer_has_is_refused(text: str) -> None:
    """The parser makes it infinite, and what is infinite cannot be written again."""
    with pytest.raises(ValueError, match="a number that is too large"):
        parse_json(text)


def test_large_numbers_are_read() -> None:
    """As exactly as they are written."""
    assert parse_json(b'[1.5e308, 1e-999, "1e999", ' + b"9" * 250 + b"]") == [1.5e308, 0.0, "1e999", int("9" * 250)]


def test_text_does_not_count_as_values() -> None:
    """Commas and brackets inside strings, such as those of scripts, are no values."""
    script = json.dumps('a = [{"b": 1, "c\\\\": [2, 3]}];' * 1_000).encode()

    require_values(b'{"text": ' + script + b"}", "a.har", 1)
    with pytest.raises(TooLargeError, match="expected at most 1 values, got more"):
        require_values(b'{"text": ' + script + b', "b": 1}', "a.har", 1)


def test_lines_are_split_in_linear_time() -> None:
    """A long line in small chunks is joined once."""
    buffer = LineBuffer("a.jsonl")
    for _ in range(20_000):
        assert buffer.feed(b"x" * 1_000) == []

    assert buffer.feed(b"\nrest") == [b"x" * 20_000_000]
    assert buffer.rest() == b"rest"


def test_dots_in_values_are_no_levels() -> None:
    """Only names of keys make tables."""
    assert parse_toml(f'a = "{"." * 500}"  # {"." * 500}'.encode()) == {"a": "." * 500}
    with pytest.raises(ValueError, match="at most 100 levels"):
        parse_toml(b"[" + b"a." * 150 + b"a]")


def test_what_could_not_be_read_again_is_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recording learns of the limit, not its replays."""
    monkeypatch.setattr("eikon_engine.files.blobs.MAX_BLOB_BYTES", 3)

    with pytest.raises(EikonError, check=has_code("too-large")):
        BlobStore(tmp_path).put(b"four")
    assert not BlobStore(tmp_path).has(blob_ref(b"four"))
    assert zstandard.decompress(BlobStore(tmp_path).path(BlobStore(tmp_path).put(b"123")).read_bytes()) == b"123"
