"""Checkpoints as files: complete, verified, without secrets."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from eikon_engine.debug.checkpoint_files import (
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
from tests.debug.contexts.pool_driver import WHO

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from eikon_engine.debug.replay_context import ReplayContext
    from tests.debug.contexts.pool_driver import PoolDriver

pytestmark = pytest.mark.browser

NOW = datetime(2026, 3, 4, 5, 6, 7, 89, tzinfo=UTC)


def make(driver: PoolDriver, context: ReplayContext, folder: Path, label: str = "") -> CheckpointFile:
    """Create a checkpoint at the position of a context."""
    name = CheckpointInfo(label=label, branch="main", reason="manual", now=NOW)
    return driver.portal.call(save_checkpoint, context, folder, name)


@pytest.fixture(scope="module")
def saved(shared: PoolDriver, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, CheckpointFile, object]:
    """Create a checkpoint after the secret was typed and JavaScript was run; return the page state, too."""
    folder = tmp_path_factory.mktemp("checkpoints")
    context = shared.open()
    shared.step(context, 3)
    shared.evaluate(context, f"document.title = {WHO!r}")
    shared.step(context, 8)
    checkpoint = make(shared, context, folder, "typed")
    counted = shared.page_state(context)
    shared.portal.call(context.close)
    return folder, checkpoint, counted


def test_a_checkpoint_is_read_back_completely(driver: PoolDriver, saved: tuple[Path, CheckpointFile, object]) -> None:
    """It has the position, digests of all layers, storage, documents and a screenshot."""
    folder, made, _ = saved

    checkpoint = read_checkpoint(checkpoint_path(folder, made.id), driver.bundle.trace)

    assert checkpoint == made
    assert (checkpoint.id, checkpoint.iteration, checkpoint.label) == ("cp_8_20260304T050607000089", 8, "typed")
    storage = json.loads(storage_path(folder, made.id).read_bytes())
    assert {item["name"] for item in storage["origins"][0]["localStorage"]} == {"who", "count"}
    assert screenshot_path(folder, made.id).read_bytes().startswith(b"\x89PNG")
    snapshot = load_snapshot(BlobStore(folder / "dom"), checkpoint.state.pages[0].snapshot)
    assert snapshot.main.url == checkpoint.state.url


def test_checkpoint_files_contain_no_secret(saved: tuple[Path, CheckpointFile, object]) -> None:
    """Neither as a typed value, in storage, in JavaScript, nor as a blob."""
    folder, made, _ = saved
    stored = [path for path in folder.rglob("*") if path.is_file()]

    assert len(stored) == 4
    for path in stored:
        data = BlobStore(path.parent).get(made.state.pages[0].snapshot) if path.suffix == ".zst" else path.read_bytes()
        assert WHO.encode() not in data
        assert json.dumps(WHO)[1:-1].encode() not in data


def test_another_session_restores_a_checkpoint_from_its_file(
    driver: PoolDriver, saved: tuple[Path, CheckpointFile, object]
) -> None:
    """The file proves the arrival; manual JavaScript is repeated."""
    folder, made, counted = saved
    checkpoint = read_checkpoint(checkpoint_path(folder, made.id), driver.bundle.trace)

    restored = driver.restore(checkpoint.history(driver.bundle), checkpoint.iteration)

    assert restored.verified == (checkpoint.iteration + 2) * len(STATE_LAYERS)
    assert driver.page_state(restored.context) == counted


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
def test_a_modified_checkpoint_is_rejected(driver: PoolDriver, tmp_path: Path, change: Callable[[Path], None]) -> None:
    """The error is one line and names the file."""
    made = make(driver, driver.open(), tmp_path, "typed")
    change(checkpoint_path(tmp_path, made.id))
    path = next(path for path in tmp_path.glob("cp_*.json") if not path.name.endswith(".storage.json"))

    with pytest.raises(CheckpointError) as refused:
        read_checkpoint(path)

    assert str(tmp_path) in refused.value.message
    assert "\n" not in refused.value.message


def test_a_checkpoint_of_another_mission_is_rejected(
    driver: PoolDriver, saved: tuple[Path, CheckpointFile, object]
) -> None:
    """Includes another trace, and other steps of the same one."""
    folder, made, _ = saved
    trace, path = driver.bundle.trace, checkpoint_path(folder, made.id)
    first = trace.subgoal_traces[0]
    shorter = first.model_copy(update={"actions_taken": first.actions_taken[1:]})

    with pytest.raises(CheckpointError, match="different steps of it"):
        read_checkpoint(path, trace.model_copy(update={"subgoal_traces": (shorter, *trace.subgoal_traces[1:])}))
    with pytest.raises(CheckpointError, match="another trace"):
        read_checkpoint(path, trace.model_copy(update={"id": "other", "mission_id": "other"}))


def test_deleting_a_checkpoint_keeps_shared_documents(driver: PoolDriver, tmp_path: Path) -> None:
    """Documents are stored once for all checkpoints."""
    context = driver.open()
    first = make(driver, context, tmp_path)
    second = driver.portal.call(
        save_checkpoint,
        context,
        tmp_path,
        CheckpointInfo(branch="main", reason="automatic", now=NOW.replace(minute=7)),
    )

    delete_checkpoint(tmp_path, first.id)
    assert read_checkpoint(checkpoint_path(tmp_path, second.id)) == second
    delete_checkpoint(tmp_path, second.id)

    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_creating_checkpoints_does_not_affect_the_mission(driver: PoolDriver, tmp_path: Path) -> None:
    """A run with a checkpoint after each step equals a run without."""
    watched, left_alone = driver.open(), driver.open()
    while watched.next_step is not None:
        make(driver, watched, tmp_path / str(watched.iteration))
        driver.step(watched)
        driver.step(left_alone)

    assert watched.observed.digests == left_alone.observed.digests
