"""`eikon export bundle` packs what the trace names, and tells what it skipped."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.trace.bundle import open_bundle

TRACES = Path(__file__).resolve().parents[1] / "data" / "traces"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Copy a recorded bundle."""
    return Path(shutil.copytree(TRACES / "shop_failing", tmp_path / "bundle"))


def pack(source: Path, target: Path) -> int:
    """Run the command; return its exit status."""
    return run_command(eikon, ["export", "bundle", str(source), "-o", str(target)], "eikon")


def packed_names(target: Path) -> set[str]:
    """Return the files of the archive, relative to the bundle in it."""
    with zipfile.ZipFile(target) as archive:
        return {name.partition("/")[2] for name in archive.namelist()}


def test_stray_files_are_skipped_and_named(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Notes, keys, links and blobs that nothing refers to may be anything."""
    whole = {path.relative_to(bundle).as_posix() for path in bundle.rglob("*") if path.is_file()}
    (bundle / ".env").write_text("TOKEN=1")
    (bundle / "dom" / f"{'0' * 64}.zst").write_bytes(b"")
    (bundle / "network" / "notes.txt").write_text("")
    (bundle / "home").symlink_to(tmp_path)

    assert pack(bundle, tmp_path / "out.zip") == 0

    assert packed_names(tmp_path / "out.zip") == whole
    errors = capsys.readouterr().err
    for name in (".env", f"dom/{'0' * 64}.zst", "home", "network/notes.txt"):
        assert f"skipped: {name}, which is no part of the bundle" in errors
    assert errors.count("skipped") == 4


def test_a_long_list_of_skipped_files_is_cut(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The number of the others is shown."""
    for number in range(30):
        (bundle / f"note_{number}").touch()

    assert pack(bundle, tmp_path / "out.zip") == 0

    assert "skipped: 10 more files" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["network/index.jsonl", "certificate.json", "accepted.json", "responses"])
def test_a_linked_part_is_neither_packed_nor_shown(
    bundle: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a part of the bundle links to is not a part of it."""
    outside = tmp_path / "passwd"
    outside.write_text("root:x:0:0\n")
    (bundle / name).unlink(missing_ok=True)
    (bundle / name).symlink_to(outside)

    assert pack(bundle, tmp_path / "out.zip") == 65

    assert "root:x" not in "".join(capsys.readouterr())
    assert not (tmp_path / "out.zip").exists()


def test_an_older_bundle_is_packed_with_its_stored_pages(tmp_path: Path) -> None:
    """Its artifacts folders have pages that replays read."""
    source = TRACES / "v3_1_shop"
    actions = [action for each in open_bundle(source).trace.subgoal_traces for action in each.actions_taken]
    pages = {each.stored_page.path for each in actions if each.stored_page is not None}

    assert pack(source, tmp_path / "out.zip") == 0

    assert pages
    assert pages <= packed_names(tmp_path / "out.zip")
