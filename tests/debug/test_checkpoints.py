"""Checkpoints and rewinds in a real session."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.debug.conftest import Session


def test_a_checkpoint_is_created_with_the_full_state(at_start: Session) -> None:
    """It has digests of every layer, the observation, storage, documents and a screenshot."""
    at_start.run("run-to", "2")

    created = at_start.json("checkpoint", "create")["checkpoint"]

    shown = at_start.json("checkpoint", "show", created["id"])
    state, folder = shown["state"], at_start.folder / "checkpoints"
    assert (shown["iteration"], shown["branch"], shown["reason"]) == (2, "main", "manual")
    assert set(state["digests"]) >= {"dom", "url", "title", "storage", "network", "console", "clock"}
    assert state["url"].endswith("/prices")
    assert state["pages"][0]["snapshot"]["sha256"]
    assert {path.name.removeprefix(created["id"]) for path in folder.glob(f"{created['id']}.*")} == {
        ".json",
        ".storage.json",
        ".png",
    }


def test_a_checkpoint_is_created_with_a_label(at_start: Session) -> None:
    """The label refers to it like its id, and is unique."""
    at_start.run("step")
    created = at_start.json("checkpoint", "create", "before the download")["checkpoint"]

    assert at_start.json("checkpoint", "show", "before the download")["id"] == created["id"]
    again = at_start("checkpoint", "create", "before the download")
    assert again.status == 2
    assert created["id"] in again.err


def test_checkpoints_are_created_at_an_interval(at_start: Session) -> None:
    """There is one after every five steps, with an event."""
    at_start.run("run-to", "6")

    listed = at_start.json("checkpoint", "list")

    assert [(each["iteration"], each["reason"]) for each in listed] == [(5, "automatic")]
    event = at_start.events("checkpoint")[-1]
    assert (event.id, event.iteration, event.branch) == (listed[0]["id"], 5, "main")


def test_checkpoints_are_listed(at_start: Session) -> None:
    """The list is in mission order, as JSON and as text."""
    at_start.run("run-to", "5")
    at_start.run("rewind", "--iteration", "5")
    at_start.run("checkpoint", "create", "searching")

    text = at_start.run("checkpoint", "list")

    assert [line.split("  ")[1] for line in text.splitlines()] == ["main at 5, automatic", "main at 5, manual"]
    assert "searching" in text


def test_a_checkpoint_is_loaded_from_its_file_and_verified(at_start: Session) -> None:
    """A modified one is rejected by show and rewind; the session stays where it is."""
    at_start.run("step")
    created = at_start.json("checkpoint", "create")["checkpoint"]["id"]
    at_start.run("step")
    path = at_start.folder / "checkpoints" / f"{created}.json"
    original = path.read_text()
    path.write_text(json.dumps({**json.loads(original), "label": "forged"}))

    refused = [at_start("checkpoint", "show", created), at_start("rewind", created, "--force")]
    path.write_text(original)

    assert [output.status for output in refused] == [65, 65]
    assert all(
        "was modified after it was written" in output.err and output.err.endswith("(code checkpoint)\n")
        for output in refused
    )
    assert at_start.timeline()["branches"][0]["iteration"] == 2
    assert at_start.json("rewind", created, "--force")["iteration"] == 1


def test_an_iteration_is_reached_without_its_damaged_checkpoint(at_start: Session) -> None:
    """The steps are known; only a rewind to the checkpoint itself needs it."""
    at_start.run("step")
    created = at_start.json("checkpoint", "create")["checkpoint"]["id"]
    at_start.run("step")
    (at_start.folder / "checkpoints" / f"{created}.json").write_text("{")

    refused = at_start("rewind", created, "--force")
    restored = at_start.json("rewind", "--iteration", "1", "--force")

    assert (refused.status, restored["iteration"]) == (65, 1)
    at_start.run("step")


def test_a_checkpoint_is_deleted(at_start: Session) -> None:
    """Its files are deleted as well."""
    created = at_start.json("checkpoint", "create", "short-lived")["checkpoint"]["id"]

    at_start.run("checkpoint", "delete", "short-lived")

    assert at_start("checkpoint", "show", created).status == 78
    assert not list((at_start.folder / "checkpoints").glob(f"{created}*"))


def test_a_rewind_restores_the_pages(at_start: Session) -> None:
    """Pages, their addresses and typed text are those of the checkpoint."""
    at_start.run("run-to", "6")
    before = at_start.json("inspect", "page")["pages"]
    created = at_start.json("checkpoint", "create")["checkpoint"]["id"]
    at_start.run("step", "2")

    at_start.run("rewind", created, "--force")

    assert at_start.json("inspect", "page")["pages"] == before


def test_a_rewind_restores_script_state(at_start: Session) -> None:
    """State that exists in JavaScript only is restored, and manual JavaScript is repeated."""
    at_start.run("step")
    at_start.run("eval", "window.counter = (() => { let n = 40; return () => ++n; })(), counter()")
    created = at_start.json("checkpoint", "create")["checkpoint"]["id"]
    counted = at_start.json("eval", "counter()")["result"]

    at_start.run("rewind", created, "--force")
    again = at_start.json("eval", "counter()")["result"]
    at_start.run("rewind", "--iteration", "0", "--force")

    assert (counted, again) == (42, 42)
    assert at_start.json("eval", "typeof counter")["result"] == "undefined"
    at_start.run("rewind", "--iteration", "0")


def test_a_rewind_restores_storage(at_start: Session) -> None:
    """Cookies and storage items are those of the checkpoint."""
    at_start.run("step")
    created = at_start.json("checkpoint", "create")["checkpoint"]["id"]
    before = at_start.json("inspect", "storage")["storage"]
    at_start.run("eval", "localStorage.setItem('later', 'yes')")

    at_start.run("rewind", created, "--force")

    assert at_start.json("inspect", "storage")["storage"] == before


def test_a_rewind_resets_the_iteration(at_start: Session) -> None:
    """Discarded steps leave the timeline, and can be run again."""
    at_start.run("run-to", "3")

    position = at_start.json("rewind", "--iteration", "1", "--force")

    assert (position["iteration"], position["reason"]) == (1, "rewind")
    assert [step["iteration"] for step in at_start.timeline()["branches"][0]["steps"]] == [1]
    at_start.run("step")
    assert at_start.timeline()["branches"][0]["steps"][-1]["verdict"] == "faithful"


def test_a_rewind_is_recorded_as_an_event(at_start: Session) -> None:
    """It names the method, the number of comparisons and the loss."""
    at_start.run("run-to", "3")
    created = at_start.json("checkpoint", "create", "here")["checkpoint"]["id"]
    at_start.run("step")

    at_start.run("rewind", "here", "--force")

    event = at_start.events("rewind")[-1]
    assert (event.checkpoint_id, event.iteration, event.branch, event.discarded) == (created, 3, "main", 1)
    assert event.way in {"parked", "reexecuted"}
    assert event.verified >= 4 * 10


def test_discarded_steps_are_kept_until_the_session_ends(at_start: Session) -> None:
    """Steps and checkpoints are moved to a folder of the session."""
    at_start.run("run-to", "2")
    created = at_start.json("checkpoint", "create")["checkpoint"]["id"]

    at_start.run("rewind", "--iteration", "1", "--force")

    last = max((at_start.folder / "discarded").iterdir())
    kept = json.loads((last / "discarded.json").read_text())
    assert [step["iteration"] for step in kept["steps"]] == [2]
    assert [each["id"] for each in kept["checkpoints"]] == [created]
    assert (last / f"{created}.json").is_file()


@pytest.mark.parametrize(
    ("words", "status", "wanted"),
    [
        (("rewind", "--iteration", "7", "--force"), 2, "expected an iteration from 0 to 1"),
        (("rewind", "--iteration", "-1"), 2, ""),
        (("rewind",), 2, "expected either a checkpoint or --iteration, got neither"),
        (("rewind", "nowhere", "--force"), 78, "no checkpoint 'nowhere' in this session; there are no checkpoints"),
        (("rewind", "--iteration", "0"), 2, "add --force"),
        (("run-to", "99"), 2, "from 2 to 29, got 99"),
        (("switch", "elsewhere"), 2, "available: main"),
        (("branch", "delete", "main"), 2, "the recording itself"),
        (("branch", "create", ""), 2, "expected a branch name"),
        (("branch", "create", "x" * 300), 2, "got 300 characters"),
        (("eval", "1", "--page", "7"), 1, "page"),
        (("checkpoint", "create", "two\nlines"), 2, "expected a label of at most"),
        (("checkpoint", "create", "x" * 101), 2, "got 101 characters"),
        (("locate", "###"), 2, "looking for ###"),
        (("locate", " "), 2, "the selector is empty"),
    ],
)
def test_invalid_commands_are_rejected(shop: Session, words: tuple[str, ...], status: int, wanted: str) -> None:
    """The error is one line with its code, and the session stays where it is."""
    if shop.timeline()["branches"][0]["iteration"] != 1:
        shop.reset()
        shop.run("step")

    before = shop.timeline()
    assert before["branches"][0]["iteration"] == 1

    output = shop(*words)

    assert output.status == status
    assert wanted in output.err
    assert shop.timeline() == before


def test_the_session_requires_force_before_it_discards(at_start: Session) -> None:
    """It also holds for other programs that use its socket."""
    from eikon_engine.debug.client import SessionClient
    from eikon_engine.debug.commands import Rewind
    from eikon_engine.debug.protocol import CommandError
    from eikon_engine.debug.session_folder import SessionFolder

    at_start.run("step")

    answer = SessionClient(folder=SessionFolder(at_start.folder)).send(Rewind(iteration=0))

    assert isinstance(answer, CommandError)
    assert (answer.code, answer.exit_status) == ("usage", 2)
    assert "confirm with --force" in answer.message


def test_a_checkpoint_without_files_is_reported(at_start: Session, tmp_path: Path) -> None:
    """It cannot be restored."""
    created = at_start.json("checkpoint", "create")["checkpoint"]["id"]
    path = at_start.folder / "checkpoints" / f"{created}.json"
    path.rename(tmp_path / "aside.json")

    output = at_start("rewind", created)
    (tmp_path / "aside.json").rename(path)

    assert output.status == 65
    assert "the checkpoint cannot be read" in output.err
