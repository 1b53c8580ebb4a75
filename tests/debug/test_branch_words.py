"""Branches and the timeline in a real session: the seed's test cases, and its workflow."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

from eikon_engine.errors import ReplayDivergenceError
from eikon_engine.replay import ReplayEngine, ReplayOptions
from tests.debug.conftest import DIVERGING, Session, session

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Run a session to where its mission fails: the page of the banana is not as it was."""
    with session(
        tmp_path_factory.mktemp("sessions"), "--checkpoint-interval", "0", "--parked", "0", trace=DIVERGING
    ) as running:
        assert running.json("resume")["reason"] == "breakpoint"
        yield running


@pytest.fixture(scope="module")
def retried(failed: Session) -> Session:
    """Go another way from before the failure: without the step that fails, and to its end."""
    (before,) = failed.json("checkpoint", "list")
    failed.good("branch", "create", "retry", "--from", before["id"])
    failed.good("checkpoint", "create", "at the fork")
    return failed


def test_a_checkpoint_is_made_before_the_divergence(failed: Session) -> None:
    """The session stands after the step that diverged, with a way back to before it."""
    (before,) = failed.json("checkpoint", "list")

    assert (before["iteration"], before["reason"]) == (8, "divergence")
    assert failed.events("divergence")[0].divergence.code == "dom-changed"
    assert failed.events("breakpoint_hit")[0].context.error.startswith("dom-changed")


def test_a_branch_is_created_from_a_checkpoint(retried: Session) -> None:
    """It begins where its checkpoint is, is active, and has a bundle of its own."""
    branches = {each["name"]: each for each in retried.json("branch", "list")}

    retry = branches["retry"]
    assert (retry["parent_branch"], retry["fork_iteration"], retry["iteration"]) == ("main", 8, 8)
    assert retry["current"]
    assert not branches["main"]["current"]
    assert (retried.folder / retry["bundle"] / "trace.json").is_file()
    created = retried.events("branch_created")[0]
    assert (created.name, created.parent_branch, created.iteration) == ("retry", "main", 8)


def test_the_fork_is_tracked(retried: Session) -> None:
    """The branch knows its checkpoint, and the digest of the trace it left."""
    retry = retried.timeline()["branches"][1]
    (before,) = (each for each in retried.json("checkpoint", "list") if each["reason"] == "divergence")

    kept = json.loads((retried.folder / "branches" / "retry" / "branch.json").read_text())
    assert retry["fork_point"] == kept["fork_point"] == before["id"]
    assert retry["parent_sha256"] == kept["parent_sha256"]
    refused = retried("checkpoint", "delete", before["id"])
    assert (refused.status, "branch retry was forked from" in refused.err) == (2, True)


def test_branches_are_listed(retried: Session) -> None:
    """As text, a line each, with a star for the active one."""
    lines = retried.good("branch", "list").splitlines()

    assert lines[0].startswith("  main: 9 of 29")
    assert lines[1].startswith("* retry: 8 of 29, from main at cp_8_")


def test_branches_keep_their_state_apart(retried: Session) -> None:
    """What is left out or put in on one branch is as it was on the other; switching goes back to either."""
    retried.good("branch", "skip", "--reason", "its page has changed")
    retried.good("branch", "insert", "note", "another way")
    retried.good("step")
    on_retry = retried.json("inspect", "next")

    on_main = retried.json("switch", "main")
    back = retried.json("switch", "retry")

    assert (on_main["iteration"], on_main["step_count"]) == (9, 29)
    assert (back["iteration"], back["step_count"], back["branch"]) == (9, 29, "retry")
    assert retried.json("inspect", "next") == on_retry
    labels = [step["label"] for step in retried.timeline()["branches"][1]["steps"]]
    assert labels == ["note: another way"]
    switched = retried.events("branch_switched")
    assert [(each.branch, each.iteration) for each in switched[-2:]] == [("main", 9), ("retry", 9)]


def test_the_timeline_is_built_from_branches_and_checkpoints(retried: Session) -> None:
    """The file has what the command prints."""
    shown = retried.timeline()

    assert json.loads((retried.folder / "timeline.json").read_text()) == shown
    assert [branch["name"] for branch in shown["branches"]] == ["main", "retry"]
    assert shown["branches"][0]["checkpoints"][0]["reason"] == "divergence"
    assert "at the fork" in [each["label"] for each in shown["branches"][1]["checkpoints"]]


def test_the_timeline_is_displayed_with_its_branches(retried: Session) -> None:
    """The tree has the fork under its checkpoint; the picture is an SVG document."""
    text = retried.good("timeline")
    picture = ET.fromstring(retried.good("timeline", "--format", "svg"))  # noqa: S314 - it is ours

    lines = text.splitlines()
    fork = next(number for number, line in enumerate(lines) if "retry (from main" in line)
    assert "divergence [cp_8_" in lines[fork - 1]
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"


def test_the_active_branch_is_highlighted(retried: Session) -> None:
    """A full circle, and the word; the other one is empty."""
    text = retried.good("timeline")

    assert "● retry" in text
    assert "○ main" in text


def test_the_timeline_is_written_to_a_file(retried: Session, tmp_path: Path) -> None:
    """Only where is told."""
    said = retried.good("timeline", "--format", "svg", "-o", str(tmp_path / "timeline.svg"))

    assert said.startswith(str(tmp_path))
    assert (tmp_path / "timeline.svg").read_text().startswith("<svg")


def test_branches_are_compared(retried: Session) -> None:
    """The difference names the step that was left out, and the one that was put in."""
    text = retried.good("diff", "main", "retry")

    assert "-   9 click article.card h2 a" in text
    assert "main: compared as recorded; this session diverged from the recording at 9\n" in text
    assert "note: another way" in text
    assert retried("diff", "main", "nowhere").status == 2


def test_a_branch_replays_as_a_bundle_and_is_saved_as_a_patch(retried: Session, tmp_path: Path) -> None:
    """At any moment its folder is a bundle: what is new is known, and the replay goes as far as the session did."""
    seen: list[str] = []
    engine = ReplayEngine(
        ReplayOptions(
            artifacts_dir=tmp_path / "run",
            on_divergence="stop",
            readers=(lambda line: seen.append(line.event.type),),
        )
    )
    patch = tmp_path / "retry.patch.json"

    with pytest.raises(ReplayDivergenceError):  # what the mission does next needs the page that was left out
        engine.replay(retried.folder / "branches" / "retry")
    retried.good("branch", "save", "retry", "--patch", str(patch))

    assert seen.count("action") + seen.count("skill") == 10
    assert {each["kind"] for each in json.loads(patch.read_text())["operations"]} >= {"delete_step", "insert_step"}


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("branch", "create", "retry"), "already exists"),
        (("branch", "create", "two\nlines"), "expected a branch name"),
        (("branch", "delete", "retry"), "the active branch"),
        (("branch", "edit", "--step", "3", "action.url=x"), "expected an upcoming step"),
        (("branch", "edit", "action.colour=red"), "colour"),
        (("branch", "insert", "fly"), "expected one of navigate"),
        (("branch", "save", "retry"), "expected either --trace or --patch"),
        (("branch", "skip", "--name", "third"), "remove --name"),
        (("switch", "retry"), "is already the active branch"),
    ],
)
def test_a_branch_that_cannot_be_is_refused(retried: Session, words: tuple[str, ...], wanted: str) -> None:
    """One line; nothing has changed."""
    before = retried.timeline()

    said = retried(*words)

    assert said.status in {2, 65}, said
    assert wanted in said.err
    assert retried.timeline() == before


def test_a_branch_is_deleted(retried: Session) -> None:
    """One that is not active goes with its folder and its checkpoints."""
    retried.good("branch", "create", "short-lived")
    retried.good("switch", "retry")

    retried.good("branch", "delete", "short-lived")

    assert [each["name"] for each in retried.json("branch", "list")] == ["main", "retry"]
    assert not (retried.folder / "branches" / "short-lived").exists()


def test_what_is_put_in_comes_in_the_order_in_which_it_was_given(retried: Session) -> None:
    """In front of the next step, each behind the one before, also where one was left out again or done meanwhile."""
    retried.good("branch", "create", "in order")
    for text in ("nothing", "one", "two"):
        retried.good("branch", "insert", "note", text)
    retried.good("branch", "skip")
    retried.good("step")
    retried.good("branch", "insert", "note", "three", "--perform")
    labels = [step["label"] for step in retried.timeline()["branches"][-1]["steps"]]
    retried.good("switch", "retry")
    retried.good("branch", "delete", "in order")

    assert labels == ["note: one", "note: two", "note: three"]


def test_branches_are_named_as_people_name_things(retried: Session) -> None:
    """The seed's own examples, and one that differs from another in case alone."""
    for name in ("alternative approach", "Alternative Approach"):
        retried.good("branch", "create", name)
        retried.good("branch", "skip")
        retried.good("switch", "retry")
    back = retried.json("switch", "alternative approach")
    retried.good("switch", "retry")
    bundles = [each["bundle"] for each in retried.json("branch", "list")[-2:]]
    text = retried.good("diff", "alternative approach", "Alternative Approach")
    for name in ("alternative approach", "Alternative Approach"):
        retried.good("branch", "delete", name)

    assert back["branch"] == "alternative approach"
    assert bundles == ["branches/alternative_approach", "branches/Alternative_Approach-2"]
    assert "no differences" in text
    assert sorted(each.name for each in (retried.folder / "branches").iterdir()) == ["retry"]


def test_skipping_on_the_recording_makes_a_branch(retried: Session) -> None:
    """The recording itself is never changed."""
    retried.good("switch", "main")

    stand = retried.json("branch", "skip")

    assert (stand["branch"], stand["step_count"]) == ("branch-2", 28)
    assert retried.timeline()["branches"][0]["step_count"] == 29
