"""Branch and timeline commands in a real session."""

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

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Run a session to the divergence of its mission: the banana page changed."""
    with session(
        tmp_path_factory.mktemp("sessions"), "--checkpoint-interval", "0", "--parked", "0", trace=DIVERGING
    ) as running:
        assert running.json("resume")["reason"] == "breakpoint"
        yield running


@pytest.fixture(scope="module")
def retried(failed: Session) -> Session:
    """Create a branch before the divergence."""
    (before,) = failed.json("checkpoint", "list")
    failed.run("branch", "create", "retry", "--from", before["id"])
    failed.run("checkpoint", "create", "at the fork")
    return failed


def test_a_checkpoint_is_created_before_a_divergence(failed: Session) -> None:
    """The session pauses after the diverged step, with a checkpoint before it."""
    (before,) = failed.json("checkpoint", "list")

    assert (before["iteration"], before["reason"]) == (8, "divergence")
    assert failed.events("divergence")[0].divergence.code == "dom-changed"
    assert failed.events("breakpoint_hit")[0].context.error.startswith("dom-changed")


def test_a_branch_is_created_from_a_checkpoint(retried: Session) -> None:
    """It starts at its checkpoint, is active, and is saved as a bundle."""
    branches = {each["name"]: each for each in retried.json("branch", "list")}

    retry = branches["retry"]
    assert (retry["parent_branch"], retry["fork_iteration"], retry["iteration"]) == ("main", 8, 8)
    assert retry["current"]
    assert not branches["main"]["current"]
    assert (retried.folder / retry["bundle"] / "trace.json").is_file()
    created = retried.events("branch_created")[0]
    assert (created.name, created.parent_branch, created.iteration) == ("retry", "main", 8)


def test_the_fork_is_tracked(retried: Session) -> None:
    """The branch records its checkpoint and the digest of its parent's trace."""
    retry = retried.timeline()["branches"][1]
    (before,) = (each for each in retried.json("checkpoint", "list") if each["reason"] == "divergence")

    kept = json.loads((retried.folder / "branches" / "retry" / "branch.json").read_text())
    assert retry["fork_point"] == kept["fork_point"] == before["id"]
    assert retry["parent_sha256"] == kept["parent_sha256"]
    refused = retried("checkpoint", "delete", before["id"])
    assert (refused.status, "branch retry was forked from" in refused.err) == (2, True)


def test_branches_are_listed(retried: Session) -> None:
    """The text has one line per branch, with a star for the active one."""
    lines = retried.run("branch", "list").splitlines()

    assert lines[0].startswith("  main: 9 of 29")
    assert lines[1].startswith("* retry: 8 of 29, from main at cp_8_")


def test_branches_have_separate_states(retried: Session) -> None:
    """Skipped and inserted steps affect their branch only; switching restores either branch."""
    retried.run("branch", "skip", "--reason", "its page has changed")
    retried.run("branch", "insert", "note", "another way")
    retried.run("step")
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


def test_the_timeline_lists_branches_and_checkpoints(retried: Session) -> None:
    """The file contains what the command prints."""
    shown = retried.timeline()

    assert json.loads((retried.folder / "timeline.json").read_text()) == shown
    assert [branch["name"] for branch in shown["branches"]] == ["main", "retry"]
    assert shown["branches"][0]["checkpoints"][0]["reason"] == "divergence"
    assert "at the fork" in [each["label"] for each in shown["branches"][1]["checkpoints"]]


def test_the_timeline_shows_branches_at_their_forks(retried: Session) -> None:
    """The text shows the fork below its checkpoint; the image is an SVG document."""
    text = retried.run("timeline")
    picture = ET.fromstring(retried.run("timeline", "--format", "svg"))  # noqa: S314 - it is ours

    lines = text.splitlines()
    fork = next(number for number, line in enumerate(lines) if "retry (from main" in line)
    assert "divergence [cp_8_" in lines[fork - 1]
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"


def test_the_active_branch_is_highlighted(retried: Session) -> None:
    """It has a filled circle, the other one an empty circle."""
    text = retried.run("timeline")

    assert "● retry" in text
    assert "○ main" in text


def test_the_timeline_is_written_to_a_file(retried: Session, tmp_path: Path) -> None:
    """It is written to the given path only."""
    output = retried.run("timeline", "--format", "svg", "-o", str(tmp_path / "timeline.svg"))

    assert output.startswith(str(tmp_path))
    assert (tmp_path / "timeline.svg").read_text().startswith("<svg")


def test_branches_are_compared(retried: Session) -> None:
    """The diff names the skipped and the inserted step."""
    text = retried.run("diff", "main", "retry")

    assert "-   9 click article.card h2 a" in text
    assert "main: compared as recorded; this session diverged from the recording at 9\n" in text
    assert "note: another way" in text
    assert retried("diff", "main", "nowhere").status == 2


def test_a_branch_replays_as_a_bundle_and_is_saved_as_a_patch(retried: Session, tmp_path: Path) -> None:
    """Its folder is always a valid bundle, which replays as far as the session went."""
    seen: list[str] = []
    engine = ReplayEngine(
        ReplayOptions(
            artifacts_dir=tmp_path / "run",
            on_divergence="stop",
            readers=(lambda line: seen.append(line.event.type),),
        )
    )
    patch = tmp_path / "retry.patch.json"

    with pytest.raises(ReplayDivergenceError):  # the next step needs the page that was skipped
        engine.replay(retried.folder / "branches" / "retry")
    retried.run("branch", "save", "retry", "--patch", str(patch))

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
        (("branch", "save", "retry"), "expected either --output or --patch"),
        (("branch", "skip", "--name", "third"), "remove --name"),
        (("switch", "retry"), "is already the active branch"),
    ],
)
def test_invalid_branch_commands_are_rejected(retried: Session, words: tuple[str, ...], wanted: str) -> None:
    """The error is one line, and nothing changes."""
    before = retried.timeline()

    output = retried(*words)

    assert output.status in {2, 65}, output
    assert wanted in output.err
    assert retried.timeline() == before


def test_a_branch_is_deleted(retried: Session) -> None:
    """An inactive branch is deleted with its folder and checkpoints."""
    retried.run("branch", "create", "short-lived")
    retried.run("switch", "retry")

    retried.run("branch", "delete", "short-lived")

    assert [each["name"] for each in retried.json("branch", "list")] == ["main", "retry"]
    assert not (retried.folder / "branches" / "short-lived").exists()


def test_inserted_steps_keep_their_order(retried: Session) -> None:
    """Each follows the previous one, also after a skip or a step in between."""
    retried.run("branch", "create", "in order")
    for text in ("nothing", "one", "two"):
        retried.run("branch", "insert", "note", text)
    retried.run("branch", "skip")
    retried.run("step")
    retried.run("branch", "insert", "note", "three", "--perform")
    labels = [step["label"] for step in retried.timeline()["branches"][-1]["steps"]]
    retried.run("switch", "retry")
    retried.run("branch", "delete", "in order")

    assert labels == ["note: one", "note: two", "note: three"]


def test_branch_names_may_contain_spaces_and_differ_in_case(retried: Session) -> None:
    """Each name gets its own folder."""
    for name in ("alternative approach", "Alternative Approach"):
        retried.run("branch", "create", name)
        retried.run("branch", "skip")
        retried.run("switch", "retry")
    back = retried.json("switch", "alternative approach")
    retried.run("switch", "retry")
    bundles = [each["bundle"] for each in retried.json("branch", "list")[-2:]]
    text = retried.run("diff", "alternative approach", "Alternative Approach")
    for name in ("alternative approach", "Alternative Approach"):
        retried.run("branch", "delete", name)

    assert back["branch"] == "alternative approach"
    assert bundles == ["branches/alternative_approach", "branches/Alternative_Approach-2"]
    assert "\nno known differences\n" in text
    assert sorted(each.name for each in (retried.folder / "branches").iterdir()) == ["retry"]


def test_skipping_on_the_recording_creates_a_branch(retried: Session) -> None:
    """The recording itself never changes."""
    retried.run("switch", "main")

    position = retried.json("branch", "skip")

    assert (position["branch"], position["step_count"]) == ("branch-2", 28)
    assert retried.timeline()["branches"][0]["step_count"] == 29
