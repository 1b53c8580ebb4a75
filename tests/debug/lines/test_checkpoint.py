"""Checkpoints as files: whole, verified, without secrets."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from eikon_engine.debug.checkpoint import (
    CheckpointFile,
    CheckpointInfo,
    checkpoint_path,
    delete_checkpoint,
    read_checkpoint,
    save_checkpoint,
    screenshot_path,
    storage_path,
)
from eikon_engine.debug.state_digest import STATE_LAYERS
from eikon_engine.errors import CheckpointError
from eikon_engine.files.blobs import BlobStore
from eikon_engine.trace.bundle import load_snapshot
from tests.debug.lines.desk import WHO

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from eikon_engine.debug.replay_context import ReplayContext
    from tests.debug.lines.desk import Desk

NOW = datetime(2026, 3, 4, 5, 6, 7, 89, tzinfo=UTC)


def make(desk: Desk, line: ReplayContext, folder: Path, label: str = "") -> CheckpointFile:
    """Make a checkpoint where a line stands."""
    name = CheckpointInfo(label=label, branch="main", reason="manual", now=NOW)
    return desk.portal.call(save_checkpoint, line, folder, name)


@pytest.fixture(scope="module")
def saved(shared: Desk, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, CheckpointFile, object]:
    """Make a checkpoint near the end, after the secret was typed, and something run by hand; give what was counted."""
    folder = tmp_path_factory.mktemp("checkpoints")
    line = shared.open()
    shared.step(line, 3)
    shared.evaluate(line, f"document.title = {WHO!r}")
    shared.step(line, 8)
    checkpoint = make(shared, line, folder, "typed")
    counted = shared.asked(line)
    shared.portal.call(line.close)
    return folder, checkpoint, counted


def test_a_checkpoint_reads_back_with_everything_beside_it(
    desk: Desk, saved: tuple[Path, CheckpointFile, object]
) -> None:
    """Position, digests of all layers, what the browser kept, documents, a picture."""
    folder, made, _ = saved

    checkpoint = read_checkpoint(checkpoint_path(folder, made.id), desk.bundle.trace)

    assert checkpoint == made
    assert (checkpoint.id, checkpoint.iteration, checkpoint.label) == ("cp_8_20260304T050607000089", 8, "typed")
    storage = json.loads(storage_path(folder, made.id).read_bytes())
    assert {item["name"] for item in storage["origins"][0]["localStorage"]} == {"who", "count"}
    assert screenshot_path(folder, made.id).read_bytes().startswith(b"\x89PNG")
    snapshot = load_snapshot(BlobStore(folder / "dom"), checkpoint.state.pages[0].snapshot)
    assert snapshot.main.url == checkpoint.state.url


def test_no_secret_is_in_any_file(saved: tuple[Path, CheckpointFile, object]) -> None:
    """Neither the one that was typed, kept and run, nor as blob."""
    folder, made, _ = saved
    stored = [path for path in folder.rglob("*") if path.is_file()]

    assert len(stored) == 4
    for path in stored:
        data = BlobStore(path.parent).get(made.state.pages[0].snapshot) if path.suffix == ".zst" else path.read_bytes()
        assert WHO.encode() not in data
        assert json.dumps(WHO)[1:-1].encode() not in data


def test_another_session_goes_there_by_its_file(desk: Desk, saved: tuple[Path, CheckpointFile, object]) -> None:
    """All that is needed to prove that it has arrived is in the file; what was run by hand is run again."""
    folder, made, counted = saved
    checkpoint = read_checkpoint(checkpoint_path(folder, made.id), desk.bundle.trace)

    arrived = desk.at(checkpoint.history(desk.bundle), checkpoint.iteration)

    assert arrived.verified == (checkpoint.iteration + 2) * len(STATE_LAYERS)
    assert desk.asked(arrived.context) == counted


def _edited(path: Path) -> None:
    path.write_text(path.read_text().replace('"label": "typed"', '"label": "Typed"'))


def _torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:500])


def _renamed(path: Path) -> None:
    path.rename(path.with_name("cp_9_20260304T050607000089.json"))


def _repainted(path: Path) -> None:
    path.with_suffix(".png").write_bytes(b"\x89PNG")


def _without_storage(path: Path) -> None:
    path.with_suffix(".storage.json").unlink()


def _without_documents(path: Path) -> None:
    for blob in path.parent.glob("dom/*"):
        blob.unlink()


@pytest.mark.parametrize(
    "change",
    [_edited, _torn, _renamed, _repainted, _without_storage, _without_documents],
    ids=lambda each: each.__name__,
)
def test_a_checkpoint_that_was_changed_is_refused(desk: Desk, tmp_path: Path, change: Callable[[Path], None]) -> None:
    """In one line that names the file."""
    made = make(desk, desk.open(), tmp_path, "typed")
    change(checkpoint_path(tmp_path, made.id))
    path = next(path for path in tmp_path.glob("cp_*.json") if not path.name.endswith(".storage.json"))

    with pytest.raises(CheckpointError) as refused:
        read_checkpoint(path)

    assert str(tmp_path) in refused.value.message
    assert "\n" not in refused.value.message


def test_a_checkpoint_of_another_mission_is_refused(desk: Desk, saved: tuple[Path, CheckpointFile, object]) -> None:
    """Of another trace, and of other steps of this one."""
    folder, made, _ = saved
    trace, path = desk.bundle.trace, checkpoint_path(folder, made.id)
    first = trace.subgoal_traces[0]
    shorter = first.model_copy(update={"actions_taken": first.actions_taken[1:]})

    with pytest.raises(CheckpointError, match="different steps of it"):
        read_checkpoint(path, trace.model_copy(update={"subgoal_traces": (shorter, *trace.subgoal_traces[1:])}))
    with pytest.raises(CheckpointError, match="another trace"):
        read_checkpoint(path, trace.model_copy(update={"id": "other", "mission_id": "other"}))


def test_deleting_keeps_what_others_have(desk: Desk, tmp_path: Path) -> None:
    """Documents are kept once for all checkpoints."""
    line = desk.open()
    first = make(desk, line, tmp_path)
    second = desk.portal.call(
        save_checkpoint,
        line,
        tmp_path,
        CheckpointInfo(branch="main", reason="automatic", now=NOW.replace(minute=7)),
    )

    delete_checkpoint(tmp_path, first.id)
    assert read_checkpoint(checkpoint_path(tmp_path, second.id)) == second
    delete_checkpoint(tmp_path, second.id)

    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_making_a_checkpoint_changes_nothing(desk: Desk, tmp_path: Path) -> None:
    """A mission with one after each step goes as one without."""
    watched, left_alone = desk.open(), desk.open()
    while watched.next_step is not None:
        make(desk, watched, tmp_path / str(watched.iteration))
        desk.step(watched)
        desk.step(left_alone)

    assert watched.digests == left_alone.digests
