from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from eikon_engine.errors import (
    BundlePathError,
    EikonError,
    OutputError,
    TraceError,
    TraceFieldError,
    TraceSyntaxError,
    UsageError,
)
from eikon_engine.trace.bundle import copy_bundle, open_bundle
from eikon_engine.trace.edits import DeleteStep, SetFields
from eikon_engine.trace.execution import ExecutionTrace, NetworkPart
from eikon_engine.trace.patch import TracePatch, apply_patch, read_patch, write_patch
from eikon_engine.trace.trace_file import read_trace
from tests.error_codes import has_code

SHOP = Path(__file__).parents[1] / "data" / "traces" / "shop_failing"


def contents(folder: Path) -> dict[str, bytes]:
    """Return the content of all files in a folder."""
    return {each.relative_to(folder).as_posix(): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def renamed(bundle: Path) -> ExecutionTrace:
    """Return the trace of a bundle with a changed text."""
    edit = SetFields(fields={"mission_text": "Other"}, reason="why")
    return apply_patch(read_trace(bundle), TracePatch(operations=(edit,)))


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Copy a bundle of the shop, and add a certificate."""
    folder = tmp_path / "bundle"
    shutil.copytree(SHOP, folder)
    (folder / "certificate.json").write_text("{}")
    return folder


def test_a_copy_has_everything_but_the_certificate(bundle: Path, tmp_path: Path) -> None:
    """All files are copied with the new trace, and the original is unchanged byte for byte."""
    before = contents(bundle)

    copy_bundle(bundle, renamed(bundle), tmp_path / "deep" / "copy")

    after = contents(tmp_path / "deep" / "copy")
    assert contents(bundle) == before
    assert after.keys() == before.keys() - {"certificate.json"}
    assert {name for name in after if after[name] != before[name]} == {"trace.json"}
    copied = open_bundle(tmp_path / "deep" / "copy")
    copied.verify()
    assert copied.trace.mission_text == "Other"


def test_a_trace_file_selects_its_bundle(bundle: Path, tmp_path: Path) -> None:
    """A trace file with another name is copied as `trace.json`."""
    (bundle / "trace.json").rename(bundle / "mission.json")

    copy_bundle(bundle / "mission.json", renamed(bundle / "mission.json"), tmp_path / "copy")

    assert "mission.json" not in contents(tmp_path / "copy")
    assert open_bundle(tmp_path / "copy").trace.mission_text == "Other"


@pytest.mark.parametrize(
    ("output", "error"),
    [("taken", OutputError), ("file", OutputError), ("bundle/copy", UsageError), ("bundle", UsageError)],
)
def test_existing_files_are_not_overwritten(bundle: Path, tmp_path: Path, output: str, error: type[EikonError]) -> None:
    """A non-empty folder, a file, and the bundle itself are refused and unchanged."""
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "letter.txt").write_text("x")
    (tmp_path / "file").write_text("x")
    before = contents(tmp_path)

    with pytest.raises(error) as caught:
        copy_bundle(bundle, renamed(bundle), tmp_path / output)

    assert "\n" not in caught.value.message
    assert contents(tmp_path) == before


def test_symlinks_out_of_the_bundle_are_refused(bundle: Path, tmp_path: Path) -> None:
    """A link to a file of the bundle is copied as that file; other links and special files are refused."""
    (bundle / "again").symlink_to(bundle / "trace.json")
    copy_bundle(bundle, renamed(bundle), tmp_path / "one")
    assert not (tmp_path / "one" / "again").is_symlink()
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("x")

    for number, target in enumerate((tmp_path / "secret", tmp_path / "secret" / "key")):
        (bundle / "out").symlink_to(target)
        with pytest.raises(BundlePathError):
            copy_bundle(bundle, renamed(bundle), tmp_path / f"two{number}")
        (bundle / "out").unlink()
    os.mkfifo(bundle / "pipe")
    with pytest.raises(TraceError, match="got something else"):
        copy_bundle(bundle, renamed(bundle), tmp_path / "three")
    assert not (tmp_path / "three" / "trace.json").exists()


def test_an_edit_that_names_a_missing_file_is_rejected(bundle: Path, tmp_path: Path) -> None:
    """Files that an edit names must be in the bundle; nothing is copied before this check."""
    trace = renamed(bundle).model_copy(update={"network": NetworkPart(folder="elsewhere")})

    with pytest.raises(TraceError, check=has_code("attachment-missing")):
        copy_bundle(bundle, trace, tmp_path / "copy")

    assert not (tmp_path / "copy").exists()


def test_an_unfinished_recording_is_not_edited(tmp_path: Path) -> None:
    """Its network may be truncated too, which a complete trace would conceal."""
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "journal.jsonl").write_text("")

    with pytest.raises(UsageError, match="record the mission again"):
        copy_bundle(tmp_path / "cut", read_trace(SHOP), tmp_path / "copy")


def test_a_patch_round_trips_through_a_file(tmp_path: Path) -> None:
    """A patch file is read back unchanged; an invalid one is rejected with the reason."""
    patch = TracePatch(operations=(DeleteStep(step="a1", reason="why"),))
    write_patch(tmp_path / "patch.json", patch)

    assert read_patch(tmp_path / "patch.json") == patch
    for text, error in (
        ("{", TraceSyntaxError),
        ("[]", TraceFieldError),
        ('{"patch_version": 2}', TraceFieldError),
        ('{"operations": [{"kind": "fly"}]}', TraceFieldError),
    ):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(error) as caught:
            read_patch(tmp_path / "bad.json")
        assert "\n" not in caught.value.message
    with pytest.raises(TraceError, check=has_code("trace-missing")):
        read_patch(tmp_path / "gone.json")
