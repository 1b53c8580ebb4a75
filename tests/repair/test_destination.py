"""A repaired bundle is stored completely at its destination; existing files are never lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.errors import OutputError, UsageError
from eikon_engine.repair.destination import Destination
from tests.repair.conftest import contents

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Make a folder that serves as a bundle."""
    folder = tmp_path / "bundle"
    folder.mkdir()
    (folder / "trace.json").write_text("old")
    return folder


def repaired_in(workshop: Path) -> Path:
    """Make the replacement of a bundle."""
    folder = workshop / "mended"
    folder.mkdir()
    (folder / "trace.json").write_text("new")
    return folder


def test_the_old_bundle_is_renamed_to_an_unused_name(bundle: Path) -> None:
    """After two repairs, both older bundles still exist."""
    for _ in range(2):
        destination = Destination(root=bundle, in_place=True)
        with destination.work_folder() as workshop:
            destination.move(repaired_in(workshop))

    assert contents(bundle) == {"trace.json": b"new"}
    assert contents(bundle.with_name("bundle.before-repair")) == {"trace.json": b"old"}
    assert contents(bundle.with_name("bundle.before-repair-2")) == {"trace.json": b"new"}
    assert len(list(bundle.parent.iterdir())) == 3


def test_a_symlink_to_a_bundle_points_to_the_repaired_one(bundle: Path, tmp_path: Path) -> None:
    """The old bundle is renamed in its own folder, and the link is not dangling."""
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link"
    link.symlink_to("../bundle")
    destination = Destination(root=link, in_place=True)

    with destination.work_folder() as workshop:
        _, aside = destination.move(repaired_in(workshop))

    assert aside == bundle.with_name("bundle.before-repair")
    assert contents(aside) == {"trace.json": b"old"}
    assert link.is_symlink()
    assert contents(link) == contents(bundle) == {"trace.json": b"new"}


def test_the_output_folder_must_be_empty(bundle: Path, tmp_path: Path) -> None:
    """Existing files in the output folder stay unchanged."""
    empty, full = tmp_path / "empty", tmp_path / "full"
    empty.mkdir()
    full.mkdir()
    (full / "note").write_text("mine")
    destination = Destination(root=bundle, output=empty)
    destination.require_available()
    with destination.work_folder() as workshop:
        destination.move(repaired_in(workshop))

    assert contents(empty) == {"trace.json": b"new"}
    with pytest.raises(OutputError, match="expected a new or empty folder"):
        Destination(root=bundle, output=full).require_available()
    assert contents(full) == {"note": b"mine"}


@pytest.mark.parametrize("within", ["", "sub", "sub/../deeper"])
def test_the_output_folder_must_not_be_inside_the_bundle(bundle: Path, within: str) -> None:
    """An output folder inside the bundle would become part of it."""
    with pytest.raises(UsageError, match="outside the bundle"):
        Destination(root=bundle, output=bundle / within).require_available()


def test_output_and_in_place_exclude_each_other(bundle: Path, tmp_path: Path) -> None:
    """Both options at once are refused."""
    with pytest.raises(UsageError, match="Drop one"):
        Destination(root=bundle, output=tmp_path / "new", in_place=True).require_available()


def test_a_failed_move_leaves_the_old_bundle_in_place(bundle: Path, tmp_path: Path) -> None:
    """If the new bundle is missing before the move, the old one stays in place."""
    destination = Destination(root=bundle, in_place=True)

    with pytest.raises(OutputError):
        destination.move(tmp_path / "nowhere")

    assert contents(bundle) == {"trace.json": b"old"}
    assert [path.name for path in tmp_path.iterdir()] == ["bundle"]
