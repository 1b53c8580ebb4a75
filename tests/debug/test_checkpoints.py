"""Checkpoints and going back in a real session: the seed's test cases, and what goes beyond them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.debug.conftest import Session


def test_a_checkpoint_is_created_with_the_full_state(at_start: Session) -> None:
    """It has digests of every layer, what was seen, storage, documents and a picture."""
    at_start.good("run-to", "2")

    made = at_start.json("checkpoint", "create")["checkpoint"]

    shown = at_start.json("checkpoint", "show", made["id"])
    state, folder = shown["state"], at_start.folder / "checkpoints"
    assert (shown["iteration"], shown["branch"], shown["reason"]) == (2, "main", "manual")
    assert set(state["digests"]) >= {"dom", "url", "title", "storage", "network", "console", "clock"}
    assert state["url"].endswith("/prices")
    assert state["pages"][0]["snapshot"]["sha256"]
    assert {path.name.removeprefix(made["id"]) for path in folder.glob(f"{made['id']}.*")} == {
        ".json",
        ".storage.json",
        ".png",
    }


def test_a_checkpoint_is_created_with_a_label(at_start: Session) -> None:
    """The label names it as well as its id, and can be given once."""
    at_start.good("step")
    made = at_start.json("checkpoint", "create", "before the download")["checkpoint"]

    assert at_start.json("checkpoint", "show", "before the download")["id"] == made["id"]
    again = at_start("checkpoint", "create", "before the download")
    assert again.status == 2
    assert made["id"] in again.err


def test_checkpoints_are_made_at_an_interval(at_start: Session) -> None:
    """After every five steps there is one, with an event."""
    at_start.good("run-to", "6")

    listed = at_start.json("checkpoint", "list")

    assert [(each["iteration"], each["reason"]) for each in listed] == [(5, "automatic")]
    event = at_start.events("checkpoint")[-1]
    assert (event.id, event.iteration, event.branch) == (listed[0]["id"], 5, "main")


def test_checkpoints_are_listed(at_start: Session) -> None:
    """The list has them in the order of the mission, as text too."""
    at_start.good("run-to", "5")
    at_start.good("rewind", "--iteration", "5")
    at_start.good("checkpoint", "create", "searching")

    text = at_start.good("checkpoint", "list")

    assert [line.split("  ")[1] for line in text.splitlines()] == ["main at 5, automatic", "main at 5, manual"]
    assert "searching" in text


def test_a_checkpoint_is_loaded_from_its_file_and_verified(at_start: Session) -> None:
    """One that was changed by hand is refused, by whoever looks at it and by going back; the session stays."""
    at_start.good("step")
    made = at_start.json("checkpoint", "create")["checkpoint"]["id"]
    at_start.good("step")
    path = at_start.folder / "checkpoints" / f"{made}.json"
    whole = path.read_text()
    path.write_text(json.dumps({**json.loads(whole), "label": "forged"}))

    refused = [at_start("checkpoint", "show", made), at_start("rewind", made, "--force")]
    path.write_text(whole)

    assert [said.status for said in refused] == [65, 65]
    assert all(
        "was modified after it was written" in said.err and said.err.endswith("(code checkpoint)\n") for said in refused
    )
    assert at_start.timeline()["branches"][0]["iteration"] == 2
    assert at_start.json("rewind", made, "--force")["iteration"] == 1


def test_a_checkpoint_is_deleted(at_start: Session) -> None:
    """Its files go with it."""
    made = at_start.json("checkpoint", "create", "short-lived")["checkpoint"]["id"]

    at_start.good("checkpoint", "delete", "short-lived")

    assert at_start("checkpoint", "show", made).status == 78
    assert not list((at_start.folder / "checkpoints").glob(f"{made}*"))


def test_going_back_restores_the_pages(at_start: Session) -> None:
    """What the seed calls messages: the pages, their address and what was typed are those of the checkpoint."""
    at_start.good("run-to", "6")
    before = at_start.json("inspect", "page")["pages"]
    made = at_start.json("checkpoint", "create")["checkpoint"]["id"]
    at_start.good("step", "2")

    at_start.good("rewind", made, "--force")

    assert at_start.json("inspect", "page")["pages"] == before


def test_going_back_restores_what_scripts_keep(at_start: Session) -> None:
    """What the seed calls the summary: state in JavaScript alone comes back, and what was run by hand too."""
    at_start.good("step")
    at_start.good("eval", "window.counter = (() => { let n = 40; return () => ++n; })(), counter()")
    made = at_start.json("checkpoint", "create")["checkpoint"]["id"]
    counted = at_start.json("eval", "counter()")["result"]

    at_start.good("rewind", made, "--force")
    again = at_start.json("eval", "counter()")["result"]
    at_start.good("rewind", "--iteration", "0", "--force")

    assert (counted, again) == (42, 42)
    assert at_start.json("eval", "typeof counter")["result"] == "undefined"
    at_start.good("rewind", "--iteration", "0")


def test_going_back_restores_storage(at_start: Session) -> None:
    """What the seed calls the working set: cookies and items are those of the checkpoint."""
    at_start.good("step")
    made = at_start.json("checkpoint", "create")["checkpoint"]["id"]
    before = at_start.json("inspect", "storage")["storage"]
    at_start.good("eval", "localStorage.setItem('later', 'yes')")

    at_start.good("rewind", made, "--force")

    assert at_start.json("inspect", "storage")["storage"] == before


def test_going_back_resets_the_iteration(at_start: Session) -> None:
    """Steps that were discarded are out of the timeline, and can be done again."""
    at_start.good("run-to", "3")

    stand = at_start.json("rewind", "--iteration", "1", "--force")

    assert (stand["iteration"], stand["reason"]) == (1, "rewind")
    assert [step["iteration"] for step in at_start.timeline()["branches"][0]["steps"]] == [1]
    at_start.good("step")
    assert at_start.timeline()["branches"][0]["steps"][-1]["verdict"] == "faithful"


def test_going_back_is_told_by_an_event(at_start: Session) -> None:
    """It says how it was done, how much was compared, and what was lost."""
    at_start.good("run-to", "3")
    made = at_start.json("checkpoint", "create", "here")["checkpoint"]["id"]
    at_start.good("step")

    at_start.good("rewind", "here", "--force")

    event = at_start.events("rewind")[-1]
    assert (event.checkpoint_id, event.iteration, event.branch, event.discarded) == (made, 3, "main", 1)
    assert event.way in {"parked", "reexecuted"}
    assert event.verified >= 4 * 10


def test_what_is_discarded_is_kept_until_the_session_ends(at_start: Session) -> None:
    """Steps and checkpoints lie in a folder of the session."""
    at_start.good("run-to", "2")
    made = at_start.json("checkpoint", "create")["checkpoint"]["id"]

    at_start.good("rewind", "--iteration", "1", "--force")

    last = max((at_start.folder / "discarded").iterdir())
    kept = json.loads((last / "discarded.json").read_text())
    assert [step["iteration"] for step in kept["steps"]] == [2]
    assert [each["id"] for each in kept["checkpoints"]] == [made]
    assert (last / f"{made}.json").is_file()


@pytest.mark.parametrize(
    ("words", "status", "wanted"),
    [
        (("rewind", "--iteration", "7", "--force"), 2, "expected an iteration from 0 to 1"),
        (("rewind", "--iteration", "-1"), 2, ""),
        (("rewind",), 2, "expected either a checkpoint or --iteration, got neither"),
        (("rewind", "nowhere", "--force"), 78, "no checkpoint 'nowhere' in this session; available"),
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
def test_what_cannot_be_done_is_refused(shop: Session, words: tuple[str, ...], status: int, wanted: str) -> None:
    """One line with the code of the error; the session stays where it was."""
    if shop.timeline()["branches"][0]["iteration"] != 1:
        shop.again()
        shop.good("step")

    before = shop.timeline()
    assert before["branches"][0]["iteration"] == 1

    said = shop(*words)

    assert said.status == status
    assert wanted in said.err
    assert shop.timeline() == before


def test_the_session_asks_itself_before_it_discards(at_start: Session) -> None:
    """A client that writes to the command file has to agree to what is lost, too."""
    from eikon_engine.debug.client import SessionClient
    from eikon_engine.debug.commands import Rewind
    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.outcome.debug_events import CommandFailed

    at_start.good("step")

    answer = SessionClient(folder=SessionFolder(at_start.folder)).send(Rewind(iteration=0))

    assert isinstance(answer.event, CommandFailed)
    assert (answer.event.code, answer.event.exit_status) == ("usage", 2)
    assert "confirm with --force" in answer.event.message


def test_checkpoints_of_a_deleted_folder_are_told(at_start: Session, tmp_path: Path) -> None:
    """A checkpoint whose file is lost cannot be gone back to."""
    made = at_start.json("checkpoint", "create")["checkpoint"]["id"]
    path = at_start.folder / "checkpoints" / f"{made}.json"
    path.rename(tmp_path / "aside.json")

    said = at_start("rewind", made)
    (tmp_path / "aside.json").rename(path)

    assert said.status == 65
    assert "the checkpoint cannot be read" in said.err
