"""AC-DFL-2 to AC-DFL-8 of the debug loop, by their numbers: a real model client, real tests, a real repository.

AC-DFL-1, the prompt, is in `test_repl.py`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eikon_engine.fix.appliers.aider import AiderApplier
from eikon_engine.fix.models import TaskResult
from tests.fix.loop.looping import loop_runner
from tests.fix.loop.projects import (
    ASSERTS,
    BAD_FIX,
    GOOD_FIX,
    PRICE_PROJECT,
    commit,
    everything,
    git,
    make_project,
    write,
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Create a project with one test, which fails."""
    return make_project(tmp_path / "shop", {**PRICE_PROJECT, "other.py": "NAME = 'other'\n"})


def test_ac_2_tests_that_pass_at_first_end_the_loop_in_its_first_cycle(project: Path, tmp_path: Path) -> None:
    """AC-DFL-2: no model is requested, nothing is changed, and the loop succeeds after 1 cycle."""
    before = everything(project)

    with loop_runner(tmp_path) as runner:
        result = runner.loop(project, test_cmd="true")

    assert (result.status, result.notes.outcome, result.notes.cycles_run) == ("COMPLETE", "success", 1)
    assert result.content == "Success: the tests pass after 1 cycle. No file was changed."
    assert runner.model.asked == []
    assert everything(project) == before


def test_ac_3_and_4_a_failure_is_located_fixed_and_tested_again(project: Path, tmp_path: Path) -> None:
    """AC-DFL-3 and 4: context, fix and application are logged; the next cycle passes, and names the file."""
    with loop_runner(tmp_path, GOOD_FIX) as runner:
        result = runner.loop(project)

    notes = result.notes
    first, second = notes.history
    assert (notes.outcome, notes.cycles_run, notes.final_test_status) == ("success", 2, "passed")
    assert first.context is not None
    assert "price.py" in first.context.files
    assert first.application is not None
    assert first.application.files == notes.modified_files == ("price.py",)
    assert first.verification is not None
    assert first.verification.judgement == "passed"
    assert second.test is not None
    assert second.test.passed
    assert "- rebate" in (project / "price.py").read_text(encoding="utf-8")
    assert git(project, "status", "--porcelain") == " M price.py\n"
    assert "assert 3.5 == 2.5" in runner.model.asked[0].text
    reported = "\n".join(runner.lines)
    for step in ("system:run_script", "debug:analyze_test_results", "system:get_context", "debug:generate_fix"):
        assert f"cycle 1 of 3: {step}" in reported
    assert "cycle 1 of 3: fix:apply: changed price.py" in reported


def test_ac_5_as_many_cycles_as_allowed_are_a_failure(project: Path, tmp_path: Path) -> None:
    """AC-DFL-5: tests that keep failing end the loop after max_cycles, with the tree unchanged."""
    before = everything(project)

    with loop_runner(tmp_path, BAD_FIX, BAD_FIX) as runner:
        result = runner.loop(project, test_cmd=ASSERTS, max_cycles=2)

    assert (result.status, result.notes.outcome, result.notes.cycles_run) == ("FAILED", "max_cycles", 2)
    assert result.notes.final_test_status == "failed"
    assert result.content == "Failure: the tests still fail after 2 cycles. No file was changed."
    assert len(runner.model.asked) == 2
    assert "return sum(prices) * rebate" in str(runner.model.asked[1].body["messages"])
    assert everything(project) == before


@pytest.fixture
def aider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a fake aider on PATH that logs its arguments and fixes the files it gets."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "aider"
    program.write_text(
        f"""#!/bin/sh
printf '%s\\n' "$@" > "{folder}/called"
pwd > "{folder}/cwd"
[ -e "{folder}/fails" ] && {{ echo "no credit" >&2; exit 7; }}
while [ "$1" != --message-file ]; do shift; done
cp "$2" "{folder}/message"
sed -i 's/+ rebate/- rebate/' price.py
""",
        encoding="utf-8",
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    return folder


def test_ac_6_target_files_reach_the_lookup_and_aider(project: Path, tmp_path: Path, aider: Path) -> None:
    """AC-DFL-6: target files are in the context though no failure names them, and aider gets these files only."""
    with loop_runner(tmp_path, "Take the rebate off.") as runner:
        result = runner.loop(project, test_cmd=ASSERTS, applier=AiderApplier(), target_files=("price.py", "other.py"))

    called = (aider / "called").read_text(encoding="utf-8").splitlines()
    context = result.notes.history[0].context
    assert context is not None
    assert {"price.py", "other.py"} <= set(context.files)
    assert called[0] == "--message-file"
    assert {"--yes-always", "--no-auto-commits"} <= set(called)
    assert called[-2:] == ["price.py", "other.py"]
    assert "Take the rebate off." in (aider / "message").read_text(encoding="utf-8")
    assert (aider / "cwd").read_text(encoding="utf-8").strip() != str(project)
    assert result.notes.modified_files == ("price.py",)


def test_ac_6_target_files_are_shown_before_others(project: Path, tmp_path: Path) -> None:
    """AC-DFL-6: in a budget for two files, a target file is included though no failure refers to it."""
    names = f"NAMES = {[f'name {number}' for number in range(60)]}\n"
    write(project, {"base.py": names, "other.py": names})
    commit(project)
    shown = []
    for targets in ((), ("price.py", "other.py")):
        with loop_runner(tmp_path / str(len(targets)), "NO FIX FOUND: none") as runner:
            result = runner.loop(project, test_cmd=ASSERTS, target_files=targets, token_budget=315)
        context = result.notes.history[0].context
        assert context is not None
        shown.append(set(context.files))

    assert shown == [{"price.py", "base.py"}, {"price.py", "other.py"}]


def test_ac_7_the_result_describes_the_loop(project: Path, tmp_path: Path) -> None:
    """AC-DFL-7: the stored result has outcome, cycles, files, reason and history."""
    with loop_runner(tmp_path, GOOD_FIX) as runner:
        result = runner.loop(project, test_cmd=ASSERTS)

    stored = runner.session / "result.json"
    assert TaskResult.model_validate_json(stored.read_bytes()) == result
    notes = json.loads(stored.read_bytes())["notes"]
    assert notes["outcome"] == "success"
    assert notes["cycles_run"] == 2
    assert notes["final_test_status"] == "passed"
    assert notes["modified_files"] == ["price.py"]
    assert notes["termination_reason"] == "the tests pass"
    assert [cycle["cycle"] for cycle in notes["history"]] == [1, 2]
    assert notes["diff"] == git(project, "diff")
    assert result.content == "Success: the tests pass after 2 cycles. Changed: price.py."


def test_ac_8_aider_that_fails_ends_the_loop(project: Path, tmp_path: Path, aider: Path) -> None:
    """AC-DFL-8: a critical error in a step ends the loop early, names the step, and leaves the tree unchanged."""
    (aider / "fails").touch()
    before = everything(project)

    with loop_runner(tmp_path, "Take the rebate off.") as runner:
        result = runner.loop(project, test_cmd=ASSERTS, applier=AiderApplier())

    assert (result.status, result.notes.outcome, result.notes.cycles_run) == ("FAILED", "error", 1)
    assert result.notes.failed_step == "fix:apply"
    assert result.notes.failure is not None
    assert (result.notes.failure.code, result.notes.failure.exit_status) == ("applier-failed", 1)
    assert "no credit" in result.content
    assert everything(project) == before
