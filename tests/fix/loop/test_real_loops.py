"""Complete loops on real projects: cycles, changes and output."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from eikon_engine.fix.summary import render_summary
from tests.fix.loop.broken import BROKEN
from tests.fix.loop.looping import loop_runner
from tests.fix.loop.projects import ASSERTS, BAD_FIX, GOOD_FIX, PRICE_PROJECT, PYTEST, git, make_project

SAYS_MENDED = "cat $(ls); grep -qr -- '- rebate' ."
"""A test that is faster than pytest."""
GOLD = Path(__file__).parent / "gold"


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_a_broken_project_is_fixed(name: str, tmp_path: Path) -> None:
    """Each is fixed in the stated number of cycles; summary and diff are as stored."""
    broken = BROKEN[name]
    project = make_project(tmp_path / name, broken.files)

    with loop_runner(tmp_path, *broken.answers) as runner:
        result = runner.loop(project, test_cmd=broken.command, target_files=broken.targets, max_cycles=5)

    assert (result.notes.outcome, result.notes.cycles_run) == ("success", broken.cycles)
    assert runner.model.script == []
    summary = render_summary(result).replace(sys.executable, "python")
    assert summary == (GOLD / f"{name}.txt").read_text(encoding="utf-8")
    git(project, "add", "--all")
    assert git(project, "diff", "--cached") == result.notes.diff
    assert (runner.session / "changes.diff").read_text(encoding="utf-8") == result.notes.diff
    assert sorted(each.name for each in runner.session.iterdir()) == [
        "changes.diff", "cycles", "result.json", "session.json", "session.lock", "summary.txt",
    ]  # fmt: skip


def test_a_bad_fix_is_rolled_back_before_the_next_one(tmp_path: Path) -> None:
    """A fix that does not help is rolled back, reported to the model, and not part of the result."""
    project = make_project(tmp_path / "shop", PRICE_PROJECT)

    with loop_runner(tmp_path, BAD_FIX, GOOD_FIX) as runner:
        result = runner.loop(project, test_cmd=ASSERTS)

    first, second, _third = result.notes.history
    assert first.verification is not None
    assert (first.verification.judgement, first.verification.rolled_back) == ("no_help", True)
    assert second.application is not None
    assert (result.notes.outcome, result.notes.cycles_run) == ("success", 3)
    assert "+    return sum(prices) - rebate" in result.notes.diff
    assert "* rebate" not in result.notes.diff
    assert "* rebate" in str(runner.model.asked[1].body["messages"])
    assert "cycle 2 of 3: the fix of cycle 1 is rolled back: it did not help" in runner.lines


def test_the_last_fix_is_tested_too(tmp_path: Path) -> None:
    """With one cycle, the fix of that cycle is tested before the loop ends."""
    project = make_project(tmp_path / "shop", PRICE_PROJECT)

    with loop_runner(tmp_path, GOOD_FIX) as runner:
        result = runner.loop(project, test_cmd=SAYS_MENDED, max_cycles=1)

    assert (result.notes.outcome, result.notes.cycles_run) == ("success", 1)
    assert result.notes.closing_test is not None
    assert result.notes.modified_files == ("price.py",)


def test_failures_are_fixed_one_by_one_if_pytest_stops_at_the_first(tmp_path: Path) -> None:
    """With -x the second failure shows only once the first one is fixed; the first fix is kept."""
    broken = BROKEN["two_faults"]
    project = make_project(tmp_path / "two", broken.files)

    with loop_runner(tmp_path, *broken.answers) as runner:
        result = runner.loop(project, test_cmd=f"{PYTEST} -x", max_cycles=2)

    first = result.notes.history[0]
    assert first.verification is not None
    assert first.verification.judgement == "helped"
    assert (result.notes.outcome, result.notes.modified_files) == ("success", ("names.py", "words.py"))


def test_a_fix_with_an_unknown_effect_is_a_warning(tmp_path: Path) -> None:
    """If a command is not plain pytest, the next failure with -x may be progress or damage."""
    broken = BROKEN["two_faults"]
    project = make_project(tmp_path / "two", broken.files)

    with loop_runner(tmp_path, broken.answers[0]) as runner:
        result = runner.loop(project, test_cmd=f"true; {PYTEST} -x", max_cycles=1, keep=True)

    verification = result.notes.history[0].verification
    assert verification is not None
    assert (verification.judgement, verification.rolled_back) == ("unclear", True)
    assert result.notes.modified_files == ()
    assert result.notes.warnings[0].startswith("pytest stops early, and neither a JUnit report nor -v shows")


def test_keep_keeps_fixes_that_helped(tmp_path: Path) -> None:
    """With --keep, a helpful fix is written though another test still fails; the bad fix after it is not."""
    broken = BROKEN["two_faults"]
    project = make_project(tmp_path / "two", broken.files)
    wrong = broken.answers[1].replace("[::-1]", "[::2]")

    with loop_runner(tmp_path, broken.answers[0], wrong) as runner:
        result = runner.loop(project, max_cycles=2, keep=True)

    assert (result.notes.outcome, result.notes.modified_files) == ("max_cycles", ("names.py",))
    assert git(project, "status", "--porcelain") == " M names.py\n"


def test_a_project_without_git_is_fixed(tmp_path: Path) -> None:
    """A folder without git is copied, and changed at the end."""
    project = tmp_path / "plain"
    make_project(project, PRICE_PROJECT)
    (project / ".git").rename(tmp_path / "gone")

    with loop_runner(tmp_path, GOOD_FIX) as runner:
        result = runner.loop(project, test_cmd=SAYS_MENDED)

    assert result.notes.outcome == "success"
    assert "- rebate" in (project / "price.py").read_text(encoding="utf-8")
    assert not (project / ".git").exists()
